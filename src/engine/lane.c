/* Lane: how many documents lie where, exactly, without counting them.
 *
 * For every second of a lane's order there is a row with two counters, documents and bytes; for every
 * lane a row with its totals. Both change in the same commit as the documents they count. The totals
 * are also kept in memory, together with a running sum over the seconds that are already dead; so the
 * living are total minus dead, and only seconds that died since somebody last asked are read.
 *
 * Keeps: counters on disk equal what lies on disk after every commit; memory follows after the sync.
 * Threads: group_* run on the committing thread; the figures are guarded by figures_lock; the sum over
 * the dead moves only in a barrier, when nothing is in flight. */
#include "engine/lane.h"

/* ---- the group being committed -------------------------------------------------------------------- */

bool group_reserve(struct engine *engine, size_t more)
{
    struct group *group = &engine->group;
    size_t need = group->count + more;

    if (need <= group->room)
        return true;
    size_t room = group->room ? group->room : 256;
    while (room < need)
        room *= 2;
    struct lane_delta *deltas = memory_resize(group->deltas, room * sizeof(*deltas));
    if (!deltas)
        return false;
    group->deltas = deltas;
    group->room = room;
    return true;
}

enum { DELTAS_LOOKED_BACK = 8 };

void group_note(struct engine *engine, struct collection_state *state, const struct stamp *stamp,
                int direction)
{
    struct group *group = &engine->group;
    int64_t second = expiry_second_of(expiry_order(stamp));
    size_t stop = group->count > DELTAS_LOOKED_BACK ? group->count - DELTAS_LOOKED_BACK : 0;
    struct lane_delta *delta = NULL;

    for (size_t i = group->count; i > stop && !delta; i--) {
        struct lane_delta *seen = &group->deltas[i - 1];
        if (seen->state == state && seen->lane == stamp->lane && seen->second == second)
            delta = seen;
    }
    if (!delta) {
        ASSERT(group->count < group->room);
        delta = &group->deltas[group->count++];
        *delta = (struct lane_delta){ .state = state, .lane = stamp->lane, .second = second };
    }
    delta->documents += direction;
    delta->bytes += direction * (int64_t)stamp->body_len;
    group->is_state_dirty = true;
}

static void add_counters(struct engine *engine, struct storage_batch *batch,
                         const struct lane_delta *delta)
{
    struct row_address meta = address(delta->state->partition, SPACE_META);
    struct storage_counters counters = { .first = delta->documents, .second = delta->bytes };
    arena_position mark = arena_mark(engine->group_arena);
    struct buffer slice = buffer_in(engine->group_arena), total = buffer_in(engine->group_arena);
    bytes key;

    row_key_slice(&slice, delta->lane, delta->second);
    status s = buffer_finish(&slice, &key);
    ASSERT(s.code == OK);
    storage_add(engine->storage, batch, meta, key, counters);
    row_key_total(&total, delta->lane);
    s = buffer_finish(&total, &key);
    ASSERT(s.code == OK);
    storage_add(engine->storage, batch, meta, key, counters);
    arena_release(engine->group_arena, mark);
}

static void put_state(struct engine *engine, struct storage_batch *batch)
{
    arena_position mark = arena_mark(engine->group_arena);
    struct buffer key = buffer_in(engine->group_arena), value = buffer_in(engine->group_arena);
    time_ms ahead = clock_now(engine->options.clock) + LIMIT_CLOCK_MARK_AHEAD_MS;
    struct row_state state = {
        .last_seq = atomic_load(&engine->assigned_seq),
        .clock_mark = ahead > engine->group.clock_mark ? ahead : engine->group.clock_mark,
        .is_leap_pending = clock_is_leap_pending(engine->options.clock),
        .are_date_rules_off = atomic_load(&engine->are_date_rules_off),
        .next_id = atomic_load(&engine->next_id),
    };
    bytes key_bytes, value_bytes;

    if (engine->group.is_mark_exact)
        state.clock_mark = engine->group.clock_mark;
    row_key_state(&key);
    row_write_state(&value, &state);
    status s = buffer_finish(&key, &key_bytes);
    ASSERT(s.code == OK);
    s = buffer_finish(&value, &value_bytes);
    ASSERT(s.code == OK);
    storage_put(engine->storage, batch, address(ROW_CATALOG_PARTITION, SPACE_META), key_bytes,
                value_bytes);
    engine->group.clock_mark = state.clock_mark;
    arena_release(engine->group_arena, mark);
}

