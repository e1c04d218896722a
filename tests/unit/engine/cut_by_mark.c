/* Cuts by mark: the bodies of the dead stay where they are, and nobody may notice. The worlds here cut every
 * lane in this way that has a living document left. */
#include <pthread.h>
#include <stdio.h>

#include "engine/state.h"
#include "storage/backend.h"
#include "tests/support/world.h"

static void open_marking(struct world *w, enum backing backing)
{
    world_prepare(w, backing);
    w->mark_worth_bytes = 1;
    CHECK_OK(world_start(w));
    CHECK_OK(database_create(w->engine, w->arena, BYTES_LITERAL("db"), BYTES_NONE));
}

/* Bodies that lie in the storage, the dead included. */
static int bodies(struct world *w)
{
    return world_count_rows(w, "c", SPACE_BODIES,
                            (struct storage_range){ .start = BYTES_LITERAL("\x01") });
}

/* Documents 0..9 that die at 10 s, and 10..12 that live for 100 s more in the same lane. */
static void insert_two_generations(struct world *w)
{
    for (int id = 0; id < 10; id++)
        CHECK_WRITTEN(world_insert(w, "c", "{'_id':%d,'x':%d,'u':%d}", id, id, id), OK);
    world_at(w, 9000);
    for (int id = 10; id < 13; id++)
        CHECK_WRITTEN(world_insert(w, "c", "{'_id':%d,'x':%d,'u':%d}", id, id, id), OK);
    world_at(w, 10000);
}

static void purge_ten(struct world *w)
{
    const struct purge_result result = world_purge(w);
    CHECK_EQ(result.documents, 10, "");
    CHECK_EQ(result.truncations, 1, "");
    CHECK_EQ(bodies(w), 13, "they lie where they lay");
}

TEST(cut_by_mark, b8_the_dead_are_purged_without_touching_a_body)
{
    EACH_BACKING(backing)
    {
        struct world w;
        open_marking(&w, backing);
        world_collection(&w, "c", 10, "x: x; u: u unique");
        insert_two_generations(&w);
        purge_ten(&w);
        for (int is_restarted = 0; is_restarted < 2; is_restarted++) {
            CHECK_LIVING(&w, "c", "10 11 12");
            const struct collection_figures figures = world_figures(&w, "c");
            CHECK_EQ(figures.dead_documents, 0, "");
            world_check(&w);
            CHECK_EQ(world_purge(&w).documents, 0, "nobody is purged twice");
            world_crash(&w);
        }
        world_close(&w);
    }
}

TEST(cut_by_mark, b8_what_it_leaves_goes_when_the_storage_rewrites_its_files)
{
    struct world w;
    open_marking(&w, ON_ROCKSDB);
    world_collection(&w, "c", 10, "x: x; u: u unique");
    insert_two_generations(&w);
    struct request request = world_begin(&w);
    const partition_id partition = row_partition(world_find(&request, "c")->id);
    world_end(&request);
    CHECK_OK(storage_settle(w.storage, partition));
    CHECK_EQ(bodies(&w), 13, "nobody goes who is dead and not purged");
    purge_ten(&w);
    CHECK_OK(storage_settle(w.storage, partition));
    CHECK_EQ(bodies(&w), 3, "");
    CHECK_LIVING(&w, "c", "10 11 12");
    world_crash(&w);
    CHECK_LIVING(&w, "c", "10 11 12");
    world_close(&w);
}

TEST(cut_by_mark, b4_the_place_of_one_that_was_cut_off_is_free)
{
    EACH_BACKING(backing)
    {
        struct world w;
        open_marking(&w, backing);
        world_collection(&w, "c", 10, "x: x; u: u unique");
        insert_two_generations(&w);
        purge_ten(&w);
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':1,'u':100}"), NOT_FOUND);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'x':1,'u':2}"), OK);
        CHECK_WRITTEN(world_upsert(&w, "c", "{'_id':2,'x':2,'u':1}"), OK);
        CHECK_LIVING(&w, "c", "1 2 10 11 12");
        world_check(&w);
        CHECK_WRITTEN(world_delete(&w, "c", "{'_id':1}"), OK);
        CHECK_LIVING(&w, "c", "2 10 11 12");
        world_close(&w);
    }
}

