/* Accumulators: one value of many rows, for groups and windows. Private to this room. */
#ifndef QUERY_ACCUMULATE_H
#define QUERY_ACCUMULATE_H

#include "query/pipeline_parts.h"

enum { ACCUMULATION_NUMBER_BYTES = 16 };

struct accumulation_more;
struct accumulation_link;

/* What an accumulator has seen so far; all zero at first. */
struct accumulation {
    struct value value; /* sum, edge, first, last; small ones have their bytes in `raw` */
    uint8_t raw[ACCUMULATION_NUMBER_BYTES];
    uint8_t *memory; /* of a value that does not fit there; used again by the next one */
    size_t room;
    uint64_t count;
    struct accumulation_link *first, *last; /* a list, in the order in which they came */
    struct accumulation_more *more;         /* what only some accumulators need */
};

/* Where it is done: what is kept lies in `held`, results in `scratch`. */
struct accumulate_home {
    struct pipeline_run *run;
    struct arena *held, *scratch;
    const char *what; /* for the message if `held` is full */
};

/* `id` is the id of the group, which the number of values to keep may depend on. */
MUST_USE status accumulate_row(const struct accumulate_home *home, const struct accumulator *a,
                               struct accumulation *state, struct value id, bytes row);
/* The same for a row whose value was computed before; not for those that go by an order. */
MUST_USE status accumulate_value(const struct accumulate_home *home, const struct accumulator *a,
                                 struct accumulation *state, struct value id, struct value value);
/* May two of them that have seen different rows be put together, whichever rows those were? */
bool accumulate_can_merge(const struct accumulator *a);
/* Would a merge still be exact, by what it has seen so far? */
bool accumulate_is_exact(const struct accumulator *a, const struct accumulation *state);
/* Puts what `other` has seen to `state`. False if the result would depend on which of them saw which rows. */
MUST_USE status accumulate_merge(const struct accumulate_home *home, const struct accumulator *a,
                                 struct accumulation *state, const struct accumulation *other,
                                 bool *is_exact_out);
/* Gives a sum at once. */
void accumulate_put_number(struct accumulation *state, struct value number);
MUST_USE status accumulate_result(const struct accumulate_home *home, const struct accumulator *a,
                                  const struct accumulation *state, struct value *out);
/* What another result would cost, in values that are looked at. */
uint64_t accumulate_effort(const struct accumulator *a, const struct accumulation *state);

#endif
