/* Operators of formulas on dates: their parts, and dates made of parts.
 *
 * Null or missing in, null out. ObjectIds and timestamps stand for the moment they hold. Only the years 1 to
 * 9999 have parts. What a clock shows depends on the zone; without one it is UTC.
 *
 * Pure apart from the run's arena, and from reading files of zones that are not literals. */
#include "query/formula_date.h"

#include <stdlib.h>

#include "query/moment.h"

int64_t date_floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* ---- weeks ------------------------------------------------------------------------------------------ */

static int64_t iso_weeks(int64_t year)
{
    int64_t last = (year + year / 4 - year / 100 + year / 400) % 7, before = year - 1;
    int64_t first = (before + before / 4 - before / 100 + before / 400) % 7;

    return last == 4 || first == 3 ? 53 : 52;
}

static void find_weeks(struct date_parts *parts)
{
    parts->iso_weekday = parts->weekday == 1 ? 7 : parts->weekday - 1;
    parts->week = (parts->yearday + 7 - parts->weekday) / 7;
    parts->iso_year = parts->year;
    parts->iso_week = (parts->yearday - parts->iso_weekday + 10) / 7;
    if (parts->iso_week < 1) {
        parts->iso_year--;
        parts->iso_week = iso_weeks(parts->iso_year);
    } else if (parts->iso_week > iso_weeks(parts->year)) {
        parts->iso_year++;
        parts->iso_week = 1;
    }
}

/* ---- the calendar ----------------------------------------------------------------------------------- */

bool date_split(int64_t local_ms, struct date_parts *out)
{
    int64_t ticks, new_year;

    if (__builtin_mul_overflow(local_ms, MOMENT_TICKS_PER_MS, &ticks) || !moment_is_in_range(ticks))
        return false;
    struct moment_fields fields = moment_split(ticks);
    const struct moment_fields first = { .year = fields.year, .month = 1, .day = 1 };
    bool is_there = moment_join(&first, &new_year);
    ASSERT(is_there);
    *out = (struct date_parts){ .year = fields.year,
                                .month = fields.month,
                                .day = fields.day,
                                .hour = fields.hour,
                                .minute = fields.minute,
                                .second = fields.second,
                                .millisecond = fields.ticks / MOMENT_TICKS_PER_MS,
                                .weekday = (int64_t)moment_weekday(ticks) + 1,
                                .yearday = (ticks - new_year) / MOMENT_TICKS_PER_DAY + 1 };
    find_weeks(out);
    return true;
}

/* Adds days and what is less than a day; but for seconds and milliseconds, parts are far from overflowing. */
static bool finish_join(int64_t ticks, int64_t days, const struct date_parts *parts, int64_t *out)
{
    int64_t ms = ticks / MOMENT_TICKS_PER_MS + days * DATE_MS_PER_DAY +
                 parts->hour * DATE_MS_PER_HOUR + parts->minute * DATE_MS_PER_MINUTE;
    int64_t seconds_ms, sum_ms, in_ticks;

    if (__builtin_mul_overflow(parts->second, 1000, &seconds_ms) ||
        __builtin_add_overflow(ms, seconds_ms, &sum_ms) ||
        __builtin_add_overflow(sum_ms, parts->millisecond, out))
        return false;
    return !__builtin_mul_overflow(*out, MOMENT_TICKS_PER_MS, &in_ticks) &&
           moment_is_in_range(in_ticks);
}

bool date_join(const struct date_parts *parts, int64_t *out)
{
    int64_t years = date_floor_divide(parts->month - 1, 12), ticks;
    const struct moment_fields first = { .year = parts->year + years,
                                         .month = parts->month - years * 12,
                                         .day = 1 };

    return moment_join(&first, &ticks) && finish_join(ticks, parts->day - 1, parts, out);
}

bool date_join_iso(const struct date_parts *parts, int64_t *out)
{
    const struct moment_fields fourth = { .year = parts->iso_year, .month = 1, .day = 4 };
    int64_t ticks;

    if (!moment_join(&fourth, &ticks))
        return false;
    int64_t monday = -(((int64_t)moment_weekday(ticks) + 6) % 7);
    return finish_join(ticks, monday + (parts->iso_week - 1) * 7 + parts->iso_weekday - 1, parts,
                       out);
}

/* ---- taking arguments ------------------------------------------------------------------------------- */

