/* Tail: the bells that cursors at the end of capped collections wait for.
 *
 * Whoever waits has noted how often the bell had rung before it looked for documents; so a document that comes
 * between the look and the wait is not missed. A collection has one of a few bells: who is woken for nothing looks
 * again and goes on waiting. It costs whoever rings nothing while nobody waits.
 *
 * Threads: any; the lock is a leaf. */
#include "front/mongo/tail.h"

#include "front/mongo/face.h"

struct tail_bell *tail_bell_of(struct mongo *face, uint32_t collection_id)
{
    return &face->tails.bells[collection_id % TAIL_BELLS];
}

static void ring(struct mongo *face, struct tail_bell *bell)
{
    /* First the count, then who waits; whoever waits does it the other way round. */
    atomic_fetch_add(&bell->count, 1);
    if (atomic_load(&bell->waiting) == 0)
        return;
    pthread_mutex_lock(&face->tails.lock);
    pthread_cond_broadcast(&bell->rung);
    pthread_mutex_unlock(&face->tails.lock);
}

static void note_arrival(void *context, uint32_t collection_id)
{
    ring(context, tail_bell_of(context, collection_id));
}

void tail_open(struct mongo *face)
{
    pthread_mutex_init(&face->tails.lock, NULL);
    for (size_t i = 0; i < TAIL_BELLS; i++)
        wait_condition_init(&face->tails.bells[i].rung);
    engine_read_arrivals(face->engine, note_arrival, face);
}

void tail_close(struct mongo *face)
{
    engine_read_arrivals(face->engine, NULL, NULL);
    for (size_t i = 0; i < TAIL_BELLS; i++)
        pthread_cond_destroy(&face->tails.bells[i].rung);
    pthread_mutex_destroy(&face->tails.lock);
}

void tail_ring_all(struct mongo *face)
{
    for (size_t i = 0; i < TAIL_BELLS; i++)
        ring(face, &face->tails.bells[i]);
}

void tail_stop(struct mongo *face)
{
    atomic_store(&face->tails.is_stopping, true);
    tail_ring_all(face);
}

bool tail_await(struct mongo *face, struct tail_bell *bell, uint64_t count,
                const struct wait_limit *limit)
{
    struct tail_bells *tails = &face->tails;
    bool is_in_time = true;

    if (!block_begin())
        return false;
    atomic_fetch_add(&bell->waiting, 1);
    pthread_mutex_lock(&tails->lock);
    while (is_in_time && atomic_load(&bell->count) == count && !atomic_load(&tails->is_stopping))
        is_in_time = wait_on(&bell->rung, &tails->lock, limit);
    pthread_mutex_unlock(&tails->lock);
    atomic_fetch_sub(&bell->waiting, 1);
    block_end();
    return is_in_time && !atomic_load(&tails->is_stopping);
}
