/* Transactions: one instant, one now, all or nothing. */
#include "tests/support/world.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { LIFETIME_MS = 60000 };

static struct transaction *begin(struct world *w)
{
    struct transaction *t;

    CHECK_OK(transaction_begin(w->engine, LIFETIME_MS, &t));
    w->inside = t;
    return t;
}

/* Others may be looking at the world by now. */
static void step_outside(struct world *w)
{
    if (w->inside)
        w->inside = NULL;
}

static status commit(struct world *w, struct transaction *t)
{
    uint64_t seq;

    step_outside(w);
    status s = transaction_commit(t, w->arena, NULL, &seq);
    CHECK_EQ(seq > 0, s.code == OK, "");
    transaction_close(t);
    return s;
}

static void give_up(struct world *w, struct transaction *t)
{
    step_outside(w);
    transaction_abort(t);
    transaction_close(t);
}

/* The documents as every way of walking shows them. */
static void check_all_ways(struct world *w, const char *collection, const char *index,
                           const char *ids)
{
    CHECK_SCAN(w, collection, "key", ids);
    CHECK_SCAN(w, collection, index, ids);
}

TEST(transaction, one_that_finds_no_place_leaves_the_places_of_others)
{
    static struct request others[LIMIT_RUNNING_REQUESTS];
    struct transaction *t;
    struct world w;

    world_open(&w, ON_MEMORY);
    for (size_t i = 0; i < LIMIT_RUNNING_REQUESTS; i++)
        CHECK_OK(request_begin(w.engine, w.arena, &others[i]));
    CHECK_CODE(transaction_begin(w.engine, LIFETIME_MS, &t), BUSY);
    struct request more;
    CHECK_CODE(request_begin(w.engine, w.arena, &more), BUSY);
    for (size_t i = 0; i < LIMIT_RUNNING_REQUESTS; i++)
        request_end(&others[i]);
    CHECK_OK(transaction_begin(w.engine, LIFETIME_MS, &t));
    transaction_close(t);
    world_close(&w);
}

TEST(transaction, its_writes_are_seen_inside_and_not_outside_until_the_commit)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "by_n: n");
        world_insert(&w, "c", "{'_id':1,'n':1}");
        world_insert(&w, "c", "{'_id':2,'n':2}");

        struct transaction *t = begin(&w);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3,'n':0}"), OK);
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':1,'n':9}"), OK);
        CHECK_WRITTEN(world_delete(&w, "c", "{'_id':2}"), OK);
        CHECK_SCAN(&w, "c", "key", "1 3");
        CHECK_SCAN(&w, "c", "-key", "3 1");
        CHECK_SCAN(&w, "c", "by_n", "3 1");
        CHECK_SCAN(&w, "c", "-by_n", "1 3");
        CHECK(world_has(&w, "c", 3) && !world_has(&w, "c", 2));
        w.inside = NULL;
        check_all_ways(&w, "c", "by_n", "1 2");
        CHECK(!world_has(&w, "c", 3));
        CHECK_OK(commit(&w, t));
        CHECK_LIVING(&w, "c", "1 3");
        CHECK_SCAN(&w, "c", "by_n", "3 1");
        world_restart(&w);
        CHECK_LIVING(&w, "c", "1 3");
        world_close(&w);
    }
}

TEST(transaction, an_aborted_one_leaves_nothing)
{
    struct world w;
    world_open(&w, ON_ROCKSDB);
    world_collection(&w, "c", TTL_OFF, "u: u unique");
    world_insert(&w, "c", "{'_id':1,'u':1}");
    struct transaction *t = begin(&w);
    world_insert(&w, "c", "{'_id':2,'u':2}");
    world_delete(&w, "c", "{'_id':1}");
    give_up(&w, t);
    CHECK_LIVING(&w, "c", "1");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'u':2}"), OK);
    CHECK_WRITTEN(world_delete(&w, "c", "{'_id':1}"), OK);
    world_close(&w);
}

