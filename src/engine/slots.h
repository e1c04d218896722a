/* Inside the engine: the living documents of a collection in the order of their slots, or a stretch of them. */
#ifndef ENGINE_SLOTS_H
#define ENGINE_SLOTS_H

#include "engine/state.h"

/* Living bytes of a collection from which on a walk over all of it is a long one, and worth several threads. */
enum { SLOTS_LONG_BYTES = 4 << 20 };

/* In the caller's memory; belongs to one thread at a time, several may walk in one view. */
struct slot_walk {
    const struct collection *collection;
    struct arena *arena; /* what is taken from it is given back at once */
    time_ms now;
    struct storage_scan *rows;
    time_ms horizons[LANE_COUNT];
    bool has_horizons;
    bytes stop;           /* set later: where it ends before the end of its range; borrowed */
    bytes key;            /* the slot; borrowed until the next step, as the body is */
    struct row_body body; /* of the document that it stands at */
    status failure;
};

/* From `start` on, up to `end`; empty ones: all. `is_long`: megabytes of them are going to be walked. */
MUST_USE status slot_walk_open(struct slot_walk *walk, struct request *request,
                               struct storage_view *view, const struct collection *collection,
                               struct arena *arena, bytes start, bytes end, bool is_long);
/* False at the end or on failure. */
bool slot_walk_next(struct slot_walk *walk);
MUST_USE status slot_walk_status(const struct slot_walk *walk);
void slot_walk_close(struct slot_walk *walk);

#endif
