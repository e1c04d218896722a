/* Pipelines: what the tables in tests/corpus/pipelines say they make of documents.
 *
 *   doc {...}        one more document
 *   other {...}      one more document of the collection "other", for stages that look at others
 *   [...] => [...]   a pipeline and the documents it gives, in order, or "error N"
 *   = x => y         an expression and its value for the first document, or "error N" */
#include "front/mongo/pipeline.h"

#include <stdio.h>

#include "tests/support/cases.h"

enum { BUDGET = 256 * 1024 * 1024, DOCUMENTS_MAX = 64, NOW_MS = 86400123 };

struct table {
    struct cases cases;
    bytes documents[DOCUMENTS_MAX];
    size_t count, given;
    bytes others[DOCUMENTS_MAX];
    size_t other_count;
    int open;        /* other collections that were not closed */
    uint64_t weight; /* of another collection */
    struct buffer wrong;
};

static status next_document(void *context, bytes *document_out, bool *has_out)
{
    struct table *t = context;

    *has_out = t->given < t->count;
    if (*has_out)
        *document_out = t->documents[t->given++];
    return STATUS_OK;
}

/* ---- another collection ------------------------------------------------------------------------------- */

struct others {
    struct table *table;
    const struct match *match;
    struct formula_run formulas;
    size_t given;
};

static status next_other(void *context, bytes *document_out, bool *has_out)
{
    struct others *others = context;
    struct matching matching = { .scratch = others->table->cases.arena,
                                 .formulas = &others->formulas };

    for (*has_out = false; !*has_out && others->given < others->table->other_count;) {
        *document_out = others->table->others[others->given++];
        *has_out = true;
        if (others->match)
            TRY(match_document(others->match, &matching, *document_out, has_out));
    }
    return STATUS_OK;
}

static status open_other(void *context, bytes name, const struct match *match, unsigned how,
                         const struct formula_run *formulas, struct pipeline_source *out)
{
    struct table *t = context;
    struct others *others;

    (void)how;
    TRY(ARENA_NEW(t->cases.arena, 1, &others));
    *others = (struct others){ .table = t, .match = match, .formulas = *formulas };
    others->formulas.arena = t->cases.arena;
    if (!bytes_equal(name, BYTES_LITERAL("other")))
        others->given = t->other_count;
    *out = (struct pipeline_source){ .next = next_other, .context = others };
    t->open++;
    return STATUS_OK;
}

/* What it says decides whether values are looked for, or everything is looked at. */
static status weigh_other(void *context, bytes name, uint64_t *out)
{
    (void)name;
    *out = ((struct table *)context)->weight;
    return STATUS_OK;
}

static void close_other(void *context, struct pipeline_source *source)
{
    (void)source;
    ((struct table *)context)->open--;
}

/* ---- cases -------------------------------------------------------------------------------------------- */

static const char *error_of(struct table *t, status s, const struct fault *fault)
{
    return arena_format(t->cases.arena, "error %d", fault->code ? fault->code : -(int)s.code);
}

static status run_all(struct table *t, const struct pipeline *pipeline, struct buffer *out,
                      struct fault *fault)
{
    const struct pipeline_foreign foreign = {
        .open = open_other, .weigh = weigh_other, .close = close_other, .context = t
    };
    const struct pipeline_source source = { .next = next_document,
                                            .context = t,
                                            .foreign = &foreign };
    struct formula_run formulas = { .now = NOW_MS };
    struct pipeline_run *run;
    bool has_row = true;
    bytes row;

    t->given = 0;
    TRY(pipeline_open(pipeline, 0, &source, &formulas, t->cases.arena, &run));
    status s = STATUS_OK;
    while (has_row) {
        s = pipeline_next(run, &row, &has_row);
        if (s.code != OK || !has_row)
            break;
        CHECK_OK(document_check(t->cases.arena, row));
        buffer_append_format(out, "%s\n", cases_text(t->cases.arena, row));
    }
    if (s.code != OK)
        s = pipeline_fault(t->cases.arena, run, s, fault);
    pipeline_close(run);
    CHECK_EQ(t->open, 0, "%s:%d leaves another collection open", t->cases.path, t->cases.line);
    return s;
}

static const char *answer_of(struct table *t, bytes array)
{
    struct buffer out = buffer_in(t->cases.arena);
    const struct pipeline *pipeline;
    struct fault fault = { 0 };

    status s = pipeline_parse(t->cases.arena, array, NULL, &pipeline, &fault);
    if (s.code == OK)
        s = run_all(t, pipeline, &out, &fault);
    if (s.code != OK)
        return error_of(t, s, &fault);
    return arena_format(t->cases.arena, "%.*s", (int)out.len,
                        out.len ? (const char *)out.data : "");
}

