/* Check: walks everything and verifies every invariant.
 *
 *  1 a body lies in the slot that its stamp says, and reads back
 *  2 a living body has its own locator; a living locator has its body
 *  3 a living document has all its entries in every ready index; in a lazy one only if no backlog row
 *    says that this version is still to come
 *  4 a living index row leads to a document of that version that has those values
 *  5 no two living documents share a key of a unique index
 *  6 the counters of each second and lane equal what lies there, except what a cut by mark has left;
 *    memory equals disk when at rest
 *  7 no stamp is younger than the last sequence number; date lanes have their rule
 *  8 a backlog row belongs to a lazy index, and to a write that was
 * The dead may be missing any of their rows, and garbage rows may be left over; neither is a violation,
 * because nobody sees them.
 *
 * Reads one instant. Start reading at engine_check(). */
#include "engine/index.h"
#include "engine/lane.h"
#include "engine/state.h"

#include <inttypes.h>

struct checking {
    struct engine *engine;
    struct request request;
    struct storage_view *view;
    struct arena *arena;
    const struct collection *collection;
    check_report *report;
    void *context;
    struct check_summary *summary;
    /* the second of the lane that is being counted */
    unsigned lane;
    int64_t second;
    struct storage_counters counted;
    struct storage_counters lane_counted[LANE_COUNT];
    bool has_second;
    struct lane_cut cuts[LANE_COUNT]; /* of the collection, at the instant of the view */
    /* the last living row of a unique index */
    bytes last_unique;
    uint8_t last_unique_bytes[LIMIT_KEY_BYTES + 16];
};

static void violate(struct checking *check, const char *what, bytes key)
{
    struct buffer text = buffer_in(check->arena);
    bytes line;

    buffer_append_format(&text, "collection %" PRIu32 " '%.*s': %s, key ", check->collection->id,
                         (int)check->collection->definition.name.len,
                         (const char *)check->collection->definition.name.data, what);
    for (size_t i = 0; i < key.len && i < 64; i++)
        buffer_append_format(&text, "%02x", key.data[i]);
    buffer_append_byte(&text, 0);
    check->summary->violations++;
    if (buffer_finish(&text, &line).code == OK)
        check->report(check->context, (const char *)line.data);
}

/* ---- counters ------------------------------------------------------------------------------------- */

static status read_counters(struct checking *check, bytes key, struct storage_counters *out)
{
    struct storage *storage = check->engine->storage;
    struct storage_value pin;

    *out = (struct storage_counters){ 0 };
    status s = storage_get(storage, check->view,
                           address(check->collection->state->partition, SPACE_META), key, &pin);
    if (s.code == NOT_FOUND)
        return STATUS_OK;
    TRY(s);
    if (!storage_counters_decode(pin.value, out))
        violate(check, "a counter cannot be read", key);
    storage_value_release(storage, &pin);
    return STATUS_OK;
}

static status end_second(struct checking *check)
{
    struct buffer key_buffer = buffer_in(check->arena);
    struct storage_counters stored;
    bytes key;

    if (!check->has_second)
        return STATUS_OK;
    row_key_slice(&key_buffer, check->lane, check->second);
    TRY(buffer_finish(&key_buffer, &key));
    TRY(read_counters(check, key, &stored));
    if (stored.first != check->counted.first || stored.second != check->counted.second)
        violate(check, "the counters of a second differ from the documents in it", key);
    check->lane_counted[check->lane].first += check->counted.first;
    check->lane_counted[check->lane].second += check->counted.second;
    check->has_second = false;
    return STATUS_OK;
}

static status count_body(struct checking *check, unsigned lane, int64_t second, uint32_t len)
{
    if (!check->has_second || check->lane != lane || check->second != second) {
        TRY(end_second(check));
        check->has_second = true;
        check->lane = lane;
        check->second = second;
        check->counted = (struct storage_counters){ 0 };
    }
    check->counted.first++;
    check->counted.second += len;
    return STATUS_OK;
}

