/* Purger: gives back the space of documents whose time is over.
 *
 * Works in passes. For every lane with dead seconds, everything below its horizon leaves in one step
 * (purger_cut.c). When a whole collection is empty, all its rows go by one range tombstone; otherwise
 * locators and index rows leave through the sweeper. Documents that another rule than their lane's has ended are removed by the reaper.
 *
 * Keeps: never removes what a running request may still see, by its `now` or by an older picture of the
 * catalog; never removes anything while a clock leap
 * waits to be confirmed; a lane is cut with the policy that is valid at that moment, or not at all.
 * Threads: one pass at a time (pass_lock), on the purger's own thread or the caller's. Holds no lock
 * between lanes. Start reading at engine_purge(). */
#include "engine/purger_parts.h"

#include <inttypes.h>

/* A cut waits until it is worth a tombstone, or has waited long enough. */
enum { CUT_WORTH_BYTES = 1024 * 1024, CUT_LINGER_MS = 10000 };
enum { SWEEP_WORTH_ROWS = 100000, SETTLE_PAUSE_MS = 30000, CLEAR_AGAIN_MS = 1000 };
enum { TRIM_PAUSE_MS = 20000, TEND_PAUSE_MS = 1000, HELD_AGAIN_MS = 1000 };
/* So many bytes that die so soon are worth waiting for with a trim, for so long at the most. */
enum { SOON_WORTH_BYTES = 16 * 1024 * 1024, SOON_MS = 2000, TRIM_LATE_MS = 5000 };
/* Between two passes in any case: what is due but held back by a long request is not asked for all the time. */
enum { PAUSE_MS_MIN = 50 };
enum { YIELD_MS = 20, YIELD_MOST = 50, BUSY_REQUESTS = 8, CUT_EVERY_MS = 5000 };

/* ---- figures ---------------------------------------------------------------------------------------- */

void purge_count(struct purge_pass *pass, const struct collection *collection,
                 struct storage_counters gone)
{
    struct collection_state *state = collection->state;

    atomic_fetch_add(&state->purged_documents, (uint64_t)gone.first);
    atomic_fetch_add(&state->purged_bytes, (uint64_t)gone.second);
    metrics_add(pass->engine->metrics, METRIC_purge_documents_total, (uint64_t)gone.first);
    metrics_add(pass->engine->metrics, METRIC_purge_bytes_total, (uint64_t)gone.second);
    metrics_add(pass->engine->metrics, METRIC_purge_keys_total,
                (uint64_t)gone.first * (1 + collection->index_count));
    pass->result->documents += (uint64_t)gone.first;
    pass->result->bytes += (uint64_t)gone.second;
    purge_history_note(pass->engine, state->id, (uint64_t)gone.first, (uint64_t)gone.second);
}

/* ---- a collection --------------------------------------------------------------------------------- */

/* When to look for those of this second, which is the lane's first: many at once as soon as all of them are dead, because until they are cut
 * whatever is written to files takes them along. */
static status when_worth(struct purge_pass *pass, const struct collection *collection,
                         unsigned lane, int64_t second, time_ms *out)
{
    const struct expiry_policy *policy = &collection->policy;
    struct storage_counters dying;

    TRY(lane_sum(pass->engine, pass->arena, collection->state, lane, second, second, &dying));
    *out = dying.second >= SOON_WORTH_BYTES
               ? expiry_lane_deadline(policy, lane, row_second_end(second))
               : int64_add_saturating(expiry_lane_deadline(policy, lane, row_second_start(second)),
                                      CUT_LINGER_MS);
    return STATUS_OK;
}

/* Whether a cut is due now; otherwise notes when to look again. */
static status is_worth_cutting(struct purge_pass *pass, const struct collection *collection,
                               unsigned lane, time_ms upto, bool *out)
{
    int64_t upto_s = upto == INT64_MIN ? INT64_MIN : expiry_second_of(upto);
    struct storage_counters dead;
    int64_t first_s;
    time_ms due_at;

    status s = lane_first_second(pass->engine, pass->arena, collection->state, lane, &first_s);
    *out = false;
    if (s.code == NOT_FOUND)
        return STATUS_OK;
    TRY(s);
    TRY(when_worth(pass, collection, lane, first_s, &due_at));
    if (first_s > upto_s) {
        pass->look_again_at = expiry_earlier(pass->look_again_at, due_at);
        return STATUS_OK;
    }
    TRY(lane_sum(pass->engine, pass->arena, collection->state, lane, INT64_MIN, upto_s, &dead));
    *out = pass->is_eager || dead.second >= CUT_WORTH_BYTES ||
           expiry_is_due(due_at, pass->cutoff) || due_at == TIME_NEVER;
    if (!*out)
        pass->look_again_at = expiry_earlier(pass->look_again_at, due_at);
    return STATUS_OK;
}

