/* Moment: the calendar, and texts of ISO 8601.
 *
 * Days are counted in eras of 400 years, in which the calendar repeats, and years that begin in March, so
 * that the day that only some years have comes last. Everything is whole numbers.
 *
 * Pure; callable from every thread. Start reading at moment_parse(). */
#include "query/moment.h"

#include <stdio.h>

enum { DAYS_PER_ERA = 146097, DAYS_BEFORE_1970 = 719468, YEARS_PER_ERA = 400 };

/* ---- the calendar ----------------------------------------------------------------------------------- */

static bool is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int64_t month_days(int64_t year, int64_t month)
{
    static const uint8_t days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

    return month == 2 && is_leap(year) ? 29 : days[month - 1];
}

static int64_t divide_down(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Days since 1970-01-01. */
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = divide_down(y, YEARS_PER_ERA), of_era = y - era * YEARS_PER_ERA;
    int64_t from_march = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    int64_t day_of_era = of_era * 365 + of_era / 4 - of_era / 100 + from_march;

    return era * DAYS_PER_ERA + day_of_era - DAYS_BEFORE_1970;
}

static void date_of(int64_t days, struct moment_fields *out)
{
    int64_t shifted = days + DAYS_BEFORE_1970;
    int64_t era = divide_down(shifted, DAYS_PER_ERA), of_era = shifted - era * DAYS_PER_ERA;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t from_march = (5 * of_year + 2) / 153;

    out->day = of_year - (153 * from_march + 2) / 5 + 1;
    out->month = from_march < 10 ? from_march + 3 : from_march - 9;
    out->year = year + era * YEARS_PER_ERA + (out->month <= 2);
}

bool moment_is_in_range(int64_t moment)
{
    return moment >= MOMENT_FIRST && moment <= MOMENT_LAST;
}

struct moment_fields moment_split(int64_t moment)
{
    struct moment_fields f = { 0 };
    int64_t days = divide_down(moment, MOMENT_TICKS_PER_DAY);
    int64_t ticks = moment - days * MOMENT_TICKS_PER_DAY;
    int64_t seconds = ticks / MOMENT_TICKS_PER_SECOND;

    date_of(days, &f);
    f.ticks = ticks % MOMENT_TICKS_PER_SECOND;
    f.hour = seconds / 3600;
    f.minute = seconds / 60 % 60;
    f.second = seconds % 60;
    return f;
}

bool moment_join(const struct moment_fields *f, int64_t *out)
{
    *out = 0;
    if (f->year < 1 || f->year > 9999 || f->month < 1 || f->month > 12 || f->day < 1 ||
        f->day > month_days(f->year, f->month) || f->hour < 0 || f->hour > 23 || f->minute < 0 ||
        f->minute > 59 || f->second < 0 || f->second > 59 || f->ticks < 0 ||
        f->ticks >= MOMENT_TICKS_PER_SECOND)
        return false;
    int64_t seconds = (f->hour * 60 + f->minute) * 60 + f->second;
    *out = days_of(f->year, f->month, f->day) * MOMENT_TICKS_PER_DAY +
           seconds * MOMENT_TICKS_PER_SECOND + f->ticks;
    return true;
}

unsigned moment_weekday(int64_t moment)
{
    /* 1970-01-01 was a Thursday. */
    int64_t days = divide_down(moment, MOMENT_TICKS_PER_DAY) + 4;

    return (unsigned)(days - 7 * divide_down(days, 7));
}

/* ---- parts ------------------------------------------------------------------------------------------ */

static const struct {
    const char *names[3];
    int64_t ns;
} parts[] = {
    [PART_YEAR] = {{ "year", "yyyy", "yy" },        0                         },
    [PART_MONTH] = { { "month", "mm", "m" },         0                         },
    [PART_DAY] = { { "day", "dd", "d" },           MOMENT_TICKS_PER_DAY * 100},
    [PART_HOUR] = { { "hour", "hh", NULL },         INT64_C(3600000000000)    },
    [PART_MINUTE] = { { "minute", "mi", "n" },        INT64_C(60000000000)      },
    [PART_SECOND] = { { "second", "ss", "s" },        1000000000                },
    [PART_MILLISECOND] = { { "millisecond", "ms", NULL },  1000000                   },
    [PART_MICROSECOND] = { { "microsecond", "mcs", NULL }, 1000                      },
    [PART_NANOSECOND] = { { "nanosecond", "ns", NULL },   1                         },
};

static bool is_name(bytes given, const char *name)
{
    if (given.len != strlen(name))
        return false;
    for (size_t i = 0; i < given.len; i++) {
        uint8_t small = given.data[i] >= 'A' && given.data[i] <= 'Z' ? given.data[i] | 0x20
                                                                     : given.data[i];
        if (small != (uint8_t)name[i])
            return false;
    }
    return true;
}

