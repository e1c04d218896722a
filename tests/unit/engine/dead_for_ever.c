/* B-5: once dead, never back, whatever is done afterwards, and whether or not the purger has come by.
 *
 * One story is told for every way somebody could try to bring the dead back: three documents die (by
 * the default, by their own ttl, by a date), two live on; then it is tried; then everything is asked. */
#include "tests/support/engine_fixture.h"

static void raise_the_default(struct fixture *f)
{
    CHECK_OK(fixture_set_ttl(f, "c", 1000000));
}

static void set_the_default_to_never(struct fixture *f)
{
    CHECK_OK(fixture_set_ttl(f, "c", TTL_NEVER));
}

static void switch_ttl_off(struct fixture *f)
{
    CHECK_OK(fixture_set_ttl(f, "c", TTL_OFF));
}

static void switch_ttl_off_and_on(struct fixture *f)
{
    CHECK_OK(fixture_set_ttl(f, "c", TTL_OFF));
    fixture_pass(f, 1500);
    CHECK_OK(fixture_set_ttl(f, "c", 1000000));
}

static void lower_and_raise_the_default(struct fixture *f)
{
    CHECK_OK(fixture_set_ttl(f, "c", 9));
    CHECK_OK(fixture_set_ttl(f, "c", 1000000));
}

static void raise_the_seconds_of_the_index(struct fixture *f)
{
    CHECK_OK(fixture_set_expiry(f, "c", "at", 1000000));
}

static void take_the_expiry_from_the_index(struct fixture *f)
{
    CHECK_OK(fixture_set_expiry(f, "c", "at", INDEX_NO_EXPIRY));
}

static void drop_the_index(struct fixture *f)
{
    CHECK_OK(fixture_index_drop(f, "c", "at"));
}

static void drop_and_recreate_the_index(struct fixture *f)
{
    CHECK_OK(fixture_index_drop(f, "c", "at"));
    fixture_index_built(f, "c", "at: at ttl=1000000");
}

static void switch_dates_off(struct fixture *f)
{
    CHECK_OK(fixture_date_rules(f, false));
}

static void switch_dates_off_raise_and_on(struct fixture *f)
{
    CHECK_OK(fixture_date_rules(f, false));
    CHECK_OK(fixture_set_expiry(f, "c", "at", 1000000));
    CHECK_OK(fixture_date_rules(f, true));
}

static void step_the_clock_back(struct fixture *f)
{
    manual_time_set_wall(&f->time, FIXTURE_START - 86400000);
}

static void step_the_clock_back_and_restart(struct fixture *f)
{
    manual_time_set_wall(&f->time, FIXTURE_START - 86400000);
    fixture_restart(f);
}

static void step_the_clock_back_and_crash(struct fixture *f)
{
    CHECK_OK(engine_store_clock(f->engine));
    manual_time_set_wall(&f->time, FIXTURE_START - 86400000);
    fixture_crash(f);
}

static void raise_everything_then_step_the_clock_back_and_crash(struct fixture *f)
{
    CHECK_OK(fixture_set_ttl(f, "c", 1000000));
    CHECK_OK(fixture_set_expiry(f, "c", "at", 1000000));
    manual_time_set_wall(&f->time, FIXTURE_START);
    fixture_crash(f);
}

static void switch_the_purger_off(struct fixture *f)
{
    purger_set_enabled(f->engine, false);
}

static void rename_the_collection_and_back(struct fixture *f)
{
    const bytes db = BYTES_LITERAL("db");
    CHECK_OK(
        collection_rename(f->engine, f->arena, db, BYTES_LITERAL("c"), db, BYTES_LITERAL("d")));
    CHECK_LIVING(f, "d", "4 5");
    CHECK_OK(
        collection_rename(f->engine, f->arena, db, BYTES_LITERAL("d"), db, BYTES_LITERAL("c")));
}

