/* JSON write: documents as JSON text.
 *
 * Strings, documents, arrays, booleans, null and finite numbers as JSON has them; everything else in
 * relaxed extended notation, an object with one key that starts with a dollar sign. Text of a checked
 * document is valid UTF-8 and passes through; only control characters, the quote and the backslash are
 * escaped.
 *
 * Pure apart from the buffer; callable from every thread. */
#include <inttypes.h>
#include <math.h>

#include "value/json.h"
#include "value/libbson.h"
#include "value/parts.h"
#include "value/raw.h"
#include "value/utf8.h"

enum { MS_PER_DAY = 86400000 };
#define DATE_MS_YEAR_10000 INT64_C(253402300800000)

static void write_text(struct buffer *out, bytes text);
static void write_array(struct buffer *out, bytes array);
static void write_double(struct buffer *out, double real);
static void write_date(struct buffer *out, int64_t ms);
static void write_binary(struct buffer *out, struct value value);
static void write_extended(struct buffer *out, struct value value);

void json_write(struct buffer *out, bytes document)
{
    struct document_walk walk = document_fields(document);
    struct field field;
    bool is_first = true;

    buffer_append_byte(out, '{');
    while (!out->is_failed && document_next(&walk, &field)) {
        if (!is_first)
            buffer_append_byte(out, ',');
        is_first = false;
        json_write_field(out, &field);
    }
    buffer_append_byte(out, '}');
}

void json_write_field(struct buffer *out, const struct field *field)
{
    write_text(out, field->name);
    buffer_append_byte(out, ':');
    json_write_value(out, field->value);
}

/* tidy: long because it is one row per type. */
void json_write_value(struct buffer *out, struct value value)
{
    switch (value.type) {
    case VALUE_DOUBLE:
        write_double(out, raw_double(value.raw.data));
        return;
    case VALUE_INT32:
        json_integer_write(out, raw_int32(value.raw.data));
        return;
    case VALUE_INT64:
        json_integer_write(out, raw_int64(value.raw.data));
        return;
    case VALUE_STRING:
        write_text(out, value_text(value));
        return;
    case VALUE_DOCUMENT:
        json_write(out, value.raw);
        return;
    case VALUE_ARRAY:
        write_array(out, value.raw);
        return;
    case VALUE_BOOL:
        buffer_append_text(out, value.raw.data[0] ? "true" : "false");
        return;
    case VALUE_NULL:
        buffer_append_text(out, "null");
        return;
    case VALUE_MISSING:
    case VALUE_BINARY:
    case VALUE_UNDEFINED:
    case VALUE_OBJECT_ID:
    case VALUE_DATE:
    case VALUE_REGEX:
    case VALUE_DB_POINTER:
    case VALUE_CODE:
    case VALUE_SYMBOL:
    case VALUE_CODE_WITH_SCOPE:
    case VALUE_TIMESTAMP:
    case VALUE_DECIMAL128:
    case VALUE_MIN_KEY:
    case VALUE_MAX_KEY:
        write_extended(out, value);
        return;
    }
}

static void write_escaped(struct buffer *out, uint8_t byte)
{
    static const char letters[] = "\"\\bfnrt";
    static const char meanings[] = "\"\\\b\f\n\r\t";
    const char *meaning = byte != 0 ? strchr(meanings, byte) : NULL;

    if (meaning)
        buffer_append_format(out, "\\%c", letters[meaning - meanings]);
    else
        buffer_append_format(out, "\\u%04x", byte);
}

/* There nearly always is. */
static uint8_t *room_for(struct buffer *out, size_t more)
{
    return out->data && more <= out->room - out->len && !out->is_failed ? out->data + out->len
                                                                        : buffer_reserve(out, more);
}

