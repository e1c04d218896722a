/* Key text: encoded values as people read them, for the bounds that an index is walked in.
 *
 * A bound is often no whole value: the first byte alone stands for where a kind begins or ends. So what cannot be
 * read to its end is shown as its kind. The layout is described in key.c. Numbers are shown as doubles.
 *
 * Pure; callable from every thread. */
#include "value/key.h"

#include <inttypes.h>
#include <math.h>

#include "value/class.h"
#include "value/number.h"

/* Reads through a mask, because descending keys and negative numbers are complements. */
struct key_reader {
    bytes rest;
    uint8_t mask;
    bool is_collated;
};

static bool take(struct key_reader *reader, uint8_t *out)
{
    if (reader->rest.len == 0)
        return false;
    *out = reader->rest.data[0] ^ reader->mask;
    reader->rest = bytes_from(reader->rest, 1);
    return true;
}

/* ---- parts ------------------------------------------------------------------------------------------ */

static bool take_groups(struct key_reader *reader, size_t count, uint64_t *out)
{
    uint8_t byte;

    *out = 0;
    for (size_t i = 0; i < count; i++) {
        if (!take(reader, &byte) || byte < KEY_GROUP || byte > KEY_GROUP_LAST)
            return false;
        *out = *out << KEY_GROUP_BITS | (uint64_t)(byte - KEY_GROUP);
    }
    return true;
}

static bool take_integer(struct key_reader *reader, int64_t *out)
{
    uint64_t integer;
    uint8_t byte;

    if (!take(reader, &byte))
        return false;
    bool is_negative = byte < KEY_LENGTH;
    if (is_negative) {
        reader->mask = (uint8_t)~reader->mask;
        byte = (uint8_t)~byte;
    }
    bool is_read = byte >= KEY_LENGTH && byte - KEY_LENGTH <= KEY_INTEGER_GROUPS &&
                   take_groups(reader, (size_t)(byte - KEY_LENGTH), &integer);
    if (is_negative)
        reader->mask = (uint8_t)~reader->mask;
    if (is_read)
        *out = (int64_t)(is_negative ? ~integer : integer);
    return is_read;
}

/* The text up to its end mark, or as far as it goes. */
static void write_text(struct buffer *out, struct key_reader *reader)
{
    uint8_t byte, second;

    buffer_append_byte(out, '"');
    while (take(reader, &byte) && byte != KEY_END) {
        if ((byte == KEY_ESCAPE_LOW || byte == KEY_ESCAPE_HIGH) && take(reader, &second))
            byte = (uint8_t)(byte == KEY_ESCAPE_LOW ? second - 1 : KEY_ESCAPE_HIGH + second - 1);
        buffer_append_byte(out, byte == 0 ? '?' : byte);
    }
    buffer_append_byte(out, '"');
}

static void write_digits(struct buffer *out, struct key_reader *reader)
{
    uint8_t byte, second;

    while (take(reader, &byte) && byte != KEY_END) {
        if ((byte == KEY_ESCAPE_LOW || byte == KEY_ESCAPE_HIGH) && take(reader, &second))
            byte = (uint8_t)(byte == KEY_ESCAPE_LOW ? second - 1 : KEY_ESCAPE_HIGH + second - 1);
        buffer_append_format(out, "%02x", byte);
    }
}

static void write_object_id(struct buffer *out, struct key_reader *reader)
{
    buffer_append_text(out, "ObjectId('");
    write_digits(out, reader);
    buffer_append_text(out, "')");
}

/* What a collation has made of a text is no text. */
static void write_collated(struct buffer *out, struct key_reader *reader)
{
    buffer_append_text(out, "\"0x");
    write_digits(out, reader);
    buffer_append_byte(out, '"');
}

/* The magnitude cut to a double: nine groups, the last ones left out where they are zero. */
static double take_magnitude(struct key_reader *reader)
{
    uint64_t image = 0;
    double magnitude;
    uint8_t byte;
    bool is_over = false;

    for (size_t i = 0; i < KEY_NUMBER_GROUPS; i++) {
        image <<= KEY_GROUP_BITS;
        is_over = is_over || !take(reader, &byte) || byte < KEY_GROUP;
        if (!is_over)
            image |= (uint64_t)(byte - KEY_GROUP);
    }
    memcpy(&magnitude, &image, sizeof(magnitude));
    return magnitude;
}