static bool differ(struct storage_counters a, int64_t documents, int64_t size)
{
    return a.first != documents || a.second != size;
}

static status check_lane_totals(struct checking *check, unsigned lane)
{
    struct storage_counters want = check->lane_counted[lane], stored, sum;
    const struct lane_state *memory = &check->collection->state->lanes[lane];
    struct buffer key_buffer = buffer_in(check->arena);
    bytes key;

    row_key_total(&key_buffer, lane);
    TRY(buffer_finish(&key_buffer, &key));
    TRY(read_counters(check, key, &stored));
    if (differ(stored, want.first, want.second))
        violate(check, "the counters of a lane differ from the documents in it", key);
    if (!check->engine->options.is_manual)
        return STATUS_OK;
    TRY(lane_sum(check->engine, check->arena, check->collection->state, lane, INT64_MIN, INT64_MAX,
                 &sum));
    if (differ(sum, want.first, want.second))
        violate(check, "the counters of the seconds do not add up to the lane", key);
    if (differ(want, memory->documents, memory->bytes))
        violate(check, "the counters in memory differ from those on disk", key);
    return STATUS_OK;
}

/* ---- bodies --------------------------------------------------------------------------------------- */

static status locate(struct checking *check, bytes joined_key, struct stamp *out, bool *is_there)
{
    struct buffer key_buffer = buffer_in(check->arena);
    uint64_t birth;
    bytes key;

    row_key_locator(&key_buffer, (struct document_key){ .id = joined_key });
    TRY(buffer_finish(&key_buffer, &key));
    return document_locate(&check->request, check->view, check->collection, key, out, &birth,
                           is_there);
}

static status is_in_backlog(struct checking *check, const struct index *index,
                            const struct row_body *body, bool *out)
{
    struct storage *storage = check->engine->storage;
    struct buffer key_buffer = buffer_in(check->arena);
    struct storage_value pin;
    bytes key;

    *out = false;
    if (!index->definition.is_lazy)
        return STATUS_OK;
    row_key_backlog_of(&key_buffer, index->id, body->key);
    TRY(buffer_finish(&key_buffer, &key));
    row_set_backlog_seq(key_buffer.data, body->stamp.seq);
    status s = storage_get(storage, check->view,
                           address(check->collection->state->partition, SPACE_ROWS), key, &pin);
    *out = s.code == OK;
    storage_value_release(storage, &pin);
    return s.code == NOT_FOUND ? STATUS_OK : s;
}

static status check_entry(struct checking *check, const struct index_entry *entry, bytes joined_key,
                          uint64_t seq)
{
    struct storage *storage = check->engine->storage;
    struct buffer key_buffer = buffer_in(check->arena);
    struct storage_value pin;
    struct stamp stamp;
    size_t values_len;
    bytes key;

    row_key_index(&key_buffer, entry->index_id);
    buffer_append(&key_buffer, entry->values);
    buffer_append(&key_buffer, joined_key);
    TRY(buffer_finish(&key_buffer, &key));
    status s = storage_get(storage, check->view,
                           address(check->collection->state->partition, SPACE_ROWS), key, &pin);
    if (s.code == NOT_FOUND) {
        violate(check, "a document is missing in an index", key);
        return STATUS_OK;
    }
    TRY(s);
    if (!row_read_index(pin.value, &stamp, &values_len) || stamp.seq != seq)
        violate(check, "an index row is of another version than its document", key);
    storage_value_release(storage, &pin);
    return STATUS_OK;
}

/* A document has several entries, so the index has to be marked. */
static status check_many(struct checking *check, const struct index *index)
{
    struct storage *storage = check->engine->storage;
    struct storage_value pin;
    uint8_t key[ROW_MANY_BYTES];

    row_key_many(key, index->id);
    status s = storage_get(storage, check->view,
                           address(check->collection->state->partition, SPACE_META),
                           bytes_of(key, sizeof(key)), &pin);
    if (s.code == OK)
        storage_value_release(storage, &pin);
    if (s.code != NOT_FOUND)
        return s;
    violate(check, "an index is not known to hold documents with several entries",
            bytes_of(key, sizeof(key)));
    return STATUS_OK;
}

