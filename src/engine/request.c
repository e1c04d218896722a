/* Request: one reading of the clock, one picture of the catalog, one instant of the storage.
 *
 * Running requests stand in a table of slots. Two questions are answered from it without a lock:
 * what is the oldest `now` in use (nothing that was alive then may be removed physically), and what
 * is the oldest epoch in use (older catalogs can be freed). A slot is claimed first, then epoch and
 * now are read and published, so a request is never overlooked.
 *
 * A request inside a transaction has no slot of its own: it reads at the instant of the transaction, which
 * has one.
 *
 * Threads: a request belongs to one thread at a time; the table is atomic. */
#include "engine/state.h"

#include <sched.h>

static bool claim(struct engine *engine, unsigned at)
{
    int64_t free_slot = 0;

    return atomic_load_explicit(&engine->slots[at].now, memory_order_relaxed) == 0 &&
           atomic_compare_exchange_strong(&engine->slots[at].now, &free_slot, SLOT_STARTING);
}

static status claim_any(struct engine *engine, unsigned *out)
{
    unsigned start = (unsigned)(sched_getcpu() & 0xFF) * 16;

    for (unsigned i = 0; i < LIMIT_RUNNING_REQUESTS; i++) {
        *out = (start + i) % LIMIT_RUNNING_REQUESTS;
        if (claim(engine, *out))
            return STATUS_OK;
    }
    return status_of(BUSY, "too many requests are running; try again");
}

static status begin(struct engine *engine, struct arena *arena, bool is_quiet, struct request *out)
{
    unsigned slot;

    *out = (struct request){ 0 }; /* without a slot there is nothing to end */
    TRY(claim_any(engine, &slot));
    *out = (struct request){ .engine = engine, .arena = arena, .storage = engine->storage };
    atomic_store(&engine->slots[slot].epoch, atomic_load(&engine->epoch));
    out->catalog = atomic_load(&engine->catalog);
    atomic_store(&engine->slots[slot].picture, out->catalog->number);
    out->now = clock_now(engine->options.clock);
    ASSERT(out->now > 0);
    if (out->now - atomic_load_explicit(&engine->last_now_used, memory_order_relaxed) > 100)
        atomic_store_explicit(&engine->last_now_used, out->now, memory_order_relaxed);
    atomic_store(&engine->slots[slot].now, is_quiet ? SLOT_QUIET : out->now);
    out->slot = slot;
    return STATUS_OK;
}

status request_begin(struct engine *engine, struct arena *arena, struct request *out)
{
    return begin(engine, arena, false, out);
}

status request_begin_quiet(struct engine *engine, struct arena *arena, struct request *out)
{
    return begin(engine, arena, true, out);
}

void request_end(struct request *request)
{
    request_loosen(request);
    if (request->transaction && !request->is_committing) {
        transaction_leave(request->transaction);
        return;
    }
    atomic_store(&request->engine->slots[request->slot].now, 0);
}

void request_loosen(struct request *request)
{
    if (request->view)
        storage_view_close(request->storage, request->view);
    request->view = NULL;
}

uint64_t request_last_seq(const struct request *request)
{
    return request->transaction ? transaction_last_seq(request->transaction)
                                : engine_last_seq(request->engine);
}

time_ms request_oldest_now(struct engine *engine, time_ms now)
{
    time_ms oldest = now;

    for (unsigned i = 0; i < LIMIT_RUNNING_REQUESTS; i++) {
        time_ms seen = atomic_load(&engine->slots[i].now);
        if (seen == SLOT_STARTING)
            return INT64_MIN;
        if (seen > 0 && seen < oldest)
            oldest = seen;
    }
    return oldest;
}

unsigned request_count(struct engine *engine)
{
    unsigned count = 0;

    for (unsigned i = 0; i < LIMIT_RUNNING_REQUESTS; i++)
        count += atomic_load_explicit(&engine->slots[i].now, memory_order_relaxed) > 0;
    return count;
}

uint64_t request_oldest_epoch(struct engine *engine)
{
    uint64_t oldest = UINT64_MAX;

    for (unsigned i = 0; i < LIMIT_RUNNING_REQUESTS; i++) {
        if (atomic_load(&engine->slots[i].now) == 0)
            continue;
        uint64_t seen = atomic_load(&engine->slots[i].epoch);
        if (seen < oldest)
            oldest = seen;
    }
    return oldest;
}

status request_view(struct request *request, struct storage_view **out)
{
    if (!request->view)
        TRY(storage_view_open(request->storage, &request->view));
    *out = request->view;
    return STATUS_OK;
}

/* Not by epochs: a request may have read the epoch before a change and the picture after it. */
uint64_t request_oldest_picture(const struct engine *engine)
{
    uint64_t oldest = UINT64_MAX;

    for (unsigned i = 0; i < LIMIT_RUNNING_REQUESTS; i++) {
        int64_t now = atomic_load(&engine->slots[i].now);
        if (now == SLOT_STARTING)
            return 0;
        if (now <= 0)
            continue;
        uint64_t seen = atomic_load(&engine->slots[i].picture);
        if (seen < oldest)
            oldest = seen;
    }
    return oldest;
}
