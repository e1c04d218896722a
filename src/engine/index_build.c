/* Index build: entries for documents that are older than their index.
 *
 * From the moment an index is registered every write maintains it. The builder walks the locators in key
 * order and adds the entries of documents written before that moment, a small batch per commit together
 * with its cursor, so a build goes on where it stood after a crash. A document that was written since
 * is left alone: its entries are there already. A unique index fails when two living documents have the
 * same key; the failure names both.
 *
 * Keeps: entries are added under the document's latch, after its locator was read again.
 * Threads: one batch at a time (build_lock), on the builder's own thread or on that of a request that waits
 * for the build; writers are never kept waiting for longer than one batch.
 * Start reading at engine_build_indexes(). */
#include "engine/index.h"
#include "engine/lane.h"
#include "engine/state.h"

#include <inttypes.h>

#include "base/block.h"

enum { BATCH_BYTES = 8 * 1024 * 1024 };

struct build_item {
    bytes key; /* joined document key */
    bytes locator_key;
    struct stamp stamp;
    bytes document;
    struct index_entries entries;
    bytes *row_keys;
    bool is_current;
};

struct build {
    struct commit commit;
    struct engine *engine;
    struct request *request;
    struct arena *arena;
    const struct collection *collection;
    const struct index *index;
    bytes cursor;
    struct build_item items[LIMIT_BUILD_BATCH];
    size_t count;
    size_t size; /* bytes of the documents */
    bool is_finished;
    bytes failure; /* why the index cannot be built */
};

/* ---- cursor --------------------------------------------------------------------------------------- */

static status cursor_key(struct arena *arena, uint32_t index_id, bytes *out)
{
    struct buffer key = buffer_in(arena);

    row_key_build(&key, index_id);
    return buffer_finish(&key, out);
}

status index_cursor_load(struct engine *engine, struct storage_view *view, struct arena *arena,
                         const struct collection *collection, uint32_t index_id, bytes *out)
{
    struct storage *storage = engine->storage;
    struct storage_value pin;
    bytes key;

    *out = BYTES_NONE;
    TRY(cursor_key(arena, index_id, &key));
    status s = storage_get(storage, view, address(collection->state->partition, SPACE_META), key,
                           &pin);
    if (s.code == NOT_FOUND)
        return STATUS_OK;
    TRY(s);
    s = arena_copy(arena, bytes_from(pin.value, 1), out);
    storage_value_release(storage, &pin);
    return s;
}

status index_cursor_put(struct storage *storage, struct storage_batch *batch, struct arena *arena,
                        partition_id partition, uint32_t index_id, bytes cursor)
{
    struct buffer text = buffer_in(arena);
    bytes key, value;

    TRY(cursor_key(arena, index_id, &key));
    buffer_append_byte(&text, 'k');
    buffer_append(&text, cursor);
    TRY(buffer_finish(&text, &value));
    storage_put(storage, batch, address(partition, SPACE_META), key, value);
    return STATUS_OK;
}

/* ---- one batch ------------------------------------------------------------------------------------ */

/* What a person recognises a document by. */
static void describe(struct buffer *out, bytes document, bytes key)
{
    struct value id;

    if (document_find(document, "_id", &id) || document_find(document, "id", &id))
        json_write_value(out, id);
    else
        for (size_t i = 0; i < key.len && i < 32; i++)
            buffer_append_format(out, "%02x", key.data[i]);
}

/* A document that cannot be indexed ends the build; anything else is tried again. */
static status note_failure(struct build *build, const struct build_item *item, status why)
{
    struct buffer text = buffer_in(build->arena);

    if (why.code != INVALID && why.code != TOO_LARGE)
        return why;
    buffer_append_text(&text, "document ");
    describe(&text, item->document, item->key);
    buffer_append_format(&text, ": %s", why.message);
    return buffer_finish(&text, &build->failure);
}

static status add_item(struct build *build, struct scan *scan, const struct scan_row *row)
{
    struct build_item *item = &build->items[build->count];
    struct document document;

    *item = (struct build_item){ 0 };
    TRY(arena_join(build->arena, row->key.partition, row->key.id, &item->key));
    build->count++;
    build->cursor = item->key;
    item->stamp.seq = row->seq;
    if (row->seq > build->index->created_seq)
        return STATUS_OK; /* written since: its entries are there */
    TRY(scan_document(scan, &document));
    status s = arena_copy(build->arena, document.bson, &item->document);
    document_release(build->request, &document);
    TRY(s);
    build->size += item->document.len;
    struct indexed_document indexed = { .collection = build->collection,
                                        .key = item->key,
                                        .bson = item->document,
                                        .birth_seq = document.birth_seq };
    s = index_collect(build->engine, build->arena, build->index, &indexed, &item->entries);
    index_entries_sort(&item->entries);
    return s.code == OK ? STATUS_OK : note_failure(build, item, s);
}