static bool lane_has_documents(struct engine *engine, const struct collection_state *state,
                               unsigned lane)
{
    pthread_mutex_lock(&engine->figures_lock);
    bool has_documents = state->lanes[lane].documents > 0;
    pthread_mutex_unlock(&engine->figures_lock);
    return has_documents;
}

static status purge_lane(struct purge_pass *pass, const struct collection *collection,
                         unsigned lane)
{
    time_ms upto = expiry_lane_horizon(&collection->policy, lane, pass->cutoff);
    bool is_due;

    bool has_end = expiry_lane_deadline(&collection->policy, lane, 0) != TIME_NEVER;

    /* Whole seconds are cut by their counters. To cut within one its documents have to be counted, while
     * everybody who writes waits. */
    if (!pass->is_eager && lane >= LANE_DATES && upto != INT64_MIN)
        upto = row_second_end(expiry_last_dead_second(lane, upto));
    if ((!has_end && upto == INT64_MIN) ||
        !lane_has_documents(pass->engine, collection->state, lane))
        return STATUS_OK;
    TRY(is_worth_cutting(pass, collection, lane, upto, &is_due));
    if (!is_due || upto == INT64_MIN)
        return STATUS_OK;
    if (atomic_load(&collection->state->deaths))
        return cut_lane_telling(pass, collection, lane, upto);
    return cut_lane(pass, collection, lane, upto);
}

/* What is going to be cut in a moment: a trim would write it to files first. */
static status note_soon(struct purge_pass *pass, const struct collection *collection, unsigned lane)
{
    const time_ms upto = expiry_lane_horizon(&collection->policy, lane,
                                             int64_add_saturating(pass->cutoff, SOON_MS));
    struct storage_counters soon;

    if (upto == INT64_MIN || !lane_has_documents(pass->engine, collection->state, lane))
        return STATUS_OK;
    TRY(lane_sum(pass->engine, pass->arena, collection->state, lane, INT64_MIN,
                 expiry_last_dead_second(lane, upto), &soon));
    pass->soon_bytes += soon.second;
    return STATUS_OK;
}

/* An empty collection needs no rows at all, and no bodies that cuts by mark have left. Checked again
 * where nothing is in flight. */
struct clearing {
    struct commit commit;
    struct engine *engine;
    struct collection_state *state;
    bool is_empty;
    status dropped;
};

/* Whoever began before the last write may look at an instant in which there was something, and a file drop does
 * not ask who looks. */
static bool is_unseen(struct engine *engine, struct collection_state *state)
{
    time_ms now = clock_now(engine->options.clock);

    return request_oldest_now(engine, int64_add_saturating(now, 1)) >
           atomic_load(&state->written_at);
}

static status clearing_stamp(struct commit *commit, struct storage_batch *batch)
{
    struct clearing *clearing = commit->owner;

    clearing->is_empty = lanes_are_empty(clearing->engine, clearing->state) &&
                         is_unseen(clearing->engine, clearing->state);
    for (int space = SPACE_ROWS; clearing->is_empty && space <= SPACE_BODIES; space++)
        storage_delete_range(clearing->engine->storage, batch,
                             address(clearing->state->partition, (enum storage_space)space),
                             BYTES_LITERAL("\x01"), BYTES_NONE);
    return STATUS_OK;
}

static void clearing_done(struct commit *commit, status outcome)
{
    struct clearing *clearing = commit->owner;

    clearing->dropped = STATUS_OK;
    if (outcome.code != OK || !clearing->is_empty)
        return;
    atomic_store(&clearing->state->garbage_rows, 0);
    atomic_store(&clearing->state->has_leftovers, false);
    atomic_store(&clearing->state->is_unsettled, true);
    /* Here, while nothing later can have been written: a file drop does not ask how old a row is. */
    for (int space = SPACE_ROWS; clearing->dropped.code == OK && space <= SPACE_BODIES; space++)
        clearing->dropped =
            storage_drop_range(clearing->engine->storage,
                               address(clearing->state->partition, (enum storage_space)space),
                               BYTES_LITERAL("\x01"), BYTES_NONE);
}

