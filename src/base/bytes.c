/* Bytes: the hash used by tables in memory and by latches, and what is too long for a header.
 *
 * Eight bytes at a time, multiplied and folded. The value is never stored, so it may change with
 * any release. Pure; callable from every thread. */
#include "base/bytes.h"

#include <ctype.h>

static uint64_t mix(uint64_t a, uint64_t b)
{
    __uint128_t product = (__uint128_t)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t bytes_hash(bytes b, uint64_t seed)
{
    const uint64_t odd = UINT64_C(0x9E3779B97F4A7C15);
    uint64_t hash = seed ^ mix(b.len ^ UINT64_C(0xD6E8FEB86659FD93), odd);
    size_t at = 0;

    for (; at + 8 <= b.len; at += 8) {
        uint64_t word;
        memcpy(&word, b.data + at, 8);
        hash = mix(hash ^ word, odd);
    }
    if (at < b.len) {
        uint64_t word = 0;
        memcpy(&word, b.data + at, b.len - at);
        hash = mix(hash ^ word, UINT64_C(0xA0761D6478BD642F));
    }
    return mix(hash, UINT64_C(0xE7037ED1A0B428DB));
}

void bytes_digest(bytes b, uint64_t out[2])
{
    out[0] = bytes_hash(b, 1);
    out[1] = bytes_hash(b, out[0] + 2);
}

bytes bytes_trimmed(bytes b)
{
    while (b.len > 0 && isspace(b.data[0]))
        b = bytes_from(b, 1);
    while (b.len > 0 && isspace(b.data[b.len - 1]))
        b.len--;
    return b;
}