static status read_batch(struct build *build)
{
    struct scan_spec spec = { .after = build->cursor };
    struct scan *scan;
    struct scan_row row;
    status s = STATUS_OK;

    TRY(scan_open(build->request, build->collection, &spec, &scan));
    while (s.code == OK && build->count < LIMIT_BUILD_BATCH && build->size < BATCH_BYTES &&
           build->failure.len == 0) {
        build->is_finished = !scan_next(scan, &row);
        if (build->is_finished)
            break;
        s = add_item(build, scan, &row);
    }
    if (s.code == OK)
        s = scan_status(scan);
    scan_close(scan);
    return s;
}

/* Behind the sentence: the values that two documents have in common. */
static status append_key(struct build *build, struct buffer *out, bytes document, bytes values)
{
    bytes key;

    TRY(index_entry_values(build->arena, build->index, document, values, &key));
    buffer_append_byte(out, 0);
    buffer_append(out, key);
    return STATUS_OK;
}

static status clash(struct build *build, const struct build_item *item, bytes values,
                    const struct stamp *other, bytes other_key)
{
    struct buffer text = buffer_in(build->arena);
    struct storage_value pin;
    struct row_body body = { 0 };

    status s = body_read(build->engine->storage, NULL, build->collection->state->partition, other,
                         &pin, &body);
    buffer_append_text(&text, "documents ");
    describe(&text, item->document, item->key);
    buffer_append_text(&text, " and ");
    if (s.code == OK) {
        describe(&text, body.document, other_key);
        storage_value_release(build->engine->storage, &pin);
    } else
        buffer_append_text(&text, "another");
    buffer_append_format(&text, " have the same key in the unique index '%.*s'",
                         (int)build->index->definition.name.len,
                         (const char *)build->index->definition.name.data);
    TRY(append_key(build, &text, item->document, values));
    return buffer_finish(&text, &build->failure);
}

/* A living document with the same values that is not this one. */
static status look_for_clash(struct build *build, const struct build_item *item, bytes values)
{
    struct storage *storage = build->engine->storage;
    struct buffer start = buffer_in(build->arena);
    struct storage_range range = { 0 };
    struct storage_view *view;
    struct storage_scan *scan;
    bytes key, value;
    status s;

    row_key_index(&start, build->index->id);
    buffer_append(&start, values);
    TRY(buffer_finish(&start, &range.start));
    TRY(storage_view_open(storage, &view)); /* one instant, because a holder may move */
    s = storage_scan_open(storage, view, address(build->collection->state->partition, SPACE_ROWS),
                          &range, &scan);
    if (s.code != OK) {
        storage_view_close(storage, view);
        return s;
    }
    while (s.code == OK && build->failure.len == 0 && storage_scan_next(scan, &key, &value) &&
           bytes_starts_with(key, range.start)) {
        struct stamp stamp;
        size_t values_len;
        enum verdict verdict = DEAD;
        bytes other_key = bytes_from(key, range.start.len);
        if (!row_read_index(value, &stamp, &values_len))
            s = status_of(CORRUPT, "a stored index row is damaged");
        else if (!bytes_equal(other_key, item->key))
            s = document_judge(build->engine->storage, view, build->arena, build->collection,
                               &stamp, build->request->now, &verdict);
        if (s.code == OK && verdict == ALIVE)
            s = clash(build, item, values, &stamp, other_key);
    }
    if (s.code == OK)
        s = storage_scan_status(scan);
    storage_scan_close(scan);
    storage_view_close(storage, view);
    return s;
}

/* Two documents of the same batch. */
static status look_inside_batch(struct build *build, size_t at, bytes values)
{
    for (size_t i = 0; i < at && build->failure.len == 0; i++) {
        const struct build_item *other = &build->items[i];
        for (size_t k = 0; other->is_current && k < other->entries.count; k++) {
            if (bytes_equal(other->entries.items[k].values, values))
                TRY(clash(build, &build->items[at], values, &other->stamp, other->key));
        }
    }
    return STATUS_OK;
}