status formula_take_zone(const struct formula *call, struct formula_run *run, size_t at,
                         const char *name, const struct zone **out, bool *is_null_out)
{
    struct value value;

    *is_null_out = false;
    *out = NULL;
    if (at >= call->count || !call->args[at])
        return zone_find(run->arena, BYTES_LITERAL("UTC"), out);
    *out = call->args[at]->zone;
    if (*out)
        return STATUS_OK;
    TRY(formula_argument(call, run, at, &value));
    *is_null_out = formula_is_null(value);
    if (*is_null_out)
        return STATUS_OK;
    if (value.type != VALUE_STRING)
        return formula_refuse(run, 40517, "%s requires that 'timezone' be a string, found: %s",
                              name, value_type_name(value.type));
    bytes wanted = value_text(value);
    status s = run->zones ? zone_recall(run->zones, run->arena, wanted, out)
                          : zone_find(run->arena, wanted, out);
    if (s.code == NOT_FOUND)
        return formula_refuse(run, 40485, "%s", s.message);
    return s;
}

status formula_take_date(const struct formula *call, struct formula_run *run, size_t at,
                         int32_t number, int64_t *ms_out, bool *is_null_out)
{
    struct value value;

    *ms_out = 0;
    TRY(formula_argument(call, run, at, &value));
    *is_null_out = formula_is_null(value);
    if (*is_null_out || formula_as_date(value, ms_out))
        return STATUS_OK;
    return formula_refuse(run, number, "can't convert from BSON type %s to Date",
                          value_type_name(value.type));
}

status formula_split_date(struct formula_run *run, const struct zone *zone, int64_t utc_ms,
                          struct date_parts *out)
{
    if (llabs(utc_ms / DATE_MS_PER_DAY) < 10000 * 366 &&
        date_split(zone_to_local(zone, utc_ms), out))
        return STATUS_OK;
    return formula_refuse(run, 16421, "the date %lld is outside of the years 1 to 9999",
                          (long long)utc_ms);
}

static status take_parts(const struct formula *call, struct formula_run *run, const char *name,
                         struct date_parts *out, bool *is_null_out)
{
    const struct zone *zone;
    bool is_null_zone;
    int64_t ms;

    TRY(formula_take_date(call, run, 0, 16006, &ms, is_null_out));
    TRY(formula_take_zone(call, run, 1, name, &zone, &is_null_zone));
    *is_null_out |= is_null_zone;
    return *is_null_out ? STATUS_OK : formula_split_date(run, zone, ms, out);
}

/* ---- single parts ----------------------------------------------------------------------------------- */

#define DATE_PART(name, operator_name, part)                                                      \
    status formula_##name(const struct formula *call, struct formula_run *run, struct value *out) \
    {                                                                                             \
        struct date_parts parts;                                                                  \
        bool is_null;                                                                             \
                                                                                                  \
        TRY(take_parts(call, run, operator_name, &parts, &is_null));                              \
        *out = value_null();                                                                      \
        return is_null ? STATUS_OK : formula_give_int(run, parts.part, out);                      \
    }

DATE_PART(date_year, "$year", year)
DATE_PART(date_month, "$month", month)
DATE_PART(date_day_of_month, "$dayOfMonth", day)
DATE_PART(date_day_of_week, "$dayOfWeek", weekday)
DATE_PART(date_day_of_year, "$dayOfYear", yearday)
DATE_PART(date_hour, "$hour", hour)
DATE_PART(date_minute, "$minute", minute)
DATE_PART(date_second, "$second", second)
DATE_PART(date_millisecond, "$millisecond", millisecond)
DATE_PART(date_week, "$week", week)
DATE_PART(date_iso_week, "$isoWeek", iso_week)
DATE_PART(date_iso_day_of_week, "$isoDayOfWeek", iso_weekday)

status formula_date_iso_week_year(const struct formula *call, struct formula_run *run,
                                  struct value *out)
{
    struct date_parts parts;
    bool is_null;

    TRY(take_parts(call, run, "$isoWeekYear", &parts, &is_null));
    *out = value_null();
    return is_null ? STATUS_OK : value_of_integer(run->arena, VALUE_INT64, parts.iso_year, out);
}

/* ---- all parts -------------------------------------------------------------------------------------- */

struct part_place {
    const char *name;
    size_t offset;
};

#define PLACE(name, part)                       \
    {                                           \
        name, offsetof(struct date_parts, part) \
    }

static const struct part_place day_places[] = { PLACE("year", year), PLACE("month", month),
                                                PLACE("day", day) };
static const struct part_place week_places[] = { PLACE("isoWeekYear", iso_year),
                                                 PLACE("isoWeek", iso_week),
                                                 PLACE("isoDayOfWeek", iso_weekday) };
static const struct part_place time_places[] = { PLACE("hour", hour), PLACE("minute", minute),
                                                 PLACE("second", second),
                                                 PLACE("millisecond", millisecond) };

