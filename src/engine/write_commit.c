/* Write, commit part: runs on the committing thread.
 *
 * The stamp gives every operation its sequence number, the documents their time of writing, and
 * appends the final rows: body in its slot, locator, index rows; what an old version leaves behind is
 * deleted in the same commit, and the counters of both lanes move with it. Nothing is allocated here
 * except room in the group's list of counters, before the first row.
 *
 * When the group is durable (or has failed), latches and gates are given back and the owner is told.
 * Keeps: no waiting, no locks but the latches' own. */
#include "engine/lane.h"
#include "engine/write.h"

static int64_t written_at(const struct write_op *op, int64_t now_s)
{
    return op->stamp_s > 0 && op->stamp_s < now_s ? op->stamp_s : now_s;
}

void write_assign(struct write *write, uint64_t *seq, int64_t now_s)
{
    for (size_t i = 0; i < write->op_count; i++) {
        struct document_change *change = write->steps[i].change;
        if (!change)
            continue;
        write->ops[i].seq = ++*seq;
        write->ops[i].written_at_s = written_at(&write->ops[i], now_s);
        change->fresh.seq = *seq;
        change->fresh.written_at_s = write->ops[i].written_at_s;
        if (write->steps[i].is_birth)
            change->birth_seq = *seq;
        write->ops[i].birth_seq = change->birth_seq;
    }
}

static void assign(struct write *write, int64_t now_s)
{
    struct engine *engine = write->request->engine;
    uint64_t seq = atomic_load_explicit(&engine->assigned_seq, memory_order_relaxed);

    write_assign(write, &seq, now_s);
    atomic_store_explicit(&engine->assigned_seq, seq, memory_order_release);
}

static bool is_kept(const struct document_change *change, const struct index_entry *old, size_t *at)
{
    /* Both lists are sorted; `at` moves through the new one. */
    while (*at < change->entries.count) {
        const struct index_entry *entry = &change->entries.items[*at];
        if (entry->index_id == old->index_id && bytes_equal(entry->values, old->values))
            return true;
        bool is_before = entry->index_id != old->index_id
                             ? entry->index_id < old->index_id
                             : bytes_compare(entry->values, old->values) < 0;
        if (!is_before)
            return false;
        ++*at;
    }
    return false;
}

/* A dead document may have been cut off since this write looked: then it is counted out already. */
static bool was_cut_since(struct engine *engine, const struct document_change *change)
{
    struct storage_value pin;
    struct row_body body;

    if (change->old_verdict != DEAD ||
        change->old_cuts == atomic_load(&change->state->lanes[change->old.lane].cuts))
        return false;
    if (collection_is_cut(change->state, &change->old))
        return true;
    if (body_read(engine->storage, NULL, change->state->partition, &change->old, &pin, &body)
            .code != OK)
        return true;
    storage_value_release(engine->storage, &pin);
    return false;
}

static void remove_old_rows(struct storage *storage, struct storage_batch *batch,
                            const struct document_change *change)
{
    struct row_address rows = address(change->state->partition, SPACE_ROWS);
    size_t at = 0;

    for (size_t i = 0; i < change->old_entries.count; i++) {
        if (!change->has_new || !is_kept(change, &change->old_entries.items[i], &at))
            storage_delete(storage, batch, rows, change->old_keys[i]);
    }
    if (!change->has_new)
        storage_delete(storage, batch, rows, change->locator_key);
}

static void remove_old_body(struct storage *storage, struct storage_batch *batch,
                            const struct document_change *change)
{
    struct row_address bodies = address(change->state->partition, SPACE_BODIES);
    uint8_t slot[ROW_SLOT_BYTES];

    row_key_slot(slot, change->old.lane, expiry_order(&change->old), change->old.seq);
    storage_delete(storage, batch, bodies, bytes_of(slot, sizeof(slot)));
}

