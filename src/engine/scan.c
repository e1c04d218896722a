/* Scan: walking a collection in key, index or slot order, the dead left out.
 *
 * Locators and index rows carry the stamp, so they are judged without touching a body; only documents
 * older than a TTL index need a look at theirs. Slot scans are walks of slots.c. Resuming
 * works by position: the key of the last row, and the scan goes on right behind it.
 *
 * Keeps: a scan sees the request's one instant; rows are borrowed until the next call.
 * Threads: a scan belongs to its request. */
#include "engine/bodies.h"
#include "engine/slots.h"

/* How many documents of a scan are looked for among those that were read lately, and kept there: what is asked for
 * again and again stands at the front, and a long scan would push everything else out. */
enum { LOADS_RECALLED = 32 };
/* And from how many on they are read in advance, as they lie. */
enum { LOADS_ALONE = 32 };
/* Where it is known how many will be wanted they are got some at a time. Whoever may know documents and has not known two of them
 * does not know those behind them either. */
enum { LOADS_SINGLE = 2 };

struct scan {
    struct request *request;
    const struct collection *collection;
    const struct index *index;
    bool is_by_slot;
    size_t prefix_len; /* of the tag, and the index id, in every key */
    struct storage_view *view;
    struct storage_scan *rows;
    struct storage_range stretch; /* after scan_move: where the rows end */
    bool is_moved;
    bool is_behind;      /* `key` and `value` are the first row behind the stretch */
    bool lends, is_many; /* see scan_spec */
    size_t wanted;       /* the same of those that are still to come */
    struct bodies ahead;
    bytes ahead_body; /* of the row, if it was read in advance */
    bool is_at_end;   /* behind what was read in advance */
    bytes key, value;
    struct stamp stamp;
    struct row_body body;  /* read by scan_document, unless the walk has it */
    struct slot_walk walk; /* slot scans */
    uint64_t birth_seq;
    unsigned loaded; /* documents, up to LOADS_ALONE */
    struct scan_row row;
    status failure;
};

/* ---- bounds --------------------------------------------------------------------------------------- */

/* The smallest key that is greater than all keys with this prefix; empty if there is none. */
static status prefix_end(struct arena *arena, bytes prefix, bytes *out)
{
    bytes copy;

    TRY(arena_copy(arena, prefix, &copy));
    uint8_t *data = (uint8_t *)(uintptr_t)copy.data;
    while (copy.len > 0 && data[copy.len - 1] == 0xFF)
        copy.len--;
    if (copy.len > 0)
        data[copy.len - 1]++;
    *out = copy;
    return STATUS_OK;
}

static status resume(struct arena *arena, const struct scan_spec *spec, bytes prefix,
                     struct storage_range *range)
{
    bytes position, behind;

    if (spec->after.len == 0)
        return STATUS_OK;
    TRY(arena_join(arena, prefix, spec->after, &position));
    if (spec->is_reverse) {
        if (bytes_compare(position, range->end) < 0 || range->end.len == 0)
            range->end = position;
        return STATUS_OK;
    }
    TRY(arena_join(arena, position, BYTES_LITERAL("\x01"), &behind));
    if (bytes_compare(behind, range->start) > 0)
        range->start = behind;
    return STATUS_OK;
}

static status make_range(struct arena *arena, const struct scan_spec *spec, bytes prefix,
                         struct storage_range *out)
{
    bytes end;

    *out = (struct storage_range){ .is_reverse = spec->is_reverse };
    TRY(arena_join(arena, prefix, spec->start, &out->start));
    TRY(arena_join(arena, prefix, spec->end, &end));
    if (spec->end.len == 0 || spec->is_end_inclusive)
        TRY(prefix_end(arena, end, &out->end));
    else
        out->end = end;
    return resume(arena, spec, prefix, out);
}

/* ---- opening -------------------------------------------------------------------------------------- */

