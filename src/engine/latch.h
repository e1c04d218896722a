/* Who may write what at the same time. A latch is the right to change what has a given hash: a document key or
 * a unique key. A write takes all it needs, in order, before it reads what it will replace, and whoever
 * commits it gives them back; so they belong to the write, not to a thread. A gate lets many writes into a
 * collection, or one change of its catalog entry. Lock order: gates by collection id, then latches by hash. */
#ifndef ENGINE_LATCH_H
#define ENGINE_LATCH_H

#include "base/base.h"

#include <pthread.h>
#include <stdatomic.h>

enum { LATCH_SHARDS = 64, LATCH_STRIPES = 256 }; /* stripes in each shard */
enum { LATCH_CALLS_MAX = 16 }; /* how often somebody may come first before one who waits */

/* In the memory of its owner, who leaves it alone from taking it until it was given back. */
struct latch {
    uint64_t hash;
    struct latch *next; /* the stripe's, while it is held */
};

struct latch_waiter;

struct latches {
    uint64_t salt;
    struct latch_shard {
        pthread_mutex_t lock;
        struct latch_waiter *first, *last; /* who waits for a latch of this shard, in order */
        struct latch_stripe {
            struct latch *held;
            _Atomic uint64_t
                turn; /* raised when the first is taken, and when the last is given back */
        } stripes[LATCH_STRIPES];
    } shards[LATCH_SHARDS];
};

/* `salt`: which hashes share a stripe; by chance, so that nobody can choose keys that do. */
void latches_init(struct latches *latches, uint64_t salt);
void latches_destroy(struct latches *latches);

/* The hash of a document: of its collection and the key of its locator. Whoever takes the latch of a document, or asks for
 * its turn, must come to the same one; see write_unique_hash() for those of unique keys. Salted: two documents with one hash
 * wait for each other, and so would others for whoever could choose a key of the same hash. */
uint64_t latch_hash_of_document(uint32_t collection_id, bytes locator_key);

/* Made from hashes, in any order and with doubles; sorted before it is taken. Two keys with one hash share a
 * latch. */
struct latch_set {
    struct latch *items;
    size_t count;
};
/* Into room that the caller has made. */
void latch_set_add(struct latch_set *set, uint64_t hash);
/* In order, and without doubles. */
void latch_set_sort(struct latch_set *set);
/* Waits for each latch in turn; where a thread has an owner, as marked by base/block.h. */
void latch_set_take(struct latches *latches, const struct latch_set *set);
/* The same for requests: false, and nothing taken, if it would have to wait and too many wait already. */
MUST_USE bool latch_set_take_unless_busy(struct latches *latches, const struct latch_set *set);
void latch_set_give(struct latches *latches, const struct latch_set *set);
/* Odd while the latch of the hash, or one of the same stripe, is held. As long as it is the same even number,
 * nobody has held it. */
uint64_t latch_turn(const struct latches *latches, uint64_t hash);

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
