/* Things that happen between two others: a leap in the middle of a purge, a death in the middle of a write,
 * a lane used again; and work that must fit into its memory. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#include "storage/backend.h"
#include "tests/support/world.h"

static uint32_t id_of(struct world *w, const char *collection)
{
    struct request request = world_begin(w);
    uint32_t id = world_find(&request, collection)->id;

    world_end(&request);
    return id;
}

/* ---- the clock ------------------------------------------------------------------------------------ */

static void leap_at_the_first_death(void *context, const struct death *death)
{
    struct world *w = context;

    (void)death;
    manual_time_set_wall(&w->time, WORLD_START + (time_ms)2 * 365 * 86400 * 1000);
}

TEST(narrow_windows, b9_a_leap_in_the_middle_of_a_pass_ends_nobody)
{
    struct world w;
    struct purge_result result;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "a", 10, "");
    CHECK_WRITTEN(world_insert(&w, "a", "{'_id':1}"), OK);
    world_collection(&w, "b", 365 * 86400, "");
    for (int id = 1; id <= 5; id++)
        CHECK_WRITTEN(world_insert(&w, "b", "{'_id':%d,'at':@0}", id), OK);
    world_index_built(&w, "b", "at: at ttl=31000000");
    world_at(&w, 20000);
    CHECK_OK(engine_read_deaths(w.engine, id_of(&w, "a"), leap_at_the_first_death, &w));
    CHECK_OK(engine_purge(w.engine, &result));
    CHECK(clock_is_leap_pending(w.clock));
    CHECK_EQ(result.documents, 1, "only the one that was due before the leap");
    world_close(&w);
}

/* ---- writes --------------------------------------------------------------------------------------- */

TEST(narrow_windows, b5_a_document_that_dies_while_it_is_replaced_stays_dead)
{
    static const struct {
        const char *why;
        enum write_kind kind;
        status_code want;
        const char *living;
    } rows[] = {
        {"a replace finds nobody",   WRITE_REPLACE, NOT_FOUND, "" },
        { "a delete finds nobody",   WRITE_DELETE,  NOT_FOUND, "" },
        { "an upsert begins a life", WRITE_UPSERT,  OK,        "1"},
    };

    EACH_BACKING(backing)
    {
        EACH_ROW(rows, r) {
            struct world w;
            world_open(&w, backing);
            world_collection(&w, "c", 10, "x: x");
            const struct written first = world_insert(&w, "c", "{'_id':1,'x':1}");
            world_at(&w, 9999);
            struct request request = world_begin(&w);
            struct write_op op = world_op(&request, "c", r->kind, "{'_id':1,'x':2}");
            world_at(&w, 10000);
            CHECK_LIVING(&w, "c", "");
            CHECK_EQ(document_write(&request, &op, 1, WRITE_ALL_OR_NOTHING).code, r->want, "%s",
                     r->why);
            CHECK_EQ(op.was_there, false, "%s", r->why);
            world_end(&request);
            CHECK_LIVING(&w, "c", r->living);
            if (r->want == OK)
                CHECK(world_read(&w, "c", "{'_id':1}").birth_seq > first.birth_seq);
            world_close(&w);
        }
    }
}

TEST(narrow_windows, b5_nor_does_one_come_back_that_is_older_than_the_index_that_ends_it)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'at':@0}"), OK);
        world_index_built(&w, "c", "at: at ttl=10");
        world_at(&w, 9999);
        struct request request = world_begin(&w);
        struct write_op op = world_op(&request, "c", WRITE_REPLACE, "{'_id':1}");
        world_at(&w, 10000);
        CHECK_LIVING(&w, "c", "");
        CHECK_CODE(document_write(&request, &op, 1, WRITE_ALL_OR_NOTHING), NOT_FOUND);
        world_end(&request);
        CHECK_LIVING(&w, "c", "");
        world_close(&w);
    }
}

TEST(narrow_windows, a_late_death_fails_its_own_operation_of_a_bulk_only)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", 10, "");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1}"), OK);
    world_at(&w, 9999);
    struct request request = world_begin(&w);
    struct write_op ops[] = { world_op(&request, "c", WRITE_REPLACE, "{'_id':1}"),
                              world_op(&request, "c", WRITE_INSERT, "{'_id':2}") };
    world_at(&w, 10000);
    CHECK_OK(document_write(&request, ops, 2, WRITE_EACH));
    CHECK_EQ(ops[0].outcome.code, NOT_FOUND, "");
    CHECK_EQ(ops[1].outcome.code, OK, "");
    world_end(&request);
    CHECK_LIVING(&w, "c", "2");
    world_close(&w);
}

