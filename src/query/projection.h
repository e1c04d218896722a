/* Projections: which parts of a document are given.
 *
 * A projection is a tree of names. It either keeps what it names (and _id, unless it says no), or leaves out
 * what it names; single places may instead be computed, cut to a slice, or reduced to one element of an array.
 * Trees are immutable, in the arena they were built in, usable by every thread.
 *
 *   TRY(projection_apply(projection, &run, document, &out));     `out` in run.arena or the document itself */
#ifndef QUERY_PROJECTION_H
#define QUERY_PROJECTION_H

#include "query/match.h"

enum projection_kind {
    PROJECT_KEEP,
    PROJECT_DROP,
    PROJECT_COMPUTE, /* `formula` instead of what is there */
    PROJECT_SLICE,   /* the elements [skip, skip + limit) of an array, from the end if skip < 0 */
    PROJECT_ELEMENT, /* the first element of an array for which `match` holds */
    PROJECT_POSITIONAL, /* the element of the array that the condition of the find has met */
    PROJECT_INSIDE,     /* see `children` */
};

struct names;

struct projection_node {
    bytes name; /* first, see names.h */
    enum projection_kind kind;
    bool computes; /* PROJECT_COMPUTE, or inside of it is one */
    const struct formula *formula;
    int64_t skip, limit;       /* PROJECT_SLICE; limit INT64_MAX if all */
    const struct match *match; /* PROJECT_ELEMENT */
    struct projection_node *children, *last_child, *next;
    uint32_t number;     /* in the tree, from 1; the root is 0 */
    struct names *names; /* of the children */
};

struct projection {
    bool is_inclusion;
    bool keeps_id;
    bool adds_only; /* everything is kept, computed places are put in: $addFields */
    bool needs_position;
    struct projection_node *root;
    size_t node_count; /* without the root */
};

struct projection_run {
    struct arena *arena;
    struct formula_run *formulas; /* root and current are set here; may be NULL without formulas */
    bool has_position;
    size_t position;
    int32_t refusal; /* on INVALID, see struct formula_run */
};

MUST_USE status projection_apply(const struct projection *projection, struct projection_run *run,
                                 bytes document, bytes *out);

/* Is it nothing but top-level fields that are kept, without _id? Then their names, in `arena`. */
MUST_USE status projection_names(const struct projection *projection, struct arena *arena,
                                 const bytes **out, size_t *count_out);

/* ---- building ---------------------------------------------------------------------------------------- */

/* A node of this kind at a dotted path. INVALID if the path goes through, or ends inside of, another one that is there
 * already. */
MUST_USE status projection_add(struct arena *arena, struct projection *projection, bytes path,
                               enum projection_kind kind, struct projection_node **out);

#endif
