/* Who may write what at the same time. Latches are stripes over document keys and unique keys: a write
 * takes all it needs, in order, before it reads what it will replace, and whoever commits it gives them
 * back; so they belong to the write, not to a thread. A gate lets many writes into a collection, or one
 * change of its catalog entry. Lock order: gates by collection id, then latches by stripe. */
#ifndef ENGINE_LATCH_H
#define ENGINE_LATCH_H

#include "base/base.h"

#include <pthread.h>
#include <stdatomic.h>

enum { LATCH_STRIPES = 16384, LATCH_SHARDS = 64 };

struct latches {
    struct latch_shard {
        pthread_mutex_t lock;
        pthread_cond_t freed;
        bool is_held[LATCH_STRIPES / LATCH_SHARDS];
    } shards[LATCH_SHARDS];
    _Atomic uint64_t
        turns[LATCH_STRIPES]; /* raised when a stripe is taken, and when it is given back */
};

void latches_init(struct latches *latches);
void latches_destroy(struct latches *latches);

/* A set of stripes, sorted and without doubles; lives in its write's arena. */
struct latch_set {
    uint16_t *stripes;
    size_t count;
};
uint16_t latch_stripe(uint64_t hash);
void latch_set_sort(struct latch_set *set);
/* Waits for each stripe in turn; where a thread has an owner, as marked by base/block.h. */
void latch_set_take(struct latches *latches, const struct latch_set *set);
/* The same for requests: false, and nothing taken, if it would have to wait and too many wait already. */
MUST_USE bool latch_set_take_unless_busy(struct latches *latches, const struct latch_set *set);
void latch_set_give(struct latches *latches, const struct latch_set *set);
/* Odd while the stripe is held. As long as it is the same even number, nobody has held the stripe. */
uint64_t latch_turn(const struct latches *latches, uint16_t stripe);

struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned writers;
    bool is_closed;
};
void gate_init(struct gate *gate);
void gate_destroy(struct gate *gate);
void gate_enter(struct gate *gate);
/* The same for requests: false, and not inside, if it would have to wait and too many wait already. */
MUST_USE bool gate_enter_unless_busy(struct gate *gate);
void gate_leave(struct gate *gate);
/* Waits until everyone has left and keeps everyone out. */
void gate_close(struct gate *gate);
/* The same for requests, of a gate that nobody enters: they take turns. False if too many wait already. */
MUST_USE bool gate_close_unless_busy(struct gate *gate);
void gate_open(struct gate *gate);

#endif
