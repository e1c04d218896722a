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

#include "query/formula_convert.h"
#include "query/formula_date.h"
#include "query/moment.h"

enum { NUMBER_TEXT_BYTES = 64, OBJECT_ID_BYTES = 12 };

status formula_no_way(struct formula_run *run, struct value value, const char *type)
{
    return formula_refuse(run, CONVERSION_FAILURE,
                          "Unsupported conversion from %s to %s in $convert",
                          value_type_name(value.type), type);
}

status formula_bad_text(struct formula_run *run, bytes text, const char *type)
{
    return formula_refuse(run, CONVERSION_FAILURE, "Failed to parse %s '%.*s' in $convert", type,
                          (int)text.len, (const char *)text.data);
}

static status to_bool(struct formula_run *run, struct value value, struct value *out)
{
    (void)run;
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

static status to_integer(struct formula_run *run, struct value value, bool is_long,
                         struct value *out)
{
    const char *name = is_long ? "long" : "int";
    enum value_type type = is_long ? VALUE_INT64 : VALUE_INT32;
    int64_t least = is_long ? INT64_MIN : INT32_MIN, most = is_long ? INT64_MAX : INT32_MAX;
    int64_t number;

    if (value.type == VALUE_STRING) {
        if (!parse_integer(value_text(value), &number) || number < least || number > most)
            return formula_bad_text(run, value_text(value), "number");
    } else if (value.type == VALUE_BOOL) {
        number = value_is_true(value);
    } else if (value.type == VALUE_DATE && is_long) {
        number = value_date_ms(value);
    } else if (!value_is_number(value)) {
        return formula_no_way(run, value, name);
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

static status to_int(struct formula_run *run, struct value value, struct value *out)
{
    return to_integer(run, value, false, out);
}

static status to_long(struct formula_run *run, struct value value, struct value *out)
{
    return to_integer(run, value, true, out);
}

static status to_real(struct formula_run *run, struct value value, const char *name, double *out)
{
    *out = 0;
    if (value_is_number(value))
        *out = value_as_double(value);
    else if (value.type == VALUE_BOOL)
        *out = value_is_true(value);
    else if (value.type == VALUE_DATE)
        *out = (double)value_date_ms(value);
    else if (value.type != VALUE_STRING)
        return formula_no_way(run, value, name);
    else if (!parse_real(value_text(value), out))
        return formula_bad_text(run, value_text(value), "number");
    return STATUS_OK;
}

static status to_double(struct formula_run *run, struct value value, struct value *out)
{
    double real;

    TRY(to_real(run, value, "double", &real));
    return value_of_double(run->arena, real, out);
}

static status to_decimal(struct formula_run *run, struct value value, struct value *out)
{
    uint8_t raw[16];
    int64_t whole;
    double real;

    if (value_is_number(value))
        return number_to_decimal(run->arena, value, out);
    if (value.type == VALUE_STRING) {
        if (!number_decimal_of_text(value_text(value), raw))
            return formula_bad_text(run, value_text(value), "number");
        *out = (struct value){ .type = VALUE_DECIMAL128 };
        return arena_copy(run->arena, bytes_of(raw, sizeof(raw)), &out->raw);
    }
    if (value.type == VALUE_DATE) {
        whole = value_date_ms(value);
    } else {
        TRY(to_real(run, value, "decimal", &real));
        whole = (int64_t)real; /* of true and false */
    }
    TRY(value_of_integer(run->arena, VALUE_INT64, whole, out));
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

static status to_date(struct formula_run *run, struct value value, struct value *out)
{
    const struct zone *utc;
    bool has_zone;
    int64_t ms;

    if (value.type == VALUE_STRING) {
        TRY(zone_find(run->arena, BYTES_LITERAL("UTC"), &utc));
        if (!date_parse_iso(value_text(value), utc, &ms, &has_zone))
            return formula_bad_text(run, value_text(value), "date");
    } else if (value.type == VALUE_INT64 || value.type == VALUE_DOUBLE ||
               value.type == VALUE_DECIMAL128) {
        if (!value_as_int64(value, &ms)) {
            double real = trunc(value_as_double(value));
            if (!(real >= -0x1p63 && real < 0x1p63))
                return formula_no_way(run, value, "date");
            ms = (int64_t)real;
        }
    } else if (!formula_as_date(value, &ms)) {
        return formula_no_way(run, value, "date");
    }
    return value_of_integer(run->arena, VALUE_DATE, ms, out);
}

static status to_object_id(struct formula_run *run, struct value value, struct value *out)
{
    uint8_t id[OBJECT_ID_BYTES];

    if (value.type == VALUE_OBJECT_ID) {
        *out = value;
        return STATUS_OK;
    }
    if (value.type != VALUE_STRING)
        return formula_no_way(run, value, "objectId");
    bytes text = value_text(value);
    for (size_t i = 0; i < OBJECT_ID_BYTES; i++) {
        int high = text.len == 2 * OBJECT_ID_BYTES ? binary_digit(text.data[2 * i]) : -1;
        int low = text.len == 2 * OBJECT_ID_BYTES ? binary_digit(text.data[2 * i + 1]) : -1;
        if (high < 0 || low < 0)
            return formula_bad_text(run, text, "objectId");
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
    if (value.type == VALUE_BINARY)
        return binary_write(run, value, BINARY_AUTO, out);
    return formula_no_way(run, value, "string");
}

/* ---- the operators ---------------------------------------------------------------------------------- */

static const struct target {
    enum value_type type;
    formula_conversion *convert;
} targets[] = {
    {VALUE_DOUBLE,      to_double        },
    { VALUE_STRING,     formula_text_of  },
    { VALUE_BINARY,     formula_binary_of},
    { VALUE_OBJECT_ID,  to_object_id     },
    { VALUE_BOOL,       to_bool          },
    { VALUE_DATE,       to_date          },
    { VALUE_INT32,      to_int           },
    { VALUE_INT64,      to_long          },
    { VALUE_DECIMAL128, to_decimal       },
};

status formula_convert_to(struct formula_run *run, enum value_type type, struct value value,
                          struct value *out)
{
    for (size_t i = 0; i < ARRAY_COUNT(targets); i++) {
        if (targets[i].type == type)
            return targets[i].convert(run, value, out);
    }
    return formula_no_way(run, value, value_type_name(type));
}

#define CONVERSION(name, type)                                                                    \
    status formula_##name(const struct formula *call, struct formula_run *run, struct value *out) \
    {                                                                                             \
        struct value value;                                                                       \
                                                                                                  \
        TRY(formula_argument(call, run, 0, &value));                                              \
        if (formula_is_null(value))                                                               \
            return formula_give_null(out);                                                        \
        return formula_convert_to(run, type, value, out);                                         \
    }

CONVERSION(to_bool, VALUE_BOOL)
CONVERSION(to_date, VALUE_DATE)
CONVERSION(to_decimal, VALUE_DECIMAL128)
CONVERSION(to_double, VALUE_DOUBLE)
CONVERSION(to_int, VALUE_INT32)
CONVERSION(to_long, VALUE_INT64)
CONVERSION(to_object_id, VALUE_OBJECT_ID)
CONVERSION(to_string, VALUE_STRING)
