/* Index backlog: how a lazy index follows the writes.
 *
 * A write takes the rows of the old version out of a lazy index, as it does with every index, but does
 * not put those of the new one: it leaves a backlog row in the same commit. So whatever such an index
 * holds is true, and only what is new may be missing. Here the backlog is worked off in the order of the
 * writes, a small batch per commit: the rows of each document that is still at that version are put,
 * and the backlog rows deleted. A row whose document was written again, deleted or has died since is
 * just deleted; a later row, if any, stands for what became of it.
 *
 * Keeps: rows are put under the document's latch, after its locator was read again; a cursor stands
 * behind the last row worked off, and no row can come in before it, because numbers of writes grow.
 * Threads: the builder, or whoever calls engine_build_step(); backlog_note() on the committing thread.
 * Start reading at backlog_step(). */
#include "engine/index.h"
#include "engine/lane.h"
#include "engine/state.h"

enum { BATCH_MEMORY_BYTES = 16 * 1024 * 1024 };

struct backlog_item {
    bytes row_key;
    struct row_backlog row;
    bytes locator_key;
    struct stamp stamp;
    bool is_current; /* the document is alive and at this version */
    struct index_entries entries;
    bytes *row_keys;
};

struct drain {
    struct commit commit;
    struct engine *engine;
    struct request *request;
    struct arena *arena;
    const struct collection *collection;
    const struct index *index;
    bytes cursor;
    struct backlog_item items[LIMIT_BUILD_BATCH];
    size_t count;
};

/* ---- what a write leaves out ---------------------------------------------------------------------- */

bool index_has_lazy(const struct collection *collection)
{
    for (size_t i = 0; i < collection->index_count; i++) {
        if (collection->indexes[i].definition.is_lazy)
            return true;
    }
    return false;
}

void index_entries_without_lazy(const struct collection *collection, struct index_entries *entries)
{
    size_t kept = 0;

    for (size_t i = 0; i < entries->count; i++) {
        const struct index *index = index_by_id(collection, entries->items[i].index_id);
        if (!index->definition.is_lazy)
            entries->items[kept++] = entries->items[i];
    }
    entries->count = kept;
}

/* ---- how much there is ---------------------------------------------------------------------------- */

bool backlog_is_pending(const struct index *index)
{
    const struct index_progress *progress = index->progress;

    return index->definition.is_lazy && index->state == INDEX_READY &&
           atomic_load(&progress->noted) != atomic_load(&progress->cleaned);
}

unsigned backlog_per_mille(const struct index *index)
{
    const struct index_progress *progress = index->progress;

    if (!backlog_is_pending(index))
        return 1000;
    uint64_t noted = atomic_load(&progress->noted) - atomic_load(&progress->cleaned);
    uint64_t drained = atomic_load(&progress->drained);
    uint64_t left = noted > drained ? noted - drained : 1;
    uint64_t total = atomic_load(&progress->documents);
    uint64_t per_mille = total > left ? 1000 * (total - left) / total : 0;
    return (unsigned)(per_mille < 999 ? per_mille : 999);
}

/* After the backlog row can be seen, so that a look that finds nothing has not missed a noted one. */
void backlog_note(struct engine *engine, const struct collection *collection)
{
    bool was_clean = false;
    uint64_t documents = 0;

    for (size_t i = 0; i < collection->index_count; i++) {
        const struct index *index = &collection->indexes[i];
        if (!index->definition.is_lazy || index->state == INDEX_FAILED)
            continue;
        uint64_t noted = atomic_fetch_add(&index->progress->noted, 1);
        if (noted != atomic_load(&index->progress->cleaned))
            continue;
        documents = was_clean ? documents : lanes_document_count(engine, collection->state);
        atomic_store(&index->progress->documents, documents);
        was_clean = true;
    }
    if (was_clean)
        builder_wake(engine);
}

