/* Latch: who holds what, by hash, and gates in front of collections.
 *
 * The latches that are held are lists in stripes, each under the mutex of its shard; the items of the lists lie in
 * the memory of the writes. Sets are taken in ascending order of the hashes, so two writes never wait for each
 * other, and the highest bits say the shard, so that many latches need few locks. Who finds a latch held
 * lines up, and who gives it back calls the first that waits for it. Until that one has woken, somebody else may take
 * it: whoever has just read a hot document and writes it at once succeeds, while most of those in the line have
 * read an older version and will only find out that they have to read again. Who was called in vain too often is
 * handed the latch, so everybody is served some day. A gate is closed by one change at a time, which then waits
 * until the last writer has left. Who has to wait says so (base/block.h), so that a hot document does not keep all
 * threads that serve requests.
 *
 * A stripe counts how often it became held and free, so that one can tell later, without a lock, that nobody has held
 * a latch of it since. It tells of more than was asked: other latches of the stripe count, too.
 *
 * Threads: any thread may give back what another took; the mutexes are held for the latches of one set in one
 * shard. Start reading at latch_set_take(). */
#include "engine/latch.h"

#include <stdlib.h>

struct latch_waiter {
    struct latch *latch;
    struct latch_waiter *next;
    pthread_cond_t called;
    unsigned calls;
    bool has_it; /* it was handed over; its owner is not in the line any more */
};

void latches_init(struct latches *latches, uint64_t salt)
{
    memset(latches, 0, sizeof(*latches));
    latches->salt = salt;
    for (size_t i = 0; i < LATCH_SHARDS; i++)
        pthread_mutex_init(&latches->shards[i].lock, NULL);
}

void latches_destroy(struct latches *latches)
{
    for (size_t i = 0; i < LATCH_SHARDS; i++)
        pthread_mutex_destroy(&latches->shards[i].lock);
}

/* ---- sets ------------------------------------------------------------------------------------------- */

uint64_t latch_hash_of_document(uint32_t collection_id, bytes locator_key)
{
    return bytes_hash(locator_key, collection_id ^ random_salt());
}

void latch_set_add(struct latch_set *set, uint64_t hash)
{
    set->items[set->count++] = (struct latch){ .hash = hash };
}

static int compare_latches(const void *a, const void *b)
{
    uint64_t left = ((const struct latch *)a)->hash, right = ((const struct latch *)b)->hash;

    return (left > right) - (left < right);
}

void latch_set_sort(struct latch_set *set)
{
    size_t kept = 0;

    if (set->count > 1)
        qsort(set->items, set->count, sizeof(set->items[0]), compare_latches);
    for (size_t i = 0; i < set->count; i++) {
        if (kept == 0 || set->items[kept - 1].hash != set->items[i].hash)
            set->items[kept++] = set->items[i];
    }
    set->count = kept;
}

/* ---- one latch, under the lock of its shard ----------------------------------------------------------- */

static size_t shard_of(uint64_t hash)
{
    return (size_t)(hash / (UINT64_MAX / LATCH_SHARDS + 1));
}

/* Salted, because whoever knows how keys are hashed could make thousands of them that stand in one list. */
static size_t stripe_of(const struct latches *latches, uint64_t hash)
{
    return (size_t)((hash ^ hash * latches->salt >> 56) % LATCH_STRIPES);
}

static void raise_turn(struct latch_stripe *stripe)
{
    uint64_t turn = atomic_load_explicit(&stripe->turn, memory_order_relaxed);

    atomic_store(&stripe->turn, turn + 1);
}

static bool is_held(const struct latch_stripe *stripe, uint64_t hash)
{
    const struct latch *latch = stripe->held;

    while (latch && latch->hash != hash)
        latch = latch->next;
    return latch != NULL;
}

static void hold(struct latch_stripe *stripe, struct latch *latch)
{
    if (!stripe->held)
        raise_turn(stripe);
    latch->next = stripe->held;
    stripe->held = latch;
}

static void line_up(struct latch_shard *shard, struct latch_waiter *waiter)
{
    if (shard->last)
        shard->last->next = waiter;
    else
        shard->first = waiter;
    shard->last = waiter;
}

/* The first in the line that waits for the hash; NULL if nobody does. */
static struct latch_waiter *first_for(const struct latch_shard *shard, uint64_t hash)
{
    struct latch_waiter *waiter = shard->first;

    while (waiter && waiter->latch->hash != hash)
        waiter = waiter->next;
    return waiter;
}

static void leave_line(struct latch_shard *shard, const struct latch_waiter *waiter)
{
    struct latch_waiter **place = &shard->first, *before = NULL;

    while (*place != waiter) {
        before = *place;
        place = &before->next;
    }
    *place = waiter->next;
    if (shard->last == waiter)
        shard->last = before;
}