static status check_entries(struct checking *check, const struct row_body *body)
{
    const struct collection *collection = check->collection;
    struct indexed_document document = { .collection = collection,
                                         .key = body->key,
                                         .bson = body->document,
                                         .birth_seq = body->birth_seq };

    for (size_t i = 0; i < collection->index_count; i++) {
        struct index_entries entries = { 0 };
        bool is_to_come;
        TRY(is_in_backlog(check, &collection->indexes[i], body, &is_to_come));
        if (collection->indexes[i].state != INDEX_READY || is_to_come)
            continue;
        TRY(index_collect(check->engine, check->arena, &collection->indexes[i], &document,
                          &entries));
        index_entries_sort(&entries);
        if (entries.count > 1 && collection->indexes[i].definition.kind == INDEX_FIELDS)
            TRY(check_many(check, &collection->indexes[i]));
        for (size_t k = 0; k < entries.count; k++)
            TRY(check_entry(check, &entries.items[k], body->key, body->stamp.seq));
    }
    return STATUS_OK;
}

static bool lane_has_rule(const struct collection *collection, unsigned lane)
{
    if (lane < LANE_DATES)
        return lane <= LANE_NEVER;
    for (size_t i = 0; i < collection->policy.rule_count; i++) {
        if ((unsigned)LANE_DATES + collection->policy.rules[i].number == lane)
            return true;
    }
    return false;
}

static status check_living_body(struct checking *check, bytes key, const struct row_body *body)
{
    struct stamp current;
    bool is_there;

    check->summary->documents++;
    TRY(locate(check, body->key, &current, &is_there));
    if (!is_there)
        violate(check, "a living document has no locator", key);
    else if (current.seq != body->stamp.seq)
        violate(check, "a living document's locator leads elsewhere", key);
    return check_entries(check, body);
}

static status check_body(struct checking *check, bytes key, bytes value)
{
    struct row_body body;
    unsigned lane;
    time_ms order;
    uint64_t seq;

    if (!row_slot_of(key, &lane, &order, &seq) || !row_read_body(value, &body)) {
        violate(check, "a stored document cannot be read", key);
        return STATUS_OK;
    }
    if (document_check(check->arena, body.document).code != OK)
        violate(check, "a stored document is not valid", key);
    if (body.stamp.lane != lane || expiry_order(&body.stamp) != order || body.stamp.seq != seq)
        violate(check, "a document does not lie in the slot that its stamp says", key);
    if (seq > atomic_load(&check->engine->durable_seq))
        violate(check, "a document is younger than the last write", key);
    if (!lane_has_rule(check->collection, lane))
        violate(check, "a document lies in a lane without a rule", key);
    bool is_dead = expiry_judge_document(&check->collection->policy, &body.stamp, body.document,
                                         check->arena, check->request.now) == DEAD;
    if (order <= check->cuts[lane].upto && seq <= check->cuts[lane].seq) {
        check->summary->garbage_rows++; /* left by a cut */
        if (!is_dead)
            violate(check, "a living document lies where its lane was cut off", key);
        return STATUS_OK;
    }
    TRY(count_body(check, lane, expiry_second_of(order), body.stamp.body_len));
    if (!is_dead)
        return check_living_body(check, key, &body);
    check->summary->dead_documents++;
    return STATUS_OK;
}

/* ---- locators and index rows ---------------------------------------------------------------------- */

