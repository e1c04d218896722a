/* Write: preparing documents for a commit, and what happens when it is done.
 *
 * A write enters the gates of its collections, takes the latches of all document keys and unique keys
 * it touches, reads what is there, decides every operation, and lays out the rows. From then on nobody
 * can change what it has read, so the commit only adds what the committing thread decides: sequence
 * numbers and the time of writing. Operations on one document collapse into one change of it.
 *
 * A dead document counts as absent. If its body is still there, its rows are removed as if it had been
 * deleted; if it was cut off, what is left of it is garbage for the sweeper.
 *
 * A write inside a transaction goes the same way up to the rows, which it lays over what the transaction sees
 * instead of committing them (transaction.c, write_intent.c).
 *
 * Keeps: all rows of a document go into one commit; latches and gates are given back by whoever
 * committed. Start reading at document_write_begin(). */
#include "engine/write.h"

#include <inttypes.h>
#include <stdlib.h>

/* Its writes are kept in the transaction until that commits. */
static bool is_inside(const struct write *write)
{
    return write->request->transaction && !write->request->is_committing;
}

/* ---- gates ---------------------------------------------------------------------------------------- */

static int compare_states(const void *a, const void *b)
{
    struct collection_state *const *left = a;
    struct collection_state *const *right = b;

    return ((*left)->id > (*right)->id) - ((*left)->id < (*right)->id);
}

static status gather_states(struct write *write)
{
    size_t count = 0;

    TRY(ARENA_NEW(write->request->arena, write->op_count, &write->states));
    for (size_t i = 0; i < write->op_count; i++) {
        struct collection_state *state = write->ops[i].collection->state;
        if (count == 0 || write->states[count - 1] != state)
            write->states[count++] = state;
    }
    qsort(write->states, count, sizeof(write->states[0]), compare_states);
    for (size_t i = 0; i < count; i++) {
        if (write->state_count == 0 || write->states[write->state_count - 1] != write->states[i])
            write->states[write->state_count++] = write->states[i];
    }
    unsigned capabilities = storage_capabilities(write->request->engine->storage);
    if (write->state_count > 1 && !(capabilities & STORAGE_HAS_MULTI_PARTITION))
        return status_of(UNSUPPORTED,
                         "this deployment cannot write to several collections in one step");
    return STATUS_OK;
}

static status enter_gates(struct write *write)
{
    for (; write->entered < write->state_count; write->entered++) {
        if (!gate_enter_unless_busy(&write->states[write->entered]->gate))
            return status_of(BUSY, "too many requests wait while the collection is changed; try "
                                   "again");
    }
    for (size_t i = 0; i < write->state_count; i++) {
        if (atomic_load(&write->states[i]->is_dropped))
            return status_of(is_inside(write) ? CONFLICT : NOT_FOUND, "the collection was dropped");
    }
    return STATUS_OK;
}

void write_release(struct write *write)
{
    struct engine *engine = write->request->engine;

    if (write->has_latches)
        latch_set_give(&engine->latches, &write->latches);
    write->has_latches = false;
    bounds_leave(write);
    while (write->entered > 0)
        gate_leave(&write->states[--write->entered]->gate);
}

/* ---- step 1: what each operation will touch ------------------------------------------------------- */

uint64_t write_document_hash(const struct collection_state *state, bytes locator_key)
{
    return latch_hash_of_document(state->id, locator_key);
}

uint64_t write_unique_hash(uint32_t collection_id, const struct index_entry *entry)
{
    uint64_t seed = ((uint64_t)collection_id << 32) ^ entry->index_id ^ (UINT64_C(1) << 63);

    return bytes_hash(entry->values, seed ^ random_salt());
}

static uint64_t hash_unique(const struct collection_state *state, const struct index_entry *entry)
{
    return write_unique_hash(state->id, entry);
}

