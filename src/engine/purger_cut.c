/* Purger, cut: takes everything below a horizon out of a lane, in one step.
 *
 * The counters of the dead seconds go, a mark says how far the lane was cut, and the bodies go in one of
 * two ways, all in one commit:
 *
 *   by range   one range tombstone over the whole dead stretch; nothing of it is left to be seen
 *   by mark    the bodies stay where they are, and whoever meets one knows by the mark that it is gone
 *
 * Then whole files inside the stretch are dropped. A tombstone is flushed together with the newest
 * bodies, into a file that reaches from the oldest to the newest of them, and merging that file rewrites all
 * that lies between. So a lane that goes on with plenty of living documents is cut by mark: its dead leave
 * as whole files, and what shares a file with the living stays until that file is rewritten (sweep.c) or until a later cut. The next cut by
 * range clears away what earlier ones by mark have left.
 *
 * Keeps: a lane is cut with the policy that is valid at that moment, or not at all; by mark only where
 * every document lies in the lane that ends it, so that the mark says it all.
 * Threads: inside a purger pass; the stamp and the file drop run on the committing thread, where nothing
 * else is in flight. Start reading at cut_lane(). */
#include "engine/purger_parts.h"

enum { DEATHS_AT_ONCE = 1000 };
/* Living bytes in a lane that make it worth leaving the dead to file drops: twice what the storage keeps in
 * memory. Documents that die before they reach a file are better deleted by range. */
enum { MARK_WORTH_BYTES = 64 * 1024 * 1024 };
/* The part of that which has to die in one cut to be worth looking for in fresh files; where as many are born as die, those
 * hold the living. */
enum { FRESH_SHARE = 4 };

struct cut {
    struct commit commit;
    struct engine *engine;
    struct arena *arena;
    const struct collection *collection;
    unsigned lane;
    time_ms upto;                   /* the last order to go */
    uint64_t seq;                   /* the last write that can be among them */
    struct storage_counters gone;   /* all of it */
    struct storage_counters border; /* the part of its last second */
    bytes start, end;               /* in SPACE_BODIES */
    bool is_by_mark;
    bool is_most;    /* of the lane goes */
    bool is_again;   /* files are dropped, even if nobody more is dead */
    bool may_remove; /* files: nothing lies in the range that was not counted out */
    status dropped;
};

/* Counters of whole seconds go; those of the second in which the horizon stands shrink. */
static status append_counters(struct cut *cut, struct storage_batch *batch)
{
    struct storage *storage = cut->engine->storage;
    struct row_address meta = address(cut->collection->state->partition, SPACE_META);
    struct buffer from = buffer_in(cut->arena), to = buffer_in(cut->arena);
    struct buffer border = buffer_in(cut->arena), total = buffer_in(cut->arena);
    int64_t last_s = expiry_last_dead_second(cut->lane, cut->upto);
    bytes first, last, border_key, total_key;

    row_key_slice(&from, cut->lane, INT64_MIN);
    row_key_slice(&to, cut->lane, last_s);
    buffer_append_byte(&to, 0x01);
    row_key_slice(&border, cut->lane, last_s + 1);
    row_key_total(&total, cut->lane);
    TRY(buffer_finish(&from, &first));
    TRY(buffer_finish(&to, &last));
    TRY(buffer_finish(&border, &border_key));
    TRY(buffer_finish(&total, &total_key));
    storage_delete_range(storage, batch, meta, first, last);
    if (cut->border.first > 0)
        storage_add(storage, batch, meta, border_key,
                    (struct storage_counters){ -cut->border.first, -cut->border.second });
    storage_add(storage, batch, meta, total_key,
                (struct storage_counters){ -cut->gone.first, -cut->gone.second });
    return STATUS_OK;
}

static bool reaches_furthest(const struct cut *cut)
{
    return cut->upto >= atomic_load(&cut->collection->state->lanes[cut->lane].cut_upto);
}

static uint64_t mark_worth(const struct engine *engine)
{
    if (engine->options.mark_worth_bytes > 0)
        return engine->options.mark_worth_bytes;
    return storage_capabilities(engine->storage) & STORAGE_HAS_RANGE_DROP ? MARK_WORTH_BYTES
                                                                          : UINT64_MAX;
}

