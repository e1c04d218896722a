/* Spread and percentiles of numbers. Private to this room. */
#ifndef QUERY_STATISTICS_H
#define QUERY_STATISTICS_H

#include "value/value.h"

/* Numbers one by one, by the method of Welford; all zero at first. */
struct spread {
    uint64_t count;
    double mean, squares;
};
void spread_add(struct spread *spread, double number);
/* Null where there are not enough numbers: one, or two for a sample. */
MUST_USE status spread_give(const struct spread *spread, struct arena *arena, bool is_sample,
                            struct value *out);

/* Sorts the numbers; below NaN there is nothing. */
void percentile_sort(double *numbers, size_t count);
/* The least of sorted numbers such that the share `p` of them, 0 to 1, is not above it; count is not 0. */
double percentile_of(const double *sorted, size_t count, double p);
/* [ percentile, ... ] for shares that are an array of numbers, or a single value if it is none; null without
 * numbers. `numbers` get sorted. */
MUST_USE status percentile_give(struct arena *arena, double *numbers, size_t count,
                                struct value shares, struct value *out);

#endif
