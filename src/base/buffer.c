/* Buffer and reader: building and taking apart rows of bytes.
 *
 * Both keep the first failure (no memory, no more input) and go on doing nothing, so that callers
 * check once, at the end. A buffer that is the newest piece of its arena grows in place. */
#include "base/buffer.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/check.h"

enum { ROOM_FIRST = 64 };

static bool grow(struct buffer *buffer, size_t need)
{
    size_t room = buffer->room ? buffer->room : ROOM_FIRST;

    while (room < need) {
        if (!size_mul(room, 2, &room))
            return false;
    }
    if (buffer->data && arena_try_extend(buffer->arena, buffer->data, buffer->room, room)) {
        buffer->room = room;
        return true;
    }
    uint8_t *data = arena_try_take(buffer->arena, room);
    if (!data)
        return false;
    if (buffer->data)
        memcpy(data, buffer->data, buffer->len);
    buffer->data = data;
    buffer->room = room;
    return true;
}

uint8_t *buffer_reserve(struct buffer *buffer, size_t more)
{
    size_t need;

    if (buffer->is_failed)
        return NULL;
    if (!size_add(buffer->len, more, &need) || (need > buffer->room && !grow(buffer, need))) {
        buffer->is_failed = true;
        return NULL;
    }
    return buffer->data + buffer->len;
}

void buffer_append_slowly(struct buffer *buffer, bytes more)
{
    if (more.len == 0)
        return;
    uint8_t *place = buffer_reserve(buffer, more.len);
    if (!place)
        return;
    memcpy(place, more.data, more.len);
    buffer->len += more.len;
}

void buffer_append_decimal(struct buffer *buffer, uint64_t number, size_t width)
{
    char digits[24];
    size_t start = sizeof(digits);

    ASSERT(width <= sizeof(digits));
    do {
        digits[--start] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    while (sizeof(digits) - start < width)
        digits[--start] = '0';
    buffer_append(buffer, bytes_of(digits + start, sizeof(digits) - start));
}

void buffer_append_format(struct buffer *buffer, const char *format, ...)
{
    va_list args;
    char probe[1];

    va_start(args, format);
    int len = vsnprintf(probe, sizeof(probe), format, args);
    va_end(args);
    ASSERT(len >= 0);
    uint8_t *place = buffer_reserve(buffer, (size_t)len + 1);
    if (!place)
        return;
    va_start(args, format);
    vsnprintf((char *)place, (size_t)len + 1, format, args);
    va_end(args);
    buffer->len += (size_t)len;
}

static void append_big_endian(struct buffer *buffer, uint64_t number, size_t width)
{
    uint8_t packed[8];

    for (size_t i = 0; i < width; i++)
        packed[i] = (uint8_t)(number >> (8 * (width - 1 - i)));
    buffer_append(buffer, bytes_of(packed, width));
}

void buffer_append_u16(struct buffer *buffer, uint16_t number)
{
    append_big_endian(buffer, number, 2);
}

void buffer_append_u32(struct buffer *buffer, uint32_t number)
{
    append_big_endian(buffer, number, 4);
}

void buffer_append_u64(struct buffer *buffer, uint64_t number)
{
    append_big_endian(buffer, number, 8);
}

status buffer_finish(const struct buffer *buffer, bytes *out)
{
    *out = BYTES_NONE;
    if (buffer->is_failed)
        return arena_exhausted(buffer->arena);
    *out = bytes_of(buffer->data, buffer->len);
    return STATUS_OK;
}

bytes reader_bytes(struct reader *reader, size_t len)
{
    if (reader->is_failed || len > reader->rest.len) {
        reader->is_failed = true;
        return BYTES_NONE;
    }
    bytes taken = bytes_of(reader->rest.data, len);
    reader->rest = bytes_from(reader->rest, len);
    return taken;
}

uint8_t reader_byte(struct reader *reader)
{
    bytes packed = reader_bytes(reader, 1);

    return packed.len ? packed.data[0] : 0;
}

uint16_t reader_u16(struct reader *reader)
{
    bytes packed = reader_bytes(reader, 2);

    return packed.len ? (uint16_t)((unsigned)packed.data[0] << 8 | packed.data[1]) : 0;
}

uint32_t reader_u32(struct reader *reader)
{
    bytes packed = reader_bytes(reader, 4);

    return packed.len ? bytes_read_u32(packed.data) : 0;
}

uint64_t reader_u64(struct reader *reader)
{
    bytes packed = reader_bytes(reader, 8);

    return packed.len ? bytes_read_u64(packed.data) : 0;
}

bool reader_is_done(const struct reader *reader)
{
    return !reader->is_failed && reader->rest.len == 0;
}
