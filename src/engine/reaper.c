/* Reaper: removes documents one by one where a lane cannot be cut.
 *
 * After a change of policy, documents may lie in a lane whose rule is not the one that ends them: written
 * before a TTL index existed, or placed by a rule that has been changed or dropped since. The reaper
 * walks the bodies of such a collection, judges each with the document at hand, removes the dead in
 * batches, and notes whether any living document will be ended by a foreign rule later. When none is
 * left, the collection is pure again; stored horizons and retired rules are forgotten once everything
 * they had ended is gone, rows included.
 *
 * Keeps: each document is judged again, under its latch and with the newest policy, before it goes; all
 * its rows leave in one commit. Runs inside a purger pass. Start reading at reaper_visit(). */
#include "engine/index.h"
#include "engine/purger_parts.h"

#include <inttypes.h>

enum { WALK_PAUSE_MS = 60000, PAGE_BODIES = 5000 };

/* A dead document found by the walk. */
struct candidate {
    struct stamp stamp;
    bytes key; /* joined document key */
    /* filled in when it is judged again */
    bool is_dead;
    bool owns_rows; /* its locator is still its own */
    bytes locator_key;
    bytes document;
    bytes *index_keys;
    size_t index_key_count;
};

struct walk {
    struct purge_pass *pass;
    struct request *request;
    const struct collection *collection;
    bytes after; /* last slot key seen */
    bool is_finished;
    bool is_pure;
    time_ms next_foreign_end;
    struct candidate *candidates;
    size_t count;
};

/* ---- finding -------------------------------------------------------------------------------------- */

static status keep_candidate(struct walk *walk, const struct row_body *body)
{
    struct candidate *candidate = &walk->candidates[walk->count++];

    candidate->stamp = body->stamp;
    TRY(arena_copy(walk->pass->arena, body->stamp.dates, &candidate->stamp.dates));
    return arena_copy(walk->pass->arena, body->key, &candidate->key);
}

static status look_at(struct walk *walk, bytes value)
{
    const struct expiry_policy *policy = &walk->collection->policy;
    struct arena *arena = walk->pass->arena;
    struct row_body body;

    if (!row_read_body(value, &body))
        return status_of(CORRUPT, "a stored document is damaged");
    if (expiry_judge_document(policy, &body.stamp, body.document, arena, walk->pass->cutoff) ==
        DEAD)
        return keep_candidate(walk, &body);
    if (expiry_is_foreign(policy, &body.stamp, body.document, arena)) {
        walk->is_pure = false;
        walk->next_foreign_end = expiry_earlier(
            walk->next_foreign_end, expiry_deadline(policy, &body.stamp, body.document, arena));
    }
    return STATUS_OK;
}

static status find_page(struct walk *walk)
{
    struct arena *arena = walk->pass->arena;
    struct buffer start = buffer_in(arena), last = buffer_in(arena);
    struct storage_range range = { 0 };
    struct storage_scan *scan;
    bytes key, value;
    size_t seen = 0;
    status s = STATUS_OK;

    buffer_append(&start, walk->after);
    buffer_append_byte(&start, 0x01);
    TRY(buffer_finish(&start, &range.start));
    TRY(storage_scan_open(walk->pass->engine->storage, NULL,
                          address(walk->collection->state->partition, SPACE_BODIES), &range,
                          &scan));
    while (s.code == OK && seen < PAGE_BODIES && walk->count < LIMIT_BACKGROUND_BATCH) {
        walk->is_finished = !storage_scan_next(scan, &key, &value);
        if (walk->is_finished)
            break;
        seen++;
        last.len = 0;
        buffer_append(&last, key);
        s = look_at(walk, value);
    }
    if (s.code == OK)
        s = storage_scan_status(scan);
    storage_scan_close(scan);
    TRY(s);
    return seen > 0 ? buffer_finish(&last, &walk->after) : STATUS_OK;
}

/* ---- removing ------------------------------------------------------------------------------------- */

struct reaping {
    struct commit commit;
    struct walk *walk;
    const struct collection *collection; /* newest */
    struct storage_counters gone;
};

static status collect_index_keys(struct walk *walk, const struct collection *collection,
                                 struct candidate *candidate)
{
    struct arena *arena = walk->pass->arena;
    struct index_entries entries;

    TRY(index_collect_all(walk->pass->engine, arena, collection, candidate->document, &entries));
    TRY(ARENA_NEW(arena, entries.count, &candidate->index_keys));
    candidate->index_key_count = entries.count;
    for (size_t i = 0; i < entries.count; i++) {
        struct buffer key = buffer_in(arena);
        row_key_index(&key, entries.items[i].index_id);
        buffer_append(&key, entries.items[i].values);
        buffer_append(&key, candidate->key);
        TRY(buffer_finish(&key, &candidate->index_keys[i]));
    }
    return STATUS_OK;
}

