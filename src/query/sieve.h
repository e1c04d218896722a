/* A sieve holds back most values that are none of some others, sooner than a set of their keys could tell. Private to this
 * room. */
#ifndef QUERY_SIEVE_H
#define QUERY_SIEVE_H

#include "value/value.h"

struct sieve {
    const struct collation *by;
    uint64_t *bits; /* NULL: everything passes */
    size_t mask;
    bool is_blind;
};

/* For so many values, which are equal by the collation; in `arena`. */
MUST_USE status sieve_open(struct arena *arena, const struct collation *by, size_t count,
                           struct sieve *out);
void sieve_add(struct sieve *sieve, struct value value);
/* True of every value that equals one that was added, and of few others. */
bool sieve_passes(const struct sieve *sieve, struct value value);

#endif
