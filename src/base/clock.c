/* Clock: server time from an injected source.
 *
 * now = max(wall + offset, everything handed out before). The distance wall - monotonic is
 * remembered; when it grows by more than the tolerance at once, the wall clock has leapt and the
 * flag stays up until the leap is confirmed. Small corrections of the wall clock are followed: the
 * remembered distance is renewed once an hour while it is within the tolerance. When the wall clock
 * is set back, server time stands still until the wall clock has caught up.
 *
 * Threads: all state is atomic; `high_water` only grows. */
#include "base/clock.h"

#include <stdatomic.h>
#include <time.h>

#include "base/check.h"
#include "base/memory.h"

enum { REBASE_EVERY_MS = 60 * 60 * 1000 };

struct clock {
    struct clock_source source;
    int64_t leap_tolerance_ms;
    _Atomic int64_t high_water;
    _Atomic int64_t offset;     /* moved by hand; added to wall time */
    _Atomic int64_t distance;   /* wall - monotonic as last accepted */
    _Atomic int64_t rebased_at; /* monotonic */
    _Atomic bool is_leap_pending;
};

int64_t clock_stopwatch_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t read_clock_ms(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static time_ms system_wall_ms(void *context)
{
    (void)context;
    return read_clock_ms(CLOCK_REALTIME);
}

/* Counts while the machine sleeps, so waking up is not a leap. */
static int64_t system_monotonic_ms(void *context)
{
    (void)context;
    return read_clock_ms(CLOCK_BOOTTIME);
}

struct clock_source clock_source_system(void)
{
    return (struct clock_source){ .wall_ms = system_wall_ms, .monotonic_ms = system_monotonic_ms };
}

struct clock *clock_open(struct clock_source source, int64_t leap_tolerance_ms)
{
    struct clock *clock = memory_take_zeroed(1, sizeof(*clock));

    if (!clock)
        return NULL;
    clock->source = source;
    clock->leap_tolerance_ms = leap_tolerance_ms;
    time_ms wall = source.wall_ms(source.context);
    int64_t monotonic = source.monotonic_ms(source.context);
    atomic_store(&clock->high_water, wall);
    atomic_store(&clock->distance, wall - monotonic);
    atomic_store(&clock->rebased_at, monotonic);
    return clock;
}

void clock_close(struct clock *clock)
{
    memory_give(clock);
}

int64_t clock_monotonic(struct clock *clock)
{
    return clock->source.monotonic_ms(clock->source.context);
}

static void watch_for_leap(struct clock *clock, time_ms wall)
{
    int64_t monotonic = clock_monotonic(clock);
    int64_t ahead = (wall - monotonic) - atomic_load(&clock->distance);

    if (ahead > clock->leap_tolerance_ms)
        atomic_store(&clock->is_leap_pending, true);
    else if (monotonic - atomic_load(&clock->rebased_at) > REBASE_EVERY_MS) {
        atomic_store(&clock->rebased_at, monotonic);
        atomic_store(&clock->distance, wall - monotonic);
    }
}

static time_ms raise_high_water(struct clock *clock, time_ms candidate)
{
    int64_t seen = atomic_load(&clock->high_water);

    while (seen < candidate) {
        if (atomic_compare_exchange_weak(&clock->high_water, &seen, candidate))
            return candidate;
    }
    return seen;
}

time_ms clock_wall(const struct clock *clock)
{
    return clock->source.wall_ms(clock->source.context);
}

time_ms clock_now(struct clock *clock)
{
    time_ms wall = clock->source.wall_ms(clock->source.context);
    int64_t offset = atomic_load_explicit(&clock->offset, memory_order_relaxed);
    time_ms moved = int64_add_saturating(wall, offset);

    if (moved <= atomic_load_explicit(&clock->high_water, memory_order_relaxed))
        return atomic_load(&clock->high_water);
    watch_for_leap(clock, wall);
    return raise_high_water(clock, moved);
}

void clock_restore(struct clock *clock, time_ms mark, bool is_leap_pending)
{
    raise_high_water(clock, mark);
    if (is_leap_pending)
        atomic_store(&clock->is_leap_pending, true);
}

bool clock_is_leap_pending(const struct clock *clock)
{
    return atomic_load(&clock->is_leap_pending);
}

void clock_confirm_leap(struct clock *clock)
{
    int64_t monotonic = clock_monotonic(clock);

    atomic_store(&clock->rebased_at, monotonic);
    atomic_store(&clock->distance, clock->source.wall_ms(clock->source.context) - monotonic);
    atomic_store(&clock->is_leap_pending, false);
}

time_ms clock_advance(struct clock *clock, int64_t by_ms)
{
    ASSERT(by_ms >= 0);
    time_ms target = int64_add_saturating(clock_now(clock), by_ms);
    atomic_store(&clock->offset, target - clock->source.wall_ms(clock->source.context));
    return raise_high_water(clock, target);
}

static time_ms manual_wall_ms(void *context)
{
    struct manual_time *time = context;
    return atomic_load(&time->wall);
}

static int64_t manual_monotonic_ms(void *context)
{
    struct manual_time *time = context;
    return atomic_load(&time->monotonic);
}

struct clock_source clock_source_manual(struct manual_time *time)
{
    return (struct clock_source){ .wall_ms = manual_wall_ms,
                                  .monotonic_ms = manual_monotonic_ms,
                                  .context = time };
}

void manual_time_pass(struct manual_time *time, int64_t by_ms)
{
    atomic_fetch_add(&time->monotonic, by_ms);
    atomic_fetch_add(&time->wall, by_ms);
}

void manual_time_set_wall(struct manual_time *time, time_ms wall)
{
    atomic_store(&time->wall, wall);
}
