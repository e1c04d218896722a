/* Projections: what the tables in tests/corpus/projections say is given of documents.
 *
 *   doc {...}        the document of the cases below
 *   where {...}      the filter of the find, for the positional operator
 *   {...} => {...}   a projection and what it gives, or "error N" */
#include "front/mongo/projection.h"

#include "front/mongo/filter.h"
#include "tests/support/cases.h"

enum { BUDGET = 64 * 1024 * 1024 };

struct table {
    struct cases cases;
    bytes document, where;
    int projections;
};

static const char *error_of(struct table *t, status s, const struct fault *fault)
{
    return arena_format(t->cases.arena, "error %d", fault->code ? fault->code : -(int)s.code);
}

static const char *answer_of(struct table *t, bytes wanted)
{
    struct arena *arena = t->cases.arena;
    struct matching matching = { .scratch = arena };
    struct projection_run run = { .arena = arena };
    const struct projection *projection;
    const struct match *match;
    struct fault fault = { 0 };
    bytes given = t->document;
    bool is_match;

    CHECK_OK(filter_parse(arena, t->where, NULL, &match, &fault));
    CHECK_OK(match_document(match, &matching, t->document, &is_match));
    CHECK_THAT(is_match, "%s:%d: the filter does not match", t->cases.path, t->cases.line);
    status s = projection_parse(arena, wanted, PROJECTION_OF_FIND, NULL, &projection, &fault);
    if (s.code != OK)
        return error_of(t, s, &fault);
    run.has_position = matching.has_position;
    run.position = matching.position;
    if (projection)
        s = projection_apply(projection, &run, t->document, &given);
    if (s.code != OK) {
        s = projection_fault(arena, &run, s, &fault);
        return error_of(t, s, &fault);
    }
    CHECK_OK(document_check(arena, given));
    return cases_text(arena, given);
}

static void run_case(struct table *t, bytes line)
{
    bytes wanted, want;

    CHECK_THAT(cases_split(line, &wanted, &want), "%s:%d: no =>", t->cases.path, t->cases.line);
    const char *expected = arena_format(t->cases.arena, "%.*s", (int)want.len,
                                        (const char *)want.data);
    if (want.len && want.data[0] == '{')
        expected = cases_text(t->cases.arena, cases_document(&t->cases, want));
    const char *got = answer_of(t, cases_document(&t->cases, wanted));
    CHECK_THAT(strcmp(got, expected) == 0, "%s:%d: %.*s\n  gives %s\n  want  %s", t->cases.path,
               t->cases.line, (int)wanted.len, (const char *)wanted.data, got, expected);
    t->projections++;
}

TEST(mongo_projection, a_find_gives_the_parts_that_it_names)
{
    struct arena *arena = arena_open(BUDGET);
    struct table table = { 0 };
    bytes line;

    CHECK(arena != NULL);
    cases_open(&table.cases, arena, "tests/corpus/projections/find.txt");
    while (cases_next(&table.cases, &line)) {
        if (cases_take(&line, "doc")) {
            table.document = cases_document(&table.cases, line);
            table.where = cases_document(&table.cases, bytes_of_text("{}"));
        } else if (cases_take(&line, "where")) {
            table.where = cases_document(&table.cases, line);
        } else {
            run_case(&table, line);
        }
    }
    CHECK(table.projections > 0);
    arena_close(arena);
}

TEST(mongo_projection, a_sort_is_an_order_of_fields)
{
    static const struct {
        const char *sort;
        int code;
    } rows[] = {
        {"{}",                        0    },
        { "{\"a\":1,\"b.c\":-1}",     0    },
        { "{\"a\":1.0}",              0    },
        { "{\"$natural\":-1}",        0    },
        { "{\"a\":2}",                15975},
        { "{\"a\":0}",                15975},
        { "{\"a\":\"x\"}",            15974},
        { "{\"a..b\":1}",             40353},
        { "{\"$a\":1}",               16410},
        { "{\"$natural\":1,\"a\":1}", 2    },
    };
    struct arena *arena = arena_open(BUDGET);
    struct cases cases = { .arena = arena };

    EACH_ROW(rows, r) {
        struct sort_wish wish;
        struct fault fault = { 0 };
        status s = sort_parse(arena, cases_document(&cases, bytes_of_text(r->sort)), NULL, &wish,
                              &fault);
        CHECK_EQ(fault.code, r->code, "%s", r->sort);
        CHECK_EQ(s.code == OK, r->code == 0, "%s", r->sort);
    }
    arena_close(arena);
}
