/* Updates: what the tables in tests/corpus/updates say they make of documents.
 *
 *   doc {...}       the document of the cases below, and forgets the rest
 *   where {...}     the filter of the command; has to match
 *   filters [...]   arrayFilters of the next case
 *   {...} => {...}  an update and the document it makes; "same" if it changes nothing; "error N"
 *   insert {...} => {...}   the document that an upsert makes of the filter and the update */
#include "front/mongo/update.h"

#include <stdio.h>

#include "front/mongo/filter.h"
#include "tests/support/cases.h"

enum { BUDGET = 64 * 1024 * 1024, NOW_MS = 86400123 };

struct table {
    struct cases cases;
    bytes document, where, filters;
};

static const char *error_of(struct table *t, status s, const struct fault *fault)
{
    return arena_format(t->cases.arena, "error %d", fault->code ? fault->code : -(int)s.code);
}

static status match_position(struct table *t, struct update_run *run, const struct match **match,
                             struct fault *fault)
{
    struct matching matching = { .scratch = t->cases.arena };
    bool is_match;

    TRY(filter_parse(t->cases.arena, t->where, NULL, match, fault));
    TRY(match_document(*match, &matching, t->document, &is_match));
    run->has_position = is_match && matching.has_position;
    run->position = matching.position;
    return STATUS_OK;
}

static const char *answer_of(struct table *t, struct value wanted, bool is_insert)
{
    struct arena *arena = t->cases.arena;
    struct update_run run = { .arena = arena, .now = NOW_MS };
    struct value fresh_id = cases_value(&t->cases, bytes_of_text("\"fresh\""));
    struct update_result result = { 0 };
    const struct update *update;
    const struct match *match;
    struct fault fault = { 0 };

    status s = update_parse(arena, wanted, t->filters, NULL, &update, &fault);
    if (s.code == OK)
        s = match_position(t, &run, &match, &fault);
    if (s.code != OK)
        return error_of(t, s, &fault);
    if (is_insert) {
        s = update_insert(update, &run, match, fresh_id, &result.document);
        result.is_changed = true;
    } else {
        s = update_apply(update, &run, t->document, &result);
    }
    if (s.code != OK) {
        s = update_fault(arena, &run, s, &fault);
        return error_of(t, s, &fault);
    }
    CHECK_OK(document_check(arena, result.document));
    if (!result.is_changed)
        CHECK_BYTES(result.document, t->document, "what did not change is as it was");
    return result.is_changed ? cases_text(arena, result.document) : "same";
}

static void run_case(struct table *t, bytes line, bool is_insert)
{
    bytes update, want;

    CHECK_THAT(cases_split(line, &update, &want), "%s:%d: no =>", t->cases.path, t->cases.line);
    const char *expected = arena_format(t->cases.arena, "%.*s", (int)want.len,
                                        (const char *)want.data);
    if (want.len && want.data[0] == '{')
        expected = cases_text(t->cases.arena, cases_document(&t->cases, want));
    const char *got = answer_of(t, cases_value(&t->cases, update), is_insert);
    CHECK_THAT(strcmp(got, expected) == 0, "%s:%d: %.*s\n  gives %s\n  want  %s", t->cases.path,
               t->cases.line, (int)update.len, (const char *)update.data, got, expected);
    t->filters = BYTES_NONE;
    t->cases.tried++;
}

static void run_line(void *context, bytes line)
{
    struct table *t = context;
    if (cases_take(&line, "doc")) {
        t->document = cases_document(&t->cases, line);
        t->where = cases_document(&t->cases, bytes_of_text("{}"));
        t->filters = BYTES_NONE;
    } else if (cases_take(&line, "where")) {
        t->where = cases_document(&t->cases, line);
    } else if (cases_take(&line, "filters")) {
        t->filters = value_document(cases_value(&t->cases, line));
    } else if (cases_take(&line, "insert")) {
        run_case(t, line, true);
    } else {
        run_case(t, line, false);
    }
}

static void run_table(const char *name)
{
    struct table table = { 0 };

    cases_each(&table.cases, "updates", name, run_line, &table);
}

TEST(mongo_update, fields_are_set_and_removed)
{
    run_table("fields");
}

TEST(mongo_update, numbers_are_computed_in_their_type)
{
    run_table("numbers");
}

TEST(mongo_update, arrays_gain_and_lose_elements)
{
    run_table("arrays");
}

TEST(mongo_update, positional_parts_find_their_elements)
{
    run_table("positions");
}

TEST(mongo_update, replacements_keep_the_id)
{
    run_table("replacements");
}

TEST(mongo_update, upserts_begin_with_the_equalities_of_the_filter)
{
    run_table("inserts");
}

TEST(mongo_update, pipelines_make_a_document_of_the_old_one)
{
    run_table("pipelines");
}

TEST(mongo_update, bad_updates_are_refused_with_their_code)
{
    run_table("errors");
}