TEST(cut_by_mark, the_last_death_of_a_collection_clears_everything)
{
    EACH_BACKING(backing)
    {
        struct world w;
        open_marking(&w, backing);
        world_collection(&w, "c", 10, "x: x");
        insert_two_generations(&w);
        purge_ten(&w);
        for (int id = 10; id < 13; id++) /* by a client: no cut comes by any more */
            CHECK_WRITTEN(world_delete(&w, "c", "{'_id':%d}", id), OK);
        world_purge(&w);
        CHECK_EQ(bodies(&w), 0, "");
        world_close(&w);
    }
}

TEST(cut_by_mark, a_lane_that_has_become_small_is_cut_by_range)
{
    EACH_BACKING(backing)
    {
        struct world w;
        open_marking(&w, backing);
        world_collection(&w, "c", 10, "x: x");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':20,'ttl':-1}"), OK);
        insert_two_generations(&w);
        CHECK_EQ(world_purge(&w).documents, 10, "");
        CHECK_EQ(bodies(&w), 14, "");
        world_at(&w, 19000);
        CHECK_EQ(world_purge(&w).documents, 3, "");
        CHECK_EQ(bodies(&w), 1, "the lane is empty, what was left of it has gone too");
        CHECK_LIVING(&w, "c", "20");
        world_close(&w);
    }
}

TEST(cut_by_mark, b5_no_change_of_policy_brings_anybody_back)
{
    const int32_t ttls[] = { TTL_OFF, TTL_NEVER, 1000, 9 };
    EACH_BACKING(backing)
    {
        EACH_ROW(ttls, ttl) {
            struct world w;
            open_marking(&w, backing);
            world_collection(&w, "c", 10, "x: x; u: u unique");
            insert_two_generations(&w);
            purge_ten(&w);
            CHECK_OK(world_set_ttl(&w, "c", *ttl));
            CHECK_LIVING(&w, "c", "10 11 12");
            world_crash(&w);
            CHECK_LIVING(&w, "c", "10 11 12");
            world_index_built(&w, "c", "at: at ttl=5");
            CHECK_LIVING(&w, "c", "10 11 12");
            CHECK_EQ(world_figures(&w, "c").dead_documents, 0, "ttl %d", *ttl);
            CHECK_EQ(world_purge(&w).documents, 0, "ttl %d", *ttl);
            CHECK_EQ(bodies(&w), 3, "a walk takes them along");
            CHECK_LIVING(&w, "c", "10 11 12");
            world_close(&w);
        }
    }
}

TEST(cut_by_mark, counters_are_exact_when_a_second_is_cut_in_pieces)
{
    EACH_BACKING(backing)
    {
        struct world w;
        open_marking(&w, backing);
        world_collection(&w, "c", TTL_OFF, "at: at ttl=10");
        for (int id = 0; id < 20; id++)
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'at':@%d}", id, 1000 + id * 100), OK);
        for (int at = 11000; at < 12800; at += 300) {
            world_at(&w, at);
            const int dead = (at - 11000) / 100 + 1;
            CHECK_EQ(world_figures(&w, "c").documents, 20 - dead, "at %d", at);
            world_purge(&w);
            CHECK_EQ(bodies(&w), 20, "at %d", at);
            CHECK_EQ(world_figures(&w, "c").documents, 20 - dead, "at %d", at);
            CHECK_EQ(world_figures(&w, "c").dead_documents, 0, "at %d", at);
            world_check(&w);
        }
        world_close(&w);
    }
}

/* Told to live longer, an index lets documents live below the mark of its lane, if they are younger. */
TEST(cut_by_mark, documents_below_the_mark_that_are_younger_live)
{
    EACH_BACKING(backing)
    {
        struct world w;
        open_marking(&w, backing);
        world_collection(&w, "c", TTL_OFF, "at: at ttl=10");
        for (int id = 0; id < 5; id++)
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'at':@%d}", id, id * 1000), OK);
        world_at(&w, 12000);
        CHECK_EQ(world_purge(&w).documents, 3, "");
        CHECK_EQ(bodies(&w), 5, "");
        CHECK_OK(world_set_expiry(&w, "c", "at", 100));
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':7,'at':@1500}"), OK);
        CHECK_LIVING(&w, "c", "3 4 7");
        world_crash(&w);
        world_purge(&w);
        CHECK_EQ(bodies(&w), 3, "a walk takes along who was cut off, and nobody else");
        CHECK_LIVING(&w, "c", "3 4 7");
        world_at(&w, 101600);
        CHECK_LIVING(&w, "c", "3 4");
        world_purge(&w);
        CHECK_LIVING(&w, "c", "3 4");
        world_close(&w);
    }
}

/* ---- a lane that is used again ----------------------------------------------------------------------- */

