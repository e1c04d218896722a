/* Operators of formulas that turn values into other types.
 *
 * Null or missing in, null out. What has no meaning in the other type is refused.
 *
 * Pure apart from the run's arena. */
#include "query/formula_body.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "query/moment.h"

enum { CONVERSION_FAILURE = 241 };
enum { NUMBER_TEXT_BYTES = 64, OBJECT_ID_BYTES = 12 };

static status no_way(struct formula_run *run, struct value value, const char *type)
{
    return formula_refuse(run, CONVERSION_FAILURE,
                          "Unsupported conversion from %s to %s in $convert",
                          value_type_name(value.type), type);
}

static status bad_text(struct formula_run *run, bytes text, const char *type)
{
    return formula_refuse(run, CONVERSION_FAILURE, "Failed to parse %s '%.*s' in $convert", type,
                          (int)text.len, (const char *)text.data);
}

static status take(const struct formula *call, struct formula_run *run, struct value *value_out,
                   struct value *out)
{
    TRY(formula_argument(call, run, 0, value_out));
    *out = formula_is_null(*value_out) ? value_null() : value_missing();
    return STATUS_OK;
}

status formula_to_bool(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct value value;

    TRY(take(call, run, &value, out));
    if (out->type == VALUE_MISSING)
        *out = value_bool(formula_is_true(value));
    return STATUS_OK;
}

/* ---- numbers ---------------------------------------------------------------------------------------- */

static bool copy_text(bytes text, char room[NUMBER_TEXT_BYTES])
{
    if (text.len == 0 || text.len >= NUMBER_TEXT_BYTES || memchr(text.data, 0, text.len))
        return false;
    memcpy(room, text.data, text.len);
    room[text.len] = 0;
    return room[0] != ' ' && room[0] != '\t' && room[0] != '\n';
}

static bool parse_integer(bytes text, int64_t *out)
{
    char room[NUMBER_TEXT_BYTES], *end;

    if (!copy_text(text, room))
        return false;
    errno = 0;
    *out = strtoll(room, &end, 10);
    return *end == 0 && errno == 0;
}

static bool parse_real(bytes text, double *out)
{
    char room[NUMBER_TEXT_BYTES], *end;

    if (!copy_text(text, room) || strpbrk(room, "xX"))
        return false;
    *out = strtod(room, &end);
    return *end == 0;
}

static status to_integer(const struct formula *call, struct formula_run *run, bool is_long,
                         struct value *out)
{
    const char *name = is_long ? "long" : "int";
    enum value_type type = is_long ? VALUE_INT64 : VALUE_INT32;
    int64_t least = is_long ? INT64_MIN : INT32_MIN, most = is_long ? INT64_MAX : INT32_MAX;
    struct value value;
    int64_t number;

    TRY(take(call, run, &value, out));
    if (out->type == VALUE_NULL)
        return STATUS_OK;
    if (value.type == VALUE_STRING) {
        if (!parse_integer(value_text(value), &number) || number < least || number > most)
            return bad_text(run, value_text(value), "number");
    } else if (value.type == VALUE_BOOL) {
        number = value_is_true(value);
    } else if (value.type == VALUE_DATE && is_long) {
        number = value_date_ms(value);
    } else if (!value_is_number(value)) {
        return no_way(run, value, name);
    } else if (!value_as_int64(value, &number)) {
        double real = trunc(value_as_double(value));
        if (!(real >= (double)least && real < -(double)least))
            return formula_refuse(run, CONVERSION_FAILURE,
                                  "Conversion would overflow target type in $convert: %g",
                                  value_as_double(value));
        number = (int64_t)real;
    }
    if (number < least || number > most)
        return formula_refuse(run, CONVERSION_FAILURE,
                              "Conversion would overflow target type in $convert: %lld",
                              (long long)number);
    return value_of_integer(run->arena, type, number, out);
}

status formula_to_int(const struct formula *call, struct formula_run *run, struct value *out)
{
    return to_integer(call, run, false, out);
}

