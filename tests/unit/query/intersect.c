/* Intersect: conditions on several paths are decided by several indexes, without loading what only one of them finds. */
#include "tests/support/ask.h"

enum { DOCUMENTS = 1500 };

static void fill(struct world *w, enum backing backing)
{
    world_open(w, backing);
    world_collection_parted(w, "indexed", TTL_NEVER, "all: paths shaped +/* -/plain/?", "pk");
    world_collection_parted(w, "plain", TTL_NEVER, "", "pk");
    for (int i = 0; i < DOCUMENTS; i++) {
        for (int side = 0; side < 2; side++)
            CHECK_WRITTEN(world_insert(w, side ? "plain" : "indexed",
                                       "{'_id':%d,'pk':'p%d','a':%d,'b':%d,'c':'%s','far':%d,"
                                       "'tags':['t%d','u'],'plain':%d%s}",
                                       i, i % 4, i % 3, i % 5, i % 2 ? "x" : "y", i / 500, i % 7,
                                       i % 2, i % 11 ? "" : ",'ttl':5"),
                          OK);
    }
    world_pass(w, 5000);
}

TEST(query_intersect, several_indexes_decide_together)
{
    LONG_ON_ONE_THREAD();
    static const struct {
        const char *sql;
        bool is_decided; /* no document but the given ones is loaded */
    } rows[] = {
        {"SELECT VALUE c._id FROM c WHERE c.a = 1 AND c.b = 2",                       true },
        { "SELECT VALUE c._id FROM c WHERE c.a = 1 AND c.b = 2 AND c.c = 'x'",        true },
        { "SELECT VALUE c._id FROM c WHERE c.a = 1 AND c.far = 2",                    true },
        { "SELECT VALUE c._id FROM c WHERE c.far = 0 AND c.c = 'y' AND c.a = 0",      true },
        { "SELECT VALUE c._id FROM c WHERE ARRAY_CONTAINS(c.tags, 't3') AND c.a = 2", true },
        { "SELECT VALUE c._id FROM c WHERE c.a = 1 AND c.pk = 'p2' AND c.b = 1",      false},
        { "SELECT VALUE c._id FROM c WHERE c.a = 1 AND c.b = 2 AND c.plain = 1",      false},
        { "SELECT VALUE c._id FROM c WHERE c.a = 1 AND c.b = 2 ORDER BY c._id DESC",  false},
        { "SELECT VALUE c._id FROM c WHERE c.a = 1 AND c.b = 2 ORDER BY c.a",         false},
    };
    const struct asking paged = { .items = 7 }, worked = { .rows = 50 };

    for (int backing = 0; backing < 2; backing++) {
        struct query_explain e;
        struct world w;
        fill(&w, backing ? ON_ROCKSDB : ON_MEMORY);
        EACH_ROW(rows, r) {
            const char *want = ask(&w, "plain", r->sql, NULL, NULL);
            CHECK_STRING(ask(&w, "indexed", r->sql, NULL, &e), want);
            CHECK_THAT(!r->is_decided || e.documents == e.output_count, "%s: %d loaded, %d given",
                       r->sql, (int)e.documents, (int)e.output_count);
            CHECK_STRING(ask(&w, "indexed", r->sql, &paged, NULL), want);
            CHECK_STRING(ask(&w, "indexed", r->sql, &worked, NULL), want);
        }
        CHECK_STRING(
            ask(&w, "indexed", "SELECT VALUE COUNT(1) FROM c WHERE c.b = 2 AND c.a = 1", NULL, &e),
            ask(&w, "plain", "SELECT VALUE COUNT(1) FROM c WHERE c.b = 2 AND c.a = 1", NULL, NULL));
        CHECK_EQ(e.documents, 0, "");
        world_close(&w);
    }
}

TEST(query_intersect, indexes_that_have_nothing_in_common_end_early)
{
    struct query_explain e;
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "all: paths +/*");
    for (int i = 0; i < 2 * DOCUMENTS; i++)
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'%s':1}", i, i < DOCUMENTS ? "a" : "b"), OK);
    CHECK_STRING(ask(&w, "c", "SELECT * FROM c WHERE c.b = 1 AND c.a = 1", NULL, &e), "[]");
    CHECK_THAT(e.rows < 20, "%d rows", (int)e.rows);
    CHECK_STRING(ask(&w, "c", "SELECT * FROM c WHERE c.a = 1 AND c.b = 1", NULL, &e), "[]");
    CHECK_THAT(e.rows < 20, "%d rows", (int)e.rows);
    world_close(&w);
}

TEST(query_intersect, a_failing_storage_fails_the_query_cleanly)
{
    const struct asking how = { .items = 5 };
    status_code code = IO_ERROR;
    struct world w;

    fill(&w, ON_MEMORY);
    for (uint64_t nth = 1; code != OK; nth += 1 + nth / 8) {
        struct request request = world_begin(&w);
        struct buffer rows = buffer_in(w.arena);
        struct query_page page;
        bytes state = BYTES_NONE;
        CHECK_THAT(nth < 100000, "it never succeeds");
        storage_faulty_arm(w.storage, nth);
        code = ask_page(&w, &request, "indexed", "SELECT * FROM c WHERE c.a = 1 AND c.far = 2",
                        &how, &state, &rows, &page)
                   .code;
        storage_faulty_arm(w.storage, 0);
        CHECK_THAT(code == OK || code == IO_ERROR, "%s", status_code_name(code));
        world_end(&request);
    }
    world_close(&w);
}
