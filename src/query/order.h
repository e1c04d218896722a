/* Orders of documents by dotted paths, as an index over the same paths has them.
 *
 * A document's place is a string of bytes; memcmp orders places. A path that reaches several values through an
 * array counts with the least of them, or the greatest where the order descends; what is not there is null, an
 * empty array undefined. Private to this room and the faces. */
#ifndef QUERY_ORDER_H
#define QUERY_ORDER_H

#include "engine/engine.h"

struct order_part {
    bytes path;
    bool is_descending;
    bool is_score; /* by how well documents fit a search, instead of a path; the best first */
};

struct order {
    size_t count;
    const struct order_part *parts;
    const struct index *index; /* the same paths as an index that exists nowhere */
    bool has_score;
    const struct collation *collation; /* of texts */
};

/* `parts` are copied, their paths borrowed. INVALID for paths that are none; none at all is allowed. Texts are in
 * the order of the collation, which may be NULL. */
MUST_USE status order_make(struct arena *arena, const struct collation *by,
                           const struct order_part *parts, size_t count, const struct order **out);
/* In `arena`. INVALID for a document with arrays in two of the paths side by side. */
MUST_USE status order_key(const struct order *order, struct arena *arena, bytes document,
                          bytes *out);

/* The same of a document with this score. */
MUST_USE status order_key_scored(const struct order *order, struct arena *arena, bytes document,
                                 double score, bytes *out);

#endif
