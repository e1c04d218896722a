/* Figures: exact counts of the living and the dead, and when the living will die.
 *
 * In a collection whose documents all lie in the lane that ends them, everything follows from the
 * lanes' counters. Where a policy change has left documents that another rule ends first (is_mixed),
 * the documents are counted by a scan until the purger has found the collection pure again.
 *
 * A second in which documents are dying right now has to be looked at one by one. That may be many, and everybody who
 * writes waits for a barrier, so it is done behind the barrier, in a view from inside of it.
 *
 * Threads: any. The dead seconds are summed in a barrier of the commit queue. */
#include "engine/lane.h"

/* ---- by counters ---------------------------------------------------------------------------------- */

/* Figures are taken with nothing in flight, so that counters, sums and stored rows agree. */
struct taking {
    struct commit commit;
    struct request *request;
    const struct collection *collection;
    struct collection_figures *out;
    bool is_alone; /* nothing is in flight, nobody else takes figures: the sums may be remembered */
    /* As of the barrier, for what is counted behind it. */
    struct storage_view *view;
    struct storage_counters dead[LANE_COUNT];
    uint64_t cuts[LANE_COUNT];
};

static int64_t last_dead_second(const struct collection *collection, unsigned lane, time_ms now)
{
    return expiry_last_dead_second(lane, expiry_lane_horizon(&collection->policy, lane, now));
}

/* Moves the sum over a lane's dead seconds to where the horizon stands. */
static status advance_lane(struct request *request, const struct collection *collection,
                           unsigned lane)
{
    struct lane_state *at = &collection->state->lanes[lane];
    int64_t upto_s = last_dead_second(collection, lane, request->now);
    struct storage_counters sum;

    if (at->dead_upto_s == upto_s)
        return STATUS_OK;
    bool is_behind = upto_s < at->dead_upto_s;
    int64_t from_s = is_behind || at->dead_upto_s == INT64_MIN ? INT64_MIN : at->dead_upto_s + 1;
    TRY(lane_sum(request->engine, request->arena, collection->state, lane, from_s, upto_s, &sum));
    pthread_mutex_lock(&request->engine->figures_lock);
    at->dead_documents = (is_behind ? 0 : at->dead_documents) + sum.first;
    at->dead_bytes = (is_behind ? 0 : at->dead_bytes) + sum.second;
    at->dead_upto_s = upto_s;
    pthread_mutex_unlock(&request->engine->figures_lock);
    return STATUS_OK;
}

static status note_oldest(struct request *request, const struct collection *collection,
                          unsigned lane, struct collection_figures *out)
{
    int64_t second;
    status s = lane_first_second(request->engine, request->arena, collection->state, lane, &second);

    if (s.code == NOT_FOUND)
        return STATUS_OK;
    TRY(s);
    int64_t age = int64_sub_saturating(
        request->now, expiry_lane_deadline(&collection->policy, lane, row_second_start(second)));
    if (age > out->oldest_dead_age_ms)
        out->oldest_dead_age_ms = age;
    return STATUS_OK;
}

/* Documents in the seconds that are completely dead. */
static status sum_dead(struct taking *taking, unsigned lane, struct storage_counters *out)
{
    const struct lane_state *at = &taking->collection->state->lanes[lane];
    struct request *request = taking->request;

    if (!taking->is_alone)
        return lane_sum(request->engine, request->arena, taking->collection->state, lane, INT64_MIN,
                        last_dead_second(taking->collection, lane, request->now), out);
    TRY(advance_lane(request, taking->collection, lane));
    *out = (struct storage_counters){ .first = at->dead_documents, .second = at->dead_bytes };
    return STATUS_OK;
}

static status take_lane(struct taking *taking, unsigned lane)
{
    const struct lane_state *at = &taking->collection->state->lanes[lane];
    struct collection_figures *out = taking->out;

    taking->dead[lane] = (struct storage_counters){ 0 };
    taking->cuts[lane] = atomic_load(&at->cuts);
    if (at->documents == 0)
        return STATUS_OK;
    TRY(sum_dead(taking, lane, &taking->dead[lane]));
    out->documents += (uint64_t)at->documents;
    out->bytes += (uint64_t)at->bytes;
    return STATUS_OK;
}