static status scan_new(struct request *request, const struct collection *collection,
                       struct scan **out)
{
    TRY(ARENA_NEW(request->arena, 1, out));
    (*out)->request = request;
    (*out)->collection = collection;
    (*out)->failure = STATUS_OK;
    return request_view(request, &(*out)->view);
}

/* What the view says of the collection, because that changes in one step with the rows. */
static status is_in_view(struct request *request, struct storage_view *view,
                         const struct collection *collection, uint32_t index_id, bool *out)
{
    struct buffer key = buffer_in(request->arena);
    struct storage_value stored;
    struct collection seen;
    bytes row_key;

    *out = false;
    row_key_collection(&key, collection->id);
    TRY(buffer_finish(&key, &row_key));
    status s = storage_get(request->storage, view, address(ROW_CATALOG_PARTITION, SPACE_META),
                           row_key, &stored);
    *out = s.code ==
           NOT_FOUND; /* a collection that was dropped keeps its rows until nobody looks */
    if (s.code != OK)
        return *out ? STATUS_OK : s;
    s = row_read_collection(request->arena, request->engine->collations, stored.value, &seen);
    for (size_t i = 0; s.code == OK && i < seen.index_count; i++)
        *out |= seen.indexes[i].id == index_id;
    storage_value_release(request->storage, &stored);
    return s;
}

status scan_has_index(struct request *request, const struct collection *collection,
                      const struct index *index, bool *out)
{
    struct storage_view *view;

    *out = true;
    TRY(request_view(request, &view));
    /* The change is marked before it can be in any view. */
    if (atomic_load(&collection->settled_at) == COLLECTION_SETTLED_NEVER)
        return STATUS_OK;
    return is_in_view(request, view, collection, index->id, out);
}

static status check_index(struct request *request, const struct collection *collection,
                          const struct index *index)
{
    bool is_there = true;

    if (index)
        TRY(scan_has_index(request, collection, index, &is_there));
    if (is_there)
        return STATUS_OK;
    return status_fail(request->arena, CONFLICT, "index '%.*s' was dropped meanwhile; try again",
                       (int)index->definition.name.len, (const char *)index->definition.name.data);
}

static status key_prefix(const struct scan *scan, bytes *out)
{
    struct buffer prefix = buffer_in(scan->request->arena);

    if (scan->index)
        row_key_index(&prefix, scan->index->id);
    else
        buffer_append_byte(&prefix, ROW_TAG_LOCATOR);
    return buffer_finish(&prefix, out);
}

status scan_open(struct request *request, const struct collection *collection,
                 const struct scan_spec *spec, struct scan **out)
{
    struct arena *arena = request->arena;
    struct storage_range range;
    bytes prefix;

    if (spec->index && spec->index->state != INDEX_READY)
        return status_fail(arena, INVALID, "index '%.*s' is not ready",
                           (int)spec->index->definition.name.len,
                           (const char *)spec->index->definition.name.data);
    TRY(scan_new(request, collection, out));
    TRY(check_index(request, collection, spec->index));
    (*out)->index = spec->index;
    (*out)->lends = spec->lends;
    (*out)->is_many = spec->is_many;
    (*out)->wanted = request->transaction ? 0 : spec->wanted;
    (*out)->loaded = spec->is_many ? LOADS_ALONE : spec->may_know ? 0 : LOADS_SINGLE;
    TRY(key_prefix(*out, &prefix));
    (*out)->prefix_len = prefix.len;
    TRY(make_range(arena, spec, prefix, &range));
    return storage_scan_open(request->storage, (*out)->view,
                             address(collection->state->partition, SPACE_ROWS), &range,
                             &(*out)->rows);
}

/* Does the row behind one stretch stand behind the beginning of the next one, too? Then it is the first that the
 * next one could have. */
static bool is_there_already(const struct scan *scan, const struct storage_range *next)
{
    if (!scan->is_behind)
        return false;
    if (next->is_reverse)
        return bytes_compare(next->end, scan->stretch.start) <= 0 &&
               bytes_compare(scan->key, next->end) < 0;
    return bytes_compare(next->start, scan->stretch.end) >= 0 &&
           bytes_compare(scan->key, next->start) >= 0;
}

