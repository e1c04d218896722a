/* Key: values as bytes whose order is the order of the values.
 *
 * Every encoding uses only the bytes 01 to FE and none is a prefix of another one. So the complement of
 * each byte again has no NUL and exactly the reverse order: that is how descending keys and negative
 * numbers are made. First the class (class.h), then:
 *
 *   number     class + enum number_class; nothing more for NaN, infinities and zero. Else the 63 bits
 *              of the magnitude cut to a double in 7-bit groups, each written as 02..81, most
 *              significant first, trailing zero groups left out, 01. If the cut lost something: all 9
 *              groups, 02, place of the leading decimal digit (2 groups), digits two by two, 01.
 *              Negative: everything after the first byte complemented.
 *   bytes      as they are, except 00 01 02 -> 02 01, 02 02, 02 03; FE FF -> FE 01, FE 02; then 01.
 *   integer    80 + number of groups, groups without leading zeros; negative: complement of ~integer.
 *   string, symbol, code, ObjectId: bytes.   bool: 02 or 03.   date, timestamp: integer.
 *   binary     integer length, integer subtype, bytes.   regex: bytes, bytes.
 *   DBPointer  integer length of name, bytes of name, bytes of id.
 *   document   each field as class of its value, bytes of its name, value; then 01.
 *   array      each element as value; then 01.
 *   code with scope: bytes, then as document without its class.
 * With a collation a string or symbol is the key that the collation makes of it (collation.c) instead, as bytes.
 *
 * This layout is stored and must never change. Pure; callable from every thread. */
#include "value/key.h"

#include "value/class.h"
#include "value/number.h"
#include "value/parts.h"
#include "value/raw.h"

static void append_ascending(struct buffer *out, const struct collation *by, struct value value);
static void append_plain(struct buffer *out, bytes plain);
static void append_text(struct buffer *out, const struct collation *by, bytes text);
static void append_number(struct buffer *out, struct value value);
static void append_unsigned(struct buffer *out, uint64_t integer);
static void append_signed(struct buffer *out, int64_t integer);
static void append_fields(struct buffer *out, const struct collation *by, bytes document,
                          bool with_names);
static void mirror(struct buffer *out, size_t from);

void key_append_value(struct buffer *out, struct value value, enum key_order order)
{
    key_append_value_by(out, NULL, value, order);
}

void key_append_value_by(struct buffer *out, const struct collation *by, struct value value,
                         enum key_order order)
{
    size_t start = out->len;

    append_ascending(out, by, value);
    if (order == KEY_DESCENDING)
        mirror(out, start);
}

void key_append_bytes(struct buffer *out, bytes plain)
{
    append_plain(out, plain);
}

static void append_class(struct buffer *out, enum value_class class)
{
    buffer_append_byte(out, (uint8_t) class);
}

static void append_binary(struct buffer *out, struct value value)
{
    struct value_binary binary = value_binary(value);

    append_unsigned(out, binary.content.len);
    append_unsigned(out, binary.subtype);
    append_plain(out, binary.content);
}

static void append_regex(struct buffer *out, struct value value)
{
    struct value_regex regex = value_regex(value);

    append_plain(out, regex.pattern);
    append_plain(out, regex.options);
}

static void append_db_pointer(struct buffer *out, struct value value)
{
    struct value_db_pointer pointer = value_db_pointer(value);

    append_unsigned(out, pointer.collection.len);
    append_plain(out, pointer.collection);
    append_plain(out, pointer.id);
}

static void append_scoped_code(struct buffer *out, struct value value)
{
    struct value_scoped_code scoped = value_scoped_code(value);

    append_plain(out, scoped.code);
    append_fields(out, NULL, scoped.scope, true);
}

static void append_ascending(struct buffer *out, const struct collation *by, struct value value)
{
    enum value_class class = value_class_of(value.type);

    if (class == CLASS_NUMBER) {
        append_number(out, value);
        return;
    }
    append_class(out, class);
    switch (class) {
    case CLASS_MIN_KEY:
    case CLASS_UNDEFINED:
    case CLASS_NULL:
    case CLASS_MAX_KEY:
    case CLASS_NUMBER:
        return;
    case CLASS_STRING:
        append_text(out, by, value_text(value));
        return;
    case CLASS_CODE:
        append_plain(out, value_text(value));
        return;
    case CLASS_DOCUMENT:
        append_fields(out, by, value.raw, true);
        return;
    case CLASS_ARRAY:
        append_fields(out, by, value.raw, false);
        return;
    case CLASS_BINARY:
        append_binary(out, value);
        return;
    case CLASS_OBJECT_ID:
        append_plain(out, value.raw);
        return;
    case CLASS_BOOL:
        buffer_append_byte(out, value.raw.data[0] ? KEY_TRUE : KEY_FALSE);
        return;
    case CLASS_DATE:
        append_signed(out, raw_int64(value.raw.data));
        return;
    case CLASS_TIMESTAMP:
        append_unsigned(out, raw_u64(value.raw.data));
        return;
    case CLASS_REGEX:
        append_regex(out, value);
        return;
    case CLASS_DB_POINTER:
        append_db_pointer(out, value);
        return;
    case CLASS_CODE_WITH_SCOPE:
        append_scoped_code(out, value);
        return;
    }
}

static void append_fields(struct buffer *out, const struct collation *by, bytes document,
                          bool with_names)
{
    struct document_walk walk = document_fields(document);
    struct field field;

    while (!out->is_failed && document_next(&walk, &field)) {
        if (with_names) {
            append_class(out, value_class_of(field.value.type));
            append_plain(out, field.name);
        }
        append_ascending(out, by, field.value);
    }
    buffer_append_byte(out, KEY_END);
}

