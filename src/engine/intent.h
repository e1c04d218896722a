/* Inside the engine: what open transactions have announced to write. An intent is a document key or a unique key,
 * by its hash, and the transaction that will write it; it is taken under the latch of the key and held until
 * the transaction ends. */
#ifndef ENGINE_INTENT_H
#define ENGINE_INTENT_H

#include "base/base.h"

#include <pthread.h>
#include <stdatomic.h>

enum { INTENT_SHARDS = 64, INTENT_BUCKETS = 64 };

struct transaction;

struct intent {
    uint64_t hash;
    const struct transaction *owner;
    struct intent *next;          /* in its bucket */
    struct intent *next_of_owner; /* the owner's, as is the rest */
    uint64_t seen_seq;            /* of a document: the version that the owner sees, 0 for none */
    bool is_used;                 /* an operation of the owner stands on it */
};

struct intents {
    _Atomic size_t count;
    struct intent_shard {
        pthread_mutex_t lock;
        pthread_cond_t freed;
        struct intent *buckets[INTENT_BUCKETS];
    } shards[INTENT_SHARDS];
};

void intents_init(struct intents *intents);
void intents_destroy(struct intents *intents);

enum intent_answer { INTENT_NEW, INTENT_OWN, INTENT_FOREIGN, INTENT_NO_MEMORY };
/* A new one is put in front of the owner's list. *out is NULL unless it is new or the owner's. */
enum intent_answer intent_take(struct intents *intents, uint64_t hash,
                               const struct transaction *owner, struct intent **list,
                               struct intent **out);
/* Gives all of an owner's list back and wakes those who wait. */
void intents_give(struct intents *intents, struct intent **list);

/* Has somebody else than `owner` announced this key? Costs nothing while nobody has announced anything. */
bool intent_is_foreign(struct intents *intents, uint64_t hash, const struct transaction *owner);
bool intent_is_own(struct intents *intents, uint64_t hash, const struct transaction *owner);
enum intent_wait { INTENT_FREE, INTENT_HELD, INTENT_TOO_MANY_WAIT };
/* Waits, marked as a wait, until nobody has announced the key or the time is over. */
MUST_USE enum intent_wait intent_wait(struct intents *intents, uint64_t hash,
                                      const struct wait_limit *limit);

#endif
