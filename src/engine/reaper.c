/* Reaper: puts a collection in order after a change of policy.
 *
 * Documents may then lie in a lane whose rule is not the one that ends them: written before a TTL index
 * existed, or placed by a rule that has been changed or dropped since. The reaper walks the bodies of
 * such a collection and judges each with the document at hand. The dead are removed, one by one because
 * their lane cannot be cut; the living that another rule will end are moved into that rule's lane, with
 * their dates in the stamp, so that from then on they are counted and cut like all others. After a walk
 * the collection is pure again. Stored horizons and retired rules are forgotten once everything they had
 * ended is gone, rows included (reaper_rows.c).
 *
 * Keeps: each document is judged again, under its latch and with the newest policy, before it goes or
 * moves; all its rows change in one commit; its version and time of writing stay.
 * Runs inside a purger pass. Start reading at reaper_visit(). */
#include "engine/index.h"
#include "engine/purger_parts.h"

#include <inttypes.h>

enum { WALK_PAUSE_MS = 60000, PAGE_BYTES = 8 * 1024 * 1024 };
enum { PAGE_MEMORY_BYTES = 64 * 1024 * 1024 };

/* A document found by the walk that has to go or to move. */
struct candidate {
    struct stamp stamp;
    bytes key; /* joined document key */
    bytes locator_key;
    /* filled in when it is judged again */
    bool is_leftover; /* cut off by mark: only its body is left */
    bool is_dead;
    bool is_moving;
    bool owns_rows; /* its locator is still its own */
    bytes document;
    uint64_t birth_seq;
    struct stamp fresh;  /* of a moving one */
    uint8_t *body_value; /* of a moving one */
    size_t body_value_len;
    struct index_entries entries;
    bytes *index_keys;
};

struct walk {
    struct purge_pass *pass;
    struct request *request;
    const struct collection *collection;
    struct page_walk pages;
    struct candidate *candidates;
    size_t count;
    size_t size; /* bytes of the candidates' documents */
};

/* ---- finding -------------------------------------------------------------------------------------- */

static status keep_candidate(struct walk *walk, const struct row_body *body)
{
    struct candidate *candidate = &walk->candidates[walk->count++];

    candidate->stamp = body->stamp;
    walk->size += body->document.len;
    TRY(arena_copy(walk->pass->arena, body->stamp.dates, &candidate->stamp.dates));
    return arena_copy(walk->pass->arena, body->key, &candidate->key);
}

static status look_at(void *owner, bytes key, bytes value)
{
    struct walk *walk = owner;
    const struct expiry_policy *policy = &walk->collection->policy;
    struct arena *arena = walk->pass->arena;
    struct row_body body;

    (void)key;
    if (!row_read_body(value, &body))
        return status_of(CORRUPT, "a stored document is damaged");
    /* What was cut off goes, whatever the policy says of it now. */
    if (collection_is_cut(walk->collection->state, &body.stamp))
        return keep_candidate(walk, &body);
    bool is_dead = expiry_judge_document(policy, &body.stamp, body.document, arena,
                                         walk->pass->cutoff) == DEAD;
    if (is_dead || expiry_is_foreign(policy, &body.stamp, body.document, arena) ||
        expiry_is_older_than_a_rule(policy, &body.stamp))
        return keep_candidate(walk, &body);
    return STATUS_OK;
}

static bool is_page_full(const void *owner)
{
    const struct walk *walk = owner;

    return walk->count >= LIMIT_BACKGROUND_BATCH || walk->size >= PAGE_BYTES;
}

static status begin_page(void *owner)
{
    struct walk *walk = owner;

    walk->count = walk->size = 0;
    return ARENA_NEW(walk->pass->arena, LIMIT_BACKGROUND_BATCH, &walk->candidates);
}

/* ---- judging again, under the latch --------------------------------------------------------------- */

static status collect_rows(struct walk *walk, const struct collection *collection,
                           struct candidate *candidate)
{
    struct arena *arena = walk->pass->arena;

    struct indexed_document document = { .collection = collection,
                                         .key = candidate->key,
                                         .bson = candidate->document,
                                         .birth_seq = candidate->birth_seq };
    TRY(index_collect_all(walk->pass->engine, arena, &document, &candidate->entries));
    return index_row_keys(arena, &candidate->entries, candidate->key, &candidate->index_keys);
}

static status lay_out_body(struct walk *walk, struct candidate *candidate)
{
    size_t head_len = row_body_head_len(&candidate->fresh, candidate->key.len);
    void *value;

    candidate->body_value_len = head_len + candidate->document.len;
    TRY(arena_take(walk->pass->arena, candidate->body_value_len, &value));
    memcpy((uint8_t *)value + head_len, candidate->document.data, candidate->document.len);
    candidate->body_value = value;
    return STATUS_OK;
}

