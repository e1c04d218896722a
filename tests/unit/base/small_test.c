/* The small parts of base: checked arithmetic, random numbers, log lines, metrics, statuses. */
#include "base/base.h"
#include "tests/check.h"

#include <stdio.h>
#include <unistd.h>

TEST(check, arithmetic_refuses_to_overflow_and_leaves_the_result_alone)
{
    size_t size = 7;
    int64_t integer = 7;

    CHECK(!size_add(SIZE_MAX, 1, &size));
    CHECK(!size_mul(SIZE_MAX / 2, 3, &size));
    CHECK_EQ(size, 7, "");
    CHECK(size_add(SIZE_MAX - 1, 1, &size));
    CHECK_EQ(size, SIZE_MAX, "");
    CHECK(size_mul(SIZE_MAX, 0, &size));
    CHECK_EQ(size, 0, "");
    CHECK(!int64_add(INT64_MAX, 1, &integer));
    CHECK(!int64_add(INT64_MIN, -1, &integer));
    CHECK_EQ(integer, 7, "");
    CHECK(int64_add(INT64_MAX, INT64_MIN, &integer));
    CHECK_EQ(integer, -1, "");
}

TEST(check, saturating_arithmetic_stays_at_the_ends)
{
    CHECK_EQ(int64_add_saturating(INT64_MAX, 5), INT64_MAX, "");
    CHECK_EQ(int64_add_saturating(INT64_MIN, -5), INT64_MIN, "");
    CHECK_EQ(int64_add_saturating(2, 3), 5, "");
    CHECK_EQ(int64_sub_saturating(INT64_MIN, 5), INT64_MIN, "");
    CHECK_EQ(int64_sub_saturating(INT64_MAX, -5), INT64_MAX, "");
    CHECK_EQ(int64_sub_saturating(0, INT64_MIN), INT64_MAX, "");
    CHECK_EQ(int64_sub_saturating(2, 3), -1, "");
}

static void assert_what_is_false(void *data)
{
    ASSERT(data != NULL);
}

TEST(check, broken_claim_ends_the_process)
{
    int something = 0;

    CHECK(check_aborts(assert_what_is_false, NULL));
    CHECK(!check_aborts(assert_what_is_false, &something));
}

TEST(random, seed_replays_the_same_numbers)
{
    struct random a = random_seeded(42);
    struct random b = random_seeded(42);
    struct random other = random_seeded(43);
    int same = 0;

    for (int i = 0; i < 1000; i++) {
        uint64_t number = random_next(&a);
        CHECK_EQ(number, random_next(&b), "");
        same += number == random_next(&other);
    }
    CHECK_EQ(same, 0, "another seed gives other numbers");
}

TEST(random, below_is_in_range_and_reaches_all)
{
    struct random random = random_seeded(check_seed());
    unsigned seen[7] = { 0 };

    for (int i = 0; i < 7000; i++) {
        uint64_t number = random_below(&random, 7);
        CHECK_THAT(number < 7, "%llu", (unsigned long long)number);
        seen[number]++;
    }
    for (int i = 0; i < 7; i++)
        CHECK_THAT(seen[i] > 800 && seen[i] < 1200, "%d was seen %u times", i, seen[i]);
    CHECK_EQ(random_below(&random, 1), 0, "");
}

TEST(random, chance_is_in_percent)
{
    struct random random = random_seeded(check_seed());
    int hits = 0;

    for (int i = 0; i < 10000; i++) {
        CHECK(!random_chance(&random, 0));
        CHECK(random_chance(&random, 100));
        hits += random_chance(&random, 25);
    }
    CHECK_THAT(hits > 2200 && hits < 2800, "%d of 10000", hits);
}

TEST(random, two_secrets_are_never_the_same)
{
    uint8_t a[32] = { 0 };
    uint8_t b[32] = { 0 };

    random_secret(a, sizeof(a));
    random_secret(b, sizeof(b));
    CHECK(memcmp(a, b, sizeof(a)) != 0);
}

TEST(random, the_salt_stays_the_same_until_another_one_is_chosen)
{
    const uint64_t salt = random_salt();

    CHECK_EQ(salt % 2, 1, "");
    CHECK_EQ(random_salt(), salt, "");
    random_salt_choose(salt ^ 2);
    CHECK_EQ(random_salt(), salt ^ 2, "");
}