static void remove_old(struct engine *engine, struct storage_batch *batch,
                       const struct document_change *change)
{
    remove_old_rows(engine->storage, batch, change);
    if (!change->has_new)
        hints_forget(engine->hints, change->hash);
    if (was_cut_since(engine, change))
        return;
    remove_old_body(engine->storage, batch, change);
    group_note(engine, change->state, &change->old, -1);
}

/* Of an index_progress: for ever no index is known to be without a mark. */
#define MANY_MAY_COME UINT64_MAX

/* From now on the index is known to have documents with several entries. */
static void put_many(struct storage *storage, struct storage_batch *batch,
                     struct collection_state *state, uint32_t index_id)
{
    uint8_t key[ROW_MANY_BYTES];

    atomic_store(&state->progress[index_id % LIMIT_INDEXES].without_many, MANY_MAY_COME);
    row_key_many(key, index_id);
    storage_put(storage, batch, address(state->partition, SPACE_META), bytes_of(key, sizeof(key)),
                BYTES_LITERAL("m"));
}

void index_put_rows(struct storage *storage, struct storage_batch *batch,
                    struct collection_state *state, const struct stamp *stamp,
                    const struct index_entries *entries, const bytes *keys)
{
    uint8_t value[ROW_STAMP_BYTES_MAX + 2];
    size_t stamp_len = row_stamp_len(stamp);

    row_write_stamp(value, stamp);
    for (size_t i = 0; i < entries->count; i++) {
        bool is_first = i == 0 || entries->items[i - 1].index_id != entries->items[i].index_id;
        if (entries->items[i].is_of_many && is_first)
            put_many(storage, batch, state, entries->items[i].index_id);
        row_put_number(value + stamp_len, entries->items[i].values.len, 2);
        storage_put(storage, batch, address(state->partition, SPACE_ROWS), keys[i],
                    bytes_of(value, stamp_len + 2));
    }
}

void write_put_rows(struct storage *storage, struct storage_batch *batch,
                    const struct written_document *document)
{
    const struct stamp *stamp = document->stamp;
    struct row_address rows = address(document->state->partition, SPACE_ROWS);
    struct row_address bodies = address(document->state->partition, SPACE_BODIES);
    uint8_t value[ROW_STAMP_BYTES_MAX + 8];
    uint8_t slot[ROW_SLOT_BYTES];
    size_t stamp_len = row_stamp_len(stamp);

    row_write_body_head(document->body_value, stamp, document->birth_seq,
                        bytes_from(document->locator_key, 1));
    row_key_slot(slot, stamp->lane, expiry_order(stamp), stamp->seq);
    storage_put(storage, batch, bodies, bytes_of(slot, sizeof(slot)),
                bytes_of(document->body_value, document->body_value_len));
    row_write_stamp(value, stamp);
    row_put_number(value + stamp_len, document->birth_seq, 8);
    storage_put(storage, batch, rows, document->locator_key, bytes_of(value, stamp_len + 8));
    index_put_rows(storage, batch, document->state, stamp, document->entries, document->index_keys);
}

/* Lazy indexes hear of the document later. */
static void put_backlog(struct engine *engine, struct storage_batch *batch,
                        const struct document_change *change)
{
    for (size_t i = 0; i < change->backlog_count; i++) {
        bytes key = change->backlog_keys[i];
        row_set_backlog_seq((uint8_t *)(uintptr_t)key.data, change->fresh.seq);
        storage_put(engine->storage, batch, address(change->state->partition, SPACE_ROWS), key,
                    BYTES_LITERAL("q"));
    }
}

/* Only now is the time of writing known, and with it the rule that ends the document first. */
static void put_document(struct storage *storage, struct storage_batch *batch,
                         struct document_change *change)
{
    struct written_document document = { .state = change->state,
                                         .stamp = &change->fresh,
                                         .birth_seq = change->birth_seq,
                                         .locator_key = change->locator_key,
                                         .entries = &change->entries,
                                         .index_keys = change->keys,
                                         .body_value = change->body_value,
                                         .body_value_len = change->body_value_len };

