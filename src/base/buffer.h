/* A growing stretch of bytes inside an arena. Appending never fails visibly: the first failure sticks
 * and buffer_finish() reports it, so building a row or a reply reads as a plain list of appends. */
#ifndef BASE_BUFFER_H
#define BASE_BUFFER_H

#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"

struct buffer {
    struct arena *arena;
    uint8_t *data;
    size_t len;
    size_t room;
    bool is_failed;
};

static inline struct buffer buffer_in(struct arena *arena)
{
    return (struct buffer){ .arena = arena };
}

/* Makes room for `more` bytes and returns where they go (len is not moved), or NULL. */
uint8_t *buffer_reserve(struct buffer *buffer, size_t more);
/* Appends where there is no room left; for the ones below. */
void buffer_append_slowly(struct buffer *buffer, bytes more);

static inline void buffer_append(struct buffer *buffer, bytes more)
{
    if (more.len > buffer->room - buffer->len || buffer->is_failed) {
        buffer_append_slowly(buffer, more);
        return;
    }
    if (more.len > 0)
        memcpy(buffer->data + buffer->len, more.data, more.len);
    buffer->len += more.len;
}

static inline void buffer_append_byte(struct buffer *buffer, uint8_t byte)
{
    if (buffer->len == buffer->room || buffer->is_failed)
        buffer_append_slowly(buffer, bytes_of(&byte, 1));
    else
        buffer->data[buffer->len++] = byte;
}

static inline void buffer_append_text(struct buffer *buffer, const char *text)
{
    buffer_append(buffer, bytes_of_text(text));
}

/* A number in decimal digits; with zeros in front of it up to `width` digits. */
void buffer_append_decimal(struct buffer *buffer, uint64_t number, size_t width);
void buffer_append_format(struct buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Fixed-width integers, most significant byte first. */
void buffer_append_u16(struct buffer *buffer, uint16_t number);
void buffer_append_u32(struct buffer *buffer, uint32_t number);
void buffer_append_u64(struct buffer *buffer, uint64_t number);

/* What was appended; OUT_OF_MEMORY if any append failed. The bytes live in the arena. */
MUST_USE status buffer_finish(const struct buffer *buffer, bytes *out);

/* Reading the same fixed-width integers back: a cursor over bytes with the same sticky failure. */
struct reader {
    bytes rest;
    bool is_failed;
};

static inline struct reader reader_of(bytes source)
{
    return (struct reader){ .rest = source };
}

uint8_t reader_byte(struct reader *reader);
uint16_t reader_u16(struct reader *reader);
uint32_t reader_u32(struct reader *reader);
uint64_t reader_u64(struct reader *reader);
bytes reader_bytes(struct reader *reader, size_t len);
/* True when everything was read and nothing failed. */
bool reader_is_done(const struct reader *reader);

#endif
