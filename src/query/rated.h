/* The first, last, least or greatest so many of many values. Private to this room. */
#ifndef QUERY_RATED_H
#define QUERY_RATED_H

#include "value/value.h"

enum rated_kind {
    RATED_FIRST,
    RATED_LAST,
    RATED_LEAST, /* by key; of equal ones those that came first */
    RATED_GREATEST,
};

struct rated_entry;

struct rated {
    enum rated_kind kind;
    uint64_t wanted;
    uint64_t seen;
    struct rated_entry *entries;
    size_t count, room;
};

/* Copies what it keeps to `arena`; what it lets go of leaves its memory to the next. */
MUST_USE status rated_add(struct rated *rated, struct arena *arena, bytes key, struct value value);
/* An array: as they came, or ascending by key. In `arena`. */
MUST_USE status rated_give(const struct rated *rated, struct arena *arena, struct value *out);

#endif
