/* B-5: once dead, never back, whatever is done afterwards, and whether or not the purger has come by.
 *
 * One story is told for every way somebody could try to bring the dead back: three documents die (by
 * the default, by their own ttl, by a date), two live on; then it is tried; then everything is asked. */
#include "tests/support/world.h"

static void raise_the_default(struct world *w)
{
    CHECK_OK(world_set_ttl(w, "c", 1000000));
}

static void set_the_default_to_never(struct world *w)
{
    CHECK_OK(world_set_ttl(w, "c", TTL_NEVER));
}

static void switch_ttl_off(struct world *w)
{
    CHECK_OK(world_set_ttl(w, "c", TTL_OFF));
}

static void switch_ttl_off_and_on(struct world *w)
{
    CHECK_OK(world_set_ttl(w, "c", TTL_OFF));
    world_pass(w, 1500);
    CHECK_OK(world_set_ttl(w, "c", 1000000));
}

static void lower_and_raise_the_default(struct world *w)
{
    CHECK_OK(world_set_ttl(w, "c", 9));
    CHECK_OK(world_set_ttl(w, "c", 1000000));
}

static void raise_the_seconds_of_the_index(struct world *w)
{
    CHECK_OK(world_set_expiry(w, "c", "at", 1000000));
}

static void take_the_expiry_from_the_index(struct world *w)
{
    CHECK_OK(world_set_expiry(w, "c", "at", INDEX_NO_EXPIRY));
}

static void drop_the_index(struct world *w)
{
    CHECK_OK(world_index_drop(w, "c", "at"));
}

static void drop_and_recreate_the_index(struct world *w)
{
    CHECK_OK(world_index_drop(w, "c", "at"));
    world_index_built(w, "c", "at: at ttl=1000000");
}

static void switch_dates_off(struct world *w)
{
    CHECK_OK(world_date_rules(w, false));
}

static void switch_dates_off_raise_and_on(struct world *w)
{
    CHECK_OK(world_date_rules(w, false));
    CHECK_OK(world_set_expiry(w, "c", "at", 1000000));
    CHECK_OK(world_date_rules(w, true));
}

static void step_the_clock_back(struct world *w)
{
    CHECK_OK(engine_store_clock(w->engine)); /* as the timekeeper of a running server does */
    manual_time_set_wall(&w->time, WORLD_START - 86400000);
}

static void step_the_clock_back_and_restart(struct world *w)
{
    manual_time_set_wall(&w->time, WORLD_START - 86400000);
    world_restart(w);
}

static void step_the_clock_back_and_crash(struct world *w)
{
    CHECK_OK(engine_store_clock(w->engine));
    manual_time_set_wall(&w->time, WORLD_START - 86400000);
    world_crash(w);
}

static void raise_everything_then_step_the_clock_back_and_crash(struct world *w)
{
    CHECK_OK(world_set_ttl(w, "c", 1000000));
    CHECK_OK(world_set_expiry(w, "c", "at", 1000000));
    manual_time_set_wall(&w->time, WORLD_START);
    world_crash(w);
}

static void switch_the_purger_off(struct world *w)
{
    purger_set_enabled(w->engine, false);
}

static void rename_the_collection_and_back(struct world *w)
{
    const bytes db = BYTES_LITERAL("db");
    CHECK_OK(
        collection_rename(w->engine, w->arena, db, BYTES_LITERAL("c"), db, BYTES_LITERAL("d")));
    CHECK_LIVING(w, "d", "4 5");
    CHECK_OK(
        collection_rename(w->engine, w->arena, db, BYTES_LITERAL("d"), db, BYTES_LITERAL("c")));
}

static const struct attempt {
    const char *what;
    void (*act)(struct world *w);
} attempts[] = {
    {"B-5 the default is raised",                     raise_the_default                                  },
    { "B-5 the default is set to never",              set_the_default_to_never                           },
    { "B-5 ttl is switched off",                      switch_ttl_off                                     },
    { "B-5 ttl is switched off and on",               switch_ttl_off_and_on                              },
    { "B-5 the default is lowered and raised",        lower_and_raise_the_default                        },
    { "B-5 the seconds of the index are raised",      raise_the_seconds_of_the_index                     },
    { "B-5 the index loses its expiry",               take_the_expiry_from_the_index                     },
    { "B-5 the index is dropped",                     drop_the_index                                     },
    { "B-5 the index is dropped and recreated",       drop_and_recreate_the_index                        },
    { "B-5 dates are switched off",                   switch_dates_off                                   },
    { "B-5 dates are off, raised, on",                switch_dates_off_raise_and_on                      },
    { "B-5 the clock is stepped back",                step_the_clock_back                                },
    { "B-5 the clock is stepped back over a restart", step_the_clock_back_and_restart                    },
    { "B-5 the clock is stepped back over a crash",   step_the_clock_back_and_crash                      },
    { "B-5 all is raised, then a crash",              raise_everything_then_step_the_clock_back_and_crash},
    { "B-5 the server is restarted",                  world_restart                                      },
    { "B-5 the server crashes",                       world_crash                                        },
    { "B-5 the purger is switched off",               switch_the_purger_off                              },
    { "B-5 the collection is renamed",                rename_the_collection_and_back                     },
};

