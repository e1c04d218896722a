/* Intent: which keys open transactions are going to write.
 *
 * A table of hashes in shards. Two different keys with the same hash of 64 bits count as one, which
 * makes somebody wait or try again that would not have to, once in an age.
 *
 * Whoever takes an intent, and whoever writes past the intents, holds the latch of the key meanwhile; so
 * a write that found none cannot be overtaken by one before it is durable. Nobody waits for an intent
 * with a latch in hand.
 *
 * Threads: any; the shards' locks are held for a search in one bucket. */
#include "engine/intent.h"

void intents_init(struct intents *intents)
{
    memset(intents, 0, sizeof(*intents));
    for (size_t i = 0; i < INTENT_SHARDS; i++) {
        pthread_mutex_init(&intents->shards[i].lock, NULL);
        wait_condition_init(&intents->shards[i].freed);
    }
}

void intents_destroy(struct intents *intents)
{
    ASSERT(atomic_load(&intents->count) == 0);
    for (size_t i = 0; i < INTENT_SHARDS; i++) {
        pthread_mutex_destroy(&intents->shards[i].lock);
        pthread_cond_destroy(&intents->shards[i].freed);
    }
}

static struct intent_shard *shard_of(struct intents *intents, uint64_t hash)
{
    return &intents->shards[hash % INTENT_SHARDS];
}

/* Where it is, or would be put; under the lock. */
static struct intent **find(struct intent_shard *shard, uint64_t hash)
{
    struct intent **at = &shard->buckets[hash / INTENT_SHARDS % INTENT_BUCKETS];

    while (*at && (*at)->hash != hash)
        at = &(*at)->next;
    return at;
}

static const struct transaction *owner_of(struct intents *intents, uint64_t hash)
{
    struct intent_shard *shard = shard_of(intents, hash);

    if (atomic_load(&intents->count) == 0)
        return NULL;
    pthread_mutex_lock(&shard->lock);
    const struct intent *intent = *find(shard, hash);
    const struct transaction *owner = intent ? intent->owner : NULL;
    pthread_mutex_unlock(&shard->lock);
    return owner;
}

enum intent_answer intent_take(struct intents *intents, uint64_t hash,
                               const struct transaction *owner, struct intent **list,
                               struct intent **out)
{
    struct intent_shard *shard = shard_of(intents, hash);
    struct intent *fresh = memory_take(sizeof(*fresh));

    *out = NULL;
    if (!fresh)
        return INTENT_NO_MEMORY;
    *fresh = (struct intent){ .hash = hash, .owner = owner };
    pthread_mutex_lock(&shard->lock);
    struct intent **at = find(shard, hash);
    const struct transaction *holder = *at ? (*at)->owner : NULL;
    if (holder == owner)
        *out = *at;
    if (!holder) {
        *out = fresh;
        *at = fresh;
        fresh->next_of_owner = *list;
        *list = fresh;
        atomic_fetch_add(&intents->count, 1);
    }
    pthread_mutex_unlock(&shard->lock);
    if (!holder)
        return INTENT_NEW;
    memory_give(fresh);
    return holder == owner ? INTENT_OWN : INTENT_FOREIGN;
}

void intents_give(struct intents *intents, struct intent **list)
{
    while (*list) {
        struct intent *intent = *list;
        struct intent_shard *shard = shard_of(intents, intent->hash);
        *list = intent->next_of_owner;
        pthread_mutex_lock(&shard->lock);
        struct intent **at = find(shard, intent->hash);
        ASSERT(*at == intent);
        *at = intent->next;
        atomic_fetch_sub(&intents->count, 1);
        pthread_cond_broadcast(&shard->freed);
        pthread_mutex_unlock(&shard->lock);
        memory_give(intent);
    }
}

bool intent_is_foreign(struct intents *intents, uint64_t hash, const struct transaction *owner)
{
    const struct transaction *holder = owner_of(intents, hash);

    return holder && holder != owner;
}

bool intent_is_own(struct intents *intents, uint64_t hash, const struct transaction *owner)
{
    return owner_of(intents, hash) == owner;
}

enum intent_wait intent_wait(struct intents *intents, uint64_t hash, const struct wait_limit *limit)
{
    struct intent_shard *shard = shard_of(intents, hash);
    bool is_in_time = true;

    if (!block_begin())
        return INTENT_TOO_MANY_WAIT;
    pthread_mutex_lock(&shard->lock);
    while (is_in_time && *find(shard, hash))
        is_in_time = wait_on(&shard->freed, &shard->lock, limit);
    bool is_free = !*find(shard, hash);
    pthread_mutex_unlock(&shard->lock);
    block_end();
    return is_free ? INTENT_FREE : INTENT_HELD;
}