static status clear_all(struct purge_pass *pass, const struct collection *collection)
{
    struct clearing clearing = { .engine = pass->engine, .state = collection->state };

    clearing.commit = (struct commit){
        .stamp = clearing_stamp, .done = clearing_done, .owner = &clearing, .is_barrier = true
    };
    TRY(commit_and_wait(pass->engine->queue, &clearing.commit));
    if (!clearing.is_empty) {
        atomic_store(&collection->state->has_leftovers, true); /* whatever sweeps do until then */
        pass->look_again_at = expiry_earlier(
            pass->look_again_at, clock_now(pass->engine->options.clock) + CLEAR_AGAIN_MS);
    }
    return clearing.dropped;
}

/* What the files and the log still hold of an empty collection; now and then, because it rewrites. */
static status settle(struct purge_pass *pass, const struct collection *collection)
{
    struct purger *purger = &pass->engine->purger;

    if (!atomic_load(&collection->state->is_unsettled) ||
        !lanes_are_empty(pass->engine, collection->state))
        return STATUS_OK;
    if (!pass->is_eager && !expiry_is_due(purger->next_settle_at, pass->cutoff)) {
        pass->look_again_at = expiry_earlier(pass->look_again_at, purger->next_settle_at);
        return STATUS_OK;
    }
    TRY(purge_yield(pass));
    purger->next_settle_at = pass->cutoff + SETTLE_PAUSE_MS;
    atomic_store(&collection->state->is_unsettled, false);
    return storage_settle(pass->engine->storage, collection->state->partition);
}

static uint64_t live_rows(struct engine *engine, const struct collection *collection)
{
    return lanes_document_count(engine, collection->state) * (1 + collection->index_count);
}

static status clear_rows(struct purge_pass *pass, const struct collection *collection)
{
    uint64_t garbage = atomic_load(&collection->state->garbage_rows);

    if (garbage == 0 && !atomic_load(&collection->state->has_leftovers))
        return STATUS_OK;
    if (lanes_are_empty(pass->engine, collection->state))
        return clear_all(pass, collection);
    if (garbage < SWEEP_WORTH_ROWS || garbage < 2 * live_rows(pass->engine, collection))
        return STATUS_OK;
    TRY(purge_yield(pass));
    TRY(storage_sweep(pass->engine->storage, collection->state->partition, BYTES_NONE, BYTES_NONE));
    atomic_store(&collection->state->garbage_rows, 0); /* only passes add to it */
    return STATUS_OK;
}

static status purge_collection(struct purge_pass *pass, const struct collection *collection)
{
    atomic_store(&pass->engine->purger.collection_id, collection->id);
    for (unsigned lane = 0; lane < LANE_COUNT; lane++) {
        TRY(purge_lane(pass, collection, lane));
        TRY(note_soon(pass, collection, lane));
    }
    TRY(note_purge(pass, collection));
    TRY(clear_rows(pass, collection));
    return settle(pass, collection);
}

/* ---- dropped collections -------------------------------------------------------------------------- */

struct erasure {
    struct commit commit;
    struct engine *engine;
    partition_id partition;
};

static status erasure_stamp(struct commit *commit, struct storage_batch *batch)
{
    struct erasure *erasure = commit->owner;

    for (int space = 0; space < SPACE_COUNT; space++)
        storage_delete_range(erasure->engine->storage, batch,
                             address(erasure->partition, (enum storage_space)space),
                             BYTES_LITERAL("\x01"), BYTES_NONE);
    return STATUS_OK;
}

static status erase_dropped(struct purge_pass *pass, uint32_t id)
{
    struct engine *engine = pass->engine;
    struct erasure erasure = { .engine = engine, .partition = row_partition(id) };

    erasure.commit = (struct commit){ .stamp = erasure_stamp, .owner = &erasure };
    TRY(commit_and_wait(engine->queue, &erasure.commit));
    for (int space = SPACE_ROWS; space < SPACE_COUNT; space++)
        TRY(storage_drop_range(engine->storage,
                               address(erasure.partition, (enum storage_space)space),
                               BYTES_LITERAL("\x01"), BYTES_NONE));
    return collection_forget_dropped(engine, pass->arena, id);
}

/* True when no request can hold a picture in which the collection was still there. */
static bool is_out_of_sight(struct engine *engine)
{
    pthread_mutex_lock(&engine->change_lock);
    catalog_collect(engine);
    bool is_gone = engine->retired == NULL;
    pthread_mutex_unlock(&engine->change_lock);
    return is_gone;
}