static int64_t *part_at(struct date_parts *parts, const struct part_place *place)
{
    return (int64_t *)(void *)((char *)parts + place->offset);
}

static status append_places(struct formula_run *run, struct buffer *out, struct date_parts *parts,
                            const struct part_place *places, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct value number;
        TRY(formula_give_int(run, *part_at(parts, &places[i]), &number));
        document_append(out, bytes_of_text(places[i].name), number);
    }
    return STATUS_OK;
}

/* date, timezone, iso8601 */
status formula_date_to_parts(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct buffer built = buffer_in(run->arena);
    struct date_parts parts;
    struct value is_iso;
    bool is_null;

    TRY(take_parts(call, run, "$dateToParts", &parts, &is_null));
    TRY(formula_argument(call, run, 2, &is_iso));
    *out = value_null();
    if (is_null || is_iso.type == VALUE_NULL)
        return STATUS_OK;
    if (is_iso.type != VALUE_MISSING && is_iso.type != VALUE_BOOL)
        return formula_refuse(run, 40521, "iso8601 must evaluate to a bool, found: %s",
                              value_type_name(is_iso.type));
    size_t begun = document_begin(&built);
    TRY(append_places(run, &built, &parts, formula_is_true(is_iso) ? week_places : day_places, 3));
    TRY(append_places(run, &built, &parts, time_places, ARRAY_COUNT(time_places)));
    document_end(&built, begun);
    *out = (struct value){ .type = VALUE_DOCUMENT };
    return buffer_finish(&built, &out->raw);
}

static status take_part(const struct formula *call, struct formula_run *run, size_t at,
                        const struct part_place *place, struct date_parts *parts, bool *is_null)
{
    struct value value;
    int64_t number;

    if (at >= call->count || !call->args[at])
        return STATUS_OK;
    TRY(formula_argument(call, run, at, &value));
    if (formula_is_null(value)) {
        *is_null = true;
        return STATUS_OK;
    }
    if (!value_as_int64(value, &number))
        return formula_refuse(run, 40515, "'%s' must evaluate to an integer, found %s", place->name,
                              value_type_name(value.type));
    bool is_free = place->offset == offsetof(struct date_parts, second) ||
                   place->offset == offsetof(struct date_parts, millisecond);
    if (!is_free && (number < -32768 || number > 32767))
        return formula_refuse(
            run, 31034,
            "'%s' must evaluate to a value in the range [-32768, 32767]; value %lld is not",
            place->name, (long long)number);
    *part_at(parts, place) = number;
    return STATUS_OK;
}

/* year, month, day, isoWeekYear, isoWeek, isoDayOfWeek, hour, minute, second, millisecond, timezone */
status formula_date_from_parts(const struct formula *call, struct formula_run *run,
                               struct value *out)
{
    struct date_parts parts = { .month = 1, .day = 1, .iso_week = 1, .iso_weekday = 1 };
    const struct zone *zone;
    bool is_null, is_null_part = false, is_iso = call->count > 3 && call->args[3];
    int64_t ms;

    if (is_iso && (call->args[0] || call->args[1] || call->args[2]))
        return formula_refuse(run, 40489,
                              "$dateFromParts does not allow mixing natural dates with ISO dates");
    if (!is_iso && (call->count == 0 || !call->args[0]))
        return formula_refuse(
            run, 40516, "$dateFromParts requires either 'year' or 'isoWeekYear' to be present");
    for (size_t i = 0; i < 3; i++) {
        TRY(take_part(call, run, i, &day_places[i], &parts, &is_null_part));
        TRY(take_part(call, run, 3 + i, &week_places[i], &parts, &is_null_part));
    }
    for (size_t i = 0; i < ARRAY_COUNT(time_places); i++)
        TRY(take_part(call, run, 6 + i, &time_places[i], &parts, &is_null_part));
    TRY(formula_take_zone(call, run, 10, "$dateFromParts", &zone, &is_null));
    *out = value_null();
    if (is_null || is_null_part)
        return STATUS_OK;
    int64_t year = is_iso ? parts.iso_year : parts.year;
    if (year < 1 || year > 9999)
        return formula_refuse(run, is_iso ? 31095 : 40523,
                              "'%s' must evaluate to an integer in the range 1 to 9999, found %lld",
                              is_iso ? "isoWeekYear" : "year", (long long)year);
    if (!(is_iso ? date_join_iso(&parts, &ms) : date_join(&parts, &ms)))
        return formula_refuse(run, 15, "the date is outside of the years 1 to 9999");
    return value_of_integer(run->arena, VALUE_DATE, zone_to_utc(zone, ms), out);
}
