/* Rows on disk: sorts and groups that do not fit into memory give what they give in memory. */
#include <stdio.h>
#include <stdlib.h>

#include "front/mongo/pipeline.h"
#include "tests/support/cases.h"

enum { BUDGET = 256 * 1024 * 1024, ROWS = 400 };

struct given {
    struct arena *arena;
    bytes rows[ROWS];
    size_t count, at;
    bool is_gathered;
    char origin[16];
};

static status next_given(void *context, bytes *document_out, bool *has_out)
{
    struct given *given = context;

    *has_out = given->at < given->count;
    if (*has_out)
        *document_out = given->rows[given->at++];
    return STATUS_OK;
}

static status origin_given(void *context, bytes *out)
{
    struct given *given = context;

    snprintf(given->origin, sizeof(given->origin), "%zu", given->at - 1);
    *out = bytes_of_text(given->origin);
    return STATUS_OK;
}

static void make_rows(struct given *given, struct random *random)
{
    for (given->count = 0; given->count < ROWS; given->count++) {
        struct cases cases = { .arena = given->arena };
        char text[400], filler[256];
        size_t len = random_below(random, sizeof(filler));
        memset(filler, 'x', len);
        filler[len] = '\0';
        snprintf(text, sizeof(text), "{\"_id\":%zu,\"g\":%d,\"s\":%d,\"t\":\"%s\"}", given->count,
                 (int)random_below(random, 150), (int)random_below(random, 40), filler);
        given->rows[given->count] = value_document(cases_value(&cases, bytes_of_text(text)));
    }
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* As several threads do it, with two workers that take turns. */
static status gather_given(void *context, const struct gather *gather, bool *is_done_out)
{
    struct given *given = context;
    void *workers[2];
    status s = STATUS_OK;

    for (size_t i = 0; i < 2; i++)
        CHECK_OK(gather->open(gather->context, &workers[i]));
    for (size_t i = 0; i < given->count && s.code == OK; i++) {
        const struct document stored = { .seq = i + 1 };
        s = gather->take(workers[i % 2], &stored, given->rows[i]);
    }
    for (size_t i = 0; i < 2; i++) {
        const status closed = gather->close(workers[i]);
        s = s.code == OK ? closed : s;
    }
    *is_done_out = s.code == OK;
    return STATUS_OK;
}

/* One line per row, with the bytes of the origin, in order or sorted; "error N" if it fails. */
static const char *ask(struct given *given, const char *text, size_t held_bytes, const char *disk,
                       bool is_ordered)
{
    struct pipeline_source source = {
        .next = next_given,
        .origin = origin_given,
        .context = given,
        .share = {held_bytes, BUDGET},
        .disk = disk,
        .gather = given->is_gathered ? gather_given : NULL
    };
    struct cases cases = { .arena = given->arena };
    const struct pipeline *pipeline;
    struct pipeline_run *run;
    struct fault fault = { 0 };
    static const char *lines[ROWS * 2];
    size_t count = 0;
    bool has_row = true;
    status s = STATUS_OK;
    bytes row, origin;

    given->at = 0;
    CHECK_OK(pipeline_parse(given->arena, value_document(cases_value(&cases, bytes_of_text(text))),
                            NULL, &pipeline, &fault));
    CHECK_OK(pipeline_open(pipeline, 0, &source, NULL, given->arena, &run));
    while (s.code == OK && has_row && (s = pipeline_next(run, &row, &has_row)).code == OK) {
        struct buffer line = buffer_in(given->arena);
        if (!has_row)
            break;
        CHECK(count < ARRAY_COUNT(lines));
        CHECK_OK(pipeline_origin(run, &origin));
        json_write_value(&line, (struct value){ .type = VALUE_DOCUMENT, .raw = row });
        buffer_append_text(&line, " of ");
        for (size_t i = 0; i < origin.len; i++)
            buffer_append_format(&line, "%02x", origin.data[i]);
        buffer_append(&line, BYTES_LITERAL("\n\0"));
        CHECK(!line.is_failed);
        lines[count++] = (const char *)line.data;
    }
    const char *error = arena_format(given->arena, "error %d", pipeline_refusal(run));
    pipeline_close(run);
    if (s.code != OK)
        return error;
    if (!is_ordered)
        qsort(lines, count, sizeof(lines[0]), compare_texts);
    struct buffer all = buffer_in(given->arena);
    for (size_t i = 0; i < count; i++)
        buffer_append_text(&all, lines[i]);
    buffer_append_byte(&all, 0);
    CHECK(!all.is_failed);
    return (const char *)all.data;
}

static const struct {
    const char *pipeline;
    bool is_ordered;
} rows[] = {
    {"[{\"$sort\":{\"s\":1}}]",                                                                  true },
    { "[{\"$sort\":{\"s\":-1,\"g\":1}}]",                                                        true },
    { "[{\"$sort\":{\"s\":1}},{\"$skip\":30},{\"$limit\":200}]",                                 true },
    { "[{\"$sort\":{\"g\":1}},{\"$sort\":{\"s\":1}}]",                                           true },
    { "[{\"$group\":{\"_id\":\"$g\",\"n\":{\"$sum\":1},\"f\":{\"$first\":\"$_id\"},"
      "\"l\":{\"$last\":\"$s\"},\"all\":{\"$push\":\"$_id\"}}}]",                           false},
    { "[{\"$group\":{\"_id\":\"$t\",\"n\":{\"$sum\":\"$s\"}}},{\"$sort\":{\"n\":1,\"_id\":1}}]",
     true                                                                                             },
    { "[{\"$unionWith\":{\"pipeline\":[{\"$documents\":[{\"g\":1},{\"g\":0}]},{\"$sort\":{\"g\":1}}"
      "]"
      "}},{\"$sort\":{\"g\":1,\"_id\":1}}]",                                                true },
};

TEST(mongo_pipeline_spill, rows_on_disk_come_as_rows_in_memory_do)
{
    char disk[256];

    check_temp_dir(disk, sizeof(disk));
    EACH_SEED(seed, 10) {
        struct random random = random_seeded(seed);
        struct given given = { .arena = arena_open(BUDGET) };
        make_rows(&given, &random);
        EACH_ROW(rows, r) {
            size_t held_bytes = 6000 + random_below(&random, 60000);
            const char *want = ask(&given, r->pipeline, BUDGET, NULL, r->is_ordered);
            const char *got = ask(&given, r->pipeline, held_bytes, disk, r->is_ordered);
            CHECK_THAT(strcmp(got, want) == 0, "%s in %zu bytes: is %s, want %s", r->pipeline,
                       held_bytes, got, want);
        }
        arena_close(given.arena);
    }
}

TEST(mongo_pipeline_spill, groups_come_in_the_order_of_their_first_rows_whatever_the_salt)
{
    const char *pipeline = "[{\"$group\":{\"_id\":\"$g\",\"f\":{\"$first\":\"$_id\"}}}]";
    struct given given = { .arena = arena_open(BUDGET) };
    struct random random = random_seeded(1);
    const char *want = NULL;

    make_rows(&given, &random);
    for (int i = 0; i < 20; i++) {
        random_salt_choose(random_next(&random) | 1);
        given.is_gathered = i % 2;
        const char *got = ask(&given, pipeline, BUDGET, NULL, true);
        int before = -1, first, count = 0;
        for (const char *at = got; (at = strstr(at, "\"f\":")) != NULL; at++, count++) {
            CHECK_THAT(sscanf(at, "\"f\":%d", &first) == 1 && first > before, "%s", at);
            before = first;
        }
        CHECK(count > 100);
        want = want ? want : got;
        CHECK_STRING(got, want);
    }
    arena_close(given.arena);
}

/* A table that has to grow may be what does not fit. */
TEST(mongo_pipeline_spill, groups_of_several_threads_come_as_those_of_one_whatever_fits)
{
    const char *pipeline = "[{\"$group\":{\"_id\":\"$_id\",\"n\":{\"$sum\":\"$s\"}}}]";
    struct random random = random_seeded(1);
    struct given given = { .arena = arena_open(BUDGET) };
    char disk[256];

    check_temp_dir(disk, sizeof(disk));
    make_rows(&given, &random);
    const char *want = ask(&given, pipeline, BUDGET, NULL, false);
    given.is_gathered = true;
    for (size_t held_bytes = 20000; held_bytes < 400000; held_bytes += 2000) {
        const char *got = ask(&given, pipeline, held_bytes, disk, false);
        CHECK_THAT(strcmp(got, want) == 0, "in %zu bytes: is %s", held_bytes, got);
    }
    arena_close(given.arena);
}

TEST(mongo_pipeline_spill, without_disk_use_there_is_error_292)
{
    struct random random = random_seeded(1);
    struct given given = { .arena = arena_open(BUDGET) };

    make_rows(&given, &random);
    for (size_t i = 0; i < 5; i++)
        CHECK_STRING(ask(&given, rows[i].pipeline, 4000, NULL, true), "error 292");
    arena_close(given.arena);
}

TEST(mongo_pipeline_spill, one_row_or_list_that_does_not_fit_is_refused_on_disk_too)
{
    struct random random = random_seeded(1);
    struct given given = { .arena = arena_open(BUDGET) };
    char disk[256];

    check_temp_dir(disk, sizeof(disk));
    make_rows(&given, &random);
    CHECK_STRING(ask(&given, "[{\"$group\":{\"_id\":null,\"all\":{\"$push\":\"$$ROOT\"}}}]", 8000,
                     disk, true),
                 "error 292");
    CHECK_STRING(ask(&given, "[{\"$sort\":{\"s\":1}}]", 100, disk, true), "error 292");
    arena_close(given.arena);
}

TEST(mongo_pipeline_spill, stages_that_stay_in_memory_refuse_what_does_not_fit)
{
    static const char *const stages[] = {
        "[{\"$facet\":{\"a\":[{\"$count\":\"n\"}]}}]",
        "[{\"$bucketAuto\":{\"groupBy\":\"$s\",\"buckets\":3}}]",
        "[{\"$setWindowFields\":{\"sortBy\":{\"s\":1},\"output\":{\"n\":{\"$sum\":1}}}}]",
        "[{\"$group\":{\"_id\":null,\"all\":{\"$addToSet\":\"$$ROOT\"}}}]",
    };
    struct random random = random_seeded(1);
    struct given given = { .arena = arena_open(BUDGET) };
    char disk[256];

    check_temp_dir(disk, sizeof(disk));
    make_rows(&given, &random);
    EACH_ROW(stages, r) {
        CHECK_STRING(ask(&given, *r, 4000, disk, true), "error 292");
        CHECK_STRING(ask(&given, *r, 4000, NULL, true), "error 292");
    }
    arena_close(given.arena);
}