bool write_is_unique(const struct collection *collection, const struct index_entry *entry)
{
    const struct index *index = index_by_id(collection, entry->index_id);

    return index && index->definition.is_unique;
}

static status check_operation(struct arena *arena, const struct write_op *op)
{
    size_t key_len = op->key.partition.len + op->key.id.len;

    if (key_len == 0 || key_len > LIMIT_KEY_BYTES)
        return status_fail(arena, TOO_LARGE, "the document's key takes %zu bytes, limit %d",
                           key_len, LIMIT_KEY_BYTES);
    if (op->kind != WRITE_DELETE && op->document.len > LIMIT_DOCUMENT_BYTES)
        return status_fail(arena, TOO_LARGE, "the document has %zu bytes, limit %d",
                           op->document.len, LIMIT_DOCUMENT_BYTES);
    if (op->own_ttl != TTL_ABSENT && op->own_ttl != TTL_NEVER && op->own_ttl < 1)
        return status_fail(arena, INVALID, "the document's ttl is %d; it must be -1 or at least 1",
                           op->own_ttl);
    return STATUS_OK;
}

static status outline(struct write *write, struct write_op *op, struct step_of_write *step)
{
    struct arena *arena = write->request->arena;
    struct buffer locator = buffer_in(arena);

    TRY(check_operation(arena, op));
    /* Inside a transaction by what its requests see, outside by what holds now. */
    step->collection = is_inside(write) ? op->collection
                                        : atomic_load(&op->collection->state->current);
    if (is_inside(write) && collection_arrivals(step->collection))
        return status_of(UNSUPPORTED,
                         "documents of a collection that keeps the order in which they came cannot "
                         "be written in a transaction");
    TRY(bounds_check(arena, step->collection, op));
    row_key_locator(&locator, op->key);
    TRY(buffer_finish(&locator, &step->locator_key));
    if (op->note)
        TRY(note_lay_out(write->request, op->note, &step->note_key));
    if (op->kind == WRITE_DELETE)
        return STATUS_OK;
    struct indexed_document document = { .collection = step->collection,
                                         .key = bytes_from(step->locator_key, 1),
                                         .bson = op->document };
    TRY(index_collect_all(write->request->engine, arena, &document, &step->entries));
    if (index_has_lazy(step->collection)) /* collected only to see that it can be */
        index_entries_without_lazy(step->collection, &step->entries);
    return STATUS_OK;
}

static bool has_unique(const struct collection *collection)
{
    bool is_found = false;

    for (size_t i = 0; i < collection->index_count && !is_found; i++)
        is_found = collection->indexes[i].definition.is_unique;
    return is_found;
}

/* Room enough; which entries are unique is looked up only once. */
static size_t count_latches(const struct write *write)
{
    size_t count = 0;

    for (size_t i = 0; i < write->op_count; i++) {
        const struct step_of_write *step = &write->steps[i];
        if (write->ops[i].outcome.code == OK)
            count += 1 + (has_unique(step->collection) ? step->entries.count : 0);
    }
    for (size_t i = 0; i < write->bounds_count; i++)
        count += write->bounds[i].count;
    return count;
}

static void add_latches(struct latch_set *set, const struct step_of_write *step)
{
    const struct collection_state *state = step->collection->state;

    latch_set_add(set, write_document_hash(state, step->locator_key));
    if (!has_unique(step->collection))
        return;
    for (size_t i = 0; i < step->entries.count; i++) {
        if (write_is_unique(step->collection, &step->entries.items[i]))
            latch_set_add(set, hash_unique(state, &step->entries.items[i]));
    }
}

