/* B-9: server time never runs backwards, across restarts too, and a forward leap hides but does not
 * destroy until somebody says that the clock is right. */
#include "tests/support/world.h"

enum { HOUR_MS = 3600 * 1000 };

static void leap(struct world *w, int64_t by_ms)
{
    manual_time_set_wall(&w->time, atomic_load(&w->time.wall) + by_ms);
}

TEST(clock, b9_server_time_stands_still_when_the_wall_clock_steps_back)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", 10, "");
    world_at(&w, 20000);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1}"), OK);
    leap(&w, -HOUR_MS);
    CHECK_EQ(world_now(&w), 20000, "");
    CHECK_EQ(world_insert(&w, "c", "{'_id':2}").written_at_s, WORLD_START_S + 20, "");
    world_pass(&w, HOUR_MS + 9999);
    CHECK_LIVING(&w, "c", "1 2");
    world_pass(&w, 1);
    CHECK_LIVING(&w, "c", "");
    world_close(&w);
}

TEST(clock, b9_server_time_does_not_run_back_over_a_clean_restart)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", 10, "");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1}"), OK);
        world_at(&w, 10000);
        CHECK_LIVING(&w, "c", "");
        leap(&w, -HOUR_MS);
        world_restart(&w);
        CHECK(world_now(&w) >= 10000);
        CHECK_LIVING(&w, "c", "");
        world_close(&w);
    }
}

TEST(clock, b9_server_time_does_not_run_back_over_a_crash_behind_a_write)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", 10, "");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1}"), OK);
        world_at(&w, 10000);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2}"), OK);
        leap(&w, -HOUR_MS);
        world_crash(&w);
        CHECK(world_now(&w) >= 10000);
        CHECK(world_now(&w) <= 10000 + LIMIT_CLOCK_MARK_AHEAD_MS);
        CHECK_LIVING(&w, "c", "2");
        world_close(&w);
    }
}

TEST(clock, b9_a_stored_clock_survives_a_crash)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", 10, "");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1}"), OK);
        clock_advance(w.clock, 86400000);
        CHECK_LIVING(&w, "c", "");
        CHECK_OK(engine_store_clock(w.engine));
        world_crash(&w);
        CHECK(world_now(&w) >= 86400000);
        CHECK_LIVING(&w, "c", "");
        world_close(&w);
    }
}

TEST(clock, b9_moving_the_clock_by_hand_is_not_a_leap)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", 10, "");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1}"), OK);
    clock_advance(w.clock, (int64_t)90 * 86400 * 1000);
    CHECK_LIVING(&w, "c", "");
    const struct purge_result result = world_purge(&w);
    CHECK(!result.is_frozen);
    CHECK_EQ(result.documents, 1, "");
    world_close(&w);
}

TEST(clock, b9_a_leap_hides_what_is_due_but_purges_nothing_until_confirmed)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", 10, "at: at ttl=10");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'ttl':-1,'at':@0}"), OK);
        leap(&w, HOUR_MS);
        CHECK_LIVING(&w, "c", "");
        for (int i = 0; i < 3; i++) {
            const struct purge_result frozen = world_purge(&w);
            CHECK(frozen.is_frozen);
            CHECK_EQ(frozen.documents, 0, "");
            world_pass(&w, HOUR_MS);
        }
        CHECK_EQ(world_figures(&w, "c").dead_documents, 2, "");
        CHECK_OK(engine_confirm_clock(w.engine));
        const struct purge_result result = world_purge(&w);
        CHECK(!result.is_frozen);
        CHECK_EQ(result.documents, 2, "");
        CHECK_LIVING(&w, "c", "");
        world_close(&w);
    }
}

TEST(clock, b9_a_small_correction_of_the_wall_clock_is_not_a_leap)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", 10, "");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1}"), OK);
    leap(&w, LIMIT_CLOCK_LEAP_MS);
    CHECK_LIVING(&w, "c", "");
    CHECK(!world_purge(&w).is_frozen);
    leap(&w, LIMIT_CLOCK_LEAP_MS + 1);
    CHECK_LIVING(&w, "c", "");
    CHECK(world_purge(&w).is_frozen);
    world_close(&w);
}

TEST(clock, b9_a_pending_leap_survives_a_restart_and_a_crash)
{
    EACH_BACKING(backing)
    {
        for (int is_crash = 0; is_crash < 2; is_crash++) {
            struct world w;
            world_open(&w, backing);
            world_collection(&w, "c", 10, "");
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1}"), OK);
            leap(&w, HOUR_MS);
            CHECK_LIVING(&w, "c", "");
            CHECK(world_purge(&w).is_frozen);
            for (int i = 0; i < 2; i++) {
                if (is_crash)
                    world_crash(&w);
                else
                    world_restart(&w);
                CHECK_LIVING(&w, "c", "");
                CHECK(world_purge(&w).is_frozen);
                CHECK_EQ(world_figures(&w, "c").dead_documents, 1, "");
            }
            CHECK_OK(engine_confirm_clock(w.engine));
            world_crash(&w);
            CHECK_EQ(world_purge(&w).documents, 1, "confirmed once is confirmed");
            world_close(&w);
        }
    }
}

TEST(clock, b9_a_leap_while_a_write_is_the_first_to_see_it_freezes_purging_too)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", 10, "");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1}"), OK);
        leap(&w, HOUR_MS);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2}"), OK);
        world_crash(&w);
        CHECK(world_purge(&w).is_frozen);
        CHECK_LIVING(&w, "c", "2");
        CHECK_EQ(metrics_read(&w.metrics, METRIC_clock_leap_pending), 1, "it says so loudly");
        CHECK_OK(engine_confirm_clock(w.engine));
        CHECK_EQ(metrics_read(&w.metrics, METRIC_clock_leap_pending), 0, "");
        CHECK_EQ(world_purge(&w).documents, 1, "");
        world_close(&w);
    }
}

TEST(clock, b9_after_a_leap_and_a_step_back_time_goes_on_from_the_leap)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", 10, "");
    leap(&w, HOUR_MS);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1}"), OK);
    leap(&w, -HOUR_MS);
    CHECK_EQ(world_now(&w), HOUR_MS, "");
    world_pass(&w, 9000);
    CHECK_LIVING(&w, "c", "1");
    world_pass(&w, HOUR_MS);
    CHECK_LIVING(&w, "c", "1");
    world_pass(&w, 1000);
    CHECK_LIVING(&w, "c", "");
    world_close(&w);
}