/* What an event writes to a pipe; len is 0 if nothing was written. */
static bytes logged(char *line, size_t room, enum log_level least, const char *content)
{
    int ends[2];

    CHECK_EQ(pipe(ends), 0, "");
    struct log log = log_to(ends[1], least);
    log_event(&log, LOG_WARNING, "purger.pass", "text=%s", content);
    close(ends[1]);
    ssize_t len = read(ends[0], line, room);
    close(ends[0]);
    return bytes_of(line, len > 0 ? (size_t)len : 0);
}

struct told {
    size_t count;
    char first[64], last[64];
    time_ms newest;
};

static void note_line(void *context, const struct log_line *line)
{
    struct told *told = context;

    snprintf(told->count == 0 ? told->first : told->last, sizeof(told->first), "%s %s %s",
             log_level_name(line->level), line->name, line->text);
    told->count++;
    CHECK(line->at >= told->newest);
    told->newest = line->at;
}

TEST(log, a_value_cannot_begin_a_line_of_its_own)
{
    char line[512];
    const bytes got = logged(line, sizeof(line), LOG_INFO, "a\nb\x1b[31mc\td");

    CHECK_THAT(got.len > 16 && memmem(got.data, got.len, "text=a?b?[31mc?d\n", 17) != NULL, "%.*s",
               (int)got.len, (const char *)got.data);
}

TEST(audit, a_flood_of_refusals_is_counted_and_not_written)
{
    int ends[2];
    char text[65536];

    CHECK_EQ(pipe(ends), 0, "");
    const struct log log = log_to(ends[1], LOG_INFO);
    struct audit audit = { .log = &log };
    const struct audit_party party = { .peer = "1.2.3.4:5", .user = BYTES_LITERAL("eve") };
    const struct audit_pair pair = { "x", BYTES_LITERAL("1") };
    for (int i = 0; i < 10 * LIMIT_AUDIT_REFUSALS; i++)
        audit_refused(&audit, &party, &pair, 1);
    atomic_store(&audit.second, 0); /* another second begins */
    audit_refused(&audit, &party, &(struct audit_pair){ "is", BYTES_LITERAL("next") }, 1);
    audit_done(&audit, "change", &party, &pair, 1);
    audit_done(NULL, "change", &party, &pair, 1); /* nobody wants to know */
    const ssize_t len = read(ends[0], text, sizeof(text) - 1);
    CHECK(len > 0);
    text[len] = '\0';
    int lines = 0;
    for (ssize_t i = 0; i < len; i++)
        lines += text[i] == '\n';
    /* A second may have ended by itself in between. */
    CHECK_THAT(lines >= LIMIT_AUDIT_REFUSALS + 2 && lines <= 2 * LIMIT_AUDIT_REFUSALS + 2, "%d",
               lines);
    CHECK_THAT(strstr(text, "audit.refused client=1.2.3.4:5 who=eve is=next left-out=") != NULL,
               "%s", text);
    CHECK(strstr(text, "audit.change client=1.2.3.4:5 who=eve x=1\n") != NULL);
    close(ends[0]);
    close(ends[1]);
}

TEST(audit, a_value_cannot_look_like_another_pair)
{
    char long_value[300];
    memset(long_value, 'a', sizeof(long_value));
    memcpy(long_value + 255, "\xc3\xa4", 2); /* one character, where the value is cut */
    const bytes cut = bytes_of(long_value, sizeof(long_value));
    const struct {
        bytes value;
        const char *shown;
    } rows[] = {
        {BYTES_LITERAL("shop.orders"),           "x=shop.orders\n"             },
        { BYTES_LITERAL("a result=done code=0"), "x=\"a result=done code=0\"\n"},
        { BYTES_LITERAL("a=b"),                  "x=\"a=b\"\n"                 },
        { BYTES_LITERAL("a\" b=\"c\\"),          "x=\"a\\\" b=\\\"c\\\\\"\n"   },
        { BYTES_LITERAL("a\nb"),                 "x=\"a?b\"\n"                 },
        { BYTES_LITERAL(""),                     "x=\"\"\n"                    },
        { cut,                                   "aaa\n"                       },
    };
    char text[4096];
    int ends[2];

    CHECK_EQ(pipe(ends), 0, "");
    const struct log log = log_to(ends[1], LOG_INFO);
    struct audit audit = { .log = &log };
    EACH_ROW(rows, r) {
        const struct audit_party party = { .peer = "1.2.3.4:5",
                                           .user = BYTES_LITERAL("eve who=root") };
        audit_done(&audit, "change", &party, &(struct audit_pair){ "x", r->value }, 1);
        const ssize_t len = read(ends[0], text, sizeof(text) - 1);
        CHECK(len > 0);
        text[len] = '\0';
        CHECK_THAT(strstr(text, " who=\"eve who=root\" x=") != NULL, "%s", text);
        CHECK_THAT(strcmp(text + len - strlen(r->shown), r->shown) == 0, "%s", text);
    }
    close(ends[0]);
    close(ends[1]);
}