static const char *expected_of(struct table *t, bytes want)
{
    struct buffer out = buffer_in(t->cases.arena);
    struct field element;

    if (want.len == 0 || want.data[0] != '[')
        return arena_format(t->cases.arena, "%.*s", (int)want.len, (const char *)want.data);
    struct document_walk walk = document_fields(value_document(cases_value(&t->cases, want)));
    while (document_next(&walk, &element))
        buffer_append_format(&out, "%s\n",
                             cases_text(t->cases.arena, value_document(element.value)));
    return arena_format(t->cases.arena, "%.*s", (int)out.len,
                        out.len ? (const char *)out.data : "");
}

/* All that differ are told at the end. */
static void compare(struct table *t, bytes line, const char *got, const char *expected)
{
    t->cases.tried++;
    if (strcmp(got, expected) != 0)
        buffer_append_format(&t->wrong, "%s:%d: %.*s\n  gives %s\n  want  %s\n", t->cases.path,
                             t->cases.line, (int)line.len, (const char *)line.data, got, expected);
}

static void run_pipeline(struct table *t, bytes line)
{
    bytes left, want;

    CHECK_THAT(cases_split(line, &left, &want), "%s:%d: no =>", t->cases.path, t->cases.line);
    const char *expected = expected_of(t, want);
    static const uint64_t weights[] = { 0, UINT64_MAX };
    for (size_t i = 0; i < ARRAY_COUNT(weights); i++) {
        t->weight = weights[i];
        compare(t, left, answer_of(t, value_document(cases_value(&t->cases, left))), expected);
    }
}

/* { r: value }, as text. */
static const char *text_of(struct table *t, struct value value)
{
    struct buffer built = buffer_in(t->cases.arena);
    size_t begun = document_begin(&built);

    document_append(&built, BYTES_LITERAL("r"), value);
    document_end(&built, begun);
    return cases_text(t->cases.arena, bytes_of(built.data, built.len));
}

static void run_formula(struct table *t, bytes line)
{
    struct arena *arena = t->cases.arena;
    struct value variables[FORMULA_VARIABLES_MAX], value;
    struct formula_run run = { .arena = arena, .now = NOW_MS, .variables = variables };
    const struct formula *formula;
    struct fault fault = { 0 };
    const char *got, *expected;
    bytes left, want;

    CHECK_THAT(cases_split(line, &left, &want), "%s:%d: no =>", t->cases.path, t->cases.line);
    run.root = run.current = (struct value){ .type = VALUE_DOCUMENT, .raw = t->documents[0] };
    status s = formula_parse(arena, cases_value(&t->cases, left), NULL, &formula, &fault);
    if (s.code == OK) {
        s = formula_value(formula, &run, &value);
        if (s.code != OK)
            s = formula_fault(arena, &run, s, &fault);
    }
    got = s.code == OK ? text_of(t, value) : error_of(t, s, &fault);
    if (bytes_starts_with(want, BYTES_LITERAL("error")))
        expected = arena_format(arena, "%.*s", (int)want.len, (const char *)want.data);
    else
        expected = text_of(t, cases_value(&t->cases, want));
    compare(t, left, got, expected);
}

static void run_line(void *context, bytes line)
{
    struct table *t = context;

    if (cases_take(&line, "doc")) {
        CHECK(t->count < DOCUMENTS_MAX);
        t->documents[t->count++] = cases_document(&t->cases, line);
    } else if (cases_take(&line, "other")) {
        CHECK(t->other_count < DOCUMENTS_MAX);
        t->others[t->other_count++] = cases_document(&t->cases, line);
    } else if (cases_take(&line, "=")) {
        run_formula(t, line);
    } else {
        run_pipeline(t, line);
    }
}

static void run_table(const char *name)
{
    struct arena *arena = arena_open(BUDGET);
    struct table table = { .wrong = buffer_in(arena) };

    cases_each(&table.cases, "pipelines", name, run_line, &table);
    CHECK_THAT(table.wrong.len == 0, "%.*s", (int)table.wrong.len, (const char *)table.wrong.data);
    arena_close(arena);
}

TEST(mongo_pipeline, stages_make_what_is_documented)
{
    run_table("stages");
}

TEST(mongo_pipeline, expressions_compute_what_is_documented)
{
    run_table("formulas");
}

