/* JSON read: one JSON text straight into BSON.
 *
 * A recursive descent over the grammar of RFC 8259 that writes each field as it is read: the type byte
 * and the lengths are patched when they are known. Nothing is kept besides the output. JSON text needs
 * no unescaping most of the time, so strings are copied in stretches.
 *
 * Keeps: never reads past the text; the output passes document_check(); recursion is bounded by
 * LIMIT_NESTING_DEPTH, output by LIMIT_DOCUMENT_BYTES.
 * Pure apart from the arena; callable from every thread. Start reading at json_read(). */
#include "value/json.h"

#include <stdio.h>

#include "value/raw.h"
#include "value/utf8.h"

struct reading {
    struct arena *arena;
    bytes text;
    size_t at;
    struct buffer out;
    unsigned depth;
};

static status read_object(struct reading *r);
static status read_array(struct reading *r);
static status read_value(struct reading *r, size_t type_at);
static status read_string(struct reading *r, bool is_name);
static status read_escape(struct reading *r, bool is_name);
static void skip_space(struct reading *r);

static status read_whole(struct arena *arena, bytes text, uint8_t opening, bytes *out)
{
    struct reading r = { .arena = arena, .text = text, .out = buffer_in(arena) };

    *out = BYTES_NONE;
    buffer_reserve(&r.out, text.len / 2 + 64);
    skip_space(&r);
    if (r.at == text.len || text.data[r.at] != opening)
        return json_expected(arena, text, r.at, opening == '{' ? "'{'" : "'['");
    TRY(opening == '{' ? read_object(&r) : read_array(&r));
    skip_space(&r);
    if (r.at != text.len)
        return json_expected(arena, text, r.at, "the end of the text");
    return buffer_finish(&r.out, out);
}

status json_read(struct arena *arena, bytes text, bytes *document_out)
{
    return read_whole(arena, text, '{', document_out);
}

status json_read_array(struct arena *arena, bytes text, bytes *array_out)
{
    return read_whole(arena, text, '[', array_out);
}

status json_expected(struct arena *arena, bytes text, size_t at, const char *what)
{
    if (at >= text.len)
        return status_fail(arena, INVALID,
                           "JSON offset %zu: expected %s, found the end of the text", at, what);
    uint8_t byte = text.data[at];
    if (byte >= 0x20 && byte < 0x7F)
        return status_fail(arena, INVALID, "JSON offset %zu: expected %s, found '%c'", at, what,
                           byte);
    return status_fail(arena, INVALID, "JSON offset %zu: expected %s, found byte 0x%02x", at, what,
                       byte);
}

static status expected(struct reading *r, const char *what)
{
    return json_expected(r->arena, r->text, r->at, what);
}

/* The next byte, 0 at the end; no token starts with 0. */
static uint8_t peek(const struct reading *r)
{
    return r->at < r->text.len ? r->text.data[r->at] : 0;
}

static void skip_space(struct reading *r)
{
    while (peek(r) == ' ' || peek(r) == '\n' || peek(r) == '\r' || peek(r) == '\t')
        r->at++;
}

static bool skip_byte(struct reading *r, uint8_t byte)
{
    if (peek(r) != byte)
        return false;
    r->at++;
    return true;
}

/* Appends room for a length or type and returns where it is. */
static size_t leave_room(struct reading *r, size_t len)
{
    size_t at = r->out.len;

    if (buffer_reserve(&r->out, len))
        r->out.len += len;
    return at;
}

static void patch_length(struct reading *r, size_t at, size_t len)
{
    if (!r->out.is_failed)
        raw_put_u32(r->out.data + at, (uint32_t)len);
}

static status begin_container(struct reading *r, size_t *start_out)
{
    *start_out = 0;
    r->at++;
    if (++r->depth > LIMIT_NESTING_DEPTH)
        return status_fail(r->arena, TOO_LARGE, "JSON offset %zu: nested deeper than %d levels",
                           r->at - 1, LIMIT_NESTING_DEPTH);
    *start_out = leave_room(r, 4);
    return STATUS_OK;
}

