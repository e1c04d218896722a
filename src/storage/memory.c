/* Memory: rows in sorted trees, one per space; nothing survives the process.
 *
 * The model of what a backend must do, and the storage of tests. The three trees keep their past
 * (tree.h), so a view is a hold on three roots and a commit builds three new roots and then shows
 * them all at once. A sweep judges rows of a fixed instant and removes those that are still there.
 *
 * Keeps: readers see all of a commit or nothing of it.
 * Threads: any. `lock` guards the three roots and is held for moments; `write_lock` makes commits and
 * sweeps take turns and is taken first. Callbacks run under neither. */
#include <pthread.h>

#include "storage/backend.h"
#include "storage/full_key.h"
#include "storage/tree.h"

struct roots {
    struct tree *space[SPACE_COUNT];
};

struct memory_storage {
    struct storage base;
    struct storage_sweeper sweeper;
    pthread_mutex_t write_lock;
    pthread_mutex_t lock;
    struct roots roots; /* under lock */
};

struct storage_view {
    struct roots roots;
};

/* ---- roots ---------------------------------------------------------------------------------------- */

static struct memory_storage *memory_of(struct storage *storage)
{
    return (struct memory_storage *)storage;
}

static struct tree *hold_root(struct memory_storage *memory, enum storage_space space)
{
    pthread_mutex_lock(&memory->lock);
    struct tree *root = tree_retain(memory->roots.space[space]);
    pthread_mutex_unlock(&memory->lock);
    return root;
}

static struct roots hold_roots(struct memory_storage *memory)
{
    struct roots held;

    pthread_mutex_lock(&memory->lock);
    for (int i = 0; i < SPACE_COUNT; i++)
        held.space[i] = tree_retain(memory->roots.space[i]);
    pthread_mutex_unlock(&memory->lock);
    return held;
}

static void release_roots(struct roots *roots)
{
    for (int i = 0; i < SPACE_COUNT; i++)
        tree_release(roots->space[i]);
}

/* Shows the new roots and lets go of the old ones. */
static void publish_roots(struct memory_storage *memory, struct roots fresh)
{
    pthread_mutex_lock(&memory->lock);
    struct roots old = memory->roots;
    memory->roots = fresh;
    pthread_mutex_unlock(&memory->lock);
    release_roots(&old);
}

static struct tree *hold_for(struct storage *storage, struct storage_view *view,
                             enum storage_space space)
{
    return view != NULL ? tree_retain(view->roots.space[space])
                        : hold_root(memory_of(storage), space);
}

/* ---- reading -------------------------------------------------------------------------------------- */

static status memory_view_open(struct storage *storage, struct storage_view **out)
{
    struct storage_view *view = memory_take(sizeof(*view));

    if (view == NULL)
        return status_of(OUT_OF_MEMORY, "no memory for a view");
    view->roots = hold_roots(memory_of(storage));
    *out = view;
    return STATUS_OK;
}

static void memory_view_close(struct storage *storage, struct storage_view *view)
{
    (void)storage;
    release_roots(&view->roots);
    memory_give(view);
}

static status memory_get(struct storage *storage, struct storage_view *view,
                         struct row_address where, bytes key, struct storage_value *out)
{
    struct full_key full;
    struct tree *root = hold_for(storage, view, where.space);

    full_key_make(&full, where.partition, key);
    struct tree_row *row = tree_find(root, full_key_bytes(&full));
    if (row != NULL)
        *out = (struct storage_value){ .value = tree_row_value(row), .pin = tree_row_retain(row) };
    full_key_release(&full);
    tree_release(root);
    return row != NULL ? STATUS_OK : status_of(NOT_FOUND, "no such row");
}

static void memory_value_release(struct storage *storage, struct storage_value *value)
{
    (void)storage;
    tree_row_release(value->pin);
}

struct memory_scan {
    struct storage_scan base;
    struct tree *root;
    struct full_key start;
    struct full_key end;
    bool is_reverse;
    struct tree_row *next; /* held by root */
};

/* Positions at the first row of the scan's direction from `key` on, bounds included. */
static void scan_place(struct memory_scan *scan, bytes key, bool is_key_included)
{
    const bytes start = full_key_bytes(&scan->start);
    const bytes end = full_key_bytes(&scan->end);

    if (scan->is_reverse && bytes_compare(key, end) >= 0) {
        key = end;
        is_key_included = false;
    } else if (!scan->is_reverse && bytes_compare(key, start) < 0) {
        key = start;
        is_key_included = true;
    }
    const enum tree_side down = is_key_included ? TREE_AT_OR_BEFORE : TREE_BEFORE;
    const enum tree_side up = is_key_included ? TREE_AT_OR_AFTER : TREE_AFTER;
    struct tree_row *row = tree_seek(scan->root, key, scan->is_reverse ? down : up);
    if (row != NULL &&
        (bytes_compare(tree_row_key(row), start) < 0 || bytes_compare(tree_row_key(row), end) >= 0))
        row = NULL;
    scan->next = row;
}