TEST(mongo_pipeline, other_collections_are_joined_as_documented)
{
    run_table("joins");
}

TEST(mongo_pipeline, buckets_and_redactions_are_as_documented)
{
    run_table("buckets");
}

TEST(mongo_pipeline, windows_fill_and_densify_as_documented)
{
    run_table("windows");
}

TEST(mongo_pipeline, accumulators_give_what_is_documented)
{
    run_table("accumulators");
}

TEST(mongo_pipeline, angles_and_bits_are_computed_as_documented)
{
    run_table("angles");
}

TEST(mongo_pipeline, strings_are_taken_apart_as_documented)
{
    run_table("strings");
}

TEST(mongo_pipeline, arrays_are_ordered_and_joined_as_documented)
{
    run_table("arrays");
}

TEST(mongo_pipeline, objects_and_conversions_are_as_documented)
{
    run_table("objects");
}

TEST(mongo_pipeline, dates_are_shown_as_clocks_of_their_zone_show_them)
{
    run_table("dates");
}

TEST(mongo_pipeline, many_stages_have_a_share_of_the_memory_each)
{
    struct arena *arena = arena_open(BUDGET);
    struct table table = { .wrong = buffer_in(arena), .cases.arena = arena };
    struct buffer text = buffer_in(arena);
    struct buffer document = buffer_in(arena);
    void *megabytes;

    CHECK_OK(arena_take(arena, 3 << 20, &megabytes));
    memset(megabytes, 'x', 3 << 20);
    size_t begun = document_begin(&document);
    document_append_text(&document, "t", bytes_of(megabytes, 3 << 20));
    document_end(&document, begun);
    CHECK_OK(buffer_finish(&document, &table.documents[table.count++]));
    for (int i = 0; i < 400; i++)
        buffer_append_format(&text, "%s{\"$sort\":{\"_id\":1}}", i ? "," : "[");
    buffer_append_text(&text, "]");
    bytes stages = value_document(cases_value(&table.cases, bytes_of(text.data, text.len)));
    CHECK_STRING(answer_of(&table, stages), "error 292");
    arena_close(arena);
}

TEST(mongo_pipeline, the_front_of_a_pipeline_is_left_to_the_find)
{
    static const struct {
        const char *pipeline;
        size_t stages;
        bool has_match, has_order, counts;
        uint64_t wanted;
    } rows[] = {
        {"[]",                                                                                    0, false, false, false, 0},
        { "[{\"$match\":{\"a\":1}},{\"$match\":{\"b\":1}},{\"$sort\":{\"a\":1}},{\"$limit\":3}]", 3,
         true,                                                                                              true,  false, 3},
        { "[{\"$match\":{\"a\":1}},{\"$group\":{\"_id\":1,\"n\":{\"$sum\":1}}}]",                 1, true,  false,
         true,                                                                                                            0},
        { "[{\"$skip\":2},{\"$limit\":3}]",                                                       0, false, false, false, 5},
        { "[{\"$count\":\"n\"}]",                                                                 0, false, false, true,  0},
        { "[{\"$group\":{\"_id\":\"$a\",\"n\":{\"$sum\":1}}}]",                                   0, false, false, false, 0},
    };
    struct arena *arena = arena_open(BUDGET);
    struct cases cases = { .arena = arena };

    EACH_ROW(rows, r) {
        const struct pipeline *pipeline;
        struct pipeline_front front;
        struct fault fault = { 0 };
        bytes array = value_document(cases_value(&cases, bytes_of_text(r->pipeline)));
        CHECK_OK(pipeline_parse(arena, array, NULL, &pipeline, &fault));
        CHECK_OK(pipeline_front(pipeline, arena, &front));
        CHECK_EQ(front.stage_count, r->stages, "%s", r->pipeline);
        CHECK_EQ(front.match != NULL, r->has_match, "%s", r->pipeline);
        CHECK_EQ(front.order != NULL, r->has_order, "%s", r->pipeline);
        CHECK_EQ(front.counts_rows, r->counts, "%s", r->pipeline);
        CHECK_EQ(front.wanted, r->wanted, "%s", r->pipeline);
    }
    arena_close(arena);
}

static status count_documents(void *context, uint64_t *out)
{
    *out = *(const uint64_t *)context;
    return STATUS_OK;
}

