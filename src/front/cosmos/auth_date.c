/* Auth date: dates of requests, read strictly and without the C library's time zones.
 *
 * The Gregorian calendar repeats every 400 years; days are counted from 1 March of a year divisible by 400,
 * so that a leap day is the last day of its year.
 *
 * Pure; callable from every thread. */
#include "front/cosmos/auth_date.h"

#include <stdio.h>

enum {
    DAYS_OF_400_YEARS = 146097,
    DAYS_UNTIL_1970 = 719468, /* from 1 March of year 0 */
    MS_OF_DAY = 24 * 3600 * 1000,
};

static const char days[] = "SunMonTueWedThuFriSat";
static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

struct date {
    int year, month, day; /* month from 1 */
};

static int64_t day_number(struct date date)
{
    int64_t year = date.year - (date.month <= 2);
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (date.month + (date.month > 2 ? -3 : 9)) + 2) / 5 + date.day - 1;

    return era * DAYS_OF_400_YEARS + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 +
           day_of_year - DAYS_UNTIL_1970;
}

static struct date date_of_day(int64_t day)
{
    day += DAYS_UNTIL_1970;
    int64_t era = (day >= 0 ? day : day - DAYS_OF_400_YEARS + 1) / DAYS_OF_400_YEARS;
    int64_t day_of_era = day - era * DAYS_OF_400_YEARS;
    int64_t year = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) /
                   365;
    int64_t day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * day_of_year + 2) / 153;
    struct date date = { .day = (int)(day_of_year - (153 * month + 2) / 5 + 1),
                         .month = (int)(month < 10 ? month + 3 : month - 9) };

    date.year = (int)(year + era * 400 + (date.month <= 2));
    return date;
}

/* 1970 began on a Thursday. */
static size_t weekday_of(int64_t day)
{
    int64_t weekday = (day + 4) % 7;

    return (size_t)(weekday < 0 ? weekday + 7 : weekday);
}

static bool digits_at(bytes text, size_t at, size_t count, int *out)
{
    *out = 0;
    for (size_t i = at; i < at + count; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        *out = *out * 10 + (text.data[i] - '0');
    }
    return true;
}

static bool is_letter(uint8_t byte, char wanted)
{
    return (byte | 0x20) == (wanted | 0x20);
}

/* The three letters at `at` as a position in a list of such names; -1 if it has none like them. */
static int name_at(bytes text, size_t at, const char *names)
{
    const uint8_t *name = text.data + at;

    for (int i = 0; names[3 * i]; i++) {
        if (is_letter(name[0], names[3 * i]) && is_letter(name[1], names[3 * i + 1]) &&
            is_letter(name[2], names[3 * i + 2]))
            return i;
    }
    return -1;
}

/* date = day-name "," SP 2DIGIT SP month SP 4DIGIT SP 2DIGIT ":" 2DIGIT ":" 2DIGIT SP "GMT" */
bool auth_date_parse(bytes text, time_ms *out)
{
    const uint8_t *at = text.data;
    struct date date;
    int hour, minute, second;

    *out = 0;
    if (text.len != AUTH_DATE_BYTES || at[3] != ',' || at[4] != ' ' || at[7] != ' ' ||
        at[11] != ' ' || at[16] != ' ' || at[19] != ':' || at[22] != ':' || at[25] != ' ')
        return false;
    date.month = name_at(text, 8, months) + 1;
    if (!digits_at(text, 5, 2, &date.day) || !digits_at(text, 12, 4, &date.year) ||
        !digits_at(text, 17, 2, &hour) || !digits_at(text, 20, 2, &minute) ||
        !digits_at(text, 23, 2, &second) || name_at(text, 26, "GMT") != 0 || date.month == 0 ||
        hour > 23 || minute > 59 || second > 59)
        return false;
    int64_t day = day_number(date);
    struct date again = date_of_day(day);
    if (again.day != date.day || again.month != date.month ||
        name_at(text, 0, days) != (int)weekday_of(day))
        return false;
    *out = day * MS_OF_DAY + ((hour * 60 + minute) * 60 + second) * (time_ms)1000;
    return true;
}

void auth_date_format(time_ms time, char out[AUTH_DATE_BYTES + 1])
{
    int64_t day = (time >= 0 ? time : time - MS_OF_DAY + 1) / MS_OF_DAY;
    int64_t second = (time - day * MS_OF_DAY) / 1000;
    struct date date = date_of_day(day);

    snprintf(out, AUTH_DATE_BYTES + 1, "%.3s, %02u %.3s %04u %02u:%02u:%02u GMT",
             days + 3 * weekday_of(day), (unsigned)date.day % 100u,
             months + (ptrdiff_t)3 * (date.month - 1), (unsigned)date.year % 10000u,
             (unsigned)(second / 3600 % 24), (unsigned)(second / 60 % 60), (unsigned)(second % 60));
}