static status check_item(struct build *build, size_t at)
{
    struct build_item *item = &build->items[at];
    enum verdict verdict;
    uint64_t birth, seq = item->stamp.seq;
    bool is_there;

    TRY(document_locate(build->request, NULL, build->collection, item->locator_key, &item->stamp,
                        &birth, &is_there));
    if (!is_there || item->stamp.seq != seq || seq > build->index->created_seq)
        return STATUS_OK;
    TRY(document_judge(build->engine->storage, NULL, build->arena, build->collection, &item->stamp,
                       build->request->now, &verdict));
    item->is_current = verdict == ALIVE;
    if (!item->is_current)
        return STATUS_OK;
    TRY(index_row_keys(build->arena, &item->entries, item->key, &item->row_keys));
    for (size_t i = 0; build->index->definition.is_unique && i < item->entries.count; i++) {
        TRY(look_inside_batch(build, at, item->entries.items[i].values));
        TRY(look_for_clash(build, item, item->entries.items[i].values));
    }
    return STATUS_OK;
}

static status build_stamp(struct commit *commit, struct storage_batch *batch)
{
    struct build *build = commit->owner;
    struct storage *storage = build->engine->storage;
    struct collection_state *state = build->collection->state;

    TRY(index_cursor_put(storage, batch, build->arena, state->partition, build->index->id,
                         build->cursor));
    for (size_t i = 0; i < build->count; i++) {
        const struct build_item *item = &build->items[i];
        if (item->is_current)
            index_put_rows(storage, batch, state, &item->stamp, &item->entries, item->row_keys);
    }
    return STATUS_OK;
}

static status write_latched(struct build *build)
{
    const struct collection *newest = atomic_load(&build->collection->state->current);

    if (newest != build->collection || atomic_load(&build->collection->state->is_dropped)) {
        build->count = 0; /* changed meanwhile: the next step sees it */
        build->is_finished = false;
        return STATUS_OK;
    }
    for (size_t i = 0; i < build->count && build->failure.len == 0; i++)
        TRY(check_item(build, i));
    if (build->failure.len > 0)
        return STATUS_OK;
    build->commit = (struct commit){ .stamp = build_stamp, .owner = build };
    return commit_and_wait(build->engine->queue, &build->commit);
}

static status make_latches(struct build *build, struct latch_set *out)
{
    const bool is_unique = build->index->definition.is_unique;
    uint32_t id = build->collection->state->id;
    size_t room = build->count;

    *out = (struct latch_set){ 0 };
    for (size_t i = 0; is_unique && i < build->count; i++)
        room += build->items[i].entries.count;
    TRY(ARENA_NEW(build->arena, room, &out->items));
    for (size_t i = 0; i < build->count; i++) {
        struct build_item *item = &build->items[i];
        struct buffer key = buffer_in(build->arena);
        row_key_locator(&key, (struct document_key){ .id = item->key });
        TRY(buffer_finish(&key, &item->locator_key));
        latch_set_add(out, latch_hash_of_document(id, item->locator_key));
        for (size_t k = 0; is_unique && k < item->entries.count; k++)
            latch_set_add(out, write_unique_hash(id, &item->entries.items[k]));
    }
    latch_set_sort(out);
    return STATUS_OK;
}

static status write_batch(struct build *build)
{
    struct latch_set latches;

    if (build->count == 0)
        return STATUS_OK;
    TRY(make_latches(build, &latches));
    gate_enter(&build->collection->state->gate);
    latch_set_take(&build->engine->latches, &latches);
    status s = write_latched(build);
    latch_set_give(&build->engine->latches, &latches);
    gate_leave(&build->collection->state->gate);
    return s;
}

/* ---- builds --------------------------------------------------------------------------------------- */

static void show_progress(struct build *build)
{
    struct index_progress *progress = build->index->progress;
    uint64_t total = 1 + lanes_document_count(build->engine, build->collection->state);

    uint64_t seen = atomic_fetch_add(&progress->seen, build->count) + build->count;
    uint64_t per_mille = seen * 1000 / total;
    atomic_store(&progress->per_mille, (unsigned)(per_mille < 999 ? per_mille : 999));
}

