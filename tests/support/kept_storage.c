/* Kept storage: a wrapper that passes every call on, may keep the rows when it is closed, and can be
 * told that the process is dead.
 *
 * Keeps: after kept_storage_kill nothing is written, whatever the engine still tries while it is
 * torn down; reads go on, because a dying engine may still look.
 * Threads: as the inner storage; kill, attach and close belong to the test's thread. */
#include "tests/support/kept_storage.h"

#include "storage/backend.h"

#include <stdatomic.h>

struct kept_storage {
    struct storage storage;
    struct storage *inner;
    bool is_lasting;
    _Atomic bool is_killed;
    bool is_attached;
};

static const struct storage_backend backend;

struct kept_storage *kept_storage_open(struct storage *inner, bool is_lasting)
{
    struct kept_storage *kept = memory_take_zeroed(1, sizeof(*kept));
    ASSERT(kept != NULL);
    kept->storage.backend = &backend;
    kept->storage.capabilities = storage_capabilities(inner);
    kept->inner = inner;
    kept->is_lasting = is_lasting;
    return kept;
}

void kept_storage_close(struct kept_storage *kept)
{
    ASSERT(!kept->is_attached);
    storage_close(kept->inner);
    memory_give(kept);
}

struct storage *kept_storage_attach(struct kept_storage *kept)
{
    ASSERT(!kept->is_attached);
    ASSERT(kept->inner != NULL);
    kept->is_attached = true;
    atomic_store(&kept->is_killed, false);
    return &kept->storage;
}

void kept_storage_kill(struct kept_storage *kept)
{
    atomic_store(&kept->is_killed, true);
}

static struct storage *inner_of(struct storage *storage)
{
    return ((struct kept_storage *)storage)->inner;
}

static bool is_killed(struct storage *storage)
{
    return atomic_load(&((struct kept_storage *)storage)->is_killed);
}

static void detach(struct storage *storage)
{
    struct kept_storage *kept = (struct kept_storage *)storage;
    kept->is_attached = false;
    if (kept->is_lasting)
        return;
    storage_close(kept->inner);
    kept->inner = NULL;
}

static status view_open(struct storage *storage, struct storage_view **out)
{
    return storage_view_open(inner_of(storage), out);
}

static void view_close(struct storage *storage, struct storage_view *view)
{
    storage_view_close(inner_of(storage), view);
}

static status get(struct storage *storage, struct storage_view *view, struct row_address where,
                  bytes key, struct storage_value *out)
{
    return storage_get(inner_of(storage), view, where, key, out);
}

static void get_some(struct storage *storage, struct storage_view *view, struct row_address where,
                     const bytes *keys, size_t count, struct storage_value *out)
{
    storage_get_some(inner_of(storage), view, where, keys, count, out);
}

static void find_missing(struct storage *storage, struct row_address where, const bytes *keys,
                         size_t count, struct arena *arena, bool *is_missing_out)
{
    storage_find_missing(inner_of(storage), where, keys, count, arena, is_missing_out);
}

static void value_release(struct storage *storage, struct storage_value *value)
{
    storage_value_release(inner_of(storage), value);
}

/* The scan that comes back is the inner one and carries its own backend: nothing to wrap. */
static status scan_open(struct storage *storage, struct storage_view *view,
                        struct row_address where, const struct storage_range *range,
                        struct storage_scan **out)
{
    return storage_scan_open(inner_of(storage), view, where, range, out);
}

static status part(struct storage *storage, struct row_address where,
                   const struct storage_range *range, size_t most, struct arena *arena,
                   struct storage_parting *out)
{
    return storage_part(inner_of(storage), where, range, most, arena, out);
}

static struct storage_batch *batch_open(struct storage *storage)
{
    return storage_batch_open(inner_of(storage));
}

static void batch_close(struct storage *storage, struct storage_batch *batch)
{
    storage_batch_close(inner_of(storage), batch);
}

static void batch_clear(struct storage *storage, struct storage_batch *batch)
{
    storage_batch_clear(inner_of(storage), batch);
}

static size_t batch_bytes(const struct storage *storage, const struct storage_batch *batch)
{
    return storage_batch_bytes(((const struct kept_storage *)storage)->inner, batch);
}

static void put(struct storage *storage, struct storage_batch *batch, struct row_address where,
                bytes key, bytes value)
{
    storage_put(inner_of(storage), batch, where, key, value);
}