/* The rows behind those that were given are read again, wherever the scan goes on. */
static void forget_ahead(struct scan *scan)
{
    bodies_forget(&scan->ahead, scan->request->storage);
    scan->is_at_end = false;
}

status scan_move(struct scan *scan, const struct scan_spec *spec)
{
    struct storage_range next;
    bytes prefix;

    ASSERT(!scan->is_by_slot);
    TRY(key_prefix(scan, &prefix));
    TRY(make_range(scan->request->arena, spec, prefix, &next));
    forget_ahead(scan);
    scan->is_behind = is_there_already(scan, &next);
    scan->stretch = next;
    scan->is_moved = true;
    if (!scan->is_behind)
        storage_scan_seek(scan->rows, spec->is_reverse ? next.end : next.start);
    return STATUS_OK;
}

status scan_seek(struct scan *scan, bytes position)
{
    struct arena *arena = scan->request->arena;
    arena_position mark = arena_mark(arena);
    bytes prefix, key;

    ASSERT(!scan->is_by_slot && !scan->lends);
    forget_ahead(scan);
    scan->is_behind = false;
    status s = key_prefix(scan, &prefix);
    if (s.code == OK)
        s = arena_join(arena, prefix, position, &key);
    if (s.code == OK)
        storage_scan_seek(scan->rows, key);
    arena_release(arena, mark);
    return s;
}

status scan_open_slots(struct request *request, const struct collection *collection,
                       struct scan **out)
{
    TRY(scan_new(request, collection, out));
    (*out)->is_by_slot = true;
    return slot_walk_open(&(*out)->walk, request, (*out)->view, collection, request->arena,
                          BYTES_NONE, BYTES_NONE,
                          collection_size(request, collection).bytes >= SLOTS_LONG_BYTES);
}

void scan_close(struct scan *scan)
{
    storage_scan_close(scan->is_by_slot ? scan->walk.rows : scan->rows);
    scan->walk.rows = scan->rows = NULL;
    bodies_close(&scan->ahead, scan->request->storage);
}

/* ---- walking -------------------------------------------------------------------------------------- */

static bool fail(struct scan *scan, status why)
{
    scan->failure = why;
    return false;
}

static bool split_key(struct scan *scan, bytes joined)
{
    status s = document_key_split(scan->collection, joined, &scan->row.key);

    return s.code == OK || fail(scan, s);
}

static bool read_row(struct scan *scan, bytes value)
{
    size_t values_len = 0;
    bool is_sound = scan->index ? row_read_index(value, &scan->stamp, &values_len)
                                : row_read_locator(value, &scan->stamp, &scan->birth_seq);
    bytes rest = bytes_from(scan->key, scan->prefix_len);

    if (!is_sound || values_len > rest.len)
        return fail(scan, status_of(CORRUPT, scan->index ? "a stored index row is damaged"
                                                         : "a stored locator row is damaged"));
    scan->row.index_key = bytes_of(rest.data, values_len);
    return split_key(scan, bytes_from(rest, values_len));
}

/* Is the row behind the stretch that the scan was moved to? One in front of it is met only backwards: the row at
 * the very end, which does not belong to it. */
static bool is_behind_stretch(const struct scan *scan, bool *is_before_out)
{
    const struct storage_range *stretch = &scan->stretch;
    bool is_high = bytes_compare(scan->key, stretch->end) >= 0;

    *is_before_out = is_high && stretch->is_reverse;
    return stretch->is_reverse ? bytes_compare(scan->key, stretch->start) < 0 : is_high;
}

/* The row that the stretch before has left, or the next one. */
static bool take_row(struct scan *scan)
{
    if (!scan->is_behind)
        return storage_scan_next(scan->rows, &scan->key, &scan->value);
    scan->is_behind = false;
    return true;
}

