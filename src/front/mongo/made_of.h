/* What the rows that a cursor has computed in advance were made of, and whether they may still be given: each batch has
 * its own now. Inside the face only. */
#ifndef FRONT_MONGO_MADE_OF_H
#define FRONT_MONGO_MADE_OF_H

#include "engine/engine.h"

enum { MADE_OF_COLLECTIONS_MAX = 16 };

struct made_of {
    /* The first death among the documents that are hidden in rows, by what is known of it. */
    time_ms right_until;
    size_t count;
    bool is_full; /* there are more collections */
    struct made_of_collection {
        uint32_t id;
        uint64_t picture, writes;
    } collections[MADE_OF_COLLECTIONS_MAX];
};

void made_of_nothing(struct made_of *made_of);
/* Documents of it will be hidden in rows; called before the first of them is read. */
void made_of_add(struct made_of *made_of, const struct collection *collection);
/* Is nobody of them dead at the moment of the request? When in doubt, no. */
bool made_of_living(const struct made_of *made_of, const struct request *request);

#endif
