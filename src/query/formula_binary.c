/* Binary data as text and back, and $convert, which knows both and all other conversions.
 *
 * Pure apart from the run's arena. Start reading at formula_convert(). */
#include <stdio.h>

#include "query/formula_convert.h"

/* ---- writing ---------------------------------------------------------------------------------------- */

static void append_hex(struct buffer *out, bytes content)
{
    for (size_t i = 0; i < content.len; i++)
        buffer_append_format(out, "%02x", content.data[i]);
}

static void append_base64(struct buffer *out, bytes content, bool is_for_urls)
{
    const char *letters = is_for_urls
                              ? "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
                              : "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < content.len; i += 3) {
        size_t left = content.len - i;
        uint32_t three = (uint32_t)content.data[i] << 16 |
                         (uint32_t)(left > 1 ? content.data[i + 1] : 0) << 8 |
                         (left > 2 ? content.data[i + 2] : 0);
        for (size_t j = 0; j < 4; j++) {
            if (j <= left)
                buffer_append_byte(out, (uint8_t)letters[three >> (18 - 6 * j) & 63]);
            else if (!is_for_urls)
                buffer_append_byte(out, '=');
        }
    }
}

static void append_uuid(struct buffer *out, bytes content)
{
    static const size_t parts[] = { 4, 2, 2, 2, 6 };
    size_t at = 0;

    for (size_t i = 0; i < ARRAY_COUNT(parts); at += parts[i++]) {
        if (i)
            buffer_append_byte(out, '-');
        append_hex(out, bytes_of(content.data + at, parts[i]));
    }
}

status binary_write(struct formula_run *run, struct value value, enum binary_format format,
                    struct value *out)
{
    struct value_binary binary = value_binary(value);
    struct buffer built = buffer_in(run->arena);
    bool is_uuid = binary.subtype == BINARY_SUBTYPE_UUID && binary.content.len == BINARY_UUID_BYTES;
    bytes text;

    if (format == BINARY_AUTO)
        format = is_uuid ? BINARY_UUID : BINARY_BASE64;
    switch (format) {
    case BINARY_UUID:
        if (!is_uuid)
            return formula_refuse(run, CONVERSION_FAILURE,
                                  "only binData of subtype 4 with 16 bytes is a UUID in $convert");
        append_uuid(&built, binary.content);
        break;
    case BINARY_HEX:
        append_hex(&built, binary.content);
        break;
    case BINARY_UTF8:
        if (!text_is_utf8(binary.content))
            return formula_refuse(run, CONVERSION_FAILURE,
                                  "the binData is not UTF-8 and cannot be a string in $convert");
        buffer_append(&built, binary.content);
        break;
    case BINARY_NONE:
    case BINARY_AUTO:
    case BINARY_BASE64:
    case BINARY_BASE64_URL:
        append_base64(&built, binary.content, format == BINARY_BASE64_URL);
        break;
    }
    TRY(buffer_finish(&built, &text));
    return formula_give_text(run, text, out);
}

/* ---- reading ---------------------------------------------------------------------------------------- */

int binary_digit(uint8_t letter)
{
    if (letter >= '0' && letter <= '9')
        return letter - '0';
    if (letter >= 'a' && letter <= 'f')
        return letter - 'a' + 10;
    return letter >= 'A' && letter <= 'F' ? letter - 'A' + 10 : -1;
}

static bool read_hex(bytes text, struct buffer *out)
{
    for (size_t i = 0; i + 1 < text.len; i += 2) {
        int high = binary_digit(text.data[i]), low = binary_digit(text.data[i + 1]);
        if (high < 0 || low < 0)
            return false;
        buffer_append_byte(out, (uint8_t)(high << 4 | low));
    }
    return text.len % 2 == 0;
}

static bool read_uuid(bytes text, struct buffer *out)
{
    static const size_t parts[] = { 8, 4, 4, 4, 12 };
    size_t at = 0;

    if (text.len != 36)
        return false;
    for (size_t i = 0; i < ARRAY_COUNT(parts); at += parts[i++] + 1) {
        if ((i && text.data[at - 1] != '-') || !read_hex(bytes_of(text.data + at, parts[i]), out))
            return false;
    }
    return true;
}

