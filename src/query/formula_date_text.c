/* Operators of formulas between dates and texts.
 *
 * A format is a text with % and letters in it, each of which stands for a part of the date; the same letters
 * write and read. A text without a format is read as ISO 8601.
 *
 * Pure apart from the run's arena, and from reading files of zones that are not literals. */
#include <strings.h>

#include "query/formula_date.h"
#include "query/moment.h"

enum { CONVERSION_FAILURE = 241 };

static const char *const months[] = { "January",   "February", "March",    "April",
                                      "May",       "June",     "July",     "August",
                                      "September", "October",  "November", "December" };

/* ---- writing ---------------------------------------------------------------------------------------- */

/* A letter whose part is a plain number. */
static const struct letter {
    uint8_t letter;
    uint8_t digits;
    size_t offset;
} letters[] = {
    {'Y',  4, offsetof(struct date_parts, year)       },
    { 'm', 2, offsetof(struct date_parts, month)      },
    { 'd', 2, offsetof(struct date_parts, day)        },
    { 'H', 2, offsetof(struct date_parts, hour)       },
    { 'M', 2, offsetof(struct date_parts, minute)     },
    { 'S', 2, offsetof(struct date_parts, second)     },
    { 'L', 3, offsetof(struct date_parts, millisecond)},
    { 'j', 3, offsetof(struct date_parts, yearday)    },
    { 'w', 1, offsetof(struct date_parts, weekday)    },
    { 'U', 2, offsetof(struct date_parts, week)       },
    { 'G', 4, offsetof(struct date_parts, iso_year)   },
    { 'V', 2, offsetof(struct date_parts, iso_week)   },
    { 'u', 1, offsetof(struct date_parts, iso_weekday)},
};

static const struct letter *find_letter(uint8_t wanted)
{
    for (size_t i = 0; i < ARRAY_COUNT(letters); i++) {
        if (letters[i].letter == wanted)
            return &letters[i];
    }
    return NULL;
}

/* False for a letter that is none. */
static bool append_part(struct buffer *out, const struct date_parts *parts, int64_t offset_ms,
                        uint8_t wanted)
{
    const struct letter *letter = find_letter(wanted);
    int64_t minutes = offset_ms / DATE_MS_PER_MINUTE, size = minutes < 0 ? -minutes : minutes;

    if (letter) {
        int64_t number;
        memcpy(&number, (const char *)parts + letter->offset, sizeof(number));
        buffer_append_decimal(out, (uint64_t)number, letter->digits);
        return true;
    }
    switch (wanted) {
    case 'b':
        buffer_append(out, bytes_of(months[parts->month - 1], 3));
        return true;
    case 'B':
        buffer_append_text(out, months[parts->month - 1]);
        return true;
    case 'z':
        buffer_append_format(out, "%c%02lld%02lld", minutes < 0 ? '-' : '+', (long long)(size / 60),
                             (long long)(size % 60));
        return true;
    case 'Z':
        buffer_append_format(out, "%c%03lld", minutes < 0 ? '-' : '+', (long long)size);
        return true;
    case '%':
        buffer_append_byte(out, '%');
        return true;
    default:
        return false;
    }
}

static status write_date(struct formula_run *run, const struct zone *zone, int64_t ms, bytes format,
                         struct value *out)
{
    struct buffer made = buffer_in(run->arena);
    struct date_parts parts;
    bytes text;

    TRY(formula_split_date(run, zone, ms, &parts));
    for (size_t i = 0; i < format.len; i++) {
        if (format.data[i] != '%') {
            buffer_append_byte(&made, format.data[i]);
            continue;
        }
        if (++i == format.len)
            return formula_refuse(run, 18535, "Unmatched '%%' at end of format string");
        if (!append_part(&made, &parts, zone_offset_ms(zone, ms), format.data[i]))
            return formula_refuse(run, 18536, "Invalid format character '%%%c' in format string",
                                  format.data[i]);
    }
    TRY(buffer_finish(&made, &text));
    return formula_give_text(run, text, out);
}

/* date, format, onNull, timezone */
status formula_date_to_string(const struct formula *call, struct formula_run *run,
                              struct value *out)
{
    bytes format = BYTES_LITERAL("%Y-%m-%dT%H:%M:%S.%LZ");
    const struct zone *zone;
    struct value wanted;
    bool is_null, is_null_zone;
    int64_t ms;

