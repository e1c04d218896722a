/* The indexing policy of a container: which paths of its items are indexed, and when. */
#ifndef FRONT_COSMOS_INDEXING_POLICY_H
#define FRONT_COSMOS_INDEXING_POLICY_H

#include "front/cosmos/call.h"

enum indexing_mode {
    INDEXING_CONSISTENT, /* with each write */
    INDEXING_LAZY,       /* behind the writes */
    INDEXING_NONE,
};

/* The service has such limits too; it allows more indexes, but a collection has LIMIT_INDEXES in all. */
enum { COMPOSITES_MAX = 48, COMPOSITE_PATHS_MIN = 2, COMPOSITE_PATHS_MAX = 8 };

struct composite_index {
    size_t count;
    bytes paths[COMPOSITE_PATHS_MAX]; /* dotted */
    bool is_descending[COMPOSITE_PATHS_MAX];
};

/* Path patterns as the engine takes them. In the arena of the call. */
struct indexing_policy {
    enum indexing_mode mode;
    size_t included_count, excluded_count;
    bytes *included;
    bytes *excluded;
    size_t composite_count;
    struct composite_index *composites;
};

/* Checks a policy as a client may give it (VALUE_MISSING: none at all), fills in what the client left out and
 * appends it to `definition` under its name. FAIL_BAD_REQUEST with what is wrong. */
MUST_USE status indexing_policy_read(struct call *call, struct value given,
                                     struct buffer *definition, struct indexing_policy *out);

#endif