/* Backlog rows of an index, in the order of the writes, from behind the cursor on. */
static status rows_open(struct engine *engine, struct arena *arena,
                        const struct collection *collection, const struct index *index,
                        bytes cursor, struct storage_scan **out)
{
    struct buffer start = buffer_in(arena), end = buffer_in(arena);
    struct storage_range range = { 0 };

    row_key_backlog(&start, index->id);
    buffer_append(&start, cursor);
    if (cursor.len > 0)
        buffer_append_byte(&start, 0x01);
    row_key_backlog(&end, index->id + 1);
    TRY(buffer_finish(&start, &range.start));
    TRY(buffer_finish(&end, &range.end));
    return storage_scan_open(engine->storage, NULL,
                             address(collection->state->partition, SPACE_ROWS), &range, out);
}

static status load_one(struct engine *engine, const struct collection *collection,
                       const struct index *index)
{
    struct storage_scan *scan;
    bytes cursor = BYTES_NONE, key, value;

    /* While it is built, the cursor is that of the build. */
    if (index->state == INDEX_READY)
        TRY(index_cursor_load(engine, NULL, collection->memory, collection, index->id, &cursor));
    atomic_store(&index->progress->documents, lanes_document_count(engine, collection->state));
    TRY(rows_open(engine, collection->memory, collection, index, cursor, &scan));
    if (storage_scan_next(scan, &key, &value))
        atomic_store(&index->progress->noted, 1);
    status s = storage_scan_status(scan);
    storage_scan_close(scan);
    return s;
}

status backlogs_load(struct engine *engine, const struct collection *collection)
{
    for (size_t i = 0; i < collection->index_count; i++) {
        arena_position mark = arena_mark(collection->memory);
        status s = STATUS_OK;
        if (collection->indexes[i].definition.is_lazy)
            s = load_one(engine, collection, &collection->indexes[i]);
        arena_release(collection->memory, mark);
        TRY(s);
    }
    return STATUS_OK;
}

/* ---- one batch ------------------------------------------------------------------------------------ */

static status add_item(struct drain *drain, bytes key, struct latch_set *latches)
{
    struct backlog_item *item = &drain->items[drain->count];
    struct buffer locator = buffer_in(drain->arena);

    *item = (struct backlog_item){ 0 };
    TRY(arena_copy(drain->arena, key, &item->row_key));
    if (!row_read_backlog(item->row_key, &item->row))
        return status_of(CORRUPT, "a stored backlog row is damaged");
    row_key_locator(&locator, (struct document_key){ .id = item->row.key });
    TRY(buffer_finish(&locator, &item->locator_key));
    latch_set_add(latches, latch_hash_of_document(drain->collection->state->id, item->locator_key));
    drain->count++;
    return STATUS_OK;
}

static status read_batch(struct drain *drain, struct latch_set *latches)
{
    struct storage_scan *scan;
    bytes key, value;
    status s = STATUS_OK;

    *latches = (struct latch_set){ 0 };
    TRY(ARENA_NEW(drain->arena, LIMIT_BUILD_BATCH, &latches->items));
    TRY(rows_open(drain->engine, drain->arena, drain->collection, drain->index, drain->cursor,
                  &scan));
    while (s.code == OK && drain->count < LIMIT_BUILD_BATCH &&
           storage_scan_next(scan, &key, &value))
        s = add_item(drain, key, latches);
    if (s.code == OK)
        s = storage_scan_status(scan);
    storage_scan_close(scan);
    latch_set_sort(latches);
    return s;
}

static status collect(struct drain *drain, struct backlog_item *item)
{
    struct engine *engine = drain->engine;
    struct storage_value pin;
    struct row_body body;

    TRY(body_read(engine->storage, NULL, drain->collection->state->partition, &item->stamp, &pin,
                  &body));
    struct indexed_document document = { .collection = drain->collection, .key = item->row.key };
    status s = arena_copy(drain->arena, body.document, &document.bson);
    storage_value_release(engine->storage, &pin);
    TRY(s);
    TRY(index_collect(engine, drain->arena, drain->index, &document, &item->entries));
    index_entries_sort(&item->entries);
    return index_row_keys(drain->arena, &item->entries, item->row.key, &item->row_keys);
}