static status check_locator(struct checking *check, bytes key, bytes value)
{
    struct storage_value pin;
    struct row_body body;
    struct stamp stamp;
    enum verdict verdict;
    uint64_t birth;

    if (!row_read_locator(value, &stamp, &birth)) {
        violate(check, "a locator cannot be read", key);
        return STATUS_OK;
    }
    TRY(document_judge(check->engine->storage, check->view, check->arena, check->collection, &stamp,
                       check->request.now, &verdict));
    if (verdict != ALIVE) {
        check->summary->garbage_rows++;
        return STATUS_OK;
    }
    status s = body_read(check->engine->storage, check->view, check->collection->state->partition,
                         &stamp, &pin, &body);
    if (s.code != OK) {
        violate(check, "a locator leads to no body", key);
        return STATUS_OK;
    }
    if (!bytes_equal(body.key, bytes_from(key, 1)))
        violate(check, "a locator leads to another document", key);
    storage_value_release(check->engine->storage, &pin);
    return STATUS_OK;
}

static void check_unique(struct checking *check, const struct index *index, bytes key,
                         size_t prefix_len)
{
    bytes prefix = bytes_of(key.data, prefix_len);

    if (!index->definition.is_unique || index->state != INDEX_READY ||
        prefix_len > sizeof(check->last_unique_bytes))
        return;
    if (bytes_equal(prefix, check->last_unique))
        violate(check, "two living documents share a unique key", key);
    memcpy(check->last_unique_bytes, prefix.data, prefix.len);
    check->last_unique = bytes_of(check->last_unique_bytes, prefix.len);
}

static status check_values(struct checking *check, const struct index *index,
                           const struct stamp *stamp, bytes key, bytes values)
{
    struct index_entries entries = { 0 };
    struct storage_value pin;
    struct row_body body;
    bool is_found = false;

    status s = body_read(check->engine->storage, check->view, check->collection->state->partition,
                         stamp, &pin, &body);
    if (s.code != OK) {
        violate(check, "an index row leads to no body", key);
        return STATUS_OK;
    }
    struct indexed_document document = { .collection = check->collection,
                                         .key = body.key,
                                         .bson = body.document,
                                         .birth_seq = body.birth_seq };
    s = index_collect(check->engine, check->arena, index, &document, &entries);
    for (size_t i = 0; i < entries.count; i++)
        is_found |= bytes_equal(entries.items[i].values, values);
    if (!is_found)
        violate(check, "an index row has values that its document has not", key);
    storage_value_release(check->engine->storage, &pin);
    return s;
}

static status check_index_row(struct checking *check, bytes key, bytes value)
{
    struct stamp stamp, current;
    enum verdict verdict;
    size_t values_len;
    uint32_t id;
    bytes rest;
    bool is_there;

    check->summary->index_rows++;
    if (!row_index_id_of(key, &id, &rest) || !row_read_index(value, &stamp, &values_len) ||
        values_len > rest.len) {
        violate(check, "an index row cannot be read", key);
        return STATUS_OK;
    }
    const struct index *index = index_by_id(check->collection, id);
    if (!index) {
        violate(check, "an index row belongs to no index", key);
        return STATUS_OK;
    }
    TRY(document_judge(check->engine->storage, check->view, check->arena, check->collection, &stamp,
                       check->request.now, &verdict));
    if (verdict != ALIVE) {
        check->summary->garbage_rows++;
        return STATUS_OK;
    }
    TRY(locate(check, bytes_from(rest, values_len), &current, &is_there));
    if (!is_there || current.seq != stamp.seq) {
        violate(check, "an index row leads to no document of its version", key);
        return STATUS_OK;
    }
    check_unique(check, index, key, key.len - rest.len + values_len);
    return check_values(check, index, &stamp, key, bytes_of(rest.data, values_len));
}