status formula_to_long(const struct formula *call, struct formula_run *run, struct value *out)
{
    return to_integer(call, run, true, out);
}

static status to_real(struct formula_run *run, struct value value, const char *name, double *out)
{
    if (value_is_number(value))
        *out = value_as_double(value);
    else if (value.type == VALUE_BOOL)
        *out = value_is_true(value);
    else if (value.type == VALUE_DATE)
        *out = (double)value_date_ms(value);
    else if (value.type != VALUE_STRING)
        return no_way(run, value, name);
    else if (!parse_real(value_text(value), out))
        return bad_text(run, value_text(value), "number");
    return STATUS_OK;
}

status formula_to_double(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct value value;
    double real;

    TRY(take(call, run, &value, out));
    if (out->type == VALUE_NULL)
        return STATUS_OK;
    TRY(to_real(run, value, "double", &real));
    return value_of_double(run->arena, real, out);
}

status formula_to_decimal(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct value value;
    uint8_t raw[16];
    double real;

    TRY(take(call, run, &value, out));
    if (out->type == VALUE_NULL)
        return STATUS_OK;
    if (value_is_number(value))
        return number_to_decimal(run->arena, value, out);
    if (value.type == VALUE_STRING) {
        if (!number_decimal_of_text(value_text(value), raw))
            return bad_text(run, value_text(value), "number");
        *out = (struct value){ .type = VALUE_DECIMAL128 };
        return arena_copy(run->arena, bytes_of(raw, sizeof(raw)), &out->raw);
    }
    TRY(to_real(run, value, "decimal", &real));
    TRY(value_of_integer(run->arena, VALUE_INT64, (int64_t)real, out));
    return number_to_decimal(run->arena, *out, out);
}

/* ---- dates and ids ---------------------------------------------------------------------------------- */

bool formula_as_date(struct value value, int64_t *ms_out)
{
    if (value.type == VALUE_DATE) {
        *ms_out = value_date_ms(value);
        return true;
    }
    if (value.type == VALUE_OBJECT_ID) {
        const uint8_t *id = value.raw.data;
        uint32_t seconds = (uint32_t)id[0] << 24 | (uint32_t)id[1] << 16 | (uint32_t)id[2] << 8 |
                           id[3];
        *ms_out = (int64_t)seconds * 1000;
        return true;
    }
    if (value.type == VALUE_TIMESTAMP) {
        const uint8_t *raw = value.raw.data;
        uint32_t seconds = (uint32_t)raw[7] << 24 | (uint32_t)raw[6] << 16 | (uint32_t)raw[5] << 8 |
                           raw[4];
        *ms_out = (int64_t)seconds * 1000;
        return true;
    }
    return false;
}

status formula_to_date(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct value value;
    int64_t ms;

    TRY(take(call, run, &value, out));
    if (out->type == VALUE_NULL)
        return STATUS_OK;
    if (value.type == VALUE_STRING) {
        if (!moment_parse(value_text(value), &ms))
            return bad_text(run, value_text(value), "date");
        ms /= MOMENT_TICKS_PER_MS;
    } else if (value.type == VALUE_INT64 || value.type == VALUE_DOUBLE ||
               value.type == VALUE_DECIMAL128) {
        if (!value_as_int64(value, &ms)) {
            double real = trunc(value_as_double(value));
            if (!(real >= -0x1p63 && real < 0x1p63))
                return no_way(run, value, "date");
            ms = (int64_t)real;
        }
    } else if (!formula_as_date(value, &ms)) {
        return no_way(run, value, "date");
    }
    return value_of_integer(run->arena, VALUE_DATE, ms, out);
}

static int digit_of(uint8_t letter)
{
    if (letter >= '0' && letter <= '9')
        return letter - '0';
    if (letter >= 'a' && letter <= 'f')
        return letter - 'a' + 10;
    return letter >= 'A' && letter <= 'F' ? letter - 'A' + 10 : -1;
}