TEST(transaction, it_reads_at_its_instant_whatever_others_write)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "by_n: n");
        for (int i = 1; i <= 4; i++)
            world_insert(&w, "c", "{'_id':%d,'n':%d}", i, i);
        struct transaction *t = begin(&w);
        w.inside = NULL;
        world_delete(&w, "c", "{'_id':1}");
        world_replace(&w, "c", "{'_id':2,'n':-2}");
        world_insert(&w, "c", "{'_id':5,'n':5}");
        world_purge(&w);
        w.inside = t;
        check_all_ways(&w, "c", "by_n", "1 2 3 4");
        CHECK_SCAN(&w, "c", "slots", "1 2 3 4");
        give_up(&w, t);
        CHECK_LIVING(&w, "c", "2 3 4 5");
        world_close(&w);
    }
}

/* What was deleted behind a transaction's back is needed by it until it ends. */
TEST(transaction, an_emptied_collection_is_not_cleared_under_it)
{
    struct world w;
    world_open(&w, ON_ROCKSDB);
    world_collection(&w, "c", TTL_NEVER, "");
    for (int i = 1; i <= 50; i++)
        world_insert(&w, "c", "{'_id':%d,'ttl':%d}", i, i % 2 ? 5 : -1);
    world_pass(&w, 6000);
    struct transaction *t = begin(&w);
    w.inside = NULL;
    for (int i = 2; i <= 50; i += 2)
        world_delete(&w, "c", "{'_id':%d}", i);
    world_purge(&w);
    world_purge(&w);
    w.inside = t;
    for (int i = 2; i <= 50; i += 2)
        CHECK_THAT(world_has(&w, "c", i), "%d is gone", i);
    give_up(&w, t);
    world_purge(&w);
    CHECK_LIVING(&w, "c", "");
    world_close(&w);
}

TEST(transaction, whoever_writes_a_document_second_conflicts_at_once)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "u: u unique sparse");
    for (int i = 1; i <= 4; i++)
        world_insert(&w, "c", "{'_id':%d}", i);
    struct transaction *a = begin(&w), *b = begin(&w);
    w.inside = NULL;
    world_replace(&w, "c", "{'_id':2,'n':1}");
    world_insert(&w, "c", "{'_id':9}");
    world_delete(&w, "c", "{'_id':4}");
    w.inside = a;
    CHECK_WRITTEN(world_replace(&w, "c", "{'_id':1,'n':1}"), OK);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':7,'u':7}"), OK);
    w.inside = b;
    CHECK_WRITTEN(world_delete(&w, "c", "{'_id':1}"), CONFLICT);        /* a has it */
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':7}"), CONFLICT);        /* a has it */
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':8,'u':7}"), CONFLICT);  /* a has the key */
    CHECK_WRITTEN(world_replace(&w, "c", "{'_id':2,'n':2}"), CONFLICT); /* changed since */
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':9}"), CONFLICT);        /* made since */
    CHECK_WRITTEN(world_replace(&w, "c", "{'_id':4,'n':1}"), CONFLICT); /* deleted since */
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3}"), EXISTS);          /* before */
    CHECK_WRITTEN(world_replace(&w, "c", "{'_id':3,'n':1}"), OK);
    give_up(&w, b);
    CHECK_OK(commit(&w, a));
    CHECK_LIVING(&w, "c", "1 2 3 7 9");
    world_close(&w);
}