TEST(audit, lines_that_are_lost_are_told_once_and_counted)
{
    const struct audit_party party = { .peer = "1.2.3.4:5" };
    const struct audit_pair pair = { "x", BYTES_LITERAL("1") };
    int ends[2];
    char text[4096];

    CHECK_EQ(pipe(ends), 0, "");
    const struct log alarm = log_to(ends[1], LOG_INFO);
    struct log log = log_to(-1, LOG_INFO);
    struct audit audit = { .log = &log, .alarm = &alarm };
    for (int i = 0; i < 3; i++)
        audit_done(&audit, "change", &party, &pair, 1);
    log.fd = ends[1];
    audit_done(&audit, "change", &party, &pair, 1);
    const ssize_t len = read(ends[0], text, sizeof(text) - 1);
    CHECK(len > 0);
    text[len] = '\0';
    const char *failed = strstr(text, "error audit.failed ");
    CHECK_THAT(failed && !strstr(failed + 1, "error audit.failed"), "%s", text);
    CHECK_THAT(strstr(text, "audit.change client=1.2.3.4:5 who=- x=1\n") != NULL, "%s", text);
    CHECK_THAT(strstr(text, "warning audit.resumed lost=3\n") != NULL, "%s", text);
    close(ends[0]);
    close(ends[1]);
}

TEST(log, ring_keeps_the_newest_lines_and_the_warnings_of_the_start)
{
    int ends[2];
    struct told told = { 0 }, startup = { 0 };

    CHECK_EQ(pipe(ends), 0, "");
    close(ends[0]);
    close(ends[1]);
    struct log log = log_to(ends[1], LOG_INFO);
    log.ring = log_ring_open();
    log_event(&log, LOG_WARNING, "start.odd", "n=%d", 1);
    log_event(&log, LOG_INFO, "start.fine", "n=%d", 2);
    log_event(&log, LOG_DEBUG, "start.dropped", "n=%d", 3);
    log_ring_settle(log.ring);
    log_event(&log, LOG_ERROR, "late.odd", "n=%d", 4);
    for (int i = 0; i < LIMIT_LOG_LINES - 1; i++)
        log_event(&log, LOG_INFO, "late.fine", "n=%d", i);
    CHECK_EQ(log_ring_each(log.ring, LOG_RING_NEWEST, note_line, &told), LIMIT_LOG_LINES + 2, "");
    CHECK_EQ(told.count, LIMIT_LOG_LINES, "");
    CHECK_STRING(told.first, "error late.odd n=4");
    CHECK_STRING(told.last, "info late.fine n=1022");
    CHECK_EQ(log_ring_each(log.ring, LOG_RING_STARTUP, note_line, &startup), 1, "");
    CHECK_STRING(startup.first, "warning start.odd n=1");
    log_ring_close(log.ring);
}

TEST(log, event_is_one_line_with_time_level_name_and_pairs)
{
    char line[4096];
    bytes got = logged(line, sizeof(line), LOG_DEBUG, "x y=2");
    static const char shape[] = "0000-00-00T00:00:00.000Z";

    for (size_t i = 0; i < sizeof(shape) - 1; i++) {
        bool is_digit = line[i] >= '0' && line[i] <= '9';
        CHECK_THAT(shape[i] == '0' ? is_digit : line[i] == shape[i], "%.*s", (int)got.len, line);
    }
    CHECK_TEXT(bytes_from(got, sizeof(shape) - 1), " warning purger.pass text=x y=2\n");
}

TEST(log, events_below_the_level_are_dropped)
{
    char line[4096];

    CHECK_EQ(logged(line, sizeof(line), LOG_ERROR, "x").len, 0, "");
    CHECK_EQ(logged(line, sizeof(line), LOG_SILENT, "x").len, 0, "");
    CHECK(logged(line, sizeof(line), LOG_WARNING, "x").len > 0);
}

