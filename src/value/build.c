/* Build: BSON documents, field by field, into a buffer.
 *
 * A document's length stands in front of it, so room is left for it and filled in at the end. Integers
 * take the smallest of BSON's two types that holds them, as the JSON reader does, so that a value built
 * here and the same value read there are the same bytes.
 *
 * Keeps: what is built from checked values passes document_check(). Pure; callable from every thread. */
#include "value/raw.h"
#include "value/value.h"

size_t document_begin(struct buffer *out)
{
    size_t begun = out->len;

    buffer_append(out, bytes_of("\0\0\0\0", 4));
    return begun;
}

static void begin_field(struct buffer *out, enum value_type type, bytes name)
{
    buffer_append_byte(out, (uint8_t)type);
    buffer_append(out, name);
    buffer_append_byte(out, 0);
}

size_t document_begin_inner(struct buffer *out, enum value_type type, bytes name)
{
    ASSERT(type == VALUE_DOCUMENT || type == VALUE_ARRAY);
    begin_field(out, type, name);
    return document_begin(out);
}

void document_end(struct buffer *out, size_t begun)
{
    buffer_append_byte(out, 0);
    if (!out->is_failed)
        raw_put_u32(out->data + begun, (uint32_t)(out->len - begun));
}

void document_append(struct buffer *out, bytes name, struct value value)
{
    if (value.type == VALUE_MISSING)
        return;
    begin_field(out, value.type, name);
    buffer_append(out, value.raw);
}

static void append_string(struct buffer *out, bytes text)
{
    uint8_t length[4];

    raw_put_u32(length, (uint32_t)(text.len + 1));
    buffer_append(out, bytes_of(length, sizeof(length)));
    buffer_append(out, text);
    buffer_append_byte(out, 0);
}

void document_append_text(struct buffer *out, const char *name, bytes text)
{
    begin_field(out, VALUE_STRING, bytes_of_text(name));
    append_string(out, text);
}

static enum value_type append_integer(struct buffer *out, int64_t number)
{
    uint8_t raw[8];

    if (number >= INT32_MIN && number <= INT32_MAX) {
        raw_put_u32(raw, (uint32_t)number);
        buffer_append(out, bytes_of(raw, 4));
        return VALUE_INT32;
    }
    raw_put_u64(raw, (uint64_t)number);
    buffer_append(out, bytes_of(raw, 8));
    return VALUE_INT64;
}

void document_append_int64(struct buffer *out, const char *name, int64_t number)
{
    size_t type_at = out->len;

    begin_field(out, VALUE_INT32, bytes_of_text(name));
    enum value_type type = append_integer(out, number);
    if (!out->is_failed)
        out->data[type_at] = (uint8_t)type;
}

void document_append_bool(struct buffer *out, const char *name, bool is_true)
{
    begin_field(out, VALUE_BOOL, bytes_of_text(name));
    buffer_append_byte(out, is_true);
}

status value_of_text(struct arena *arena, bytes text, struct value *out)
{
    struct buffer raw = buffer_in(arena);

    append_string(&raw, text);
    *out = (struct value){ .type = VALUE_STRING };
    return buffer_finish(&raw, &out->raw);
}

status value_of_double(struct arena *arena, double number, struct value *out)
{
    struct buffer raw = buffer_in(arena);
    uint8_t image[8];
    uint64_t bits;

    memcpy(&bits, &number, sizeof(bits));
    raw_put_u64(image, bits);
    buffer_append(&raw, bytes_of(image, sizeof(image)));
    *out = (struct value){ .type = VALUE_DOUBLE };
    return buffer_finish(&raw, &out->raw);
}

status value_of_int64(struct arena *arena, int64_t number, struct value *out)
{
    struct buffer raw = buffer_in(arena);

    *out = (struct value){ .type = append_integer(&raw, number) };
    return buffer_finish(&raw, &out->raw);
}

status value_of_integer(struct arena *arena, enum value_type type, int64_t number,
                        struct value *out)
{
    struct buffer raw = buffer_in(arena);
    uint8_t image[8];

    raw_put_u64(image, (uint64_t)number);
    buffer_append(&raw, bytes_of(image, type == VALUE_INT32 ? 4 : 8));
    *out = (struct value){ .type = type };
    return buffer_finish(&raw, &out->raw);
}
