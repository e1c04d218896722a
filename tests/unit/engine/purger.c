/* The purger: gives back the space of the dead, takes nothing from the living, waits for whoever still
 * looks, and tells those who want to hear of every death. */
#include "engine/state.h"
#include "tests/support/world.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

TEST(purger, b8_documents_that_die_in_write_order_leave_in_one_cut)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", 10, "");
        for (int i = 0; i < 300; i++) {
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d}", i), OK);
            world_pass(&w, 50);
        }
        world_at(&w, 20000);
        const struct purge_result result = world_purge(&w);
        CHECK_EQ(result.documents, 220, "those of the first 11 s");
        CHECK_EQ(result.reaped, 0, "");
        CHECK_EQ(result.truncations, 1, "");
        CHECK_EQ(world_figures(&w, "c").documents, 80, "");
        world_close(&w);
    }
}

TEST(purger, b8_each_lane_is_cut_once)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", 10, "at: at ttl=10");
        for (int i = 0; i < 60; i++) {
            const char *kinds[] = { "{'_id':%d}", "{'_id':%d,'ttl':8}", "{'_id':%d,'at':@-5000}" };
            CHECK_WRITTEN(world_insert(&w, "c", kinds[i % 3], i), OK);
        }
        world_at(&w, 10000);
        const struct purge_result result = world_purge(&w);
        CHECK_EQ(result.documents, 60, "");
        CHECK_EQ(result.truncations, 3, "");
        CHECK_EQ(result.reaped, 0, "");
        world_close(&w);
    }
}

TEST(purger, nothing_is_purged_before_its_deadline)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", 10, "at: at ttl=10");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'ttl':10}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3,'ttl':-1,'at':@0}"), OK);
        world_at(&w, 9999);
        CHECK_EQ(world_purge(&w).documents, 0, "");
        CHECK_LIVING(&w, "c", "1 2 3");
        world_at(&w, 10000);
        world_purge(&w);
        CHECK_LIVING(&w, "c", "");
        world_at(&w, 20000);
        world_purge(&w);
        CHECK_EQ(world_figures(&w, "c").purged_documents, 3, "");
        CHECK_EQ(world_figures(&w, "c").dead_documents, 0, "");
        world_close(&w);
    }
}

TEST(purger, purging_twice_finds_nothing_the_second_time)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", 10, "x: x");
    for (int i = 0; i < 50; i++)
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'x':1}", i), OK);
    world_at(&w, 10000);
    CHECK_EQ(world_purge(&w).documents, 50, "");
    const struct purge_result again = world_purge(&w);
    CHECK_EQ(again.documents, 0, "");
    CHECK_EQ(again.bytes, 0, "");
    CHECK_EQ(again.truncations + again.reaped, 0, "");
    world_close(&w);
}

TEST(purger, m5_documents_older_than_an_index_are_reaped_one_by_one)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "");
        for (int i = 0; i < 100; i++)
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'at':@%d}", i, i * 100), OK);
        world_index_built(&w, "c", "at: at ttl=1");
        world_at(&w, 5999);
        world_pass(&w, 1);
        const struct purge_result result = world_purge(&w);
        CHECK_EQ(result.documents, 51, "");
        CHECK_EQ(result.reaped, 51, "");
        CHECK_EQ(world_figures(&w, "c").documents, 49, "");
        CHECK_EQ(world_figures(&w, "c").dead_documents, 0, "");
        world_close(&w);
    }
}

