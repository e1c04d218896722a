/* CRC-32C: by the processor's instruction where it has one, eight bytes at a time; bit by bit elsewhere, for whoever
 * needs it now and then.
 *
 * Threads: any. */
#include "base/crc32c.h"

#include <string.h>

static uint32_t extend_by_bits(uint32_t crc, bytes more)
{
    for (size_t i = 0; i < more.len; i++) {
        crc ^= more.data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78u : 0);
    }
    return crc;
}

#if defined(__x86_64__)

bool crc32c_is_fast(void)
{
    return __builtin_cpu_supports("sse4.2");
}

__attribute__((target("sse4.2"))) static uint32_t extend_by_instruction(uint32_t crc, bytes more)
{
    uint64_t wide = crc;
    size_t at = 0;

    for (; more.len - at >= sizeof(uint64_t); at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, more.data + at, sizeof(word));
        wide = __builtin_ia32_crc32di(wide, word);
    }
    crc = (uint32_t)wide;
    for (; at < more.len; at++)
        crc = __builtin_ia32_crc32qi(crc, more.data[at]);
    return crc;
}

#else

bool crc32c_is_fast(void)
{
    return false;
}

static uint32_t extend_by_instruction(uint32_t crc, bytes more)
{
    return extend_by_bits(crc, more);
}

#endif

uint32_t crc32c_extend(uint32_t so_far, bytes more)
{
    return crc32c_is_fast() ? ~extend_by_instruction(~so_far, more)
                            : ~extend_by_bits(~so_far, more);
}