static void write_text(struct buffer *out, bytes text)
{
    size_t at = utf8_plain_run(text.data, text.len);
    uint8_t *place = at == text.len ? room_for(out, at + 2) : NULL;

    /* Most texts, and nearly all names, need no escape. */
    if (place) {
        *place++ = '"';
        if (at > 0)
            memcpy(place, text.data, at);
        place[at] = '"';
        out->len += at + 2;
        return;
    }
    at = 0;
    buffer_append_byte(out, '"');
    while (at < text.len) {
        size_t start = at;
        do {
            at += utf8_plain_run(text.data + at, text.len - at);
            while (at < text.len && text.data[at] >= 0x80)
                at++;
        } while (at < text.len && text.data[at] >= 0x20 && text.data[at] != '"' &&
                 text.data[at] != '\\');
        buffer_append(out, bytes_of(text.data + start, at - start));
        if (at < text.len)
            write_escaped(out, text.data[at++]);
    }
    buffer_append_byte(out, '"');
}

static void write_array(struct buffer *out, bytes array)
{
    struct document_walk walk = document_fields(array);
    struct field element;
    bool is_first = true;

    buffer_append_byte(out, '[');
    while (!out->is_failed && document_next(&walk, &element)) {
        if (!is_first)
            buffer_append_byte(out, ',');
        is_first = false;
        json_write_value(out, element.value);
    }
    buffer_append_byte(out, ']');
}

static void write_double(struct buffer *out, double real)
{
    if (isfinite(real))
        json_number_write(out, real);
    else
        buffer_append_format(out, "{\"$numberDouble\":\"%s\"}",
                             isnan(real) ? "NaN" : (real < 0 ? "-Infinity" : "Infinity"));
}

/* Year, month and day of a day since 1970, by counting from 1 March of year 0 in 400-year eras. */
static void write_day(struct buffer *out, int64_t day)
{
    int64_t shifted = day + 719468;
    int64_t era = shifted / 146097;
    int64_t of_era = shifted % 146097;
    int64_t year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month_from_march = (5 * of_year + 2) / 153;
    int64_t day_of_month = of_year - (153 * month_from_march + 2) / 5 + 1;
    int64_t month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
    int64_t year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);

    buffer_append_format(out, "%04d-%02d-%02d", (int)year, (int)month, (int)day_of_month);
}

/* ISO 8601 for the years 1970 to 9999, a plain count of milliseconds outside. */
static void write_date(struct buffer *out, int64_t ms)
{
    if (ms < 0 || ms >= DATE_MS_YEAR_10000) {
        buffer_append_format(out, "{\"$date\":{\"$numberLong\":\"%" PRId64 "\"}}", ms);
        return;
    }
    int of_day = (int)(ms % MS_PER_DAY);
    buffer_append_text(out, "{\"$date\":\"");
    write_day(out, ms / MS_PER_DAY);
    buffer_append_format(out, "T%02d:%02d:%02d", of_day / 3600000, of_day / 60000 % 60,
                         of_day / 1000 % 60);
    if (of_day % 1000 != 0)
        buffer_append_format(out, ".%03d", of_day % 1000);
    buffer_append_text(out, "Z\"}");
}

static void write_base64(struct buffer *out, bytes content)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t at = 0; at < content.len; at += 3) {
        size_t count = content.len - at < 3 ? content.len - at : 3;
        uint32_t bits = (uint32_t)content.data[at] << 16;
        if (count > 1)
            bits |= (uint32_t)content.data[at + 1] << 8;
        if (count > 2)
            bits |= content.data[at + 2];
        const char four[4] = {
            alphabet[bits >> 18],
            alphabet[bits >> 12 & 0x3F],
            count > 1 ? alphabet[bits >> 6 & 0x3F] : '=',
            count > 2 ? alphabet[bits & 0x3F] : '=',
        };
        buffer_append(out, bytes_of(four, sizeof(four)));
    }
}

/* The inner length of the old subtype 2 is not content. */
static void write_binary(struct buffer *out, struct value value)
{
    struct value_binary binary = value_binary(value);

    if (binary.subtype == 2)
        binary.content = bytes_from(binary.content, 4);
    buffer_append_text(out, "{\"$binary\":{\"base64\":\"");
    write_base64(out, binary.content);
    buffer_append_format(out, "\",\"subType\":\"%02x\"}}", binary.subtype);
}