static status build_step(struct build *build, bool *is_done_out)
{
    *is_done_out = false;
    TRY(index_cursor_load(build->engine, NULL, build->arena, build->collection, build->index->id,
                          &build->cursor));
    TRY(read_batch(build));
    if (build->failure.len == 0)
        TRY(write_batch(build));
    show_progress(build);
    if (!build->is_finished && build->failure.len == 0)
        return STATUS_OK;
    *is_done_out = true;
    if (build->failure.len > 0)
        log_event(build->engine->log, LOG_WARNING, "index.failed",
                  "collection=%" PRIu32 " index=%" PRIu32, build->collection->id, build->index->id);
    return STATUS_OK;
}

static bool has_work(const struct index *index)
{
    return index->state == INDEX_BUILDING || backlog_is_pending(index);
}

/* The unfinished build or backlog whose turn it is; NULL if there is none. They take turns, so that one that cannot
 * go on does not hold up the others. */
static const struct index *find_work(const struct request *request, uint64_t turn,
                                     const struct collection **out)
{
    const struct index *found = NULL;
    uint64_t count = 0, wanted = 0;

    for (int round = 0; round < 2 && (round == 0 || count > 0); round++) {
        uint64_t seen = 0;
        for (size_t i = 0; !found && i < catalog_collection_count(request); i++) {
            const struct collection *collection = catalog_collection(request, i);
            for (size_t k = 0; k < collection->index_count; k++) {
                if (!has_work(&collection->indexes[k]))
                    continue;
                if (round == 1 && seen++ == wanted) {
                    *out = collection;
                    found = &collection->indexes[k];
                }
                count += round == 0;
            }
        }
        wanted = count ? turn % count : 0;
    }
    return found;
}

/* One batch of the build or the backlog whose turn it is. */
static status build_whose_turn_it_is(struct engine *engine, bool *has_more_out)
{
    struct arena *arena = arena_open(LIMIT_REQUEST_ARENA_BYTES);
    struct request request;
    struct build *build = NULL;
    bool is_done = false;
    status s;

    *has_more_out = false;
    if (!arena)
        return status_of(OUT_OF_MEMORY, "the index build has no memory");
    TRY_GOTO(request_begin(engine, arena, &request), done);
    s = ARENA_NEW(arena, 1, &build);
    if (s.code == OK) {
        *build = (struct build){ .engine = engine, .request = &request, .arena = arena };
        build->index = find_work(&request, atomic_fetch_add(&engine->build_turn, 1),
                                 &build->collection);
        *has_more_out = build->index != NULL;
        if (build->index && build->index->state == INDEX_BUILDING)
            s = build_step(build, &is_done);
        else if (build->index)
            s = backlog_step(engine, &request, build->collection, build->index);
    }
    uint32_t collection_id = is_done ? build->collection->id : 0;
    uint32_t index_id = is_done ? build->index->id : 0;
    request_end(&request);
    if (s.code == OK && is_done)
        s = index_finish_build(engine, arena, collection_id, index_id, build->failure);
done:
    if (s.code != OK)
        s = status_of(s.code, status_code_sentence(s.code));
    arena_close(arena);
    return s;
}

status engine_build_step(struct engine *engine, bool *has_more_out)
{
    bool is_marked = block_begin();

    pthread_mutex_lock(&engine->build_lock);
    status s = build_whose_turn_it_is(engine, has_more_out);
    pthread_mutex_unlock(&engine->build_lock);
    if (is_marked)
        block_end();
    return s;
}

status engine_build_indexes(struct engine *engine)
{
    bool has_more = true;

    while (has_more)
        TRY(engine_build_step(engine, &has_more));
    return STATUS_OK;
}

/* ---- the thread ----------------------------------------------------------------------------------- */

enum { BUILD_LOOK_MS = 60000, BUILD_RETRY_MS = 1000 };

static void *builder_run(void *owner)
{
    struct engine *engine = owner;
    int64_t pause = 1;

    while (worker_pause(&engine->builder, pause)) {
        bool has_more = true;
        status s = STATUS_OK;
        metrics_set(engine->metrics, METRIC_index_builds_running, 1);
        while (s.code == OK && has_more && !atomic_load(&engine->builder.should_stop))
            s = engine_build_step(engine, &has_more);
        metrics_set(engine->metrics, METRIC_index_builds_running, 0);
        if (s.code != OK)
            log_event(engine->log, LOG_ERROR, "index.build_failed", "why=\"%s\"", s.message);
        pause = s.code == OK ? BUILD_LOOK_MS : BUILD_RETRY_MS;
    }
    return NULL;
}

bool builder_start(struct engine *engine)
{
    return worker_start(&engine->builder, builder_run, engine);
}

void builder_wake(struct engine *engine)
{
    worker_wake(&engine->builder);
}