TEST(transaction, two_that_wrote_different_documents_both_commit)
{
    struct world w;
    world_open(&w, ON_ROCKSDB);
    world_collection(&w, "c", TTL_OFF, "");
    world_collection(&w, "d", TTL_OFF, "");
    world_insert(&w, "c", "{'_id':1,'n':1}");
    world_insert(&w, "c", "{'_id':2,'n':1}");
    struct transaction *a = begin(&w), *b = begin(&w);
    w.inside = a;
    CHECK(world_has(&w, "c", 2));
    world_replace(&w, "c", "{'_id':1,'n':0}");
    world_insert(&w, "d", "{'_id':1}");
    w.inside = b;
    CHECK(world_has(&w, "c", 1));
    world_replace(&w, "c", "{'_id':2,'n':0}"); /* write skew, which snapshots allow */
    world_insert(&w, "d", "{'_id':2}");
    CHECK_OK(commit(&w, a));
    CHECK_OK(commit(&w, b));
    CHECK_LIVING(&w, "d", "1 2");
    world_close(&w);
}

TEST(transaction, unique_keys_may_be_swapped_and_not_doubled)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "u: u unique");
    world_insert(&w, "c", "{'_id':1,'u':1}");
    world_insert(&w, "c", "{'_id':2,'u':2}");
    struct transaction *t = begin(&w);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3,'u':2}"), DUPLICATE_KEY);
    CHECK_WRITTEN(world_replace(&w, "c", "{'_id':1,'u':0}"), OK);
    CHECK_WRITTEN(world_replace(&w, "c", "{'_id':2,'u':1}"), OK);
    CHECK_WRITTEN(world_replace(&w, "c", "{'_id':1,'u':2}"), OK);
    CHECK_SCAN(&w, "c", "u", "2 1");
    CHECK_OK(commit(&w, t));
    CHECK_SCAN(&w, "c", "u", "2 1");
    CHECK_LIVING(&w, "c", "1 2");

    t = begin(&w);
    w.inside = NULL;
    world_insert(&w, "c", "{'_id':4,'u':4}");
    w.inside = t;
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':5,'u':4}"), CONFLICT);
    give_up(&w, t);

    /* An index that came while it was open is kept as well. */
    t = begin(&w);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':6,'u':6,'v':1}"), OK);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':7,'u':7,'v':1}"), OK);
    w.inside = NULL;
    world_index_built(&w, "c", "v: v unique sparse");
    CHECK_CODE(commit(&w, t), DUPLICATE_KEY);
    CHECK_LIVING(&w, "c", "1 2 4");
    world_close(&w);
}

/* ---- deaths ----------------------------------------------------------------------------------------- */

TEST(transaction, its_now_stands_still_at_its_beginning)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", 10, "by_at: at ttl=0");
        world_insert(&w, "c", "{'_id':1}");
        world_insert(&w, "c", "{'_id':2,'at':@5000}");
        struct transaction *t = begin(&w);
        world_insert(&w, "c", "{'_id':3,'ttl':1}");
        w.inside = NULL;
        world_pass(&w, 20000);
        CHECK_LIVING(&w, "c", "");
        world_purge(&w);
        w.inside = t;
        CHECK_SCAN(&w, "c", "key", "1 2 3");
        CHECK_SCAN(&w, "c", "slots", "1 3 2"); /* by lane */
        CHECK(world_has(&w, "c", 1));
        CHECK_OK(commit(&w, t));
        CHECK_LIVING(&w, "c", "3"); /* written at the commit: its second begins now */
        world_pass(&w, 1000);
        CHECK_LIVING(&w, "c", "");
        world_close(&w);
    }
}

TEST(transaction, a_document_that_died_meanwhile_conflicts_with_its_writer)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", 10, "");
    world_insert(&w, "c", "{'_id':1}");
    world_insert(&w, "c", "{'_id':2}");
    struct transaction *a = begin(&w), *b = begin(&w), *d = begin(&w), *r = begin(&w);
    w.inside = a;
    CHECK_WRITTEN(world_replace(&w, "c", "{'_id':1,'n':1}"), OK);
    w.inside = d;
    CHECK_WRITTEN(world_delete(&w, "c", "{'_id':2}"), OK);
    world_at(&w, 10000);
    w.inside = b;
    CHECK_WRITTEN(world_delete(&w, "c", "{'_id':1}"), CONFLICT);
    w.inside = r;
    CHECK(world_has(&w, "c", 1));
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':5}"), OK);
    CHECK_CODE(commit(&w, a), CONFLICT);
    CHECK_CODE(commit(&w, d), CONFLICT);
    give_up(&w, b);
    CHECK_OK(commit(&w, r)); /* has only read what died */
    CHECK_LIVING(&w, "c", "5");
    world_close(&w);
}