static void write_object_id(struct buffer *out, bytes id)
{
    buffer_append_text(out, "{\"$oid\":\"");
    for (size_t i = 0; i < id.len; i++)
        buffer_append_format(out, "%02x", id.data[i]);
    buffer_append_text(out, "\"}");
}

static void write_regex(struct buffer *out, struct value value)
{
    struct value_regex regex = value_regex(value);

    buffer_append_text(out, "{\"$regularExpression\":{\"pattern\":");
    write_text(out, regex.pattern);
    buffer_append_text(out, ",\"options\":");
    write_text(out, regex.options);
    buffer_append_text(out, "}}");
}

static void write_db_pointer(struct buffer *out, struct value value)
{
    struct value_db_pointer pointer = value_db_pointer(value);

    buffer_append_text(out, "{\"$dbPointer\":{\"$ref\":");
    write_text(out, pointer.collection);
    buffer_append_text(out, ",\"$id\":");
    write_object_id(out, pointer.id);
    buffer_append_text(out, "}}");
}

static void write_tagged_text(struct buffer *out, const char *tag, bytes text)
{
    buffer_append_format(out, "{\"%s\":", tag);
    write_text(out, text);
    buffer_append_byte(out, '}');
}

static void write_scoped_code(struct buffer *out, struct value value)
{
    struct value_scoped_code scoped = value_scoped_code(value);

    buffer_append_text(out, "{\"$code\":");
    write_text(out, scoped.code);
    buffer_append_text(out, ",\"$scope\":");
    json_write(out, scoped.scope);
    buffer_append_byte(out, '}');
}

static void write_decimal(struct buffer *out, struct value value)
{
    bson_decimal128_t decimal = { .low = raw_u64(value.raw.data),
                                  .high = raw_u64(value.raw.data + 8) };
    char text[BSON_DECIMAL128_STRING];

    bson_decimal128_to_string(&decimal, text);
    buffer_append_format(out, "{\"$numberDecimal\":\"%s\"}", text);
}

/* tidy: long because it is one row per type. */
static void write_extended(struct buffer *out, struct value value)
{
    switch (value.type) {
    case VALUE_BINARY:
        write_binary(out, value);
        return;
    case VALUE_OBJECT_ID:
        write_object_id(out, value.raw);
        return;
    case VALUE_DATE:
        write_date(out, raw_int64(value.raw.data));
        return;
    case VALUE_REGEX:
        write_regex(out, value);
        return;
    case VALUE_DB_POINTER:
        write_db_pointer(out, value);
        return;
    case VALUE_CODE:
        write_tagged_text(out, "$code", value_text(value));
        return;
    case VALUE_SYMBOL:
        write_tagged_text(out, "$symbol", value_text(value));
        return;
    case VALUE_CODE_WITH_SCOPE:
        write_scoped_code(out, value);
        return;
    case VALUE_TIMESTAMP:
        buffer_append_format(out, "{\"$timestamp\":{\"t\":%" PRIu32 ",\"i\":%" PRIu32 "}}",
                             raw_u32(value.raw.data + 4), raw_u32(value.raw.data));
        return;
    case VALUE_DECIMAL128:
        write_decimal(out, value);
        return;
    case VALUE_MIN_KEY:
        buffer_append_text(out, "{\"$minKey\":1}");
        return;
    case VALUE_MAX_KEY:
        buffer_append_text(out, "{\"$maxKey\":1}");
        return;
    case VALUE_MISSING:
    case VALUE_UNDEFINED:
        buffer_append_text(out, "{\"$undefined\":true}");
        return;
    case VALUE_DOUBLE:
    case VALUE_INT32:
    case VALUE_INT64:
    case VALUE_STRING:
    case VALUE_DOCUMENT:
    case VALUE_ARRAY:
    case VALUE_BOOL:
    case VALUE_NULL:
        break;
    }
    check_failed("the type has no JSON form of its own", __FILE__, __LINE__);
}