/* The document 1 dies between the look of the write and its commit. */
TEST(narrow_windows, a_late_death_leaves_the_later_operations_on_its_document_alone)
{
    static const struct {
        const char *why;
        enum write_kind kinds[3];
        status_code each[3];
        status_code all;
        int living; /* the value of the document that is left, 0: none */
    } rows[] = {
        {"an insert behind a delete",
         { WRITE_DELETE, WRITE_INSERT, WRITE_REPLACE },
         { NOT_FOUND, OK, OK },
         NOT_FOUND, 2},
        { "a replace behind an upsert",
         { WRITE_UPSERT, WRITE_REPLACE, WRITE_REPLACE },
         { OK, OK, OK },
         OK,        2},
        { "an upsert behind a replace",
         { WRITE_REPLACE, WRITE_UPSERT, WRITE_DELETE },
         { NOT_FOUND, OK, OK },
         NOT_FOUND, 0},
        { "nothing but replaces",
         { WRITE_REPLACE, WRITE_REPLACE, WRITE_DELETE },
         { NOT_FOUND, NOT_FOUND, NOT_FOUND },
         NOT_FOUND, 0},
    };

    EACH_BACKING(backing)
    {
        for (enum write_mode mode = WRITE_ALL_OR_NOTHING; mode <= WRITE_EACH; mode++) {
            EACH_ROW(rows, r) {
                struct world w;
                struct write_op ops[3];
                world_open(&w, backing);
                world_collection(&w, "c", 10, "x: x");
                const uint64_t birth = world_insert(&w, "c", "{'_id':1,'x':9}").seq;
                world_at(&w, 9999);
                struct request request = world_begin(&w);
                for (int i = 0; i < 3; i++)
                    ops[i] = world_op(&request, "c", r->kinds[i], "{'_id':1,'x':%d}", i);
                world_at(&w, 10000);
                const status s = document_write(&request, ops, 3, mode);
                CHECK_EQ(s.code, mode == WRITE_EACH ? OK : r->all, "%s", r->why);
                for (int i = 0; i < 3 && mode == WRITE_EACH; i++)
                    CHECK_EQ(ops[i].outcome.code, r->each[i], "%s, operation %d", r->why, i);
                world_end(&request);
                const bool is_written = mode == WRITE_EACH || r->all == OK;
                CHECK_LIVING(&w, "c", is_written && r->living ? "1" : "");
                const struct found found = world_read(&w, "c", "{'_id':1}");
                CHECK_THAT(!found.is_there || found.birth_seq > birth, "%s", r->why);
                world_close(&w);
            }
        }
    }
}

/* ---- a lane used again ---------------------------------------------------------------------------- */

struct told {
    char ids[64];
};

static void note_death(void *context, const struct death *death)
{
    struct told *told = context;
    size_t len = strlen(told->ids);

    snprintf(told->ids + len, sizeof(told->ids) - len, "%d ", world_id_of(death->document));
}

TEST(narrow_windows, c14_a_death_is_told_before_its_place_is_taken_in_a_lane_used_again)
{
    struct told told = { "" };
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "a: a ttl=10");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'b':@0}"), OK);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'a':@5000}"), OK);
    world_at(&w, 20000);
    world_purge(&w);
    CHECK_OK(world_index_drop(&w, "c", "a"));
    world_purge(&w);
    world_index_built(&w, "c", "b: b ttl=100");
    world_purge(&w);
    CHECK_OK(engine_read_deaths(w.engine, id_of(&w, "c"), note_death, &told));
    world_at(&w, 100000);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1}"), OK);
    CHECK_STRING(told.ids, "1 ");
    world_close(&w);
}

/* ---- memory --------------------------------------------------------------------------------------- */

