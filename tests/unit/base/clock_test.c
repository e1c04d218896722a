/* Server time: never backwards, and leaps are noticed. */
#include "base/base.h"
#include "tests/check.h"

enum { MINUTE = 60 * 1000, HOUR = 60 * MINUTE, TOLERANCE = 5 * MINUTE, START = 1000000000 };

static struct clock *open_at(struct manual_time *time, time_ms wall)
{
    time->wall = wall;
    time->monotonic = 12345;
    return clock_open(clock_source_manual(time), TOLERANCE);
}

TEST(clock, follows_the_wall_clock)
{
    struct manual_time time;
    struct clock *clock = open_at(&time, START);

    CHECK_EQ(clock_now(clock), START, "");
    manual_time_pass(&time, 250);
    CHECK_EQ(clock_now(clock), START + 250, "");
    CHECK_EQ(clock_monotonic(clock), 12345 + 250, "");
    CHECK(!clock_is_leap_pending(clock));
    clock_close(clock);
}

TEST(clock, stands_still_while_the_wall_clock_is_behind)
{
    struct manual_time time;
    struct clock *clock = open_at(&time, START);

    manual_time_pass(&time, 1000);
    CHECK_EQ(clock_now(clock), START + 1000, "");
    manual_time_set_wall(&time, START - HOUR);
    CHECK_EQ(clock_now(clock), START + 1000, "a step back stands still");
    manual_time_pass(&time, HOUR);
    CHECK_EQ(clock_now(clock), START + 1000, "still behind");
    manual_time_pass(&time, 1500);
    CHECK_EQ(clock_now(clock), START + 1500, "caught up");
    CHECK(!clock_is_leap_pending(clock));
    clock_close(clock);
}

TEST(clock, restored_mark_is_a_floor)
{
    struct manual_time time;
    struct clock *clock = open_at(&time, START);

    clock_restore(clock, START + 5000, false);
    CHECK_EQ(clock_now(clock), START + 5000, "");
    CHECK(!clock_is_leap_pending(clock));
    manual_time_pass(&time, 6000);
    CHECK_EQ(clock_now(clock), START + 6000, "");
    clock_restore(clock, START, false);
    CHECK_EQ(clock_now(clock), START + 6000, "a lower mark changes nothing");
    clock_close(clock);
}

TEST(clock, leap_is_pending_until_it_is_confirmed)
{
    struct manual_time time;
    struct clock *clock = open_at(&time, START);

    manual_time_set_wall(&time, START + 2 * HOUR);
    CHECK_EQ(clock_now(clock), START + 2 * HOUR, "the leap is followed");
    CHECK(clock_is_leap_pending(clock));
    manual_time_pass(&time, 3 * HOUR);
    clock_now(clock);
    CHECK(clock_is_leap_pending(clock));
    manual_time_set_wall(&time, START);
    clock_now(clock);
    CHECK(clock_is_leap_pending(clock));
    manual_time_set_wall(&time, START + 5 * HOUR);
    clock_confirm_leap(clock);
    CHECK(!clock_is_leap_pending(clock));
    manual_time_pass(&time, MINUTE);
    clock_now(clock);
    CHECK(!clock_is_leap_pending(clock));
    clock_close(clock);
}

TEST(clock, pending_leap_survives_a_restart)
{
    struct manual_time time;
    struct clock *clock = open_at(&time, START);

    clock_restore(clock, START, true);
    CHECK(clock_is_leap_pending(clock));
    manual_time_pass(&time, HOUR);
    clock_now(clock);
    CHECK(clock_is_leap_pending(clock));
    clock_confirm_leap(clock);
    CHECK(!clock_is_leap_pending(clock));
    clock_close(clock);
}

TEST(clock, correction_within_the_tolerance_is_not_a_leap)
{
    static const struct {
        int64_t ahead_ms;
        bool is_leap;
    } rows[] = {
        {1,              false},
        { TOLERANCE,     false},
        { TOLERANCE + 1, true },
    };

    EACH_ROW(rows, r) {
        struct manual_time time;
        struct clock *clock = open_at(&time, START);
        manual_time_pass(&time, 1000);
        manual_time_set_wall(&time, time.wall + r->ahead_ms);
        CHECK_EQ(clock_now(clock), START + 1000 + r->ahead_ms, "");
        CHECK_EQ(clock_is_leap_pending(clock), r->is_leap, "%d ms ahead", (int)r->ahead_ms);
        clock_close(clock);
    }
}

TEST(clock, slow_drift_is_followed_hour_by_hour)
{
    struct manual_time time;
    struct clock *clock = open_at(&time, START);

    for (int hour = 0; hour < 24; hour++) {
        manual_time_pass(&time, HOUR + 1);
        manual_time_set_wall(&time, time.wall + 2 * MINUTE);
        clock_now(clock);
        CHECK_THAT(!clock_is_leap_pending(clock), "hour %d", hour);
    }
    clock_close(clock);
}

TEST(clock, small_steps_within_an_hour_add_up_to_a_leap)
{
    struct manual_time time;
    struct clock *clock = open_at(&time, START);

    for (int step = 1; step <= 3; step++) {
        manual_time_pass(&time, MINUTE);
        manual_time_set_wall(&time, time.wall + 2 * MINUTE);
        clock_now(clock);
        CHECK_EQ(clock_is_leap_pending(clock), step == 3, "step %d", step);
    }
    clock_close(clock);
}

TEST(clock, advance_moves_time_without_a_leap)
{
    struct manual_time time;
    struct clock *clock = open_at(&time, START);

    CHECK_EQ(clock_advance(clock, 90LL * 24 * HOUR), START + 90LL * 24 * HOUR, "");
    CHECK_EQ(clock_now(clock), START + 90LL * 24 * HOUR, "");
    manual_time_pass(&time, 5);
    CHECK_EQ(clock_now(clock), START + 90LL * 24 * HOUR + 5, "time goes on from there");
    CHECK(!clock_is_leap_pending(clock));
    CHECK_EQ(clock_advance(clock, 0), START + 90LL * 24 * HOUR + 5, "");
    CHECK_EQ(clock_advance(clock, 10), START + 90LL * 24 * HOUR + 15, "advances add up");
    CHECK(!clock_is_leap_pending(clock));
    clock_close(clock);
}

TEST(clock, advance_stops_at_the_end_of_time)
{
    struct manual_time time;
    struct clock *clock = open_at(&time, START);

    CHECK_EQ(clock_advance(clock, INT64_MAX), INT64_MAX, "");
    CHECK_EQ(clock_now(clock), INT64_MAX, "");
    manual_time_pass(&time, 1000);
    CHECK_EQ(clock_now(clock), INT64_MAX, "it does not wrap");
    clock_close(clock);
}

TEST(clock, system_source_moves_forward)
{
    struct clock *clock = clock_open(clock_source_system(), TOLERANCE);
    time_ms before = clock_now(clock);

    CHECK_THAT(before > INT64_C(1600000000000), "%lld is long ago", (long long)before);
    CHECK(clock_now(clock) >= before);
    CHECK(!clock_is_leap_pending(clock));
    clock_close(clock);
}
