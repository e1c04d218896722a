/* Composite: indexes over several fields give several keys in order, and find what a condition fixes. */
#include "tests/support/ask.h"

#include <stdlib.h>

static const char *way_of(struct world *w, const char *sql, const struct asking *how)
{
    struct query_explain e;
    const char *answer = ask(w, "c", sql, how, &e);

    CHECK_THAT(answer[0] == '[', "%s: %s", sql, answer);
    return arena_format(w->arena, "%s%.*s rows=%d given=%d", e.is_sorted ? "sorted " : "",
                        (int)e.path.len, (const char *)e.path.data, (int)e.rows,
                        (int)e.output_count);
}

/* 300 documents: a has 3 values, b counts within it, s is the other way round. */
static void fill(struct world *w, const char *indexes)
{
    world_open(w, ON_MEMORY);
    world_collection(w, "c", TTL_NEVER, indexes);
    for (int i = 0; i < 300; i++)
        CHECK_WRITTEN(
            world_insert(w, "c", "{'_id':%d,'a':%d,'b':%d,'o':{'s':%d}}", i, i % 3, i / 3, 300 - i),
            OK);
}

TEST(query_composite, several_keys_come_from_a_composite_index)
{
    static const struct {
        const char *sql, *want, *way;
    } rows[] = {
        {"SELECT TOP 3 VALUE c._id FROM c ORDER BY c.a, c.b",                              "[0,3,6]",
         "/a ASC, /b ASC rows=3 given=3"                                                                                                           },
        { "SELECT TOP 3 VALUE c._id FROM c ORDER BY c.a DESC, c.b DESC",                   "[299,296,293]",
         "/a ASC, /b ASC rows=3 given=3"                                                                                                           },
        { "SELECT TOP 3 VALUE c._id FROM c ORDER BY c.a, c.b DESC",                        "[297,294,291]",
         "/a ASC, /b DESC rows=3 given=3"                                                                                                          },
        { "SELECT TOP 3 VALUE c._id FROM c ORDER BY c.a DESC, c.b",                        "[2,5,8]",
         "/a ASC, /b DESC rows=3 given=3"                                                                                                          },
        { "SELECT TOP 2 VALUE c._id FROM c WHERE c.a = 1 ORDER BY c.a, c.o.s",             "[298,295]",
         "/a ASC, /o/s ASC rows=2 given=2"                                                                                                         },
        { "SELECT TOP 2 VALUE c._id FROM c WHERE c.a = 1 ORDER BY c.o.s DESC",             "[1,4]",
         "/a ASC, /o/s ASC rows=2 given=2"                                                                                                         },
        { "SELECT TOP 2 VALUE c._id FROM c WHERE c.a = 1 AND c.b > 2 ORDER BY c.o.s DESC",
         "[10,13]",                                                                                         "sorted /a ASC, /b ASC rows=97 given=2"},
        { "SELECT VALUE c._id FROM c WHERE c.a = 1 AND c.b = 40",                          "[121]",
         "/a ASC, /b ASC rows=1 given=1"                                                                                                           },
        { "SELECT VALUE COUNT(1) FROM c WHERE c.b = 40 AND c.a = 1",                       "[1]",
         "/a ASC, /b ASC rows=1 given=1"                                                                                                           },
    };
    struct world w;

    fill(&w, "one: ranked a b; two: ranked a -b; three: ranked a o.s");
    EACH_ROW(rows, r) {
        CHECK_STRING(ask(&w, "c", r->sql, NULL, NULL), r->want);
        CHECK_STRING(way_of(&w, r->sql, NULL), r->way);
    }
    /* No index has these. */
    CHECK_STRING(way_of(&w, "SELECT TOP 1 * FROM c ORDER BY c.b, c.a", NULL),
                 "sorted  rows=300 given=1");
    CHECK_STRING(way_of(&w, "SELECT TOP 1 * FROM c ORDER BY c.a, c.b, c.o.s", NULL),
                 "sorted  rows=300 given=1");
    world_close(&w);
}