static status take_latches(struct write *write)
{
    struct latch_set *set = &write->latches;

    *set = (struct latch_set){ 0 };
    TRY(ARENA_NEW(write->request->arena, count_latches(write), &set->items));
    for (size_t i = 0; i < write->op_count; i++) {
        if (write->ops[i].outcome.code == OK)
            add_latches(set, &write->steps[i]);
    }
    for (size_t i = 0; i < write->bounds_count; i++) {
        const struct bounds *bounds = &write->bounds[i];
        for (size_t k = 0; k < bounds->count; k++)
            latch_set_add(set, write_document_hash(bounds->state, bounds->first[k].locator_key));
    }
    latch_set_sort(set);
    if (!latch_set_take_unless_busy(&write->request->engine->latches, set))
        return status_of(BUSY, "too many requests wait for documents that are being written; try "
                               "again");
    write->has_latches = true;
    return STATUS_OK;
}

/* ---- step 2: what is there ------------------------------------------------------------------------ */

/* The rows that an old version has in the indexes, and its document where somebody needs to hear of it.
 * A dead one may have been cut off: then there is nothing to remove. */
static status read_old_rows(struct write *write, struct document_change *change)
{
    struct engine *engine = write->request->engine;
    struct arena *arena = write->request->arena;
    struct storage_value pin;
    struct row_body body;
    bytes copy;

    status s = body_read(write->request->storage, NULL, change->state->partition, &change->old,
                         &pin, &body);
    if (s.code == NOT_FOUND && change->old_verdict == DEAD) {
        change->has_old = false;
        return STATUS_OK;
    }
    if (s.code == NOT_FOUND)
        return status_of(CORRUPT, "a document's body is missing");
    TRY(s);
    s = arena_copy(arena, body.document, &copy);
    storage_value_release(write->request->storage, &pin);
    TRY(s);
    change->old_document = copy;
    struct indexed_document document = { .collection = change->collection,
                                         .key = bytes_from(change->locator_key, 1),
                                         .bson = copy,
                                         .birth_seq = change->birth_seq };
    return index_collect_all(engine, arena, &document, &change->old_entries);
}

static status load_change(struct write *write, struct document_change *change)
{
    struct request *request = write->request;

    TRY(document_locate(request, NULL, change->collection, change->locator_key, &change->old,
                        &change->birth_seq, &change->has_old));
    if (!change->has_old)
        return STATUS_OK;
    change->old_cuts = atomic_load(&change->state->lanes[change->old.lane].cuts);
    TRY(document_judge(request->storage, NULL, request->arena, change->collection, &change->old,
                       request->now, &change->old_verdict));
    change->is_visible = change->old_verdict == ALIVE;
    change->visible_seq = change->old.seq;
    if (change->old_verdict == DEAD && collection_is_cut(change->state, &change->old)) {
        change->has_old = false;
        return STATUS_OK;
    }
    bool needs_body = change->collection->index_count > 0 || change->old_verdict == DEAD ||
                      atomic_load(&change->state->deaths);
    return needs_body ? read_old_rows(write, change) : STATUS_OK;
}

status write_find_change(struct write *write, const struct step_of_write *step,
                         struct document_change **out)
{
    struct collection_state *state = step->collection->state;
    uint64_t hash = write_document_hash(state, step->locator_key);
    struct document_change *change = table_find(&write->by_key, hash, step->locator_key);

    while (change && change->state != state)
        change = change->same_key;
    *out = change;
    if (change)
        return STATUS_OK;
    TRY(ARENA_NEW(write->request->arena, 1, &change));
    change->collection = step->collection;
    change->state = state;
    change->locator_key = step->locator_key;
    change->hash = hash;
    if (!step->is_new)
        TRY(load_change(write, change));
    if (is_inside(write))
        TRY(write_announce(write, change));
    change->same_key = table_find(&write->by_key, hash, step->locator_key);
    TRY(table_put(&write->by_key, hash, step->locator_key, change));
    change->next = write->changes;
    write->changes = change;
    *out = change;
    return STATUS_OK;
}

/* ---- step 3: deciding each operation -------------------------------------------------------------- */

