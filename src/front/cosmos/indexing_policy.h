/* The indexing policy of a container: which paths of its items are indexed, and when. */
#ifndef FRONT_COSMOS_INDEXING_POLICY_H
#define FRONT_COSMOS_INDEXING_POLICY_H

#include "front/cosmos/call.h"

enum indexing_mode {
    INDEXING_CONSISTENT, /* with each write */
    INDEXING_LAZY,       /* behind the writes */
    INDEXING_NONE,
};

/* Path patterns as the engine takes them. In the arena of the call. */
struct indexing_policy {
    enum indexing_mode mode;
    size_t included_count, excluded_count;
    bytes *included;
    bytes *excluded;
};

/* Checks a policy as a client may give it (VALUE_MISSING: none at all), fills in what the client left out and
 * appends it to `definition` under its name. FAIL_BAD_REQUEST with what is wrong. */
MUST_USE status indexing_policy_read(struct call *call, struct value given,
                                     struct buffer *definition, struct indexing_policy *out);

#endif