static status first_dropped(struct engine *engine, uint32_t *out)
{
    uint8_t bounds[2] = { ROW_TAG_DROPPED, ROW_TAG_DROPPED + 1 };
    struct storage_range range = { .start = bytes_of(bounds, 1), .end = bytes_of(bounds + 1, 1) };
    struct storage_scan *scan;
    bytes key, value;

    *out = 0;
    TRY(storage_scan_open(engine->storage, NULL, address(ROW_CATALOG_PARTITION, SPACE_META), &range,
                          &scan));
    if (storage_scan_next(scan, &key, &value) && !row_id_of(key, out))
        *out = 0;
    status s = storage_scan_status(scan);
    storage_scan_close(scan);
    return s;
}

static status erase_all_dropped(struct purge_pass *pass)
{
    uint32_t id;

    TRY(first_dropped(pass->engine, &id));
    while (id != 0 && is_out_of_sight(pass->engine)) {
        TRY(erase_dropped(pass, id));
        TRY(first_dropped(pass->engine, &id));
    }
    return STATUS_OK;
}

/* ---- a pass --------------------------------------------------------------------------------------- */

static void note_failure(struct purge_pass *pass, uint32_t id, status s)
{
    if (s.code == OK || s.code == CANCELLED)
        return;
    if (pass->failure.code == OK)
        pass->failure = s;
    metrics_add(pass->engine->metrics, METRIC_purge_errors_total, 1);
    log_event(pass->engine->log, LOG_ERROR, "purger.failed",
              "collection=%" PRIu32 " code=%s why=\"%s\"", id, status_code_name(s.code), s.message);
}

static bool is_frozen(struct engine *engine)
{
    bool is_leaping = clock_is_leap_pending(engine->options.clock);

    metrics_set(engine->metrics, METRIC_clock_leap_pending, is_leaping);
    if (is_leaping && !engine->purger.has_told_of_leap) {
        log_event(engine->log, LOG_ERROR, "clock.leap",
                  "now_ms=%" PRId64
                  " what=\"the wall clock leapt forward; what is due is hidden, but "
                  "nothing is purged until the clock is confirmed (mayfly confirm-clock)\"",
                  clock_now(engine->options.clock));
        status s = engine_store_clock(engine); /* stays pending over a restart */
        if (s.code != OK)
            log_event(engine->log, LOG_ERROR, "clock.store_failed", "why=\"%s\"", s.message);
    }
    engine->purger.has_told_of_leap = is_leaping;
    return is_leaping;
}

/* A look at the newest picture; the cutoff is INT64_MIN while nothing may be ended. */
static status begin_look(struct purge_pass *pass, struct request *out)
{
    TRY(request_begin_quiet(pass->engine, pass->arena, out));
    pass->cutoff = request_oldest_now(pass->engine, out->now);
    pass->oldest_picture = request_oldest_picture(pass->engine);
    /* Asked behind the reading of the clock: a leap in between must not end anything. */
    if (clock_is_leap_pending(pass->engine->options.clock))
        pass->cutoff = INT64_MIN;
    return STATUS_OK;
}

/* Does somebody look at an older descriptor of it? */
static bool is_held(const struct purge_pass *pass, const struct collection *collection)
{
    return pass->cutoff == INT64_MIN || collection->picture > pass->oldest_picture;
}

/* Those who hold something back are gone in a moment, most of the time. */
static void look_again_soon(struct purge_pass *pass)
{
    pass->look_again_at = expiry_earlier(pass->look_again_at,
                                         clock_now(pass->engine->options.clock) + HELD_AGAIN_MS);
}

/* In a look of its own, because cleaning up a collection makes a new picture. */
static status reap(struct purge_pass *pass, uint32_t id)
{
    struct request request;

    TRY(begin_look(pass, &request));
    const struct collection *collection = catalog_lookup_id(request.catalog, id);
    status s = STATUS_OK;
    if (collection && !is_held(pass, collection))
        s = reaper_visit(pass, &request, collection);
    request_end(&request);
    return s;
}

