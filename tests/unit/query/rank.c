/* Ranks over pages: scores keep what they were counted by, and dead documents are neither counted nor given. */
#include "query/rank.h"
#include "tests/support/ask.h"

#include <math.h>
#include <stdlib.h>

enum { DOCUMENTS = 60, PAGES_MAX = 200 };

/* Those with an odd number die after 10 seconds. */
static void fill(struct world *w, struct random *random)
{
    static const char *const words[] = { "red", "bike", "helmet", "blue", "mountain", "city" };

    for (int id = 0; id < DOCUMENTS; id++) {
        struct buffer text = buffer_in(w->arena);
        buffer_append_format(&text, "{'_id':%d,'t':'", id);
        for (uint64_t i = 1 + random_below(random, 12); i; i--)
            buffer_append_format(&text, " %s", words[random_below(random, ARRAY_COUNT(words))]);
        buffer_append_text(&text, id % 2 ? "','ttl':10}" : "'}");
        buffer_append_byte(&text, 0);
        CHECK_WRITTEN(world_insert(w, "c", "%s", (const char *)text.data), OK);
    }
}

static void note(unsigned *seen, const char *rows)
{
    while (*rows) {
        char *end;
        long id = strtol(rows, &end, 10);
        CHECK_THAT(end != rows && id >= 0 && id < DOCUMENTS, "rows %s", rows);
        seen[id]++;
        rows = *end == ',' ? end + 1 : end;
    }
}

/* Half of the documents die after the first pages. */
static void check_pages(struct world *w, const char *sql)
{
    unsigned seen[DOCUMENTS] = { 0 };
    bytes state = BYTES_NONE;

    for (int pages = 0; pages == 0 || state.len; pages++) {
        struct asking how = { .items = 4 };
        struct request request = world_begin(w);
        struct buffer rows = buffer_in(w->arena);
        struct query_page page;
        CHECK_THAT(pages < PAGES_MAX, "%s does not end", sql);
        CHECK_OK(ask_page(w, &request, "c", sql, &how, &state, &rows, &page));
        world_end(&request);
        buffer_append_byte(&rows, 0);
        note(seen, (const char *)rows.data);
        if (pages == 2)
            world_pass(w, 20000);
    }
    for (int id = 0; id < DOCUMENTS; id++)
        CHECK_THAT(id % 2 ? seen[id] <= 1 : seen[id] == 1, "%s: %d came %u times", sql, id,
                   seen[id]);
}

TEST(query_rank, living_documents_come_exactly_once_though_others_die_between_pages)
{
    static const char *const queries[] = {
        "SELECT VALUE c._id FROM c ORDER BY RANK FullTextScore(c.t, 'red')",
        "SELECT VALUE c._id FROM c ORDER BY RANK FullTextScore(c.t, 'red', 'mountain bike')",
    };
    struct random random = random_seeded(check_seed());

    EACH_ROW(queries, sql) {
        struct world w;
        world_open(&w, ON_MEMORY);
        world_collection(&w, "c", TTL_NEVER, "");
        fill(&w, &random);
        check_pages(&w, *sql);
        world_close(&w);
    }
}

TEST(query_rank, dead_documents_do_not_count)
{
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_NEVER, "");
    /* Among all five, red is the frequent word; among the living, blue is. */
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'t':'red'}"), OK);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'t':'blue'}"), OK);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3,'t':'blue'}"), OK);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':4,'t':'red','ttl':5}"), OK);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':5,'t':'red','ttl':5}"), OK);
    const char *sql =
        "SELECT TOP 1 VALUE c.t FROM c ORDER BY RANK FullTextScore(c.t, 'red', 'blue')";
    const struct asking how = { 0 };
    CHECK_STRING(ask(&w, "c", sql, &how, NULL), "[\"blue\"]");
    world_pass(&w, 5000);
    CHECK_STRING(ask(&w, "c", sql, &how, NULL), "[\"red\"]");
    world_close(&w);
}

TEST(query_rank, fused_rows_come_on_one_page_or_not_at_all)
{
    struct world w;
    struct query_explain explain;
    const struct asking how = { .items = 2 };

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_NEVER, "");
    for (int id = 0; id <= LIMIT_QUERY_FUSED_ROWS; id++)
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'t':'%s'}", id, id % 3 ? "red" : "blue"),
                      OK);
    const char *order = "ORDER BY RANK RRF(FullTextScore(c.t, 'red'), FullTextScore(c.t, 'blue'))";
    const char *few = arena_format(w.arena, "SELECT TOP 5 VALUE c._id FROM c %s", order);
    const char *all = arena_format(w.arena, "SELECT VALUE c._id FROM c %s", order);
    ask(&w, "c", few, &how, &explain);
    CHECK_EQ(explain.output_count, 5, "rows");
    CHECK(strncmp(ask(&w, "c", all, &how, NULL), "TOO_LARGE: the rows of ORDER BY RANK RRF", 40) ==
          0);
    world_close(&w);
}

TEST(query_rank, counts_that_nobody_has_counted_are_refused)
{
    static const struct {
        const char *why, *counts;
        status_code want;
    } rows[] = {
        {"documents, words, texts with it", "{'0':3,'1':10.0,'2':1}",    OK     },
        { "too few",                        "{'0':3,'1':10}",            INVALID},
        { "too many",                       "{'0':3,'1':1,'2':1,'3':1}", INVALID},
        { "less than none",                 "{'0':3,'1':10,'2':-1}",     INVALID},
        { "no numbers",                     "{'0':3,'1':10,'2':'x'}",    INVALID},
    };
    struct arena *arena = arena_open(1 << 20);
    const struct query *query =
        ask_query(arena, "SELECT * FROM c ORDER BY RANK FullTextScore(c.t, 'red')", NULL);
    struct rank *rank;

    CHECK_OK(rank_open(arena, query->rank, &rank));
    EACH_ROW(rows, r)
        CHECK_EQ(rank_read(rank, world_document(arena, r->counts)).code, r->want, "%s", r->why);
    CHECK_EQ(rank_read(rank, BYTES_NONE).code, INVALID, "nothing at all");
    arena_close(arena);
}