static const struct attempt {
    const char *what;
    void (*act)(struct fixture *f);
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
    { "B-5 the server is restarted",                  fixture_restart                                    },
    { "B-5 the server crashes",                       fixture_crash                                      },
    { "B-5 the purger is switched off",               switch_the_purger_off                              },
    { "B-5 the collection is renamed",                rename_the_collection_and_back                     },
};

/* When the purger comes by: never, before the attempt, after it, or both. */
enum purging { NO_PURGE, PURGE_BEFORE, PURGE_AFTER, PURGE_BOTH, PURGING_COUNT };

static void tell(struct fixture *f)
{
    fixture_collection(f, "c", 10, "at: at ttl=10; u: u unique; x: x");
    CHECK_WRITTEN(fixture_insert(f, "c", "{'_id':1,'u':1}"), OK);
    CHECK_WRITTEN(fixture_insert(f, "c", "{'_id':2,'u':2,'ttl':10}"), OK);
    CHECK_WRITTEN(fixture_insert(f, "c", "{'_id':3,'u':3,'ttl':-1,'at':@0}"), OK);
    CHECK_WRITTEN(fixture_insert(f, "c", "{'_id':4,'u':4,'ttl':-1}"), OK);
    CHECK_WRITTEN(fixture_insert(f, "c", "{'_id':5,'u':5,'ttl':900000,'at':@900000000}"), OK);
    fixture_at(f, 10000);
    CHECK_LIVING(f, "c", "4 5");
}

static void check_the_dead_are_gone(struct fixture *f, const char *what)
{
    CHECK_LIVING(f, "c", "4 5");
    for (int id = 1; id <= 3; id++) {
        CHECK_EQ(fixture_replace(f, "c", "{'_id':%d,'u':%d}", id, id).code, NOT_FOUND, "%s", what);
        CHECK_EQ(fixture_delete(f, "c", "{'_id':%d}", id).code, NOT_FOUND, "%s", what);
    }
    /* A new document may take the ids and the unique keys of the dead. */
    CHECK_EQ(fixture_insert(f, "c", "{'_id':6,'u':2,'ttl':-1}").code, OK, "%s", what);
    CHECK_EQ(fixture_insert(f, "c", "{'_id':1,'u':3,'ttl':-1}").code, OK, "%s", what);
    const struct written again = fixture_upsert(f, "c", "{'_id':2,'u':1,'ttl':-1}");
    CHECK_EQ(again.code, OK, "%s: %s", what, again.message);
    CHECK_EQ(again.was_there, false, "%s", what);
    CHECK_LIVING(f, "c", "1 2 4 5 6");
}

static void attempt(enum backing backing, const struct attempt *attempt_, enum purging purging)
{
    struct fixture f;
    fixture_open(&f, backing);
    tell(&f);
    if (purging == PURGE_BEFORE || purging == PURGE_BOTH)
        fixture_purge(&f);
    attempt_->act(&f);
    CHECK_LIVING(&f, "c", "4 5");
    if (purging == PURGE_AFTER || purging == PURGE_BOTH)
        fixture_purge(&f);
    CHECK_LIVING(&f, "c", "4 5");
    fixture_pass(&f, 2000);
    check_the_dead_are_gone(&f, attempt_->what);
    fixture_check(&f);
    fixture_crash(&f);
    CHECK_LIVING(&f, "c", "1 2 4 5 6");
    fixture_purge(&f);
    CHECK_LIVING(&f, "c", "1 2 4 5 6");
    fixture_close(&f);
}

TEST(dead_for_ever, b5_nothing_brings_the_dead_back_in_memory)
{
    EACH_ROW(attempts, a)
        for (enum purging purging = NO_PURGE; purging < PURGING_COUNT; purging++)
            attempt(ON_MEMORY, a, purging);
}

TEST(dead_for_ever, b5_nothing_brings_the_dead_back_on_disk)
{
    EACH_ROW(attempts, a)
        for (enum purging purging = NO_PURGE; purging < PURGE_BOTH; purging++)
            attempt(ON_ROCKSDB, a, purging);
}

