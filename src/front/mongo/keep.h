/* What the face keeps of its own in the options of a collection: a document under one key. What others keep
 * there stays as it is. Inside the face only. */
#ifndef FRONT_MONGO_KEEP_H
#define FRONT_MONGO_KEEP_H

#include "front/mongo/command.h"

/* The name under which the engine keeps the expiry of a clustered or a time-series collection. */
#define KEEP_CLUSTERED_INDEX "$clustered"

/* Each is a document or empty. */
struct keep {
    bytes options;     /* of create, as listCollections shows them */
    bytes stamp_index; /* the row of the index on _ts, if a client of this face has made it */
    bytes id_index;    /* what the row of the index on _id has beside: clustered */
};

/* Borrows from the options. */
struct keep keep_read(bytes collection_options);
/* The options with this in them, in the arena. */
MUST_USE status keep_write(struct arena *arena, bytes collection_options, const struct keep *keep,
                           bytes *out);
/* An option of create, VALUE_MISSING without it. */
struct value keep_option(const struct collection *collection, const char *name);
/* The options with one of them set, or taken out with VALUE_MISSING. */
MUST_USE status keep_set_option(struct arena *arena, bytes options, const char *name,
                                struct value value, bytes *out);
/* Indexes that clients know of, that on _id included. */
size_t keep_index_count(const struct collection *collection);
bool keep_is_view(const struct collection *collection);
bool keep_is_clustered(const struct collection *collection);

#endif
