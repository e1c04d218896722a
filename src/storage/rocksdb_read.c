/* RocksDB reads: views, gets and scans.
 *
 * Scans of index rows, long scans of documents and gets of single ones read the files themselves (rocksdb_raw.c,
 * rocksdb_get.c) as far as they can.
 *
 * A get takes no memory of ours for short keys; the value stays pinned where RocksDB has it. A view
 * is a snapshot with the read options that name it. A scan is an iterator that knows its bounds, so
 * that RocksDB itself stops at them and need not look at files beyond.
 *
 * Keeps: the keys that bound an iterator live as long as it does.
 * Threads: any; a scan belongs to one thread at a time. */
#include "storage/rocksdb_raw.h"
#include "storage/rocksdb_rewrite.h"
#include "storage/rocksdb_sync.h"

/* When a cache is full, a block that comes in pushes another one out, and both cost more than to read the
 * block. Where documents are read at random among many, none of it pays; so only one of so many gets fills the
 * cache then, and what is read often is in it soon nevertheless. */
enum { GETS_PER_FILL = 4, GETS_PER_LOOK = 1024 };

struct storage_view {
    struct raw_view raw; /* the snapshot, and what long scans share */
    /* NULL until they are needed; the second keep nothing in a cache */
    _Atomic(rocksdb_readoptions_t *) options, pass_options;
};

/* ---- views and gets ------------------------------------------------------------------------------- */

status rocks_view_open(struct storage *storage, struct storage_view **out)
{
    struct storage_view *view = memory_take(sizeof(*view));

    if (view == NULL)
        return status_of(OUT_OF_MEMORY, "no memory for a view");
    raw_view_open(rocksdb_of(storage), &view->raw);
    atomic_init(&view->options, NULL);
    atomic_init(&view->pass_options, NULL);
    *out = view;
    return STATUS_OK;
}

static void drop_options(_Atomic(rocksdb_readoptions_t *) *place)
{
    rocksdb_readoptions_t *options = atomic_load_explicit(place, memory_order_acquire);

    if (options != NULL)
        rocksdb_readoptions_destroy(options);
}

void rocks_view_close(struct storage *storage, struct storage_view *view)
{
    drop_options(&view->pass_options);
    drop_options(&view->options);
    rewrite_release(rocksdb_of(storage), &view->raw);
    raw_view_close(&view->raw);
    memory_give(view);
}

static bool is_full(rocksdb_cache_t *cache)
{
    size_t capacity = rocksdb_cache_get_capacity(cache);

    return rocksdb_cache_get_usage(cache) >= capacity - capacity / 16;
}

/* Does this get keep the block in the cache? */
static bool fills_cache(struct rocksdb_storage *rocks, enum storage_space space)
{
    struct cache_filling *filling = &rocks->fillings[space];
    const uint32_t number = atomic_fetch_add_explicit(&filling->gets, 1, memory_order_relaxed);

    if (number % GETS_PER_LOOK == 0)
        atomic_store_explicit(
            &filling->is_full,
            is_full(space == SPACE_BODIES ? rocks->bodies_cache : rocks->rows_cache),
            memory_order_relaxed);
    return number % GETS_PER_FILL == 0 ||
           !atomic_load_explicit(&filling->is_full, memory_order_relaxed);
}

/* Most views are read from files alone. Several threads may read a view. */
static const rocksdb_readoptions_t *view_options(struct storage_view *view, bool is_filling)
{
    _Atomic(rocksdb_readoptions_t *) *place = is_filling ? &view->options : &view->pass_options;
    rocksdb_readoptions_t *there = atomic_load_explicit(place, memory_order_acquire);

    if (there != NULL)
        return there;
    rocksdb_readoptions_t *options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_snapshot(options, view->raw.snapshot);
    rocksdb_readoptions_set_fill_cache(options, is_filling);
    if (atomic_compare_exchange_strong(place, &there, options))
        return options;
    rocksdb_readoptions_destroy(options);
    return there;
}

