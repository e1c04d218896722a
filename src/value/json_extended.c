/* JSON extended: texts in which objects such as {"$oid":"..."} stand for values that JSON lacks.
 *
 * The text is read as plain JSON first, with all its limits and offsets. Then the document is built again, and every
 * object whose first name is a tag of the table becomes the value that it stands for: both forms of the notation
 * (canonical and relaxed), and the older ones of dates and binaries that tools still write. An object that looks
 * like one and is not is an error, since it is far more often a slip than what somebody wanted to keep.
 *
 * Keeps: the output passes document_check() wherever that of json_read() does; recursion is bounded by its depth.
 * Pure apart from the arena; callable from every thread. Start reading at json_read_extended(). */
#include "value/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "value/libbson.h"
#include "value/raw.h"

enum { HEX = 16, NUMBER_TEXT_MAX = 64, MS_PER_SECOND = 1000, OBJECT_ID_LEN = 12 };

/* `whole` is the object, `inner` the value of its tag. */
typedef status read_tag(struct arena *arena, bytes whole, struct value inner, struct value *out);

static status resolve(struct arena *arena, bytes document, struct buffer *out);

static status refuse(struct arena *arena, const char *tag, const char *expected)
{
    return status_fail(arena, INVALID, "\"%s\" expects %s", tag, expected);
}

static status give(struct arena *arena, enum value_type type, const void *raw, size_t len,
                   struct value *out)
{
    bytes copy;

    TRY(arena_copy(arena, bytes_of(raw, len), &copy));
    *out = (struct value){ type, copy };
    return STATUS_OK;
}

/* A short text of a value with an end, for the functions of the C library; false if it is none. */
static bool copy_text(struct value value, char out[NUMBER_TEXT_MAX])
{
    if (value.type != VALUE_STRING)
        return false;
    bytes text = value_text(value);
    if (text.len == 0 || text.len >= NUMBER_TEXT_MAX || memchr(text.data, '\0', text.len))
        return false;
    memcpy(out, text.data, text.len);
    out[text.len] = '\0';
    return true;
}

/* ---- numbers ---------------------------------------------------------------------------------------- */

static bool parse_whole(struct value value, int64_t *out)
{
    char text[NUMBER_TEXT_MAX], *end;

    if (!copy_text(value, text) || (text[0] != '-' && (text[0] < '0' || text[0] > '9')))
        return false;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return errno == 0 && *end == '\0';
}

static status read_int32(struct arena *arena, bytes whole, struct value inner, struct value *out)
{
    uint8_t raw[4];
    int64_t number;

    (void)whole;
    if (!parse_whole(inner, &number) || number < INT32_MIN || number > INT32_MAX)
        return refuse(arena, "$numberInt", "a text with a whole number of 32 bits");
    raw_put_u32(raw, (uint32_t)number);
    return give(arena, VALUE_INT32, raw, sizeof(raw), out);
}

static status read_int64(struct arena *arena, bytes whole, struct value inner, struct value *out)
{
    uint8_t raw[8];
    int64_t number;

    (void)whole;
    if (!parse_whole(inner, &number))
        return refuse(arena, "$numberLong", "a text with a whole number of 64 bits");
    raw_put_u64(raw, (uint64_t)number);
    return give(arena, VALUE_INT64, raw, sizeof(raw), out);
}

static bool parse_double(struct value value, double *out)
{
    char text[NUMBER_TEXT_MAX], *end;

    if (!copy_text(value, text))
        return false;
    if (strcmp(text, "Infinity") == 0 || strcmp(text, "-Infinity") == 0 ||
        strcmp(text, "NaN") == 0) {
        *out = text[0] == 'N' ? (double)NAN : text[0] == '-' ? -(double)INFINITY : (double)INFINITY;
        return true;
    }
    if (text[strspn(text, "+-.0123456789eE")] != '\0')
        return false;
    *out = strtod(text, &end);
    return *end == '\0' && isfinite(*out);
}

static status read_double(struct arena *arena, bytes whole, struct value inner, struct value *out)
{
    double number;

    (void)whole;
    if (!parse_double(inner, &number))
        return refuse(arena, "$numberDouble", "a text with a number, Infinity, -Infinity or NaN");
    return value_of_double(arena, number, out);
}

