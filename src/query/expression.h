/* Expressions: the tree that every query language is parsed into, and its value for one row.
 *
 * A value that is not there is VALUE_MISSING ("undefined"); it is a result like any other, not a
 * failure. What an operator does with operands of the wrong type is its own rule (functions.def).
 * Trees live in the arena they were built in and are immutable. */
#ifndef QUERY_EXPRESSION_H
#define QUERY_EXPRESSION_H

#include "engine/engine.h"

enum function {
#define FUNCTION(name, least, most, what) FUNCTION_##name,
#include "query/functions.def"
#undef FUNCTION
    FUNCTION_COUNT
};

enum expression_kind {
    EXPRESSION_LITERAL,
    EXPRESSION_VARIABLE,  /* what FROM has bound: number 0 is the document of the row */
    EXPRESSION_MEMBER,    /* the field `name` of args[0] */
    EXPRESSION_OBJECT,    /* { names[i]: args[i] }, missing ones left out */
    EXPRESSION_ARRAY,     /* [ args[i] ] */
    EXPRESSION_CALL,      /* function(args) */
    EXPRESSION_AGGREGATE, /* the result of the query's aggregate number `number` */
    EXPRESSION_GROUP, /* the value of groups[number] of the query, for the group that is the row */
    EXPRESSION_SUBQUERY, /* what `query` gives within the row */
};

enum subquery_kind {
    SUBQUERY_VALUE,  /* its only row, missing if it has none; several are a failure */
    SUBQUERY_EXISTS, /* does it have a row? */
    SUBQUERY_ARRAY,  /* all its rows */
    SUBQUERY_FIRST,  /* its first row, missing if it has none */
    SUBQUERY_LAST,   /* its last row, likewise */
    SUBQUERY_ALL,    /* is each of its rows true? */
};

struct query;

struct expression {
    enum expression_kind kind;
    enum function function;
    unsigned depth;  /* 1 for a leaf; bounded by LIMIT_QUERY_DEPTH */
    uint32_t number; /* of a variable, an aggregate or a group expression */
    struct value literal;
    bytes name;
    size_t count;
    const struct expression *const *args;
    const bytes *names;
    enum subquery_kind subquery;
    const struct query *query;
};

/* How kinds of values are told apart, beyond BSON's own types. */
enum value_kind {
    KIND_MISSING,
    KIND_NULL,
    KIND_BOOL,
    KIND_NUMBER,
    KIND_STRING,
    KIND_ARRAY,
    KIND_DOCUMENT,
    KIND_OTHER, /* dates, ids, binary ...: equal or not, but without an order among the kinds above */
    KIND_COUNT
};
enum value_kind value_kind_of(struct value value);

/* Where the languages differ, as data. */
struct query_rules {
    /* Place of each kind when rows are sorted and in least and greatest values. */
    uint8_t kind_order[KIND_COUNT];
    /* A missing element of a constructed array becomes null; otherwise it is left out. */
    bool is_missing_element_null;
    /* Documents with equal fields are one and the same in distinct rows and groups, whatever the order of
     * the fields. */
    bool is_field_order_free;
};

/* ---- building: all in `arena`; TOO_LARGE past LIMIT_QUERY_DEPTH -------------------------------------- */

MUST_USE status expression_literal(struct arena *arena, struct value value,
                                   const struct expression **out);
MUST_USE status expression_variable(struct arena *arena, uint32_t number,
                                    const struct expression **out);
MUST_USE status expression_member(struct arena *arena, const struct expression *of, bytes name,
                                  const struct expression **out);
/* `args` (and `names`, the same number) are copied. */
MUST_USE status expression_call(struct arena *arena, enum function function,
                                const struct expression *const *args, size_t count,
                                const struct expression **out);
MUST_USE status expression_object(struct arena *arena, const bytes *names,
                                  const struct expression *const *args, size_t count,
                                  const struct expression **out);
MUST_USE status expression_array(struct arena *arena, const struct expression *const *args,
                                 size_t count, const struct expression **out);
MUST_USE status expression_aggregate(struct arena *arena, uint32_t number,
                                     const struct expression **out);
MUST_USE status expression_subquery(struct arena *arena, enum subquery_kind kind,
                                    const struct query *query, const struct expression **out);
/* The same, with each part that is equal to groups[i] replaced by EXPRESSION_GROUP number i. Subqueries stay
 * as they are. */
MUST_USE status expression_regroup(struct arena *arena, const struct expression *expression,
                                   const struct expression *const *groups, size_t count,
                                   const struct expression **out);
bool expression_equal(const struct expression *a, const struct expression *b);
/* The first variable whose number is in from <= number < end, within subqueries too; NULL if there is
 * none. */
const struct expression *expression_find_variable(const struct expression *expression,
                                                  uint32_t from, uint32_t end);
/* Does its value depend on the row? Of a subquery that is taken for granted. */
bool expression_uses_variable(const struct expression *expression);
/* How many arguments a function takes. */
struct function_arity {
    size_t least, most;
};
struct function_arity function_arity(enum function function);
/* What it does, for people. */
const char *function_sentence(enum function function);
/* May it give something else although its arguments are the same? Then it is no constant. */
bool function_is_volatile(enum function function);
/* The literal that a constant expression is, or the expression itself. */
MUST_USE status expression_fold(struct arena *arena, const struct query_rules *rules,
                                const struct expression *expression, const struct expression **out);

#endif