static const rocksdb_readoptions_t *get_options(struct rocksdb_storage *rocks,
                                                struct storage_view *view, enum storage_space space)
{
    const bool is_filling = fills_cache(rocks, space);

    if (view != NULL)
        return view_options(view, is_filling);
    return is_filling ? rocks->read_newest : rocks->pass_newest;
}

/* `sound` counts where there is no view; NULL: the newest state. */
static status get(struct rocksdb_storage *rocks, struct storage_view *view,
                  const struct sound_state *sound, struct row_address where, bytes key,
                  struct storage_value *out)
{
    struct full_key full;
    char *error = NULL;

    full_key_make(&full, where.partition, key);
    if (where.space == SPACE_BODIES &&
        (view != NULL ? raw_get(rocks, &view->raw, full_key_bytes(&full), out)
                      : sound == NULL && raw_get_newest(rocks, full_key_bytes(&full), out))) {
        full_key_release(&full);
        return STATUS_OK;
    }
    rocksdb_pinnableslice_t *pin = rocksdb_get_pinned_cf(
        rocks->db,
        view == NULL && sound != NULL ? sound->options : get_options(rocks, view, where.space),
        rocks->spaces[where.space], (const char *)full.data, full.len, &error);
    full_key_release(&full);
    if (error != NULL)
        return rocksdb_failure(rocks, "get", error);
    if (pin == NULL)
        return status_of(NOT_FOUND, "no such row");
    out->value.data = (const uint8_t *)rocksdb_pinnableslice_value(pin, &out->value.len);
    out->pin = pin;
    return STATUS_OK;
}

status rocks_get(struct storage *storage, struct storage_view *view, struct row_address where,
                 bytes key, struct storage_value *out)
{
    struct rocksdb_storage *rocks = rocksdb_of(storage);
    const struct sound_state *sound = sync_sound_state(rocks);
    const status s = get(rocks, view, sound, where, key, out);

    if (view != NULL || sound == sync_sound_state(rocks))
        return s;
    if (s.code == OK)
        rocks_value_release(storage, out);
    return get(rocks, view, sync_sound_state(rocks), where, key, out);
}

void rocks_get_some(struct storage *storage, struct storage_view *view, struct row_address where,
                    const bytes *keys, size_t count, struct storage_value *out)
{
    struct full_key full[RAW_GETS_MAX];
    bytes full_keys[RAW_GETS_MAX];

    if (view == NULL || where.space != SPACE_BODIES)
        return;
    for (size_t at = 0; at < count; at += RAW_GETS_MAX) {
        const size_t some = count - at < RAW_GETS_MAX ? count - at : RAW_GETS_MAX;
        for (size_t i = 0; i < some; i++) {
            full_key_make(&full[i], where.partition, keys[at + i]);
            full_keys[i] = full_key_bytes(&full[i]);
        }
        raw_get_some(rocksdb_of(storage), &view->raw, full_keys, some, out + at);
        for (size_t i = 0; i < some; i++)
            full_key_release(&full[i]);
    }
}

void rocks_value_release(struct storage *storage, struct storage_value *value)
{
    (void)storage;
    if (!raw_value_release(value))
        rocksdb_pinnableslice_destroy(value->pin);
}

/* ---- scans ---------------------------------------------------------------------------------------- */

/* What a scan of a long stretch reads at once: what a processor keeps near while it works through it. */
enum { BULK_READ_BYTES = 128 * 1024 };

enum scan_position {
    SCAN_UNPLACED, /* nothing sought yet */
    SCAN_READY,    /* the iterator stands on the row to be given next */
    SCAN_GIVEN,    /* the iterator stands on the row that was given last */
};