static bool next_row(struct scan *scan)
{
    enum verdict verdict;
    bool is_before = false;

    while (take_row(scan)) {
        scan->is_behind = scan->is_moved && is_behind_stretch(scan, &is_before);
        if (scan->is_behind)
            return false;
        if (is_before)
            continue;
        if (!read_row(scan, scan->value))
            return false;
        status s = document_judge(scan->request->storage, scan->view, scan->request->arena,
                                  scan->collection, &scan->stamp, scan->request->now, &verdict);
        if (s.code != OK)
            return fail(scan, s);
        if (verdict == ALIVE)
            return true;
    }
    return false;
}

static bool next_slot(struct scan *scan)
{
    if (!slot_walk_next(&scan->walk))
        return false;
    scan->stamp = scan->walk.body.stamp;
    scan->birth_seq = scan->walk.body.birth_seq;
    return split_key(scan, scan->walk.body.key);
}

/* Rows and documents in advance; those that die meanwhile live as long as the request. */
static bool read_ahead(struct scan *scan)
{
    bool has_room = true;
    size_t most;

    status s = bodies_begin(&scan->ahead,
                            collection_size(scan->request, scan->collection).documents,
                            scan->is_many, &most);
    while (s.code == OK && has_room) {
        scan->is_at_end = !next_row(scan);
        if (scan->is_at_end)
            break;
        s = bodies_add(&scan->ahead, scan->key, scan->value, &scan->stamp, &has_room);
    }
    if (s.code == OK)
        s = bodies_fetch(&scan->ahead, scan->request, scan->view, scan->collection);
    return (s.code == OK || fail(scan, s)) && scan->failure.code == OK;
}

/* The same of a few that will be wanted. */
static bool read_few_ahead(struct scan *scan)
{
    bool has_room = true;

    status s = bodies_begin_few(&scan->ahead,
                                scan->wanted < BODIES_FEW_MAX ? scan->wanted : BODIES_FEW_MAX);
    while (s.code == OK && has_room) {
        scan->is_at_end = !next_row(scan);
        if (scan->is_at_end)
            break;
        s = bodies_add(&scan->ahead, scan->key, scan->value, &scan->stamp, &has_room);
    }
    if (s.code != OK)
        return fail(scan, s);
    bodies_fetch_few(&scan->ahead, scan->request, scan->view, scan->collection);
    return scan->failure.code == OK;
}

/* All rows that were read in advance have been given. Reads more of them, if it is time to. */
static bool prepare(struct scan *scan, bool *is_ahead_out)
{
    *is_ahead_out = true;
    bodies_forget(&scan->ahead, scan->request->storage);
    if (!scan->is_moved && scan->lends && scan->loaded == LOADS_ALONE)
        return read_ahead(scan);
    if (!scan->is_moved && scan->wanted > 1 && scan->loaded >= LOADS_SINGLE)
        return read_few_ahead(scan);
    *is_ahead_out = false;
    return true;
}

/* The next row of a scan by key or index. */
static bool next_in_order(struct scan *scan)
{
    const struct bodies_row *row = bodies_next(&scan->ahead);
    bool is_ahead;

    scan->ahead_body = BYTES_NONE;
    if (!row && scan->is_at_end)
        return false;
    if (!row) {
        if (!prepare(scan, &is_ahead))
            return false;
        if (!is_ahead)
            return next_row(scan);
        row = bodies_next(&scan->ahead);
        if (!row)
            return false;
    }
    scan->key = row->key;
    scan->value = row->value;
    scan->ahead_body = row->body;
    return read_row(scan, scan->value);
}

bool scan_next(struct scan *scan, struct scan_row *out)
{
    if (scan->failure.code != OK || !(scan->is_by_slot ? next_slot(scan) : next_in_order(scan)))
        return false;
    scan->row.seq = scan->stamp.seq;
    scan->row.birth_seq = scan->birth_seq;
    scan->row.written_at_s = scan->stamp.written_at_s;
    scan->row.body_len = scan->stamp.body_len;
    *out = scan->row;
    return true;
}

