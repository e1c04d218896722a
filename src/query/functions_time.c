/* Functions of dates and times.
 *
 * A date is a string of ISO 8601 (moment.h); results always have all seven digits of the fraction, so that
 * they sort as strings. What time it is comes from the request, one reading for all its rows, in
 * milliseconds. A part of a date that has no such name, a text that is no date, a result out of the years 1
 * to 9999: all give nothing.
 *
 * Pure apart from the row's arena. */
#include "query/call.h"
#include "query/moment.h"

static status give_moment(struct evaluation *e, int64_t moment, struct value *out)
{
    char text[MOMENT_TEXT_BYTES + 1];

    if (!moment_is_in_range(moment))
        return STATUS_OK;
    moment_format(moment, text);
    return call_give_text(e, bytes_of(text, MOMENT_TEXT_BYTES), out);
}

static bool as_moment(struct value value, int64_t *out)
{
    return value_is_text(value) && moment_parse(value_text(value), out);
}

static bool as_part(struct value value, enum moment_part *out)
{
    return value_is_text(value) && moment_part_find(value_text(value), out);
}

/* ---- now -------------------------------------------------------------------------------------------- */

static int64_t now(const struct evaluation *e)
{
    int64_t ticks;

    return __builtin_mul_overflow(e->now, MOMENT_TICKS_PER_MS, &ticks) ? INT64_MAX : ticks;
}

status function_current_time(struct evaluation *e, const struct expression *call, struct value *out)
{
    (void)call;
    return give_moment(e, now(e), out);
}

status function_current_ticks(struct evaluation *e, const struct expression *call,
                              struct value *out)
{
    (void)call;
    return call_give_whole(e, now(e), out);
}

status function_current_timestamp(struct evaluation *e, const struct expression *call,
                                  struct value *out)
{
    (void)call;
    return call_give_whole(e, e->now, out);
}

/* (part, count), counted from now on or back. */
static status from_now(struct evaluation *e, const struct expression *call, bool is_back,
                       struct value *out)
{
    struct value v[2];
    enum moment_part part;
    int64_t count, moment;

    TRY(call_take(e, call, v, 2));
    if (!as_part(v[0], &part) || !value_as_int64(v[1], &count) ||
        (is_back && __builtin_sub_overflow(INT64_C(0), count, &count)) ||
        !moment_add(now(e), part, count, &moment))
        return STATUS_OK;
    return give_moment(e, moment, out);
}

status function_time_ago(struct evaluation *e, const struct expression *call, struct value *out)
{
    return from_now(e, call, true, out);
}

status function_time_now(struct evaluation *e, const struct expression *call, struct value *out)
{
    return call->count ? from_now(e, call, false, out) : give_moment(e, now(e), out);
}

/* ---- arithmetic ------------------------------------------------------------------------------------- */

status function_time_add(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct value v[3];
    enum moment_part part;
    int64_t count, moment;

    TRY(call_take(e, call, v, 3));
    if (!as_part(v[0], &part) || !value_as_int64(v[1], &count) || !as_moment(v[2], &moment) ||
        !moment_add(moment, part, count, &moment))
        return STATUS_OK;
    return give_moment(e, moment, out);
}

static __int128 divide_down(__int128 a, __int128 b)
{
    return a / b - (a % b < 0);
}

/* (date, part [, size [, start]]): the multiple of `size` parts since the start that is not later. */
status function_time_bin(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct value v[4];
    enum moment_part part;
    int64_t moment, size = 1, start = 0;

    TRY(call_take(e, call, v, 4));
    if (!as_moment(v[0], &moment) || !as_part(v[1], &part) || moment_part_ns(part) == 0 ||
        (call_has(call, 2) && (!value_as_int64(v[2], &size) || size <= 0)) ||
        (call_has(call, 3) && !as_moment(v[3], &start)))
        return STATUS_OK;
    if (start < MOMENT_1601)
        return STATUS_OK;
    __int128 unit = (__int128)size * moment_part_ns(part);
    __int128 since = ((__int128)moment - start) * 100;
    __int128 binned = start + divide_down(divide_down(since, unit) * unit, 100);
    if (binned < MOMENT_FIRST || binned > MOMENT_LAST)
        return STATUS_OK;
    return give_moment(e, (int64_t)binned, out);
}

/* How often a part began between two moments. */
static __int128 boundaries(int64_t from, int64_t upto, enum moment_part part)
{
    struct moment_fields a = moment_split(from), b = moment_split(upto);
    int64_t years = b.year - a.year, ns = moment_part_ns(part);

    if (part == PART_YEAR)
        return years;
    if (part == PART_MONTH)
        return years * 12 + b.month - a.month;
    return divide_down((__int128)upto * 100, ns) - divide_down((__int128)from * 100, ns);
}

