/* Inside the engine: what the purger is doing and what it has done lately. */
#ifndef ENGINE_PURGER_STATE_H
#define ENGINE_PURGER_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/note.h"
#include "engine/purger.h"
#include "engine/worker.h"

/* Its own lock guards it (purge_history.c). */
struct purge_history {
    pthread_mutex_t lock;
    uint64_t count; /* events so far; the last one is that number */
    uint64_t pass;  /* in which it was made */
    bool is_read;   /* and it is closed by that */
    struct purge_event events[PURGE_HISTORY_EVENTS];
};

struct purger {
    struct purge_history history;
    struct worker worker;
    _Atomic int pause_s;
    _Atomic bool is_enabled;
    _Atomic bool is_working;
    _Atomic uint32_t collection_id;
    _Atomic int64_t since_ms;
    _Atomic uint64_t passes;
    _Atomic int64_t worked_ms;
    _Atomic int64_t wake_at;   /* when it will look next; a write that falls due earlier wakes it */
    pthread_mutex_t pass_lock; /* one pass at a time */
    bool has_told_of_leap;     /* pass_lock */
    time_ms next_settle_at;    /* pass_lock */
    time_ms next_trim_at;      /* pass_lock */
    time_ms trim_put_off_at;   /* pass_lock; since when one waits, or 0 */
    uint64_t trimmed_seq;      /* pass_lock; the last write before the last trim */
    bool are_heaps_tended;     /* pass_lock; since then */
    /* Held while the keeper is asked, for one note: whoever leaves waits for that, and not for a pass. */
    pthread_mutex_t keeper_lock;
    note_keeper *keeper;  /* keeper_lock */
    void *keeper_context; /* keeper_lock */
    bool has_keeper_left; /* keeper_lock; no note goes until there is another */
};

#endif
