/* Zone: offsets from UTC, from the files of the IANA time zone database.
 *
 *   file   = header block(32 bit) header block(64 bit) "\n" rule "\n"        of version 2 and later
 *   header = "TZif" version 15*reserved counts: isut isstd leap time type char, four bytes each
 *   block  = time*moment time*type-number type*(offset:4 is-dst:1 name:1) char leap*(..) isstd isut
 *   rule   = name offset [ name [ offset ] "," date [ "/" time ] "," date [ "/" time ] ]
 *
 * The list of moments says when the offset changes; behind its end the rule goes on for ever. Only the kinds
 * of dates that the database uses (month.week.day and days of the year) are known; a rule that says something
 * else is as good as none, and the last offset stays.
 *
 * Pure but for reading the file. Start reading at zone_find(). */
#include "base/zone.h"

#include <stdio.h>

#include "base/buffer.h"
#include "base/check.h"
#include "base/memory.h"

#define ZONE_DIRECTORY "/usr/share/zoneinfo"

enum { NAME_MAX_BYTES = 64, FILE_MAX_BYTES = 256 * 1024, HEADER_BYTES = 44, DAY_S = 86400 };
enum { MEMO_BYTES = 1024 * 1024 };

/* A day of every year, and the second of it at which clocks change. */
struct rule_date {
    char kind; /* M: month, week and day; J: day of the year without February 29; 0: with it */
    int64_t month, week, day;
    int64_t at_s;
};

struct zone {
    size_t count;
    const uint8_t *moments; /* count times eight bytes, seconds */
    const uint8_t *types;   /* count bytes */
    int32_t *offsets;       /* seconds, per type */
    int32_t first_s;        /* before the first moment */
    bool has_rule, has_summer;
    int32_t standard_s, summer_s;
    struct rule_date begins, ends; /* of summer time */
};

/* ---- the calendar ----------------------------------------------------------------------------------- */

