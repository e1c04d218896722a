/* Dates in time zones, for the operators of formulas. Private to this room. */
#ifndef QUERY_FORMULA_DATE_H
#define QUERY_FORMULA_DATE_H

#include "base/zone.h"
#include "query/formula_body.h"

enum { DATE_MS_PER_MINUTE = 60000, DATE_MS_PER_HOUR = 3600000, DATE_MS_PER_DAY = 86400000 };

/* A date as clocks and calendars in its zone show it. */
struct date_parts {
    int64_t year, month, day, hour, minute, second, millisecond;
    int64_t weekday;                         /* 1 is Sunday */
    int64_t yearday;                         /* 1 is the first of January */
    int64_t week;                            /* 0 before the first Sunday */
    int64_t iso_year, iso_week, iso_weekday; /* 1 is Monday */
};

/* False outside of the years 1 to 9999. */
bool date_split(int64_t local_ms, struct date_parts *out);
/* Months, days and the rest may be any number: they carry. False outside of the range. */
bool date_join(const struct date_parts *parts, int64_t *local_ms_out);
/* The same by iso_year, iso_week and iso_weekday. */
bool date_join_iso(const struct date_parts *parts, int64_t *local_ms_out);
/* A date moved by units of time, which have the names that formula_is_unit knows. False past the range. */
bool date_move(const struct zone *zone, int64_t utc_ms, bytes unit, int64_t amount,
               int64_t *utc_ms_out);
int64_t date_floor_divide(int64_t a, int64_t b);

/* The zone that an argument names; UTC if it is not given. *is_null_out if it is null. */
MUST_USE status formula_take_zone(const struct formula *call, struct formula_run *run, size_t at,
                                  const char *name, const struct zone **out, bool *is_null_out);
/* The date that an argument holds, in UTC. */
MUST_USE status formula_take_date(const struct formula *call, struct formula_run *run, size_t at,
                                  int32_t number, int64_t *ms_out, bool *is_null_out);
MUST_USE status formula_split_date(struct formula_run *run, const struct zone *zone, int64_t utc_ms,
                                   struct date_parts *out);
/* A text of ISO 8601; without a zone in it, as clocks in `zone` show it. False if it is none. */
bool date_parse_iso(bytes text, const struct zone *zone, int64_t *utc_ms_out, bool *has_zone_out);

#endif
