/* The value of an expression for one row. Private to this room. */
#ifndef QUERY_EVALUATE_H
#define QUERY_EVALUATE_H

#include "query/page.h"

/* What functions have made of literals, for all rows of a page. */
struct keep {
    struct arena *arena;
    uint64_t shape_pairs; /* that may still be compared */
    size_t count;
    struct {
        const struct expression *of;
        const void *thing;
    } things[16];
};

/* One row while it is looked at. Everything computed lives in `arena` until the next row, and what belongs
 * to the document in `lasting` until the next document; both are one arena if the query is not nested. */
struct evaluation {
    struct arena *arena;
    struct arena *lasting;
    const struct query_rules *rules;
    const struct query_decoration *decoration; /* may be NULL */
    const struct document *document;           /* NULL: nothing is bound */
    const struct value *aggregates;            /* results, for EXPRESSION_AGGREGATE */
    const struct value *groups;          /* of the group that is the row, for EXPRESSION_GROUP */
    const struct rank *ranks;            /* what was counted for words_score, or NULL */
    const struct query_meaning *meaning; /* may be NULL */
    struct keep *keep;                   /* what later rows need not make again; may be NULL */
    time_ms now;                         /* of the request: one reading for all rows */
    struct value *variables;             /* what is bound, by number; 0 is the document */
    uint64_t steps;                      /* rows that bindings have made so far */
    const struct query_limits *limits;   /* whom to ask how much time is left; may be NULL */
    uint64_t effort;                     /* since then: functions, and what they were given */
    bool is_late;                        /* the page ought to end */
    /* Made when first needed. */
    bool is_decorated, is_whole;
    bytes decoration_fields;
    bytes whole;
};

/* The same evaluation with another document; what was made for the one before is gone. */
void evaluation_bind(struct evaluation *evaluation, const struct document *document);

/* Makes room for what the query binds: variables in `home`, and an arena for documents if need be, which
 * evaluation_close gives back. */
MUST_USE status evaluation_open(struct evaluation *evaluation, const struct query *query,
                                struct arena *home);
void evaluation_close(struct evaluation *evaluation);

MUST_USE status evaluate(struct evaluation *evaluation, const struct expression *expression,
                         struct value *out);
/* Counts work, and asks for the time when there was much of it. TOO_LARGE if there is none left. */
MUST_USE status evaluation_work(struct evaluation *evaluation, uint64_t effort);
/* Is it exactly true? */
MUST_USE status evaluate_condition(struct evaluation *evaluation,
                                   const struct expression *expression, bool *out);

/* A query within the row: EXPRESSION_SUBQUERY, or all its rows as an array. See subquery.c. */
MUST_USE status subquery_evaluate(struct evaluation *evaluation, const struct expression *subquery,
                                  struct value *out);
MUST_USE status subquery_rows(struct evaluation *evaluation, const struct query *query,
                              struct value *out);

/* Is the name one that the decoration may give? */
bool decoration_has(const struct query_decoration *decoration, bytes name);

/* ---- functions: each evaluates the arguments it needs ------------------------------------------------ */

typedef status function_body(struct evaluation *evaluation, const struct expression *call,
                             struct value *out);

#define FUNCTION(name, least, most, what) function_body function_##name;
#include "query/functions.def"
#undef FUNCTION

/* Equal as values: numbers by their value, documents whatever the order of their fields. Two missing ones
 * are equal. */
bool values_equal(struct value a, struct value b);
/* False if the two have no order: different kinds, or a kind without one. */
bool values_order(struct value a, struct value b, int *order_out);

bool value_is_true(struct value value);
struct value value_missing(void);
struct value value_null(void);
struct value value_bool(bool truth);

/* The literal start of such a pattern, up to its first wild card. */
MUST_USE status like_prefix(struct arena *arena, bytes pattern, uint32_t escape, bytes *out);
/* The character that takes their meaning from wild cards; false if the value is not one character. */
bool like_escape(struct value value, uint32_t *out);

#endif
