/* Accumulators, as languages build them: one value of many rows. */
#ifndef QUERY_ACCUMULATOR_H
#define QUERY_ACCUMULATOR_H

#include "query/formula.h"

enum accumulator_kind {
    ACCUMULATE_SUM,
    ACCUMULATE_AVERAGE,
    ACCUMULATE_MIN,
    ACCUMULATE_MAX,
    ACCUMULATE_FIRST,
    ACCUMULATE_LAST,
    ACCUMULATE_PUSH,
    ACCUMULATE_ADD_TO_SET,
    ACCUMULATE_MERGE,
    ACCUMULATE_DEVIATION,
    ACCUMULATE_DEVIATION_OF_SAMPLE,
    ACCUMULATE_PERCENTILE, /* see `shares` */
    ACCUMULATE_FIRST_N,
    ACCUMULATE_LAST_N,
    ACCUMULATE_MAX_N,
    ACCUMULATE_MIN_N,
    ACCUMULATE_TOP, /* by `order` */
    ACCUMULATE_TOP_N,
    ACCUMULATE_BOTTOM,
    ACCUMULATE_BOTTOM_N,
};

struct accumulator {
    bytes name;
    enum accumulator_kind kind;
    const struct formula *of;
    const struct formula *n; /* how many, where that is asked; of the id of the group */
    const struct order *order;
    struct value shares; /* a number from 0 to 1, or an array of them */
};

#endif