TEST(log, long_lines_are_cut_and_still_end)
{
    char line[8192];
    char content[5000];

    memset(content, 'c', sizeof(content));
    content[sizeof(content) - 1] = 0;
    bytes got = logged(line, sizeof(line), LOG_DEBUG, content);
    CHECK_THAT(got.len > 1000 && got.len <= 2048, "%zu bytes", got.len);
    CHECK_EQ(line[got.len - 1], '\n', "");
    CHECK_EQ(line[got.len - 2], 'c', "");
}

TEST(log, level_names_can_be_parsed)
{
    enum log_level level = LOG_SILENT;

    for (int i = LOG_DEBUG; i <= LOG_SILENT; i++) {
        CHECK(log_level_parse(log_level_name((enum log_level)i), &level));
        CHECK_EQ(level, i, "");
    }
    CHECK(!log_level_parse("loud", &level));
    CHECK(!log_level_parse("", &level));
}

TEST(metrics, render_has_help_type_and_value_of_every_row)
{
    static const char *const names[] = {
#define METRIC(name, kind, sentence) #name,
#include "base/metrics.def"
#undef METRIC
    };
    static struct metrics metrics;
    struct arena *arena = arena_open(1 << 20);
    struct buffer out = buffer_in(arena);

    for (int i = 0; i < METRIC_COUNT; i++) {
        metrics_set(&metrics, (enum metric)i, 100);
        metrics_add(&metrics, (enum metric)i, (uint64_t)i);
    }
    metrics_render(&metrics, &out);
    buffer_append_byte(&out, 0);
    const char *text = (const char *)out.data;
    for (int i = 0; i < METRIC_COUNT; i++) {
        CHECK_EQ(metrics_read(&metrics, (enum metric)i), 100 + i, "%s", names[i]);
        CHECK_THAT(strstr(text, arena_format(arena, "\nmayfly_%s %d\n", names[i], 100 + i)), "%s",
                   names[i]);
        CHECK_THAT(strstr(text, arena_format(arena, "# HELP mayfly_%s ", names[i])), "%s",
                   names[i]);
        CHECK_THAT(strstr(text, arena_format(arena, "# TYPE mayfly_%s ", names[i])), "%s",
                   names[i]);
        CHECK_THAT(i == 0 || strcmp(names[i - 1], names[i]) < 0, "%s is not in order", names[i]);
    }
    arena_close(arena);
}

TEST(status, codes_have_names_and_sentences)
{
    CHECK_STRING(status_code_name(OK), "OK");
    CHECK_STRING(status_code_name(TOO_LARGE), "TOO_LARGE");
    CHECK_STRING(status_code_sentence(NOT_FOUND), "there is none");
    CHECK_EQ(STATUS_OK.code, OK, "");
}

TEST(status, failure_has_a_formatted_message_and_context)
{
    struct arena *arena = arena_open(4096);
    status inner = status_fail(arena, INVALID, "size is %d, limit %d", 5, 4);
    status outer = status_in(arena, inner, "field '%s'", "a");

    CHECK_EQ(inner.code, INVALID, "");
    CHECK_STRING(inner.message, "size is 5, limit 4");
    CHECK_EQ(outer.code, INVALID, "");
    CHECK_STRING(outer.message, "field 'a': size is 5, limit 4");
    arena_close(arena);
}

TEST(status, without_memory_the_sentence_stands_in)
{
    struct arena *arena = arena_open(16);
    status s = status_fail(arena, TOO_LARGE, "a message that is longer than sixteen bytes");

    CHECK_EQ(s.code, TOO_LARGE, "");
    CHECK_STRING(s.message, status_code_sentence(TOO_LARGE));
    CHECK_STRING(status_in(arena, s, "some more context than fits").message, s.message);
    CHECK_STRING(status_fail(NULL, BUSY, "x").message, status_code_sentence(BUSY));
    arena_close(arena);
}

static status first_failure(status a, status b)
{
    TRY(a);
    TRY(b);
    return STATUS_OK;
}

TEST(status, try_returns_the_first_failure)
{
    CHECK_CODE(first_failure(STATUS_OK, STATUS_OK), OK);
    CHECK_CODE(first_failure(STATUS_OK, status_of(BUSY, "")), BUSY);
    CHECK_CODE(first_failure(status_of(EXISTS, ""), status_of(BUSY, "")), EXISTS);
}