void group_before_write(void *owner, struct storage_batch *batch)
{
    struct engine *engine = owner;

    for (size_t i = 0; i < engine->group.count; i++) {
        const struct lane_delta *delta = &engine->group.deltas[i];
        if (delta->documents != 0 || delta->bytes != 0)
            add_counters(engine, batch, delta);
    }
    if (engine->group.is_state_dirty)
        put_state(engine, batch);
}

static void apply(struct engine *engine, const struct lane_delta *delta)
{
    struct lane_state *lane = &delta->state->lanes[delta->lane];

    lane->documents += delta->documents;
    hints_expect(engine->hints, lane->documents);
    lane->bytes += delta->bytes;
    if (delta->second <= lane->dead_upto_s) {
        lane->dead_documents += delta->documents;
        lane->dead_bytes += delta->bytes;
    }
}

void group_after_write(void *owner, bool is_written)
{
    struct engine *engine = owner;

    if (is_written) {
        time_ms seen_at = clock_now(engine->options.clock);
        pthread_mutex_lock(&engine->figures_lock);
        for (size_t i = 0; i < engine->group.count; i++) {
            apply(engine, &engine->group.deltas[i]);
            atomic_store(&engine->group.deltas[i].state->written_at, seen_at);
            atomic_fetch_add(&engine->group.deltas[i].state->writes, 1);
        }
        pthread_mutex_unlock(&engine->figures_lock);
        atomic_store(&engine->durable_seq, atomic_load(&engine->assigned_seq));
        if (engine->group.is_state_dirty)
            atomic_store(&engine->stored_mark, engine->group.clock_mark);
    }
    if (is_written &&
        expiry_is_due(engine->group.earliest_end, atomic_load(&engine->purger.wake_at)))
        purger_wake(engine);
    engine->group.earliest_end = TIME_NEVER;
    engine->group.count = 0;
    engine->group.is_state_dirty = false;
    engine->group.is_mark_exact = false;
}

/* ---- reading counters ----------------------------------------------------------------------------- */

static status load_row(struct collection_state *state, bytes key, bytes value)
{
    struct storage_counters counters;
    unsigned lane = key.len == 2 ? key.data[1] & 0x7F : LANE_COUNT;

    if (lane >= LANE_COUNT || !storage_counters_decode(value, &counters))
        return status_of(CORRUPT, "a stored counter is damaged");
    state->lanes[lane].documents = counters.first;
    state->lanes[lane].bytes = counters.second;
    return STATUS_OK;
}

static bool read_cut(bytes value, struct lane_cut *out)
{
    struct reader reader = reader_of(value);

    out->upto = (time_ms)reader_u64(&reader);
    out->seq = reader_u64(&reader);
    return reader_is_done(&reader);
}

static status load_cut(struct collection_state *state, bytes key, bytes value)
{
    unsigned lane = key.len == 2 ? key.data[1] & 0x7F : LANE_COUNT;
    struct lane_cut cut;

    if (lane >= LANE_COUNT || !read_cut(value, &cut))
        return status_of(CORRUPT, "a stored mark of a cut lane is damaged");
    atomic_store(&state->lanes[lane].cut_upto, cut.upto);
    atomic_store(&state->lanes[lane].cut_seq, cut.seq);
    return STATUS_OK;
}

status lane_cut_read(struct engine *engine, struct storage_view *view, struct arena *arena,
                     const struct collection_state *state, unsigned lane, struct lane_cut *out)
{
    struct buffer key_buffer = buffer_in(arena);
    struct storage_value pin;
    bytes key;

    *out = (struct lane_cut){ .upto = INT64_MIN };
    row_key_cut(&key_buffer, lane);
    TRY(buffer_finish(&key_buffer, &key));
    status s = storage_get(engine->storage, view, address(state->partition, SPACE_META), key, &pin);
    if (s.code == NOT_FOUND)
        return STATUS_OK;
    TRY(s);
    bool is_read = read_cut(pin.value, out);
    storage_value_release(engine->storage, &pin);
    return is_read ? STATUS_OK : status_of(CORRUPT, "a stored mark of a cut lane is damaged");
}

typedef status load_meta(struct collection_state *state, bytes key, bytes value);