TEST(transaction, a_dead_document_is_absent_and_its_id_free)
{
    struct world w;
    world_open(&w, ON_ROCKSDB);
    world_collection(&w, "c", 10, "u: u unique");
    world_insert(&w, "c", "{'_id':1,'u':1}");
    world_at(&w, 10000);
    struct transaction *t = begin(&w);
    CHECK_WRITTEN(world_replace(&w, "c", "{'_id':1,'u':1}"), NOT_FOUND);
    struct written first = world_upsert(&w, "c", "{'_id':1,'u':1,'n':1}");
    CHECK_EQ(first.code, OK, "");
    CHECK(!first.was_there);
    w.inside = NULL;
    world_purge(&w); /* the dead one goes, and that is no change */
    w.inside = t;
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'u':1}"), DUPLICATE_KEY);
    CHECK_OK(commit(&w, t));
    CHECK_LIVING(&w, "c", "1");
    CHECK_EQ(world_read(&w, "c", "{'_id':1}").written_at_s, WORLD_START_S + 10, "");
    world_close(&w);
}

TEST(transaction, a_changed_policy_ends_nothing_inside)
{
    struct world w;
    world_open(&w, ON_ROCKSDB);
    world_collection(&w, "c", TTL_OFF, "");
    world_insert(&w, "c", "{'_id':1}");
    world_pass(&w, 5000);
    struct transaction *t = begin(&w);
    w.inside = NULL;
    world_pass(&w, 1);
    CHECK_OK(world_set_ttl(&w, "c", 1));
    CHECK_LIVING(&w, "c", "");
    world_purge(&w);
    w.inside = t;
    CHECK(world_has(&w, "c", 1));
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2}"), OK);
    CHECK_OK(commit(&w, t));
    CHECK_LIVING(&w, "c", "2");
    world_close(&w);
}

/* ---- its time --------------------------------------------------------------------------------------- */

TEST(transaction, it_ends_when_its_lifetime_is_over)
{
    struct world w;
    struct request request;
    uint64_t seq;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "");
    struct transaction *t = begin(&w);
    world_insert(&w, "c", "{'_id':1}");
    w.inside = NULL;
    world_pass(&w, LIFETIME_MS - 1);
    transactions_expire(w.engine);
    CHECK_OK(transaction_enter(t, w.arena, &request));
    world_pass(&w, 1);
    transactions_expire(w.engine); /* ends when the request leaves */
    request_end(&request);
    CHECK_CODE(transaction_enter(t, w.arena, &request), NOT_FOUND);
    CHECK_CODE(transaction_commit(t, w.arena, NULL, &seq), NOT_FOUND);
    transaction_close(t);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1}"), OK); /* nobody has announced it any more */

    t = begin(&w);
    w.inside = NULL;
    world_pass(&w, LIFETIME_MS);
    CHECK_CODE(transaction_commit(t, w.arena, NULL, &seq),
               NOT_FOUND); /* the moment counts, not the look */
    transaction_close(t);
    world_close(&w);
}

TEST(transaction, one_request_at_a_time_is_inside)
{
    struct world w;
    struct request request, other;
    world_open(&w, ON_MEMORY);
    struct transaction *t = begin(&w);
    w.inside = NULL;
    CHECK_OK(transaction_enter(t, w.arena, &request));
    CHECK_CODE(transaction_enter(t, w.arena, &other), BUSY);
    transaction_abort(t);
    request_end(&request);
    CHECK_CODE(transaction_enter(t, w.arena, &request), NOT_FOUND);
    transaction_close(t);
    world_close(&w);
}