TEST(query_composite, a_range_behind_fixed_fields_is_all_that_is_looked_at)
{
    static const struct {
        const char *sql, *way;
    } rows[] = {
        {"SELECT * FROM c WHERE c.a = 1 AND c.b >= 97 ORDER BY c.b",
         "/a ASC, /b DESC rows=3 given=3" },
        { "SELECT * FROM c WHERE c.a = 1 AND c.b >= 97 ORDER BY c.b DESC",
         "/a ASC, /b DESC rows=3 given=3" },
        { "SELECT * FROM c WHERE c.a = 1 AND c.b BETWEEN 3 AND 7",
         "/a ASC, /b DESC rows=5 given=5" },
        { "SELECT * FROM c WHERE c.a = 2 AND c.b IN (3, 50, 1000)",
         "/a ASC, /b DESC rows=2 given=2" },
        { "SELECT VALUE COUNT(1) FROM c WHERE c.a = 2 AND c.b < 10",
         "/a ASC, /b DESC rows=10 given=1"},
    };
    struct world w;

    fill(&w, "one: ranked a -b; all: paths shaped +/a/?");
    EACH_ROW(rows, r)
        CHECK_STRING(way_of(&w, r->sql, NULL), r->way);
    world_close(&w);
}

/* ---- any documents ----------------------------------------------------------------------------------- */

static const char *random_field(struct world *w, struct random *random, const char *name)
{
    static const char *const values[] = {
        "null", "true", "false", "1",  "2.5",     "-7", "'x'",
        "'xy'", "''",   "[1]",   "[]", "{'k':1}", "{}",
    };
    size_t number = random_below(random, ARRAY_COUNT(values) + 3);

    if (number >= ARRAY_COUNT(values))
        return "";
    return arena_format(w->arena, ",'%s':%s", name, values[number]);
}

TEST(query_composite, a_composite_index_orders_as_sorting_does)
{
    static const char *const questions[] = {
        "SELECT c.a, c.b FROM c ORDER BY c.a, c.b",
        "SELECT c.a, c.b FROM c ORDER BY c.a DESC, c.b DESC",
        "SELECT c.a, c.b FROM c ORDER BY c.a, c.b DESC",
        "SELECT c.a, c.b FROM c ORDER BY c.a DESC, c.b",
        "SELECT c.a, c.b FROM c WHERE c.a = 'x' ORDER BY c.b",
        "SELECT c.a, c.b FROM c WHERE c.a != 1 ORDER BY c.a, c.b",
        "SELECT c.a, c.b FROM c WHERE c.a = true AND c.b = null",
        "SELECT c.a, c.b FROM c WHERE c.a = 'x' AND c.b > -10 ORDER BY c.b",
        "SELECT c.a, c.b FROM c WHERE c.a = 'x' AND c.b <= 2.5 ORDER BY c.b DESC",
        "SELECT c.a, c.b FROM c WHERE c.a = 1 AND c.b >= 'x' ORDER BY c.a, c.b",
        "SELECT c.a, c.b FROM c WHERE c.a = 1 AND STARTSWITH(c.b, 'x') ORDER BY c.b DESC",
        "SELECT c.a, c.b FROM c WHERE c.a = 1 AND c.b IN (2.5, 'x', null, true, -7) ORDER BY c.b",
        "SELECT c.a, c.b FROM c WHERE c.a IN (1, 'x', null) ORDER BY c.a, c.b DESC",
        "SELECT c.a, c.b FROM c WHERE c.a > 'w' ORDER BY c.a DESC, c.b",
        "SELECT c.a, c.b FROM c WHERE c.a = true AND c.b < true ORDER BY c.b",
    };
    struct asking paged = { .items = 7 };

    EACH_SEED(seed, 3) {
        struct random random = random_seeded(seed);
        struct world w;
        world_open(&w, ON_MEMORY);
        world_collection(&w, "indexed", TTL_OFF, "one: ranked a b; two: ranked a -b");
        world_collection(&w, "plain", TTL_OFF, "");
        for (int i = 0; i < 200; i++) {
            const char *a = random_field(&w, &random, "a"), *b = random_field(&w, &random, "b");
            CHECK_WRITTEN(world_insert(&w, "indexed", "{'_id':%d%s%s}", i, a, b), OK);
            CHECK_WRITTEN(world_insert(&w, "plain", "{'_id':%d%s%s}", i, a, b), OK);
        }
        for (size_t i = 0; i < ARRAY_COUNT(questions); i++) {
            const char *want = ask(&w, "plain", questions[i], NULL, NULL);
            CHECK_STRING(ask(&w, "indexed", questions[i], NULL, NULL), want);
            CHECK_STRING(ask(&w, "indexed", questions[i], &paged, NULL), want);
        }
        world_close(&w);
    }
}

