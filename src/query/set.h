/* A set of byte strings that numbers its members in the order in which they came. Private to this room. */
#ifndef QUERY_SET_H
#define QUERY_SET_H

#include "base/base.h"

struct set_member {
    bytes key;
    uint64_t hash;
};

struct set {
    struct arena *arena;
    uint64_t salt; /* that its members are hashed with */
    struct set_member *members;
    size_t count, room;
    uint64_t *slots; /* upper half of a hash, number of a member + 1; 0: free */
    size_t slot_count;
};

/* Everything it keeps lives in `arena`, until that is given back. */
struct set set_in(struct arena *arena);
/* The number of the member, which is copied if it is new. TOO_LARGE past LIMIT_QUERY_SET_MEMBERS. */
MUST_USE status set_add(struct set *set, bytes key, size_t *number_out, bool *is_new_out);
/* Its number; false if it is no member. */
bool set_find(const struct set *set, bytes key, size_t *number_out);

#endif
