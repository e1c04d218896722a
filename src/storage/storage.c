/* Storage: the door to every backend.
 *
 * Checks what callers promise (no NUL in keys, no empty keys or values, spaces that exist), turns
 * ranges that are inside out into empty ones, judges guards, and calls the backend. Knows nothing
 * about how rows are kept.
 *
 * Threads: any; no state of its own. */
#include "storage/storage.h"

#include "storage/backend.h"

static void check_key(bytes key)
{
    ASSERT(key.len > 0);
    ASSERT_SLOW(memchr(key.data, 0, key.len) == NULL);
}

static void check_bound(bytes bound)
{
    if (bound.len > 0)
        check_key(bound);
}

static void check_address(struct row_address where)
{
    ASSERT(where.space < SPACE_COUNT);
    ASSERT(where.partition < UINT64_MAX);
}

/* True if no key can lie in [start, end). */
static bool is_hollow(bytes start, bytes end)
{
    return !bytes_is_empty(end) && bytes_compare(start, end) >= 0;
}

/* ---- life ----------------------------------------------------------------------------------------- */

void storage_close(struct storage *storage)
{
    if (storage != NULL)
        storage->backend->close(storage);
}

unsigned storage_capabilities(const struct storage *storage)
{
    return storage->capabilities;
}

/* ---- reading -------------------------------------------------------------------------------------- */

status storage_view_open(struct storage *storage, struct storage_view **out)
{
    *out = NULL;
    return storage->backend->view_open(storage, out);
}

void storage_view_close(struct storage *storage, struct storage_view *view)
{
    if (view != NULL)
        storage->backend->view_close(storage, view);
}

status storage_get(struct storage *storage, struct storage_view *view, struct row_address where,
                   bytes key, struct storage_value *out)
{
    check_address(where);
    check_key(key);
    *out = (struct storage_value){ .value = BYTES_NONE };
    return storage->backend->get(storage, view, where, key, out);
}

void storage_get_some(struct storage *storage, struct storage_view *view, struct row_address where,
                      const bytes *keys, size_t count, struct storage_value *out)
{
    check_address(where);
    for (size_t i = 0; i < count; i++) {
        check_key(keys[i]);
        out[i] = (struct storage_value){ .value = BYTES_NONE };
    }
    if (storage->backend->get_some)
        storage->backend->get_some(storage, view, where, keys, count, out);
    for (size_t i = 0; i < count; i++) {
        if (!out[i].pin && storage->backend->get(storage, view, where, keys[i], &out[i]).code != OK)
            out[i] = (struct storage_value){ .value = BYTES_NONE };
    }
}

void storage_find_missing(struct storage *storage, struct row_address where, const bytes *keys,
                          size_t count, struct arena *arena, bool *is_missing_out)
{
    const arena_position mark = arena_mark(arena);

    check_address(where);
    for (size_t i = 0; i < count; i++) {
        check_key(keys[i]);
        is_missing_out[i] = false;
    }
    if (count > 0 && storage->backend->find_missing != NULL)
        storage->backend->find_missing(storage, where, keys, count, arena, is_missing_out);
    arena_release(arena, mark);
}

void storage_value_release(struct storage *storage, struct storage_value *value)
{
    if (value->pin != NULL)
        storage->backend->value_release(storage, value);
    *value = (struct storage_value){ .value = BYTES_NONE };
}

status storage_scan_open(struct storage *storage, struct storage_view *view,
                         struct row_address where, const struct storage_range *range,
                         struct storage_scan **out)
{
    struct storage_range checked = *range;

    check_address(where);
    check_bound(range->start);
    check_bound(range->end);
    if (is_hollow(range->start, range->end))
        checked.end = range->start;
    *out = NULL;
    return storage->backend->scan_open(storage, view, where, &checked, out);
}

bool storage_scan_next(struct storage_scan *scan, bytes *key_out, bytes *value_out)
{
    *key_out = BYTES_NONE;
    *value_out = BYTES_NONE;
    return scan->backend->scan_next(scan, key_out, value_out);
}

void storage_scan_seek(struct storage_scan *scan, bytes key)
{
    check_bound(key);
    scan->backend->scan_seek(scan, key);
}

status storage_scan_status(const struct storage_scan *scan)
{
    return scan->backend->scan_status(scan);
}

void storage_scan_close(struct storage_scan *scan)
{
    if (scan != NULL)
        scan->backend->scan_close(scan);
}

status storage_part(struct storage *storage, struct row_address where,
                    const struct storage_range *range, size_t most, struct arena *arena,
                    struct storage_parting *out)
{
    check_address(where);
    check_bound(range->start);
    check_bound(range->end);
    *out = (struct storage_parting){ 0 };
    if (most == 0 || !storage->backend->part || is_hollow(range->start, range->end))
        return STATUS_OK;
    TRY(ARENA_NEW(arena, most, &out->keys));
    TRY(storage->backend->part(storage, where, range, most, arena, out));
    for (size_t i = 1; i < out->count; i++)
        ASSERT(bytes_compare(out->keys[i - 1], out->keys[i]) < 0);
    return STATUS_OK;
}

/* ---- writing -------------------------------------------------------------------------------------- */

struct storage_batch *storage_batch_open(struct storage *storage)
{
    return storage->backend->batch_open(storage);
}

void storage_batch_close(struct storage *storage, struct storage_batch *batch)
{
    if (batch != NULL)
        storage->backend->batch_close(storage, batch);
}

void storage_batch_clear(struct storage *storage, struct storage_batch *batch)
{
    storage->backend->batch_clear(storage, batch);
}

