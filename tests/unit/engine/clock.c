/* B-9: server time never runs backwards, across restarts too, and a forward leap hides but does not
 * destroy until somebody says that the clock is right. */
#include "tests/support/engine_fixture.h"

enum { HOUR_MS = 3600 * 1000 };

static void leap(struct fixture *f, int64_t by_ms)
{
    manual_time_set_wall(&f->time, atomic_load(&f->time.wall) + by_ms);
}

TEST(clock, b9_server_time_stands_still_when_the_wall_clock_steps_back)
{
    struct fixture f;
    fixture_open(&f, ON_MEMORY);
    fixture_collection(&f, "c", 10, "");
    fixture_at(&f, 20000);
    CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1}"), OK);
    leap(&f, -HOUR_MS);
    CHECK_EQ(fixture_now(&f), 20000, "");
    CHECK_EQ(fixture_insert(&f, "c", "{'_id':2}").written_at_s, FIXTURE_START_S + 20, "");
    fixture_pass(&f, HOUR_MS + 9999);
    CHECK_LIVING(&f, "c", "1 2");
    fixture_pass(&f, 1);
    CHECK_LIVING(&f, "c", "");
    fixture_close(&f);
}

TEST(clock, b9_server_time_does_not_run_back_over_a_clean_restart)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", 10, "");
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1}"), OK);
        fixture_at(&f, 10000);
        CHECK_LIVING(&f, "c", "");
        leap(&f, -HOUR_MS);
        fixture_restart(&f);
        CHECK(fixture_now(&f) >= 10000);
        CHECK_LIVING(&f, "c", "");
        fixture_close(&f);
    }
}

TEST(clock, b9_server_time_does_not_run_back_over_a_crash_behind_a_write)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", 10, "");
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1}"), OK);
        fixture_at(&f, 10000);
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':2}"), OK);
        leap(&f, -HOUR_MS);
        fixture_crash(&f);
        CHECK(fixture_now(&f) >= 10000);
        CHECK(fixture_now(&f) <= 10000 + LIMIT_CLOCK_MARK_AHEAD_MS);
        CHECK_LIVING(&f, "c", "2");
        fixture_close(&f);
    }
}

TEST(clock, b9_a_stored_clock_survives_a_crash)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", 10, "");
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1}"), OK);
        clock_advance(f.clock, 86400000);
        CHECK_LIVING(&f, "c", "");
        CHECK_OK(engine_store_clock(f.engine));
        fixture_crash(&f);
        CHECK(fixture_now(&f) >= 86400000);
        CHECK_LIVING(&f, "c", "");
        fixture_close(&f);
    }
}

TEST(clock, b9_moving_the_clock_by_hand_is_not_a_leap)
{
    struct fixture f;
    fixture_open(&f, ON_MEMORY);
    fixture_collection(&f, "c", 10, "");
    CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1}"), OK);
    clock_advance(f.clock, (int64_t)90 * 86400 * 1000);
    CHECK_LIVING(&f, "c", "");
    const struct purge_result result = fixture_purge(&f);
    CHECK(!result.is_frozen);
    CHECK_EQ(result.documents, 1, "");
    fixture_close(&f);
}

TEST(clock, b9_a_leap_hides_what_is_due_but_purges_nothing_until_confirmed)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", 10, "at: at ttl=10");
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1}"), OK);
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':2,'ttl':-1,'at':@0}"), OK);
        leap(&f, HOUR_MS);
        CHECK_LIVING(&f, "c", "");
        for (int i = 0; i < 3; i++) {
            const struct purge_result frozen = fixture_purge(&f);
            CHECK(frozen.is_frozen);
            CHECK_EQ(frozen.documents, 0, "");
            fixture_pass(&f, HOUR_MS);
        }
        CHECK_EQ(fixture_figures(&f, "c").dead_documents, 2, "");
        CHECK_OK(engine_confirm_clock(f.engine));
        const struct purge_result result = fixture_purge(&f);
        CHECK(!result.is_frozen);
        CHECK_EQ(result.documents, 2, "");
        CHECK_LIVING(&f, "c", "");
        fixture_close(&f);
    }
}

TEST(clock, b9_a_small_correction_of_the_wall_clock_is_not_a_leap)
{
    struct fixture f;
    fixture_open(&f, ON_MEMORY);
    fixture_collection(&f, "c", 10, "");
    CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1}"), OK);
    leap(&f, LIMIT_CLOCK_LEAP_MS);
    CHECK_LIVING(&f, "c", "");
    CHECK(!fixture_purge(&f).is_frozen);
    leap(&f, LIMIT_CLOCK_LEAP_MS + 1);
    CHECK_LIVING(&f, "c", "");
    CHECK(fixture_purge(&f).is_frozen);
    fixture_close(&f);
}

TEST(clock, b9_a_pending_leap_survives_a_restart_and_a_crash)
{
    EACH_BACKING(backing)
    {
        for (int is_crash = 0; is_crash < 2; is_crash++) {
            struct fixture f;
            fixture_open(&f, backing);
            fixture_collection(&f, "c", 10, "");
            CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1}"), OK);
            leap(&f, HOUR_MS);
            CHECK_LIVING(&f, "c", "");
            CHECK(fixture_purge(&f).is_frozen);
            for (int i = 0; i < 2; i++) {
                if (is_crash)
                    fixture_crash(&f);
                else
                    fixture_restart(&f);
                CHECK_LIVING(&f, "c", "");
                CHECK(fixture_purge(&f).is_frozen);
                CHECK_EQ(fixture_figures(&f, "c").dead_documents, 1, "");
            }
            CHECK_OK(engine_confirm_clock(f.engine));
            fixture_crash(&f);
            CHECK_EQ(fixture_purge(&f).documents, 1, "confirmed once is confirmed");
            fixture_close(&f);
        }
    }
}

TEST(clock, b9_a_leap_while_a_write_is_the_first_to_see_it_freezes_purging_too)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", 10, "");
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1}"), OK);
        leap(&f, HOUR_MS);
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':2}"), OK);
        fixture_crash(&f);
        CHECK(fixture_purge(&f).is_frozen);
        CHECK_LIVING(&f, "c", "2");
        CHECK_EQ(metrics_read(&f.metrics, METRIC_clock_leap_pending), 1, "it says so loudly");
        CHECK_OK(engine_confirm_clock(f.engine));
        CHECK_EQ(metrics_read(&f.metrics, METRIC_clock_leap_pending), 0, "");
        CHECK_EQ(fixture_purge(&f).documents, 1, "");
        fixture_close(&f);
    }
}

TEST(clock, b9_after_a_leap_and_a_step_back_time_goes_on_from_the_leap)
{
    struct fixture f;
    fixture_open(&f, ON_MEMORY);
    fixture_collection(&f, "c", 10, "");
    leap(&f, HOUR_MS);
    CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1}"), OK);
    leap(&f, -HOUR_MS);
    CHECK_EQ(fixture_now(&f), HOUR_MS, "");
    fixture_pass(&f, 9000);
    CHECK_LIVING(&f, "c", "1");
    fixture_pass(&f, HOUR_MS);
    CHECK_LIVING(&f, "c", "1");
    fixture_pass(&f, 1000);
    CHECK_LIVING(&f, "c", "");
    fixture_close(&f);
}
