/* Page place: where a page ends that gives rows as they come, in few bytes.
 *
 * Nearly always the position of the cursor is short, and travels as it is. A long one (keys and indexed texts have up
 * to some kilobytes) is written as a place among all rows of the stretch that it lies in, see stretch.c.
 *
 * Keeps: a state has LIMIT_QUERY_STATE_BYTES at most.
 * Threads: a page belongs to its request. Start reading at run_leave_state() and run_open_cursor(). */
#include "query/run.h"
#include "query/stretch.h"

/* ---- leaving ---------------------------------------------------------------------------------------- */

static status open_stretch(struct run *run, size_t number, struct stretch *out)
{
    struct scan_spec spec = { .start = run->plan.partition,
                              .end = run->plan.partition,
                              .is_end_inclusive = run->plan.partition.len > 0 };

    *out = (struct stretch){ .arena = run->arena,
                             .request = run->source->request,
                             .collection = run->source->collection };
    if (run->state.choice.access == ACCESS_INDEX) {
        TRY(plan_range_spec(run->arena, &run->plan, number, &spec));
        out->index = run->plan.index;
        out->prefix = plan_range_prefix(&run->plan, number);
        out->is_reverse = run->plan.is_reverse;
    }
    out->start = spec.start;
    out->end = spec.end;
    return spec.is_end_inclusive && spec.end.len ? range_behind(run->arena, spec.end, &out->end)
                                                 : STATUS_OK;
}

static void note_points(const struct run *run, struct place_maker *maker)
{
    for (size_t i = 0; i < run->plan.point_count; i++) {
        struct place_key point = { .first = run->plan.points[i].partition,
                                   .second = run->plan.points[i].id };
        place_note(maker, &point);
    }
}

/* Ranges are found again by what they begin with, since some of them come and go. */
static uint64_t range_name(const struct run *run, size_t number)
{
    if (run->state.choice.access != ACCESS_INDEX)
        return 0;
    const struct range *range = &run->plan.ranges[number];
    return bytes_hash(range->start, (uint64_t)range->kind);
}

static status shorten(struct run *run)
{
    bool is_ranked = run->state.choice.access == ACCESS_INDEX && run->plan.is_ranked;
    bytes row = bytes_from(run->state.position, is_ranked ? 2 : 0), written;
    struct buffer built = buffer_in(run->arena);
    size_t room = state_room(&run->state) - sizeof(uint64_t), number = 0;
    struct place_maker maker;
    struct stretch stretch;

    if (run->state.choice.access == ACCESS_POINT) {
        TRY(place_begin(run->arena, &(struct place_key){ .first = row }, room, &maker));
        note_points(run, &maker);
        TRY(place_finish(&maker, run->arena, room, &written));
    } else {
        if (run->state.choice.access == ACCESS_INDEX)
            ASSERT(cursor_range_of(&run->plan, row, &number));
        TRY(open_stretch(run, number, &stretch));
        TRY(stretch_write(&stretch, row, room, &written));
    }
    buffer_append_u64(&built, range_name(run, number));
    buffer_append(&built, written);
    run->state.is_position_short = true;
    return buffer_finish(&built, &run->state.position);
}

status run_leave_state(struct run *run)
{
    bool is_walked = run->state.mode == MODE_STREAM || run->state.mode == MODE_AGGREGATE;
    bool is_where_it_was = run->is_resumed && run->state.position.data == run->position_before;

    run->state.is_position_short &= is_where_it_was;
    if (is_walked && !run->state.is_position_short &&
        run->state.position.len > state_room(&run->state) && run->source->collection)
        TRY(shorten(run));
    return state_write(run->arena, &run->state, &run->page->state);
}

/* ---- coming back ------------------------------------------------------------------------------------ */

/* The position as the cursor has it. */
static status stand_at(struct run *run, const struct stretch_row *found)
{
    struct buffer position = buffer_in(run->arena);

    if (run->state.choice.access == ACCESS_INDEX && run->plan.is_ranked)
        buffer_append_u16(&position, (uint16_t)found->entry_len);
    buffer_append(&position, found->row);
    return buffer_finish(&position, &run->state.position);
}