static bool has_entry(const struct index_entries *entries, const struct index_entry *wanted)
{
    for (size_t i = 0; i < entries->count; i++) {
        if (entries->items[i].index_id == wanted->index_id &&
            bytes_equal(entries->items[i].values, wanted->values))
            return true;
    }
    return false;
}

/* Names the index and the values that clash, as the new document has them. */
static status duplicate(struct write *write, const struct collection *collection,
                        const struct index_entry *entry, bytes document)
{
    const struct index *index = index_by_id(collection, entry->index_id);
    struct buffer text = buffer_in(write->request->arena);
    bytes line;

    buffer_append_format(&text, "another document has the same key in the unique index '%.*s':",
                         (int)index->definition.name.len,
                         (const char *)index->definition.name.data);
    for (size_t i = 0; i < index->definition.field_count; i++) {
        bytes path = index->definition.fields[i].path;
        struct path_values reached;
        TRY(path_collect(write->request->arena, index->paths[i], document, &reached));
        buffer_append_format(&text, "%s %.*s ", i ? "," : "", (int)path.len,
                             (const char *)path.data);
        if (reached.items[0].type == VALUE_MISSING)
            buffer_append_text(&text, "missing");
        else
            json_write_value(&text, reached.items[0]);
        if (reached.count > 1)
            buffer_append_text(&text, " ...");
    }
    buffer_append_byte(&text, 0);
    TRY(buffer_finish(&text, &line));
    return status_of(DUPLICATE_KEY, (const char *)line.data);
}

/* Does the stored row's document still hold the key, seen with the eyes of this write? */
static status row_holds(struct write *write, struct request *seen,
                        const struct document_change *mine, bytes key, bytes value,
                        const struct index_entry *entry, bool *out)
{
    struct stamp stamp;
    size_t values_len;
    enum verdict verdict;
    struct collection_state *state = mine->state;

    *out = false;
    if (!row_read_index(value, &stamp, &values_len) || key.len < 6 + values_len)
        return status_of(CORRUPT, "a stored index row is damaged");
    bytes holder_key = bytes_from(key, 6 + values_len);
    if (bytes_equal(holder_key, bytes_from(mine->locator_key, 1)))
        return STATUS_OK;
    struct buffer locator = buffer_in(write->request->arena);
    bytes locator_key;
    row_key_locator(&locator, (struct document_key){ .id = holder_key });
    TRY(buffer_finish(&locator, &locator_key));
    const struct document_change *holder =
        table_find(&write->by_key, write_document_hash(state, locator_key), locator_key);
    while (holder && holder->state != state)
        holder = holder->same_key;
    if (holder && holder->is_touched) {
        *out = holder->has_new && has_entry(&holder->entries, entry);
        return STATUS_OK;
    }
    /* The transaction has changed it: what it made of it was looked at where it lies. */
    if (is_inside(write) && seen->storage != write->request->storage &&
        intent_is_own(&seen->engine->transactions.intents, write_document_hash(state, locator_key),
                      seen->transaction))
        return STATUS_OK;
    TRY(document_judge(seen->storage, seen->view, write->request->arena, mine->collection, &stamp,
                       write->request->now, &verdict));
    *out = verdict == ALIVE;
    return STATUS_OK;
}

/* Stored rows with these values, whoever they belong to; at one instant, because a holder may move. */
status write_find_holder(struct write *write, struct request *seen,
                         const struct document_change *mine, const struct index_entry *entry,
                         bool *out)
{
    struct buffer start = buffer_in(write->request->arena);
    struct storage_range range = { 0 };
    struct storage_scan *scan = NULL;
    struct request instant = *seen;
    bytes key, value;
    status s;

    *out = false;

    row_key_index(&start, entry->index_id);
    buffer_append(&start, entry->values);
    TRY(buffer_finish(&start, &range.start));
    TRY(storage_view_open(seen->storage, &instant.view));
    TRY_GOTO(storage_scan_open(seen->storage, instant.view,
                               address(mine->state->partition, SPACE_ROWS), &range, &scan),
             done);
    while (s.code == OK && !*out && storage_scan_next(scan, &key, &value) &&
           bytes_starts_with(key, range.start))
        s = row_holds(write, &instant, mine, key, value, entry, out);
    if (s.code == OK)
        s = storage_scan_status(scan);
done:
    if (scan)
        storage_scan_close(scan);
    storage_view_close(seen->storage, instant.view);
    return s;
}