/* Under the latch: is it still there, still dead, and whose are the rows? */
static status judge_again(struct walk *walk, const struct collection *collection,
                          struct candidate *candidate)
{
    struct engine *engine = walk->pass->engine;
    struct arena *arena = walk->pass->arena;
    struct storage_value pin;
    struct row_body body;
    struct stamp current;
    uint64_t birth;
    bool is_there;

    status s = body_read(engine, NULL, collection->state->partition, &candidate->stamp, &pin,
                         &body);
    if (s.code == NOT_FOUND)
        return STATUS_OK;
    TRY(s);
    candidate->is_dead = expiry_judge_document(&collection->policy, &body.stamp, body.document,
                                               arena, walk->pass->cutoff) == DEAD;
    s = arena_copy(arena, body.document, &candidate->document);
    storage_value_release(engine->storage, &pin);
    TRY(s);
    TRY(document_locate(walk->request, NULL, collection, candidate->locator_key, &current, &birth,
                        &is_there));
    candidate->owns_rows = is_there && current.seq == candidate->stamp.seq;
    if (candidate->is_dead && candidate->owns_rows)
        TRY(collect_index_keys(walk, collection, candidate));
    return STATUS_OK;
}

static status reaping_stamp(struct commit *commit, struct storage_batch *batch)
{
    struct reaping *reaping = commit->owner;
    struct walk *walk = reaping->walk;
    struct engine *engine = walk->pass->engine;
    struct row_address rows = address(reaping->collection->state->partition, SPACE_ROWS);
    struct row_address bodies = address(reaping->collection->state->partition, SPACE_BODIES);
    uint8_t slot[ROW_SLOT_BYTES];

    if (!group_reserve(engine, walk->count))
        return status_of(OUT_OF_MEMORY, "the server has no memory to commit");
    for (size_t i = 0; i < walk->count; i++) {
        struct candidate *candidate = &walk->candidates[i];
        if (!candidate->is_dead)
            continue;
        row_key_slot(slot, candidate->stamp.lane, expiry_order(&candidate->stamp),
                     candidate->stamp.seq);
        storage_delete(engine->storage, batch, bodies, bytes_of(slot, sizeof(slot)));
        if (candidate->owns_rows)
            storage_delete(engine->storage, batch, rows, candidate->locator_key);
        for (size_t k = 0; k < candidate->index_key_count; k++)
            storage_delete(engine->storage, batch, rows, candidate->index_keys[k]);
        group_note(engine, reaping->collection->state, &candidate->stamp, -1);
        reaping->gone.first++;
        reaping->gone.second += candidate->stamp.body_len;
    }
    return STATUS_OK;
}

static void reaping_done(struct commit *commit, status outcome)
{
    struct reaping *reaping = commit->owner;
    struct walk *walk = reaping->walk;
    const struct death_subscription *deaths = atomic_load(&reaping->collection->state->deaths);

    for (size_t i = 0; outcome.code == OK && deaths && i < walk->count; i++) {
        struct candidate *candidate = &walk->candidates[i];
        struct death death = { .collection = reaping->collection,
                               .stamp = &candidate->stamp,
                               .document = candidate->document };
        if (candidate->is_dead &&
            document_key_split(reaping->collection, candidate->key, &death.key).code == OK)
            deaths->reader(deaths->context, &death);
    }
}

static status latch_candidates(struct walk *walk, struct latch_set *out)
{
    struct arena *arena = walk->pass->arena;

    TRY(ARENA_NEW(arena, walk->count, &out->stripes));
    out->count = walk->count;
    for (size_t i = 0; i < walk->count; i++) {
        struct candidate *candidate = &walk->candidates[i];
        struct buffer key = buffer_in(arena);
        row_key_locator(&key, (struct document_key){ .id = candidate->key });
        TRY(buffer_finish(&key, &candidate->locator_key));
        out->stripes[i] =
            latch_stripe(bytes_hash(candidate->locator_key, walk->collection->state->id));
    }
    latch_set_sort(out);
    return STATUS_OK;
}