static status read_decimal(struct arena *arena, bytes whole, struct value inner, struct value *out)
{
    char text[NUMBER_TEXT_MAX];
    bson_decimal128_t decimal;
    uint8_t raw[16];

    (void)whole;
    if (!copy_text(inner, text) || !bson_decimal128_from_string(text, &decimal))
        return refuse(arena, "$numberDecimal", "a text with a decimal number of 34 digits at most");
    raw_put_u64(raw, decimal.low);
    raw_put_u64(raw + 8, decimal.high);
    return give(arena, VALUE_DECIMAL128, raw, sizeof(raw), out);
}

/* ---- dates ------------------------------------------------------------------------------------------ */

static bool take_digits(const char **at, int count, int *out)
{
    *out = 0;
    for (int i = 0; i < count; i++, (*at)++) {
        if (**at < '0' || **at > '9')
            return false;
        *out = *out * 10 + (**at - '0');
    }
    return true;
}

static bool take_byte(const char **at, char byte)
{
    if (**at != byte)
        return false;
    (*at)++;
    return true;
}

/* zone = "Z" / ("+" / "-") hour [":"] minute; in minutes */
static bool take_zone(const char **at, int *out)
{
    const bool is_west = **at == '-';
    int hours, minutes;

    *out = 0;
    if (take_byte(at, 'Z'))
        return true;
    if (!take_byte(at, '+') && !take_byte(at, '-'))
        return false;
    if (!take_digits(at, 2, &hours))
        return false;
    take_byte(at, ':');
    if (!take_digits(at, 2, &minutes) || hours > 23 || minutes > 59)
        return false;
    *out = (hours * 60 + minutes) * (is_west ? -1 : 1);
    return true;
}

/* fraction = "." 1*3digit, in milliseconds */
static bool take_fraction(const char **at, int *out)
{
    int scale = 100;

    *out = 0;
    if (!take_byte(at, '.'))
        return true;
    if (**at < '0' || **at > '9')
        return false;
    for (; **at >= '0' && **at <= '9'; (*at)++, scale /= 10)
        *out += (**at - '0') * scale;
    return true;
}

static bool parse_date(const char *text, int64_t *ms_out)
{
    struct tm time = { 0 };
    int year, month, fraction, zone;
    const char *at = text;

    if (!take_digits(&at, 4, &year) || !take_byte(&at, '-') || !take_digits(&at, 2, &month) ||
        !take_byte(&at, '-') || !take_digits(&at, 2, &time.tm_mday) || !take_byte(&at, 'T') ||
        !take_digits(&at, 2, &time.tm_hour) || !take_byte(&at, ':') ||
        !take_digits(&at, 2, &time.tm_min) || !take_byte(&at, ':') ||
        !take_digits(&at, 2, &time.tm_sec) || !take_fraction(&at, &fraction) ||
        !take_zone(&at, &zone) || *at != '\0')
        return false;
    const int day = time.tm_mday;
    if (month < 1 || month > 12 || day < 1 || time.tm_hour > 23 || time.tm_min > 59 ||
        time.tm_sec > 59)
        return false;
    time.tm_year = year - 1900;
    time.tm_mon = month - 1;
    *ms_out = ((int64_t)timegm(&time) - (int64_t)zone * 60) * MS_PER_SECOND + fraction;
    return time.tm_mday == day; /* otherwise the month has no such day */
}

static status read_date(struct arena *arena, bytes whole, struct value inner, struct value *out)
{
    char text[NUMBER_TEXT_MAX];
    struct value count;
    uint8_t raw[8];
    int64_t ms;

    (void)whole;
    bool is_date = (copy_text(inner, text) && parse_date(text, &ms)) || value_as_int64(inner, &ms);
    if (!is_date && inner.type == VALUE_DOCUMENT)
        is_date = document_find(value_document(inner), "$numberLong", &count) &&
                  parse_whole(count, &ms);
    if (!is_date)
        return refuse(arena, "$date",
                      "a text such as 2026-01-31T23:59:59.999Z, or {\"$numberLong\":\"...\"} with "
                      "milliseconds since 1970");
    raw_put_u64(raw, (uint64_t)ms);
    return give(arena, VALUE_DATE, raw, sizeof(raw), out);
}

static bool find_u32(struct value document, const char *name, uint32_t *out)
{
    struct value found;
    int64_t number;

    if (document.type != VALUE_DOCUMENT || !document_find(value_document(document), name, &found) ||
        !value_as_int64(found, &number) || number < 0 || number > UINT32_MAX)
        return false;
    *out = (uint32_t)number;
    return true;
}

static status read_timestamp(struct arena *arena, bytes whole, struct value inner,
                             struct value *out)
{
    uint32_t seconds, count;
    uint8_t raw[8];

