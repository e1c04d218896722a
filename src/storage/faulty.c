/* Faulty: any storage, failing on command.
 *
 * Counts the calls that can fail and lets the n-th fail as if the disk had: IO_ERROR, nothing done.
 * Running a scenario with n = 1, 2, 3 ... until it comes through untouched visits every error path.
 * Like a real disk it does not get well by itself: after a failed commit, commits fail until healed.
 *
 * Everything but the counting is the inner storage's: views, batches and pins are passed through as
 * they are, scans are wrapped.
 *
 * Threads: any; the counters are atomic. */
#include <stdatomic.h>

#include "storage/backend.h"

struct faulty_storage {
    struct storage base;
    struct storage *inner;
    _Atomic uint64_t calls;   /* since armed */
    _Atomic uint64_t failing; /* the call that fails; 0: none */
    _Atomic bool has_failed_commit;
    _Atomic bool leaves_rest;
};

struct faulty_scan {
    struct storage_scan base;
    struct faulty_storage *faulty;
    struct storage_scan *inner;
    bool is_failed;
};

static struct faulty_storage *faulty_of(struct storage *storage)
{
    return (struct faulty_storage *)storage;
}

static status injected_failure(void)
{
    return status_of(IO_ERROR, "injected failure");
}

static bool is_call_failing(struct faulty_storage *faulty)
{
    return atomic_fetch_add(&faulty->calls, 1) + 1 == atomic_load(&faulty->failing);
}

/* ---- reading -------------------------------------------------------------------------------------- */

static status faulty_view_open(struct storage *storage, struct storage_view **out)
{
    struct faulty_storage *faulty = faulty_of(storage);

    return is_call_failing(faulty) ? injected_failure() : storage_view_open(faulty->inner, out);
}

static void faulty_view_close(struct storage *storage, struct storage_view *view)
{
    storage_view_close(faulty_of(storage)->inner, view);
}

static status faulty_get(struct storage *storage, struct storage_view *view,
                         struct row_address where, bytes key, struct storage_value *out)
{
    struct faulty_storage *faulty = faulty_of(storage);

    if (is_call_failing(faulty))
        return injected_failure();
    return storage_get(faulty->inner, view, where, key, out);
}

static void faulty_find_missing(struct storage *storage, struct row_address where,
                                const bytes *keys, size_t count, struct arena *arena,
                                bool *is_missing_out)
{
    storage_find_missing(faulty_of(storage)->inner, where, keys, count, arena, is_missing_out);
}

static void faulty_value_release(struct storage *storage, struct storage_value *value)
{
    storage_value_release(faulty_of(storage)->inner, value);
}

static status faulty_scan_open(struct storage *storage, struct storage_view *view,
                               struct row_address where, const struct storage_range *range,
                               struct storage_scan **out)
{
    struct faulty_storage *faulty = faulty_of(storage);
    struct storage_scan *inner;

    if (is_call_failing(faulty))
        return injected_failure();
    TRY(storage_scan_open(faulty->inner, view, where, range, &inner));
    struct faulty_scan *scan = memory_take(sizeof(*scan));
    ASSERT(scan != NULL);
    *scan = (struct faulty_scan){
        .base = { .backend = storage->backend },
        .faulty = faulty,
        .inner = inner,
    };
    *out = &scan->base;
    return STATUS_OK;
}

static bool faulty_scan_next(struct storage_scan *base, bytes *key_out, bytes *value_out)
{
    struct faulty_scan *scan = (struct faulty_scan *)base;

    if (!scan->is_failed)
        scan->is_failed = is_call_failing(scan->faulty);
    return !scan->is_failed && storage_scan_next(scan->inner, key_out, value_out);
}

static void faulty_scan_seek(struct storage_scan *base, bytes key)
{
    storage_scan_seek(((struct faulty_scan *)base)->inner, key);
}

static status faulty_scan_status(const struct storage_scan *base)
{
    const struct faulty_scan *scan = (const struct faulty_scan *)base;

    return scan->is_failed ? injected_failure() : storage_scan_status(scan->inner);
}

static void faulty_scan_close(struct storage_scan *base)
{
    struct faulty_scan *scan = (struct faulty_scan *)base;

    storage_scan_close(scan->inner);
    memory_give(scan);
}

static status faulty_part(struct storage *storage, struct row_address where,
                          const struct storage_range *range, size_t most, struct arena *arena,
                          struct storage_parting *out)
{
    struct faulty_storage *faulty = faulty_of(storage);

    if (is_call_failing(faulty))
        return injected_failure();
    return storage_part(faulty->inner, where, range, most, arena, out);
}

/* ---- writing -------------------------------------------------------------------------------------- */

static struct storage_batch *faulty_batch_open(struct storage *storage)
{
    return storage_batch_open(faulty_of(storage)->inner);
}

static void faulty_batch_close(struct storage *storage, struct storage_batch *batch)
{
    storage_batch_close(faulty_of(storage)->inner, batch);
}

static void faulty_batch_clear(struct storage *storage, struct storage_batch *batch)
{
    storage_batch_clear(faulty_of(storage)->inner, batch);
}

static size_t faulty_batch_bytes(const struct storage *storage, const struct storage_batch *batch)
{
    return storage_batch_bytes(((const struct faulty_storage *)storage)->inner, batch);
}

static void faulty_put(struct storage *storage, struct storage_batch *batch,
                       struct row_address where, bytes key, bytes value)
{
    storage_put(faulty_of(storage)->inner, batch, where, key, value);
}

