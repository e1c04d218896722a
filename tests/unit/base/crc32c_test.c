/* The checksum by the processor's instruction and its pieces. */
#include "base/crc32c.h"
#include "tests/check.h"

/* As the polynomial defines it. */
static uint32_t by_bits(bytes data)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < data.len * 8; i++) {
        const uint32_t bit = data.data[i / 8] >> (i % 8) & 1;
        crc = crc >> 1 ^ ((crc ^ bit) & 1 ? 0x82F63B78u : 0);
    }
    return ~crc;
}

TEST(crc32c, the_checksum_of_nine_digits_is_the_known_one)
{
    CHECK_EQ(crc32c_extend(0, BYTES_LITERAL("123456789")), 0xE3069283u, "published check value");
    CHECK_EQ(crc32c_extend(0, BYTES_NONE), 0u, "of nothing");
}

TEST(crc32c, every_length_and_every_cut_give_the_same_checksum)
{
    uint8_t data[40];

    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)(i * 37 + 11);
    for (size_t len = 0; len <= sizeof(data); len++) {
        const uint32_t whole = by_bits(bytes_of(data, len));
        for (size_t cut = 0; cut <= len; cut++) {
            const uint32_t first = crc32c_extend(0, bytes_of(data, cut));
            CHECK_EQ(crc32c_extend(first, bytes_of(data + cut, len - cut)), whole,
                     "length %zu, cut at %zu", len, cut);
        }
    }
}