static status look_at(struct drain *drain, struct backlog_item *item)
{
    enum verdict verdict;
    uint64_t birth;
    bool is_there;

    TRY(document_locate(drain->request, NULL, drain->collection, item->locator_key, &item->stamp,
                        &birth, &is_there));
    if (!is_there || item->stamp.seq != item->row.seq)
        return STATUS_OK;
    TRY(document_judge(drain->engine->storage, NULL, drain->arena, drain->collection, &item->stamp,
                       drain->request->now, &verdict));
    item->is_current = verdict == ALIVE;
    return item->is_current ? collect(drain, item) : STATUS_OK;
}

static status drain_stamp(struct commit *commit, struct storage_batch *batch)
{
    struct drain *drain = commit->owner;
    struct storage *storage = drain->engine->storage;
    struct collection_state *state = drain->collection->state;

    TRY(index_cursor_put(storage, batch, drain->arena, state->partition, drain->index->id,
                         drain->cursor));
    for (size_t i = 0; i < drain->count; i++) {
        const struct backlog_item *item = &drain->items[i];
        if (item->is_current)
            index_put_rows(storage, batch, state, &item->stamp, &item->entries, item->row_keys);
        storage_delete(storage, batch, address(state->partition, SPACE_ROWS), item->row_key);
    }
    return STATUS_OK;
}

/* As many as memory allows; the next batch goes on behind the last of them. */
static status write_latched(struct drain *drain)
{
    struct collection_state *state = drain->collection->state;
    size_t used = arena_used_bytes(drain->arena);

    if (atomic_load(&state->current) != drain->collection || atomic_load(&state->is_dropped)) {
        drain->count = 0; /* changed meanwhile: the next step sees it */
        return STATUS_OK;
    }
    for (size_t i = 0; i < drain->count; i++) {
        TRY(look_at(drain, &drain->items[i]));
        if (arena_used_bytes(drain->arena) - used >= BATCH_MEMORY_BYTES)
            drain->count = i + 1;
    }
    drain->cursor = row_backlog_position(drain->items[drain->count - 1].row_key);
    drain->commit = (struct commit){ .stamp = drain_stamp, .owner = drain };
    return commit_and_wait(drain->engine->queue, &drain->commit);
}

static status write_batch(struct drain *drain, const struct latch_set *latches)
{
    struct gate *gate = &drain->collection->state->gate;

    gate_enter(gate);
    latch_set_take(&drain->engine->latches, latches);
    status s = write_latched(drain);
    latch_set_give(&drain->engine->latches, latches);
    gate_leave(gate);
    return s;
}

/* Nothing was found behind the cursor, and `noted` writes had left their rows before the look. Inside the
 * gate, because a change may have given the place of this index to another one. */
static void note_clean(struct drain *drain, uint64_t noted)
{
    struct collection_state *state = drain->collection->state;
    struct index_progress *progress = drain->index->progress;

    gate_enter(&state->gate);
    if (atomic_load(&state->current) == drain->collection) {
        atomic_store(&progress->drained, 0);
        atomic_store(&progress->cleaned, noted);
    }
    gate_leave(&state->gate);
}

status backlog_step(struct engine *engine, struct request *request,
                    const struct collection *collection, const struct index *index)
{
    uint64_t noted = atomic_load(&index->progress->noted);
    struct latch_set latches;
    struct drain *drain;

    TRY(ARENA_NEW(request->arena, 1, &drain));
    drain->engine = engine;
    drain->request = request;
    drain->arena = request->arena;
    drain->collection = collection;
    drain->index = index;
    TRY(index_cursor_load(engine, NULL, drain->arena, collection, index->id, &drain->cursor));
    TRY(read_batch(drain, &latches));
    atomic_store(&index->progress->documents, lanes_document_count(engine, collection->state));
    if (drain->count == 0) {
        note_clean(drain, noted);
        return STATUS_OK;
    }
    TRY(write_batch(drain, &latches));
    atomic_fetch_add(&index->progress->drained, drain->count);
    return STATUS_OK;
}
