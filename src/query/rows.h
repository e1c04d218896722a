/* The rows that a query's bindings make of what surrounds them, one by one. Private to this room. */
#ifndef QUERY_ROWS_H
#define QUERY_ROWS_H

#include "query/evaluate.h"

/* One binding while its rows are walked. */
struct rows_level {
    struct document_walk walk; /* what is left of an array or of the rows of a query */
    uint32_t at;               /* number of the row that is bound, from 0 on */
    arena_position mark;       /* in the evaluation's arena: what this level rests on */
};

struct rows {
    const struct query *query;
    struct evaluation *evaluation;
    bool is_open;    /* there may be more */
    bool is_started; /* a row is bound */
    bool is_waiting; /* ... which rows_next has not given yet */
    struct rows_level levels[LIMIT_QUERY_BINDINGS];
};

/* From the first row on. Without bindings there is exactly one. */
void rows_begin(struct rows *rows, const struct query *query, struct evaluation *evaluation);
/* Binds the next row. What was computed for the one before is gone. TOO_LARGE past the steps of a page. */
MUST_USE status rows_next(struct rows *rows, bool *has_out);

/* Appends where the row stands that is bound: ROWS_PLACE_BYTES for each binding, the complement of it if
 * asked, so that later rows come first. */
enum { ROWS_PLACE_BYTES = 4 };
void rows_append_place(const struct rows *rows, bool is_descending, struct buffer *out);
/* Binds the row that stands there; after rows_begin. False if there is none any more: then rows_next gives
 * the first one behind it. INVALID if it is no place. */
MUST_USE status rows_seek(struct rows *rows, bytes place, bool is_descending, bool *is_there_out);

#endif