/* When the purger comes by: never, before the attempt, after it, or both. */
enum purging { NO_PURGE, PURGE_BEFORE, PURGE_AFTER, PURGE_BOTH, PURGING_COUNT };

static void tell(struct world *w)
{
    world_collection(w, "c", 10, "at: at ttl=10; u: u unique; x: x");
    CHECK_WRITTEN(world_insert(w, "c", "{'_id':1,'u':1}"), OK);
    CHECK_WRITTEN(world_insert(w, "c", "{'_id':2,'u':2,'ttl':10}"), OK);
    CHECK_WRITTEN(world_insert(w, "c", "{'_id':3,'u':3,'ttl':-1,'at':@0}"), OK);
    CHECK_WRITTEN(world_insert(w, "c", "{'_id':4,'u':4,'ttl':-1}"), OK);
    CHECK_WRITTEN(world_insert(w, "c", "{'_id':5,'u':5,'ttl':900000,'at':@900000000}"), OK);
    world_at(w, 10000);
    CHECK_LIVING(w, "c", "4 5");
}

static void check_the_dead_are_gone(struct world *w, const char *what)
{
    CHECK_LIVING(w, "c", "4 5");
    for (int id = 1; id <= 3; id++) {
        CHECK_EQ(world_replace(w, "c", "{'_id':%d,'u':%d}", id, id).code, NOT_FOUND, "%s", what);
        CHECK_EQ(world_delete(w, "c", "{'_id':%d}", id).code, NOT_FOUND, "%s", what);
    }
    /* A new document may take the ids and the unique keys of the dead. */
    CHECK_EQ(world_insert(w, "c", "{'_id':6,'u':2,'ttl':-1}").code, OK, "%s", what);
    CHECK_EQ(world_insert(w, "c", "{'_id':1,'u':3,'ttl':-1}").code, OK, "%s", what);
    const struct written again = world_upsert(w, "c", "{'_id':2,'u':1,'ttl':-1}");
    CHECK_EQ(again.code, OK, "%s: %s", what, again.message);
    CHECK_EQ(again.was_there, false, "%s", what);
    CHECK_LIVING(w, "c", "1 2 4 5 6");
}

static void attempt(enum backing backing, const struct attempt *attempt_, enum purging purging)
{
    struct world w;
    world_open(&w, backing);
    tell(&w);
    if (purging == PURGE_BEFORE || purging == PURGE_BOTH)
        world_purge(&w);
    attempt_->act(&w);
    CHECK_LIVING(&w, "c", "4 5");
    if (purging == PURGE_AFTER || purging == PURGE_BOTH)
        world_purge(&w);
    CHECK_LIVING(&w, "c", "4 5");
    world_pass(&w, 2000);
    check_the_dead_are_gone(&w, attempt_->what);
    world_check(&w);
    world_crash(&w);
    CHECK_LIVING(&w, "c", "1 2 4 5 6");
    world_purge(&w);
    CHECK_LIVING(&w, "c", "1 2 4 5 6");
    world_close(&w);
}

TEST(dead_for_ever, b5_nothing_brings_the_dead_back_in_memory)
{
    EACH_ROW(attempts, a)
        for (enum purging purging = NO_PURGE; purging < PURGING_COUNT; purging++)
            attempt(ON_MEMORY, a, purging);
}

TEST(dead_for_ever, b5_nothing_brings_the_dead_back_on_disk)
{
    const enum purging step = check_scale() < 1 ? PURGE_AFTER : 1;
    EACH_ROW(attempts, a)
        for (enum purging purging = NO_PURGE; purging < PURGE_BOTH; purging += step)
            attempt(ON_ROCKSDB, a, purging);
}

/* Two attempts in a row, every pair of them; where tests are scaled down, every ninth. */
TEST(dead_for_ever, b5_no_two_changes_in_a_row_bring_the_dead_back)
{
    const size_t stride = check_scale() < 1 ? 9 : 1;
    size_t pair = 0;
    EACH_ROW(attempts, first)
        EACH_ROW(attempts, second) {
            struct world w;
            if (pair++ % stride != 0)
                continue;
            const bool is_twice_gone =
                (first->act == drop_the_index || first->act == take_the_expiry_from_the_index) &&
                (second->act == drop_the_index || second->act == drop_and_recreate_the_index ||
                 second->act == raise_the_seconds_of_the_index ||
                 second->act == switch_dates_off_raise_and_on ||
                 second->act == take_the_expiry_from_the_index ||
                 second->act == raise_everything_then_step_the_clock_back_and_crash);
            if (is_twice_gone)
                continue;
            world_open(&w, ON_MEMORY);
            tell(&w);
            first->act(&w);
            world_pass(&w, 700);
            second->act(&w);
            CHECK_LIVING(&w, "c", "4 5");
            world_pass(&w, 1000);
            world_purge(&w);
            CHECK_LIVING(&w, "c", "4 5");
            world_close(&w);
        }
}