static status cut_all(struct purge_pass *pass, uint32_t **ids_out, size_t *count_out)
{
    struct request request;

    *count_out = 0;
    TRY(begin_look(pass, &request));
    size_t count = catalog_collection_count(&request);
    status s = ARENA_NEW(pass->arena, count, ids_out);
    if (pass->cutoff == INT64_MIN)
        look_again_soon(pass);
    for (size_t i = 0; s.code == OK && pass->cutoff != INT64_MIN && i < count; i++) {
        const struct collection *collection = request.catalog->collections[i];
        arena_position mark = arena_mark(pass->arena);
        if (is_held(pass, collection)) {
            look_again_soon(pass);
            continue;
        }
        note_failure(pass, collection->id, purge_collection(pass, collection));
        arena_release(pass->arena, mark);
        (*ids_out)[(*count_out)++] = collection->id;
    }
    request_end(&request);
    return s;
}

static void cut_what_is_due(struct purge_pass *pass)
{
    arena_position mark = arena_mark(pass->arena);
    struct purge_pass interrupted = *pass;
    uint32_t *ids;
    size_t count;

    pass->is_cutting = true;
    note_failure(pass, 0, cut_all(pass, &ids, &count));
    pass->is_cutting = false;
    pass->cutoff = interrupted.cutoff;
    pass->oldest_picture = interrupted.oldest_picture;
    pass->soon_bytes = interrupted.soon_bytes;
    pass->cut_again_at = clock_monotonic(pass->engine->options.clock) + CUT_EVERY_MS;
    arena_release(pass->arena, mark);
}

status purge_yield(struct purge_pass *pass)
{
    struct engine *engine = pass->engine;
    bool goes_on = true;

    if (pass->is_eager)
        return STATUS_OK;
    for (int i = 0; goes_on && i < YIELD_MOST && request_count(engine) > BUSY_REQUESTS; i++)
        goes_on = worker_pause(&engine->purger.worker, YIELD_MS);
    if (!goes_on || atomic_load(&engine->purger.worker.should_stop))
        return status_of(CANCELLED, "the server stops");
    if (!pass->is_cutting && clock_monotonic(engine->options.clock) >= pass->cut_again_at)
        cut_what_is_due(pass);
    return STATUS_OK;
}

/* One that is due. */
static bool put_trim_off(const struct purge_pass *pass, time_ms now)
{
    struct purger *purger = &pass->engine->purger;

    if (pass->soon_bytes < SOON_WORTH_BYTES)
        return false;
    if (purger->trim_put_off_at == 0)
        purger->trim_put_off_at = now;
    return !expiry_is_due(int64_add_saturating(purger->trim_put_off_at, TRIM_LATE_MS), now);
}

/* What was cut lies in the log too. Now and then, because what is in memory is written for it, and behind the cut of those who are about
 * to die, because they are not written any more then (the sweeper is asked); and once more when writers have stopped. Behind that, what writing and compacting have left free in the heaps, a fifth of all memory, goes back to the system. */
static status trim(struct purge_pass *pass)
{
    struct purger *purger = &pass->engine->purger;
    const time_ms now = clock_now(pass->engine->options.clock);
    const uint64_t seq = atomic_load(&pass->engine->durable_seq);

    if (seq == purger->trimmed_seq) {
        if (!purger->are_heaps_tended)
            memory_tend_heaps();
        purger->are_heaps_tended = true;
        return STATUS_OK;
    }
    if (!expiry_is_due(purger->next_trim_at, now)) {
        pass->look_again_at = expiry_earlier(pass->look_again_at, purger->next_trim_at);
        return STATUS_OK;
    }
    if (put_trim_off(pass, now)) {
        look_again_soon(pass);
        return STATUS_OK;
    }
    purger->trim_put_off_at = 0;
    purger->trimmed_seq = seq;
    purger->are_heaps_tended = false;
    purger->next_trim_at = int64_add_saturating(now, TRIM_PAUSE_MS);
    pass->look_again_at = expiry_earlier(pass->look_again_at,
                                         int64_add_saturating(now, TEND_PAUSE_MS));
    return storage_trim(pass->engine->storage);
}

/* Every collection gets its turn; an error in one does not stop the others. */
static void run_pass(struct purge_pass *pass)
{
    uint32_t *ids;
    size_t count;

    pass->cut_again_at = clock_monotonic(pass->engine->options.clock) + CUT_EVERY_MS;
    note_failure(pass, 0, cut_all(pass, &ids, &count));
    for (size_t i = 0; i < count; i++)
        note_failure(pass, ids[i], reap(pass, ids[i]));
    note_failure(pass, 0, erase_all_dropped(pass));
    note_failure(pass, 0, trim(pass));
}

