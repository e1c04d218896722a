/* Operators of formulas that count with dates: adding, differences, cutting to units.
 *
 * Units from days up are counted on the calendar of the zone, so a day may have 23 hours; hours and less are
 * counted as they pass. Differences count the boundaries between units, not whole units. Cutting counts bins
 * from the first of January 2000, weeks from the first one that begins there.
 *
 * Pure apart from the run's arena, and from reading files of zones that are not literals. */
#include <strings.h>

#include "query/formula_date.h"

enum unit {
    UNIT_YEAR,
    UNIT_QUARTER,
    UNIT_MONTH,
    UNIT_WEEK,
    UNIT_DAY,
    UNIT_HOUR,
    UNIT_MINUTE,
    UNIT_SECOND,
    UNIT_MILLISECOND,
    UNITS
};

static const struct {
    const char *name;
    int64_t months, ms; /* one of them */
} units[UNITS] = {
    [UNIT_YEAR] = {"year",         12, 0                           },
    [UNIT_QUARTER] = { "quarter",     3,  0                           },
    [UNIT_MONTH] = { "month",       1,  0                           },
    [UNIT_WEEK] = { "week",        0,  7 * (int64_t)DATE_MS_PER_DAY},
    [UNIT_DAY] = { "day",         0,  DATE_MS_PER_DAY             },
    [UNIT_HOUR] = { "hour",        0,  DATE_MS_PER_HOUR            },
    [UNIT_MINUTE] = { "minute",      0,  DATE_MS_PER_MINUTE          },
    [UNIT_SECOND] = { "second",      0,  1000                        },
    [UNIT_MILLISECOND] = { "millisecond", 0,  1                           },
};

static bool find_unit(bytes name, enum unit *out)
{
    for (size_t i = 0; i < UNITS; i++) {
        *out = (enum unit)i;
        if (bytes_equal(name, bytes_of_text(units[i].name)))
            return true;
    }
    return false;
}

static status take_unit(const struct formula *call, struct formula_run *run, size_t at,
                        const char *name, enum unit *out, bool *is_null_out)
{
    struct value value;

    TRY(formula_argument(call, run, at, &value));
    *is_null_out = formula_is_null(value);
    *out = UNIT_DAY;
    if (*is_null_out)
        return STATUS_OK;
    if (value.type != VALUE_STRING)
        return formula_refuse(run, 5439013, "%s requires 'unit' to be a string, but got %s", name,
                              value_type_name(value.type));
    if (find_unit(value_text(value), out))
        return STATUS_OK;
    return formula_refuse(run, 9,
                          "%s parameter 'unit' value cannot be recognized as a time unit: %.*s",
                          name, (int)value_text(value).len, (const char *)value_text(value).data);
}

/* 1 is Sunday, which a week begins with unless it is said. */
static status take_week_start(const struct formula *call, struct formula_run *run, size_t at,
                              const char *name, int64_t *out, bool *is_null_out)
{
    static const char *const days[] = { "sunday",   "monday", "tuesday", "wednesday",
                                        "thursday", "friday", "saturday" };
    struct value value;

    *out = 1;
    *is_null_out = false;
    if (at >= call->count || !call->args[at])
        return STATUS_OK;
    TRY(formula_argument(call, run, at, &value));
    *is_null_out = formula_is_null(value);
    if (*is_null_out)
        return STATUS_OK;
    bytes text = value.type == VALUE_STRING ? value_text(value) : BYTES_NONE;
    for (size_t i = 0; i < ARRAY_COUNT(days); i++) {
        if ((text.len == 3 || text.len == strlen(days[i])) &&
            strncasecmp((const char *)text.data, days[i], text.len) == 0) {
            *out = (int64_t)i + 1;
            return STATUS_OK;
        }
    }
    return formula_refuse(run, value.type == VALUE_STRING ? 9 : 5439015,
                          "%s parameter 'startOfWeek' must be the name of a day of the week", name);
}

/* ---- adding ----------------------------------------------------------------------------------------- */

static const int64_t last_days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

static int64_t days_of_month(int64_t year, int64_t month)
{
    bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return month == 2 && is_leap ? 29 : last_days[month - 1];
}