    (void)whole;
    if (!find_u32(inner, "t", &seconds) || !find_u32(inner, "i", &count))
        return refuse(arena, "$timestamp", "{\"t\":seconds,\"i\":number}");
    raw_put_u32(raw, count);
    raw_put_u32(raw + 4, seconds);
    return give(arena, VALUE_TIMESTAMP, raw, sizeof(raw), out);
}

/* ---- bytes ------------------------------------------------------------------------------------------ */

static int digit_of(uint8_t byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* Two digits for each byte, and nothing else. */
static bool parse_hex(struct value value, uint8_t *out, size_t len)
{
    if (value.type != VALUE_STRING || value_text(value).len != 2 * len)
        return false;
    const uint8_t *digits = value_text(value).data;
    for (size_t i = 0; i < len; i++) {
        int high = digit_of(digits[2 * i]), low = digit_of(digits[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(high * HEX + low);
    }
    return true;
}

static status read_object_id(struct arena *arena, bytes whole, struct value inner,
                             struct value *out)
{
    uint8_t raw[OBJECT_ID_LEN];

    (void)whole;
    if (!parse_hex(inner, raw, sizeof(raw)))
        return refuse(arena, "$oid", "a text of 24 hexadecimal digits");
    return give(arena, VALUE_OBJECT_ID, raw, sizeof(raw), out);
}

static int base64_digit(uint8_t byte)
{
    if (byte >= 'A' && byte <= 'Z')
        return byte - 'A';
    if (byte >= 'a' && byte <= 'z')
        return byte - 'a' + 26;
    if (byte >= '0' && byte <= '9')
        return byte - '0' + 52;
    return byte == '+' ? 62 : byte == '/' ? 63 : -1;
}

static bool parse_base64(bytes text, struct buffer *out)
{
    uint32_t bits = 0;
    int bit_count = 0;

    if (text.len % 4 != 0)
        return false;
    for (int i = 0; i < 2 && text.len > 0 && text.data[text.len - 1] == '='; i++)
        text.len--;
    for (size_t i = 0; i < text.len; i++) {
        int digit = base64_digit(text.data[i]);
        if (digit < 0)
            return false;
        bits = bits << 6 | (uint32_t)digit;
        bit_count += 6;
        if (bit_count >= 8) {
            bit_count -= 8;
            buffer_append_byte(out, (uint8_t)(bits >> bit_count));
        }
    }
    return (bits & ((1U << bit_count) - 1)) == 0; /* nothing is left over */
}

static bool parse_subtype(struct value value, uint8_t *out)
{
    bytes text = value.type == VALUE_STRING ? value_text(value) : BYTES_NONE;

    if (text.len == 1 && digit_of(text.data[0]) >= 0)
        *out = (uint8_t)digit_of(text.data[0]);
    else if (!parse_hex(value, out, 1))
        return false;
    return true;
}

/* {"base64":text,"subType":hex}; of old: text, and beside it "$type":hex. */
static bool take_binary(bytes whole, struct value inner, struct value *text_out, uint8_t *type_out)
{
    struct value type;
    bool is_old = inner.type == VALUE_STRING;

    *text_out = inner;
    if (is_old)
        return document_find(whole, "$type", &type) && parse_subtype(type, type_out);
    return inner.type == VALUE_DOCUMENT &&
           document_find(value_document(inner), "base64", text_out) &&
           text_out->type == VALUE_STRING &&
           document_find(value_document(inner), "subType", &type) && parse_subtype(type, type_out);
}

/* The old subtype 2 has its length a second time. */
static status read_binary(struct arena *arena, bytes whole, struct value inner, struct value *out)
{
    struct buffer content = buffer_in(arena), raw = buffer_in(arena);
    struct value text;
    uint8_t head[9] = { 0 }, subtype;
    bytes built;

    if (!take_binary(whole, inner, &text, &subtype) || !parse_base64(value_text(text), &content))
        return refuse(arena, "$binary", "{\"base64\":\"...\",\"subType\":\"00\"}");
    const bool is_doubled = subtype == 2;
    raw_put_u32(head, (uint32_t)(content.len + (is_doubled ? 4 : 0)));
    head[4] = subtype;
    raw_put_u32(head + 5, (uint32_t)content.len);
    buffer_append(&raw, bytes_of(head, is_doubled ? 9 : 5));
    buffer_append(&raw, bytes_of(content.data, content.len));
    TRY(buffer_finish(&raw, &built));
    *out = (struct value){ VALUE_BINARY, built };
    return STATUS_OK;
}

static status read_uuid(struct arena *arena, bytes whole, struct value inner, struct value *out)
{
    enum { UUID_TEXT = 36, UUID_BYTES = 16 };
    bytes text = inner.type == VALUE_STRING ? value_text(inner) : BYTES_NONE;
    uint8_t raw[5 + UUID_BYTES] = { UUID_BYTES, 0, 0, 0, 4 };
    size_t at = 0;

    (void)whole;
    for (size_t i = 0; text.len == UUID_TEXT && i < UUID_TEXT; i++) {
        if (i == 8 || i == 13 || i == 18 || i == 23) {
            if (text.data[i] != '-')
                break;
            continue;
        }
        int high = digit_of(text.data[i]), low = digit_of(text.data[i + 1]);
        if (high < 0 || low < 0)
            break;
        raw[5 + at++] = (uint8_t)(high * HEX + low);
        i++;
    }
    if (at < UUID_BYTES)
        return refuse(arena, "$uuid", "a text such as 01234567-89ab-cdef-0123-456789abcdef");
    return give(arena, VALUE_BINARY, raw, sizeof(raw), out);
}

/* ---- texts ------------------------------------------------------------------------------------------ */

static bool is_cstring(struct value value)
{
    return value.type == VALUE_STRING &&
           !memchr(value_text(value).data, '\0', value_text(value).len);
}

static status read_regex(struct arena *arena, bytes whole, struct value inner, struct value *out)
{
    struct buffer raw = buffer_in(arena);
    struct value pattern, options;
    bytes built;

    (void)whole;
    if (inner.type != VALUE_DOCUMENT ||
        !document_find(value_document(inner), "pattern", &pattern) ||
        !document_find(value_document(inner), "options", &options) || !is_cstring(pattern) ||
        !is_cstring(options))
        return refuse(arena, "$regularExpression", "{\"pattern\":\"...\",\"options\":\"...\"}");
    buffer_append(&raw, value_text(pattern));
    buffer_append_byte(&raw, 0);
    buffer_append(&raw, value_text(options));
    buffer_append_byte(&raw, 0);
    TRY(buffer_finish(&raw, &built));
    *out = (struct value){ VALUE_REGEX, built };
    return STATUS_OK;
}

static status read_symbol(struct arena *arena, bytes whole, struct value inner, struct value *out)
{
    (void)whole;
    if (inner.type != VALUE_STRING)
        return refuse(arena, "$symbol", "a text");
    *out = (struct value){ VALUE_SYMBOL, inner.raw };
    return STATUS_OK;
}

static status read_code(struct arena *arena, bytes whole, struct value inner, struct value *out)
{
    struct buffer raw = buffer_in(arena);
    struct value scope;
    uint8_t head[4] = { 0 };
    bytes built;

    if (inner.type != VALUE_STRING)
        return refuse(arena, "$code", "a text");
    *out = (struct value){ VALUE_CODE, inner.raw };
    if (!document_find(whole, "$scope", &scope))
        return STATUS_OK;
    if (scope.type != VALUE_DOCUMENT)
        return refuse(arena, "$scope", "an object");
    buffer_append(&raw, bytes_of(head, sizeof(head)));
    buffer_append(&raw, inner.raw);
    TRY(resolve(arena, value_document(scope), &raw));
    TRY(buffer_finish(&raw, &built));
    raw_put_u32(raw.data, (uint32_t)raw.len);
    *out = (struct value){ VALUE_CODE_WITH_SCOPE, built };
    return STATUS_OK;
}

static status read_pointer(struct arena *arena, bytes whole, struct value inner, struct value *out)
{
    struct buffer raw = buffer_in(arena);
    struct value collection, id, digits;
    uint8_t object_id[OBJECT_ID_LEN];
    bytes built;

    (void)whole;
    if (inner.type != VALUE_DOCUMENT ||
        !document_find(value_document(inner), "$ref", &collection) ||
        !document_find(value_document(inner), "$id", &id) || collection.type != VALUE_STRING ||
        id.type != VALUE_DOCUMENT || !document_find(value_document(id), "$oid", &digits) ||
        !parse_hex(digits, object_id, sizeof(object_id)))
        return refuse(arena, "$dbPointer", "{\"$ref\":\"...\",\"$id\":{\"$oid\":\"...\"}}");
    buffer_append(&raw, collection.raw);
    buffer_append(&raw, bytes_of(object_id, sizeof(object_id)));
    TRY(buffer_finish(&raw, &built));
    *out = (struct value){ VALUE_DB_POINTER, built };
    return STATUS_OK;
}

/* ---- values without content ------------------------------------------------------------------------- */

static status read_min_key(struct arena *arena, bytes whole, struct value inner, struct value *out)
{
    int64_t one;

    (void)whole;
    *out = (struct value){ VALUE_MIN_KEY, BYTES_NONE };
    return value_as_int64(inner, &one) && one == 1 ? STATUS_OK : refuse(arena, "$minKey", "1");
}

static status read_max_key(struct arena *arena, bytes whole, struct value inner, struct value *out)
{
    int64_t one;

    (void)whole;
    *out = (struct value){ VALUE_MAX_KEY, BYTES_NONE };
    return value_as_int64(inner, &one) && one == 1 ? STATUS_OK : refuse(arena, "$maxKey", "1");
}

static status read_undefined(struct arena *arena, bytes whole, struct value inner,
                             struct value *out)
{
    (void)whole;
    *out = (struct value){ VALUE_UNDEFINED, BYTES_NONE };
    return inner.type == VALUE_BOOL && inner.raw.data[0] ? STATUS_OK
                                                         : refuse(arena, "$undefined", "true");
}

/* ---- documents -------------------------------------------------------------------------------------- */

/* More than one field only where the second is part of the value. */
static const struct tag {
    const char *name;
    const char *beside; /* NULL: nothing */
    read_tag *read;
} tags[] = {
    {"$binary",             "$type",  read_binary   },
    { "$code",              "$scope", read_code     },
    { "$date",              NULL,     read_date     },
    { "$dbPointer",         NULL,     read_pointer  },
    { "$maxKey",            NULL,     read_max_key  },
    { "$minKey",            NULL,     read_min_key  },
    { "$numberDecimal",     NULL,     read_decimal  },
    { "$numberDouble",      NULL,     read_double   },
    { "$numberInt",         NULL,     read_int32    },
    { "$numberLong",        NULL,     read_int64    },
    { "$oid",               NULL,     read_object_id},
    { "$regularExpression", NULL,     read_regex    },
    { "$symbol",            NULL,     read_symbol   },
    { "$timestamp",         NULL,     read_timestamp},
    { "$undefined",         NULL,     read_undefined},
    { "$uuid",              NULL,     read_uuid     },
};

static const struct tag *find_tag(bytes document)
{
    struct document_walk walk = document_fields(document);
    struct field first, second, third;

    if (!document_next(&walk, &first) || first.name.len == 0 || first.name.data[0] != '$')
        return NULL;
    for (size_t i = 0; i < ARRAY_COUNT(tags); i++) {
        if (!bytes_is_text(first.name, tags[i].name))
            continue;
        if (!document_next(&walk, &second))
            return &tags[i];
        return tags[i].beside && bytes_is_text(second.name, tags[i].beside) &&
                       !document_next(&walk, &third)
                   ? &tags[i]
                   : NULL;
    }
    return NULL;
}

static status resolve_value(struct arena *arena, const struct field *field, struct buffer *out)
{
    const bool is_inner = field->value.type == VALUE_DOCUMENT || field->value.type == VALUE_ARRAY;
    bytes inner = is_inner ? value_document(field->value) : BYTES_NONE;
    const struct tag *tag = field->value.type == VALUE_DOCUMENT ? find_tag(inner) : NULL;
    struct value value = field->value, tagged;

    if (tag) {
        document_find(inner, tag->name, &tagged);
        TRY(tag->read(arena, inner, tagged, &value));
    }
    if (tag || !is_inner) {
        document_append(out, field->name, value);
        return STATUS_OK;
    }
    buffer_append_byte(out, (uint8_t)field->value.type);
    buffer_append(out, field->name);
    buffer_append_byte(out, 0);
    return resolve(arena, inner, out);
}

static status resolve(struct arena *arena, bytes document, struct buffer *out)
{
    struct document_walk walk = document_fields(document);
    size_t begun = document_begin(out);
    struct field field;

    while (document_next(&walk, &field))
        TRY(resolve_value(arena, &field, out));
    document_end(out, begun);
    return STATUS_OK;
}

status json_read_extended(struct arena *arena, bytes text, bytes *document_out)
{
    struct buffer out = buffer_in(arena);
    bytes plain;

    *document_out = BYTES_NONE;
    TRY(json_read(arena, text, &plain));
    if (!memmem(text.data, text.len, "\"$", 2) && !memmem(text.data, text.len, "\\u", 2)) {
        *document_out = plain;
        return STATUS_OK;
    }
    buffer_reserve(&out, plain.len);
    TRY(resolve(arena, plain, &out));
    return buffer_finish(&out, document_out);
}