static status take_stamp(struct commit *commit, struct storage_batch *batch)
{
    struct taking *taking = commit->owner;

    (void)batch;
    for (unsigned lane = 0; lane < LANE_COUNT; lane++)
        TRY(take_lane(taking, lane));
    return storage_view_open(taking->request->engine->storage, &taking->view);
}

/* Whoever is dead leaves the figures of the living. */
static status take_dead(struct taking *taking, unsigned lane)
{
    const struct collection *collection = taking->collection;
    struct request *request = taking->request;
    struct collection_figures *out = taking->out;
    struct storage_counters dead = taking->dead[lane], border;

    TRY(lane_border(request->engine, taking->view, request->arena, collection, lane,
                    expiry_lane_horizon(&collection->policy, lane, request->now), &border));
    dead.first += border.first;
    dead.second += border.second;
    out->documents -= (uint64_t)dead.first;
    out->bytes -= (uint64_t)dead.second;
    out->dead_documents += (uint64_t)dead.first;
    out->dead_bytes += (uint64_t)dead.second;
    return dead.first > 0 ? note_oldest(request, collection, lane, out) : STATUS_OK;
}

/* The marks of a cut count for rows of any view, so what was cut since the barrier is missing from the dead. */
static bool was_cut_since(const struct taking *taking)
{
    for (unsigned lane = 0; lane < LANE_COUNT; lane++) {
        if (atomic_load(&taking->collection->state->lanes[lane].cuts) != taking->cuts[lane])
            return true;
    }
    return false;
}

static void close_view(struct taking *taking)
{
    if (taking->view)
        storage_view_close(taking->request->engine->storage, taking->view);
    taking->view = NULL;
}

static status take_all_dead(struct taking *taking)
{
    status s = STATUS_OK;

    for (unsigned lane = 0; s.code == OK && lane < LANE_COUNT; lane++)
        s = take_dead(taking, lane);
    close_view(taking);
    return s;
}

/* In the barrier with the dying, if the purger cannot be outrun. */
static status take_stamp_whole(struct commit *commit, struct storage_batch *batch)
{
    TRY(take_stamp(commit, batch));
    return take_all_dead(commit->owner);
}

static status figures_by_counters(struct request *request, const struct collection *collection,
                                  struct collection_figures *out)
{
    const struct collection_figures nothing = *out;
    struct taking taking = {
        .request = request, .collection = collection, .out = out, .is_alone = true
    };

    taking.commit = (struct commit){ .stamp = take_stamp, .owner = &taking, .is_barrier = true };
    status s = commit_and_wait(request->engine->queue, &taking.commit);
    if (s.code == OK) {
        TRY(take_all_dead(&taking));
        if (!was_cut_since(&taking))
            return STATUS_OK;
        *out = nothing;
        taking.commit.stamp = take_stamp_whole;
        s = commit_and_wait(request->engine->queue, &taking.commit);
    }
    close_view(&taking);
    if (s.code != WRITES_STOPPED)
        return s;
    *out = nothing;
    taking.is_alone = false;
    return take_stamp_whole(&taking.commit, NULL);
}

/* ---- by scan -------------------------------------------------------------------------------------- */

/* One body: living, or dead and for how long. */
static status count_body(struct request *request, const struct collection *collection, bytes value,
                         struct collection_figures *out)
{
    const struct expiry_policy *policy = &collection->policy;
    struct row_body body;

    if (!row_read_body(value, &body))
        return status_of(CORRUPT, "a stored document is damaged");
    if (collection_is_cut(collection->state, &body.stamp))
        return STATUS_OK;
    if (expiry_judge_document(policy, &body.stamp, body.document, request->arena, request->now) ==
        ALIVE) {
        out->documents++;
        out->bytes += body.stamp.body_len;
        return STATUS_OK;
    }
    out->dead_documents++;
    out->dead_bytes += body.stamp.body_len;
    int64_t age = int64_sub_saturating(
        request->now, expiry_deadline(policy, &body.stamp, body.document, request->arena));
    if (age > out->oldest_dead_age_ms)
        out->oldest_dead_age_ms = age;
    return STATUS_OK;
}

static status figures_by_scan(struct request *request, const struct collection *collection,
                              struct collection_figures *out)
{
    struct storage_range all = { .start = BYTES_LITERAL("\x01") };
    struct storage_view *view;
    struct storage_scan *scan;
    bytes key, value;
    status s = STATUS_OK;