    change->fresh.lane = expiry_choose_lane(&change->collection->policy, &change->fresh);
    write_put_rows(storage, batch, &document);
}

void write_lay_rows(struct storage *storage, struct storage_batch *batch,
                    struct document_change *change)
{
    if (change->has_old) {
        remove_old_rows(storage, batch, change);
        remove_old_body(storage, batch, change);
    }
    if (change->has_new)
        put_document(storage, batch, change);
}

static void put_new(struct engine *engine, struct storage_batch *batch,
                    struct document_change *change)
{
    const struct expiry_policy *policy = &change->collection->policy;

    put_document(engine->storage, batch, change);
    hints_keep(engine->hints, change->hash, &change->fresh);
    group_note(engine, change->state, &change->fresh, 1);
    put_backlog(engine, batch, change);
    time_ms ends_at = expiry_lane_deadline(policy, change->fresh.lane,
                                           expiry_order(&change->fresh));
    engine->group.earliest_end = expiry_earlier(engine->group.earliest_end, ends_at);
}

/* A document may have died between the moment the write looked and this one; others may have seen it
 * dead, and dead is for ever. Replacing or deleting it then fails, an upsert begins a new life unless it
 * was for the version that died, and so does an insert behind a delete; from there on everything is as it
 * was planned. */
static bool has_died_since(struct engine *engine, const struct document_change *change, time_ms now)
{
    /* The old document is at hand wherever a TTL index may be younger than its stamp. */
    return change && change->has_old && change->old_verdict == ALIVE &&
           expiry_judge_document(&change->collection->policy, &change->old, change->old_document,
                                 engine->group_arena, now) == DEAD;
}

static bool begins_life(const struct write_op *op)
{
    return op->kind == WRITE_INSERT || (op->kind == WRITE_UPSERT && op->if_seq == 0);
}

static status late_death(const struct write_op *op)
{
    return status_of(op->kind == WRITE_UPSERT ? PRECONDITION : NOT_FOUND,
                     "the document expired while it was being written");
}

static status settle_late_deaths(struct write *write, time_ms now)
{
    for (size_t i = 0; i < write->op_count; i++) {
        struct document_change *change = write->steps[i].change;
        struct write_op *op = &write->ops[i];
        if (!has_died_since(write->request->engine, change, now) || change->is_reborn)
            continue;
        op->was_there = false;
        write->steps[i].is_birth = change->is_reborn = begins_life(op);
        if (change->is_reborn)
            continue;
        op->outcome = late_death(op);
        if (write->mode == WRITE_ALL_OR_NOTHING)
            return op->outcome;
        write->steps[i].change = NULL;
    }
    for (struct document_change *change = write->changes; change; change = change->next) {
        if (!change->is_touched || !has_died_since(write->request->engine, change, now))
            continue;
        change->old_verdict = DEAD;
        change->is_touched = change->is_reborn;
    }
    return STATUS_OK;
}

static void put_notes(struct write *write, struct storage_batch *batch)
{
    for (size_t i = 0; i < write->op_count; i++) {
        const struct step_of_write *step = &write->steps[i];
        if (step->change && step->note_key.len > 0)
            note_put(write->request->engine, batch, step->change->state, step->note_key,
                     write->ops[i].note->value);
    }
}

static status stamp(struct write *write, struct storage_batch *batch)
{
    struct engine *engine = write->request->engine;

    if (!group_reserve(engine, 2 * (write->op_count + write->leaving_count)))
        return status_of(OUT_OF_MEMORY, "the server has no memory to commit");
    time_ms now = clock_now(engine->options.clock);
    TRY(settle_late_deaths(write, now));
    assign(write, now / 1000);
    for (struct document_change *change = write->changes; change; change = change->next) {
        if (change->next)
            hints_fetch(engine->hints, change->next->hash);
        if (!change->is_touched)
            continue;
        if (change->arrival_key) {
            row_write_arrival(change->arrival_values, change->birth_seq);
            row_write_arrival(change->arrival_key, change->birth_seq);
        }
        if (change->has_old)
            remove_old(engine, batch, change);
        if (change->has_new)
            put_new(engine, batch, change);
    }
    put_notes(write, batch);
    return STATUS_OK;
}