/* Months are counted on, and a day that the month does not have becomes its last. */
static bool add_months(int64_t local_ms, int64_t months, int64_t *out)
{
    struct date_parts parts;

    if (months < -12 * 10000 || months > 12 * 10000 || !date_split(local_ms, &parts))
        return false;
    int64_t number = parts.year * 12 + parts.month - 1 + months;
    parts.year = date_floor_divide(number, 12);
    parts.month = number - parts.year * 12 + 1;
    if (parts.year < 1 || parts.year > 9999)
        return false;
    if (parts.day > days_of_month(parts.year, parts.month))
        parts.day = days_of_month(parts.year, parts.month);
    return date_join(&parts, out);
}

static bool add_units(const struct zone *zone, int64_t utc_ms, enum unit unit, int64_t amount,
                      int64_t *out)
{
    struct date_parts parts;
    int64_t moved;

    if (unit <= UNIT_MONTH) {
        if (__builtin_mul_overflow(amount, units[unit].months, &amount) ||
            !add_months(zone_to_local(zone, utc_ms), amount, out))
            return false;
        *out = zone_to_utc(zone, *out);
        return true;
    }
    if (__builtin_mul_overflow(amount, units[unit].ms, &moved))
        return false;
    bool is_local = unit <= UNIT_DAY;
    if (__builtin_add_overflow(is_local ? zone_to_local(zone, utc_ms) : utc_ms, moved, out) ||
        !date_split(*out, &parts))
        return false;
    if (is_local)
        *out = zone_to_utc(zone, *out);
    return true;
}

bool formula_is_unit(bytes name)
{
    enum unit unit;

    return find_unit(name, &unit);
}

bool date_move(const struct zone *zone, int64_t utc_ms, bytes unit_name, int64_t amount,
               int64_t *out)
{
    struct date_parts parts;
    enum unit unit;

    return find_unit(unit_name, &unit) && date_split(utc_ms, &parts) &&
           add_units(zone, utc_ms, unit, amount, out);
}

/* startDate, unit, amount, timezone */
static status move_date(const struct formula *call, struct formula_run *run, const char *name,
                        bool is_back, struct value *out)
{
    bool nulls[3];
    const struct zone *zone;
    struct value by;
    enum unit unit;
    struct date_parts parts;
    int64_t ms, amount;

    TRY(formula_take_date(call, run, 0, 5166403, &ms, &nulls[0]));
    TRY(take_unit(call, run, 1, name, &unit, &nulls[1]));
    TRY(formula_argument(call, run, 2, &by));
    TRY(formula_take_zone(call, run, 3, name, &zone, &nulls[2]));
    *out = value_null();
    if (nulls[0] || nulls[1] || nulls[2] || formula_is_null(by))
        return STATUS_OK;
    if (!value_as_int64(by, &amount) || amount == INT64_MIN)
        return formula_refuse(run, 5166405, "%s expects integer amount of time units", name);
    TRY(formula_split_date(run, zone, ms, &parts));
    if (!add_units(zone, ms, unit, is_back ? -amount : amount, &ms))
        return formula_refuse(run, 5166406, "%s: the date is outside of the years 1 to 9999", name);
    return value_of_integer(run->arena, VALUE_DATE, ms, out);
}

status formula_date_add(const struct formula *call, struct formula_run *run, struct value *out)
{
    return move_date(call, run, "$dateAdd", false, out);
}

status formula_date_subtract(const struct formula *call, struct formula_run *run, struct value *out)
{
    return move_date(call, run, "$dateSubtract", true, out);
}

/* ---- differences ------------------------------------------------------------------------------------ */

/* Days since the first of a week that lies before all dates; 1970-01-01 was a Thursday. */
static int64_t week_of(int64_t local_ms, int64_t week_start)
{
    int64_t days = date_floor_divide(local_ms, DATE_MS_PER_DAY);

    return date_floor_divide(days + 5 - week_start, 7);
}

static int64_t months_of(int64_t local_ms)
{
    struct date_parts parts = { 0 };
    bool is_there = date_split(local_ms, &parts);

    ASSERT(is_there);
    return parts.year * 12 + parts.month - 1;
}