enum { LEFT_OVER = 3 };

/* Documents 0..2 have been cut off and lie where they lay, the last of their lane is deleted, and 9 lives
 * elsewhere. */
static void cut_some_by_date(struct world *w)
{
    world_collection(w, "c", TTL_OFF, "at: at ttl=10; other: other ttl=10");
    for (int id = 0; id <= LEFT_OVER; id++)
        CHECK_WRITTEN(world_insert(w, "c", "{'_id':%d,'at':@%d}", id, id * 1000), OK);
    CHECK_WRITTEN(world_insert(w, "c", "{'_id':9}"), OK);
    world_at(w, 12000);
    CHECK_EQ(world_purge(w).documents, LEFT_OVER, "");
    CHECK_WRITTEN(world_delete(w, "c", "{'_id':%d}", LEFT_OVER), OK);
    CHECK_EQ(bodies(w), LEFT_OVER + 1, "");
}

struct left_over {
    bytes key, value;
};

static void keep_left_over(struct world *w, struct left_over kept[LEFT_OVER])
{
    struct request request = world_begin(w);
    const struct row_address where = address(world_find(&request, "c")->state->partition,
                                             SPACE_BODIES);
    struct buffer lane = buffer_in(w->arena);
    struct storage_range dates = { 0 };
    struct storage_scan *scan;
    bytes key, value;

    row_key_lane(&lane, LANE_DATES);
    CHECK_OK(buffer_finish(&lane, &dates.start));
    CHECK_OK(storage_scan_open(w->storage, NULL, where, &dates, &scan));
    for (int i = 0; i < LEFT_OVER; i++) { /* in the order of their dates */
        CHECK(storage_scan_next(scan, &key, &value));
        CHECK_OK(arena_copy(w->arena, key, &kept[i].key));
        CHECK_OK(arena_copy(w->arena, value, &kept[i].value));
    }
    storage_scan_close(scan);
    world_end(&request);
}

static void put_back(struct world *w, const struct left_over kept[LEFT_OVER])
{
    struct request request = world_begin(w);
    const struct row_address where = address(world_find(&request, "c")->state->partition,
                                             SPACE_BODIES);
    struct storage_batch *batch = storage_batch_open(w->storage);

    for (int i = 0; i < LEFT_OVER; i++)
        storage_put(w->storage, batch, where, kept[i].key, kept[i].value);
    CHECK_OK(storage_commit(w->storage, batch, NULL, 0, w->arena, NULL));
    storage_batch_close(w->storage, batch);
    world_end(&request);
}

/* No walk leaves one behind. This is as if one had, when the number of the rule is free again. */
static void leave_some_behind(struct world *w)
{
    struct left_over kept[LEFT_OVER];

    cut_some_by_date(w);
    keep_left_over(w, kept);
    CHECK_OK(world_index_drop(w, "c", "at"));
    world_purge(w);
    CHECK_EQ(bodies(w), 1, "a walk takes them along");
    CHECK_LIVING(w, "c", "9");
    put_back(w, kept);
    CHECK_EQ(bodies(w), LEFT_OVER + 1, "");
}

TEST(cut_by_mark, b5_a_lane_that_is_used_again_begins_without_a_body)
{
    EACH_BACKING(backing)
    {
        for (int is_failing = 0; is_failing < 2; is_failing++) {
            struct world w;
            open_marking(&w, backing);
            leave_some_behind(&w);
            if (is_failing) { /* the mark stays with the bodies */
                storage_faulty_arm(w.storage, 1);
                CHECK_CODE(world_index(&w, "c", "at: at ttl=900"), IO_ERROR);
                storage_faulty_heal(w.storage);
                CHECK_EQ(bodies(&w), LEFT_OVER + 1, "");
                world_crash(&w);
            }
            world_index_built(&w, "c", "at: at ttl=900");
            CHECK_EQ(bodies(&w), 1, "");
            CHECK_LIVING(&w, "c", "9");
            world_crash(&w);
            CHECK_LIVING(&w, "c", "9");
            world_close(&w);
        }
    }
}

TEST(cut_by_mark, b5_a_walk_takes_along_who_was_cut_off_whatever_the_policy_says)
{
    EACH_BACKING(backing)
    {
        struct world w;
        open_marking(&w, backing);
        leave_some_behind(&w);
        CHECK_OK(
            world_set_ttl(&w, "c", TTL_NEVER)); /* beside a TTL index, so there will be a walk */
        CHECK_EQ(world_purge(&w).documents, 0, "nobody is purged twice");
        CHECK_EQ(bodies(&w), 1, "");
        CHECK_LIVING(&w, "c", "9");
        world_close(&w);
    }
}