static status purge(struct engine *engine, bool is_eager, struct purge_result *out)
{
    struct purge_pass pass = { .engine = engine,
                               .is_eager = is_eager,
                               .result = out,
                               .look_again_at = TIME_NEVER,
                               .failure = STATUS_OK };

    *out = (struct purge_result){ .look_again_at = TIME_NEVER };
    pass.arena = arena_open(LIMIT_REQUEST_ARENA_BYTES);
    if (!pass.arena)
        return status_of(OUT_OF_MEMORY, "the purger has no memory");
    pthread_mutex_lock(&engine->purger.pass_lock);
    atomic_store(&engine->purger.since_ms, clock_now(engine->options.clock));
    atomic_store(&engine->purger.is_working, true);
    out->is_frozen = is_frozen(engine);
    if (!out->is_frozen)
        run_pass(&pass);
    atomic_store(&engine->purger.is_working, false);
    atomic_fetch_add(&engine->purger.worked_ms,
                     clock_now(engine->options.clock) - atomic_load(&engine->purger.since_ms));
    atomic_fetch_add(&engine->purger.passes, 1);
    metrics_add(engine->metrics, METRIC_purge_passes_total, 1);
    pthread_mutex_unlock(&engine->purger.pass_lock);
    out->look_again_at = pass.look_again_at;
    /* The message may live in the arena. */
    status s = pass.failure.code == OK
                   ? STATUS_OK
                   : status_of(pass.failure.code, status_code_sentence(pass.failure.code));
    arena_close(pass.arena);
    return s;
}

status engine_purge(struct engine *engine, struct purge_result *out)
{
    return purge(engine, true, out);
}

/* ---- the thread ----------------------------------------------------------------------------------- */

static int64_t pause_ms(struct engine *engine, time_ms look_again_at)
{
    int64_t longest = (int64_t)atomic_load(&engine->purger.pause_s) * 1000;
    time_ms now = clock_now(engine->options.clock);
    time_ms wake_at = expiry_earlier(look_again_at, now + longest);
    int64_t pause = wake_at - now;

    atomic_store(&engine->purger.wake_at, wake_at);
    return pause > PAUSE_MS_MIN ? pause : PAUSE_MS_MIN;
}

static void *purger_run(void *owner)
{
    struct engine *engine = owner;
    struct purge_result result = { .look_again_at = TIME_NEVER };

    while (worker_pause(&engine->purger.worker, pause_ms(engine, result.look_again_at))) {
        if (!atomic_load(&engine->purger.is_enabled)) {
            result.look_again_at = TIME_NEVER;
            continue;
        }
        status s = purge(engine, false, &result);
        if (s.code == OK && result.documents > 0)
            log_event(engine->log, LOG_INFO, "purger.pass",
                      "documents=%" PRIu64 " bytes=%" PRIu64 " cuts=%" PRIu64 " reaped=%" PRIu64,
                      result.documents, result.bytes, result.truncations, result.reaped);
    }
    return NULL;
}

bool purger_start(struct engine *engine)
{
    return worker_start(&engine->purger.worker, purger_run, engine);
}

void purger_wake(struct engine *engine)
{
    worker_wake(&engine->purger.worker);
}

void purger_set_pause(struct engine *engine, int seconds)
{
    atomic_store(&engine->purger.pause_s, seconds > 0 ? seconds : LIMIT_PURGER_PAUSE_S);
    purger_wake(engine);
}

void purger_set_enabled(struct engine *engine, bool is_enabled)
{
    atomic_store(&engine->purger.is_enabled, is_enabled);
    purger_wake(engine);
}

void purger_watch(struct engine *engine, struct purger_activity *out)
{
    *out = (struct purger_activity){
        .is_working = atomic_load(&engine->purger.is_working),
        .collection_id = atomic_load(&engine->purger.collection_id),
        .since_ms = atomic_load(&engine->purger.since_ms),
        .passes = atomic_load(&engine->purger.passes),
        .worked_ms = atomic_load(&engine->purger.worked_ms),
        .pause_s = atomic_load(&engine->purger.pause_s),
    };
}

status engine_confirm_clock(struct engine *engine)
{
    clock_confirm_leap(engine->options.clock);
    metrics_set(engine->metrics, METRIC_clock_leap_pending, 0);
    log_event(engine->log, LOG_WARNING, "clock.confirmed", "now_ms=%" PRId64,
              clock_now(engine->options.clock));
    TRY(engine_store_clock(engine));
    purger_wake(engine);
    return STATUS_OK;
}
