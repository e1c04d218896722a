/* Slots: filters that no index helps look at the documents as they lie, and still give them by key. */
#include "tests/support/ask.h"

#include <stdlib.h>

enum { DOCUMENTS = 1300, CLASSES = 100 };

static void fill(struct world *w, enum backing backing)
{
    world_prepare(w, backing);
    /* Several threads look, and it must not show. */
    w->helpers = 3;
    w->sift_alone = 20;
    CHECK_OK(world_start(w));
    CHECK_OK(database_create(w->engine, w->arena, BYTES_LITERAL("db"), BYTES_NONE));
    world_collection(w, "c", TTL_NEVER, "some: paths +/n/?");
    /* Against the order of their keys. */
    for (int i = DOCUMENTS - 1; i >= 0; i--)
        CHECK_WRITTEN(world_insert(w, "c", "{'_id':%d,'n':%d,'x':%d}", i, i, i % CLASSES), OK);
}

static const char *way_of(struct world *w, const char *sql, const struct asking *how)
{
    struct query_explain e;
    const char *answer = ask(w, "c", sql, how, &e);

    CHECK_THAT(answer[0] == '[', "%s: %s", sql, answer);
    return arena_format(w->arena, "%s rows=%d documents=%d given=%d",
                        e.access == ACCESS_SLOTS  ? "slots"
                        : e.access == ACCESS_KEYS ? "keys"
                                                  : "other",
                        (int)e.rows, (int)e.documents, (int)e.output_count);
}

TEST(query_slots, a_filter_reads_documents_as_they_lie)
{
    struct world w;

    fill(&w, ON_MEMORY);
    CHECK_STRING(way_of(&w, "SELECT * FROM c WHERE c.x = 7", NULL),
                 "slots rows=1300 documents=1313 given=13");
    CHECK_STRING(ask(&w, "c", "SELECT VALUE c._id FROM c WHERE c.x = 7", NULL, NULL),
                 "[7,107,207,307,407,507,607,707,807,907,1007,1107,1207]");
    CHECK_STRING(way_of(&w, "SELECT * FROM c WHERE c.x = 700", NULL),
                 "slots rows=1300 documents=1300 given=0");
    CHECK_STRING(ask(&w, "c", "SELECT TOP 2 VALUE c._id FROM c WHERE c.x = 7", NULL, NULL),
                 "[7,107]");
    CHECK_STRING(
        ask(&w, "c", "SELECT VALUE c._id FROM c WHERE c.x = 7 OFFSET 3 LIMIT 2", NULL, NULL),
        "[307,407]");
    /* Some rows have no output. */
    CHECK_STRING(
        ask(&w, "c", "SELECT VALUE c.n > 1000 ? c.n : undefined FROM c WHERE c.x = 7", NULL, NULL),
        "[1007,1107,1207]");
    world_close(&w);
}

TEST(query_slots, a_filter_with_many_rows_goes_by_key)
{
    const struct asking small = { .items = 10 }, little_work = { .rows = 100 };
    struct request request;
    struct query_page page;
    struct buffer rows;
    struct world w;
    bytes state = BYTES_NONE;

    fill(&w, ON_MEMORY);
    rows = buffer_in(w.arena);
    request = world_begin(&w);
    CHECK_OK(ask_page(&w, &request, "c", "SELECT VALUE c._id FROM c WHERE c.x != 1000", &small,
                      &state, &rows, &page));
    world_end(&request);
    CHECK_EQ(page.explain.access, ACCESS_KEYS, "");
    CHECK_EQ(page.explain.output_count, 10, "");
    CHECK_THAT(page.explain.rows < 100, "%d rows", (int)page.explain.rows);
    CHECK(state.len > 0);
    CHECK_STRING(way_of(&w, "SELECT VALUE c._id FROM c WHERE c.x < 50", &small),
                 way_of(&w, "SELECT VALUE c._id FROM c WHERE c.x <= 49", &small));
    /* A page that may not do so much work keeps to the way that can be gone on with. */
    CHECK_STRING(way_of(&w, "SELECT VALUE c._id FROM c WHERE c.x = 7", &little_work),
                 "keys rows=1300 documents=1300 given=13");
    world_close(&w);
}

TEST(query_slots, pages_of_a_filter_go_on_behind_the_last_key)
{
    static const char sql[] = "SELECT VALUE c._id FROM c WHERE c.x = 7";
    struct world w;

    fill(&w, ON_MEMORY);
    const char *want = ask(&w, "c", sql, NULL, NULL);
    for (size_t items = 1; items < 16; items++) {
        struct asking how = { .items = items };
        CHECK_STRING(ask(&w, "c", sql, &how, NULL), want);
    }
    world_close(&w);
}

/* What happens between two pages: matching documents are written again, so that they move; some die, some go,
 * some come. */
static void happen(struct world *w, struct random *random, bool *is_touched)
{
    int id = (int)random_below(random, DOCUMENTS / CLASSES) * CLASSES + 7;

    is_touched[id] = true;
    switch (random_below(random, 4)) {
    case 0:
        CHECK_WRITTEN(world_upsert(w, "c", "{'_id':%d,'n':0,'x':7}", id), OK);
        break;
    case 1:
        CHECK_WRITTEN(world_upsert(w, "c", "{'_id':%d,'n':0,'x':8}", id), OK);
        break;
    case 2:
        CHECK_WRITTEN(world_upsert(w, "c", "{'_id':%d,'n':0,'x':7,'ttl':1}", id), OK);
        world_pass(w, 1000);
        break;
    default:
        (void)world_upsert(w, "c", "{'_id':%d,'n':0,'x':7}", id + 1);
        is_touched[id + 1] = true;
        world_purge(w);
    }
}

