/* Waiting for documents to come: cursors that stand at the end of a capped collection wait for its bell, which rings
 * whenever something has come to it, whichever face it came through, and when a cursor is to end. */
#ifndef FRONT_MONGO_TAIL_H
#define FRONT_MONGO_TAIL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/base.h"

struct mongo;

/* Collections share a few bells; whoever is woken for another one looks and goes on waiting. */
enum { TAIL_BELLS = 64 };

/* In the face. */
struct tail_bells {
    pthread_mutex_t lock;
    struct tail_bell {
        pthread_cond_t rung;
        _Atomic uint64_t count; /* how often it rang */
        _Atomic unsigned waiting;
    } bells[TAIL_BELLS];
    _Atomic bool is_stopping; /* nobody waits any more */
};
void tail_open(struct mongo *face);
void tail_close(struct mongo *face);

/* The bell of a collection. */
struct tail_bell *tail_bell_of(struct mongo *face, uint32_t collection_id);
/* All bells, because a cursor or an operation is to end; from any thread, never waits. */
void tail_ring_all(struct mongo *face);
/* The server stops. */
void tail_stop(struct mongo *face);
/* Waits until it has rung since it had rung `count` times. False when the time is over, and when too many wait or
 * the server stops: then there is nothing to wait for. */
bool tail_await(struct mongo *face, struct tail_bell *bell, uint64_t count,
                const struct wait_limit *limit);

#endif
