/* A plan while it is made, shared by the files that do it. Private to this room. */
#ifndef QUERY_PLANNER_H
#define QUERY_PLANNER_H

#include "query/plan.h"

/* Ways between which one is chosen. */
enum { CANDIDATES_MAX = CONSTRAINTS_MAX * 2 };

struct planner {
    struct arena *arena;
    const struct query *query;
    const struct query_source *source;
    struct constraints *constraints;
    bool is_partition_whole;
    unsigned in_partition; /* bit i: constraint i is part of the partition */
    unsigned is_fulfilled; /* bit i: ... and all documents there fulfil it */
    struct plan *plan;     /* what all candidates have in common */
    size_t rows;           /* that the chosen one has, or many */
};

/* Is it a path that documents show but do not store? */
bool planner_shows_only(const struct planner *planner, const struct expression *path);
/* Is the expression this dotted path? */
bool planner_is_dotted(const struct expression *expression, const struct path *path);
/* Adds the rows of the stretch, up to `most` in all. */
MUST_USE status planner_count_rows(struct planner *planner, const struct scan_spec *spec,
                                   size_t most, size_t *rows);
/* Finds out what is left to do for each row of a way that fulfils the constraint with this number, CONSTRAINTS_MAX
 * meaning none, and those of the partition. */
void planner_settle(const struct planner *planner, size_t number, struct plan *plan);

/* ---- by key (plan_key.c) ------------------------------------------------------------------------------ */

/* Finds the partition: the source's, and what the condition names of it. */
MUST_USE status planner_partition(struct planner *planner);
/* The documents themselves, if the condition names their whole keys. */
MUST_USE status planner_points(struct planner *planner, bool *is_done_out);

/* ---- by index (plan_index.c) -------------------------------------------------------------------------- */

/* Every index that can answer the constraint with this number, as a plan of its own. */
MUST_USE status planner_add_indexes(struct planner *planner, size_t number, struct plan *candidates,
                                    size_t *count);
/* A shaped index over the path that the query sorts by, NULL if there is none. It has the order, but only of
 * documents with a scalar there. */
MUST_USE status planner_order_index(struct planner *planner, const struct expression *by,
                                    bytes *path_out, const struct index **out);
/* The path as a pattern that ends in ? */
MUST_USE status planner_pattern(struct planner *planner, const struct expression *path, bytes *out);
/* The plan that asks the index for a constraint. */
MUST_USE status planner_index(struct planner *planner, const struct index *index,
                              const struct constraint *constraint, uint32_t number, bytes path,
                              struct plan *out);

/* Further indexes that decide parts of the condition, if the plan asks one for a single value. */
MUST_USE status planner_add_filters(struct planner *planner);

/* ---- by order (plan_order.c) -------------------------------------------------------------------------- */

/* The plan that reads the rows in the order of the query, if an index can give it. */
MUST_USE status planner_order(struct planner *planner, bool is_resumed, struct plan *out,
                              bool *is_found_out);
/* Do enough of its rows fulfil the condition? */
MUST_USE status planner_order_pays(struct planner *planner, const struct plan *plan, bool *out);

/* ---- by composite index (plan_composite.c) ---------------------------------------------------------------------------- */

/* The plan that reads the rows in the order of the query from a composite index; only the one with this id, unless
 * it is 0. */
MUST_USE status planner_composite_order(struct planner *planner, uint32_t index_id,
                                        struct plan *out, bool *is_found_out);
/* Every composite index of which the condition fixes several fields, as a plan of its own. */
MUST_USE status planner_add_composites(struct planner *planner, struct plan *candidates,
                                       size_t *count);
/* Is there one that begins with so many fields that the condition fixes, and has what follows in the query: its order,
 * or a range? */
MUST_USE status planner_composite_serves(struct planner *planner, size_t fixed, bool has_more,
                                         bool *out);

#endif