static status memory_scan_open(struct storage *storage, struct storage_view *view,
                               struct row_address where, const struct storage_range *range,
                               struct storage_scan **out)
{
    struct memory_scan *scan = memory_take(sizeof(*scan));

    if (scan == NULL)
        return status_of(OUT_OF_MEMORY, "no memory for a scan");
    scan->base.backend = storage->backend;
    scan->root = hold_for(storage, view, where.space);
    scan->is_reverse = range->is_reverse;
    full_key_make(&scan->start, where.partition, range->start);
    full_key_make_end(&scan->end, where.partition, range->end);
    scan_place(scan, full_key_bytes(scan->is_reverse ? &scan->end : &scan->start), true);
    *out = &scan->base;
    return STATUS_OK;
}

static bool memory_scan_next(struct storage_scan *base, bytes *key_out, bytes *value_out)
{
    struct memory_scan *scan = (struct memory_scan *)base;
    struct tree_row *row = scan->next;

    if (row == NULL)
        return false;
    scan_place(scan, tree_row_key(row), false);
    *key_out = full_key_rest(tree_row_key(row));
    *value_out = tree_row_value(row);
    return true;
}

static void memory_scan_seek(struct storage_scan *base, bytes key)
{
    struct memory_scan *scan = (struct memory_scan *)base;
    struct full_key full;

    full_key_make(&full, full_key_partition(full_key_bytes(&scan->start)), key);
    scan_place(scan, full_key_bytes(&full), true);
    full_key_release(&full);
}

static status memory_scan_status(const struct storage_scan *base)
{
    (void)base;
    return STATUS_OK;
}

static void memory_scan_close(struct storage_scan *base)
{
    struct memory_scan *scan = (struct memory_scan *)base;

    full_key_release(&scan->start);
    full_key_release(&scan->end);
    tree_release(scan->root);
    memory_give(scan);
}

/* Small stretches, so that tests need few rows. */
enum { PART_BYTES = 4096 };

static status memory_part(struct storage *storage, struct row_address where,
                          const struct storage_range *range, size_t most, struct arena *arena,
                          struct storage_parting *out)
{
    struct storage_scan *scan;
    bytes key, value;
    size_t passed = 0;

    TRY(memory_scan_open(storage, NULL, where, range, &scan));
    status s = STATUS_OK;
    while (s.code == OK && out->count < most && memory_scan_next(scan, &key, &value)) {
        if (passed > PART_BYTES) {
            s = arena_copy(arena, key, &out->keys[out->count]);
            out->count += s.code == OK;
            passed = 0;
        }
        passed += value.len;
    }
    memory_scan_close(scan);
    return s;
}

/* ---- writing -------------------------------------------------------------------------------------- */

enum step_kind { STEP_PUT, STEP_DELETE, STEP_DELETE_RANGE, STEP_ADD };

struct step {
    enum step_kind kind;
    enum storage_space space;
    struct tree_row *row; /* key, and what is put or added; or the start of a range */
    struct tree_row *end; /* of a range, else NULL */
};

struct storage_batch {
    struct step *steps;
    size_t count;
    size_t room;
    size_t size_bytes;
    bool is_failed; /* there was no memory for a row: it cannot be committed */
};

static struct storage_batch *memory_batch_open(struct storage *storage)
{
    struct storage_batch *batch = memory_take_zeroed(1, sizeof(*batch));

    (void)storage;
    ASSERT(batch != NULL);
    return batch;
}

static void memory_batch_clear(struct storage *storage, struct storage_batch *batch)
{
    (void)storage;
    for (size_t i = 0; i < batch->count; i++) {
        tree_row_release(batch->steps[i].row);
        tree_row_release(batch->steps[i].end);
    }
    batch->count = 0;
    batch->size_bytes = 0;
    batch->is_failed = false;
}

static void memory_batch_close(struct storage *storage, struct storage_batch *batch)
{
    memory_batch_clear(storage, batch);
    memory_give(batch->steps);
    memory_give(batch);
}

static size_t memory_batch_bytes(const struct storage *storage, const struct storage_batch *batch)
{
    (void)storage;
    return batch->size_bytes;
}

static bool batch_reserve(struct storage_batch *batch)
{
    size_t room = batch->room == 0 ? 16 : batch->room * 2;

    if (batch->count < batch->room)
        return true;
    struct step *steps = memory_resize(batch->steps, room * sizeof(*steps));
    if (steps == NULL)
        return false;
    batch->steps = steps;
    batch->room = room;
    return true;
}

