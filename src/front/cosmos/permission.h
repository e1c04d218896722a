/* The resource that a permission is for: as the client wrote it, and what was found by it. */
#ifndef FRONT_COSMOS_PERMISSION_H
#define FRONT_COSMOS_PERMISSION_H

#include "front/cosmos/call.h"

/* In the arena of the call. */
struct permission_target {
    struct rid resource; /* database or container */
    bytes item;          /* id of the item, empty: all */
    size_t path_count;   /* of the container's partition key; 0 for a database */
};

/* "dbs/{d}", "dbs/{d}/colls/{c}" or "dbs/{d}/colls/{c}/docs/{i}", by names or resource ids, within the
 * database of the call. FAIL_BAD_REQUEST for other links, FAIL_NOT_FOUND. */
MUST_USE status permission_find_target(struct call *call, bytes link,
                                       struct permission_target *out);

#endif