TEST(mongo_pipeline, rows_that_are_only_counted_are_not_looked_at)
{
    struct arena *arena = arena_open(BUDGET);
    struct cases cases = { .arena = arena };
    uint64_t rows = 3000000000;
    const struct pipeline_source source = { .count = count_documents, .context = &rows };
    const char *text = "[{\"$group\":{\"_id\":1,\"n\":{\"$sum\":1}}}]";
    const struct pipeline *pipeline;
    struct pipeline_run *run;
    struct fault fault = { 0 };
    bool has_row;
    bytes row;

    CHECK_OK(pipeline_parse(arena, value_document(cases_value(&cases, bytes_of_text(text))), NULL,
                            &pipeline, &fault));
    CHECK_OK(pipeline_open(pipeline, 0, &source, NULL, arena, &run));
    CHECK_OK(pipeline_next(run, &row, &has_row));
    CHECK(has_row);
    CHECK_STRING(cases_text(arena, row), "{ \"_id\" : { \"$numberInt\" : \"1\" }, \"n\" : { "
                                         "\"$numberLong\" : \"3000000000\" } }");
    CHECK_OK(pipeline_next(run, &row, &has_row));
    CHECK(!has_row);
    pipeline_close(run);
    arena_close(arena);
}

/* ---- long work -------------------------------------------------------------------------------------- */

struct numbers {
    struct cases cases;
    int given, count, checks, checks_max;
};

static status next_number(void *context, bytes *document_out, bool *has_out)
{
    struct numbers *numbers = context;
    const char *text = arena_format(numbers->cases.arena, "{\"_id\":%d,\"o\":{\"a\":%d}}",
                                    numbers->given, numbers->given * 7919 % 1000);

    *has_out = numbers->given++ < numbers->count;
    if (*has_out)
        *document_out = cases_document(&numbers->cases, bytes_of_text(text));
    return STATUS_OK;
}

static status check_number(void *context)
{
    struct numbers *numbers = context;

    return ++numbers->checks > numbers->checks_max ? status_of(BUSY, "enough") : STATUS_OK;
}

/* The last row of windows with this function, or what it failed with. */
static const char *run_windows(struct numbers *numbers, const char *function)
{
    const struct pipeline_source source = { .next = next_number,
                                            .check = check_number,
                                            .context = numbers };
    struct arena *arena = numbers->cases.arena;
    const char *text = arena_format(arena,
                                    "[{\"$setWindowFields\":{\"sortBy\":{\"_id\":1},"
                                    "\"output\":{\"r\":{%s,\"window\":{\"documents\":["
                                    "\"unbounded\",\"current\"]}}}}},{\"$project\":{\"r\":1}}]",
                                    function);
    const struct pipeline *pipeline;
    struct pipeline_run *run;
    struct fault fault = { 0 };
    const char *last = "";
    bool has_row = true;
    bytes row;

    CHECK_OK(pipeline_parse(arena,
                            value_document(cases_value(&numbers->cases, bytes_of_text(text))), NULL,
                            &pipeline, &fault));
    CHECK_OK(pipeline_open(pipeline, 0, &source, NULL, arena, &run));
    status s = STATUS_OK;
    while (s.code == OK && has_row) {
        s = pipeline_next(run, &row, &has_row);
        if (s.code == OK && has_row)
            last = cases_text(arena, row);
    }
    if (s.code != OK)
        last = arena_format(arena, "%s", s.message);
    pipeline_close(run);
    return last;
}

TEST(mongo_pipeline, windows_that_take_long_are_asked_whether_they_shall_go_on)
{
#define MEDIAN "\"$median\":{\"input\":\"$o.a\",\"method\":\"approximate\"}"
    const struct {
        const char *function;
        int count, checks_max;
        const char *want;
    } rows[] = {
        {MEDIAN,                      1001, 1000,
         "{ \"_id\" : { \"$numberInt\" : \"1000\" }, \"r\" : { \"$numberDouble\" : \"499.0\" } "
          "}"                                             },
        { MEDIAN,                     1001, 0,    "enough"},
        { "\"$mergeObjects\":\"$o\"", 300,  1000,
         "{ \"_id\" : { \"$numberInt\" : \"299\" }, \"r\" : { \"a\" : { \"$numberInt\" : \"781\" "
          "} } "
          "}"                                             },
        { "\"$mergeObjects\":\"$o\"", 300,  0,    "enough"},
    };

    EACH_ROW(rows, r) {
        struct numbers numbers = { .cases = { .arena = arena_open(BUDGET) },
                                   .count = r->count,
                                   .checks_max = r->checks_max };
        CHECK_STRING(run_windows(&numbers, r->function), r->want);
        CHECK(numbers.checks > 0);
        arena_close(numbers.cases.arena);
    }
}