static status load_tagged(struct engine *engine, struct collection_state *state, uint8_t tag,
                          load_meta *load)
{
    uint8_t bounds[2] = { tag, (uint8_t)(tag + 1) };
    struct storage_range range = { .start = bytes_of(bounds, 1), .end = bytes_of(bounds + 1, 1) };
    struct storage_scan *scan;
    bytes key, value;
    status s = STATUS_OK;

    TRY(storage_scan_open(engine->storage, NULL, address(state->partition, SPACE_META), &range,
                          &scan));
    while (s.code == OK && storage_scan_next(scan, &key, &value))
        s = load(state, key, value);
    if (s.code == OK)
        s = storage_scan_status(scan);
    storage_scan_close(scan);
    return s;
}

status lanes_load(struct engine *engine, struct collection_state *state)
{
    TRY(load_tagged(engine, state, ROW_TAG_TOTAL, load_row));
    for (unsigned lane = 0; lane < LANE_COUNT; lane++)
        hints_expect(engine->hints, state->lanes[lane].documents);
    return load_tagged(engine, state, ROW_TAG_CUT, load_cut);
}

/* Seconds from..upto of a lane, both included, in order. */
status slices_open(struct engine *engine, struct arena *arena, const struct collection_state *state,
                   unsigned lane, int64_t from_s, int64_t upto_s, struct storage_scan **out)
{
    struct buffer start = buffer_in(arena), stop = buffer_in(arena);
    struct storage_range range = { 0 };

    row_key_slice(&start, lane, from_s);
    row_key_slice(&stop, lane, upto_s);
    buffer_append_byte(&stop, 0x01); /* just behind it */
    *out = NULL;
    TRY(buffer_finish(&start, &range.start));
    TRY(buffer_finish(&stop, &range.end));
    return storage_scan_open(engine->storage, NULL, address(state->partition, SPACE_META), &range,
                             out);
}

bool slices_next(struct storage_scan *scan, int64_t *second_out, struct storage_counters *out)
{
    bytes key, value;
    unsigned lane;

    while (storage_scan_next(scan, &key, &value)) {
        if (row_slice_of(key, &lane, second_out) && storage_counters_decode(value, out) &&
            (out->first != 0 || out->second != 0))
            return true;
    }
    return false;
}

status lane_sum(struct engine *engine, struct arena *arena, const struct collection_state *state,
                unsigned lane, int64_t from_s, int64_t upto_s, struct storage_counters *out)
{
    struct storage_scan *scan;
    struct storage_counters slice;
    int64_t second;

    *out = (struct storage_counters){ 0 };
    if (from_s > upto_s)
        return STATUS_OK;
    TRY(slices_open(engine, arena, state, lane, from_s, upto_s, &scan));
    while (slices_next(scan, &second, &slice)) {
        out->first += slice.first;
        out->second += slice.second;
    }
    status s = storage_scan_status(scan);
    storage_scan_close(scan);
    return s;
}

status lane_first_second(struct engine *engine, struct arena *arena,
                         const struct collection_state *state, unsigned lane, int64_t *second_out)
{
    struct storage_scan *scan;
    struct storage_counters slice;

    TRY(slices_open(engine, arena, state, lane, INT64_MIN, INT64_MAX, &scan));
    bool is_found = slices_next(scan, second_out, &slice);
    status s = storage_scan_status(scan);
    storage_scan_close(scan);
    TRY(s);
    return is_found ? STATUS_OK : status_of(NOT_FOUND, "the lane is empty");
}

/* ---- the second in which the horizon stands --------------------------------------------------------- */

/* The documents of a lane in a part of its order, counted one by one. */
struct stretch {
    struct storage_scan *scan;
    struct storage_counters sum;
    bool is_counted; /* to its end */
};

static status stretch_open(struct engine *engine, struct storage_view *view, struct arena *arena,
                           const struct collection_state *state, unsigned lane, time_ms from,
                           time_ms end, struct stretch *out)
{
    struct buffer start = buffer_in(arena), stop = buffer_in(arena);
    struct storage_range range = { 0 };

    *out = (struct stretch){ 0 };
    row_key_lane_from(&start, lane, from);
    row_key_lane_from(&stop, lane, end);
    TRY(buffer_finish(&start, &range.start));
    TRY(buffer_finish(&stop, &range.end));
    return storage_scan_open(engine->storage, view, address(state->partition, SPACE_BODIES), &range,
                             &out->scan);
}

static void stretch_step(struct stretch *stretch, const struct collection_state *state)
{
    struct row_body body;
    bytes key, value;

    if (!storage_scan_next(stretch->scan, &key, &value)) {
        stretch->is_counted = true;
        return;
    }
    const bool is_read = row_read_body(value, &body);
    if (is_read && collection_is_cut(state, &body.stamp))
        return;
    stretch->sum.first++;
    stretch->sum.second += is_read ? body.stamp.body_len : 0;
}

