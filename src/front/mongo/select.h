/* The documents of a collection that fulfil a condition, one by one, as clients see them. What find, count,
 * update, delete and the like stand on. Inside the face only. */
#ifndef FRONT_MONGO_SELECT_H
#define FRONT_MONGO_SELECT_H

#include "front/mongo/condition.h"
#include "front/mongo/kept.h"

struct select;

struct select_spec {
    const struct collection *collection;
    struct condition *condition; /* borrowed */
    bytes
        after; /* a position of an earlier walk with the same condition; empty: from the beginning */
};

/* Borrowed until the next call. */
struct select_row {
    struct document_key key;
    bytes document; /* as clients see it */
    uint64_t seq;
    const struct matching *matching; /* which element of an array has decided */
};

/* What a walk did, for explain and profiles. */
struct select_figures {
    const char *stage; /* "IDHACK", "COLLSCAN" ... */
    uint64_t keys_examined, documents_examined;
};

MUST_USE status select_open(struct command *command, const struct select_spec *spec,
                            struct select **out);
MUST_USE status select_next(struct select *select, struct select_row *out, bool *has_out);
/* Where the walk stands, for select_spec.after; borrowed until the next call. */
bytes select_position(const struct select *select);
/* The walk is over, and no later one will find more. */
bool select_is_over(const struct select *select);
struct select_figures select_figures(const struct select *select);
void select_close(struct select *select);

#endif