static void faulty_delete(struct storage *storage, struct storage_batch *batch,
                          struct row_address where, bytes key)
{
    storage_delete(faulty_of(storage)->inner, batch, where, key);
}

static void faulty_delete_range(struct storage *storage, struct storage_batch *batch,
                                struct row_address where, bytes start, bytes end)
{
    storage_delete_range(faulty_of(storage)->inner, batch, where, start, end);
}

static void faulty_add(struct storage *storage, struct storage_batch *batch,
                       struct row_address where, bytes key, bytes delta)
{
    struct storage_counters counters;

    ASSERT(storage_counters_decode(delta, &counters));
    storage_add(faulty_of(storage)->inner, batch, where, key, counters);
}

static status faulty_commit(struct storage *storage, struct storage_batch *batch,
                            struct arena *arena)
{
    struct faulty_storage *faulty = faulty_of(storage);

    if (is_call_failing(faulty))
        atomic_store(&faulty->has_failed_commit, true);
    if (atomic_load(&faulty->has_failed_commit))
        return injected_failure();
    return storage_commit(faulty->inner, batch, NULL, 0, arena, NULL);
}

/* ---- giving space back ----------------------------------------------------------------------------- */

static status faulty_drop_range(struct storage *storage, struct row_address where, bytes start,
                                bytes end)
{
    struct faulty_storage *faulty = faulty_of(storage);

    if (is_call_failing(faulty))
        return injected_failure();
    return storage_drop_range(faulty->inner, where, start, end);
}

static status faulty_drop_fresh(struct storage *storage, struct row_address where, bytes start,
                                bytes end, bool *has_rest)
{
    struct faulty_storage *faulty = faulty_of(storage);

    if (is_call_failing(faulty))
        return injected_failure();
    const status s = storage_drop_fresh(faulty->inner, where, start, end, has_rest);
    *has_rest = *has_rest || atomic_load(&faulty->leaves_rest);
    return s;
}

static status faulty_sweep(struct storage *storage, partition_id partition, bytes start, bytes end)
{
    struct faulty_storage *faulty = faulty_of(storage);

    if (is_call_failing(faulty))
        return injected_failure();
    return storage_sweep(faulty->inner, partition, start, end);
}

static status faulty_settle(struct storage *storage, partition_id partition)
{
    struct faulty_storage *faulty = faulty_of(storage);

    if (is_call_failing(faulty))
        return injected_failure();
    return storage_settle(faulty->inner, partition);
}

static status faulty_trim(struct storage *storage)
{
    struct faulty_storage *faulty = faulty_of(storage);

    if (is_call_failing(faulty))
        return injected_failure();
    return storage_trim(faulty->inner);
}

static status faulty_checkpoint(struct storage *storage, const char *path, struct arena *arena)
{
    struct faulty_storage *faulty = faulty_of(storage);

    if (is_call_failing(faulty))
        return injected_failure();
    return storage_checkpoint(faulty->inner, path, arena);
}

static void faulty_usage(struct storage *storage, struct storage_usage *out)
{
    storage_usage(faulty_of(storage)->inner, out);
}

/* ---- life ----------------------------------------------------------------------------------------- */

static void faulty_close(struct storage *storage)
{
    storage_close(faulty_of(storage)->inner);
    memory_give(storage);
}

static const struct storage_backend faulty_backend = {
    .close = faulty_close,
    .view_open = faulty_view_open,
    .view_close = faulty_view_close,
    .get = faulty_get,
    .find_missing = faulty_find_missing,
    .value_release = faulty_value_release,
    .scan_open = faulty_scan_open,
    .scan_next = faulty_scan_next,
    .scan_seek = faulty_scan_seek,
    .scan_status = faulty_scan_status,
    .scan_close = faulty_scan_close,
    .part = faulty_part,
    .batch_open = faulty_batch_open,
    .batch_close = faulty_batch_close,
    .batch_clear = faulty_batch_clear,
    .batch_bytes = faulty_batch_bytes,
    .put = faulty_put,
    .delete = faulty_delete,
    .delete_range = faulty_delete_range,
    .add = faulty_add,
    .commit = faulty_commit,
    .drop_range = faulty_drop_range,
    .drop_fresh = faulty_drop_fresh,
    .sweep = faulty_sweep,
    .settle = faulty_settle,
    .trim = faulty_trim,
    .usage = faulty_usage,
    .checkpoint = faulty_checkpoint,
};

status storage_open_faulty(struct storage *inner, struct storage **out)
{
    struct faulty_storage *faulty = memory_take_zeroed(1, sizeof(*faulty));

    ASSERT(faulty != NULL);
    faulty->base.backend = &faulty_backend;
    faulty->base.capabilities = storage_capabilities(inner);
    faulty->inner = inner;
    *out = &faulty->base;
    return STATUS_OK;
}

void storage_faulty_arm(struct storage *storage, uint64_t nth_call)
{
    struct faulty_storage *faulty = faulty_of(storage);

    ASSERT(storage->backend == &faulty_backend);
    atomic_store(&faulty->failing, nth_call);
    atomic_store(&faulty->calls, 0);
}

void storage_faulty_heal(struct storage *storage)
{
    ASSERT(storage->backend == &faulty_backend);
    atomic_store(&faulty_of(storage)->has_failed_commit, false);
}

void storage_faulty_leave_rest(struct storage *storage)
{
    ASSERT(storage->backend == &faulty_backend);
    atomic_store(&faulty_of(storage)->leaves_rest, true);
}

uint64_t storage_faulty_calls(const struct storage *storage)
{
    ASSERT(storage->backend == &faulty_backend);
    return atomic_load(&((const struct faulty_storage *)storage)->calls);
}