/* The counters in memory are exact: nothing else is in flight. */
static bool may_go_by_mark(const struct cut *cut)
{
    const struct collection *collection = cut->collection;
    const struct lane_state *lane = &collection->state->lanes[cut->lane];

    return !collection->is_mixed && !collection->needs_clean_up && reaches_furthest(cut) &&
           !atomic_load(&collection->state->deaths) &&
           (uint64_t)(lane->bytes - cut->gone.second) >= mark_worth(cut->engine);
}

static bool may_be_fresh(const struct cut *cut)
{
    return cut->is_by_mark && cut->is_most &&
           (uint64_t)cut->gone.second >= mark_worth(cut->engine) / FRESH_SHARE;
}

static status append_cut(struct cut *cut, struct storage_batch *batch)
{
    struct storage *storage = cut->engine->storage;
    partition_id partition = cut->collection->state->partition;
    struct buffer mark = buffer_in(cut->arena), upto = buffer_in(cut->arena);
    bytes mark_key, mark_value;

    row_key_cut(&mark, cut->lane);
    buffer_append_u64(&upto, (uint64_t)cut->upto);
    buffer_append_u64(&upto, cut->seq);
    TRY(buffer_finish(&mark, &mark_key));
    TRY(buffer_finish(&upto, &mark_value));
    TRY(append_counters(cut, batch));
    if (!cut->is_by_mark)
        storage_delete_range(storage, batch, address(partition, SPACE_BODIES), cut->start,
                             cut->end);
    if (reaches_furthest(cut))
        storage_put(storage, batch, address(partition, SPACE_META), mark_key, mark_value);
    cut->engine->group.is_state_dirty = true;
    return STATUS_OK;
}

/* Alone on the committing thread: the counters are exact and the policy cannot change under it. */
static status cut_stamp(struct commit *commit, struct storage_batch *batch)
{
    struct cut *cut = commit->owner;
    struct collection_state *state = cut->collection->state;

    cut->gone = cut->border = (struct storage_counters){ 0 };
    cut->seq = atomic_load(&cut->engine->assigned_seq);
    cut->may_remove = false;
    if (atomic_load(&state->current) != cut->collection ||
        atomic_load(&cut->collection->settled_at) != COLLECTION_SETTLED_NEVER ||
        atomic_load(&state->is_dropped))
        return STATUS_OK;
    TRY(lane_sum(cut->engine, cut->arena, state, cut->lane, INT64_MIN,
                 expiry_last_dead_second(cut->lane, cut->upto), &cut->gone));
    TRY(lane_border(cut->engine, NULL, cut->arena, cut->collection, cut->lane, cut->upto,
                    &cut->border));
    cut->gone.first += cut->border.first;
    cut->gone.second += cut->border.second;
    cut->is_by_mark = may_go_by_mark(cut);
    cut->is_most = 2 * cut->gone.second >= state->lanes[cut->lane].bytes;
    cut->may_remove = cut->gone.first > 0 || cut->is_again;
    return cut->gone.first > 0 ? append_cut(cut, batch) : STATUS_OK;
}

static void forget(struct cut *cut)
{
    if (cut->is_by_mark)
        atomic_store(&cut->collection->state->has_leftovers, true);
    /* Before anybody can sweep them, and count them down. */
    atomic_fetch_add(&cut->collection->state->garbage_rows,
                     (uint64_t)cut->gone.first * (1 + cut->collection->index_count));
    lane_forget_cut(cut->engine, cut->collection->state, cut->lane, cut->upto, cut->seq, cut->gone);
}

/* On the committing thread too, so that no write sees a lane half cut. */
static void cut_done(struct commit *commit, status outcome)
{
    struct cut *cut = commit->owner;

    cut->dropped = STATUS_OK;
    if (outcome.code != OK || !cut->may_remove)
        return;
    if (cut->gone.first > 0)
        forget(cut);
    /* Here, while nothing later can have been written: a file drop does not ask how old a row is. */
    cut->dropped = storage_drop_range(cut->engine->storage,
                                      address(cut->collection->state->partition, SPACE_BODIES),
                                      cut->start, cut->end);
}

static status cut_now(struct purge_pass *pass, struct cut *cut)
{
    cut->commit =
        (struct commit){ .stamp = cut_stamp, .done = cut_done, .owner = cut, .is_barrier = true };
    TRY(commit_and_wait(cut->engine->queue, &cut->commit));
    if (cut->gone.first == 0)
        return cut->dropped;
    purge_count(pass, cut->collection, cut->gone);
    metrics_add(cut->engine->metrics, METRIC_purge_truncations_total, 1);
    pass->result->truncations++;
    return cut->dropped;
}