status write_stamp(struct commit *commit, struct storage_batch *batch)
{
    struct write *write = commit->owner;
    struct write_train *train = write->request->train;

    if (train && train->is_refused)
        return status_of(OUT_OF_MEMORY, "an earlier part of the same command could not be written");
    const status s = stamp(write, batch);
    if (train && s.code != OK)
        train->is_refused = true;
    return s;
}

static void count_operations(struct write *write)
{
    struct metrics *metrics = write->request->engine->metrics;

    for (const struct document_change *change = write->changes; change; change = change->next) {
        if (change->is_displaced && change->is_touched) /* otherwise it has died before */
            metrics_add(metrics, METRIC_documents_displaced_total, 1);
    }
    for (size_t i = 0; i < write->op_count; i++) {
        const struct write_op *op = &write->ops[i];
        if (op->outcome.code != OK)
            continue;
        if (op->kind == WRITE_DELETE)
            metrics_add(metrics, METRIC_documents_deleted_total, 1);
        else if (op->was_there)
            metrics_add(metrics, METRIC_documents_replaced_total, 1);
        else
            metrics_add(metrics, METRIC_documents_inserted_total, 1);
    }
}

/* Dead documents whose place was taken leave here, not through the purger. */
static void tell_deaths(const struct write *write)
{
    for (const struct document_change *change = write->changes; change; change = change->next) {
        const struct death_subscription *deaths = atomic_load(&change->state->deaths);
        if (!deaths || !change->is_touched || !change->has_old || change->old_verdict != DEAD)
            continue;
        struct death death = { .collection = change->collection,
                               .stamp = &change->old,
                               .document = change->old_document };
        status s = document_key_split(change->collection, bytes_from(change->locator_key, 1),
                                      &death.key);
        if (s.code == OK)
            deaths->reader(deaths->context, &death);
    }
}

static void tell_arrivals(const struct write *write)
{
    struct engine *engine = write->request->engine;
    arrival_reader *reader = write->has_arrivals ? atomic_load(&engine->arrivals) : NULL;

    uint32_t told = 0;

    for (const struct document_change *change = write->changes; reader && change;
         change = change->next) {
        uint32_t id = change->collection->id;
        if (change->arrival_values && id != told)
            reader(atomic_load(&engine->arrivals_context), id);
        told = change->arrival_values ? id : told;
    }
}

static void note_backlogs(const struct write *write)
{
    for (const struct document_change *change = write->changes; change; change = change->next) {
        if (change->is_touched && change->has_new && change->backlog_count > 0)
            backlog_note(write->request->engine, change->collection);
    }
}

/* One operation failed all, as it does before the commit: only its outcome says so. */
static bool is_refused(const struct write *write)
{
    bool has_failed = false;

    for (size_t i = 0; i < write->op_count; i++)
        has_failed |= write->ops[i].outcome.code != OK;
    return has_failed && write->mode == WRITE_ALL_OR_NOTHING;
}

static void fail_operations(struct write *write, status outcome)
{
    for (size_t i = 0; i < write->op_count; i++) {
        if (write->ops[i].outcome.code == OK)
            write->ops[i].outcome = outcome;
    }
}

void write_finish(struct commit *commit, status outcome)
{
    struct write *write = commit->owner;
    write_done *done = write->done;
    void *context = write->context;

    if (outcome.code == OK) {
        tell_deaths(write);
        tell_arrivals(write);
        note_backlogs(write);
        count_operations(write);
    }
    if (outcome.code != OK && !is_refused(write))
        fail_operations(write, outcome);
    write_release(write);
    if (done)
        done(context, outcome);
}
