/* Inside the engine: rows of a scan that were read in advance, with their documents: many as they lie, or a few at once. */
#ifndef ENGINE_BODIES_H
#define ENGINE_BODIES_H

#include "engine/state.h"

struct bodies_row {
    bytes key, value; /* as the scan has met them */
    uint8_t slot[ROW_SLOT_BYTES];
    uint64_t seq;
    bytes body; /* as row_read_body() takes it */
};

/* The document of one of a few rows. */
struct bodies_found {
    bool is_there;
    struct storage_value pin;
    struct row_body body; /* borrowed from the pin */
};

/* In the caller's memory, all zero at first; belongs to one scan. */
struct bodies {
    struct arena *arena; /* of the rows; NULL: nothing was read in advance yet */
    struct bodies_row *rows;
    size_t count, given, most;
    size_t body_bytes, body_bytes_max;
    struct bodies_found *found; /* one for each row, if they are few; else NULL */
};

/* Takes what was given back, and says how many rows are to be added next, of a collection with so many documents; is_many: as
 * many as there may be. */
MUST_USE status bodies_begin(struct bodies *ahead, uint64_t documents, bool is_many,
                             size_t *most_out);
/* The same for at most so many, BODIES_FEW_MAX at the most. Owner: handle, whatever is found is let go by bodies_forget(). */
enum { BODIES_FEW_MAX = 16 };
MUST_USE status bodies_begin_few(struct bodies *ahead, size_t most);
/* Copies them. True: there is room for more. */
MUST_USE status bodies_add(struct bodies *ahead, bytes key, bytes value, const struct stamp *stamp,
                           bool *has_room_out);
/* The documents of all rows that were added. */
MUST_USE status bodies_fetch(struct bodies *ahead, struct request *request,
                             struct storage_view *view, const struct collection *collection);
/* The same of a few; those that are recalled, or cannot be read, are left out. */
void bodies_fetch_few(struct bodies *ahead, struct request *request, struct storage_view *view,
                      const struct collection *collection);
/* The next one, valid until bodies_begin() or bodies_forget(); NULL: all were given. */
const struct bodies_row *bodies_next(struct bodies *ahead);
/* The document of the row that was given last; it is the caller's from now on, with its pin. False: it is not here. */
bool bodies_take(struct bodies *ahead, struct storage_value *pin_out, struct row_body *out);
/* No row is given any more. */
void bodies_forget(struct bodies *ahead, struct storage *storage);
void bodies_close(struct bodies *ahead, struct storage *storage);

#endif