static int base64_digit(uint8_t letter, bool is_for_urls)
{
    if (letter >= 'A' && letter <= 'Z')
        return letter - 'A';
    if (letter >= 'a' && letter <= 'z')
        return letter - 'a' + 26;
    if (letter >= '0' && letter <= '9')
        return letter - '0' + 52;
    if (letter == (is_for_urls ? '-' : '+'))
        return 62;
    return letter == (is_for_urls ? '_' : '/') ? 63 : -1;
}

static bool read_base64(bytes text, bool is_for_urls, struct buffer *out)
{
    uint32_t bits = 0;
    unsigned held = 0;

    if (!is_for_urls && text.len % 4 != 0)
        return false;
    for (int i = 0; i < 2 && text.len && text.data[text.len - 1] == '='; i++)
        text.len--;
    for (size_t i = 0; i < text.len; i++) {
        int digit = base64_digit(text.data[i], is_for_urls);
        if (digit < 0)
            return false;
        bits = bits << 6 | (uint32_t)digit;
        held += 6;
        if (held >= 8) {
            held -= 8;
            buffer_append_byte(out, (uint8_t)(bits >> held));
        }
    }
    return held < 6;
}

static bool read_text(bytes text, enum binary_format format, struct buffer *out)
{
    switch (format) {
    case BINARY_HEX:
        return read_hex(text, out);
    case BINARY_UUID:
        return read_uuid(text, out);
    case BINARY_UTF8:
        buffer_append(out, text);
        return true;
    case BINARY_BASE64:
    case BINARY_BASE64_URL:
        return read_base64(text, format == BINARY_BASE64_URL, out);
    case BINARY_NONE:
    case BINARY_AUTO:
        break;
    }
    return false;
}

status binary_read(struct formula_run *run, bytes text, enum binary_format format, uint8_t subtype,
                   struct value *out)
{
    struct buffer content = buffer_in(run->arena), built = buffer_in(run->arena);

    if (!read_text(text, format, &content))
        return formula_bad_text(run, text, "binData");
    if (format == BINARY_UUID && subtype != BINARY_SUBTYPE_UUID)
        return formula_refuse(run, CONVERSION_FAILURE,
                              "a UUID is binData of subtype 4, not of subtype %u", subtype);
    /* The length with the lowest byte first, the subtype, the bytes. */
    for (unsigned i = 0; i < 4; i++)
        buffer_append_byte(&built, (uint8_t)(content.len >> (8 * i)));
    buffer_append_byte(&built, subtype);
    buffer_append(&built, bytes_of(content.data, content.len));
    *out = (struct value){ .type = VALUE_BINARY };
    return content.is_failed ? arena_exhausted(run->arena) : buffer_finish(&built, &out->raw);
}

status formula_binary_of(struct formula_run *run, struct value value, struct value *out)
{
    if (value.type != VALUE_BINARY)
        return formula_no_way(run, value, "binData");
    *out = value;
    return STATUS_OK;
}

status formula_to_uuid(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct value value;

    TRY(formula_argument(call, run, 0, &value));
    if (formula_is_null(value))
        return formula_give_null(out);
    if (value.type == VALUE_STRING)
        return binary_read(run, value_text(value), BINARY_UUID, BINARY_SUBTYPE_UUID, out);
    if (value.type != VALUE_BINARY || value_binary(value).subtype != BINARY_SUBTYPE_UUID)
        return formula_no_way(run, value, "UUID");
    *out = value;
    return STATUS_OK;
}

/* ---- $convert --------------------------------------------------------------------------------------- */

struct aim {
    enum value_type type;
    uint8_t subtype;
    enum binary_format format;
};