TEST(transaction, too_much_in_one_is_refused)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "");
    struct transaction *t = begin(&w);
    struct request request = world_begin(&w);
    uint8_t *large;
    enum { LEN = LIMIT_DOCUMENT_BYTES };

    CHECK_OK(arena_take(request.arena, LEN, (void **)&large));
    memset(large, 'x', LEN);
    /* {_id: 0, x: "xxx..."} */
    const uint8_t head[] = { 0, 0, 0, 1, 16, '_', 'i', 'd', 0, 0, 0, 0, 0, 2, 'x', 0 };
    memcpy(large, head, sizeof(head));
    const uint32_t text = LEN - (uint32_t)sizeof(head) - 5;
    memcpy(large + sizeof(head), &text, 4);
    large[LEN - 2] = large[LEN - 1] = 0;
    status s = STATUS_OK;
    int count = 0;
    for (; s.code == OK && count < 10; count++) {
        struct write_op op = world_op(&request, "c", WRITE_INSERT, "{'_id':%d}", count);
        op.document = bytes_of(large, LEN);
        s = document_write(&request, &op, 1, WRITE_ALL_OR_NOTHING);
    }
    CHECK_EQ(s.code, TRANSACTION_FULL, "");
    CHECK_EQ(count, 4, "");
    world_end(&request);
    give_up(&w, t);
    CHECK_LIVING(&w, "c", "");
    world_close(&w);
}

static void open_narrow(struct world *w, int64_t held_bytes)
{
    world_prepare(w, ON_MEMORY);
    w->transaction_held_bytes = held_bytes;
    CHECK_OK(world_start(w));
    CHECK_OK(database_create(w->engine, w->arena, BYTES_LITERAL("db"), BYTES_NONE));
}

/* Writes into the transaction until it is refused; how often it was not. */
static int fill(struct world *w, const char *collection, status_code want)
{
    struct written last = { .code = OK };
    int count = 0;

    for (; last.code == OK && count < 1000; count++)
        last = world_insert(w, collection, "{'_id':%d,'n':[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]}",
                            count);
    CHECK_EQ(last.code, want, "after %d", count);
    return count - 1;
}

TEST(transaction, the_entries_of_indexes_count_for_what_one_may_hold)
{
    struct world w;

    open_narrow(&w, 100000);
    world_collection(&w, "plain", TTL_OFF, "");
    world_collection(&w, "indexed", TTL_OFF, "n: n");
    struct transaction *t = begin(&w);
    int plain = fill(&w, "plain", TRANSACTION_FULL);
    give_up(&w, t);
    t = begin(&w);
    int indexed = fill(&w, "indexed", TRANSACTION_FULL);
    give_up(&w, t);
    CHECK_THAT(indexed > 0 && indexed * 2 < plain, "%d with entries, %d without", indexed, plain);
    world_close(&w);
}

TEST(transaction, all_that_are_open_share_one_budget)
{
    struct transaction *open[LIMIT_TRANSACTIONS_FULL], *late;
    struct world w;
    char name[16];

    open_narrow(&w, 50000);
    for (int i = 0; i <= LIMIT_TRANSACTIONS_FULL; i++) {
        snprintf(name, sizeof(name), "c%d", i);
        world_collection(&w, name, TTL_OFF, "");
    }
    for (int i = 0; i < LIMIT_TRANSACTIONS_FULL; i++) {
        snprintf(name, sizeof(name), "c%d", i);
        open[i] = begin(&w);
        CHECK(fill(&w, name, TRANSACTION_FULL) > 0);
        step_outside(&w);
    }
    late = begin(&w);
    CHECK(fill(&w, name, CONFLICT) == 0);
    snprintf(name, sizeof(name), "c%d", LIMIT_TRANSACTIONS_FULL);
    fill(&w, name, BUSY);
    give_up(&w, late);
    CHECK_OK(commit(&w, open[0]));
    late = begin(&w);
    CHECK(fill(&w, name, TRANSACTION_FULL) > 0);
    give_up(&w, late);
    for (int i = 1; i < LIMIT_TRANSACTIONS_FULL; i++)
        give_up(&w, open[i]);
    world_close(&w);
}