bool moment_part_find(bytes name, enum moment_part *out)
{
    for (size_t part = 0; part < ARRAY_COUNT(parts); part++) {
        for (size_t i = 0; i < ARRAY_COUNT(parts[part].names) && parts[part].names[i]; i++) {
            if (is_name(name, parts[part].names[i])) {
                *out = (enum moment_part)part;
                return true;
            }
        }
    }
    return false;
}

int64_t moment_part_ns(enum moment_part part)
{
    return parts[part].ns;
}

static bool add_months(int64_t moment, int64_t count, int64_t *out)
{
    struct moment_fields f = moment_split(moment);
    int64_t months;

    if (__builtin_add_overflow(f.year * 12 + f.month - 1, count, &months))
        return false;
    f.year = divide_down(months, 12);
    f.month = months - f.year * 12 + 1;
    if (f.year < 1 || f.year > 9999)
        return false;
    if (f.day > month_days(f.year, f.month))
        f.day = month_days(f.year, f.month);
    return moment_join(&f, out);
}

bool moment_add(int64_t moment, enum moment_part part, int64_t count, int64_t *out)
{
    int64_t months, ticks, ns = moment_part_ns(part);

    *out = 0;
    if (part == PART_YEAR)
        return !__builtin_mul_overflow(count, INT64_C(12), &months) &&
               add_months(moment, months, out);
    if (part == PART_MONTH)
        return add_months(moment, count, out);
    if (part == PART_NANOSECOND)
        ticks = count / 100;
    else if (__builtin_mul_overflow(count, ns / 100, &ticks))
        return false;
    return !__builtin_add_overflow(moment, ticks, out) && moment_is_in_range(*out);
}

/* ---- texts ------------------------------------------------------------------------------------------ */

static bool take_mark(bytes *text, char mark)
{
    if (text->len == 0 || text->data[0] != (uint8_t)mark)
        return false;
    *text = bytes_from(*text, 1);
    return true;
}

/* Exactly `count` digits. */
static bool take_digits(bytes *text, size_t count, int64_t *out)
{
    *out = 0;
    if (text->len < count)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (text->data[i] < '0' || text->data[i] > '9')
            return false;
        *out = *out * 10 + (text->data[i] - '0');
    }
    *text = bytes_from(*text, count);
    return true;
}

/* .f..., as ticks of the second */
static bool take_fraction(bytes *text, int64_t *out)
{
    int64_t unit = MOMENT_TICKS_PER_SECOND, digit;

    *out = 0;
    if (!take_digits(text, 1, &digit))
        return false;
    do {
        unit /= 10;
        *out += digit * unit;
    } while (take_digits(text, 1, &digit));
    return true;
}

/* hh:mm [ :ss [ .f... ] ] */
static bool take_time(bytes *text, struct moment_fields *f)
{
    if (!take_digits(text, 2, &f->hour) || !take_mark(text, ':') ||
        !take_digits(text, 2, &f->minute))
        return false;
    if (!take_mark(text, ':'))
        return true;
    if (!take_digits(text, 2, &f->second))
        return false;
    return !take_mark(text, '.') || take_fraction(text, &f->ticks);
}

/* [ Z | (+ | -) hh:mm ], as minutes ahead of UTC */
static bool take_zone(bytes *text, int64_t *out)
{
    int64_t hours, minutes;
    bool is_ahead;

    *out = 0;
    if (text->len == 0 || take_mark(text, 'Z'))
        return true;
    is_ahead = take_mark(text, '+');
    if ((!is_ahead && !take_mark(text, '-')) || !take_digits(text, 2, &hours) ||
        !take_mark(text, ':') || !take_digits(text, 2, &minutes) || hours > 23 || minutes > 59)
        return false;
    *out = (hours * 60 + minutes) * (is_ahead ? 1 : -1);
    return true;
}

bool moment_parse(bytes text, int64_t *out)
{
    struct moment_fields f = { 0 };
    int64_t ahead = 0;

    *out = 0;
    if (!take_digits(&text, 4, &f.year) || !take_mark(&text, '-') ||
        !take_digits(&text, 2, &f.month) || !take_mark(&text, '-') ||
        !take_digits(&text, 2, &f.day))
        return false;
    if (text.len) {
        if ((!take_mark(&text, 'T') && !take_mark(&text, ' ')) || !take_time(&text, &f) ||
            !take_zone(&text, &ahead) || text.len)
            return false;
    }
    if (!moment_join(&f, out))
        return false;
    *out -= ahead * 60 * MOMENT_TICKS_PER_SECOND;
    return moment_is_in_range(*out);
}

void moment_format(int64_t moment, char out[MOMENT_TEXT_BYTES + 1])
{
    struct moment_fields f = moment_split(moment);
    char text[192];

    snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d.%07dZ", (int)f.year, (int)f.month,
             (int)f.day, (int)f.hour, (int)f.minute, (int)f.second, (int)f.ticks);
    memcpy(out, text, MOMENT_TEXT_BYTES);
    out[MOMENT_TEXT_BYTES] = 0;
}