static status check_stored(struct write *write, const struct document_change *mine,
                           const struct index_entry *entry, bytes document)
{
    bool is_held;

    TRY(write_find_holder(write, write->request, mine, entry, &is_held));
    return is_held ? duplicate(write, mine->collection, entry, document) : STATUS_OK;
}

/* Documents that this same write is about to put. */
static status check_pending(struct write *write, const struct document_change *mine,
                            const struct index_entry *entry, bytes document)
{
    uint64_t hash = hash_unique(mine->state, entry);
    struct table_node *node = write->by_unique.buckets[hash & (write->by_unique.bucket_count - 1)];

    for (; node; node = node->next) {
        const struct document_change *holder = node->item;
        if (node->hash == hash && bytes_equal(node->key, entry->values) && holder != mine &&
            holder->state == mine->state && holder->has_new && has_entry(&holder->entries, entry))
            return duplicate(write, mine->collection, entry, document);
    }
    return STATUS_OK;
}

static status check_unique(struct write *write, struct document_change *change,
                           const struct index_entries *entries, struct write_op *op)
{
    for (size_t i = 0; i < entries->count; i++) {
        const struct index_entry *entry = &entries->items[i];
        if (!write_is_unique(change->collection, entry))
            continue;
        op->duplicate_index = entry->index_id;
        op->duplicate_values = entry->values;
        TRY(check_pending(write, change, entry, op->document));
        TRY(check_stored(write, change, entry, op->document));
        if (is_inside(write))
            TRY(write_announce_unique(write, change, entry));
    }
    for (size_t i = 0; i < entries->count; i++) {
        const struct index_entry *entry = &entries->items[i];
        if (write_is_unique(change->collection, entry))
            TRY(table_put(&write->by_unique, hash_unique(change->state, entry), entry->values,
                          change));
    }
    return STATUS_OK;
}

static status check_precondition(struct arena *arena, const struct write_op *op,
                                 const struct document_change *change)
{
    if (op->kind == WRITE_INSERT)
        return change->is_visible ? status_of(EXISTS, "there is a document with this key already")
                                  : STATUS_OK;
    if (op->kind != WRITE_UPSERT && !change->is_visible)
        return status_of(NOT_FOUND, "there is no document with this key");
    if (op->if_seq == 0)
        return STATUS_OK;
    if (!change->is_visible)
        return status_of(PRECONDITION,
                         "the document was to have a given version, but there is none");
    if (change->visible_seq != op->if_seq)
        return status_fail(arena, PRECONDITION,
                           "the document is at version %" PRIu64 ", not at %" PRIu64
                           "; read it again",
                           change->visible_seq, op->if_seq);
    return STATUS_OK;
}

static status decide(struct write *write, struct write_op *op, struct step_of_write *step)
{
    struct document_change *change;

    TRY(write_find_change(write, step, &change));
    TRY(check_precondition(write->request->arena, op, change));
    if (op->kind != WRITE_DELETE)
        TRY(check_unique(write, change, &step->entries, op));
    op->was_there = change->is_visible;
    change->is_touched = true;
    change->has_new = change->is_visible = op->kind != WRITE_DELETE;
    change->visible_seq = 0; /* not known before the commit */
    change->document = op->document;
    change->own_ttl = op->own_ttl;
    change->entries = step->entries;
    step->change = change;
    step->is_birth = !op->was_there;
    return STATUS_OK;
}

/* ---- step 4: laying out rows ---------------------------------------------------------------------- */

