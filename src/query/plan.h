/* How a query gets at its documents. Private to this room. */
#ifndef QUERY_PLAN_H
#define QUERY_PLAN_H

#include "query/ranges.h"

/* What has to stay the same from page to page, so that a position keeps its meaning. */
struct plan_choice {
    enum query_access access;
    uint32_t index_id;
    uint32_t constraint; /* number of the constraint that the index is asked for */
};

/* The number that stands for no constraint: everything, in the order of the query. */
#define PLAN_BY_ORDER UINT32_MAX
/* ... and for several at once, which a composite index answers. */
#define PLAN_BY_COMPOSITE (UINT32_MAX - 1)

/* Documents have to stand in this stretch of an index as well: one value of a path. */
struct plan_filter {
    const struct index *index;
    bytes path;
    bytes stretch; /* what stands in front of the document's key */
};
enum { PLAN_FILTERS_MAX = QUERY_FILTERS };

struct plan {
    struct plan_choice choice;
    /* Documents have to be loaded; otherwise their keys are enough. */
    bool needs_document;
    /* The rows are exactly those for which the condition is true: nobody need ask it again. */
    bool is_decided;
    /* All aggregates are counts of something that every row has. */
    bool counts_rows;
    /* Rows come in the order that the query wants. */
    bool is_ordered;
    /* Partition part of the key, all of it or its front; from the source or from the condition. */
    bytes partition;
    /* ACCESS_POINT: joined document keys, ascending. */
    const struct document_key *points;
    size_t point_count;
    /* ACCESS_INDEX */
    const struct index *index;
    bytes path;   /* as a pattern */
    bytes prefix; /* of all keys of that path */
    bytes
        rest_prefix; /* of those in ranges of KIND_MISSING: documents by shape, see plan_order.c */
    const struct range *ranges;
    size_t range_count; /* in the order in which they are walked */
    bool is_reverse;
    struct plan_filter filters[PLAN_FILTERS_MAX];
    size_t filter_count;
    int64_t choosing_ns; /* how long it took to choose, if somebody asked */
    /* The index is composite: the prefix stands for the fields that are fixed, and ranges are of its next field, or
     * there is one without bounds. */
    bool is_ranked;
    size_t fixed_fields; /* ... which stands for so many of its fields */
};

/* `wanted` is the choice of an earlier page, NULL for the first one. INVALID if it cannot be followed
 * any more. */
MUST_USE status plan_make(struct arena *arena, const struct query *query,
                          const struct query_source *source, const struct plan_choice *wanted,
                          struct plan *out);

/* In a composite index, what rows with this value in the first field behind the fixed ones begin with, behind the
 * prefix; empty if that field is not the one at `path`. */
MUST_USE status plan_ranked_entry(struct arena *arena, const struct plan *plan,
                                  const struct expression *path, enum value_kind kind, bytes value,
                                  bytes *out);

/* What stands in front of the encoded value in keys of its range number `number`. */
bytes plan_range_prefix(const struct plan *plan, size_t number);
/* The stretch of the index that is that range. */
MUST_USE status plan_range_spec(struct arena *arena, const struct plan *plan, size_t number,
                                struct scan_spec *spec);

#endif