struct told {
    char ids[64];
};

static void note_death(void *context, const struct death *death)
{
    struct told *told = context;
    const size_t len = strlen(told->ids);

    snprintf(told->ids + len, sizeof(told->ids) - len, "%d ", world_id_of(death->document));
}

TEST(cut_by_mark, c14_who_was_cut_off_before_is_not_told_to_a_reader_of_deaths)
{
    EACH_BACKING(backing)
    {
        struct world w;
        struct told told = { .ids = "" };
        open_marking(&w, backing);
        world_collection(&w, "c", 10, "x: x");
        insert_two_generations(&w);
        purge_ten(&w);
        struct request request = world_begin(&w);
        const uint32_t id = world_find(&request, "c")->id;
        world_end(&request);
        CHECK_OK(engine_read_deaths(w.engine, id, note_death, &told));
        world_at(&w, 18000);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'x':1}"), OK);
        world_at(&w, 19000);
        world_purge(&w);
        CHECK_STRING(told.ids, "10 11 12 ");
        CHECK_LIVING(&w, "c", "1");
        world_close(&w);
    }
}

/* ---- a cut between the look of a write and its commit ---------------------------------------------- */

struct hooked_storage {
    struct storage_backend backend; /* first: found again through the storage */
    const struct storage_backend *inner;
    struct world *w;
    bool is_armed;
};

static void *purge_meanwhile(void *owner)
{
    struct hooked_storage *hooked = owner;
    struct purge_result result;

    CHECK_OK(engine_purge(hooked->w->engine, &result));
    CHECK_EQ(result.documents, 10, "");
    return NULL;
}

/* The write reads the body of the dead document, and then the purger comes by. */
static status get_before_a_cut(struct storage *storage, struct storage_view *view,
                               struct row_address where, bytes key, struct storage_value *out)
{
    struct hooked_storage *hooked = (struct hooked_storage *)(uintptr_t)storage->backend;
    const status s = hooked->inner->get(storage, view, where, key, out);
    pthread_t thread;

    if (hooked->is_armed && where.space == SPACE_BODIES) {
        hooked->is_armed = false;
        CHECK_EQ(pthread_create(&thread, NULL, purge_meanwhile, hooked), 0, "");
        pthread_join(thread, NULL);
    }
    return s;
}

TEST(cut_by_mark, a_document_cut_off_while_its_place_is_taken_is_counted_out_once)
{
    EACH_BACKING(backing)
    {
        for (int is_by_mark = 0; is_by_mark < 2; is_by_mark++) {
            struct world w;
            world_prepare(&w, backing);
            w.mark_worth_bytes = (uint64_t)is_by_mark;
            CHECK_OK(world_start(&w));
            CHECK_OK(database_create(w.engine, w.arena, BYTES_LITERAL("db"), BYTES_NONE));
            world_collection(&w, "c", 10, "x: x");
            insert_two_generations(&w);
            struct hooked_storage hooked = { .backend = *w.storage->backend,
                                             .inner = w.storage->backend,
                                             .w = &w,
                                             .is_armed = true };
            hooked.backend.get = get_before_a_cut;
            w.storage->backend = &hooked.backend;
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'x':1}"), OK);
            w.storage->backend = hooked.inner;
            CHECK(!hooked.is_armed);
            CHECK_LIVING(&w, "c", "1 10 11 12");
            world_check(&w);
            world_close(&w);
        }
    }
}

/* Calls of the storage for the death of most of a lane. */
static uint64_t calls_of_a_mass_death(bool leaves_rest)
{
    struct world w;

    open_marking(&w, ON_MEMORY);
    world_collection(&w, "c", 10, "x: x; u: u unique");
    insert_two_generations(&w);
    if (leaves_rest)
        storage_faulty_leave_rest(w.storage);
    const uint64_t before = storage_faulty_calls(w.storage);
    purge_ten(&w);
    const uint64_t calls = storage_faulty_calls(w.storage) - before;
    CHECK_LIVING(&w, "c", "10 11 12");
    CHECK_EQ(world_purge(&w).documents, 0, "nobody is purged twice");
    world_check(&w);
    world_close(&w);
    return calls;
}

TEST(cut_by_mark, b8_files_that_somebody_was_rewriting_are_dropped_behind_that)
{
    CHECK(calls_of_a_mass_death(true) > calls_of_a_mass_death(false));
}
