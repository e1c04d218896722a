/* A query: what to look at, which rows to take, in which order, and what to give for each. Every
 * language is parsed into this; the planner and the operators know nothing else. Immutable, in the
 * arena it was parsed in. */
#ifndef QUERY_TREE_H
#define QUERY_TREE_H

#include "query/expression.h"

/* What FROM binds beyond the document. Each binding makes rows of every row of those before it. */
enum binding_kind {
    BINDING_VALUE,    /* the value of `of`: one row, or none if it is missing */
    BINDING_ELEMENTS, /* the elements of the array that `of` is: none if it is not one */
    BINDING_ROWS,     /* the rows of `query`, which sees what was bound before */
};

struct query_binding {
    enum binding_kind kind;
    uint32_t variable;
    const struct expression *of;
    const struct query *query;
};

struct query_order {
    const struct expression *by;
    bool is_descending;
    bytes text; /* as the client wrote it */
};

enum aggregate_kind {
    AGGREGATE_COUNT,
    AGGREGATE_SUM,
    AGGREGATE_MIN,
    AGGREGATE_MAX,
    AGGREGATE_AVERAGE,
    AGGREGATE_COUNT_IF, /* how often it is true */
    AGGREGATE_LIST,     /* all values, as an array */
    AGGREGATE_SET,      /* each value once, as an array */
};

struct query_aggregate {
    enum aggregate_kind kind;
    const struct expression *of;
};

/* Rows come by how well they fit a search; there is one order then, by greater is better. */
struct query_rank_part {
    const struct expression *by; /* greater is better */
    double weight;
};
struct query_rank {
    /* The calls of words_score, whose arguments but the first are literals. */
    size_t search_count;
    const struct expression *const *searches;
    /* Scores that are fused by their ranks; the order itself does not count then. None: it does. */
    size_t part_count;
    const struct query_rank_part *parts;
};

#define QUERY_UNLIMITED UINT64_MAX

/* A document made of a row of an inner query has the row in a field of this name. */
#define QUERY_INNER_NAME "row"

struct query {
    const struct query_rules *rules;
    const struct query
        *inner;      /* the rows of this one are the documents, not those of the source; or NULL */
    bool has_source; /* false: exactly one row, with nothing bound but what surrounds the query */
    size_t binding_count;
    const struct query_binding *bindings;
    bool
        is_nested; /* has bindings or subqueries: something is computed more than once for a document */
    const struct expression *where; /* NULL: every row */
    const struct expression *output;
    bool is_output_bare; /* a value as it is, not an object of named columns */
    bool is_distinct;
    size_t order_count;
    const struct query_order *orders;
    const struct query_rank *rank; /* NULL: an order like any other */
    /* Rows that the order leaves equal come in the order in which their documents were born, backwards if any key
     * is descending; otherwise in that of their keys. */
    bool is_tied_by_age;
    /* With aggregates and no groups (and then without orders): one row made of all rows. */
    size_t aggregate_count;
    const struct query_aggregate *aggregates;
    /* With groups: one row made of all rows for which these have equal values. Output and orders then know
     * nothing but EXPRESSION_GROUP and EXPRESSION_AGGREGATE. */
    size_t group_count;
    const struct expression *const *groups;
    uint64_t skip;  /* rows not given at the beginning */
    uint64_t limit; /* rows given at most; QUERY_UNLIMITED */
    bool has_top;   /* the limit was said as "the first n" */
    bool has_skip;  /* skip (and limit) were said */
    /* Of everything that makes the query what it is; a page's state belongs to one fingerprint. */
    uint64_t fingerprint;
};

/* What the client has to know of DISTINCT: whether equal rows come one behind the other. */
enum query_distinct { DISTINCT_NONE, DISTINCT_ORDERED, DISTINCT_UNORDERED };
enum query_distinct query_distinct_kind(const struct query *query);

#endif
