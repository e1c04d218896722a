/* What a condition says about single paths, as stretches of encoded values. Private to this room. */
#ifndef QUERY_RANGES_H
#define QUERY_RANGES_H

#include "query/evaluate.h"

/* Encoded values v with start <= v < end; all of one kind. */
struct range {
    bytes start;
    bytes end;
    enum value_kind kind;
    bool is_point; /* exactly one value; start is its encoding */
};

/* Every row for which the condition is true has at `path` a scalar in one of the ranges; or, for
 * is_element, an array at `path` with such an element. No range at all: the condition is never true. */
struct constraint {
    const struct expression *path; /* members of variable 0 */
    bool is_element;
    struct range *ranges; /* ascending, disjoint */
    size_t count, room;
};

enum { CONSTRAINTS_MAX = 16 };

struct constraints {
    struct constraint items[CONSTRAINTS_MAX];
    size_t count;
    bool is_exact; /* the condition is true for every row that fulfils all of them */
};

/* What follows from `where` being true. What is left out (NOT, functions, more than fit) only makes the
 * constraints weaker, never wrong. NULL: nothing follows. */
MUST_USE status ranges_derive(struct arena *arena, const struct expression *where,
                              struct constraints *out);

/* Exactly this encoded value; and the first key behind it and all that begin with it. */
MUST_USE status range_of_key(struct arena *arena, bytes key, enum value_kind kind,
                             struct range *out);
MUST_USE status range_behind(struct arena *arena, bytes key, bytes *out);
/* Any scalar of these kinds at the path. */
MUST_USE status ranges_of_kinds(struct arena *arena, const struct expression *path,
                                const enum value_kind *kinds, size_t count, struct constraint *out);

/* A chain of members of variable 0, at least one. */
bool expression_is_path(const struct expression *expression);
/* The name next to the variable. */
bytes expression_path_first(const struct expression *path);

MUST_USE status range_encode(struct arena *arena, struct value value, bytes *out);
/* As an index over paths holds it: long texts are cut, and then may stand for others too. */
MUST_USE status range_encode_entry(struct arena *arena, struct value value, bytes *out,
                                   bool *is_cut_out);

#endif