static bool is_escaped(uint8_t byte)
{
    return byte <= KEY_ESCAPE_LOW || byte >= KEY_ESCAPE_HIGH;
}

static void append_escaped(struct buffer *out, uint8_t byte)
{
    uint8_t pair[2] = { KEY_ESCAPE_LOW, (uint8_t)(byte + 1) };

    if (byte >= KEY_ESCAPE_HIGH) {
        pair[0] = KEY_ESCAPE_HIGH;
        pair[1] = (uint8_t)(byte - KEY_ESCAPE_HIGH + 1);
    }
    buffer_append(out, bytes_of(pair, 2));
}

static void append_plain(struct buffer *out, bytes plain)
{
    size_t start = 0;

    for (size_t at = 0; at < plain.len; at++) {
        if (!is_escaped(plain.data[at]))
            continue;
        buffer_append(out, bytes_of(plain.data + start, at - start));
        append_escaped(out, plain.data[at]);
        start = at + 1;
    }
    buffer_append(out, bytes_from(plain, start));
    buffer_append_byte(out, KEY_END);
}

/* What was appended since `from` as append_plain would have done it, in its place. */
static void escape(struct buffer *out, size_t from)
{
    size_t more = 1, at = out->len;

    for (size_t i = from; !out->is_failed && i < at; i++)
        more += is_escaped(out->data[i]);
    if (out->is_failed || !buffer_reserve(out, more))
        return;
    out->len += more;
    size_t to = out->len;
    out->data[--to] = KEY_END;
    while (at-- > from) {
        uint8_t byte = out->data[at];
        if (!is_escaped(byte)) {
            out->data[--to] = byte;
            continue;
        }
        bool is_high = byte >= KEY_ESCAPE_HIGH;
        out->data[--to] = (uint8_t)(is_high ? byte - KEY_ESCAPE_HIGH + 1 : byte + 1);
        out->data[--to] = is_high ? KEY_ESCAPE_HIGH : KEY_ESCAPE_LOW;
    }
}

static void append_text(struct buffer *out, const struct collation *by, bytes text)
{
    size_t from = out->len;

    if (!by) {
        append_plain(out, text);
        return;
    }
    collation_append_key(by, out, text);
    escape(out, from);
}

/* `count` groups, the most significant first. */
static size_t put_groups(uint8_t *at, uint64_t bits, size_t count)
{
    for (size_t i = 0; i < count; i++)
        at[i] = (uint8_t)(KEY_GROUP + (bits >> (KEY_GROUP_BITS * (count - 1 - i)) & 0x7F));
    return count;
}

/* Place of the leading digit, digits in pairs without trailing 00, end. */
static size_t put_digits(uint8_t *at, const struct number *number)
{
    int count = number_digit_count(number->coefficient);
    int place = number->exponent + count - 1 + KEY_EXPONENT_BIAS;
    decimal_digits digits = number->coefficient;
    size_t len = put_groups(at, (uint64_t)place, 2);

    for (; count < DECIMAL_DIGITS_MAX; count++)
        digits *= 10;
    size_t pairs = 0;
    for (size_t i = KEY_DIGIT_PAIRS; i-- > 0; digits /= 100) {
        uint8_t pair = (uint8_t)(digits % 100);
        if (pair != 0 && pairs == 0)
            pairs = i + 1;
        at[len + i] = (uint8_t)(KEY_GROUP + pair);
    }
    len += pairs;
    at[len++] = KEY_END;
    return len;
}

static void append_number(struct buffer *out, struct value value)
{
    uint8_t key[1 + KEY_NUMBER_GROUPS + 1 + 2 + KEY_DIGIT_PAIRS + 1];
    struct number number = number_of(value);
    size_t len = 1;

    key[0] = (uint8_t)(CLASS_NUMBER + number.class);
    if (number.class == NUMBER_NEGATIVE || number.class == NUMBER_POSITIVE) {
        len += put_groups(key + len, number.image, KEY_NUMBER_GROUPS);
        if (number.is_exact) {
            while (len > 1 && key[len - 1] == KEY_GROUP)
                len--;
            key[len++] = KEY_END;
        } else {
            key[len++] = KEY_MORE;
            len += put_digits(key + len, &number);
        }
    }
    if (number.class == NUMBER_NEGATIVE) {
        for (size_t i = 1; i < len; i++)
            key[i] = (uint8_t)~key[i];
    }
    buffer_append(out, bytes_of(key, len));
}

static void append_unsigned(struct buffer *out, uint64_t integer)
{
    uint8_t key[1 + KEY_INTEGER_GROUPS];
    size_t bits = integer == 0 ? 0 : (size_t)(64 - __builtin_clzll(integer));
    size_t count = (bits + KEY_GROUP_BITS - 1) / KEY_GROUP_BITS;

    key[0] = (uint8_t)(KEY_LENGTH + count);
    put_groups(key + 1, integer, count);
    buffer_append(out, bytes_of(key, 1 + count));
}

static void append_signed(struct buffer *out, int64_t integer)
{
    size_t start = out->len;

    append_unsigned(out, integer < 0 ? ~(uint64_t)integer : (uint64_t)integer);
    if (integer < 0)
        mirror(out, start);
}

/* Turns what was appended since `from` into its complement. */
static void mirror(struct buffer *out, size_t from)
{
    for (size_t i = from; i < out->len; i++)
        out->data[i] = (uint8_t)~out->data[i];
}