TEST(transaction, a_collection_made_later_is_adopted_and_empty)
{
    struct world w;
    world_open(&w, ON_ROCKSDB);
    struct transaction *t = begin(&w);
    w.inside = NULL;
    world_collection(&w, "new", TTL_OFF, "");
    world_insert(&w, "new", "{'_id':1}");
    w.inside = t;
    struct request request = world_begin(&w);
    const struct collection *found;
    CHECK_CODE(catalog_find(&request, BYTES_LITERAL("db"), BYTES_LITERAL("new"), &found),
               NOT_FOUND);
    CHECK_CODE(transaction_adopt(&request, BYTES_LITERAL("db"), BYTES_LITERAL("no")), NOT_FOUND);
    CHECK_OK(transaction_adopt(&request, BYTES_LITERAL("db"), BYTES_LITERAL("new")));
    CHECK_OK(transaction_adopt(&request, BYTES_LITERAL("db"), BYTES_LITERAL("new")));
    world_end(&request);
    CHECK_SCAN(&w, "new", "key", "");
    CHECK_WRITTEN(world_insert(&w, "new", "{'_id':2}"), OK);
    CHECK_WRITTEN(world_insert(&w, "new", "{'_id':1}"), CONFLICT);
    CHECK_SCAN(&w, "new", "key", "2");
    CHECK_OK(commit(&w, t));
    CHECK_LIVING(&w, "new", "1 2");
    world_close(&w);
}

TEST(transaction, a_dropped_collection_conflicts)
{
    struct world w;
    world_open(&w, ON_ROCKSDB);
    world_collection(&w, "c", TTL_OFF, "");
    world_insert(&w, "c", "{'_id':1}");
    struct transaction *t = begin(&w);
    world_insert(&w, "c", "{'_id':2}");
    w.inside = NULL;
    world_pass(&w, 1);
    CHECK_OK(collection_drop(w.engine, w.arena, BYTES_LITERAL("db"), BYTES_LITERAL("c")));
    world_purge(&w);
    w.inside = t;
    CHECK_SCAN(&w, "c", "key", "1 2");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3}"), CONFLICT);
    CHECK_CODE(commit(&w, t), CONFLICT);
    world_close(&w);
}

/* ---- a scan and the writes beside it ------------------------------------------------------------------ */

TEST(transaction, a_scan_inside_does_not_see_what_is_written_during_it)
{
    struct world w;
    world_open(&w, ON_ROCKSDB);
    world_collection(&w, "c", TTL_OFF, "by_n: n");
    for (int i = 1; i <= 5; i++)
        world_insert(&w, "c", "{'_id':%d,'n':%d}", i, i);
    struct transaction *t = begin(&w);
    world_replace(&w, "c", "{'_id':2,'n':2,'x':1}");
    struct request request = world_begin(&w);
    const struct collection *c = world_find(&request, "c");
    struct scan_spec spec = { .index = collection_index(c, BYTES_LITERAL("by_n")) };
    struct scan *scan;
    struct scan_row row;
    int count = 0;
    CHECK_OK(scan_open(&request, c, &spec, &scan));
    while (scan_next(scan, &row)) {
        struct document document;
        CHECK_OK(scan_document(scan, &document));
        int id = world_id_of(document.bson);
        document_release(&request, &document);
        struct write_op op = world_op(&request, "c", WRITE_REPLACE, "{'_id':%d,'n':%d}", id,
                                      id + 100);
        op.if_seq = row.seq;
        CHECK_OK(document_write(&request, &op, 1, WRITE_ALL_OR_NOTHING));
        CHECK_THAT(++count <= 5, "a document is met twice");
    }
    CHECK_OK(scan_status(scan));
    scan_close(scan);
    CHECK_EQ(count, 5, "");
    world_end(&request);
    CHECK_SCAN(&w, "c", "by_n", "1 2 3 4 5");
    CHECK_OK(commit(&w, t));
    CHECK_LIVING(&w, "c", "1 2 3 4 5");
    world_close(&w);
}

