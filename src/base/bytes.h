/* A stretch of memory that somebody else owns: pointer and length, never NUL-terminated. Everything
 * that travels between rooms (keys, rows, documents, names) is a `bytes`. Comparison is by unsigned
 * byte value, shorter first, which is the order every storage backend keeps. */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct bytes {
    const uint8_t *data;
    size_t len;
} bytes;

#define BYTES_NONE ((bytes){ .data = NULL, .len = 0 })
#define BYTES_LITERAL(text) ((bytes){ .data = (const uint8_t *)(text), .len = sizeof(text) - 1 })

static inline bytes bytes_of(const void *data, size_t len)
{
    return (bytes){ .data = data, .len = len };
}

static inline bytes bytes_of_text(const char *text)
{
    return bytes_of(text, strlen(text));
}

static inline bool bytes_is_empty(bytes b)
{
    return b.len == 0;
}

static inline int bytes_compare(bytes a, bytes b)
{
    size_t common = a.len < b.len ? a.len : b.len;
    int order = common ? memcmp(a.data, b.data, common) : 0;

    if (order != 0)
        return order;
    return (a.len > b.len) - (a.len < b.len);
}

static inline bool bytes_equal(bytes a, bytes b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* For looking a name up in a table: the first byte tells most of them apart. */
static inline bool bytes_is_text(bytes b, const char *text)
{
    if (b.len == 0)
        return text[0] == '\0';
    return (char)b.data[0] == text[0] && bytes_equal(b, bytes_of_text(text));
}

static inline bool bytes_is_one_of(bytes b, const char *const *texts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes_is_text(b, texts[i]))
            return true;
    }
    return false;
}

static inline bool bytes_starts_with(bytes b, bytes prefix)
{
    return b.len >= prefix.len && (prefix.len == 0 || memcmp(b.data, prefix.data, prefix.len) == 0);
}

/* The bytes from `offset` on; an offset past the end gives the empty end. */
static inline bytes bytes_from(bytes b, size_t offset)
{
    if (offset >= b.len)
        return bytes_of(b.data + b.len, 0);
    return bytes_of(b.data + offset, b.len - offset);
}

/* Without the white space around it. */
bytes bytes_trimmed(bytes b);

/* Numbers of fixed width, most significant byte first, at any alignment. */
static inline uint32_t bytes_read_u32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static inline uint64_t bytes_read_u64(const uint8_t *at)
{
    return (uint64_t)bytes_read_u32(at) << 32 | bytes_read_u32(at + 4);
}

/* The same, least significant byte first. */
static inline uint32_t bytes_read_u32_low_first(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* A 64-bit hash for tables and latches, not stored. Where clients choose what is hashed and a table grows with it, the seed
 * is random_salt(). */
uint64_t bytes_hash(bytes b, uint64_t seed);
/* Two of them, for telling long texts apart by little. */
void bytes_digest(bytes b, uint64_t out[2]);

#endif