static void batch_append(struct storage_batch *batch, struct step step)
{
    bool is_whole = step.row != NULL && (step.kind != STEP_DELETE_RANGE || step.end != NULL);

    if (!is_whole || !batch_reserve(batch)) {
        tree_row_release(step.row);
        tree_row_release(step.end);
        batch->is_failed = true;
        return;
    }
    batch->steps[batch->count++] = step;
    batch->size_bytes += step.row->key_len + step.row->value_len;
    batch->size_bytes += step.end != NULL ? step.end->key_len : 0;
}

static void append_row(struct storage_batch *batch, enum step_kind kind, struct row_address where,
                       bytes key, bytes value)
{
    struct full_key full;

    full_key_make(&full, where.partition, key);
    batch_append(batch, (struct step){ .kind = kind,
                                       .space = where.space,
                                       .row = tree_row_make(full_key_bytes(&full), value) });
    full_key_release(&full);
}

void memory_batch_fail(struct storage_batch *batch)
{
    batch->is_failed = true;
}

static void memory_put(struct storage *storage, struct storage_batch *batch,
                       struct row_address where, bytes key, bytes value)
{
    (void)storage;
    append_row(batch, STEP_PUT, where, key, value);
}

static void memory_delete(struct storage *storage, struct storage_batch *batch,
                          struct row_address where, bytes key)
{
    (void)storage;
    append_row(batch, STEP_DELETE, where, key, BYTES_NONE);
}

static void memory_add(struct storage *storage, struct storage_batch *batch,
                       struct row_address where, bytes key, bytes delta)
{
    (void)storage;
    append_row(batch, STEP_ADD, where, key, delta);
}

static void memory_delete_range(struct storage *storage, struct storage_batch *batch,
                                struct row_address where, bytes start, bytes end)
{
    struct full_key full_start;
    struct full_key full_end;

    (void)storage;
    full_key_make(&full_start, where.partition, start);
    full_key_make_end(&full_end, where.partition, end);
    batch_append(batch,
                 (struct step){ .kind = STEP_DELETE_RANGE,
                                .space = where.space,
                                .row = tree_row_make(full_key_bytes(&full_start), BYTES_NONE),
                                .end = tree_row_make(full_key_bytes(&full_end), BYTES_NONE) });
    full_key_release(&full_start);
    full_key_release(&full_end);
}

/* A row that came to 0, 0 is left out: callers must live with either (storage.h). */
static struct tree *apply_add(struct tree *root, const struct tree_row *delta)
{
    const bytes key = tree_row_key(delta);
    const struct tree_row *old = tree_find(root, key);
    struct storage_counters sum = { 0 };
    struct storage_counters more;

    ASSERT(old == NULL || storage_counters_decode(tree_row_value(old), &sum));
    ASSERT(storage_counters_decode(tree_row_value(delta), &more));
    sum = storage_counters_sum(sum, more);
    if (sum.first == 0 && sum.second == 0)
        return tree_delete(root, key);
    uint8_t encoded[COUNTERS_BYTES];
    storage_counters_encode(sum, encoded);
    struct tree_row *row = tree_row_make(key, bytes_of(encoded, sizeof(encoded)));
    ASSERT(row != NULL); /* a few bytes, when the commit can no longer be given up */
    return tree_put(root, row);
}

static struct tree *apply_step(struct tree *root, const struct step *step)
{
    switch (step->kind) {
    case STEP_PUT:
        return tree_put(root, tree_row_retain(step->row));
    case STEP_DELETE:
        return tree_delete(root, tree_row_key(step->row));
    case STEP_DELETE_RANGE:
        return tree_delete_range(root, tree_row_key(step->row), tree_row_key(step->end));
    case STEP_ADD:
        return apply_add(root, step->row);
    }
    check_failed("a step has a known kind", __FILE__, __LINE__);
}

static status memory_commit(struct storage *storage, struct storage_batch *batch,
                            struct arena *arena)
{
    struct memory_storage *memory = memory_of(storage);

    (void)arena;
    if (batch->is_failed)
        return status_of(OUT_OF_MEMORY, "the server has no memory for the rows");
    pthread_mutex_lock(&memory->write_lock);
    struct roots fresh = hold_roots(memory);
    for (size_t i = 0; i < batch->count; i++) {
        const struct step *step = &batch->steps[i];
        fresh.space[step->space] = apply_step(fresh.space[step->space], step);
    }
    publish_roots(memory, fresh);
    pthread_mutex_unlock(&memory->write_lock);
    return STATUS_OK;
}

/* ---- giving space back ----------------------------------------------------------------------------- */

static status memory_drop_range(struct storage *storage, struct row_address where, bytes start,
                                bytes end)
{
    (void)storage, (void)where, (void)start, (void)end;
    return STATUS_OK; /* the range delete before it has freed everything */
}