TEST(purger, it_stays_behind_the_oldest_running_request)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", 10, "x: x; at: at ttl=10");
        for (int i = 0; i < 6; i++)
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'x':%d%s}", i, i,
                                       i % 2 ? ",'ttl':-1,'at':@0" : ""),
                          OK);
        world_at(&w, 9000);
        struct request old = world_begin(&w);
        const struct collection *c = world_find(&old, "c");
        world_at(&w, 60000);
        world_purge(&w);
        CHECK_LIVING(&w, "c", "");
        for (int i = 0; i < 6; i++) {
            char text[32];
            struct document document;
            snprintf(text, sizeof(text), "{'_id':%d}", i);
            CHECK_OK(document_read(&old, c, world_key(&old, c, text), &document));
            document_release(&old, &document);
        }
        CHECK_STRING(world_scan_in(&old, "c", "key"), "0 1 2 3 4 5");
        CHECK_STRING(world_scan_in(&old, "c", "x"), "0 1 2 3 4 5");
        world_end(&old);
        world_purge(&w);
        CHECK_EQ(world_figures(&w, "c").dead_documents, 0, "");
        CHECK_EQ(world_figures(&w, "c").purged_documents, 6, "");
        world_close(&w);
    }
}

TEST(purger, it_stays_behind_a_request_that_began_under_a_longer_ttl)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", 1000, "at: at ttl=1000");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'ttl':-1,'at':@0}"), OK);
        world_at(&w, 20000);
        struct request old = world_begin(&w);
        CHECK_OK(world_set_ttl(&w, "c", 5));
        CHECK_OK(world_set_expiry(&w, "c", "at", 5));
        CHECK_LIVING(&w, "c", "");
        world_purge(&w);
        CHECK_STRING(world_scan_in(&old, "c", "key"), "1 2");
        world_end(&old);
        world_pass(&w, 60000);
        world_purge(&w);
        CHECK_EQ(world_figures(&w, "c").dead_documents, 0, "");
        world_close(&w);
    }
}

TEST(purger, documents_written_again_behind_a_cut_are_safe)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", 10, "u: u unique; at: at ttl=10");
        for (int round = 0; round < 8; round++) {
            for (int i = 0; i < 10; i++)
                CHECK_WRITTEN(world_upsert(&w, "c", "{'_id':%d,'u':%d%s}", i, (i + round) % 10,
                                           i % 3 ? "" : ",'ttl':-1,'at':@-9000"),
                              OK);
            if (round == 0)
                CHECK_OK(world_set_expiry(&w, "c", "at", 100000));
            CHECK_LIVING(&w, "c", "0 1 2 3 4 5 6 7 8 9");
            world_pass(&w, 5000);
            world_purge(&w);
            CHECK_LIVING(&w, "c", "0 1 2 3 4 5 6 7 8 9");
            world_pass(&w, 5000);
            CHECK_LIVING(&w, "c", "0 3 6 9");
            world_purge(&w);
            CHECK_LIVING(&w, "c", "0 3 6 9");
            /* The unique keys move around by one each round: make room first. */
            for (int i = 0; i < 10; i += 3)
                CHECK_WRITTEN(world_delete(&w, "c", "{'_id':%d}", i), OK);
        }
        world_close(&w);
    }
}

TEST(purger, a_backlog_in_one_collection_does_not_starve_another)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "big", TTL_OFF, "");
    world_collection(&w, "small", TTL_OFF, "");
    for (int i = 0; i < 400; i++)
        CHECK_WRITTEN(world_insert(&w, "big", "{'_id':%d,'at':@0}", i), OK);
    CHECK_WRITTEN(world_insert(&w, "small", "{'_id':1,'at':@0}"), OK);
    world_index_built(&w, "big", "at: at ttl=1");
    world_index_built(&w, "small", "at: at ttl=1");
    world_at(&w, 1000);
    world_purge(&w);
    CHECK_EQ(world_figures(&w, "big").dead_documents, 0, "");
    CHECK_EQ(world_figures(&w, "small").dead_documents, 0, "");
    world_close(&w);
}

static void ignore(void *context, const char *violation)
{
    (void)context;
    (void)violation;
}

TEST(purger, dropped_collections_give_their_space_back)
{
    struct world w;
    struct check_summary after;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "x: x");
    for (int i = 0; i < 50; i++)
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'x':%d}", i, i), OK);
    CHECK_OK(collection_drop(w.engine, w.arena, BYTES_LITERAL("db"), BYTES_LITERAL("c")));
    world_purge(&w);
    CHECK_OK(engine_check(w.engine, ignore, NULL, &after));
    CHECK_EQ(after.documents + after.index_rows + after.garbage_rows, 0, "");
    world_close(&w);
}