static status check_backlog_row(struct checking *check, bytes key)
{
    struct row_backlog row;
    bytes cursor;

    if (!row_read_backlog(key, &row)) {
        violate(check, "a backlog row cannot be read", key);
        return STATUS_OK;
    }
    const struct index *index = index_by_id(check->collection, row.index_id);
    if (!index || !index->definition.is_lazy || index->state == INDEX_FAILED) {
        violate(check, "a backlog row belongs to no lazy index", key);
        return STATUS_OK;
    }
    if (row.seq > atomic_load(&check->engine->durable_seq))
        violate(check, "a backlog row is younger than the last write", key);
    if (index->state != INDEX_READY)
        return STATUS_OK;
    TRY(index_cursor_load(check->engine, check->view, check->arena, check->collection, index->id,
                          &cursor));
    if (bytes_compare(row_backlog_position(key), cursor) <= 0)
        violate(check, "a backlog row stands before the place where work goes on", key);
    if (check->engine->options.is_manual && !backlog_is_pending(index))
        violate(check, "nobody knows of a backlog row", key);
    return STATUS_OK;
}

static status check_row(struct checking *check, bytes key, bytes value)
{
    if (key.data[0] == ROW_TAG_BACKLOG)
        return check_backlog_row(check, key);
    if (key.data[0] == ROW_TAG_LOCATOR)
        return check_locator(check, key, value);
    return check_index_row(check, key, value);
}

/* ---- everything ----------------------------------------------------------------------------------- */

typedef status check_one(struct checking *check, bytes key, bytes value);

static status check_space(struct checking *check, enum storage_space space, check_one *one)
{
    struct storage_range all = { .start = BYTES_LITERAL("\x01") };
    struct storage_scan *scan;
    bytes key, value;
    status s = STATUS_OK;

    TRY(storage_scan_open(check->engine->storage, check->view,
                          address(check->collection->state->partition, space), &all, &scan));
    while (s.code == OK && storage_scan_next(scan, &key, &value)) {
        arena_position mark = arena_mark(check->arena);
        s = one(check, key, value);
        arena_release(check->arena, mark);
    }
    if (s.code == OK)
        s = storage_scan_status(scan);
    storage_scan_close(scan);
    return s;
}

static status load_cuts(struct checking *check)
{
    for (unsigned lane = 0; lane < LANE_COUNT; lane++) {
        arena_position mark = arena_mark(check->arena);
        status s = lane_cut_read(check->engine, check->view, check->arena, check->collection->state,
                                 lane, &check->cuts[lane]);
        arena_release(check->arena, mark);
        TRY(s);
    }
    return STATUS_OK;
}

static status check_collection(struct checking *check)
{
    TRY(load_cuts(check));
    check->summary->collections++;
    check->has_second = false;
    check->last_unique = BYTES_NONE;
    memset(check->lane_counted, 0, sizeof(check->lane_counted));
    TRY(check_space(check, SPACE_BODIES, check_body));
    TRY(end_second(check));
    for (unsigned lane = 0; lane < LANE_COUNT; lane++)
        TRY(check_lane_totals(check, lane));
    return check_space(check, SPACE_ROWS, check_row);
}

status engine_check(struct engine *engine, check_report *report, void *context,
                    struct check_summary *out)
{
    struct checking *check = memory_take_zeroed(1, sizeof(*check));
    struct arena *arena = arena_open(LIMIT_REQUEST_ARENA_BYTES);
    status s = status_of(OUT_OF_MEMORY, "the check has no memory");

    *out = (struct check_summary){ 0 };
    if (!check || !arena)
        goto done;
    *check = (struct checking){
        .engine = engine, .arena = arena, .report = report, .context = context, .summary = out
    };
    TRY_GOTO(request_begin(engine, arena, &check->request), done);
    s = request_view(&check->request, &check->view);
    for (size_t i = 0; s.code == OK && i < catalog_collection_count(&check->request); i++) {
        check->collection = catalog_collection(&check->request, i);
        s = check_collection(check);
    }
    request_end(&check->request);
done:
    if (s.code != OK)
        s = status_of(s.code, status_code_sentence(s.code));
    arena_close(arena);
    memory_give(check);
    return s;
}