static status stretch_close(struct stretch *stretch)
{
    if (stretch->scan == NULL)
        return STATUS_OK;
    const status s = storage_scan_status(stretch->scan);
    storage_scan_close(stretch->scan);
    return s;
}

static status slice_get(struct engine *engine, struct storage_view *view, struct arena *arena,
                        const struct collection_state *state, unsigned lane, int64_t second,
                        struct storage_counters *out)
{
    struct buffer key_buffer = buffer_in(arena);
    struct storage_value pin;
    bytes key;

    *out = (struct storage_counters){ 0 };
    row_key_slice(&key_buffer, lane, second);
    TRY(buffer_finish(&key_buffer, &key));
    const status s = storage_get(engine->storage, view, address(state->partition, SPACE_META), key,
                                 &pin);
    if (s.code == NOT_FOUND)
        return STATUS_OK;
    TRY(s);
    const bool is_read = storage_counters_decode(pin.value, out);
    storage_value_release(engine->storage, &pin);
    return is_read ? STATUS_OK : status_of(CORRUPT, "a stored counter is damaged");
}

/* Both sides of the horizon in turns, until one of them is counted: where many die in the same instant, few of their
 * second are on the other side, and the counter of the second tells the rest. */
status lane_border(struct engine *engine, struct storage_view *view, struct arena *arena,
                   const struct collection *collection, unsigned lane, time_ms horizon,
                   struct storage_counters *out)
{
    const struct collection_state *state = collection->state;
    struct stretch dead = { 0 }, living = { 0 };
    struct storage_counters whole;
    const bool is_by_date = lane >= LANE_DATES;
    status s;

    *out = (struct storage_counters){ 0 };
    if (!is_by_date || horizon == INT64_MIN)
        return STATUS_OK;
    const int64_t second = expiry_last_dead_second(lane, horizon) + 1;
    const time_ms start = row_second_start(second), middle = int64_add_saturating(horizon, 1);
    const time_ms end = int64_add_saturating(start, 1000);
    TRY_GOTO(slice_get(engine, view, arena, state, lane, second, &whole), done);
    TRY_GOTO(stretch_open(engine, view, arena, state, lane, start, middle, &dead), done);
    TRY_GOTO(stretch_open(engine, view, arena, state, lane, middle, end, &living), done);
    while (!dead.is_counted && !living.is_counted) {
        stretch_step(&dead, state);
        stretch_step(&living, state);
    }
    *out = dead.is_counted
               ? dead.sum
               : (struct storage_counters){ .first = whole.first - living.sum.first,
                                            .second = whole.second - living.sum.second };
    s = STATUS_OK;
done:;
    const status dead_closed = stretch_close(&dead), living_closed = stretch_close(&living);
    TRY(s);
    TRY(dead_closed);
    return living_closed;
}

void lane_forget_cut(struct engine *engine, struct collection_state *state, unsigned lane,
                     time_ms upto, uint64_t seq, struct storage_counters cut)
{
    struct lane_state *at = &state->lanes[lane];

    pthread_mutex_lock(&engine->figures_lock);
    at->documents -= cut.first;
    at->bytes -= cut.second;
    at->dead_upto_s = INT64_MIN;
    at->dead_documents = at->dead_bytes = 0;
    pthread_mutex_unlock(&engine->figures_lock);
    atomic_fetch_add(&at->cuts, 1);
    /* A cut that does not reach as far as an earlier one is not remembered; the next that does is. */
    if (upto >= atomic_load(&at->cut_upto)) {
        atomic_store(&at->cut_upto, upto);
        atomic_store(&at->cut_seq, seq);
    }
}

uint64_t lanes_document_count(struct engine *engine, const struct collection_state *state)
{
    int64_t documents = 0;

    pthread_mutex_lock(&engine->figures_lock);
    for (unsigned lane = 0; lane < LANE_COUNT; lane++)
        documents += state->lanes[lane].documents;
    pthread_mutex_unlock(&engine->figures_lock);
    return (uint64_t)documents;
}

bool lanes_are_empty(struct engine *engine, struct collection_state *state)
{
    return lanes_document_count(engine, state) == 0;
}

bool lanes_were_cut(const struct collection_state *state)
{
    for (unsigned lane = 0; lane < LANE_COUNT; lane++) {
        if (atomic_load(&state->lanes[lane].cut_seq) > 0)
            return true;
    }
    return false;
}