status scan_status(const struct scan *scan)
{
    if (scan->failure.code != OK)
        return scan->failure;
    return scan->is_by_slot ? slot_walk_status(&scan->walk) : storage_scan_status(scan->rows);
}

/* The body that a row by key or index leads to. */
static status load_body(struct scan *scan, struct document *out)
{
    const struct collection *collection = scan->collection;
    struct engine *engine = scan->request->engine;
    uint64_t seq = scan->stamp.seq;

    scan->loaded += scan->loaded < LOADS_ALONE;
    scan->wanted -= scan->wanted > 0;
    if (scan->ahead_body.len)
        return row_read_body(scan->ahead_body, &scan->body)
                   ? STATUS_OK
                   : status_of(CORRUPT, "a stored document is damaged");
    /* The numbers of writes inside a transaction are nobody else's. */
    bool is_recalled = engine->recall && scan->loaded <= LOADS_RECALLED &&
                       !scan->request->transaction;

    if (is_recalled &&
        recall_find_write(engine->recall, collection, seq, scan->request->arena, &scan->body)) {
        out->is_recalled = true;
        return STATUS_OK;
    }
    if (!bodies_take(&scan->ahead, &out->pin, &scan->body))
        TRY(body_read(scan->request->storage, scan->view, collection->state->partition,
                      &scan->stamp, &out->pin, &scan->body));
    if (is_recalled)
        recall_keep_write(engine->recall, collection, seq, out->pin.value);
    return STATUS_OK;
}

status scan_document(struct scan *scan, struct document *out)
{
    *out = (struct document){
        .key = scan->row.key,
        .seq = scan->stamp.seq,
        .written_at_s = scan->stamp.written_at_s,
        .own_ttl = scan->stamp.own_ttl,
    };
    if (scan->is_by_slot)
        scan->body = scan->walk.body;
    else
        TRY(load_body(scan, out));
    out->bson = scan->body.document;
    out->birth_seq = scan->body.birth_seq;
    metrics_add(scan->request->engine->metrics, METRIC_documents_read_total, 1);
    return STATUS_OK;
}

void scan_document_known(struct scan *scan)
{
    scan->loaded = scan->loaded < LOADS_ALONE ? 0 : scan->loaded;
    scan->wanted -= scan->wanted > 0;
    metrics_add(scan->request->engine->metrics, METRIC_documents_read_total, 1);
}

bytes scan_position(const struct scan *scan)
{
    return scan->is_by_slot ? BYTES_NONE : bytes_from(scan->key, scan->prefix_len);
}

time_ms scan_deadline(const struct scan *scan)
{
    ASSERT(scan->is_by_slot);
    return expiry_deadline(&scan->collection->policy, &scan->stamp, scan->walk.body.document,
                           scan->request->arena);
}

bool scan_can_read_off(const struct request *request)
{
    return request->engine->marks_arrays;
}

status scan_has_many(struct request *request, const struct collection *collection,
                     const struct index *index, bool *out)
{
    struct storage *storage = request->storage;
    _Atomic uint64_t *without_many = &index->progress->without_many;
    uint64_t nothing = 0;
    struct storage_value pin;
    struct storage_view *view;
    uint8_t key[ROW_MANY_BYTES];

    *out = false;
    TRY(request_view(request,
                     &view)); /* before the look at what is remembered: no mark in it is missed */
    if (atomic_load(without_many) == 1 + (uint64_t)index->id)
        return STATUS_OK;
    row_key_many(key, index->id);
    status s = storage_get(storage, view, address(collection->state->partition, SPACE_META),
                           bytes_of(key, sizeof(key)), &pin);
    if (s.code == NOT_FOUND) {
        if (storage_capabilities(storage) & STORAGE_HAS_SINGLE_WRITER)
            atomic_compare_exchange_strong(without_many, &nothing, 1 + (uint64_t)index->id);
        return STATUS_OK;
    }
    TRY(s);
    *out = true;
    storage_value_release(storage, &pin);
    return STATUS_OK;
}