TEST(purger, the_pause_the_switch_and_the_activity_can_be_seen)
{
    struct world w;
    struct purger_activity before, after;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", 10, "");
    purger_watch(w.engine, &before);
    CHECK(!before.is_working);
    purger_set_pause(w.engine, 3);
    world_purge(&w);
    purger_watch(w.engine, &after);
    CHECK(after.passes > before.passes);
    CHECK(!after.is_working);
    world_close(&w);
}

/* A thousand documents of 8 KB that do not compress, ten in a commit. */
static void fill_disk(struct world *w)
{
    struct random random = random_seeded(1);
    for (int i = 0; i < 1000; i += 10) {
        struct request request = world_begin(w);
        struct write_op ops[10];
        for (int k = 0; k < 10; k++) {
            char text[7001];
            for (size_t at = 0; at < sizeof(text) - 1; at++)
                text[at] = (char)('0' + random_below(&random, 10));
            text[sizeof(text) - 1] = '\0';
            ops[k] = world_op(&request, "c", WRITE_INSERT, "{'_id':%d,'x':%d,'text':'%s'}", i + k,
                              i, text);
        }
        CHECK_OK(document_write(&request, ops, 10, WRITE_ALL_OR_NOTHING));
        world_end(&request);
    }
}

static uint64_t disk_bytes(struct world *w)
{
    struct storage_usage usage;
    /* The first write makes room in the log, so measure behind one. */
    CHECK_WRITTEN(world_insert(w, "c", "{'_id':0,'ttl':1}"), OK);
    storage_usage(w->storage, &usage);
    return usage.disk_bytes;
}

TEST(purger, b7_the_space_of_the_dead_comes_back)
{
    struct world w;
    struct storage_usage full;
    world_open(&w, ON_ROCKSDB);
    world_collection(&w, "c", 10, "x: x");
    const uint64_t empty = disk_bytes(&w);
    world_at(&w, 1000);
    fill_disk(&w);
    storage_usage(w.storage, &full);
    CHECK(full.disk_bytes > empty + 3000000);
    world_at(&w, 71000);
    world_purge(&w);
    world_pass(&w, 60000);
    world_purge(&w);
    const uint64_t purged = disk_bytes(&w);
    CHECK_THAT(purged <= empty + empty / 10, "empty %llu, full %llu, purged %llu bytes",
               (unsigned long long)empty, (unsigned long long)full.disk_bytes,
               (unsigned long long)purged);
    world_close(&w);
}

/* ---- readers of deaths ----------------------------------------------------------------------------------- */

struct obituary {
    int heard[WORLD_IDS];
    int count;
    uint64_t last_seq[WORLD_IDS];
};

static void note_death(void *context, const struct death *death)
{
    struct obituary *obituary = context;
    const int id = world_id_of(death->document);
    CHECK(id >= 0 && id < WORLD_IDS);
    obituary->heard[id]++;
    obituary->count++;
    obituary->last_seq[id] = death->stamp->seq;
}

static void read_deaths(struct world *w, death_reader *reader, struct obituary *obituary)
{
    struct request request = world_begin(w);
    const uint32_t id = world_find(&request, "c")->id;
    world_end(&request);
    CHECK_OK(engine_read_deaths(w->engine, id, reader, obituary));
}