    TRY(formula_take_date(call, run, 0, 16006, &ms, &is_null));
    TRY(formula_argument(call, run, 1, &wanted));
    TRY(formula_take_zone(call, run, 3, "$dateToString", &zone, &is_null_zone));
    *out = value_null();
    if (is_null)
        return call->count > 2 && call->args[2] ? formula_argument(call, run, 2, out) : STATUS_OK;
    if (is_null_zone)
        return STATUS_OK;
    /* The Z at the end says that it is UTC. */
    if (zone_offset_ms(zone, ms) != 0)
        format.len--;
    if (wanted.type == VALUE_STRING)
        format = value_text(wanted);
    else if (call->count > 1 && call->args[1])
        return formula_is_null(wanted)
                   ? STATUS_OK
                   : formula_refuse(run, 18533,
                                    "$dateToString requires that 'format' be a string, found: %s",
                                    value_type_name(wanted.type));
    return write_date(run, zone, ms, format, out);
}

/* ---- reading ---------------------------------------------------------------------------------------- */

/* "Z", or (+ | -) hh [ [ : ] mm ] at the end of a text that has a time. */
static size_t zone_len(bytes text)
{
    const uint8_t *time = text.len ? memchr(text.data, ':', text.len) : NULL;

    if (!time)
        return 0;
    if (text.data[text.len - 1] == 'Z' || text.data[text.len - 1] == 'z')
        return 1;
    for (size_t i = text.len - 1; text.len - i <= 6 && text.data + i > time; i--) {
        if (text.data[i] == '+' || text.data[i] == '-')
            return text.len - i;
    }
    return 0;
}

static bool take_offset(bytes text, int64_t *minutes_out)
{
    int64_t number = 0;
    size_t digits = 0;

    for (size_t i = 1; i < text.len; i++) {
        if (text.data[i] == ':' && i == 3)
            continue;
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        number = number * 10 + (text.data[i] - '0');
        digits++;
    }
    if (digits != 2 && digits != 4)
        return false;
    *minutes_out = digits == 2 ? number * 60 : number / 100 * 60 + number % 100;
    if (text.data[0] == '-')
        *minutes_out = -*minutes_out;
    return text.data[0] == '-' || text.data[0] == '+';
}

bool date_parse_iso(bytes text, const struct zone *zone, int64_t *utc_ms_out, bool *has_zone_out)
{
    size_t suffix = zone_len(text);
    bytes end = bytes_from(text, text.len - suffix);
    int64_t ticks, minutes = 0;

    *has_zone_out = suffix > 0;
    if (suffix > 1 && !take_offset(end, &minutes))
        return false;
    if (!moment_parse(bytes_of(text.data, text.len - suffix), &ticks))
        return false;
    int64_t ms = date_floor_divide(ticks, MOMENT_TICKS_PER_MS);
    *utc_ms_out = suffix ? ms - minutes * DATE_MS_PER_MINUTE : zone_to_utc(zone, ms);
    return true;
}

/* What was read by a format. */
struct reading {
    struct date_parts parts;
    bool has_year, has_month, has_day, has_yearday, has_iso_year, has_zone;
    int64_t zone_minutes;
};

static bool take_number(bytes *text, size_t digits_max, int64_t *out)
{
    size_t digits = 0;

    *out = 0;
    while (digits < digits_max && text->len && text->data[0] >= '0' && text->data[0] <= '9') {
        *out = *out * 10 + (text->data[0] - '0');
        *text = bytes_from(*text, 1);
        digits++;
    }
    return digits > 0;
}

static bool take_month(bytes *text, bool is_short, int64_t *out)
{
    for (size_t i = 0; i < ARRAY_COUNT(months); i++) {
        size_t len = is_short ? 3 : strlen(months[i]);
        if (text->len < len || strncasecmp((const char *)text->data, months[i], len) != 0)
            continue;
        *text = bytes_from(*text, len);
        *out = (int64_t)i + 1;
        return true;
    }
    return false;
}

static bool take_zone_text(bytes *text, bool is_minutes, struct reading *r)
{
    size_t len = text->len ? 1 : 0;

    r->has_zone = true;
    if (len && text->data[0] == 'Z' && !is_minutes) {
        *text = bytes_from(*text, 1);
        return true;
    }
    while (len < text->len && ((text->data[len] >= '0' && text->data[len] <= '9') ||
                               (text->data[len] == ':' && len == 3)))
        len++;
    bytes taken = bytes_of(text->data, len);
    *text = bytes_from(*text, len);
    if (!is_minutes)
        return len > 0 && take_offset(taken, &r->zone_minutes);
    bytes digits = bytes_from(taken, 1);
    bool is_negative = len && taken.data[0] == '-';
    if (!take_number(&digits, 4, &r->zone_minutes) || digits.len)
        return false;
    if (is_negative)
        r->zone_minutes = -r->zone_minutes;
    return true;
}