/* The stamp it would have if it were written under today's policy, at the time it was written. */
static status restamp(struct walk *walk, const struct collection *collection,
                      struct candidate *candidate)
{
    candidate->fresh = candidate->stamp;
    TRY(index_pack_dates(walk->pass->arena, collection, &candidate->entries, candidate->document,
                         &candidate->fresh.dates));
    candidate->fresh.lane = expiry_choose_lane(&collection->policy, &candidate->fresh);
    candidate->is_moving = candidate->fresh.lane != candidate->stamp.lane ||
                           !bytes_equal(candidate->fresh.dates, candidate->stamp.dates);
    return candidate->is_moving ? lay_out_body(walk, candidate) : STATUS_OK;
}

static status judge_again(struct walk *walk, const struct collection *collection,
                          struct candidate *candidate)
{
    struct engine *engine = walk->pass->engine;
    struct arena *arena = walk->pass->arena;
    struct storage_value pin;
    struct row_body body;
    struct stamp current;
    bool is_there;

    status s = body_read(engine->storage, NULL, collection->state->partition, &candidate->stamp,
                         &pin, &body);
    if (s.code == NOT_FOUND)
        return STATUS_OK;
    TRY(s);
    candidate->is_leftover = collection_is_cut(collection->state, &body.stamp);
    candidate->is_dead = candidate->is_leftover ||
                         expiry_judge_document(&collection->policy, &body.stamp, body.document,
                                               arena, walk->pass->cutoff) == DEAD;
    if (candidate->is_leftover) {
        storage_value_release(engine->storage, &pin);
        return STATUS_OK;
    }
    s = arena_copy(arena, body.document, &candidate->document);
    storage_value_release(engine->storage, &pin);
    TRY(s);
    TRY(document_locate(walk->request, NULL, collection, candidate->locator_key, &current,
                        &candidate->birth_seq, &is_there));
    candidate->owns_rows = is_there && current.seq == candidate->stamp.seq;
    if (!candidate->owns_rows)
        return STATUS_OK;
    TRY(collect_rows(walk, collection, candidate));
    return candidate->is_dead ? STATUS_OK : restamp(walk, collection, candidate);
}

/* As many as memory allows; the walk goes on behind the last of them. */
static status judge_page(struct walk *walk, const struct collection *collection)
{
    size_t used = arena_used_bytes(walk->pass->arena);

    for (size_t i = 0; i < walk->count; i++) {
        struct candidate *candidate = &walk->candidates[i];
        TRY(judge_again(walk, collection, candidate));
        if (arena_used_bytes(walk->pass->arena) - used < PAGE_MEMORY_BYTES || i + 1 == walk->count)
            continue;
        uint8_t slot[ROW_SLOT_BYTES];
        row_key_slot(slot, candidate->stamp.lane, expiry_order(&candidate->stamp),
                     candidate->stamp.seq);
        page_go_on_behind(&walk->pages, bytes_of(slot, sizeof(slot)));
        walk->count = i + 1;
    }
    return STATUS_OK;
}

/* ---- the commit ----------------------------------------------------------------------------------- */

struct reaping {
    struct commit commit;
    struct walk *walk;
    const struct collection *collection; /* newest, and the walk's */
    struct storage_counters gone;
};

static void delete_slot(struct reaping *reaping, struct storage_batch *batch,
                        const struct stamp *stamp)
{
    struct engine *engine = reaping->walk->pass->engine;
    uint8_t slot[ROW_SLOT_BYTES];

    row_key_slot(slot, stamp->lane, expiry_order(stamp), stamp->seq);
    storage_delete(engine->storage, batch,
                   address(reaping->collection->state->partition, SPACE_BODIES),
                   bytes_of(slot, sizeof(slot)));
}

static void append_removal(struct reaping *reaping, struct storage_batch *batch,
                           const struct candidate *candidate)
{
    struct storage *storage = reaping->walk->pass->engine->storage;
    struct row_address rows = address(reaping->collection->state->partition, SPACE_ROWS);

    delete_slot(reaping, batch, &candidate->stamp);
    if (candidate->is_leftover)
        return;
    group_note(reaping->walk->pass->engine, reaping->collection->state, &candidate->stamp, -1);
    if (candidate->owns_rows)
        storage_delete(storage, batch, rows, candidate->locator_key);
    for (size_t i = 0; i < candidate->entries.count; i++)
        storage_delete(storage, batch, rows, candidate->index_keys[i]);
    reaping->gone.first++;
    reaping->gone.second += candidate->stamp.body_len;
}

static void append_move(struct reaping *reaping, struct storage_batch *batch,
                        const struct candidate *candidate)
{
    struct written_document moved = { .state = reaping->collection->state,
                                      .stamp = &candidate->fresh,
                                      .birth_seq = candidate->birth_seq,
                                      .locator_key = candidate->locator_key,
                                      .entries = &candidate->entries,
                                      .index_keys = candidate->index_keys,
                                      .body_value = candidate->body_value,
                                      .body_value_len = candidate->body_value_len };

    delete_slot(reaping, batch, &candidate->stamp);
    group_note(reaping->walk->pass->engine, reaping->collection->state, &candidate->stamp, -1);
    write_put_rows(reaping->walk->pass->engine->storage, batch, &moved);
    group_note(reaping->walk->pass->engine, reaping->collection->state, &candidate->fresh, 1);
}