TEST(deaths, each_is_told_once_and_before_the_bytes_go)
{
    EACH_BACKING(backing)
    {
        struct world w;
        struct obituary obituary = { .count = 0 };
        world_open(&w, backing);
        world_collection(&w, "c", 10, "at: at ttl=10; x: x");
        read_deaths(&w, note_death, &obituary);
        for (int i = 0; i < 40; i++) {
            const char *kinds[] = { "{'_id':%d}", "{'_id':%d,'ttl':5}",
                                    "{'_id':%d,'ttl':-1,'at':@-2000}", "{'_id':%d,'ttl':-1}" };
            CHECK_WRITTEN(world_insert(&w, "c", kinds[i % 4], i), OK);
        }
        CHECK_WRITTEN(world_delete(&w, "c", "{'_id':0}"), OK);
        for (int second = 0; second <= 12; second++) {
            world_at(&w, second * 1000);
            world_purge(&w);
        }
        for (int i = 0; i < 40; i++)
            CHECK_EQ(obituary.heard[i], i % 4 != 3 && i != 0, "document %d", i);
        world_purge(&w);
        CHECK_EQ(obituary.count, 29, "");
        world_close(&w);
    }
}

TEST(deaths, c14_a_dead_document_is_told_before_its_id_is_used_again)
{
    EACH_BACKING(backing)
    {
        struct world w;
        struct obituary obituary = { .count = 0 };
        world_open(&w, backing);
        world_collection(&w, "c", 10, "x: x");
        read_deaths(&w, note_death, &obituary);
        const uint64_t first = world_insert(&w, "c", "{'_id':1}").seq;
        world_at(&w, 10000);
        const uint64_t second = world_insert(&w, "c", "{'_id':1}").seq;
        CHECK_EQ(obituary.heard[1], 1, "told by the insert that took its place");
        CHECK_EQ(obituary.last_seq[1], first, "");
        world_purge(&w);
        CHECK_EQ(obituary.heard[1], 1, "and not again by the purger");
        world_at(&w, 20000);
        world_purge(&w);
        CHECK_EQ(obituary.heard[1], 2, "its second life");
        CHECK_EQ(obituary.last_seq[1], second, "");
        world_close(&w);
    }
}

TEST(deaths, documents_that_end_by_another_rule_than_their_lanes_are_told_too)
{
    EACH_BACKING(backing)
    {
        struct world w;
        struct obituary obituary = { .count = 0 };
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "");
        for (int i = 0; i < 10; i++)
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'at':@%d}", i, i * 1000), OK);
        read_deaths(&w, note_death, &obituary);
        world_index_built(&w, "c", "at: at ttl=1");
        world_at(&w, 5500);
        world_purge(&w);
        CHECK_OK(world_set_ttl(&w, "c", 6));
        world_at(&w, 6000);
        world_purge(&w);
        for (int i = 0; i < 10; i++)
            CHECK_EQ(obituary.heard[i], 1, "document %d", i);
        world_close(&w);
    }
}

TEST(deaths, nobody_is_told_after_the_reader_has_left)
{
    struct world w;
    struct obituary obituary = { .count = 0 };
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", 10, "");
    read_deaths(&w, note_death, &obituary);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1}"), OK);
    read_deaths(&w, NULL, NULL);
    world_at(&w, 10000);
    world_purge(&w);
    CHECK_EQ(obituary.count, 0, "");
    CHECK_EQ(world_figures(&w, "c").purged_documents, 1, "");
    world_close(&w);
}

/* With a reader a lane is cut as far as documents lie; a later cut may end below an earlier one. */
TEST(deaths, a_cut_below_an_earlier_one_leaves_that_one_remembered)
{
    EACH_BACKING(backing)
    {
        struct world w;
        struct obituary obituary = { .count = 0 };
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "at: at ttl=1; x: x");
        read_deaths(&w, note_death, &obituary);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'at':@5000}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2}"), OK);
        world_at(&w, 6000);
        world_purge(&w);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3,'at':@-98000}"), OK);
        world_purge(&w);
        world_restart(&w);
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':1}"), NOT_FOUND);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1}"), OK);
        CHECK_LIVING(&w, "c", "1 2");
        CHECK_EQ(obituary.count, 2, "");
        world_close(&w);
    }
}

/* A collection whose odd documents have died and whose even ones are deleted behind the back of `old`, which
 * has fixed its instant before. */