static void write_number(struct buffer *out, struct key_reader *reader, enum number_class class)
{
    double number = 0;

    switch (class) {
    case NUMBER_NAN:
        buffer_append_text(out, "nan.0");
        return;
    case NUMBER_MINUS_INFINITY:
        buffer_append_text(out, "-inf.0");
        return;
    case NUMBER_PLUS_INFINITY:
        buffer_append_text(out, "inf.0");
        return;
    case NUMBER_ZERO:
        buffer_append_text(out, "0");
        return;
    case NUMBER_NEGATIVE:
        reader->mask = (uint8_t)~reader->mask;
        number = -take_magnitude(reader);
        break;
    case NUMBER_POSITIVE:
        number = take_magnitude(reader);
        break;
    }
    buffer_append_format(out, "%.*g", fabs(number) < 1e15 && number == trunc(number) ? 15 : 17,
                         number);
}

/* ---- a bound ---------------------------------------------------------------------------------------- */

static void write_integer(struct buffer *out, struct key_reader *reader, const char *format)
{
    int64_t integer;

    if (take_integer(reader, &integer))
        buffer_append_format(out, "%s(%" PRId64 ")", format, integer);
    else
        buffer_append_format(out, "%s()", format);
}

static void write_class(struct buffer *out, struct key_reader *reader, uint8_t class)
{
    uint8_t byte;

    switch (class) {
    case CLASS_MIN_KEY:
        buffer_append_text(out, "MinKey");
        return;
    case CLASS_UNDEFINED:
        buffer_append_text(out, "undefined");
        return;
    case CLASS_NULL:
        buffer_append_text(out, "null");
        return;
    case CLASS_STRING:
        if (reader->is_collated)
            write_collated(out, reader);
        else
            write_text(out, reader);
        return;
    case CLASS_OBJECT_ID:
        write_object_id(out, reader);
        return;
    case CLASS_BOOL:
        buffer_append_text(out, take(reader, &byte) && byte == KEY_TRUE ? "true" : "false");
        return;
    case CLASS_DATE:
        write_integer(out, reader, "new Date");
        return;
    case CLASS_TIMESTAMP:
        write_integer(out, reader, "Timestamp");
        return;
    case CLASS_DOCUMENT:
        buffer_append_text(out, "{ ... }");
        return;
    case CLASS_ARRAY:
        buffer_append_text(out, "[ ... ]");
        return;
    case CLASS_BINARY:
        buffer_append_text(out, "BinData(...)");
        return;
    case CLASS_REGEX:
        buffer_append_text(out, "/.../");
        return;
    case CLASS_MAX_KEY:
        buffer_append_text(out, "MaxKey");
        return;
    default:
        buffer_append_format(out, "kind %u", class);
        return;
    }
}

/* Where a kind begins or ends. */
static void write_limit(struct buffer *out, uint8_t class, bool is_high)
{
    switch (class) {
    case CLASS_STRING:
        buffer_append_text(out, is_high ? "{}" : "\"\"");
        return;
    case CLASS_BOOL:
        buffer_append_text(out, is_high ? "true" : "false");
        return;
    case CLASS_DATE:
        buffer_append_format(out, "new Date(%" PRId64 ")", is_high ? INT64_MAX : INT64_MIN);
        return;
    default: {
        struct key_reader nothing = { 0 };
        write_class(out, &nothing, class);
        return;
    }
    }
}

void key_write_bound(struct buffer *out, const struct key_bound *bound, enum key_order order)
{
    struct key_reader reader = { .rest = bound->key,
                                 .mask = order == KEY_DESCENDING ? 0xFF : 0,
                                 .is_collated = bound->is_collated };
    bool is_limit = bound->key.len == 1 && !bound->is_point;
    uint8_t class;

    if (bound->key.len == 0) {
        buffer_append_text(out, bound->is_end == (order == KEY_ASCENDING) ? "MaxKey" : "MinKey");
        return;
    }
    take(&reader, &class);
    if (is_limit && bound->is_end)
        class = (uint8_t)(((class ^ reader.mask) - 1) ^ reader.mask);
    if (class >= CLASS_NUMBER && class <= CLASS_NUMBER + NUMBER_PLUS_INFINITY)
        write_number(out, &reader, (enum number_class)(class - CLASS_NUMBER));
    else if (is_limit)
        write_limit(out, class, bound->is_end == (order == KEY_ASCENDING));
    else
        write_class(out, &reader, class);
}