static status reaping_stamp(struct commit *commit, struct storage_batch *batch)
{
    struct reaping *reaping = commit->owner;
    struct walk *walk = reaping->walk;

    if (!group_reserve(walk->pass->engine, 2 * walk->count))
        return status_of(OUT_OF_MEMORY, "the server has no memory to commit");
    for (size_t i = 0; i < walk->count; i++) {
        const struct candidate *candidate = &walk->candidates[i];
        if (candidate->is_dead)
            append_removal(reaping, batch, candidate);
        else if (candidate->is_moving)
            append_move(reaping, batch, candidate);
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
        if (candidate->is_dead && !candidate->is_leftover &&
            document_key_split(reaping->collection, candidate->key, &death.key).code == OK)
            deaths->reader(deaths->context, &death);
    }
}

static status latch_candidates(struct walk *walk, struct latch_set *out)
{
    struct arena *arena = walk->pass->arena;

    *out = (struct latch_set){ 0 };
    TRY(ARENA_NEW(arena, walk->count, &out->items));
    for (size_t i = 0; i < walk->count; i++) {
        struct candidate *candidate = &walk->candidates[i];
        struct buffer key = buffer_in(arena);
        row_key_locator(&key, (struct document_key){ .id = candidate->key });
        TRY(buffer_finish(&key, &candidate->locator_key));
        latch_set_add(out,
                      latch_hash_of_document(walk->collection->state->id, candidate->locator_key));
    }
    latch_set_sort(out);
    return STATUS_OK;
}

static void count_reaped(struct purge_pass *pass, const struct collection *collection,
                         struct storage_counters gone)
{
    purge_count(pass, collection, gone);
    metrics_add(pass->engine->metrics, METRIC_purge_reaped_total, (uint64_t)gone.first);
    pass->result->reaped += (uint64_t)gone.first;
}

static status change_latched(struct walk *walk, struct reaping *reaping)
{
    struct purge_pass *pass = walk->pass;
    struct collection_state *state = walk->collection->state;

    reaping->collection = atomic_load(&state->current);
    /* Under a newer policy this pass does not know who still looks at the older one. */
    if (atomic_load(&state->is_dropped) || reaping->collection != walk->collection) {
        walk->pages.is_finished = true;
        return STATUS_OK;
    }
    TRY(judge_page(walk, reaping->collection));
    reaping->commit =
        (struct commit){ .stamp = reaping_stamp, .done = reaping_done, .owner = reaping };
    TRY(commit_and_wait(pass->engine->queue, &reaping->commit));
    count_reaped(pass, reaping->collection, reaping->gone);
    return STATUS_OK;
}

static status change_candidates(void *owner)
{
    struct walk *walk = owner;
    struct engine *engine = walk->pass->engine;
    struct reaping reaping = { .walk = walk };
    struct latch_set latches;

    if (walk->count == 0)
        return STATUS_OK;
    TRY(latch_candidates(walk, &latches));
    gate_enter(&walk->collection->state->gate);
    latch_set_take(&engine->latches, &latches);
    status s = change_latched(walk, &reaping);
    latch_set_give(&engine->latches, &latches);
    gate_leave(&walk->collection->state->gate);
    return s;
}

/* ---- a visit -------------------------------------------------------------------------------------- */

static bool is_needed(struct purge_pass *pass, const struct collection *collection)
{
    if (!collection->is_mixed && !collection->needs_clean_up)
        return false;
    if (pass->is_eager || expiry_is_due(collection->state->next_walk_at, pass->cutoff))
        return true;
    pass->look_again_at = expiry_earlier(pass->look_again_at, collection->state->next_walk_at);
    return false;
}

status reaper_visit(struct purge_pass *pass, struct request *request,
                    const struct collection *collection)
{
    struct walk walk = { .pass = pass, .request = request, .collection = collection };
    walk.pages = (struct page_walk){ .where = address(collection->state->partition, SPACE_BODIES),
                                     .owner = &walk,
                                     .begin = begin_page,
                                     .look = look_at,
                                     .is_full = is_page_full,
                                     .act = change_candidates };

    if (!is_needed(pass, collection))
        return STATUS_OK;
    atomic_store(&pass->engine->purger.collection_id, collection->id);
    collection->state->next_walk_at = pass->cutoff + WALK_PAUSE_MS;
    TRY(page_walk(pass, &walk.pages));
    /* Horizons keep the dead dead: they go only when no row of theirs is left. */
    if (collection->needs_clean_up)
        TRY(reaper_clean_rows(pass, collection));
    return collection_finish_clean_up(pass->engine, pass->arena, collection->id,
                                      collection->version);
}