/* startDate, endDate, unit, timezone, startOfWeek */
status formula_date_diff(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct date_parts ignored;
    const struct zone *zone;
    int64_t ms[2], locals[2], week_start, count;
    enum unit unit;
    bool nulls[5];

    TRY(formula_take_date(call, run, 0, 5166307, &ms[0], &nulls[0]));
    TRY(formula_take_date(call, run, 1, 5166307, &ms[1], &nulls[1]));
    TRY(take_unit(call, run, 2, "$dateDiff", &unit, &nulls[2]));
    TRY(formula_take_zone(call, run, 3, "$dateDiff", &zone, &nulls[3]));
    TRY(take_week_start(call, run, 4, "$dateDiff", &week_start, &nulls[4]));
    *out = value_null();
    if (nulls[0] || nulls[1] || nulls[2] || nulls[3] || (nulls[4] && unit == UNIT_WEEK))
        return STATUS_OK;
    for (int i = 0; i < 2; i++) {
        TRY(formula_split_date(run, zone, ms[i], &ignored));
        locals[i] = zone_to_local(zone, ms[i]);
    }
    if (unit <= UNIT_MONTH) {
        count = months_of(locals[1]) / units[unit].months -
                months_of(locals[0]) / units[unit].months;
    } else if (unit == UNIT_WEEK) {
        count = week_of(locals[1], week_start) - week_of(locals[0], week_start);
    } else {
        int64_t size = units[unit].ms;
        count = date_floor_divide(locals[1], size) - date_floor_divide(locals[0], size);
        /* What clocks were moved by has not passed. */
        if (unit > UNIT_DAY)
            count -= (locals[1] - ms[1] - (locals[0] - ms[0])) / size;
    }
    return value_of_integer(run->arena, VALUE_INT64, count, out);
}

/* ---- cutting ---------------------------------------------------------------------------------------- */

static bool cut_date(const struct zone *zone, int64_t utc_ms, enum unit unit, int64_t bin,
                     int64_t week_start, int64_t *out)
{
    struct date_parts first = { .year = 2000, .month = 1, .day = 1 };
    int64_t local = zone_to_local(zone, utc_ms), size, begin;

    if (unit <= UNIT_MONTH) {
        if (__builtin_mul_overflow(bin, units[unit].months, &size))
            return false;
        int64_t number = 2000 * 12 + date_floor_divide(months_of(local) - 2000 * 12, size) * size;
        first.year = date_floor_divide(number, 12);
        first.month = number - first.year * 12 + 1;
        if (first.year < 1 || !date_join(&first, out))
            return false;
        *out = zone_to_utc(zone, *out);
        return true;
    }
    if (__builtin_mul_overflow(bin, units[unit].ms, &size) || !date_join(&first, &begin))
        return false;
    /* 2000-01-01 was a Saturday. */
    if (unit == UNIT_WEEK)
        begin += (week_start % 7) * (int64_t)DATE_MS_PER_DAY;
    bool is_local = unit <= UNIT_DAY;
    if (!is_local)
        begin = zone_to_utc(zone, begin);
    *out = begin + date_floor_divide((is_local ? local : utc_ms) - begin, size) * size;
    if (!date_split(*out, &first))
        return false;
    if (is_local)
        *out = zone_to_utc(zone, *out);
    return true;
}

/* date, unit, binSize, timezone, startOfWeek */
status formula_date_trunc(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct date_parts ignored;
    const struct zone *zone;
    int64_t ms, week_start, bin = 1;
    struct value wanted;
    enum unit unit;
    bool nulls[4];

    TRY(formula_take_date(call, run, 0, 5439012, &ms, &nulls[0]));
    TRY(take_unit(call, run, 1, "$dateTrunc", &unit, &nulls[1]));
    TRY(formula_argument(call, run, 2, &wanted));
    TRY(formula_take_zone(call, run, 3, "$dateTrunc", &zone, &nulls[2]));
    TRY(take_week_start(call, run, 4, "$dateTrunc", &week_start, &nulls[3]));
    *out = value_null();
    bool has_bin = call->count > 2 && call->args[2];
    if (nulls[0] || nulls[1] || nulls[2] || (has_bin && formula_is_null(wanted)) ||
        (nulls[3] && unit == UNIT_WEEK))
        return STATUS_OK;
    if (has_bin && !value_as_int64(wanted, &bin))
        return formula_refuse(run, 5439017,
                              "$dateTrunc requires 'binSize' to be a 64-bit integer, but got %s",
                              value_type_name(wanted.type));
    if (bin <= 0)
        return formula_refuse(run, 5439018,
                              "$dateTrunc requires 'binSize' to be greater than 0, but got %lld",
                              (long long)bin);
    TRY(formula_split_date(run, zone, ms, &ignored));
    if (!cut_date(zone, ms, unit, bin, week_start, &ms))
        return formula_refuse(run, 5439005,
                              "$dateTrunc: the result is outside of the years 1 to 9999");
    return value_of_integer(run->arena, VALUE_DATE, ms, out);
}