struct rocksdb_scan {
    struct storage_scan base;
    const struct rocksdb_storage *rocks;
    rocksdb_snapshot_t const *snapshot; /* NULL: none */
    rocksdb_readoptions_t *options;     /* NULL as long as there is no iterator */
    rocksdb_iterator_t *iterator;       /* NULL as long as there is the other */
    struct raw_scan *raw;
    struct full_key start;
    struct full_key end;
    enum storage_space space;
    bool is_reverse, is_bulk;
    enum scan_position position;
};

static rocksdb_readoptions_t *scan_options(const struct rocksdb_scan *scan)
{
    rocksdb_readoptions_t *options = rocksdb_readoptions_create();

    if (scan->snapshot != NULL)
        rocksdb_readoptions_set_snapshot(options, scan->snapshot);
    if (scan->is_bulk) {
        rocksdb_readoptions_set_fill_cache(options, 0);
        rocksdb_readoptions_set_readahead_size(options, BULK_READ_BYTES);
    }
    rocksdb_readoptions_set_iterate_lower_bound(options, (const char *)scan->start.data,
                                                scan->start.len);
    rocksdb_readoptions_set_iterate_upper_bound(options, (const char *)scan->end.data,
                                                scan->end.len);
    return options;
}

static void open_iterator(struct rocksdb_scan *scan)
{
    scan->options = scan_options(scan);
    scan->iterator = rocksdb_create_iterator_cf(scan->rocks->db, scan->options,
                                                scan->rocks->spaces[scan->space]);
}

/* Behind the iterator, which else may be of the moment after a sync has failed. */
static void keep_to_sound_state(struct rocksdb_scan *scan)
{
    const struct sound_state *sound = sync_sound_state(scan->rocks);

    if (sound == NULL)
        return;
    rocksdb_iter_destroy(scan->iterator);
    rocksdb_readoptions_destroy(scan->options);
    scan->snapshot = sound->snapshot;
    open_iterator(scan);
}

/* May the files be read for it? Short scans of documents mostly seek from one to another. */
static bool is_raw(enum storage_space space, const struct storage_range *range)
{
    return !range->is_reverse && (space == SPACE_ROWS || (space == SPACE_BODIES && range->is_bulk));
}

status rocks_scan_open(struct storage *storage, struct storage_view *view, struct row_address where,
                       const struct storage_range *range, struct storage_scan **out)
{
    struct rocksdb_storage *rocks = rocksdb_of(storage);
    struct rocksdb_scan *scan = memory_take(sizeof(*scan));

    if (scan == NULL)
        return status_of(OUT_OF_MEMORY, "no memory for a scan");
    scan->base.backend = storage->backend;
    scan->rocks = rocks;
    scan->is_reverse = range->is_reverse;
    scan->position = SCAN_UNPLACED;
    full_key_make(&scan->start, where.partition, range->start);
    full_key_make_end(&scan->end, where.partition, range->end);

    scan->is_bulk = range->is_bulk;
    scan->snapshot = view != NULL ? view->raw.snapshot : NULL;
    scan->options = NULL;
    scan->space = where.space;
    scan->iterator = NULL;
    scan->raw = NULL;
    if (view != NULL && is_raw(where.space, range))
        scan->raw = raw_scan_open(rocks, &view->raw,
                                  &(struct raw_stretch){ .space = where.space,
                                                         .start = full_key_bytes(&scan->start),
                                                         .end = full_key_bytes(&scan->end),
                                                         .is_short = !range->is_bulk });
    if (scan->raw == NULL)
        open_iterator(scan);
    if (view == NULL)
        keep_to_sound_state(scan);
    *out = &scan->base;
    return STATUS_OK;
}

static void place_at_beginning(struct rocksdb_scan *scan)
{
    if (scan->is_reverse)
        rocksdb_iter_seek_to_last(scan->iterator);
    else
        rocksdb_iter_seek_to_first(scan->iterator);
    scan->position = SCAN_READY;
}

