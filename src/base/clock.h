/* Server time: the wall clock, made safe. It never runs backwards (within a process by itself, across
 * restarts by the high-water mark that the engine stores), and it notices when the wall clock leaps
 * ahead of monotonic time. The source is injected, so tests own time. Callable from every thread. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Milliseconds since 1970, UTC. */
typedef int64_t time_ms;

#define TIME_NEVER INT64_MAX

/* Where time comes from. `monotonic_ms` never jumps; its zero is anywhere. */
struct clock_source {
    time_ms (*wall_ms)(void *context);
    int64_t (*monotonic_ms)(void *context);
    void *context;
};

struct clock;

/* Real time of this machine. */
struct clock_source clock_source_system(void);

/* Handle; NULL without memory. */
struct clock *clock_open(struct clock_source source, int64_t leap_tolerance_ms);
void clock_close(struct clock *clock);

/* Server time: the largest of wall time, everything handed out before, and the restored mark. */
time_ms clock_now(struct clock *clock);
int64_t clock_monotonic(struct clock *clock);
/* What the machine's own clock says, whatever server time is: for dates that clients sign. */
time_ms clock_wall(const struct clock *clock);

/* At start: server time is not below `mark`; a leap that was pending stays pending. */
void clock_restore(struct clock *clock, time_ms mark, bool is_leap_pending);

/* A leap hides what is due but must not destroy anything: the purger asks before each step. */
bool clock_is_leap_pending(const struct clock *clock);
/* The operator says that the wall clock is right. */
void clock_confirm_leap(struct clock *clock);

/* Moves server time forward by hand (tests, over the wire too). Not a leap. */
time_ms clock_advance(struct clock *clock, int64_t by_ms);

/* Nanoseconds of this machine that never run backwards, to say how long something took; nothing that a client is told is decided by them. */
int64_t clock_stopwatch_ns(void);

/* A source that only moves when told to, for tests. */
struct manual_time {
    _Atomic int64_t wall;
    _Atomic int64_t monotonic;
};
struct clock_source clock_source_manual(struct manual_time *time);
/* Wall and monotonic time pass together. */
void manual_time_pass(struct manual_time *time, int64_t by_ms);
/* Only the wall clock is set: a leap if forward, a step back if backward. */
void manual_time_set_wall(struct manual_time *time, time_ms wall);

#endif