TEST(narrow_windows, documents_with_many_index_entries_are_moved_within_the_memory_of_a_pass)
{
    enum { DOCUMENTS = 90, ENTRIES = 400, NAME_BYTES = 3000 };
    static const char name[NAME_BYTES + 1] = { [0 ... NAME_BYTES - 1] = 'n' };
    const int count = check_scale() < 1 ? 5 : DOCUMENTS;
    char text[NAME_BYTES + ENTRIES * 5 + 100];
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "all: paths +/*");
    for (int id = 1; id <= count; id++) {
        int at = snprintf(text, sizeof(text), "{'_id':%d,'at':@0,'%s':[0", id, name);
        for (int i = 1; i < ENTRIES; i++)
            at += snprintf(text + at, sizeof(text) - (size_t)at, ",%d", i);
        snprintf(text + at, sizeof(text) - (size_t)at, "]}");
        CHECK_WRITTEN(world_insert(&w, "c", "%s", text), OK);
    }
    world_index_built(&w, "c", "at: at ttl=1000");
    world_purge(&w);
    world_at(&w, 1000000);
    CHECK_EQ(world_purge(&w).truncations, 1, "all of them were in the lane of the index");
    world_close(&w);
}

/* ---- figures before the purger has come by -------------------------------------------------------- */

TEST(narrow_windows, b12_the_oldest_dead_has_an_age_where_documents_are_older_than_the_index)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'at':@0}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2}"), OK);
        world_index_built(&w, "c", "at: at ttl=10");
        world_at(&w, 13500);
        const struct collection_figures figures = world_figures(&w, "c");
        CHECK_EQ(figures.documents, 1, "");
        CHECK_EQ(figures.dead_documents, 1, "");
        CHECK_EQ(figures.oldest_dead_age_ms, 3500, "");
        world_close(&w);
    }
}

/* ---- a policy on its way to the disk -------------------------------------------------------------- */

/* A storage in whose first commit time passes and somebody else reads the document 1 of "c". The reader has
 * some time to answer before the commit goes on; it may also wait for the change. */
struct slow_storage {
    struct storage_backend backend; /* first: found again through the storage */
    const struct storage_backend *inner;
    struct world *w;
    bool is_armed;
    pthread_t thread;
    _Atomic bool has_begun, has_answered;
    bool was_there;
};

static void *read_meanwhile(void *owner)
{
    struct slow_storage *slow = owner;
    struct request request = world_begin(slow->w);
    struct document document;

    atomic_store(&slow->has_begun, true);
    const struct collection *collection = world_find(&request, "c");
    status s = document_read(&request, collection, world_key(&request, collection, "{'_id':1}"),
                             &document);
    slow->was_there = s.code == OK;
    if (s.code == OK)
        document_release(&request, &document);
    world_end(&request);
    atomic_store(&slow->has_answered, true);
    return NULL;
}

static status slow_commit(struct storage *storage, struct storage_batch *batch, struct arena *arena)
{
    enum { PATIENCE = 20000 };
    struct slow_storage *slow = (struct slow_storage *)(uintptr_t)storage->backend;

    if (slow->is_armed) {
        slow->is_armed = false;
        world_pass(slow->w, 10);
        CHECK_EQ(pthread_create(&slow->thread, NULL, read_meanwhile, slow), 0, "");
        while (!atomic_load(&slow->has_begun))
            sched_yield();
        for (int i = 0; i < PATIENCE && !atomic_load(&slow->has_answered); i++)
            sched_yield();
    }
    return slow->inner->commit(storage, batch, arena);
}

static void slow_down(struct slow_storage *slow, struct world *w)
{
    *slow = (struct slow_storage){
        .backend = *w->storage->backend, .inner = w->storage->backend, .w = w, .is_armed = true
    };
    slow->backend.commit = slow_commit;
    w->storage->backend = &slow->backend;
}

static void check_one_answer(struct slow_storage *slow)
{
    pthread_join(slow->thread, NULL);
    CHECK_EQ(world_has(slow->w, "c", 1), slow->was_there, "the same as during the change");
    slow->w->storage->backend = slow->inner;
}

TEST(narrow_windows, b5_nobody_sees_a_death_that_a_change_on_its_way_to_the_disk_undoes)
{
    struct slow_storage slow;
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", 10, "");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1}"), OK);
    world_at(&w, 9995);
    slow_down(&slow, &w);
    CHECK_OK(world_set_ttl(&w, "c", TTL_NEVER));
    check_one_answer(&slow);
    world_close(&w);
}

TEST(narrow_windows, b5_nor_one_that_the_drop_of_a_ttl_index_undoes)
{
    struct slow_storage slow;
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "at: at ttl=10");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'at':@0}"), OK);
    world_at(&w, 9995);
    slow_down(&slow, &w);
    CHECK_OK(world_index_drop(&w, "c", "at"));
    check_one_answer(&slow);
    world_close(&w);
}