/* An iterator goes on where the other scan could not. */
static void leave_raw(struct rocksdb_scan *scan)
{
    bool is_done;
    size_t len;

    const bytes place = raw_scan_place(scan->raw, &is_done);
    open_iterator(scan);
    rocksdb_iter_seek(scan->iterator, chars_of(place), place.len);
    scan->position = SCAN_READY;
    if (is_done && rocksdb_iter_valid(scan->iterator)) {
        const char *key = rocksdb_iter_key(scan->iterator, &len);
        if (bytes_equal(bytes_of(key, len), place))
            scan->position = SCAN_GIVEN;
    }
    raw_scan_close(scan->raw);
    scan->raw = NULL;
}

bool rocks_scan_next(struct storage_scan *base, bytes *key_out, bytes *value_out)
{
    struct rocksdb_scan *scan = (struct rocksdb_scan *)base;

    if (scan->raw != NULL) {
        const enum raw_step step = raw_scan_next(scan->raw, key_out, value_out);
        if (step == RAW_ROW)
            *key_out = full_key_rest(*key_out);
        if (step != RAW_LOST)
            return step == RAW_ROW;
        leave_raw(scan);
    }
    if (scan->position == SCAN_UNPLACED) {
        place_at_beginning(scan);
    } else if (scan->position == SCAN_GIVEN && rocksdb_iter_valid(scan->iterator)) {
        if (scan->is_reverse)
            rocksdb_iter_prev(scan->iterator);
        else
            rocksdb_iter_next(scan->iterator);
    }
    scan->position = SCAN_GIVEN;
    if (!rocksdb_iter_valid(scan->iterator))
        return false;

    size_t key_len;
    const char *key = rocksdb_iter_key(scan->iterator, &key_len);
    *key_out = full_key_rest(bytes_of(key, key_len));
    value_out->data = (const uint8_t *)rocksdb_iter_value(scan->iterator, &value_out->len);
    return true;
}

void rocks_scan_seek(struct storage_scan *base, bytes key)
{
    struct rocksdb_scan *scan = (struct rocksdb_scan *)base;
    const bytes start = full_key_bytes(&scan->start);
    struct full_key full;

    full_key_make(&full, full_key_partition(start), key);
    const bytes target = full_key_bytes(&full);
    if (scan->raw != NULL && target.len <= FULL_KEY_INLINE_BYTES) {
        raw_scan_seek(scan->raw, target);
        full_key_release(&full);
        return;
    }
    if (scan->raw != NULL)
        leave_raw(scan);
    /* A target on the near side of the bounds means: from the beginning. */
    if (scan->is_reverse ? bytes_compare(target, full_key_bytes(&scan->end)) >= 0
                         : bytes_compare(target, start) <= 0)
        place_at_beginning(scan);
    else if (scan->is_reverse)
        rocksdb_iter_seek_for_prev(scan->iterator, chars_of(target), target.len);
    else
        rocksdb_iter_seek(scan->iterator, chars_of(target), target.len);
    scan->position = SCAN_READY;
    full_key_release(&full);
}

status rocks_scan_status(const struct storage_scan *base)
{
    const struct rocksdb_scan *scan = (const struct rocksdb_scan *)base;
    char *error = NULL;

    if (scan->raw != NULL)
        return STATUS_OK;
    rocksdb_iter_get_error(scan->iterator, &error);
    return error == NULL ? STATUS_OK : rocksdb_failure(scan->rocks, "scan", error);
}

void rocks_scan_close(struct storage_scan *base)
{
    struct rocksdb_scan *scan = (struct rocksdb_scan *)base;

    raw_scan_close(scan->raw);
    if (scan->iterator != NULL)
        rocksdb_iter_destroy(scan->iterator);
    if (scan->options != NULL)
        rocksdb_readoptions_destroy(scan->options);
    full_key_release(&scan->start);
    full_key_release(&scan->end);
    memory_give(scan);
}