/* After each field, so that a small text cannot become a large document unnoticed. */
static status check_size(struct reading *r)
{
    if (r->out.is_failed)
        return arena_exhausted(r->arena);
    if (r->out.len > LIMIT_DOCUMENT_BYTES - r->depth)
        return status_fail(r->arena, TOO_LARGE,
                           "JSON offset %zu: the document has more than %d bytes as BSON", r->at,
                           LIMIT_DOCUMENT_BYTES);
    return STATUS_OK;
}

static status end_container(struct reading *r, size_t start)
{
    r->at++;
    r->depth--;
    buffer_append_byte(&r->out, 0);
    patch_length(r, start, r->out.len - start);
    return check_size(r);
}

/* member = string ":" value */
static status read_member(struct reading *r)
{
    size_t type_at = leave_room(r, 1);

    skip_space(r);
    if (peek(r) != '"')
        return expected(r, "a name in quotes");
    TRY(read_string(r, true));
    buffer_append_byte(&r->out, 0);
    skip_space(r);
    if (!skip_byte(r, ':'))
        return expected(r, "':'");
    TRY(read_value(r, type_at));
    return check_size(r);
}

/* object = "{" [member *("," member)] "}" */
static status read_object(struct reading *r)
{
    size_t start;

    TRY(begin_container(r, &start));
    skip_space(r);
    if (peek(r) != '}') {
        do {
            TRY(read_member(r));
            skip_space(r);
        } while (skip_byte(r, ','));
        if (peek(r) != '}')
            return expected(r, "',' or '}'");
    }
    return end_container(r, start);
}

/* The position as a name, with its NUL. */
static void append_position(struct reading *r, size_t position)
{
    char digits[24];
    size_t start = sizeof(digits) - 1;

    digits[start] = 0;
    do {
        digits[--start] = (char)('0' + position % 10);
        position /= 10;
    } while (position != 0);
    buffer_append(&r->out, bytes_of(digits + start, sizeof(digits) - start));
}

/* array = "[" [value *("," value)] "]" */
static status read_array(struct reading *r)
{
    size_t start;
    size_t position = 0;

    TRY(begin_container(r, &start));
    skip_space(r);
    if (peek(r) != ']') {
        do {
            size_t type_at = leave_room(r, 1);
            append_position(r, position++);
            TRY(read_value(r, type_at));
            TRY(check_size(r));
            skip_space(r);
        } while (skip_byte(r, ','));
        if (peek(r) != ']')
            return expected(r, "',' or ']'");
    }
    return end_container(r, start);
}

static void append_u32(struct reading *r, uint32_t number)
{
    uint8_t raw[4];

    raw_put_u32(raw, number);
    buffer_append(&r->out, bytes_of(raw, sizeof(raw)));
}

static void append_u64(struct reading *r, uint64_t number)
{
    uint8_t raw[8];

    raw_put_u64(raw, number);
    buffer_append(&r->out, bytes_of(raw, sizeof(raw)));
}

static status read_number(struct reading *r, enum value_type *type_out)
{
    struct json_number number;
    uint64_t image;

    TRY(json_number_read(r->arena, r->text, &r->at, &number));
    if (!number.is_integer) {
        *type_out = VALUE_DOUBLE;
        memcpy(&image, &number.real, sizeof(image));
        append_u64(r, image);
    } else if (number.integer >= INT32_MIN && number.integer <= INT32_MAX) {
        *type_out = VALUE_INT32;
        append_u32(r, (uint32_t)number.integer);
    } else {
        *type_out = VALUE_INT64;
        append_u64(r, (uint64_t)number.integer);
    }
    return STATUS_OK;
}

static status read_text(struct reading *r)
{
    size_t start = leave_room(r, 4);

    TRY(read_string(r, false));
    buffer_append_byte(&r->out, 0);
    patch_length(r, start, r->out.len - start - 4);
    return STATUS_OK;
}

/* Moves behind the word if it is there. */
static status read_word(struct reading *r, const char *word)
{
    for (; *word; word++) {
        if (!skip_byte(r, (uint8_t)*word))
            return expected(r, "a value");
    }
    return STATUS_OK;
}

static status read_bool(struct reading *r, bool is_true)
{
    TRY(read_word(r, is_true ? "true" : "false"));
    buffer_append_byte(&r->out, is_true);
    return STATUS_OK;
}

