/* Rows that lie side by side: those of a range of an index, or of a partition; and places among them. Private to
 * this room. */
#ifndef QUERY_STRETCH_H
#define QUERY_STRETCH_H

#include "engine/engine.h"
#include "query/place.h"

struct stretch {
    struct arena *arena;
    struct request *request;
    const struct collection *collection;
    const struct index *index; /* NULL: by key */
    bytes prefix;              /* stands in front of each row and is left out of places */
    bytes start, end;          /* with the prefix; an empty end is none */
    bool is_reverse;
};

struct stretch_row {
    bool is_there;
    bytes row;        /* without the prefix */
    size_t entry_len; /* how much of it is the index's; the rest is the document's key */
};

/* The place of a row, in about `room` bytes at most. TOO_LARGE if it cannot be said in so few. */
MUST_USE status stretch_write(const struct stretch *stretch, bytes row, size_t room, bytes *out);
/* The row itself if it is still there, otherwise the first one behind it. */
MUST_USE status stretch_find(const struct stretch *stretch, const struct place *place,
                             struct stretch_row *out, bool *is_same_out);

#endif
