/* Containers: their definition as clients give and read it, and the collection and indexes behind it. */
#ifndef FRONT_COSMOS_CONTAINER_H
#define FRONT_COSMOS_CONTAINER_H

#include "base/limits.h"
#include "front/cosmos/call.h"
#include "front/cosmos/indexing_policy.h"
#include "front/cosmos/sql.h"

enum { UNIQUE_KEYS_MAX = 10, UNIQUE_KEY_PATHS_MAX = 16 };

struct unique_key {
    size_t count;
    bytes paths[UNIQUE_KEY_PATHS_MAX]; /* dotted */
};

/* A definition that was checked, with all its defaults. In the arena of the call. */
struct container_definition {
    bytes document; /* everything but id and defaultTtl, as it is stored and shown */
    size_t partition_path_count;
    bytes partition_paths[LIMIT_PARTITION_KEY_PATHS]; /* dotted */
    struct indexing_policy policy;
    size_t unique_key_count;
    struct unique_key unique_keys[UNIQUE_KEYS_MAX];
};

/* Reads the definition in a body. What it does not say is as in `old`, the document of the definition that it
 * replaces; without one (empty) it gets its default. FAIL_BAD_REQUEST with what is wrong, also for a change of
 * what cannot change. */
MUST_USE status container_definition_read(struct call *call, bytes body, bytes old,
                                          struct container_definition *out);
/* Vector indexes have to be described in the embedding policy, and a replace cannot change them (called by the
 * function above). */
MUST_USE status container_vectors_check(struct call *call, bytes definition, bytes old);
/* How the shapes and vectors of its items are meant; borrowed from the collection. */
struct query_meaning container_meaning(const struct collection *collection);
/* The array of computed properties in a body (called by the function above): names and queries. */
MUST_USE status container_computed_check(struct call *call, struct value given);
/* Those of a container, for queries over it; in the arena of the call. */
MUST_USE status container_computed(struct call *call, const struct collection *collection,
                                   struct sql_properties *out);
/* The document of a container's definition. One that another face has made has the default one. */
MUST_USE status container_definition_of(struct call *call, const struct collection *collection,
                                        bytes *out);
/* The property defaultTtl of a body: TTL_OFF, TTL_NEVER or seconds (C-2). FAIL_BAD_REQUEST. */
MUST_USE status container_default_ttl(struct call *call, bytes body, int32_t *out);

/* ---- indexes (container_index.c) -------------------------------------------------------------------- */

/* The index over the paths of the policy; NULL if the mode is none. */
const struct index *container_path_index(const struct collection *collection);
/* All indexes of a new container: that one, one per composite index, and one per unique key. */
struct container_indexes {
    size_t count;
    struct index_definition definitions[1 + COMPOSITES_MAX + UNIQUE_KEYS_MAX];
};
MUST_USE status container_indexes_make(struct call *call,
                                       const struct container_definition *definition,
                                       struct container_indexes *out);
/* What has to change of an existing container's indexes, put into `change`. A rebuild is wanted where TTL is
 * switched on in lazy mode (C-10). */
MUST_USE status container_indexes_change(struct call *call,
                                         const struct container_definition *definition,
                                         bool wants_rebuild, struct collection_change *change);

#endif