static status lay_out_body(struct write *write, struct document_change *change)
{
    bytes key = bytes_from(change->locator_key, 1);
    size_t head_len = row_body_head_len(&change->fresh, key.len);
    void *value;

    TRY(arena_take(write->request->arena, head_len + change->document.len, &value));
    memcpy((uint8_t *)value + head_len, change->document.data, change->document.len);
    change->body_value = value;
    change->body_value_len = head_len + change->document.len;
    return STATUS_OK;
}

static status lay_out_backlog(struct write *write, struct document_change *change)
{
    const struct collection *collection = change->collection;

    TRY(ARENA_NEW(write->request->arena, collection->index_count, &change->backlog_keys));
    for (size_t i = 0; i < collection->index_count; i++) {
        const struct index *index = &collection->indexes[i];
        struct buffer key = buffer_in(write->request->arena);
        if (!index->definition.is_lazy || index->state == INDEX_FAILED)
            continue;
        row_key_backlog_of(&key, index->id, bytes_from(change->locator_key, 1));
        TRY(buffer_finish(&key, &change->backlog_keys[change->backlog_count++]));
    }
    return STATUS_OK;
}

static status lay_out(struct write *write, struct document_change *change)
{
    struct arena *arena = write->request->arena;

    if (change->has_old)
        TRY(index_row_keys(arena, &change->old_entries, bytes_from(change->locator_key, 1),
                           &change->old_keys));
    if (!change->has_new)
        return STATUS_OK;
    change->fresh.own_ttl = change->own_ttl;
    change->fresh.body_len = (uint32_t)change->document.len;
    TRY(index_pack_dates(arena, change->collection, &change->entries, change->document,
                         &change->fresh.dates));
    TRY(index_row_keys(arena, &change->entries, bytes_from(change->locator_key, 1), &change->keys));
    size_t arrival = index_find_arrival(change->collection, &change->entries);
    if (arrival < change->entries.count) {
        write->has_arrivals = true;
        change->arrival_values = (uint8_t *)(uintptr_t)change->entries.items[arrival].values.data;
        change->arrival_key = (uint8_t *)(uintptr_t)change->keys[arrival].data +
                              ROW_INDEX_HEAD_BYTES;
    }
    if (index_has_lazy(change->collection))
        TRY(lay_out_backlog(write, change));
    return lay_out_body(write, change);
}

/* ---- putting it together -------------------------------------------------------------------------- */

static status prepare_operations(struct write *write)
{
    TRY(write_find_new(write));
    for (size_t i = 0; i < write->op_count; i++) {
        struct write_op *op = &write->ops[i];
        if (op->outcome.code == OK)
            op->outcome = decide(write, op, &write->steps[i]);
        bool ends_all = write->mode == WRITE_ALL_OR_NOTHING || op->outcome.code == CONFLICT;
        if (op->outcome.code != OK && ends_all)
            return op->outcome;
    }
    TRY(bounds_apply(write));
    for (struct document_change *change = write->changes; change; change = change->next) {
        if (change->is_touched)
            TRY(lay_out(write, change));
    }
    return STATUS_OK;
}

static status enter(struct write *write)
{
    TRY(enter_gates(write));
    for (size_t i = 0; i < write->op_count; i++) {
        write->ops[i].outcome = outline(write, &write->ops[i], &write->steps[i]);
        if (write->ops[i].outcome.code != OK && write->mode == WRITE_ALL_OR_NOTHING)
            return write->ops[i].outcome;
    }
    TRY(bounds_enter(write));
    return take_latches(write);
}