size_t storage_batch_bytes(const struct storage *storage, const struct storage_batch *batch)
{
    return storage->backend->batch_bytes(storage, batch);
}

void storage_put(struct storage *storage, struct storage_batch *batch, struct row_address where,
                 bytes key, bytes value)
{
    check_address(where);
    check_key(key);
    ASSERT(value.len > 0);
    storage->backend->put(storage, batch, where, key, value);
}

void storage_delete(struct storage *storage, struct storage_batch *batch, struct row_address where,
                    bytes key)
{
    check_address(where);
    check_key(key);
    storage->backend->delete (storage, batch, where, key);
}

void storage_delete_range(struct storage *storage, struct storage_batch *batch,
                          struct row_address where, bytes start, bytes end)
{
    check_address(where);
    check_bound(start);
    check_bound(end);
    if (!is_hollow(start, end))
        storage->backend->delete_range(storage, batch, where, start, end);
}

void storage_add(struct storage *storage, struct storage_batch *batch, struct row_address where,
                 bytes key, struct storage_counters delta)
{
    uint8_t encoded[COUNTERS_BYTES];

    check_address(where);
    check_key(key);
    ASSERT(where.space == SPACE_META);
    storage_counters_encode(delta, encoded);
    storage->backend->add(storage, batch, where, key, bytes_of(encoded, sizeof(encoded)));
}

/* Judges one guard against the newest state. */
static status guard_holds(struct storage *storage, const struct storage_guard *guard, bool *out)
{
    struct storage_value found;

    *out = false;
    const status s = storage_get(storage, NULL, guard->where, guard->key, &found);
    if (s.code == NOT_FOUND) {
        *out = bytes_is_empty(guard->expected);
        return STATUS_OK;
    }
    TRY(s);
    *out = bytes_equal(found.value, guard->expected);
    storage_value_release(storage, &found);
    return STATUS_OK;
}

status storage_commit(struct storage *storage, struct storage_batch *batch,
                      const struct storage_guard *guards, size_t guard_count, struct arena *arena,
                      size_t *conflict_out)
{
    if (conflict_out != NULL)
        *conflict_out = 0;
    for (size_t i = 0; i < guard_count; i++) {
        bool holds;
        TRY(guard_holds(storage, &guards[i], &holds));
        if (holds)
            continue;
        if (conflict_out != NULL)
            *conflict_out = i;
        return status_of(CONFLICT, "a row was changed by another writer in the meantime");
    }
    return storage->backend->commit(storage, batch, arena);
}

/* ---- counters ------------------------------------------------------------------------------------- */

static void write_u64(uint8_t *out, uint64_t number)
{
    for (int i = 0; i < 8; i++)
        out[i] = (uint8_t)(number >> (56 - 8 * i));
}

static uint64_t read_u64(const uint8_t *from)
{
    uint64_t number = 0;

    for (int i = 0; i < 8; i++)
        number = number << 8 | from[i];
    return number;
}

void storage_counters_encode(struct storage_counters counters, uint8_t out[COUNTERS_BYTES])
{
    write_u64(out, (uint64_t)counters.first);
    write_u64(out + 8, (uint64_t)counters.second);
}

bool storage_counters_decode(bytes value, struct storage_counters *out)
{
    *out = (struct storage_counters){ 0 };
    if (value.len != COUNTERS_BYTES)
        return false;
    out->first = (int64_t)read_u64(value.data);
    out->second = (int64_t)read_u64(value.data + 8);
    return true;
}

struct storage_counters storage_counters_sum(struct storage_counters a, struct storage_counters b)
{
    return (struct storage_counters){
        .first = (int64_t)((uint64_t)a.first + (uint64_t)b.first),
        .second = (int64_t)((uint64_t)a.second + (uint64_t)b.second),
    };
}

/* ---- giving space back ----------------------------------------------------------------------------- */

status storage_drop_range(struct storage *storage, struct row_address where, bytes start, bytes end)
{
    check_address(where);
    check_bound(start);
    check_bound(end);
    if (is_hollow(start, end))
        return STATUS_OK;
    return storage->backend->drop_range(storage, where, start, end);
}

status storage_drop_fresh(struct storage *storage, struct row_address where, bytes start, bytes end,
                          bool *has_rest)
{
    check_address(where);
    check_bound(start);
    check_bound(end);
    *has_rest = false;
    if (is_hollow(start, end) || !storage->backend->drop_fresh)
        return STATUS_OK;
    return storage->backend->drop_fresh(storage, where, start, end, has_rest);
}

status storage_sweep(struct storage *storage, partition_id partition, bytes start, bytes end)
{
    check_address((struct row_address){ partition, SPACE_ROWS });
    check_bound(start);
    check_bound(end);
    if (is_hollow(start, end))
        return STATUS_OK;
    return storage->backend->sweep(storage, partition, start, end);
}

status storage_settle(struct storage *storage, partition_id partition)
{
    return storage->backend->settle(storage, partition);
}

status storage_trim(struct storage *storage)
{
    return storage->backend->trim ? storage->backend->trim(storage) : STATUS_OK;
}

status storage_checkpoint(struct storage *storage, const char *path, struct arena *arena)
{
    if (!storage->backend->checkpoint)
        return status_of(UNSUPPORTED, "a database in memory has no files to copy");
    return storage->backend->checkpoint(storage, path, arena);
}

void storage_usage(struct storage *storage, struct storage_usage *out)
{
    *out = (struct storage_usage){ 0 };
    storage->backend->usage(storage, out);
}
