/* Giving back the space of the dead. Works on its own thread unless the engine is manual; these calls
 * steer and watch it. */
#ifndef ENGINE_PURGER_H
#define ENGINE_PURGER_H

#include "engine/catalog.h"

struct purge_result {
    uint64_t documents, bytes; /* removed */
    uint64_t truncations, reaped;
    bool is_frozen;        /* a clock leap waits to be confirmed: nothing was removed */
    time_ms look_again_at; /* when there may be more to do, as far as is known; TIME_NEVER */
};

/* One pass over all collections, until nothing more is due; runs on the caller's thread. */
MUST_USE status engine_purge(struct engine *engine, struct purge_result *out);

/* Longest pause between passes; takes effect at once. */
void purger_set_pause(struct engine *engine, int seconds);
/* Off: nothing is purged; what is dead stays hidden all the same. */
void purger_set_enabled(struct engine *engine, bool is_enabled);

struct purger_activity {
    bool is_working;
    uint32_t collection_id; /* what it is doing now */
    int64_t since_ms;
    uint64_t passes;
    int64_t worked_ms; /* in passes, altogether */
    int pause_s;       /* as of purger_set_pause */
};
void purger_watch(struct engine *engine, struct purger_activity *out);

/* What it has removed from one collection in one go. */
struct purge_event {
    uint64_t number; /* 1, 2, 3 ... since the start */
    uint32_t collection_id;
    uint64_t documents, bytes;
    time_ms began_at, ended_at;
};
enum { PURGE_HISTORY_EVENTS = 256 };
/* The events behind a number, oldest first, as far as they are remembered; how many. */
size_t purger_history(struct engine *engine, uint64_t after, struct purge_event *out, size_t room);

/* Says that the wall clock is right after a leap (B-9); purging goes on. */
MUST_USE status engine_confirm_clock(struct engine *engine);

#endif