    TRY(request_view(request, &view));
    TRY(storage_scan_open(request->engine->storage, view,
                          address(collection->state->partition, SPACE_BODIES), &all, &scan));
    while (s.code == OK && storage_scan_next(scan, &key, &value))
        s = count_body(request, collection, value, out);
    if (s.code == OK)
        s = storage_scan_status(scan);
    storage_scan_close(scan);
    return s;
}

status collection_figures(struct request *request, const struct collection *collection,
                          struct collection_figures *out)
{
    *out = (struct collection_figures){
        .purged_documents = atomic_load(&collection->state->purged_documents),
        .purged_bytes = atomic_load(&collection->state->purged_bytes),
    };
    return collection->is_mixed ? figures_by_scan(request, collection, out)
                                : figures_by_counters(request, collection, out);
}

struct collection_size collection_size(struct request *request, const struct collection *collection)
{
    const struct collection_state *state = collection->state;
    struct collection_size size = { 0 };

    pthread_mutex_lock(&request->engine->figures_lock);
    for (unsigned lane = 0; lane < LANE_COUNT; lane++) {
        size.documents += (uint64_t)state->lanes[lane].documents;
        size.bytes += (uint64_t)state->lanes[lane].bytes;
    }
    pthread_mutex_unlock(&request->engine->figures_lock);
    return size;
}

/* ---- forecast ------------------------------------------------------------------------------------- */

struct forecast {
    time_ms from;
    int64_t step_ms;
    size_t step_count;
    uint64_t *counts;
};

static void forecast_add(const struct forecast *forecast, time_ms falls_due, uint64_t documents)
{
    int64_t distance = int64_sub_saturating(falls_due, forecast->from);

    if (distance >= 0 && (uint64_t)(distance / forecast->step_ms) < forecast->step_count)
        forecast->counts[distance / forecast->step_ms] += documents;
}

/* Both counts move while they are read one after the other. */
static uint64_t living_of(int64_t documents, int64_t dead)
{
    return documents > dead ? (uint64_t)(documents - dead) : 0;
}

static status forecast_lane(struct request *request, const struct collection *collection,
                            unsigned lane, const struct forecast *forecast)
{
    struct storage_scan *scan;
    struct storage_counters slice, border;
    int64_t second;
    int64_t from_s = last_dead_second(collection, lane, request->now);

    if (expiry_lane_deadline(&collection->policy, lane, 0) == TIME_NEVER)
        return STATUS_OK;
    TRY(lane_border(request->engine, NULL, request->arena, collection, lane,
                    expiry_lane_horizon(&collection->policy, lane, request->now), &border));
    TRY(slices_open(request->engine, request->arena, collection->state, lane,
                    from_s == INT64_MIN ? from_s : from_s + 1, INT64_MAX, &scan));
    while (slices_next(scan, &second, &slice)) {
        bool is_border = from_s != INT64_MIN && second == from_s + 1;
        forecast_add(forecast,
                     expiry_lane_deadline(&collection->policy, lane, row_second_start(second)),
                     living_of(slice.first, is_border ? border.first : 0));
    }
    status s = storage_scan_status(scan);
    storage_scan_close(scan);
    return s;
}

static status forecast_by_scan(struct request *request, const struct collection *collection,
                               const struct forecast *forecast)
{
    struct scan *scan;
    struct scan_row row;
    status s = STATUS_OK;

    TRY(scan_open_slots(request, collection, &scan));
    while (s.code == OK && scan_next(scan, &row))
        forecast_add(forecast, scan_deadline(scan), 1);
    if (s.code == OK)
        s = scan_status(scan);
    scan_close(scan);
    return s;
}

status collection_forecast(struct request *request, const struct collection *collection,
                           time_ms from, int64_t step_ms, size_t step_count, uint64_t *counts)
{
    struct forecast forecast = {
        .from = from, .step_ms = step_ms, .step_count = step_count, .counts = counts
    };

    if (step_ms < 1)
        return status_of(INVALID, "a forecast needs a step of at least one millisecond");
    memset(counts, 0, step_count * sizeof(*counts));
    if (collection->is_mixed)
        return forecast_by_scan(request, collection, &forecast);
    for (unsigned lane = 0; lane < LANE_COUNT; lane++)
        TRY(forecast_lane(request, collection, lane, &forecast));
    return STATUS_OK;
}