static void wait_in_line(struct latch_shard *shard, struct latch_stripe *stripe,
                         struct latch *latch)
{
    struct latch_waiter waiter = { .latch = latch };

    pthread_cond_init(&waiter.called, NULL);
    line_up(shard, &waiter);
    while (!waiter.has_it && is_held(stripe, latch->hash))
        pthread_cond_wait(&waiter.called, &shard->lock);
    if (!waiter.has_it) {
        leave_line(shard, &waiter);
        hold(stripe, latch);
    }
    pthread_cond_destroy(&waiter.called);
}

/* Whoever waits for what has just become free. */
static void call_next(struct latch_shard *shard, struct latch_stripe *stripe, uint64_t hash)
{
    struct latch_waiter *waiter = first_for(shard, hash);

    if (!waiter)
        return;
    if (waiter->calls++ == LATCH_CALLS_MAX) {
        leave_line(shard, waiter);
        hold(stripe, waiter->latch);
        waiter->has_it = true;
    }
    pthread_cond_signal(&waiter->called);
}

/* The lock is given back for the mark, so the latch may be free behind it. */
static bool wait_and_hold(struct latch_shard *shard, struct latch_stripe *stripe,
                          struct latch *latch, bool is_refusable)
{
    bool is_mine = true;

    pthread_mutex_unlock(&shard->lock);
    bool is_marked = block_begin();
    pthread_mutex_lock(&shard->lock);
    if (!is_held(stripe, latch->hash))
        hold(stripe, latch);
    else if (is_marked || !is_refusable)
        wait_in_line(shard, stripe, latch);
    else
        is_mine = false;
    if (is_marked)
        block_end();
    return is_mine;
}

static bool take(struct latch_shard *shard, struct latch_stripe *stripe, struct latch *latch,
                 bool is_refusable)
{
    if (is_held(stripe, latch->hash))
        return wait_and_hold(shard, stripe, latch, is_refusable);
    hold(stripe, latch);
    return true;
}

static void give(struct latch_shard *shard, struct latch_stripe *stripe, struct latch *latch)
{
    struct latch **place = &stripe->held;

    while (*place && *place != latch)
        place = &(*place)->next;
    ASSERT(*place == latch);
    *place = latch->next;
    if (!stripe->held)
        raise_turn(stripe);
    call_next(shard, stripe, latch->hash);
}

/* ---- taking and giving ------------------------------------------------------------------------------ */

/* How many were taken: fewer than all if one was refused. */
static size_t take_all(struct latches *latches, const struct latch_set *set, bool is_refusable)
{
    bool is_taken = true;
    size_t at = 0;

    while (is_taken && at < set->count) {
        const size_t number = shard_of(set->items[at].hash);
        struct latch_shard *shard = &latches->shards[number];
        pthread_mutex_lock(&shard->lock);
        while (is_taken && at < set->count && shard_of(set->items[at].hash) == number) {
            struct latch *latch = &set->items[at];
            is_taken = take(shard, &shard->stripes[stripe_of(latches, latch->hash)], latch,
                            is_refusable);
            at += is_taken;
        }
        pthread_mutex_unlock(&shard->lock);
    }
    return at;
}

void latch_set_take(struct latches *latches, const struct latch_set *set)
{
    const size_t taken = take_all(latches, set, false);

    ASSERT(taken == set->count);
}

bool latch_set_take_unless_busy(struct latches *latches, const struct latch_set *set)
{
    const size_t taken = take_all(latches, set, true);

    if (taken < set->count)
        latch_set_give(latches, &(struct latch_set){ set->items, taken });
    return taken == set->count;
}

/* The last one first: what was taken last stands first in its list. */
void latch_set_give(struct latches *latches, const struct latch_set *set)
{
    size_t left = set->count;

    while (left > 0) {
        const size_t number = shard_of(set->items[left - 1].hash);
        struct latch_shard *shard = &latches->shards[number];
        pthread_mutex_lock(&shard->lock);
        for (; left > 0 && shard_of(set->items[left - 1].hash) == number; left--) {
            struct latch *latch = &set->items[left - 1];
            give(shard, &shard->stripes[stripe_of(latches, latch->hash)], latch);
        }
        pthread_mutex_unlock(&shard->lock);
    }
}

uint64_t latch_turn(const struct latches *latches, uint64_t hash)
{
    return atomic_load(&latches->shards[shard_of(hash)].stripes[stripe_of(latches, hash)].turn);
}

/* ---- gates ------------------------------------------------------------------------------------------ */

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
