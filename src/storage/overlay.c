/* Overlay: the rows of a storage at one instant, and changes laid over them that nobody else sees.
 *
 * Below is any storage, read through one view that stays open; above is a storage in memory, which holds what
 * was put, and a mark for what was deleted. A row above hides the one below. Views and batches are
 * those of the storage above, so that whoever scans sees the changes that were there when it began.
 *
 * Keeps: below is never written. Deleting ranges and adding to counters is not possible here.
 * Threads: any, as far as both storages allow it; no state of its own changes. */
#include "storage/backend.h"

struct overlay_storage {
    struct storage base;
    struct storage *below;
    struct storage_view *instant;
    struct storage *above;
};

/* In front of every value above. */
enum { MARK_THERE = 1, MARK_GONE = 2 };

static struct overlay_storage *overlay_of(struct storage *storage)
{
    return (struct overlay_storage *)storage;
}

static bool is_gone(bytes marked)
{
    ASSERT(marked.len > 0);
    return marked.data[0] == MARK_GONE;
}

/* ---- reading -------------------------------------------------------------------------------------- */

static status overlay_view_open(struct storage *storage, struct storage_view **out)
{
    return storage_view_open(overlay_of(storage)->above, out);
}

static void overlay_view_close(struct storage *storage, struct storage_view *view)
{
    storage_view_close(overlay_of(storage)->above, view);
}

/* A value knows whose it is. */
struct overlay_pin {
    struct storage *owner;
    struct storage_value held;
};

static status pin_value(struct storage *owner, struct storage_value held, size_t skip,
                        struct storage_value *out)
{
    struct overlay_pin *pin = memory_take(sizeof(*pin));

    if (pin == NULL) {
        storage_value_release(owner, &held);
        return status_of(OUT_OF_MEMORY, "no memory to read a row");
    }
    *pin = (struct overlay_pin){ .owner = owner, .held = held };
    *out = (struct storage_value){ .value = bytes_from(held.value, skip), .pin = pin };
    return STATUS_OK;
}

static status overlay_get(struct storage *storage, struct storage_view *view,
                          struct row_address where, bytes key, struct storage_value *out)
{
    struct overlay_storage *overlay = overlay_of(storage);
    struct storage_value held;
    status s = storage_get(overlay->above, view, where, key, &held);

    if (s.code == OK && is_gone(held.value)) {
        storage_value_release(overlay->above, &held);
        return status_of(NOT_FOUND, "no such row");
    }
    if (s.code == OK)
        return pin_value(overlay->above, held, 1, out);
    if (s.code != NOT_FOUND)
        return s;
    TRY(storage_get(overlay->below, overlay->instant, where, key, &held));
    return pin_value(overlay->below, held, 0, out);
}

static void overlay_value_release(struct storage *storage, struct storage_value *value)
{
    struct overlay_pin *pin = value->pin;

    (void)storage;
    storage_value_release(pin->owner, &pin->held);
    memory_give(pin);
}

/* One of the two that are merged, and the row at which it stands. */
struct overlay_side {
    struct storage_scan *scan;
    bool is_read; /* the row was taken from the scan, and not given yet */
    bool has_row;
    bytes key, value;
};

struct overlay_scan {
    struct storage_scan base;
    bool is_reverse;
    struct overlay_side above, below;
};

static status overlay_scan_open(struct storage *storage, struct storage_view *view,
                                struct row_address where, const struct storage_range *range,
                                struct storage_scan **out)
{
    struct overlay_storage *overlay = overlay_of(storage);
    struct overlay_scan *scan = memory_take_zeroed(1, sizeof(*scan));

    if (scan == NULL)
        return status_of(OUT_OF_MEMORY, "no memory for a scan");
    scan->base.backend = storage->backend;
    scan->is_reverse = range->is_reverse;
    status s = storage_scan_open(overlay->above, view, where, range, &scan->above.scan);
    if (s.code == OK)
        s = storage_scan_open(overlay->below, overlay->instant, where, range, &scan->below.scan);
    if (s.code != OK) {
        storage_scan_close(scan->above.scan);
        memory_give(scan);
        return s;
    }
    *out = &scan->base;
    return STATUS_OK;
}

static void side_read(struct overlay_side *side)
{
    if (!side->is_read)
        side->has_row = storage_scan_next(side->scan, &side->key, &side->value);
    side->is_read = true;
}

/* Negative: the row above comes first; 0: it hides the one below. */
static int compare_sides(const struct overlay_scan *scan)
{
    if (!scan->above.has_row || !scan->below.has_row)
        return scan->above.has_row ? -1 : 1;
    int order = bytes_compare(scan->above.key, scan->below.key);
    return scan->is_reverse ? -order : order;
}

static bool overlay_scan_next(struct storage_scan *base, bytes *key_out, bytes *value_out)
{
    struct overlay_scan *scan = (struct overlay_scan *)base;

    for (;;) {
        side_read(&scan->above);
        side_read(&scan->below);
        /* What failed below must not look like its end. */
        if (!scan->below.has_row && storage_scan_status(scan->below.scan).code != OK)
            return false;
        if (!scan->above.has_row && !scan->below.has_row)
            return false;
        int order = compare_sides(scan);
        const struct overlay_side *side = order <= 0 ? &scan->above : &scan->below;
        scan->above.is_read = order > 0;
        scan->below.is_read = order < 0;
        if (order <= 0 && is_gone(side->value))
            continue;
        *key_out = side->key;
        *value_out = bytes_from(side->value, order <= 0 ? 1 : 0);
        return true;
    }
}

static void overlay_scan_seek(struct storage_scan *base, bytes key)
{
    struct overlay_scan *scan = (struct overlay_scan *)base;

    storage_scan_seek(scan->above.scan, key);
    storage_scan_seek(scan->below.scan, key);
    scan->above.is_read = scan->below.is_read = false;
}