/* And whatever has come from there into files that can be dropped. */
static status cut_fresh(struct purge_pass *pass, struct cut *cut)
{
    bool has_rest;

    TRY(storage_drop_fresh(cut->engine->storage,
                           address(cut->collection->state->partition, SPACE_BODIES), cut->start,
                           cut->end, &has_rest));
    cut->is_again = true;
    return has_rest ? cut_now(pass, cut) : STATUS_OK;
}

status cut_lane(struct purge_pass *pass, const struct collection *collection, unsigned lane,
                time_ms upto)
{
    struct cut cut = { .engine = pass->engine,
                       .arena = pass->arena,
                       .collection = collection,
                       .lane = lane,
                       .upto = upto };
    struct buffer start = buffer_in(pass->arena), end = buffer_in(pass->arena);

    row_key_lane(&start, lane);
    row_key_lane_from(&end, lane, int64_add_saturating(upto, 1));
    TRY(buffer_finish(&start, &cut.start));
    TRY(buffer_finish(&end, &cut.end));
    TRY(cut_now(pass, &cut));
    return may_be_fresh(&cut) ? cut_fresh(pass, &cut) : STATUS_OK;
}

/* ---- readers of deaths ---------------------------------------------------------------------------- */

static status tell_deaths(struct purge_pass *pass, const struct collection *collection,
                          unsigned lane, time_ms upto)
{
    const struct death_subscription *deaths = atomic_load(&collection->state->deaths);
    struct buffer start = buffer_in(pass->arena), end = buffer_in(pass->arena);
    struct storage_range range = { 0 };
    struct storage_scan *scan;
    bytes key, value;
    status s = STATUS_OK;

    row_key_lane(&start, lane);
    row_key_lane_from(&end, lane, int64_add_saturating(upto, 1));
    TRY(buffer_finish(&start, &range.start));
    TRY(buffer_finish(&end, &range.end));
    TRY(storage_scan_open(pass->engine->storage, NULL,
                          address(collection->state->partition, SPACE_BODIES), &range, &scan));
    while (s.code == OK && storage_scan_next(scan, &key, &value)) {
        struct row_body body;
        struct death death = { .collection = collection };
        if (!row_read_body(value, &body))
            s = status_of(CORRUPT, "a stored document is damaged");
        else if (collection_is_cut(collection->state, &body.stamp))
            continue;
        else
            s = document_key_split(collection, body.key, &death.key);
        death.stamp = &body.stamp;
        death.document = body.document;
        if (s.code == OK)
            deaths->reader(deaths->context, &death);
    }
    if (s.code == OK)
        s = storage_scan_status(scan);
    storage_scan_close(scan);
    return s;
}

/* The order up to which about DEATHS_AT_ONCE documents lie, whole seconds at a time. */
static status bite(struct purge_pass *pass, const struct collection *collection, unsigned lane,
                   time_ms upto, time_ms *bite_upto, bool *has_any)
{
    struct storage_scan *scan;
    struct storage_counters slice;
    int64_t second, documents = 0;

    *has_any = false;
    TRY(slices_open(pass->engine, pass->arena, collection->state, lane, INT64_MIN,
                    expiry_second_of(upto), &scan));
    while (documents < DEATHS_AT_ONCE && slices_next(scan, &second, &slice)) {
        *bite_upto = second == expiry_second_of(upto) ? upto : row_second_end(second);
        *has_any = true;
        documents += slice.first;
    }
    status s = storage_scan_status(scan);
    storage_scan_close(scan);
    return s;
}

/* With a reader, nobody may take the place of a dead document between telling and cutting. */
status cut_lane_telling(struct purge_pass *pass, const struct collection *collection, unsigned lane,
                        time_ms upto)
{
    struct collection_state *state = collection->state;
    bool has_more = true;
    time_ms bite_upto = upto;
    status s = STATUS_OK;

    while (s.code == OK && has_more) {
        gate_close(&state->gate);
        has_more = atomic_load(&state->current) == collection;
        if (has_more)
            s = bite(pass, collection, lane, upto, &bite_upto, &has_more);
        if (s.code == OK && has_more)
            s = tell_deaths(pass, collection, lane, bite_upto);
        if (s.code == OK && has_more)
            s = cut_lane(pass, collection, lane, bite_upto);
        gate_open(&state->gate);
        has_more = has_more && bite_upto != upto;
    }
    return s;
}