/* Judges the rows of [start, end) at one instant; the garbage comes back as a batch of deletes. */
static struct storage_batch *collect_garbage(struct memory_storage *memory, bytes start, bytes end)
{
    struct storage_batch *garbage = memory_batch_open(&memory->base);
    const struct storage_sweeper *sweeper = &memory->sweeper;
    struct tree *root = hold_root(memory, SPACE_ROWS);
    void *context = sweeper->begin(sweeper->owner, SPACE_ROWS);

    if (context != NULL) {
        struct tree_row *row = tree_seek(root, start, TREE_AT_OR_AFTER);
        for (; row != NULL && bytes_compare(tree_row_key(row), end) < 0;
             row = tree_seek(root, tree_row_key(row), TREE_AFTER)) {
            const bytes key = tree_row_key(row);
            if (sweeper->is_garbage(context, full_key_partition(key), full_key_rest(key),
                                    tree_row_value(row)))
                batch_append(garbage, (struct step){ .kind = STEP_DELETE,
                                                     .space = SPACE_ROWS,
                                                     .row = tree_row_retain(row) });
        }
        sweeper->end(sweeper->owner, context);
    }
    tree_release(root);
    return garbage;
}

/* Removes what was judged, except rows that have been written again since. */
static void remove_garbage(struct memory_storage *memory, const struct storage_batch *garbage)
{
    pthread_mutex_lock(&memory->write_lock);
    struct roots fresh = hold_roots(memory);
    for (size_t i = 0; i < garbage->count; i++) {
        const struct tree_row *row = garbage->steps[i].row;
        struct tree **root = &fresh.space[SPACE_ROWS];
        if (tree_find(*root, tree_row_key(row)) == row)
            *root = tree_delete(*root, tree_row_key(row));
    }
    publish_roots(memory, fresh);
    pthread_mutex_unlock(&memory->write_lock);
}

/* Deleted rows take nothing here. */
static status memory_settle(struct storage *storage, partition_id partition)
{
    (void)storage;
    (void)partition;
    return STATUS_OK;
}

static status memory_sweep(struct storage *storage, partition_id partition, bytes start, bytes end)
{
    struct memory_storage *memory = memory_of(storage);
    struct full_key full_start;
    struct full_key full_end;

    if (memory->sweeper.begin == NULL)
        return STATUS_OK;
    full_key_make(&full_start, partition, start);
    full_key_make_end(&full_end, partition, end);
    struct storage_batch *garbage = collect_garbage(memory, full_key_bytes(&full_start),
                                                    full_key_bytes(&full_end));
    remove_garbage(memory, garbage);
    memory_batch_close(storage, garbage);
    full_key_release(&full_start);
    full_key_release(&full_end);
    return STATUS_OK;
}

static void memory_usage(struct storage *storage, struct storage_usage *out)
{
    (void)storage, (void)out; /* nothing is on disk */
}

/* ---- life ----------------------------------------------------------------------------------------- */

static void memory_close(struct storage *storage)
{
    struct memory_storage *memory = memory_of(storage);

    release_roots(&memory->roots);
    pthread_mutex_destroy(&memory->lock);
    pthread_mutex_destroy(&memory->write_lock);
    memory_give(memory);
}

static const struct storage_backend memory_backend = {
    .close = memory_close,
    .view_open = memory_view_open,
    .view_close = memory_view_close,
    .get = memory_get,
    .value_release = memory_value_release,
    .scan_open = memory_scan_open,
    .scan_next = memory_scan_next,
    .scan_seek = memory_scan_seek,
    .scan_status = memory_scan_status,
    .scan_close = memory_scan_close,
    .part = memory_part,
    .batch_open = memory_batch_open,
    .batch_close = memory_batch_close,
    .batch_clear = memory_batch_clear,
    .batch_bytes = memory_batch_bytes,
    .put = memory_put,
    .delete = memory_delete,
    .delete_range = memory_delete_range,
    .add = memory_add,
    .commit = memory_commit,
    .drop_range = memory_drop_range,
    .sweep = memory_sweep,
    .settle = memory_settle,
    .usage = memory_usage,
};

status storage_open_memory(const struct storage_options *options, struct storage **out)
{
    struct memory_storage *memory = memory_take_zeroed(1, sizeof(*memory));

    *out = NULL;
    if (memory == NULL)
        return status_of(OUT_OF_MEMORY, "no memory for the storage");
    memory->base.backend = &memory_backend;
    memory->base.capabilities = STORAGE_HAS_SNAPSHOTS | STORAGE_HAS_MULTI_PARTITION |
                                STORAGE_HAS_SWEEPER | STORAGE_HAS_SINGLE_WRITER;
    memory->sweeper = options->sweeper;
    pthread_mutex_init(&memory->write_lock, NULL);
    pthread_mutex_init(&memory->lock, NULL);
    *out = &memory->base;
    return STATUS_OK;
}
