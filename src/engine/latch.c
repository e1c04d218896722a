/* Latch: stripes over keys, and gates in front of collections.
 *
 * A stripe is a flag under one of a few mutexes; a waiter sleeps on the shard's condition. Sets are
 * taken in ascending order, so two writes never wait for each other. A gate is closed by one change
 * at a time, which then waits until the last writer has left. Who has to wait says so (base/block.h), so
 * that a hot document does not keep all threads that serve requests. A stripe counts how often it was
 * taken and given back, so that one can tell later, without a lock, that nobody has held it since.
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

/* Waits until *is_in_the_way is false, marked as a wait; the lock is held before and after, but not while
 * the mark is set. False if it is still true and waiting was refused. */
static bool wait_until_clear(pthread_mutex_t *lock, pthread_cond_t *changed,
                             const bool *is_in_the_way, bool is_refusable)
{
    if (!*is_in_the_way)
        return true;
    pthread_mutex_unlock(lock);
    bool is_marked = block_begin();
    pthread_mutex_lock(lock);
    while (*is_in_the_way && (is_marked || !is_refusable))
        pthread_cond_wait(changed, lock);
    if (is_marked)
        block_end();
    return !*is_in_the_way;
}

static bool take_stripe(struct latches *latches, uint16_t stripe, bool is_refusable)
{
    struct latch_shard *shard = &latches->shards[stripe % LATCH_SHARDS];
    bool *is_held = &shard->is_held[stripe / LATCH_SHARDS];

    pthread_mutex_lock(&shard->lock);
    bool is_taken = wait_until_clear(&shard->lock, &shard->freed, is_held, is_refusable);
    if (is_taken) {
        *is_held = true;
        atomic_fetch_add(&latches->turns[stripe], 1);
    }
    pthread_mutex_unlock(&shard->lock);
    return is_taken;
}

void latch_set_take(struct latches *latches, const struct latch_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        bool is_taken = take_stripe(latches, set->stripes[i], false);
        ASSERT(is_taken);
    }
}

bool latch_set_take_unless_busy(struct latches *latches, const struct latch_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        if (!take_stripe(latches, set->stripes[i], true)) {
            latch_set_give(latches, &(struct latch_set){ set->stripes, i });
            return false;
        }
    }
    return true;
}

void latch_set_give(struct latches *latches, const struct latch_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        struct latch_shard *shard = &latches->shards[set->stripes[i] % LATCH_SHARDS];
        bool *is_held = &shard->is_held[set->stripes[i] / LATCH_SHARDS];
        pthread_mutex_lock(&shard->lock);
        ASSERT(*is_held);
        *is_held = false;
        atomic_fetch_add(&latches->turns[set->stripes[i]], 1);
        pthread_cond_broadcast(&shard->freed);
        pthread_mutex_unlock(&shard->lock);
    }
}

uint64_t latch_turn(const struct latches *latches, uint16_t stripe)
{
    return atomic_load(&latches->turns[stripe]);
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

static bool enter(struct gate *gate, bool is_refusable)
{
    pthread_mutex_lock(&gate->lock);
    bool is_in = wait_until_clear(&gate->lock, &gate->changed, &gate->is_closed, is_refusable);
    gate->writers += is_in;
    pthread_mutex_unlock(&gate->lock);
    return is_in;
}

void gate_enter(struct gate *gate)
{
    bool is_in = enter(gate, false);
    ASSERT(is_in);
}

bool gate_enter_unless_busy(struct gate *gate)
{
    return enter(gate, true);
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

bool gate_close_unless_busy(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    bool is_mine = wait_until_clear(&gate->lock, &gate->changed, &gate->is_closed, true);
    gate->is_closed |= is_mine;
    pthread_mutex_unlock(&gate->lock);
    return is_mine;
}

void gate_open(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    ASSERT(gate->is_closed);
    gate->is_closed = false;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}
