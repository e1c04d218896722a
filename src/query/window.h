/* Windows: what a stage computes for each row of the rows around it, in an order and within a partition. */
#ifndef QUERY_WINDOW_H
#define QUERY_WINDOW_H

#include "query/accumulator.h"

enum window_kind {
    WINDOW_ACCUMULATE, /* `accumulator` over the window */
    WINDOW_RANK,
    WINDOW_DENSE_RANK,
    WINDOW_NUMBER,
    WINDOW_SHIFT,      /* `of` of the row `shift` rows away, else `otherwise` */
    WINDOW_AVERAGE,    /* exponential moving average of `of`, see `alpha` */
    WINDOW_DERIVATIVE, /* of `of` by the value of the order */
    WINDOW_INTEGRAL,   /* the same */
    WINDOW_COVARIANCE, /* of `of` and `other` */
    WINDOW_COVARIANCE_OF_SAMPLE,
    WINDOW_FILL_LINEAR, /* `of`; null between two numbers by the value of the order */
    WINDOW_FILL_LAST,   /* `of`; null by the last one that is not */
};

enum window_edge { WINDOW_UNBOUNDED, WINDOW_OFFSET }; /* the current row is the offset 0 */

struct window_bound {
    enum window_edge edge;
    double offset;
};

struct window {
    bytes path; /* where the result is put */
    enum window_kind kind;
    struct accumulator accumulator;
    const struct formula *of, *other, *otherwise;
    bool is_range; /* bounds are values of the order, not rows */
    struct window_bound lower, upper;
    bytes unit;        /* of time, of the bounds of a range; may be empty */
    bytes result_unit; /* of time, of $derivative and $integral; may be empty */
    int64_t shift;
    double alpha;
};

enum densify_bounds { DENSIFY_FULL, DENSIFY_PARTITION, DENSIFY_BETWEEN };

struct densify_partition {
    bytes path;
    const struct formula *formula;
};

/* Rows for the values of a field that are missing between others. */
struct densify {
    bytes path;
    const struct formula *field;
    const struct densify_partition *partitions;
    size_t partition_count;
    struct value step;
    bytes unit; /* of time, for dates; empty for numbers */
    enum densify_bounds bounds;
    struct value low, high; /* of DENSIFY_BETWEEN: from the one to below the other */
};

#endif
