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
    const struct order *order;   /* NULL: as they come */
    bool is_reverse;             /* without an order: backwards */
    bool is_one_pass;            /* the position is never asked for, and any order will do */
    bool is_many;                /* see struct find_request */
    enum find_hint by;           /* the way that the client wants, see query/find.h */
    const struct index *hint;
    bytes min, max;
    const bytes *needed; /* see struct find_request; NULL: everything */
    size_t needed_count;
    uint64_t wanted; /* rows that will be asked for at most; 0: unknown */
    uint64_t batch;  /* rows that will be asked for before there is a pause; 0: unknown */
    const struct find_rest *rest; /* of such a walk; NULL: none */
    bool keeps_rest;              /* select_keep_rest will be called */
    time_ms *earliest_death;      /* see struct find_request */
    bytes after; /* a position of an earlier walk with the same wishes; empty: from the beginning */
};

/* Borrowed until the next call. */
struct select_row {
    struct document_key key;
    bytes document; /* as clients see it */
    uint64_t seq;
    bool has_position; /* the element of an array that has decided */
    size_t position;
    struct row_score score;
};

MUST_USE status select_open(struct command *command, const struct select_spec *spec,
                            struct select **out);
MUST_USE status select_next(struct select *select, struct select_row *out, bool *has_out);
/* Instead of the rows one by one: see find_gather(). */
MUST_USE status select_gather(struct select *select, const struct gather *gather,
                              bool *is_done_out);
/* Where the walk stands, for select_spec.after; in `arena`. */
MUST_USE status select_position(struct select *select, struct arena *arena, bytes *out);
/* What the walk has sorted and not given, see find_keep_rest(). */
MUST_USE status select_keep_rest(struct select *select, find_rest_sink *sink, void *context,
                                 struct find_rest *out, bool *has_out);
/* Is the document still there at which the position `spec->after` stands? */
MUST_USE status select_is_at(struct command *command, const struct select_spec *spec, bool *out);
/* The walk is over, and no later one will find more. */
bool select_is_over(const struct select *select);
const struct find_explain *select_explain(const struct select *select);
void select_close(struct select *select);

/* How many there are. */
MUST_USE status select_count(struct command *command, const struct select_spec *spec,
                             uint64_t *out);

#endif