status function_time_diff(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct value v[3];
    enum moment_part part;
    int64_t from, upto;

    TRY(call_take(e, call, v, 3));
    if (!as_part(v[0], &part) || !as_moment(v[1], &from) || !as_moment(v[2], &upto))
        return STATUS_OK;
    __int128 count = boundaries(from, upto, part);
    if (count >= INT64_MIN && count <= INT64_MAX)
        return call_give_whole(e, (int64_t)count, out);
    return call_give_real(e, (double)count, out);
}

/* ---- parts ------------------------------------------------------------------------------------------ */

status function_time_from_parts(struct evaluation *e, const struct expression *call,
                                struct value *out)
{
    struct value v[7];
    struct moment_fields f = { 0 };
    int64_t *const fields[] = {
        &f.year, &f.month, &f.day, &f.hour, &f.minute, &f.second, &f.ticks
    };
    int64_t moment;

    TRY(call_take(e, call, v, ARRAY_COUNT(v)));
    for (size_t i = 0; i < call->count; i++) {
        if (!value_as_int64(v[i], fields[i]))
            return STATUS_OK;
    }
    return moment_join(&f, &moment) ? give_moment(e, moment, out) : STATUS_OK;
}

static int64_t part_of(int64_t moment, enum moment_part part)
{
    struct moment_fields f = moment_split(moment);

    switch (part) {
    case PART_YEAR:
        return f.year;
    case PART_MONTH:
        return f.month;
    case PART_DAY:
        return f.day;
    case PART_HOUR:
        return f.hour;
    case PART_MINUTE:
        return f.minute;
    case PART_SECOND:
        return f.second;
    case PART_MILLISECOND:
        return f.ticks / 10000;
    case PART_MICROSECOND:
        return f.ticks / 10;
    case PART_NANOSECOND:
        return f.ticks * 100;
    }
    return 0;
}

status function_time_part(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct value v[2];
    enum moment_part part;
    int64_t moment;

    TRY(call_take(e, call, v, 2));
    if (!as_part(v[0], &part) || !as_moment(v[1], &moment))
        return STATUS_OK;
    return call_give_whole(e, part_of(moment, part), out);
}

static status one_part(struct evaluation *e, const struct expression *call, enum moment_part part,
                       struct value *out)
{
    struct value v;
    int64_t moment;

    TRY(call_take(e, call, &v, 1));
    return as_moment(v, &moment) ? call_give_whole(e, part_of(moment, part), out) : STATUS_OK;
}

status function_time_day(struct evaluation *e, const struct expression *call, struct value *out)
{
    return one_part(e, call, PART_DAY, out);
}

status function_time_month(struct evaluation *e, const struct expression *call, struct value *out)
{
    return one_part(e, call, PART_MONTH, out);
}

status function_time_year(struct evaluation *e, const struct expression *call, struct value *out)
{
    return one_part(e, call, PART_YEAR, out);
}

/* ---- numbers ---------------------------------------------------------------------------------------- */

status function_time_to_ticks(struct evaluation *e, const struct expression *call,
                              struct value *out)
{
    struct value v;
    int64_t moment;

    TRY(call_take(e, call, &v, 1));
    return as_moment(v, &moment) ? call_give_whole(e, moment, out) : STATUS_OK;
}

status function_time_to_timestamp(struct evaluation *e, const struct expression *call,
                                  struct value *out)
{
    struct value v;
    int64_t moment;

    TRY(call_take(e, call, &v, 1));
    if (!as_moment(v, &moment))
        return STATUS_OK;
    return call_give_whole(e, (int64_t)divide_down(moment, MOMENT_TICKS_PER_MS), out);
}

static status of_number(struct evaluation *e, const struct expression *call, int64_t unit,
                        struct value *out)
{
    struct value v;
    int64_t count, moment;

    TRY(call_take(e, call, &v, 1));
    if (!value_as_int64(v, &count) || __builtin_mul_overflow(count, unit, &moment) ||
        !moment_is_in_range(moment))
        return STATUS_OK;
    return give_moment(e, moment, out);
}

status function_ticks_to_time(struct evaluation *e, const struct expression *call,
                              struct value *out)
{
    return of_number(e, call, 1, out);
}

status function_timestamp_to_time(struct evaluation *e, const struct expression *call,
                                  struct value *out)
{
    return of_number(e, call, MOMENT_TICKS_PER_MS, out);
}

status function_is_time(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct value v;
    int64_t moment;

    TRY(call_take(e, call, &v, 1));
    *out = value_bool(as_moment(v, &moment));
    return STATUS_OK;
}
