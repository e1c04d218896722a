/* Latch: stripes over keys, and gates in front of collections.
 *
 * A stripe is a flag under one of a few mutexes; a waiter sleeps on the shard's condition. Sets are
 * taken in ascending order, so two writes never wait for each other. A gate is closed by one change
 * at a time, which then waits until the last writer has left.
 *
 * Threads: any thread may give back what another took; the mutexes are held for a few instructions. */
#include "engine/latch.h"

#include <stdlib.h>

void latches_init(struct latches *latches)
{
    memset(latches, 0, sizeof(*latches));
    for (size_t i = 0; i < LATCH_SHARDS; i++) {
        pthread_mutex_init(&latches->shards[i].lock, NULL);
        pthread_cond_init(&latches->shards[i].freed, NULL);
    }
}

void latches_destroy(struct latches *latches)
{
    for (size_t i = 0; i < LATCH_SHARDS; i++) {
        pthread_mutex_destroy(&latches->shards[i].lock);
        pthread_cond_destroy(&latches->shards[i].freed);
    }
}

uint16_t latch_stripe(uint64_t hash)
{
    return (uint16_t)(hash % LATCH_STRIPES);
}

static int compare_stripes(const void *a, const void *b)
{
    return (int)*(const uint16_t *)a - (int)*(const uint16_t *)b;
}

void latch_set_sort(struct latch_set *set)
{
    size_t kept = 0;

    if (set->count > 1)
        qsort(set->stripes, set->count, sizeof(set->stripes[0]), compare_stripes);
    for (size_t i = 0; i < set->count; i++) {
        if (kept == 0 || set->stripes[kept - 1] != set->stripes[i])
            set->stripes[kept++] = set->stripes[i];
    }
    set->count = kept;
}

void latch_set_take(struct latches *latches, const struct latch_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        struct latch_shard *shard = &latches->shards[set->stripes[i] % LATCH_SHARDS];
        bool *is_held = &shard->is_held[set->stripes[i] / LATCH_SHARDS];
        pthread_mutex_lock(&shard->lock);
        while (*is_held)
            pthread_cond_wait(&shard->freed, &shard->lock);
        *is_held = true;
        pthread_mutex_unlock(&shard->lock);
    }
}

void latch_set_give(struct latches *latches, const struct latch_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        struct latch_shard *shard = &latches->shards[set->stripes[i] % LATCH_SHARDS];
        bool *is_held = &shard->is_held[set->stripes[i] / LATCH_SHARDS];
        pthread_mutex_lock(&shard->lock);
        ASSERT(*is_held);
        *is_held = false;
        pthread_cond_broadcast(&shard->freed);
        pthread_mutex_unlock(&shard->lock);
    }
}

void gate_init(struct gate *gate)
{
    memset(gate, 0, sizeof(*gate));
    pthread_mutex_init(&gate->lock, NULL);
    pthread_cond_init(&gate->changed, NULL);
}

void gate_destroy(struct gate *gate)
{
    pthread_mutex_destroy(&gate->lock);
    pthread_cond_destroy(&gate->changed);
}

void gate_enter(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    while (gate->is_closed)
        pthread_cond_wait(&gate->changed, &gate->lock);
    gate->writers++;
    pthread_mutex_unlock(&gate->lock);
}

void gate_leave(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    ASSERT(gate->writers > 0);
    gate->writers--;
    if (gate->writers == 0 && gate->is_closed)
        pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

void gate_close(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    while (gate->is_closed)
        pthread_cond_wait(&gate->changed, &gate->lock);
    gate->is_closed = true;
    while (gate->writers > 0)
        pthread_cond_wait(&gate->changed, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
}

void gate_open(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    ASSERT(gate->is_closed);
    gate->is_closed = false;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}