static void check_pages(enum backing backing, uint64_t seed)
{
    bool is_touched[DOCUMENTS + 2] = { 0 };
    unsigned seen[DOCUMENTS + 2] = { 0 };
    struct random random = random_seeded(seed);
    struct world w;
    bytes state = BYTES_NONE;
    int pages = 0;

    fill(&w, backing);
    do {
        struct asking how = { .items = 1 + random_below(&random, 3) };
        struct request request = world_begin(&w);
        struct buffer rows = buffer_in(w.arena);
        struct query_page page;
        CHECK_OK(ask_page(&w, &request, "c", "SELECT VALUE c._id FROM c WHERE c.x = 7", &how,
                          &state, &rows, &page));
        world_end(&request);
        buffer_append_byte(&rows, 0);
        for (char *at = (char *)rows.data; *at; at += *at == ',')
            seen[strtol(at, &at, 10)]++;
        happen(&w, &random, is_touched);
    } while (state.len && ++pages < 100);
    for (int id = 0; id < DOCUMENTS; id++) {
        CHECK_THAT(seen[id] <= 1, "document %d came %u times", id, seen[id]);
        if (!is_touched[id])
            CHECK_THAT(seen[id] == (id % CLASSES == 7), "document %d came %u times", id, seen[id]);
    }
    world_close(&w);
}

TEST(query_slots, documents_that_move_between_pages_come_once_at_most)
{
    LONG_ON_ONE_THREAD();
    EACH_SEED(seed, 8)
        check_pages(ON_MEMORY, seed);
    check_pages(ON_ROCKSDB, 99);
}

/* The same question put so that no comparison can be looked at first. */
TEST(query_slots, a_comparison_that_is_looked_at_first_changes_nothing)
{
    static const struct {
        const char *where, *plainly;
    } rows[] = {
        {"c.x = 7",                                "NOT (c.x != 7)"                            },
        { "7.0 = c.x AND c.n > 300",               "NOT (c.x != 7) AND c.n > 300"              },
        { "c.n > 300 AND (c.x = 7 AND c.n < 900)", "NOT (c.x != 7) AND c.n > 300 AND c.n < 900"},
        { "c.x = 7 OR c.x = 9",                    "NOT (c.x != 7) OR NOT (c.x != 9)"          },
        { "c.x = '7'",                             "NOT (c.x != '7')"                          },
        { "c.x = null",                            "NOT (c.x != null)"                         },
        { "c.missing = 7",                         "NOT (c.missing != 7)"                      },
        { "c.x = undefined",                       "NOT (c.x != undefined)"                    },
        { "c.x = 7 AND c.x = 8",                   "NOT (c.x != 7) AND NOT (c.x != 8)"         },
        { "c.inner.x = 7",                         "NOT (c.inner.x != 7)"                      },
    };
    struct world w;

    fill(&w, ON_MEMORY);
    EACH_ROW(rows, r) {
        const char *sql = arena_format(w.arena, "SELECT VALUE c._id FROM c WHERE %s", r->where);
        const char *plain = arena_format(w.arena, "SELECT VALUE c._id FROM c WHERE %s", r->plainly);
        CHECK_STRING(ask(&w, "c", sql, NULL, NULL), ask(&w, "c", plain, NULL, NULL));
    }
    world_close(&w);
}

TEST(query_slots, filters_leave_the_dead_out)
{
    struct world w;

    fill(&w, ON_MEMORY);
    for (int i = 7; i < 700; i += CLASSES)
        CHECK_WRITTEN(world_upsert(&w, "c", "{'_id':%d,'x':7,'ttl':3}", i), OK);
    world_pass(&w, 3000);
    CHECK_STRING(ask(&w, "c", "SELECT VALUE c._id FROM c WHERE c.x = 7", NULL, NULL),
                 "[707,807,907,1007,1107,1207]");
    world_close(&w);
}

TEST(query_slots, a_failing_storage_fails_the_filter_cleanly)
{
    const struct asking how = { .items = 5 };
    status_code code = IO_ERROR;
    struct world w;

    fill(&w, ON_MEMORY);
    for (uint64_t nth = 1; code != OK; nth += 1 + nth / 16) {
        struct request request = world_begin(&w);
        struct buffer rows = buffer_in(w.arena);
        struct query_page page;
        bytes state = BYTES_NONE;
        CHECK_THAT(nth < 10000, "it never succeeds");
        storage_faulty_arm(w.storage, nth);
        code = ask_page(&w, &request, "c", "SELECT VALUE c._id FROM c WHERE c.x = 7", &how, &state,
                        &rows, &page)
                   .code;
        storage_faulty_arm(w.storage, 0);
        CHECK_THAT(code == OK || code == IO_ERROR, "%s", status_code_name(code));
        world_end(&request);
    }
    world_close(&w);
}
