/* Random documents and random queries over them, for tests that ask one query in several ways. The same random
 * numbers give the same texts. In documents, ' stands for ". */
#ifndef TESTS_SUPPORT_RANDOM_SQL_H
#define TESTS_SUPPORT_RANDOM_SQL_H

#include "tests/support/world.h"

/* A document with the _id and in the partition "pN", N being the _id modulo 3. Its properties a, b, o.x, o.y, s
 * and l are there or not, and of any kind. `more` stands behind them, as ",'ttl':5". */
const char *random_sql_document(struct arena *arena, struct random *random, int id,
                                const char *more);

struct random_sql_query {
    const char *text;
    /* Rows that come in one order, or whose order shows nothing else than that; otherwise any order will do. */
    bool is_ordered;
};
struct random_sql_query random_sql_query(struct arena *arena, struct random *random);
/* The _id of items that a random condition chooses, with or without a random order. */
const char *random_sql_ids(struct arena *arena, struct random *random);

#endif