status formula_to_object_id(const struct formula *call, struct formula_run *run, struct value *out)
{
    uint8_t id[OBJECT_ID_BYTES];
    struct value value;

    TRY(take(call, run, &value, out));
    if (out->type == VALUE_NULL)
        return STATUS_OK;
    if (value.type == VALUE_OBJECT_ID) {
        *out = value;
        return STATUS_OK;
    }
    if (value.type != VALUE_STRING)
        return no_way(run, value, "objectId");
    bytes text = value_text(value);
    for (size_t i = 0; i < OBJECT_ID_BYTES; i++) {
        int high = text.len == 2 * OBJECT_ID_BYTES ? digit_of(text.data[2 * i]) : -1;
        int low = text.len == 2 * OBJECT_ID_BYTES ? digit_of(text.data[2 * i + 1]) : -1;
        if (high < 0 || low < 0)
            return bad_text(run, text, "objectId");
        id[i] = (uint8_t)(high << 4 | low);
    }
    *out = (struct value){ .type = VALUE_OBJECT_ID };
    return arena_copy(run->arena, bytes_of(id, sizeof(id)), &out->raw);
}

/* ---- texts ------------------------------------------------------------------------------------------ */

static status text_of_date(struct formula_run *run, int64_t ms, struct value *out)
{
    int64_t ticks;
    char text[MOMENT_TEXT_BYTES + 1];

    if (__builtin_mul_overflow(ms, MOMENT_TICKS_PER_MS, &ticks) || !moment_is_in_range(ticks))
        return formula_refuse(run, CONVERSION_FAILURE, "the date %lld has no text", (long long)ms);
    moment_format(ticks, text);
    /* Milliseconds, not ticks. */
    text[23] = 'Z';
    return formula_give_text(run, bytes_of(text, 24), out);
}

static status text_of_id(struct formula_run *run, struct value id, struct value *out)
{
    char text[2 * OBJECT_ID_BYTES + 1];

    for (size_t i = 0; i < OBJECT_ID_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", id.raw.data[i]);
    return formula_give_text(run, bytes_of(text, sizeof(text) - 1), out);
}

/* Numbers as JSON writes them; decimals stand there in quotes. */
static status text_of_number(struct formula_run *run, struct value number, struct value *out)
{
    struct buffer text = buffer_in(run->arena);
    bytes written;

    json_write_value(&text, number);
    TRY(buffer_finish(&text, &written));
    if (written.len && written.data[0] == '{') {
        const uint8_t *colon = memchr(written.data, ':', written.len);
        const uint8_t *start =
            colon ? memchr(colon, '"', (size_t)(written.data + written.len - colon)) : NULL;
        const uint8_t *end =
            start ? memchr(start + 1, '"', (size_t)(written.data + written.len - start - 1)) : NULL;
        if (end)
            written = bytes_of(start + 1, (size_t)(end - start - 1));
    }
    return formula_give_text(run, written, out);
}

status formula_text_of(struct formula_run *run, struct value value, struct value *out)
{
    int64_t ms;

    if (value.type == VALUE_STRING) {
        *out = value;
        return STATUS_OK;
    }
    if (value.type == VALUE_SYMBOL || value.type == VALUE_CODE)
        return formula_give_text(run, value_text(value), out);
    if (value_is_number(value))
        return text_of_number(run, value, out);
    if (value.type == VALUE_BOOL)
        return formula_give_text(run, bytes_of_text(value_is_true(value) ? "true" : "false"), out);
    if (value.type == VALUE_OBJECT_ID)
        return text_of_id(run, value, out);
    if (value.type == VALUE_DATE && formula_as_date(value, &ms))
        return text_of_date(run, ms, out);
    return no_way(run, value, "string");
}

status formula_to_string(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct value value;

    TRY(take(call, run, &value, out));
    return out->type == VALUE_NULL ? STATUS_OK : formula_text_of(run, value, out);
}
