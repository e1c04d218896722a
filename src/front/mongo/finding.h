/* Documents that a cursor gives: found, ordered, cut to what is wanted. Inside the face only. */
#ifndef FRONT_MONGO_FINDING_H
#define FRONT_MONGO_FINDING_H

#include "front/mongo/select.h"
#include "front/mongo/stream.h"

/* Everything is copied. */
struct finding_wish {
    bytes filter, let, sort, projection; /* documents, each may be empty */
    struct value hint;
    bytes min, max;                    /* documents, or empty */
    const struct collation *collation; /* of texts; NULL: by their bytes */
    int64_t skip;
    int64_t limit;    /* negative: no limit */
    bool is_tailable; /* of a capped collection, in natural order */
};

/* The stream gives these documents of the collection; nothing if that is NULL. Raises a fault for what is not
 * acceptable, in either case. */
MUST_USE status finding_open(struct command *command, const struct collection *collection,
                             const struct finding_wish *wish, struct stream *stream);

#endif