/* ---- paging ------------------------------------------------------------------------------------------ */

static void happen(struct world *w, struct random *random, bool *is_touched)
{
    int id = (int)random_below(random, 300);

    is_touched[id] = true;
    switch (random_below(random, 3)) {
    case 0:
        CHECK_WRITTEN(world_upsert(w, "c", "{'_id':%d,'a':[2],'b':%d}", id, id), OK);
        break;
    case 1:
        CHECK_WRITTEN(world_upsert(w, "c", "{'_id':%d,'ttl':1}", id), OK);
        world_pass(w, 1000);
        break;
    default:
        (void)world_delete(w, "c", "{'_id':%d}", id);
        world_purge(w);
    }
}

static void check_pages(uint64_t seed, const char *sql)
{
    bool is_touched[300] = { 0 };
    unsigned seen[300] = { 0 };
    struct random random = random_seeded(seed);
    struct world w;
    bytes state = BYTES_NONE;
    int pages = 0;

    fill(&w, "one: ranked a b");
    do {
        struct asking how = { .items = 1 + random_below(&random, 20) };
        struct request request = world_begin(&w);
        struct buffer rows = buffer_in(w.arena);
        struct query_page page;
        CHECK_OK(ask_page(&w, &request, "c", sql, &how, &state, &rows, &page));
        world_end(&request);
        CHECK(page.explain.access == ACCESS_INDEX && !page.explain.is_sorted);
        CHECK_THAT(state.len < 1024, "a state of %zu bytes", state.len);
        buffer_append_byte(&rows, 0);
        for (char *at = (char *)rows.data; *at; at += *at == ',')
            seen[strtol(at, &at, 10)]++;
        happen(&w, &random, is_touched);
    } while (state.len && ++pages < 400);
    for (int id = 0; id < 300; id++)
        CHECK_THAT(is_touched[id] || seen[id] == 1, "document %d came %u times", id, seen[id]);
    world_close(&w);
}

TEST(query_composite, pages_of_several_keys_neither_repeat_nor_skip)
{
    EACH_SEED(seed, 4) {
        check_pages(seed, "SELECT VALUE c._id FROM c ORDER BY c.a, c.b");
        check_pages(seed, "SELECT VALUE c._id FROM c ORDER BY c.a DESC, c.b DESC");
        check_pages(seed, "SELECT VALUE c._id FROM c WHERE c.a IN (0, 1, 2) ORDER BY c.a, c.b");
        check_pages(seed, "SELECT VALUE c._id FROM c WHERE c.a >= 0 ORDER BY c.a DESC, c.b DESC");
    }
}

TEST(query_composite, a_dropped_composite_index_ends_the_pages)
{
    const struct asking how = { .items = 5 };
    struct request request;
    struct query_page page;
    struct buffer rows;
    struct world w;
    bytes state = BYTES_NONE;

    fill(&w, "one: ranked a b");
    rows = buffer_in(w.arena);
    request = world_begin(&w);
    CHECK_OK(ask_page(&w, &request, "c", "SELECT * FROM c ORDER BY c.a, c.b", &how, &state, &rows,
                      &page));
    world_end(&request);
    CHECK_OK(world_index_drop(&w, "c", "one"));
    request = world_begin(&w);
    CHECK_EQ(
        ask_page(&w, &request, "c", "SELECT * FROM c ORDER BY c.a, c.b", &how, &state, &rows, &page)
            .code,
        INVALID, "");
    CHECK(page.is_state_refused);
    world_end(&request);
    world_close(&w);
}