static void empty_behind(struct world *w, struct request *old)
{
    world_collection(w, "c", TTL_NEVER, "x: x");
    for (int i = 1; i <= 50; i++)
        world_insert(w, "c", "{'_id':%d,'x':%d,'ttl':%d}", i, i, i % 2 ? 5 : -1);
    world_pass(w, 6000);
    *old = world_begin(w);
    CHECK_OK(storage_settle(w->engine->storage, world_find(old, "c")->state->partition));
    CHECK(strlen(world_scan_in(old, "c", "key")) > 0);
    for (int i = 2; i <= 50; i += 2)
        world_delete(w, "c", "{'_id':%d}", i);
}

TEST(purger, an_emptied_collection_is_not_cleared_under_a_request_that_saw_it_full)
{
    struct request old;
    struct world w;

    world_open(&w, ON_ROCKSDB);
    empty_behind(&w, &old);
    world_pass(&w, 1000);
    world_purge(&w);
    world_purge(&w);
    CHECK_EQ(strlen(world_scan_in(&old, "c", "key")), strlen("2 4 6 8 ") + 21 * 3 - 1, "");
    CHECK_EQ(strlen(world_scan_in(&old, "c", "x")), strlen("2 4 6 8 ") + 21 * 3 - 1, "");
    world_end(&old);
    world_purge(&w);
    CHECK_LIVING(&w, "c", "");
    world_close(&w);
}

static int stored_rows(struct world *w, const char *name)
{
    const struct storage_range all = { .start = BYTES_LITERAL("\x01") };
    return world_count_rows(w, name, SPACE_ROWS, all);
}

TEST(purger, requests_that_began_later_do_not_keep_an_emptied_collection_from_being_cleared)
{
    struct request old, later;
    struct world w;

    world_open(&w, ON_ROCKSDB);
    empty_behind(&w, &old);
    world_pass(&w, 1000);
    later = world_begin(&w);
    world_end(&old);
    CHECK(stored_rows(&w, "c") > 0);
    world_purge(&w);
    world_purge(&w);
    CHECK_EQ(stored_rows(&w, "c"), 0, "");
    world_end(&later);
    world_close(&w);
}

TEST(purger, a_request_with_an_older_picture_holds_back_only_what_was_changed_since)
{
    EACH_BACKING(backing)
    {
        struct world w;
        struct request old;

        world_open(&w, backing);
        world_collection(&w, "same", 10, "");
        world_collection(&w, "changed", 10, "");
        CHECK_WRITTEN(world_insert(&w, "same", "{'_id':1}"), OK);
        CHECK_WRITTEN(world_insert(&w, "changed", "{'_id':1}"), OK);
        world_at(&w, 11000);
        old = world_begin(&w);
        CHECK_OK(world_set_ttl(&w, "changed", 5));
        const struct purge_result held = world_purge(&w);
        CHECK_THAT(held.look_again_at <= clock_now(w.clock) + 1000,
                   "and is looked for again soon, not at %" PRId64, held.look_again_at);
        CHECK_EQ(world_figures(&w, "same").purged_documents, 1, "");
        CHECK_EQ(world_figures(&w, "changed").purged_documents, 0, "");
        world_end(&old);
        world_purge(&w);
        CHECK_EQ(world_figures(&w, "changed").purged_documents, 1, "");
        world_close(&w);
    }
}

struct beginner {
    struct engine *engine;
    _Atomic bool is_over;
};

/* When somebody has begun quietly, as sweeps do, or has come and gone. */
static void *tell_late(void *argument)
{
    struct beginner *beginner = argument;
    struct request_slot *slots = beginner->engine->slots;
    bool has_begun = false;

    while (!has_begun && !atomic_load(&beginner->is_over) && sched_yield() == 0)
        for (unsigned i = 0; i < LIMIT_RUNNING_REQUESTS; i++)
            has_begun = has_begun || atomic_load(&slots[i].now) == SLOT_QUIET;
    atomic_store(&slots[0].now, 0);
    return NULL;
}

