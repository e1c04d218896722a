/* Filters: what the tables in tests/corpus/filters say they match.
 *
 * A table has documents (doc {...}, with numbers as _id) and filters below them with the ids that they match, or
 * "error N". "none" matches nothing; "clear" forgets the documents. A filter may be followed by "at N" for the
 * position in an array that it reports for its only match. */
#include "front/mongo/filter.h"

#include <stdio.h>

#include "front/mongo/formula.h"
#include "tests/support/cases.h"

enum { DOCUMENTS_MAX = 64, BUDGET = 64 * 1024 * 1024 };

struct table {
    struct cases cases;
    bytes documents[DOCUMENTS_MAX];
    size_t count;
};

/* The ids that match, or the error, as the table writes it. */
static const char *answer_of(struct table *t, bytes filter)
{
    struct arena *arena = t->cases.arena;
    struct buffer answer = buffer_in(arena);
    struct formula_run formulas = { .now = 1000 };
    struct matching matching = { .scratch = arena, .formulas = &formulas };
    struct fault fault = { 0 };
    const struct match *match;
    bytes text;
    size_t found = 0;

    status s = filter_parse_sorting(arena, filter, NULL, &match, &fault);
    if (s.code != OK)
        return arena_format(arena, "error %d", fault.code ? fault.code : (int)s.code);
    for (size_t i = 0; i < t->count; i++) {
        struct value id;
        int64_t number = 0;
        bool is_match;
        s = match_document(match, &matching, t->documents[i], &is_match);
        if (s.code != OK)
            return arena_format(arena, "error %d", formulas.refusal);
        CHECK(document_find(t->documents[i], "_id", &id));
        CHECK(value_as_int64(id, &number));
        if (is_match)
            buffer_append_format(&answer, "%s%lld", found++ ? " " : "", (long long)number);
    }
    if (found == 0)
        return "none";
    if (found == 1 && matching.has_position && t->count == 1)
        buffer_append_format(&answer, " at %zu", matching.position);
    CHECK_OK(buffer_finish(&answer, &text));
    return arena_format(arena, "%.*s", (int)text.len, (const char *)text.data);
}

static void run_line(void *context, bytes line)
{
    struct table *t = context;
    bytes filter, want;

    if (cases_take(&line, "clear")) {
        t->count = 0;
    } else if (cases_take(&line, "doc")) {
        CHECK(t->count < DOCUMENTS_MAX);
        t->documents[t->count++] = cases_document(&t->cases, line);
    } else {
        CHECK_THAT(cases_split(line, &filter, &want), "%s:%d: no =>", t->cases.path, t->cases.line);
        const char *got = answer_of(t, cases_document(&t->cases, filter));
        CHECK_THAT(bytes_equal(bytes_of_text(got), want), "%s:%d: %.*s\n  gives %s\n  want  %.*s",
                   t->cases.path, t->cases.line, (int)filter.len, (const char *)filter.data, got,
                   (int)want.len, (const char *)want.data);
        t->cases.tried++;
    }
}

static void run_table(const char *name)
{
    struct table table = { 0 };

    cases_each(&table.cases, "filters", name, run_line, &table);
}

TEST(mongo_filter, equality_matches_as_documented)
{
    run_table("equality");
}

TEST(mongo_filter, order_holds_within_one_kind_only)
{
    run_table("order");
}

TEST(mongo_filter, arrays_are_looked_through_as_documented)
{
    run_table("arrays");
}

TEST(mongo_filter, null_and_missing_match_as_documented)
{
    run_table("null");
}

TEST(mongo_filter, operators_match_as_documented)
{
    run_table("operators");
}

TEST(mongo_filter, logic_joins_conditions)
{
    run_table("logic");
}

TEST(mongo_filter, schemas_are_fulfilled_as_documented)
{
    run_table("schema");
}

TEST(mongo_filter, bad_filters_are_refused_with_their_code)
{
    run_table("errors");
}

TEST(mongo_filter, the_deciding_position_is_reported)
{
    run_table("positions");
}

TEST(mongo_filter, expressions_compare_fields_of_a_document)
{
    run_table("expressions");
}

TEST(mongo_filter, documents_lie_where_geography_says)
{
    run_table("geography");
}

TEST(mongo_filter, nearness_is_refused_where_nothing_is_sorted)
{
    struct arena *arena = arena_open(BUDGET);
    struct fault fault = { 0 };
    const struct match *match;
    bytes filter;

    CHECK_OK(json_read(arena, BYTES_LITERAL("{\"p\": {\"$near\": [1, 2]}}"), &filter));
    CHECK_CODE(filter_parse(arena, filter, NULL, &match, &fault), INVALID);
    CHECK_EQ(fault.code, 5626500, "the number that clients know");
    arena_close(arena);
}

TEST(mongo_filter, a_partial_index_holds_what_its_filter_matches)
{
    struct arena *arena = arena_open(BUDGET);
    struct cases cases = { .arena = arena };
    bytes filter = cases_document(&cases, bytes_of_text("{\"a\":{\"$gt\":3}}"));

    CHECK(filter_predicate(NULL, filter, cases_document(&cases, bytes_of_text("{\"a\":4}"))));
    CHECK(!filter_predicate(NULL, filter, cases_document(&cases, bytes_of_text("{\"a\":3}"))));
    CHECK(!filter_predicate(NULL, filter, cases_document(&cases, bytes_of_text("{\"b\":4}"))));
    arena_close(arena);
}