static status find_point(struct run *run, const struct place *place, bool *is_same_out)
{
    size_t at = 0;
    int order = -1;

    *is_same_out = false;
    for (; at < run->plan.point_count && order < 0; at++) {
        struct stretch_row found = { .is_there = true };
        struct place_key point = { .first = run->plan.points[at].partition,
                                   .second = run->plan.points[at].id };
        order = place_compare(place, &point, NULL);
        if (order != 0)
            continue;
        TRY(arena_join(run->arena, point.first, point.second, &found.row));
        *is_same_out = true;
        return stand_at(run, &found);
    }
    cursor_begin_at(&run->cursor, order > 0 ? at - 1 : at, BYTES_NONE);
    return STATUS_OK;
}

/* The range with that name. One of documents without the value may be gone with the last of them: then the next. */
static status find_range(struct run *run, uint64_t name, const struct place *place, size_t *out,
                         bool *is_found_out)
{
    const struct plan *plan = &run->plan;

    *is_found_out = true;
    for (*out = 0; *out < plan->range_count; ++*out) {
        if (range_name(run, *out) == name)
            return STATUS_OK;
    }
    *is_found_out = false;
    if (run->state.choice.access != ACCESS_INDEX || plan->rest_prefix.len == 0)
        return run_refuse_state(run, status_of(INVALID, "the position is not one of this query"));
    for (*out = 0; *out < plan->range_count; ++*out) {
        const struct range *range = &plan->ranges[*out];
        int order = bytes_compare(range->start, place->front);
        if (range->kind != KIND_MISSING ? !plan->is_reverse
                                        : (plan->is_reverse ? order < 0 : order > 0))
            break;
    }
    return STATUS_OK;
}

/* Storage takes no other bytes in keys. */
static bool is_sound(bytes front)
{
    for (size_t i = 0; i < front.len; i++) {
        if (front.data[i] == 0 || front.data[i] == 0xFF)
            return false;
    }
    return front.len > 0;
}

/* Makes the position one of the cursor again, or lets the cursor begin at what comes behind it. */
static status lengthen(struct run *run, bool *is_same_out)
{
    struct reader reader = reader_of(run->state.position);
    uint64_t name = reader_u64(&reader);
    struct stretch stretch;
    struct stretch_row found = { 0 };
    size_t number = 0;
    bool is_found = true;

    *is_same_out = false;
    if (reader.is_failed || place_read(reader.rest, &run->after).code != OK ||
        !is_sound(run->after.front) || !run->source->collection)
        return run_refuse_state(run, status_of(INVALID, "the position is not one of this query"));
    if (run->state.choice.access == ACCESS_POINT)
        return find_point(run, &run->after, is_same_out);
    if (run->state.choice.access == ACCESS_INDEX)
        TRY(find_range(run, name, &run->after, &number, &is_found));
    if (is_found) {
        TRY(open_stretch(run, number, &stretch));
        TRY(stretch_find(&stretch, &run->after, &found, is_same_out));
    }
    if (*is_same_out)
        return stand_at(run, &found);
    /* The document is not there any more, and none of its rows is to be gone on with. */
    run->state.row = BYTES_NONE;
    cursor_begin_at(&run->cursor, number + (is_found && !found.is_there), found.row);
    if (run->state.choice.access == ACCESS_KEYS && !found.is_there)
        run->plan.choice.access = ACCESS_NOTHING;
    return STATUS_OK;
}

status run_open_cursor(struct run *run)
{
    bool is_walked = run->state.mode == MODE_STREAM || run->state.mode == MODE_AGGREGATE;
    bool is_place = run->state.mode == MODE_SORT || run->query->order_count ||
                    run->query->is_distinct;
    struct query_explain *explain = &run->page->explain;
    bool is_same = true;
    status s = STATUS_OK;

    run->position_before = run->state.position.data;
    run->after = place_of(BYTES_NONE);
    TRY(cursor_open(&run->cursor, &run->plan, run->source, BYTES_NONE, explain));
    if (!run->is_resumed || run->state.position.len == 0)
        return STATUS_OK;
    if (is_walked && run->state.is_position_short)
        TRY(lengthen(run, &is_same));
    else if (is_walked || !is_place)
        run->after = place_of(run->state.position);
    else
        s = place_read(run->state.position, &run->after);
    if (s.code == OK && is_walked && is_same)
        s = cursor_open(&run->cursor, &run->plan, run->source, run->state.position, explain);
    return s.code == INVALID ? run_refuse_state(run, s) : s;
}