static status remove_latched(struct walk *walk, struct reaping *reaping)
{
    struct purge_pass *pass = walk->pass;
    struct collection_state *state = walk->collection->state;

    reaping->collection = atomic_load(&state->current);
    if (atomic_load(&state->is_dropped))
        return STATUS_OK;
    for (size_t i = 0; i < walk->count; i++)
        TRY(judge_again(walk, reaping->collection, &walk->candidates[i]));
    reaping->commit =
        (struct commit){ .stamp = reaping_stamp, .done = reaping_done, .owner = reaping };
    TRY(commit_and_wait(pass->engine->queue, &reaping->commit));
    atomic_fetch_add(&state->purged_documents, (uint64_t)reaping->gone.first);
    atomic_fetch_add(&state->purged_bytes, (uint64_t)reaping->gone.second);
    metrics_add(pass->engine->metrics, METRIC_purge_documents_total, (uint64_t)reaping->gone.first);
    metrics_add(pass->engine->metrics, METRIC_purge_bytes_total, (uint64_t)reaping->gone.second);
    metrics_add(pass->engine->metrics, METRIC_purge_reaped_total, (uint64_t)reaping->gone.first);
    pass->result->documents += (uint64_t)reaping->gone.first;
    pass->result->bytes += (uint64_t)reaping->gone.second;
    pass->result->reaped += (uint64_t)reaping->gone.first;
    return STATUS_OK;
}

static status remove_candidates(struct walk *walk)
{
    struct engine *engine = walk->pass->engine;
    struct reaping reaping = { .walk = walk };
    struct latch_set latches;

    if (walk->count == 0)
        return STATUS_OK;
    TRY(latch_candidates(walk, &latches));
    gate_enter(&walk->collection->state->gate);
    latch_set_take(&engine->latches, &latches);
    status s = remove_latched(walk, &reaping);
    latch_set_give(&engine->latches, &latches);
    gate_leave(&walk->collection->state->gate);
    return s;
}

/* ---- a visit -------------------------------------------------------------------------------------- */

static status walk_all(struct walk *walk)
{
    struct arena *arena = walk->pass->arena;
    uint8_t position[ROW_SLOT_BYTES];

    while (!walk->is_finished) {
        arena_position mark = arena_mark(arena);
        walk->count = 0;
        purge_yield(walk->pass);
        status s = ARENA_NEW(arena, LIMIT_BACKGROUND_BATCH, &walk->candidates);
        if (s.code == OK)
            s = find_page(walk);
        if (s.code == OK)
            s = remove_candidates(walk);
        if (walk->after.len == sizeof(position))
            memcpy(position, walk->after.data, sizeof(position));
        walk->after = bytes_of(position, walk->after.len);
        arena_release(arena, mark);
        TRY(s);
    }
    return STATUS_OK;
}

static bool is_needed(struct purge_pass *pass, const struct collection *collection)
{
    if (!collection->is_mixed && !collection->needs_clean_up)
        return false;
    if (pass->is_eager || expiry_is_due(collection->state->next_walk_at, pass->cutoff))
        return true;
    pass->look_again_at = expiry_earlier(pass->look_again_at, collection->state->next_walk_at);
    return false;
}

/* True if every row whose body is gone has left; not so while somebody looks at an older picture. */
static status sweep_rows(struct purge_pass *pass, const struct collection *collection, bool *out)
{
    struct engine *engine = pass->engine;
    uint64_t idle_count = atomic_load(&engine->sweep->idle_count);

    *out = false;
    TRY(storage_sweep(engine->storage, collection->state->partition, BYTES_NONE, BYTES_NONE));
    *out = atomic_load(&engine->sweep->idle_count) == idle_count;
    return STATUS_OK;
}

status reaper_visit(struct purge_pass *pass, struct request *request,
                    const struct collection *collection)
{
    struct walk walk = { .pass = pass,
                         .request = request,
                         .collection = collection,
                         .is_pure = true,
                         .next_foreign_end = TIME_NEVER };

    bool is_swept = true;

    if (!is_needed(pass, collection))
        return STATUS_OK;
    atomic_store(&pass->engine->purger.collection_id, collection->id);
    collection->state->next_walk_at = pass->cutoff + WALK_PAUSE_MS;
    TRY(walk_all(&walk));
    if (walk.next_foreign_end != TIME_NEVER)
        collection->state->next_walk_at = expiry_later(collection->state->next_walk_at,
                                                       walk.next_foreign_end);
    if (!collection->needs_clean_up && !walk.is_pure)
        return STATUS_OK;
    /* Horizons keep the dead dead: they go only when no row of theirs is left. */
    if (collection->needs_clean_up)
        TRY(sweep_rows(pass, collection, &is_swept));
    if (!is_swept)
        return STATUS_OK;
    return collection_finish_clean_up(pass->engine, pass->arena, collection->id,
                                      collection->version, walk.is_pure);
}
