/* Find order: the first of all documents in an order.
 *
 * A document's place is its order key and its own key, so the first of several threads' first ones are those of all,
 * whichever thread has met which.
 *
 * Threads: a worker's sorter belongs to one thread until the worker is closed by the thread of the find. Start reading at
 * find_order_together(). */
#include "query/find_parts.h"
#include "query/sorter.h"

/* Every thread may hold as many as are wanted; with more than these one thread does it. */
enum { TOGETHER_ROWS_MAX = 10000 };

/* partition length, partition, id: what finds the document again */
static status entry_key(struct arena *scratch, struct document_key key, bytes *out)
{
    struct buffer joined = buffer_in(scratch);

    buffer_append_u32(&joined, (uint32_t)key.partition.len);
    buffer_append(&joined, key.partition);
    buffer_append(&joined, key.id);
    return buffer_finish(&joined, out);
}

status find_order_add(struct sorter *sorter, struct arena *scratch, struct document_key key,
                      bytes order_key)
{
    struct sort_entry entry = { .order_key = order_key };

    if (entry.order_key.len > LIMIT_QUERY_SORT_KEY_BYTES)
        entry.order_key.len = LIMIT_QUERY_SORT_KEY_BYTES;
    TRY(entry_key(scratch, key, &entry.key));
    return sorter_add(sorter, entry);
}

/* ---- workers ---------------------------------------------------------------------------------------- */

struct together {
    const struct order *order;
    struct sorter *all;
    size_t keep;
    bool has_dropped;
    status failure;
};

struct worker {
    struct together *together;
    struct arena *arena;   /* of the sorter, and of the worker itself */
    struct arena *scratch; /* of one row */
    struct sorter sorter;
};

static status take(void *owner, const struct document *stored, bytes document)
{
    struct worker *worker = owner;
    bytes place;

    arena_reset(worker->scratch);
    TRY(order_key(worker->together->order, worker->scratch, document, &place));
    return find_order_add(&worker->sorter, worker->scratch, stored->key, place);
}

/* What a worker has kept is put to that of all. */
static status give(struct worker *worker)
{
    TRY(sorter_finish(&worker->sorter));
    /* Without room for all that are wanted it does not know what it has left out. */
    if (worker->sorter.keep < worker->together->keep)
        return status_of(TOO_LARGE, "the places of the first documents take too much memory");
    for (size_t i = 0; i < worker->sorter.count; i++)
        TRY(sorter_add(worker->together->all, worker->sorter.entries[i]));
    return STATUS_OK;
}

static status close_worker(void *owner)
{
    struct worker *worker = owner;
    struct together *together = worker->together;

    if (together->failure.code == OK)
        together->failure = give(worker);
    together->has_dropped |= worker->sorter.has_dropped;
    sorter_close(&worker->sorter);
    arena_close(worker->scratch);
    arena_close(worker->arena);
    return together->failure;
}

static status open_worker(void *context, void **out)
{
    static const struct query plain = { 0 };
    struct together *together = context;
    const struct sorter *all = together->all;
    struct arena *arena = arena_open(LIMIT_REQUEST_ARENA_BYTES);
    struct arena *scratch = arena_open(LIMIT_QUERY_ROW_BYTES);
    struct worker *worker = NULL;

    *out = NULL;
    status s = arena && scratch ? ARENA_NEW(arena, 1, &worker)
                                : status_of(OUT_OF_MEMORY, "there is no memory for sorting");
    if (s.code == OK) {
        *worker = (struct worker){ .together = together, .arena = arena, .scratch = scratch };
        s = sorter_open(&worker->sorter, arena, together->keep, &plain,
                        all->has_after ? &all->after : NULL);
        if (s.code != OK)
            sorter_close(&worker->sorter);
    }
    if (s.code == OK) {
        *out = worker;
        return STATUS_OK;
    }
    if (scratch)
        arena_close(scratch);
    if (arena)
        arena_close(arena);
    return s;
}

status find_order_together(const struct find_request *wanted, struct sorter *sorter,
                           struct find_explain *explain, bool *is_done_out)
{
    struct together together = {
        .order = wanted->order, .all = sorter, .keep = sorter->keep, .failure = STATUS_OK
    };
    const struct gather gather = {
        .open = open_worker, .take = take, .close = close_worker, .context = &together
    };

    *is_done_out = false;
    if (sorter->keep > TOGETHER_ROWS_MAX)
        return STATUS_OK;
    TRY(find_gather_all(wanted, &gather, explain, is_done_out));
    if (!*is_done_out) {
        sorter_clear(sorter);
        sorter->keep = together.keep;
    }
    sorter->has_dropped |= *is_done_out && together.has_dropped;
    return STATUS_OK;
}