static bool take_letter(bytes *text, uint8_t wanted, struct reading *r)
{
    const struct letter *letter = find_letter(wanted);
    int64_t number;

    if (wanted == 'b' || wanted == 'B') {
        r->has_month = true;
        return take_month(text, wanted == 'b', &r->parts.month);
    }
    if (wanted == 'z' || wanted == 'Z')
        return take_zone_text(text, wanted == 'Z', r);
    if (!letter || !take_number(text, letter->digits, &number))
        return false;
    memcpy((char *)&r->parts + letter->offset, &number, sizeof(number));
    r->has_year |= wanted == 'Y';
    r->has_month |= wanted == 'm';
    r->has_day |= wanted == 'd';
    r->has_yearday |= wanted == 'j';
    r->has_iso_year |= wanted == 'G';
    return true;
}

static bool is_in_bounds(const struct date_parts *p)
{
    return p->month >= 1 && p->month <= 12 && p->day >= 1 && p->day <= 31 && p->hour <= 23 &&
           p->minute <= 59 && p->second <= 59 && p->iso_week >= 1 && p->iso_week <= 53 &&
           p->iso_weekday >= 1 && p->iso_weekday <= 7;
}

/* False if the text is not what the format says, or no date. */
static bool read_by_format(bytes text, bytes format, const struct zone *zone, int64_t *utc_ms_out,
                           bool *has_zone_out)
{
    struct reading r = {
        .parts = {.month = 1, .day = 1, .iso_week = 1, .iso_weekday = 1}
    };
    bool is_good = true;
    int64_t ms;

    for (size_t i = 0; is_good && i < format.len; i++) {
        uint8_t wanted = format.data[i];
        bool is_letter = wanted == '%' && i + 1 < format.len && format.data[i + 1] != '%';
        if (wanted == '%')
            wanted = ++i < format.len ? format.data[i] : '%';
        if (is_letter) {
            is_good = take_letter(&text, wanted, &r);
            continue;
        }
        is_good = text.len && text.data[0] == wanted;
        text = bytes_from(text, 1);
    }
    bool has_date = r.has_iso_year || (r.has_year && (r.has_yearday || (r.has_month && r.has_day)));
    if (!is_good || text.len || !has_date || !is_in_bounds(&r.parts))
        return false;
    if (r.has_yearday) {
        r.parts.month = 1;
        r.parts.day = r.parts.yearday;
    }
    if (!(r.has_iso_year ? date_join_iso(&r.parts, &ms) : date_join(&r.parts, &ms)))
        return false;
    *has_zone_out = r.has_zone;
    *utc_ms_out = r.has_zone ? ms - r.zone_minutes * DATE_MS_PER_MINUTE : zone_to_utc(zone, ms);
    return true;
}

static status read_date(const struct formula *call, struct formula_run *run, struct value text,
                        const struct zone *zone, struct value *out)
{
    struct value format;
    bool is_read, has_zone = false;
    int64_t ms = 0;

    if (text.type != VALUE_STRING)
        return formula_refuse(run, CONVERSION_FAILURE,
                              "$dateFromString requires that 'dateString' be a string, found: %s",
                              value_type_name(text.type));
    TRY(formula_argument(call, run, 1, &format));
    *out = value_null();
    if (format.type == VALUE_STRING)
        is_read = read_by_format(value_text(text), value_text(format), zone, &ms, &has_zone);
    else if (format.type == VALUE_MISSING && (call->count < 2 || !call->args[1]))
        is_read = date_parse_iso(value_text(text), zone, &ms, &has_zone);
    else if (formula_is_null(format))
        return STATUS_OK;
    else
        return formula_refuse(run, 40684,
                              "$dateFromString requires that 'format' be a string, found: %s",
                              value_type_name(format.type));
    bool is_told = call->count > 2 && call->args[2];
    if (is_read && !(has_zone && is_told))
        return value_of_integer(run->arena, VALUE_DATE, ms, out);
    return formula_refuse(run, CONVERSION_FAILURE,
                          is_read
                              ? "the date string '%.*s' names a time zone, and 'timezone' does too"
                              : "Error parsing date string '%.*s'",
                          (int)value_text(text).len, (const char *)value_text(text).data);
}

/* dateString, format, timezone, onError, onNull */
status formula_date_from_string(const struct formula *call, struct formula_run *run,
                                struct value *out)
{
    const struct zone *zone;
    struct value text;
    bool is_null;

    TRY(formula_argument(call, run, 0, &text));
    TRY(formula_take_zone(call, run, 2, "$dateFromString", &zone, &is_null));
    *out = value_null();
    if (formula_is_null(text))
        return call->count > 4 && call->args[4] ? formula_argument(call, run, 4, out) : STATUS_OK;
    if (is_null)
        return STATUS_OK;
    status s = read_date(call, run, text, zone, out);
    if (s.code == INVALID && run->refusal == CONVERSION_FAILURE && call->count > 3 &&
        call->args[3]) {
        run->refusal = 0;
        return formula_argument(call, run, 3, out);
    }
    return s;
}