/* Two attempts in a row, every pair of them. */
TEST(dead_for_ever, b5_no_two_changes_in_a_row_bring_the_dead_back)
{
    EACH_ROW(attempts, first)
        EACH_ROW(attempts, second) {
            struct fixture f;
            const bool is_twice_gone =
                (first->act == drop_the_index || first->act == take_the_expiry_from_the_index) &&
                (second->act == drop_the_index || second->act == drop_and_recreate_the_index ||
                 second->act == raise_the_seconds_of_the_index ||
                 second->act == switch_dates_off_raise_and_on ||
                 second->act == take_the_expiry_from_the_index ||
                 second->act == raise_everything_then_step_the_clock_back_and_crash);
            if (is_twice_gone)
                continue;
            fixture_open(&f, ON_MEMORY);
            tell(&f);
            first->act(&f);
            fixture_pass(&f, 700);
            second->act(&f);
            CHECK_LIVING(&f, "c", "4 5");
            fixture_pass(&f, 1000);
            fixture_purge(&f);
            CHECK_LIVING(&f, "c", "4 5");
            fixture_close(&f);
        }
}

TEST(dead_for_ever, b5_a_document_written_again_after_the_index_was_dropped_lives)
{
    EACH_BACKING(backing)
    {
        for (int is_purged = 0; is_purged < 2; is_purged++) {
            struct fixture f;
            fixture_open(&f, backing);
            tell(&f);
            if (is_purged)
                fixture_purge(&f);
            CHECK_OK(fixture_index_drop(&f, "c", "at"));
            CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':3,'u':3,'ttl':-1,'at':@0}"), OK);
            CHECK_LIVING(&f, "c", "3 4 5");
            fixture_purge(&f);
            CHECK_LIVING(&f, "c", "3 4 5");
            fixture_index_built(&f, "c", "at: at ttl=20");
            CHECK_LIVING(&f, "c", "3 4 5");
            fixture_at(&f, 19999);
            CHECK_LIVING(&f, "c", "3 4 5");
            fixture_at(&f, 20000);
            CHECK_LIVING(&f, "c", "4 5");
            fixture_close(&f);
        }
    }
}

TEST(dead_for_ever, b5_many_changes_of_one_index_are_all_remembered)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", TTL_OFF, "at: at ttl=10");
        /* Each round kills one document by lowering, lets a living one stay, and raises again. */
        for (int i = 0; i < 100; i++) {
            CHECK_WRITTEN(
                fixture_upsert(&f, "c", "{'_id':1,'at':@%d}", (int)fixture_now(&f) - 8000), OK);
            CHECK_LIVING(&f, "c", "1");
            CHECK_OK(fixture_set_expiry(&f, "c", "at", 5));
            CHECK_LIVING(&f, "c", "");
            CHECK_OK(fixture_set_expiry(&f, "c", "at", 10 + i));
            CHECK_LIVING(&f, "c", "");
            if (i % 40 == 39)
                fixture_purge(&f);
            fixture_pass(&f, 100);
        }
        fixture_close(&f);
    }
}

TEST(dead_for_ever, b5_ttl_switched_off_and_on_many_times_kills_and_keeps_the_right_ones)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", 5, "x: x");
        for (int i = 0; i < 20; i++) {
            CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':%d,'ttl':%d}", 2 * i, i % 2 ? 3 : -1),
                          OK);
            CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':%d}", 2 * i + 1), OK);
            CHECK_OK(fixture_set_ttl(&f, "c", i % 3 == 0 ? TTL_OFF : i % 3 == 1 ? TTL_NEVER : 5));
            fixture_pass(&f, 1000);
            if (i % 7 == 6)
                fixture_purge(&f);
        }
        CHECK_OK(fixture_set_ttl(&f, "c", 1));
        fixture_pass(&f, 5000);
        CHECK_LIVING(&f, "c", "0 4 8 12 16 20 24 28 32 36");
        fixture_close(&f);
    }
}
