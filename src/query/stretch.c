/* Stretch: rows that lie side by side, and places among them.
 *
 * Which rows part from a given one, and at which depth, is found by looking at the nearest row on either side, then
 * at the nearest that has less in common with it, and so on: a handful of looks, however many rows there are. Going
 * back to a place is the same way backwards: whoever is met on the wrong side says how far to jump.
 *
 * Threads: belongs to its request. Start reading at stretch_write() and stretch_find(). */
#include "query/stretch.h"

#include "query/page.h"
#include "query/ranges.h"

/* So many rows are looked at on each side; more would not fit into a place. */
enum { LOOKS_MAX = LIMIT_QUERY_STATE_BYTES };

/* ---- looking ---------------------------------------------------------------------------------------- */

/* The first row at or behind `low`, or the last one before `high`; both without the prefix. */
static status look(const struct stretch *s, bytes low, bytes high, bool is_reverse,
                   struct stretch_row *out)
{
    struct arena *arena = s->arena;
    struct scan_spec spec = {
        .index = s->index, .start = s->start, .end = s->end, .is_reverse = is_reverse
    };
    struct scan_row row;
    struct scan *scan;
    bytes joined;

    *out = (struct stretch_row){ 0 };
    TRY(arena_join(arena, s->prefix, is_reverse ? high : low, &joined));
    if (!is_reverse && bytes_compare(joined, spec.start) > 0)
        spec.start = joined;
    if (is_reverse && (spec.end.len == 0 || bytes_compare(joined, spec.end) < 0))
        spec.end = joined;
    if (spec.end.len && bytes_compare(spec.start, spec.end) >= 0)
        return STATUS_OK;
    TRY(scan_open(s->request, s->collection, &spec, &scan));
    out->is_there = scan_next(scan, &row);
    status result = scan_status(scan);
    if (result.code == OK && out->is_there) {
        out->entry_len = row.index_key.len - (s->index ? s->prefix.len : 0);
        result = arena_copy(arena, bytes_from(scan_position(scan), s->prefix.len), &out->row);
    }
    scan_close(scan);
    return result;
}

/* The string with another byte behind it: what comes right behind it, or where it could go on. */
static status extend(struct arena *arena, bytes front, uint8_t byte, bytes *out)
{
    struct buffer built = buffer_in(arena);

    buffer_append(&built, front);
    buffer_append_byte(&built, byte);
    return buffer_finish(&built, out);
}

/* ---- writing ---------------------------------------------------------------------------------------- */

/* Notes the nearest row on one side, then the nearest that has less in common with the key, and so on. */
static status note_side(const struct stretch *s, struct place_maker *maker, bool is_before)
{
    struct arena *arena = s->arena;
    bytes low, high = maker->key;
    struct stretch_row found;

    TRY(extend(arena, maker->key, 1, &low));
    for (size_t i = 0; i < LOOKS_MAX; i++) {
        TRY(look(s, low, high, is_before, &found));
        if (!found.is_there)
            return STATUS_OK;
        size_t common = place_note(maker, &(struct place_key){ .first = found.row });
        if (common <= maker->front)
            return STATUS_OK;
        high = bytes_of(maker->key.data, common);
        TRY(range_behind(arena, high, &low));
    }
    return STATUS_OK;
}

status stretch_write(const struct stretch *s, bytes row, size_t room, bytes *out)
{
    struct place_maker maker;

    TRY(place_begin(s->arena, &(struct place_key){ .first = row }, room, &maker));
    TRY(note_side(s, &maker, true));
    TRY(note_side(s, &maker, false));
    return place_finish(&maker, s->arena, room, out);
}

/* ---- finding ---------------------------------------------------------------------------------------- */

/* Where the walk goes on from a row that is on the side of the place that was given. */
static status skip_behind(const struct stretch *s, const struct stretch_row *found,
                          const struct place_parting *parting, int order, bytes *low, bytes *high)
{
    struct arena *arena = s->arena;
    bool can_jump = order != 0 && parting->byte > 0 && parting->byte < 0xFF &&
                    parting->depth < found->row.len;

    if (can_jump) {
        bytes front = bytes_of(found->row.data, parting->depth);
        TRY(extend(arena, front, (uint8_t)parting->byte, low));
        return range_behind(arena, *low, high);
    }
    *high = found->row;
    return extend(arena, found->row, 1, low);
}

status stretch_find(const struct stretch *s, const struct place *place, struct stretch_row *out,
                    bool *is_same_out)
{
    bytes low = place->front, high;

    *is_same_out = false;
    TRY(range_behind(s->arena, place->front, &high));
    for (;;) {
        struct place_parting parting;
        TRY(look(s, low, high, s->is_reverse, out));
        if (!out->is_there)
            return STATUS_OK;
        int order = place_compare(place, &(struct place_key){ .first = out->row }, &parting);
        *is_same_out = order == 0 && place_is(place, out->row);
        if (*is_same_out || (s->is_reverse ? order < 0 : order > 0))
            return STATUS_OK;
        TRY(skip_behind(s, out, &parting, order, &low, &high));
    }
}

/* ---- positions of scans by key ----------------------------------------------------------------------- */

enum { AS_IT_IS = 0, AS_A_PLACE = 1 };

static status open_keys(struct request *request, const struct collection *collection,
                        const struct scan_spec *spec, struct stretch *out)
{
    *out = (struct stretch){
        .arena = request->arena, .request = request, .collection = collection, .start = spec->start
    };
    return spec->end.len ? range_behind(request->arena, spec->end, &out->end) : STATUS_OK;
}

status query_leave_scan(struct request *request, const struct collection *collection,
                        const struct scan_spec *spec, bytes position, bytes *state_out)
{
    bool is_short = position.len >= LIMIT_QUERY_STATE_BYTES;
    struct buffer state = buffer_in(request->arena);
    struct stretch stretch;

    if (is_short) {
        TRY(open_keys(request, collection, spec, &stretch));
        TRY(stretch_write(&stretch, position, LIMIT_QUERY_STATE_BYTES - 1, &position));
    }
    buffer_append_byte(&state, is_short ? AS_A_PLACE : AS_IT_IS);
    buffer_append(&state, position);
    return buffer_finish(&state, state_out);
}

status query_return_to_scan(struct request *request, const struct collection *collection,
                            bytes state, struct scan_spec *spec, bool *is_over_out)
{
    struct stretch stretch;
    struct stretch_row row;
    struct place place;
    bool is_same;

    *is_over_out = false;
    if (state.len == 0 || state.data[0] == AS_IT_IS) {
        spec->after = bytes_from(state, state.len ? 1 : 0);
        return STATUS_OK;
    }
    TRY(place_read(bytes_from(state, 1), &place));
    TRY(open_keys(request, collection, spec, &stretch));
    TRY(stretch_find(&stretch, &place, &row, &is_same));
    *is_over_out = !row.is_there;
    if (is_same)
        spec->after = row.row;
    else if (row.is_there)
        spec->start = row.row;
    return STATUS_OK;
}
