/* Numbers as BSON stores them: fixed width, least significant byte first, at any alignment. Inline,
 * because walking a document reads a length at every step. Private to this room. */
#ifndef VALUE_RAW_H
#define VALUE_RAW_H

#include "base/base.h"

static inline uint32_t raw_u32(const uint8_t *at)
{
    return bytes_read_u32_low_first(at);
}

static inline uint64_t raw_u64(const uint8_t *at)
{
    return (uint64_t)raw_u32(at) | (uint64_t)raw_u32(at + 4) << 32;
}

static inline int32_t raw_int32(const uint8_t *at)
{
    return (int32_t)raw_u32(at);
}

static inline int64_t raw_int64(const uint8_t *at)
{
    return (int64_t)raw_u64(at);
}

static inline double raw_double(const uint8_t *at)
{
    uint64_t image = raw_u64(at);
    double number;

    memcpy(&number, &image, sizeof(number));
    return number;
}

static inline void raw_put_u32(uint8_t *at, uint32_t number)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(number >> (8 * i));
}

static inline void raw_put_u64(uint8_t *at, uint64_t number)
{
    raw_put_u32(at, (uint32_t)number);
    raw_put_u32(at + 4, (uint32_t)(number >> 32));
}

#endif