TEST(dead_for_ever, b5_a_document_written_again_after_the_index_was_dropped_lives)
{
    EACH_BACKING(backing)
    {
        for (int is_purged = 0; is_purged < 2; is_purged++) {
            struct world w;
            world_open(&w, backing);
            tell(&w);
            if (is_purged)
                world_purge(&w);
            CHECK_OK(world_index_drop(&w, "c", "at"));
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3,'u':3,'ttl':-1,'at':@0}"), OK);
            CHECK_LIVING(&w, "c", "3 4 5");
            world_purge(&w);
            CHECK_LIVING(&w, "c", "3 4 5");
            world_index_built(&w, "c", "at: at ttl=20");
            CHECK_LIVING(&w, "c", "3 4 5");
            world_at(&w, 19999);
            CHECK_LIVING(&w, "c", "3 4 5");
            world_at(&w, 20000);
            CHECK_LIVING(&w, "c", "4 5");
            world_close(&w);
        }
    }
}

TEST(dead_for_ever, b5_many_changes_of_one_index_are_all_remembered)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "at: at ttl=10");
        /* Each round kills one document by lowering, lets a living one stay, and raises again. */
        for (int i = 0; i < 100; i++) {
            CHECK_WRITTEN(world_upsert(&w, "c", "{'_id':1,'at':@%d}", (int)world_now(&w) - 8000),
                          OK);
            CHECK_LIVING(&w, "c", "1");
            CHECK_OK(world_set_expiry(&w, "c", "at", 5));
            CHECK_LIVING(&w, "c", "");
            CHECK_OK(world_set_expiry(&w, "c", "at", 10 + i));
            CHECK_LIVING(&w, "c", "");
            if (i % 40 == 39)
                world_purge(&w);
            world_pass(&w, 100);
        }
        world_close(&w);
    }
}

TEST(dead_for_ever, b5_ttl_switched_off_and_on_many_times_kills_and_keeps_the_right_ones)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", 5, "x: x");
        for (int i = 0; i < 20; i++) {
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'ttl':%d}", 2 * i, i % 2 ? 3 : -1), OK);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d}", 2 * i + 1), OK);
            CHECK_OK(world_set_ttl(&w, "c", i % 3 == 0 ? TTL_OFF : i % 3 == 1 ? TTL_NEVER : 5));
            world_pass(&w, 1000);
            if (i % 7 == 6)
                world_purge(&w);
        }
        CHECK_OK(world_set_ttl(&w, "c", 1));
        world_pass(&w, 5000);
        CHECK_LIVING(&w, "c", "0 4 8 12 16 20 24 28 32 36");
        world_close(&w);
    }
}

/* Cleaning up behind a policy change forgets what made its dead dead, so every row of theirs has to be
 * gone by then, in every collection that the pass cleans. */
TEST(dead_for_ever, b5_cleaning_up_several_collections_in_one_pass_brings_nobody_back)
{
    EACH_BACKING(backing)
    {
        const char *names[] = { "a", "b", "c" };
        struct world w;
        world_open(&w, backing);
        EACH_ROW(names, name) {
            world_collection(&w, *name, TTL_OFF, "at: at ttl=10; x: x");
            CHECK_WRITTEN(world_insert(&w, *name, "{'_id':1,'at':@0}"), OK);
            CHECK_WRITTEN(world_insert(&w, *name, "{'_id':2,'at':@0}"), OK);
            CHECK_WRITTEN(world_insert(&w, *name, "{'_id':3}"), OK);
        }
        world_at(&w, 10000);
        world_purge(&w);
        CHECK_OK(world_date_rules(&w, false));
        for (int pass = 0; pass < 4; pass++) {
            world_purge(&w);
            EACH_ROW(names, name)
                CHECK_LIVING(&w, *name, "3");
        }
        world_close(&w);
    }
}

TEST(dead_for_ever, b5_cleaning_up_next_to_a_running_request_brings_nobody_back)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "at: at ttl=10; x: x");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'at':@0}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2}"), OK);
        world_at(&w, 10000);
        world_purge(&w);
        struct request before = world_begin(&w);
        CHECK_OK(world_date_rules(&w, false));
        struct request between = world_begin(&w);
        world_purge(&w);
        CHECK_LIVING(&w, "c", "2");
        world_end(&before);
        world_purge(&w);
        CHECK_LIVING(&w, "c", "2");
        world_end(&between);
        world_purge(&w);
        CHECK_LIVING(&w, "c", "2");
        world_close(&w);
    }
}