static bool find_type(struct value name, enum value_type *out)
{
    static const enum value_type all[] = { VALUE_DOUBLE,    VALUE_STRING, VALUE_DOCUMENT,
                                           VALUE_ARRAY,     VALUE_BINARY, VALUE_UNDEFINED,
                                           VALUE_OBJECT_ID, VALUE_BOOL,   VALUE_DATE,
                                           VALUE_NULL,      VALUE_REGEX,  VALUE_INT32,
                                           VALUE_TIMESTAMP, VALUE_INT64,  VALUE_DECIMAL128 };
    int64_t number;

    for (size_t i = 0; i < ARRAY_COUNT(all); i++) {
        *out = all[i];
        if (name.type == VALUE_STRING
                ? bytes_equal(value_text(name), bytes_of_text(value_type_name(all[i])))
                : value_as_int64(name, &number) && number == (int)all[i])
            return true;
    }
    return false;
}

static status take_format(struct formula_run *run, struct value given, enum binary_format *out)
{
    static const char *const names[] = { "", "auto", "base64", "base64url", "hex", "utf8", "uuid" };

    *out = BINARY_NONE;
    if (formula_is_null(given))
        return STATUS_OK;
    for (size_t i = 1; i < ARRAY_COUNT(names) && given.type == VALUE_STRING; i++) {
        *out = (enum binary_format)i;
        if (bytes_equal(value_text(given), bytes_of_text(names[i])))
            return STATUS_OK;
    }
    return formula_refuse(run, 4341125,
                          "$convert's 'format' is one of auto, base64, base64url, hex, utf8, uuid");
}

/* A type by name or number, or { type, subtype }; *is_null_out if it is null. */
static status take_aim(struct formula_run *run, struct value to, struct aim *out, bool *is_null_out)
{
    struct value type = to, subtype;
    int64_t number;

    *is_null_out = formula_is_null(to);
    if (*is_null_out)
        return STATUS_OK;
    if (to.type == VALUE_DOCUMENT) {
        document_find(value_document(to), "type", &type);
        if (document_find(value_document(to), "subtype", &subtype)) {
            if (!value_as_int64(subtype, &number) || number < 0 || number > 255)
                return formula_refuse(run, 4341107,
                                      "In $convert, 'subtype' must be a whole number, 0 to 255");
            out->subtype = (uint8_t)number;
        }
    }
    if (type.type != VALUE_STRING && !value_is_number(type))
        return formula_refuse(run, 9,
                              "$convert's 'to' argument must be a string or number, but is %s",
                              value_type_name(type.type));
    if (find_type(type, &out->type))
        return STATUS_OK;
    return formula_refuse(run, 2, "In $convert, there is no such type to convert to");
}

static status convert(struct formula_run *run, const struct aim *aim, struct value input,
                      struct value *out)
{
    bool is_text = input.type == VALUE_STRING && aim->type == VALUE_BINARY;

    if (!is_text && !(input.type == VALUE_BINARY && aim->type == VALUE_STRING))
        return formula_convert_to(run, aim->type, input, out);
    if (aim->format == BINARY_NONE)
        return formula_refuse(run, 4341115,
                              "Format must be specified when converting from '%s' to '%s'",
                              value_type_name(input.type), value_type_name(aim->type));
    return is_text ? binary_read(run, value_text(input), aim->format, aim->subtype, out)
                   : binary_write(run, input, aim->format, out);
}

/* input, to, onError, onNull, format */
status formula_convert(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct value input, to, format;
    struct aim aim = { 0 };
    bool is_null;

    TRY(formula_argument(call, run, 0, &input));
    TRY(formula_argument(call, run, 1, &to));
    TRY(formula_argument(call, run, 4, &format));
    TRY(take_aim(run, to, &aim, &is_null));
    TRY(take_format(run, format, &aim.format));
    *out = value_null();
    if (formula_is_null(input))
        return call->count > 3 && call->args[3] ? formula_argument(call, run, 3, out) : STATUS_OK;
    if (is_null)
        return STATUS_OK;
    status s = convert(run, &aim, input, out);
    if (s.code != INVALID || run->refusal != CONVERSION_FAILURE || call->count < 3 ||
        !call->args[2])
        return s;
    run->refusal = 0;
    return formula_argument(call, run, 2, out);
}