/* ---- failing storage, and crashes --------------------------------------------------------------------- */

TEST(transaction, a_commit_that_fails_on_the_way_leaves_all_or_nothing)
{
    bool is_through = false;

    for (uint64_t n = 1; !is_through && n < 300; n++) {
        struct world w;
        world_open(&w, ON_MEMORY);
        world_collection(&w, "c", TTL_OFF, "by_n: n");
        world_collection(&w, "d", TTL_OFF, "u: u unique");
        world_insert(&w, "c", "{'_id':1,'n':1}");
        world_insert(&w, "d", "{'_id':1,'u':1}");
        struct transaction *t = begin(&w);
        world_replace(&w, "c", "{'_id':1,'n':2}");
        world_insert(&w, "c", "{'_id':2,'n':2}");
        world_delete(&w, "d", "{'_id':1}");
        world_insert(&w, "d", "{'_id':2,'u':1}");
        storage_faulty_arm(w.storage, n);
        status s = commit(&w, t);
        is_through = storage_faulty_calls(w.storage) < n;
        storage_faulty_arm(w.storage, 0);
        storage_faulty_heal(w.storage);
        CHECK_EQ(is_through, s.code == OK, "call %d", (int)n);
        world_crash(&w);
        CHECK_LIVING(&w, "c", s.code == OK ? "1 2" : "1");
        CHECK_LIVING(&w, "d", s.code == OK ? "2" : "1");
        world_close(&w);
    }
    CHECK(is_through);
}

TEST(transaction, a_crash_before_the_commit_leaves_nothing)
{
    struct world w;
    world_open(&w, ON_ROCKSDB);
    world_collection(&w, "c", TTL_OFF, "");
    struct transaction *t = begin(&w);
    world_insert(&w, "c", "{'_id':1}");
    give_up(&w, t); /* a process that dies takes its memory along */
    world_crash(&w);
    CHECK_LIVING(&w, "c", "");
    world_close(&w);
}

/* ---- writes outside ----------------------------------------------------------------------------------- */

struct waiting {
    struct world *w;
    _Atomic bool is_done;
    struct written result;
};

static void *write_outside(void *context)
{
    struct waiting *waiting = context;
    struct request request = world_begin(waiting->w);
    struct write_op op = world_op(&request, "c", WRITE_UPSERT, "{'_id':1,'n':5}");

    waiting->result.code = document_write(&request, &op, 1, WRITE_ALL_OR_NOTHING).code;
    waiting->result.was_there = op.was_there;
    world_end(&request);
    atomic_store(&waiting->is_done, true);
    return NULL;
}

TEST(transaction, a_write_outside_waits_for_its_end)
{
    for (int commits = 0; commits < 2; commits++) {
        struct world w;
        world_open(&w, ON_MEMORY);
        world_collection(&w, "c", TTL_OFF, "");
        struct waiting waiting = { .w = &w };
        pthread_t thread;
        struct transaction *t = begin(&w);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1}"), OK);
        w.inside = NULL;
        CHECK_EQ(pthread_create(&thread, NULL, write_outside, &waiting), 0, "");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2}"),
                      OK); /* who writes another does not wait */
        CHECK(!atomic_load(&waiting.is_done));
        if (commits)
            CHECK_OK(commit(&w, t));
        else
            give_up(&w, t);
        CHECK_EQ(pthread_join(thread, NULL), 0, "");
        CHECK_EQ(waiting.result.code, OK, "");
        CHECK_EQ(waiting.result.was_there, commits == 1, "");
        CHECK_LIVING(&w, "c", "1 2");
        world_close(&w);
    }
}
