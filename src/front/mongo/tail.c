/* Tail: the bell that cursors at the end of a capped collection wait for.
 *
 * Whoever waits has noted how often the bell had rung before it looked for documents; so a document that comes
 * between the look and the wait is not missed. One bell serves all collections: who is woken for nothing looks
 * again and goes on waiting. It costs whoever rings nothing while nobody waits.
 *
 * Threads: any; the lock is a leaf. */
#include "front/mongo/tail.h"

#include "front/mongo/face.h"

static void note_arrival(void *context)
{
    tail_ring(context);
}

void tail_open(struct mongo *face)
{
    pthread_mutex_init(&face->bell.lock, NULL);
    wait_condition_init(&face->bell.rung);
    engine_read_arrivals(face->engine, note_arrival, face);
}

void tail_close(struct mongo *face)
{
    engine_read_arrivals(face->engine, NULL, NULL);
    pthread_cond_destroy(&face->bell.rung);
    pthread_mutex_destroy(&face->bell.lock);
}

void tail_ring(struct mongo *face)
{
    struct tail_bell *bell = &face->bell;

    /* First the count, then who waits; whoever waits does it the other way round. */
    atomic_fetch_add(&bell->count, 1);
    if (atomic_load(&bell->waiting) == 0)
        return;
    pthread_mutex_lock(&bell->lock);
    pthread_cond_broadcast(&bell->rung);
    pthread_mutex_unlock(&bell->lock);
}

void tail_stop(struct mongo *face)
{
    atomic_store(&face->bell.is_stopping, true);
    tail_ring(face);
}

bool tail_await(struct mongo *face, uint64_t count, const struct wait_limit *limit)
{
    struct tail_bell *bell = &face->bell;
    bool is_in_time = true;

    if (!block_begin())
        return false;
    atomic_fetch_add(&bell->waiting, 1);
    pthread_mutex_lock(&bell->lock);
    while (is_in_time && atomic_load(&bell->count) == count && !atomic_load(&bell->is_stopping))
        is_in_time = wait_on(&bell->rung, &bell->lock, limit);
    pthread_mutex_unlock(&bell->lock);
    atomic_fetch_sub(&bell->waiting, 1);
    block_end();
    return is_in_time && !atomic_load(&bell->is_stopping);
}