static void delete_row(struct storage *storage, struct storage_batch *batch,
                       struct row_address where, bytes key)
{
    storage_delete(inner_of(storage), batch, where, key);
}

static void delete_range(struct storage *storage, struct storage_batch *batch,
                         struct row_address where, bytes start, bytes end)
{
    storage_delete_range(inner_of(storage), batch, where, start, end);
}

static void add(struct storage *storage, struct storage_batch *batch, struct row_address where,
                bytes key, bytes delta)
{
    struct storage_counters counters;
    const bool is_decoded = storage_counters_decode(delta, &counters);
    ASSERT(is_decoded);
    storage_add(inner_of(storage), batch, where, key, counters);
}

static status commit(struct storage *storage, struct storage_batch *batch, struct arena *arena)
{
    if (is_killed(storage))
        return status_of(IO_ERROR, "the process was killed");
    return storage_commit(inner_of(storage), batch, NULL, 0, arena, NULL);
}

static status drop_range(struct storage *storage, struct row_address where, bytes start, bytes end)
{
    if (is_killed(storage))
        return status_of(IO_ERROR, "the process was killed");
    return storage_drop_range(inner_of(storage), where, start, end);
}

static status sweep(struct storage *storage, partition_id partition, bytes start, bytes end)
{
    if (is_killed(storage))
        return status_of(IO_ERROR, "the process was killed");
    return storage_sweep(inner_of(storage), partition, start, end);
}

static status settle(struct storage *storage, partition_id partition)
{
    if (is_killed(storage))
        return status_of(IO_ERROR, "the process was killed");
    return storage_settle(inner_of(storage), partition);
}

static void usage(struct storage *storage, struct storage_usage *out)
{
    storage_usage(inner_of(storage), out);
}

static const struct storage_backend backend = {
    .close = detach,
    .view_open = view_open,
    .view_close = view_close,
    .get = get,
    .get_some = get_some,
    .find_missing = find_missing,
    .value_release = value_release,
    .scan_open = scan_open,
    .part = part,
    .batch_open = batch_open,
    .batch_close = batch_close,
    .batch_clear = batch_clear,
    .batch_bytes = batch_bytes,
    .put = put,
    .delete = delete_row,
    .delete_range = delete_range,
    .add = add,
    .commit = commit,
    .drop_range = drop_range,
    .sweep = sweep,
    .settle = settle,
    .usage = usage,
};

/* ---- the sweeper that can be handed on ------------------------------------------------------------ */

struct kept_sweeper {
    struct storage_sweeper answering;
};

struct kept_sweeper *kept_sweeper_open(void)
{
    struct kept_sweeper *sweeper = memory_take_zeroed(1, sizeof(*sweeper));
    ASSERT(sweeper != NULL);
    return sweeper;
}

void kept_sweeper_close(struct kept_sweeper *sweeper)
{
    memory_give(sweeper);
}

void kept_sweeper_set(struct kept_sweeper *sweeper, struct storage_sweeper answering)
{
    sweeper->answering = answering;
}

/* The answering sweeper's context is its own and the callbacks get nothing but a context, so the one
 * to be asked travels with it. */
struct kept_sweep {
    struct kept_sweeper *sweeper;
    void *context;
};

static void *sweep_begin(void *owner, enum storage_space space)
{
    struct kept_sweeper *sweeper = owner;
    if (sweeper->answering.begin == NULL)
        return NULL;
    void *context = sweeper->answering.begin(sweeper->answering.owner, space);
    if (context == NULL)
        return NULL;
    struct kept_sweep *running = memory_take_zeroed(1, sizeof(*running));
    ASSERT(running != NULL);
    *running = (struct kept_sweep){ .sweeper = sweeper, .context = context };
    return running;
}

static bool sweep_is_garbage(void *context, partition_id partition, bytes key, bytes value)
{
    const struct kept_sweep *running = context;
    return running->sweeper->answering.is_garbage(running->context, partition, key, value);
}

static void sweep_end(void *owner, void *context)
{
    struct kept_sweeper *sweeper = owner;
    struct kept_sweep *running = context;
    if (running == NULL)
        return;
    sweeper->answering.end(sweeper->answering.owner, running->context);
    memory_give(running);
}

struct storage_sweeper kept_sweeper_callbacks(struct kept_sweeper *sweeper)
{
    return (struct storage_sweeper){
        .begin = sweep_begin,
        .is_garbage = sweep_is_garbage,
        .end = sweep_end,
        .owner = sweeper,
    };
}