/* Until the transaction ends that has announced the key, or whoever asked for the write wants it no longer. */
static status await_intent(struct write *write, uint64_t hash, const struct wait_limit *limit)
{
    enum { LOOK_EVERY_MS = 20 };
    const struct request *request = write->request;
    enum intent_wait end = INTENT_HELD;

    while (end == INTENT_HELD && !wait_limit_is_over(limit)) {
        struct wait_limit nearer = wait_limit_nearer(limit, LOOK_EVERY_MS);
        end = intent_wait(&request->engine->transactions.intents, hash,
                          request->check ? &nearer : limit);
        if (end == INTENT_HELD && request->check)
            TRY(request->check(request->check_context));
    }
    if (end == INTENT_FREE)
        return STATUS_OK;
    return status_of(BUSY, "a transaction has written the document and does not end; try again");
}

/* What a transaction has announced to write waits for its end. */
static status enter_past_intents(struct write *write)
{
    arena_position mark = arena_mark(write->request->arena);
    struct wait_limit limit = wait_limit_from_now(LIMIT_TRANSACTION_WAIT_MS);
    uint64_t hash;

    TRY(enter(write));
    while (!is_inside(write) && write_meets_intent(write, &hash)) {
        if (write->request->is_committing)
            return status_of(CONFLICT, "another transaction has written the same unique key");
        write_release(write);
        arena_release(write->request->arena, mark);
        TRY(await_intent(write, hash, &limit));
        TRY(enter(write));
    }
    return STATUS_OK;
}

static status prepare(struct write *write)
{
    TRY(gather_states(write));
    TRY(enter_past_intents(write));
    return prepare_operations(write);
}

static status write_open(struct request *request, struct write_op *ops, size_t count,
                         enum write_mode mode, struct write **out)
{
    TRY(ARENA_NEW(request->arena, 1, out));
    (*out)->request = request;
    (*out)->ops = ops;
    (*out)->op_count = count;
    (*out)->mode = mode;
    TRY(ARENA_NEW(request->arena, count, &(*out)->steps));
    TRY(table_open(request->arena, count, &(*out)->by_key));
    TRY(table_open(request->arena, count, &(*out)->by_unique));
    for (size_t i = 0; i < count; i++) {
        ops[i].outcome = STATUS_OK;
        ops[i].was_there = false;
        ops[i].seq = ops[i].birth_seq = 0;
        ops[i].written_at_s = 0;
    }
    return STATUS_OK;
}

status write_prepare(struct request *request, struct write_op *ops, size_t count,
                     enum write_mode mode, struct write **out)
{
    TRY(write_open(request, ops, count, mode, out));
    status s = prepare(*out);
    if (s.code != OK)
        write_release(*out);
    return s;
}

status write_begin(struct request *request, struct write_op *ops, size_t count,
                   enum write_mode mode, enum committer committer, write_done *done, void *context)
{
    struct engine *engine = request->engine;
    struct write *write;

    TRY(write_prepare(request, ops, count, mode, &write));
    if (is_inside(write)) {
        TRY(transaction_take(write));
        done(context, STATUS_OK);
        return STATUS_OK;
    }
    write->done = done;
    write->context = context;
    write->commit = (struct commit){ .stamp = write_stamp, .done = write_finish, .owner = write };
    status s = committer == COMMIT_ASIDE
                   ? commit_submit_aside(engine->queue, &write->commit, engine->crew)
                   : commit_submit(engine->queue, &write->commit);
    if (s.code != OK)
        write_release(write);
    return s;
}

status document_write_begin(struct request *request, struct write_op *ops, size_t count,
                            enum write_mode mode, write_done *done, void *context)
{
    return write_begin(request, ops, count, mode, COMMIT_HERE, done, context);
}

status document_write(struct request *request, struct write_op *ops, size_t count,
                      enum write_mode mode)
{
    struct write *write;

    TRY(write_prepare(request, ops, count, mode, &write));
    if (is_inside(write))
        return transaction_take(write);
    write->commit = (struct commit){ .stamp = write_stamp, .done = write_finish, .owner = write };
    status s = commit_and_wait(request->engine->queue, &write->commit);
    if (s.code != OK)
        write_release(write); /* nothing left to give back if the queue had taken it */
    return s;
}
