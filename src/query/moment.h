/* Dates and times as texts of ISO 8601, and arithmetic with them. Private to this room.
 *
 * A moment is a number of ticks of 100 ns since 1970-01-01T00:00:00Z, in the Gregorian calendar carried on
 * backwards; the years 1 to 9999 and nothing else. Pure. */
#ifndef QUERY_MOMENT_H
#define QUERY_MOMENT_H

#include "base/base.h"

#define MOMENT_TICKS_PER_SECOND INT64_C(10000000)
#define MOMENT_TICKS_PER_MS INT64_C(10000)
#define MOMENT_TICKS_PER_DAY (INT64_C(86400) * MOMENT_TICKS_PER_SECOND)
/* 0001-01-01T00:00:00Z, 1601-01-01T00:00:00Z, and the last moment of the year 9999. */
#define MOMENT_FIRST INT64_C(-621355968000000000)
#define MOMENT_1601 INT64_C(-116444736000000000)
#define MOMENT_LAST INT64_C(2534023007999999999)

enum moment_part {
    PART_YEAR,
    PART_MONTH,
    PART_DAY,
    PART_HOUR,
    PART_MINUTE,
    PART_SECOND,
    PART_MILLISECOND,
    PART_MICROSECOND,
    PART_NANOSECOND,
};
/* By one of its names (day, dd, d ...), whatever their letter case; false for anything else. */
bool moment_part_find(bytes name, enum moment_part *out);
/* Nanoseconds of a part from days down; 0 for months and years, which differ. */
int64_t moment_part_ns(enum moment_part part);

struct moment_fields {
    int64_t year, month, day, hour, minute, second;
    int64_t ticks; /* of the second */
};
struct moment_fields moment_split(int64_t moment);
/* False if there is no such moment. */
bool moment_join(const struct moment_fields *fields, int64_t *out);
/* 0 is Sunday. */
unsigned moment_weekday(int64_t moment);
bool moment_is_in_range(int64_t moment);

/* YYYY-MM-DD [ (T | space) hh:mm [ :ss [ .f... ] ] [ Z | (+ | -) hh:mm ] ]; digits of the fraction past the
 * seventh are cut off. False if the text is not that, or not in range. */
bool moment_parse(bytes text, int64_t *out);
/* YYYY-MM-DDThh:mm:ss.fffffffZ */
enum { MOMENT_TEXT_BYTES = 28 };
void moment_format(int64_t moment, char out[MOMENT_TEXT_BYTES + 1]);

/* Months are counted on, and a day that the month does not have becomes its last. False past the range. */
bool moment_add(int64_t moment, enum moment_part part, int64_t count, int64_t *out);

#endif