static bool is_leap_year(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* Days from 1970-01-01 to the first of January of a year. */
static int64_t days_before_year(int64_t year)
{
    int64_t y = year - 1;

    return y * 365 + y / 4 - y / 100 + y / 400 - 719162;
}

static int64_t year_of(int64_t seconds)
{
    int64_t year = 1970 + seconds / (365 * DAY_S);

    while (days_before_year(year) * DAY_S > seconds)
        year--;
    return year;
}

/* Seconds since 1970 at which clocks change in a year, as if they showed UTC. */
static int64_t date_in_year(const struct rule_date *date, int64_t year)
{
    static const int64_t before[] = { 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365 };
    int64_t january = days_before_year(year), leap = is_leap_year(year), day;

    if (date->kind != 'M') {
        day = january + date->day - (date->kind == 'J' ? 1 : 0);
        if (date->kind == 'J' && leap && date->day > 59)
            day++;
        return day * DAY_S + date->at_s;
    }
    int64_t first = january + before[date->month - 1] + (date->month > 2 ? leap : 0);
    int64_t length = before[date->month] - before[date->month - 1] + (date->month == 2 ? leap : 0);
    int64_t weekday = ((first + 4) % 7 + 7) % 7; /* 1970-01-01 was a Thursday */
    day = (date->day - weekday + 7) % 7 + (date->week - 1) * 7;
    while (day >= length)
        day -= 7;
    return (first + day) * DAY_S + date->at_s;
}

/* ---- the rule behind the end ------------------------------------------------------------------------ */

static bool take_char(bytes *text, char wanted)
{
    if (text->len == 0 || text->data[0] != (uint8_t)wanted)
        return false;
    *text = bytes_from(*text, 1);
    return true;
}

static bool take_digits(bytes *text, int64_t most, int64_t *out)
{
    size_t digits = 0;

    *out = 0;
    while (text->len && text->data[0] >= '0' && text->data[0] <= '9' && digits < 4) {
        *out = *out * 10 + (text->data[0] - '0');
        *text = bytes_from(*text, 1);
        digits++;
    }
    return digits > 0 && *out <= most;
}

/* [ + | - ] h [ :m [ :s ] ] as seconds */
static bool take_time(bytes *text, int64_t *out)
{
    int64_t part, sign = take_char(text, '-') ? -1 : 1;

    if (sign > 0)
        take_char(text, '+');
    if (!take_digits(text, 167, &part))
        return false;
    *out = part * 3600;
    for (int64_t unit = 60; unit && take_char(text, ':'); unit /= 60) {
        if (!take_digits(text, 59, &part))
            return false;
        *out += part * unit;
    }
    *out *= sign;
    return true;
}

/* letters, or "<" anything ">" */
static bool take_abbreviation(bytes *text)
{
    size_t len = 0;

    if (take_char(text, '<')) {
        const uint8_t *end = text->len ? memchr(text->data, '>', text->len) : NULL;
        if (!end)
            return false;
        *text = bytes_from(*text, (size_t)(end - text->data) + 1);
        return true;
    }
    while (len < text->len && ((text->data[len] | 32) >= 'a' && (text->data[len] | 32) <= 'z'))
        len++;
    *text = bytes_from(*text, len);
    return len > 0;
}

static bool take_date(bytes *text, struct rule_date *out)
{
    *out = (struct rule_date){ .at_s = 2 * 3600 };
    if (take_char(text, 'M')) {
        out->kind = 'M';
        if (!take_digits(text, 12, &out->month) || !take_char(text, '.') ||
            !take_digits(text, 5, &out->week) || !take_char(text, '.') ||
            !take_digits(text, 6, &out->day) || out->month < 1 || out->week < 1)
            return false;
    } else {
        out->kind = take_char(text, 'J') ? 'J' : '0';
        if (!take_digits(text, 365, &out->day))
            return false;
    }
    return !take_char(text, '/') || take_time(text, &out->at_s);
}

/* The text counts westwards, we eastwards. */
static bool take_rule(bytes text, struct zone *zone)
{
    int64_t west;

    if (!take_abbreviation(&text) || !take_time(&text, &west))
        return false;
    zone->standard_s = zone->summer_s = (int32_t)-west;
    if (text.len == 0)
        return true;
    zone->has_summer = true;
    if (!take_abbreviation(&text))
        return false;
    zone->summer_s = zone->standard_s + 3600;
    if (text.len && text.data[0] != ',') {
        if (!take_time(&text, &west))
            return false;
        zone->summer_s = (int32_t)-west;
    }
    return take_char(&text, ',') && take_date(&text, &zone->begins) && take_char(&text, ',') &&
           take_date(&text, &zone->ends) && text.len == 0;
}

static int32_t offset_by_rule(const struct zone *zone, int64_t seconds)
{
    if (!zone->has_summer)
        return zone->standard_s;
    int64_t year = year_of(seconds + zone->standard_s);
    int64_t begins = date_in_year(&zone->begins, year) - zone->standard_s;
    int64_t ends = date_in_year(&zone->ends, year) - zone->summer_s;
    bool is_summer = begins < ends ? seconds >= begins && seconds < ends
                                   : seconds >= begins || seconds < ends;
    return is_summer ? zone->summer_s : zone->standard_s;
}

/* ---- files ------------------------------------------------------------------------------------------ */

struct counts {
    uint32_t isut, isstd, leap, time, type, letters;
};

static bool take_header(struct reader *reader, uint8_t *version_out, struct counts *out)
{
    bytes magic = reader_bytes(reader, 4);

    *version_out = reader_byte(reader);
    reader_bytes(reader, 15);
    out->isut = reader_u32(reader);
    out->isstd = reader_u32(reader);
    out->leap = reader_u32(reader);
    out->time = reader_u32(reader);
    out->type = reader_u32(reader);
    out->letters = reader_u32(reader);
    return !reader->is_failed && bytes_equal(magic, BYTES_LITERAL("TZif")) &&
           (out->isut | out->isstd | out->leap | out->time | out->type | out->letters) <
               FILE_MAX_BYTES;
}

static status take_block(struct arena *arena, struct reader *reader, const struct counts *counts,
                         struct zone *zone)
{
    zone->count = counts->time;
    zone->moments = reader_bytes(reader, 8 * (size_t)counts->time).data;
    zone->types = reader_bytes(reader, counts->time).data;
    TRY(ARENA_NEW(arena, (size_t)counts->type, &zone->offsets));
    for (uint32_t i = 0; i < counts->type && !reader->is_failed; i++) {
        zone->offsets[i] = (int32_t)reader_u32(reader);
        reader_bytes(reader, 2);
    }
    reader_bytes(reader,
                 counts->letters + 12 * (size_t)counts->leap + counts->isstd + counts->isut);
    bool is_good = !reader->is_failed && counts->type > 0;
    for (size_t i = 0; is_good && i < zone->count; i++)
        is_good = zone->types[i] < counts->type;
    for (size_t i = 0; is_good && i < counts->type; i++)
        is_good = zone->offsets[i] > -2 * DAY_S && zone->offsets[i] < 2 * DAY_S;
    if (!is_good)
        return status_of(INVALID, "a file of time zones is damaged");
    zone->first_s = zone->offsets[0];
    return STATUS_OK;
}

status zone_parse(struct arena *arena, bytes file, const struct zone **out)
{
    struct reader reader = reader_of(file);
    struct counts counts;
    struct zone *zone;
    uint8_t version;

    *out = NULL;
    TRY(ARENA_NEW(arena, 1, &zone));
    if (!take_header(&reader, &version, &counts) || version < '2')
        return status_of(INVALID, "a file of time zones is damaged, or older than version 2");
    reader_bytes(&reader, 5 * (size_t)counts.time + 6 * (size_t)counts.type + counts.letters +
                              8 * (size_t)counts.leap + counts.isstd + counts.isut);
    if (!take_header(&reader, &version, &counts))
        return status_of(INVALID, "a file of time zones is damaged");
    TRY(take_block(arena, &reader, &counts, zone));
    bytes rule = bytes_from(reader.rest, 1);
    const uint8_t *end = rule.len ? memchr(rule.data, '\n', rule.len) : NULL;
    if (end)
        zone->has_rule = take_rule(bytes_of(rule.data, (size_t)(end - rule.data)), zone);
    *out = zone;
    return STATUS_OK;
}

static bool is_name(bytes name)
{
    if (name.len == 0 || name.len > NAME_MAX_BYTES || name.data[0] == '/')
        return false;
    for (size_t i = 0; i < name.len; i++) {
        uint8_t c = name.data[i];
        bool is_letter = (c | 32) >= 'a' && (c | 32) <= 'z';
        if (!is_letter && !(c >= '0' && c <= '9') && c != '/' && c != '_' && c != '-' && c != '+')
            return false;
    }
    return true;
}

static status no_such_zone(struct arena *arena, bytes name)
{
    return status_fail(arena, NOT_FOUND, "unrecognized time zone identifier: \"%.*s\"",
                       (int)name.len, (const char *)name.data);
}

static status read_file(struct arena *arena, bytes name, bytes *out)
{
    char path[sizeof(ZONE_DIRECTORY) + NAME_MAX_BYTES + 2];

    snprintf(path, sizeof(path), "%s/%.*s", ZONE_DIRECTORY, (int)name.len, (const char *)name.data);
    FILE *file = fopen(path, "rb");
    if (!file)
        return no_such_zone(arena, name);
    status s = status_of(OUT_OF_MEMORY, "no memory to read a time zone");
    uint8_t *room = memory_take(FILE_MAX_BYTES);
    if (room)
        s = arena_copy(arena, bytes_of(room, fread(room, 1, FILE_MAX_BYTES, file)), out);
    memory_give(room);
    fclose(file);
    return s;
}

/* (+ | -) hh [ [ : ] mm ] */
static bool take_offset(bytes name, int32_t *out)
{
    int32_t digits[4] = { 0 };
    size_t count = 0;

    if (name.len < 3 || name.len > 6 || (name.data[0] != '+' && name.data[0] != '-'))
        return false;
    for (size_t i = 1; i < name.len; i++) {
        if (name.data[i] == ':' && i == 3 && name.len == 6)
            continue;
        if (name.data[i] < '0' || name.data[i] > '9' || count == 4)
            return false;
        digits[count++] = name.data[i] - '0';
    }
    if (count != 2 && count != 4)
        return false;
    *out = (digits[0] * 10 + digits[1]) * 3600 + (digits[2] * 10 + digits[3]) * 60;
    if (name.data[0] == '-')
        *out = -*out;
    return true;
}

status zone_find(struct arena *arena, bytes name, const struct zone **out)
{
    arena_position mark = arena_mark(arena);
    struct zone *fixed;
    int32_t offset = 0;
    bytes file;

    *out = NULL;
    if (take_offset(name, &offset) || bytes_equal(name, BYTES_LITERAL("UTC")) ||
        bytes_equal(name, BYTES_LITERAL("GMT")) || bytes_equal(name, BYTES_LITERAL("Z"))) {
        TRY(ARENA_NEW(arena, 1, &fixed));
        fixed->first_s = offset;
        *out = fixed;
        return STATUS_OK;
    }
    if (!is_name(name))
        return no_such_zone(arena, name);
    status s = read_file(arena, name, &file);
    if (s.code == OK)
        s = zone_parse(arena, file, out);
    if (s.code == INVALID) {
        arena_release(arena, mark);
        return no_such_zone(arena, name);
    }
    return s;
}

/* ---- remembering ------------------------------------------------------------------------------------ */

status zone_recall(struct zone_memo *memo, struct arena *arena, bytes name, const struct zone **out)
{
    for (size_t i = 0; i < memo->count; i++) {
        *out = memo->zones[i];
        if (bytes_equal(memo->names[i], name))
            return STATUS_OK;
    }
    if (!memo->arena)
        memo->arena = arena_open(MEMO_BYTES);
    if (!memo->arena || memo->count == ZONE_MEMO_MAX || name.len > NAME_MAX_BYTES)
        return zone_find(arena, name, out);
    status s = zone_find(memo->arena, name, out);
    if (s.code == OK)
        s = arena_copy(memo->arena, name, &memo->names[memo->count]);
    if (s.code == OUT_OF_MEMORY)
        return zone_find(arena, name, out);
    if (s.code != OK)
        return status_fail(arena, s.code, "%s", s.message);
    memo->zones[memo->count++] = *out;
    return s;
}

void zone_memo_close(struct zone_memo *memo)
{
    if (memo->arena)
        arena_close(memo->arena);
    *memo = (struct zone_memo){ 0 };
}

/* ---- asking ----------------------------------------------------------------------------------------- */

static int64_t moment_at(const struct zone *zone, size_t at)
{
    return (int64_t)bytes_read_u64(zone->moments + 8 * at);
}

static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

int64_t zone_offset_ms(const struct zone *zone, int64_t utc_ms)
{
    int64_t seconds = floor_divide(utc_ms, 1000);
    size_t low = 0, high = zone->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (moment_at(zone, middle) <= seconds)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == zone->count && zone->has_rule)
        return (int64_t)offset_by_rule(zone, seconds) * 1000;
    return (int64_t)(low == 0 ? zone->first_s : zone->offsets[zone->types[low - 1]]) * 1000;
}

int64_t zone_to_local(const struct zone *zone, int64_t utc_ms)
{
    return utc_ms + zone_offset_ms(zone, utc_ms);
}

int64_t zone_to_utc(const struct zone *zone, int64_t local_ms)
{
    int64_t before = zone_offset_ms(zone, local_ms - (int64_t)DAY_S * 1000);
    int64_t after = zone_offset_ms(zone, local_ms + (int64_t)DAY_S * 1000);

    if (before == after || zone_offset_ms(zone, local_ms - before) == before)
        return local_ms - before;
    if (zone_offset_ms(zone, local_ms - after) == after)
        return local_ms - after;
    return local_ms - before;
}
