/* How long replies took: counts in buckets of 3 % from a microsecond to a minute, so that no memory is taken while
 * time is measured. */
#ifndef BENCH_LATENCY_H
#define BENCH_LATENCY_H

#include <string.h>

#include "bench/bench.h"

enum { LATENCY_STEPS = 32, LATENCY_BUCKETS = 27 * LATENCY_STEPS };

struct latency {
    uint64_t count;
    double longest_us;
    uint32_t buckets[LATENCY_BUCKETS];
};

/* Exact below LATENCY_STEPS, from there on as many steps for each doubling. */
static inline size_t latency_bucket(uint64_t us)
{
    size_t doublings = 0;

    while (us >= 2 * LATENCY_STEPS) {
        us /= 2;
        doublings++;
    }
    const size_t bucket = doublings * LATENCY_STEPS + us;
    return bucket < LATENCY_BUCKETS ? bucket : LATENCY_BUCKETS - 1;
}

static inline double latency_of_bucket(size_t bucket)
{
    const size_t doublings = bucket < 2 * LATENCY_STEPS ? 0 : bucket / LATENCY_STEPS - 1;

    return (double)(bucket - doublings * LATENCY_STEPS) * (double)(UINT64_C(1) << doublings);
}

static inline void latency_note(struct latency *latency, double seconds)
{
    const double us = seconds < 0 ? 0 : seconds * 1e6;

    latency->count++;
    latency->buckets[latency_bucket((uint64_t)us)]++;
    if (us > latency->longest_us)
        latency->longest_us = us;
}

static inline void latency_add(struct latency *to, const struct latency *from)
{
    to->count += from->count;
    if (from->longest_us > to->longest_us)
        to->longest_us = from->longest_us;
    for (size_t i = 0; i < LATENCY_BUCKETS; i++)
        to->buckets[i] += from->buckets[i];
}

/* The time within which this share of the replies came, in microseconds; 0 if there were none. */
static inline double latency_at(const struct latency *latency, double share)
{
    const double wanted = share * (double)latency->count;
    double seen = 0;

    for (size_t i = 0; i < LATENCY_BUCKETS && latency->count > 0; i++) {
        seen += latency->buckets[i];
        if (seen >= wanted && seen > 0)
            return latency_of_bucket(i) < latency->longest_us ? latency_of_bucket(i)
                                                              : latency->longest_us;
    }
    return 0;
}

#endif