static status overlay_scan_status(const struct storage_scan *base)
{
    const struct overlay_scan *scan = (const struct overlay_scan *)base;

    TRY(storage_scan_status(scan->above.scan));
    return storage_scan_status(scan->below.scan);
}

static void overlay_scan_close(struct storage_scan *base)
{
    struct overlay_scan *scan = (struct overlay_scan *)base;

    storage_scan_close(scan->above.scan);
    storage_scan_close(scan->below.scan);
    memory_give(scan);
}

/* ---- writing -------------------------------------------------------------------------------------- */

static struct storage_batch *overlay_batch_open(struct storage *storage)
{
    return storage_batch_open(overlay_of(storage)->above);
}

static void overlay_batch_close(struct storage *storage, struct storage_batch *batch)
{
    storage_batch_close(overlay_of(storage)->above, batch);
}

static void overlay_batch_clear(struct storage *storage, struct storage_batch *batch)
{
    storage_batch_clear(overlay_of(storage)->above, batch);
}

static size_t overlay_batch_bytes(const struct storage *storage, const struct storage_batch *batch)
{
    return storage_batch_bytes(((const struct overlay_storage *)storage)->above, batch);
}

static void overlay_put(struct storage *storage, struct storage_batch *batch,
                        struct row_address where, bytes key, bytes value)
{
    uint8_t *marked = memory_take(value.len + 1);

    if (marked == NULL) {
        memory_batch_fail(batch);
        return;
    }
    marked[0] = MARK_THERE;
    memcpy(marked + 1, value.data, value.len);
    storage_put(overlay_of(storage)->above, batch, where, key, bytes_of(marked, value.len + 1));
    memory_give(marked);
}

static void overlay_delete(struct storage *storage, struct storage_batch *batch,
                           struct row_address where, bytes key)
{
    static const uint8_t mark = MARK_GONE;

    storage_put(overlay_of(storage)->above, batch, where, key, bytes_of(&mark, 1));
}

static void overlay_delete_range(struct storage *storage, struct storage_batch *batch,
                                 struct row_address where, bytes start, bytes end)
{
    (void)storage;
    (void)batch;
    (void)where;
    (void)start;
    (void)end;
    ASSERT(false && "an overlay deletes row by row");
}

static void overlay_add(struct storage *storage, struct storage_batch *batch,
                        struct row_address where, bytes key, bytes delta)
{
    (void)storage;
    (void)batch;
    (void)where;
    (void)key;
    (void)delta;
    ASSERT(false && "an overlay keeps no counters");
}

static status overlay_commit(struct storage *storage, struct storage_batch *batch,
                             struct arena *arena)
{
    return storage_commit(overlay_of(storage)->above, batch, NULL, 0, arena, NULL);
}

/* ---- space ---------------------------------------------------------------------------------------- */

static status overlay_drop_range(struct storage *storage, struct row_address where, bytes start,
                                 bytes end)
{
    (void)storage;
    (void)where;
    (void)start;
    (void)end;
    return STATUS_OK;
}

static status overlay_sweep(struct storage *storage, partition_id partition, bytes start, bytes end)
{
    (void)storage;
    (void)partition;
    (void)start;
    (void)end;
    return STATUS_OK;
}

static status overlay_settle(struct storage *storage, partition_id partition)
{
    (void)storage;
    (void)partition;
    return STATUS_OK;
}

static void overlay_usage(struct storage *storage, struct storage_usage *out)
{
    storage_usage(overlay_of(storage)->above, out);
}

/* ---- life ----------------------------------------------------------------------------------------- */

static void overlay_close(struct storage *storage)
{
    struct overlay_storage *overlay = overlay_of(storage);

    storage_view_close(overlay->below, overlay->instant);
    storage_close(overlay->above);
    memory_give(overlay);
}

static const struct storage_backend overlay_backend = {
    .close = overlay_close,
    .view_open = overlay_view_open,
    .view_close = overlay_view_close,
    .get = overlay_get,
    .value_release = overlay_value_release,
    .scan_open = overlay_scan_open,
    .scan_next = overlay_scan_next,
    .scan_seek = overlay_scan_seek,
    .scan_status = overlay_scan_status,
    .scan_close = overlay_scan_close,
    .batch_open = overlay_batch_open,
    .batch_close = overlay_batch_close,
    .batch_clear = overlay_batch_clear,
    .batch_bytes = overlay_batch_bytes,
    .put = overlay_put,
    .delete = overlay_delete,
    .delete_range = overlay_delete_range,
    .add = overlay_add,
    .commit = overlay_commit,
    .drop_range = overlay_drop_range,
    .sweep = overlay_sweep,
    .settle = overlay_settle,
    .usage = overlay_usage,
};

status storage_open_overlay(struct storage *below, struct storage **out)
{
    struct storage_options options = { 0 };
    struct overlay_storage *overlay = memory_take_zeroed(1, sizeof(*overlay));

    *out = NULL;
    if (overlay == NULL)
        return status_of(OUT_OF_MEMORY, "no memory for an overlay");
    overlay->base.backend = &overlay_backend;
    overlay->base.capabilities = STORAGE_HAS_SNAPSHOTS | STORAGE_HAS_MULTI_PARTITION |
                                 STORAGE_HAS_SINGLE_WRITER;
    overlay->below = below;
    status s = storage_view_open(below, &overlay->instant);
    if (s.code == OK)
        s = storage_open_memory(&options, &overlay->above);
    if (s.code != OK) {
        storage_view_close(below, overlay->instant);
        memory_give(overlay);
        return s;
    }
    *out = &overlay->base;
    return STATUS_OK;
}
