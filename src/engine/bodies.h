/* Inside the engine: rows of a scan that were read in advance, with their documents. */
#ifndef ENGINE_BODIES_H
#define ENGINE_BODIES_H

#include "engine/state.h"

struct bodies_row {
    bytes key, value; /* as the scan has met them */
    uint8_t slot[ROW_SLOT_BYTES];
    bytes body; /* as row_read_body() takes it */
};

/* In the caller's memory, all zero at first; belongs to one scan. */
struct bodies {
    struct arena *arena; /* of the rows; NULL: nothing was read in advance yet */
    struct bodies_row *rows;
    size_t count, given, most;
    size_t body_bytes;
};

/* Takes what was given back, and says how many rows are to be added next, of a collection with so many documents; is_many: as
 * many as there may be. */
MUST_USE status bodies_begin(struct bodies *ahead, uint64_t documents, bool is_many,
                             size_t *most_out);
/* Copies them. True: there is room for more. */
MUST_USE status bodies_add(struct bodies *ahead, bytes key, bytes value, const struct stamp *stamp,
                           bool *has_room_out);
/* The documents of all rows that were added. */
MUST_USE status bodies_fetch(struct bodies *ahead, struct request *request,
                             struct storage_view *view, const struct collection *collection);
/* The next one, valid until bodies_begin(); NULL: all were given. */
const struct bodies_row *bodies_next(struct bodies *ahead);
void bodies_close(struct bodies *ahead);

#endif