static void sweep_beside_a_beginner(struct world *w, partition_id partition)
{
    struct beginner beginner = { .engine = w->engine };
    pthread_t thread;

    CHECK_EQ(atomic_exchange(&w->engine->slots[0].now, SLOT_STARTING), 0, "");
    CHECK_EQ(pthread_create(&thread, NULL, tell_late, &beginner), 0, "");
    CHECK_OK(storage_sweep(w->engine->storage, partition, BYTES_NONE, BYTES_NONE));
    atomic_store(&beginner.is_over, true);
    pthread_join(thread, NULL);
}

/* Not for ever: on a busy machine the beginner may be late. */
TEST(purger, a_sweep_waits_until_a_request_that_is_just_beginning_has_told_what_it_sees)
{
    enum { TRIES = 50 };
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", 10, "x: x");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'x':1,'ttl':-1}"), OK);
    const int rows = stored_rows(&w, "c");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'x':2}"), OK);
    world_at(&w, 11000);
    world_purge(&w);
    CHECK(stored_rows(&w, "c") > rows);
    struct request request = world_begin(&w);
    const partition_id partition = world_find(&request, "c")->state->partition;
    world_end(&request);
    for (int i = 0; i < TRIES && stored_rows(&w, "c") > rows; i++)
        sweep_beside_a_beginner(&w, partition);
    CHECK_EQ(stored_rows(&w, "c"), rows, "");
    world_close(&w);
}

/* ---- logs that are trimmed ------------------------------------------------------------------------------ */

/* 24 MB that end 30 seconds behind the start, and one document that does not. */
static void fill_with_dying(struct world *w)
{
    enum { COUNT = 1600, TEXT_BYTES = 15000 };
    char document[TEXT_BYTES + 64];

    world_collection(w, "c", 30, "");
    for (int i = 0; i < COUNT; i++) {
        const int len = snprintf(document, sizeof(document), "{'_id':%d,'text':'", i);
        memset(document + len, 'x', TEXT_BYTES);
        memcpy(document + len + TEXT_BYTES, "'}", 3);
        CHECK_WRITTEN(world_insert(w, "c", document), OK);
    }
    CHECK_WRITTEN(world_insert(w, "c", "{'_id':5000,'ttl':-1}"), OK);
}

static bool is_trimmed(const struct world *w)
{
    return w->engine->purger.trimmed_seq == atomic_load(&w->engine->durable_seq);
}

TEST(purger, b8_many_that_die_in_one_second_are_looked_for_when_it_is_over_and_few_later)
{
    for (int are_many = 0; are_many < 2; are_many++) {
        struct world w;
        world_open(&w, ON_MEMORY);
        if (are_many) {
            fill_with_dying(&w);
        } else {
            world_collection(&w, "c", 30, "");
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1}"), OK);
        }
        world_at(&w, 20000);
        world_purge(&w); /* trims */
        const time_ms look_again_at = world_purge(&w).look_again_at - WORLD_START;
        CHECK_THAT(look_again_at >= 30000 && look_again_at < 31000 + 10000 * !are_many,
                   "at %" PRId64 " ms", look_again_at);
        CHECK(are_many || look_again_at >= 40000);
        world_close(&w);
    }
}

TEST(purger, a_trim_waits_for_many_that_die_in_a_moment_but_not_for_long)
{
    struct world w;

    world_open(&w, ON_MEMORY);
    fill_with_dying(&w);
    world_at(&w, 28500);
    const struct purge_result waiting = world_purge(&w); /* the first of all */
    CHECK(!is_trimmed(&w));
    CHECK(waiting.look_again_at <= WORLD_START + 28500 + 1000);
    w.engine->purger.trim_put_off_at -= 5000;
    world_purge(&w);
    CHECK(is_trimmed(&w)); /* it has waited long enough */
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':5001,'ttl':-1}"), OK);
    w.engine->purger.next_trim_at = 0;
    world_purge(&w);
    CHECK(!is_trimmed(&w)); /* the next one waits anew */
    world_at(&w, 30000);
    world_purge(&w);
    CHECK(is_trimmed(&w)); /* they were cut before */
    world_close(&w);
}
