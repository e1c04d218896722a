/* Reaper, rows: removes locators and index rows of the dead whose bodies are gone.
 *
 * Usually they are garbage that the sweeper takes along. Before horizons are forgotten, which would make
 * some of them look alive, they have to be gone for certain: so all rows are walked, and each dead one
 * without a body is deleted under its document's latch, after it was read again.
 *
 * Runs inside a purger pass. Start reading at reaper_clean_rows(). */
#include "engine/purger_parts.h"

struct dead_row {
    bytes key;
    uint64_t seq;
    uint64_t hash; /* of the document's latch */
    bool is_garbage;
};

struct row_walk {
    struct commit commit;
    struct purge_pass *pass;
    const struct collection *collection;
    struct dead_row *rows;
    size_t count;
};

/* The document key at the end of a row's key. */
static bytes document_key_of(bytes key, const struct stamp *stamp, bytes value)
{
    struct stamp again = *stamp;
    size_t values_len;
    uint32_t id;
    bytes rest;

    if (key.data[0] == ROW_TAG_LOCATOR)
        return bytes_from(key, 1);
    if (!row_index_id_of(key, &id, &rest) || !row_read_index(value, &again, &values_len))
        return BYTES_NONE;
    return bytes_from(rest, values_len);
}

static status is_garbage(struct row_walk *walk, const struct collection *collection,
                         const struct stamp *stamp, bool *out)
{
    struct engine *engine = walk->pass->engine;
    struct storage_value pin;
    struct row_body body;
    enum verdict verdict;

    *out = false;
    TRY(document_judge(engine->storage, NULL, walk->pass->arena, collection, stamp,
                       walk->pass->cutoff, &verdict));
    if (verdict != DEAD)
        return STATUS_OK;
    status s = body_read(engine->storage, NULL, collection->state->partition, stamp, &pin, &body);
    *out = s.code == NOT_FOUND;
    if (s.code == OK)
        storage_value_release(engine->storage, &pin);
    return s.code == NOT_FOUND ? STATUS_OK : s;
}

static status look_at(void *owner, bytes key, bytes value)
{
    struct row_walk *walk = owner;
    struct arena *arena = walk->pass->arena;
    struct stamp stamp;
    bool is_dead;

    if (key.data[0] == ROW_TAG_BACKLOG) /* goes when its index has been told */
        return STATUS_OK;
    if (!row_read_any_stamp(key, value, &stamp))
        return status_of(CORRUPT, "a stored row is damaged");
    TRY(is_garbage(walk, walk->collection, &stamp, &is_dead));
    if (!is_dead)
        return STATUS_OK;
    struct dead_row *row = &walk->rows[walk->count++];
    struct buffer locator = buffer_in(arena);
    bytes locator_key;
    row_key_locator(&locator, (struct document_key){ .id = document_key_of(key, &stamp, value) });
    TRY(buffer_finish(&locator, &locator_key));
    row->seq = stamp.seq;
    row->hash = latch_hash_of_document(walk->collection->state->id, locator_key);
    return arena_copy(arena, key, &row->key);
}

static bool is_page_full(const void *owner)
{
    const struct row_walk *walk = owner;

    return walk->count >= LIMIT_BACKGROUND_BATCH;
}

static status begin_page(void *owner)
{
    struct row_walk *walk = owner;

    walk->count = 0;
    return ARENA_NEW(walk->pass->arena, LIMIT_BACKGROUND_BATCH, &walk->rows);
}

static status rows_stamp(struct commit *commit, struct storage_batch *batch)
{
    struct row_walk *walk = commit->owner;

    for (size_t i = 0; i < walk->count; i++) {
        if (walk->rows[i].is_garbage)
            storage_delete(walk->pass->engine->storage, batch,
                           address(walk->collection->state->partition, SPACE_ROWS),
                           walk->rows[i].key);
    }
    return STATUS_OK;
}

/* Is it still the same row, and still garbage under the newest policy? */
static status judge_again(struct row_walk *walk, const struct collection *collection,
                          struct dead_row *row)
{
    struct storage *storage = walk->pass->engine->storage;
    struct storage_value pin;
    struct stamp stamp;
    bytes dates;

    status s = storage_get(storage, NULL, address(collection->state->partition, SPACE_ROWS),
                           row->key, &pin);
    if (s.code == NOT_FOUND)
        return STATUS_OK;
    TRY(s);
    bool is_same = row_read_any_stamp(row->key, pin.value, &stamp) && stamp.seq == row->seq;
    s = is_same ? arena_copy(walk->pass->arena, stamp.dates, &dates) : STATUS_OK;
    storage_value_release(storage, &pin);
    if (!is_same || s.code != OK)
        return s;
    stamp.dates = dates;
    return is_garbage(walk, collection, &stamp, &row->is_garbage);
}

static status delete_latched(struct row_walk *walk)
{
    struct collection_state *state = walk->collection->state;

    if (atomic_load(&state->is_dropped))
        return STATUS_OK;
    for (size_t i = 0; i < walk->count; i++)
        TRY(judge_again(walk, atomic_load(&state->current), &walk->rows[i]));
    walk->commit = (struct commit){ .stamp = rows_stamp, .owner = walk };
    return commit_and_wait(walk->pass->engine->queue, &walk->commit);
}

static status delete_page(void *owner)
{
    struct row_walk *walk = owner;
    struct engine *engine = walk->pass->engine;
    struct latch_set latches = { 0 };

    if (walk->count == 0)
        return STATUS_OK;
    TRY(ARENA_NEW(walk->pass->arena, walk->count, &latches.items));
    for (size_t i = 0; i < walk->count; i++)
        latch_set_add(&latches, walk->rows[i].hash);
    latch_set_sort(&latches);
    gate_enter(&walk->collection->state->gate);
    latch_set_take(&engine->latches, &latches);
    status s = delete_latched(walk);
    latch_set_give(&engine->latches, &latches);
    gate_leave(&walk->collection->state->gate);
    return s;
}

status reaper_clean_rows(struct purge_pass *pass, const struct collection *collection)
{
    struct row_walk walk = { .pass = pass, .collection = collection };
    struct page_walk pages = { .where = address(collection->state->partition, SPACE_ROWS),
                               .owner = &walk,
                               .begin = begin_page,
                               .look = look_at,
                               .is_full = is_page_full,
                               .act = delete_page };

    return page_walk(pass, &pages);
}
