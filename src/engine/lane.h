/* Inside the engine: counters per lane and second, see lane.c. */
#ifndef ENGINE_LANE_H
#define ENGINE_LANE_H

#include "engine/state.h"

MUST_USE status lanes_load(struct engine *engine, struct collection_state *state);
/* On the committing thread, before anything of the commit was appended: room for `more` deltas. */
bool group_reserve(struct engine *engine, size_t more);
void group_note(struct engine *engine, struct collection_state *state, const struct stamp *stamp,
                int direction);
void group_before_write(void *engine, struct storage_batch *batch);
void group_after_write(void *engine, bool is_written);

/* The counters of seconds from_s..upto_s of a lane, both included. */
MUST_USE status slices_open(struct engine *engine, struct arena *arena,
                            const struct collection_state *state, unsigned lane, int64_t from_s,
                            int64_t upto_s, struct storage_scan **out);
bool slices_next(struct storage_scan *scan, int64_t *second_out, struct storage_counters *out);
MUST_USE status lane_sum(struct engine *engine, struct arena *arena,
                         const struct collection_state *state, unsigned lane, int64_t from_s,
                         int64_t upto_s, struct storage_counters *out);
/* NOT_FOUND if the lane is empty. */
MUST_USE status lane_first_second(struct engine *engine, struct arena *arena,
                                  const struct collection_state *state, unsigned lane,
                                  int64_t *second_out);
/* Documents of a date lane that are dead within the second in which the horizon stands; without a view, as of now. */
MUST_USE status lane_border(struct engine *engine, struct storage_view *view, struct arena *arena,
                            const struct collection *collection, unsigned lane, time_ms horizon,
                            struct storage_counters *out);
/* How far a lane was cut off, as stored; INT64_MIN and 0 if it never was. */
struct lane_cut {
    time_ms upto;
    uint64_t seq;
};
MUST_USE status lane_cut_read(struct engine *engine, struct storage_view *view, struct arena *arena,
                              const struct collection_state *state, unsigned lane,
                              struct lane_cut *out);
/* After a lane was cut off up to and including an order. */
void lane_forget_cut(struct engine *engine, struct collection_state *state, unsigned lane,
                     time_ms upto, uint64_t seq, struct storage_counters cut);
uint64_t lanes_document_count(struct engine *engine, const struct collection_state *state);
bool lanes_are_empty(struct engine *engine, struct collection_state *state);
bool lanes_were_cut(const struct collection_state *state);

#endif