static status read_any(struct reading *r, enum value_type *type_out)
{
    switch (peek(r)) {
    case '{':
        *type_out = VALUE_DOCUMENT;
        return read_object(r);
    case '[':
        *type_out = VALUE_ARRAY;
        return read_array(r);
    case '"':
        *type_out = VALUE_STRING;
        return read_text(r);
    case 't':
    case 'f':
        *type_out = VALUE_BOOL;
        return read_bool(r, peek(r) == 't');
    case 'n':
        *type_out = VALUE_NULL;
        return read_word(r, "null");
    default:
        if (peek(r) != '-' && (peek(r) < '0' || peek(r) > '9'))
            return expected(r, "a value");
        return read_number(r, type_out);
    }
}

/* value = object / array / string / number / "true" / "false" / "null" */
static status read_value(struct reading *r, size_t type_at)
{
    enum value_type type = VALUE_MISSING;

    skip_space(r);
    TRY(read_any(r, &type));
    if (!r->out.is_failed)
        r->out.data[type_at] = (uint8_t)type;
    return STATUS_OK;
}

/* string = quote *(plain / escape) quote; the decoded text is appended without an end */
static status read_string(struct reading *r, bool is_name)
{
    r->at++;
    for (;;) {
        size_t start = r->at;
        size_t len;
        do {
            r->at += utf8_plain_run(r->text.data + r->at, r->text.len - r->at);
            len = peek(r) < 0x80 ? 0 : utf8_sequence(r->text.data + r->at, r->text.len - r->at);
            r->at += len;
        } while (len != 0);
        buffer_append(&r->out, bytes_of(r->text.data + start, r->at - start));
        if (skip_byte(r, '"'))
            return STATUS_OK;
        if (peek(r) == '\\')
            TRY(read_escape(r, is_name));
        else if (peek(r) >= 0x80)
            return expected(r, "UTF-8");
        else
            return expected(r, r->at < r->text.len ? "an escaped control character" : "'\"'");
    }
}

static status read_hex(struct reading *r, uint32_t *out)
{
    *out = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        uint8_t byte = peek(r);
        uint32_t digit;
        if (byte >= '0' && byte <= '9')
            digit = (uint32_t)(byte - '0');
        else if ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'f')
            digit = (uint32_t)((byte | 0x20) - 'a' + 10);
        else
            return expected(r, "a hexadecimal digit");
        *out = *out << 4 | digit;
    }
    return STATUS_OK;
}

static bool is_low_surrogate(uint32_t character)
{
    return character >= 0xDC00 && character <= 0xDFFF;
}

/* unicode = "\u" 4hex, or a high and a low surrogate that make one character; `at` is behind "\u" */
static status read_unicode(struct reading *r, bool is_name)
{
    size_t start = r->at - 2;
    uint32_t character;
    uint32_t low;
    uint8_t encoded[4];

    TRY(read_hex(r, &character));
    if (character == 0 && is_name)
        return status_fail(r->arena, INVALID,
                           "JSON offset %zu: a name cannot hold the character U+0000", start);
    bool is_good = !is_low_surrogate(character);
    if (character >= 0xD800 && character <= 0xDBFF) {
        if (!skip_byte(r, '\\') || !skip_byte(r, 'u'))
            return expected(r, "the second half of a surrogate pair");
        TRY(read_hex(r, &low));
        is_good = is_low_surrogate(low);
        character = 0x10000 + ((character - 0xD800) << 10) + (low - 0xDC00);
    }
    if (!is_good)
        return status_fail(r->arena, INVALID, "JSON offset %zu: half of a surrogate pair", start);
    buffer_append(&r->out, bytes_of(encoded, utf8_put(encoded, character)));
    return STATUS_OK;
}

/* escape = "\" (quote / "\" / "/" / "b" / "f" / "n" / "r" / "t" / "u" 4hex) */
static status read_escape(struct reading *r, bool is_name)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";

    r->at++;
    if (skip_byte(r, 'u'))
        return read_unicode(r, is_name);
    const char *letter = peek(r) != 0 ? strchr(letters, peek(r)) : NULL;
    if (!letter)
        return expected(r, "one of \"\\/bfnrtu after a backslash");
    r->at++;
    buffer_append_byte(&r->out, (uint8_t)meanings[letter - letters]);
    return STATUS_OK;
}
