/* Operators of formulas on dates, in UTC.
 *
 * Null or missing in, null out. ObjectIds and timestamps stand for the moment they hold. Only the years 1 to
 * 9999 have parts.
 *
 * Pure apart from the run's arena. */
#include "query/formula_body.h"

#include <stdio.h>

#include "query/moment.h"

struct parts {
    struct moment_fields fields;
    int64_t weekday; /* 1 is Sunday */
    int64_t yearday; /* 1 is the first of January */
    int64_t millisecond;
};

static status split_date(struct formula_run *run, struct value value, struct parts *out)
{
    int64_t ms, ticks, new_year;

    if (!formula_as_date(value, &ms))
        return formula_refuse(run, 16006, "can't convert from BSON type %s to Date",
                              value_type_name(value.type));
    if (__builtin_mul_overflow(ms, MOMENT_TICKS_PER_MS, &ticks) || !moment_is_in_range(ticks))
        return formula_refuse(run, 16421, "the date %lld is outside of the years 1 to 9999",
                              (long long)ms);
    out->fields = moment_split(ticks);
    out->weekday = (int64_t)moment_weekday(ticks) + 1;
    out->millisecond = out->fields.ticks / MOMENT_TICKS_PER_MS;
    const struct moment_fields first = { .year = out->fields.year, .month = 1, .day = 1 };
    bool is_there = moment_join(&first, &new_year);
    ASSERT(is_there);
    out->yearday = (ticks - new_year) / MOMENT_TICKS_PER_DAY + 1;
    return STATUS_OK;
}

static status take_parts(const struct formula *call, struct formula_run *run, struct parts *out,
                         bool *is_null_out)
{
    struct value value;

    TRY(formula_argument(call, run, 0, &value));
    *is_null_out = formula_is_null(value);
    return *is_null_out ? STATUS_OK : split_date(run, value, out);
}

#define DATE_PART(name, part)                                                                     \
    status formula_##name(const struct formula *call, struct formula_run *run, struct value *out) \
    {                                                                                             \
        struct parts parts;                                                                       \
        bool is_null;                                                                             \
                                                                                                  \
        TRY(take_parts(call, run, &parts, &is_null));                                             \
        *out = value_null();                                                                      \
        return is_null ? STATUS_OK : formula_give_int(run, parts.part, out);                      \
    }

DATE_PART(date_year, fields.year)
DATE_PART(date_month, fields.month)
DATE_PART(date_day_of_month, fields.day)
DATE_PART(date_day_of_week, weekday)
DATE_PART(date_day_of_year, yearday)
DATE_PART(date_hour, fields.hour)
DATE_PART(date_minute, fields.minute)
DATE_PART(date_second, fields.second)
DATE_PART(date_millisecond, millisecond)

/* ---- formats ---------------------------------------------------------------------------------------- */

/* False for a letter that is none. */
static bool append_part(struct buffer *out, const struct parts *parts, uint8_t letter)
{
    switch (letter) {
    case 'Y':
    case 'G':
        buffer_append_decimal(out, (uint64_t)parts->fields.year, 4);
        return true;
    case 'm':
        buffer_append_decimal(out, (uint64_t)parts->fields.month, 2);
        return true;
    case 'd':
        buffer_append_decimal(out, (uint64_t)parts->fields.day, 2);
        return true;
    case 'H':
        buffer_append_decimal(out, (uint64_t)parts->fields.hour, 2);
        return true;
    case 'M':
        buffer_append_decimal(out, (uint64_t)parts->fields.minute, 2);
        return true;
    case 'S':
        buffer_append_decimal(out, (uint64_t)parts->fields.second, 2);
        return true;
    case 'L':
        buffer_append_decimal(out, (uint64_t)parts->millisecond, 3);
        return true;
    case 'j':
        buffer_append_decimal(out, (uint64_t)parts->yearday, 3);
        return true;
    case 'w':
        buffer_append_decimal(out, (uint64_t)parts->weekday, 1);
        return true;
    case 'u':
        buffer_append_decimal(out, (uint64_t)(parts->weekday == 1 ? 7 : parts->weekday - 1), 1);
        return true;
    case 'z':
        buffer_append_text(out, "+0000");
        return true;
    case 'Z':
        buffer_append_text(out, "+000");
        return true;
    case '%':
        buffer_append_text(out, "%");
        return true;
    default:
        return false;
    }
}

status formula_date_to_string(const struct formula *call, struct formula_run *run,
                              struct value *out)
{
    bytes format = BYTES_LITERAL("%Y-%m-%dT%H:%M:%S.%LZ"), text;
    struct buffer made = buffer_in(run->arena);
    struct value value, wanted;
    struct parts parts;

    TRY(formula_argument(call, run, 0, &value));
    TRY(formula_argument(call, run, 1, &wanted));
    *out = value_null();
    if (formula_is_null(value))
        return call->count > 2 && call->args[2] ? formula_argument(call, run, 2, out) : STATUS_OK;
    if (wanted.type == VALUE_STRING)
        format = value_text(wanted);
    else if (call->count > 1 && call->args[1])
        return formula_is_null(wanted)
                   ? STATUS_OK
                   : formula_refuse(run, 18533,
                                    "$dateToString requires that 'format' be a string, found: %s",
                                    value_type_name(wanted.type));
    TRY(split_date(run, value, &parts));
    for (size_t i = 0; i < format.len; i++) {
        if (format.data[i] != '%') {
            buffer_append_byte(&made, format.data[i]);
            continue;
        }
        if (++i == format.len)
            return formula_refuse(run, 18535, "Unmatched '%%' at end of format string");
        if (!append_part(&made, &parts, format.data[i]))
            return formula_refuse(run, 18536, "Invalid format character '%%%c' in format string",
                                  format.data[i]);
    }
    TRY(buffer_finish(&made, &text));
    return formula_give_text(run, text, out);
}
