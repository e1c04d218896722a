/* Sums over rows: count, sum, least, greatest, average, and lists of values. Private to this room. */
#ifndef QUERY_AGGREGATE_H
#define QUERY_AGGREGATE_H

#include "query/evaluate.h"
#include "query/set.h"

/* Values that are listed. */
struct listing {
    struct buffer array; /* a BSON array that has not ended */
    size_t begun, count;
    struct set seen; /* AGGREGATE_SET: what is in it */
};

/* One aggregate so far. */
struct sum {
    uint64_t count;  /* values that counted */
    bool is_spoiled; /* a value was of a kind that has no sum: the result is missing */
    bool is_whole;   /* `whole` is exact; otherwise `real` holds */
    int64_t whole;
    double real;
    struct value edge; /* least or greatest so far, in `kept` */
    bytes kept;
    struct listing *listing; /* AGGREGATE_LIST, AGGREGATE_SET */
};

struct sums {
    struct arena *arena; /* what they grow in */
    const struct query *query;
    struct sum *items;
};

/* `earlier` is what sums_write gave on the page before, or empty. INVALID if it is not. */
MUST_USE status sums_open(struct sums *sums, struct arena *arena, const struct query *query,
                          bytes earlier);
/* Takes in the row that is bound. */
MUST_USE status sums_add(struct sums *sums, struct evaluation *evaluation);
/* As if so many rows had been added; all aggregates are counts. */
void sums_add_rows(struct sums *sums, uint64_t rows);
/* Can they go over to the next page? Lists are too long for that. */
bool sums_travel(const struct query *query);
MUST_USE status sums_write(const struct sums *sums, bytes *out);
/* One value for each aggregate, in `arena`; nothing can be added any more. */
MUST_USE status sums_results(const struct sums *sums, struct arena *arena,
                             const struct value **out);
/* The same sums, all of them in another arena. */
MUST_USE status sums_move(struct sums *sums, struct arena *arena);

#endif
