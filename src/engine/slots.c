/* Slots: walking documents as they lie.
 *
 * Every body carries its stamp, so it is judged where it is met, and what lies below the horizon of a lane is
 * jumped over without being met at all.
 *
 * Keeps: no dead document is stood at.
 * Threads: a walk belongs to one thread; many may go on at once, in one view. */
#include "engine/slots.h"

status slot_walk_open(struct slot_walk *walk, struct request *request, struct storage_view *view,
                      const struct collection *collection, struct arena *arena, bytes start,
                      bytes end, bool is_long)
{
    const struct storage_range range = { .start = start.len ? start : BYTES_LITERAL("\x01"),
                                         .end = end,
                                         .is_bulk = is_long };

    *walk = (struct slot_walk){
        .collection = collection, .arena = arena, .now = request->now, .failure = STATUS_OK
    };
    for (unsigned lane = 0; lane < LANE_COUNT; lane++) {
        walk->horizons[lane] = expiry_lane_horizon(&collection->policy, lane, request->now);
        walk->has_horizons |= walk->horizons[lane] != INT64_MIN;
    }
    return storage_scan_open(request->storage, view,
                             address(collection->state->partition, SPACE_BODIES), &range,
                             &walk->rows);
}

void slot_walk_close(struct slot_walk *walk)
{
    storage_scan_close(walk->rows);
    walk->rows = NULL;
}

status slot_walk_status(const struct slot_walk *walk)
{
    return walk->failure.code != OK ? walk->failure : storage_scan_status(walk->rows);
}

static bool fail(struct slot_walk *walk, status why)
{
    walk->failure = why;
    return false;
}

/* Jumps over what lies below the lane's horizon; true if it jumped. */
static bool skip_dead_stretch(struct slot_walk *walk, unsigned lane, time_ms order)
{
    time_ms upto = walk->horizons[lane];
    bytes key;

    /* Every stretch is skipped once: the horizon of a lane that was jumped is taken away. */
    if (upto == INT64_MIN || order > upto)
        return false;
    arena_position mark = arena_mark(walk->arena);
    struct buffer target = buffer_in(walk->arena);
    walk->horizons[lane] = INT64_MIN;
    row_key_lane_from(&target, lane, int64_add_saturating(upto, 1));
    status s = buffer_finish(&target, &key);
    if (s.code == OK)
        storage_scan_seek(walk->rows, key);
    arena_release(walk->arena, mark);
    return s.code == OK;
}

/* Only documents older than a TTL index need more than their stamp. */
static enum verdict judge(struct slot_walk *walk)
{
    const struct expiry_policy *policy = &walk->collection->policy;
    enum verdict verdict = expiry_judge(policy, &walk->body.stamp, walk->now);

    if (verdict != UNDECIDED)
        return verdict;
    arena_position mark = arena_mark(walk->arena);
    verdict = expiry_judge_document(policy, &walk->body.stamp, walk->body.document, walk->arena,
                                    walk->now);
    arena_release(walk->arena, mark);
    return verdict;
}

bool slot_walk_next(struct slot_walk *walk)
{
    bytes value;
    unsigned lane;
    time_ms order;
    uint64_t seq;

    while (walk->failure.code == OK && storage_scan_next(walk->rows, &walk->key, &value)) {
        if (walk->stop.len && bytes_compare(walk->key, walk->stop) >= 0)
            return false;
        if (walk->key.len != ROW_SLOT_BYTES ||
            (walk->has_horizons && !row_slot_of(walk->key, &lane, &order, &seq)))
            return fail(walk, status_of(CORRUPT, "a stored slot key is damaged"));
        if (walk->has_horizons && skip_dead_stretch(walk, lane, order))
            continue;
        if (!row_read_body(value, &walk->body))
            return fail(walk, status_of(CORRUPT, "a stored document is damaged"));
        if (judge(walk) != DEAD)
            return true;
    }
    return false;
}
