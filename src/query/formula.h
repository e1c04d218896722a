/* Formulas: values computed from a document by operators that look through arrays, know dates, and refuse
 * operands of the wrong type with a number that tells the reason.
 *
 * A tree, immutable, in the arena it was built in. A value that is not there is VALUE_MISSING. Trees are made
 * by a language (formula_build.h has none: a face fills the struct through the functions below) and are
 * usable by every thread; a formula_run belongs to its request. */
#ifndef QUERY_FORMULA_H
#define QUERY_FORMULA_H

#include "base/zone.h"
#include "engine/engine.h"
#include "query/order.h"
#include "query/pattern.h"

enum formula_operator {
#define FORMULA(name, least, most, what) FORMULA_##name,
#include "query/formula.def"
#undef FORMULA
    FORMULA_COUNT
};

struct zone_memo;

enum formula_kind {
    FORMULA_IS_LITERAL,
    FORMULA_IS_PATH,     /* `path` followed from args[0], or from the current document */
    FORMULA_IS_VARIABLE, /* variables[number] */
    FORMULA_IS_CURRENT,  /* the document of the row as it is now */
    FORMULA_IS_ROOT,     /* the document of the row as it came */
    FORMULA_IS_NOW,
    FORMULA_IS_CLUSTER_TIME, /* the same as a timestamp */
    FORMULA_IS_REMOVED,      /* missing, said on purpose */
    FORMULA_IS_OBJECT,       /* { names[i]: args[i] }, missing ones left out */
    FORMULA_IS_ARRAY,        /* [ args[i] ], missing ones as null */
    FORMULA_IS_CALL,         /* operator(args) */
};

struct formula {
    enum formula_kind kind;
    enum formula_operator operator;
    unsigned depth;
    uint32_t number; /* FORMULA_IS_VARIABLE; also the first variable that an operator binds */
    struct value literal;
    bytes path; /* dotted */
    size_t count;
    const struct formula *const *args; /* an argument that was left out is NULL */
    const bytes *names;
    const struct zone *zone;   /* of a literal that names one */
    const struct order *order; /* of an operator that sorts documents */
};

enum { FORMULA_VARIABLES_MAX = 64 };

/* How well a row fits a search; it is known only of what a search has found. */
struct row_score {
    bool is_known;
    double value;
};

/* The computing of formulas for many rows. Results live in `arena` until the caller gives it back. */
struct formula_run {
    struct arena *arena;
    time_ms now;
    struct random *random;
    struct value root, current;
    struct value *variables;           /* FORMULA_VARIABLES_MAX, may be NULL where none are used */
    const struct row_score *score;     /* of the row; may be NULL */
    const struct collation *collation; /* how texts compare; NULL: by their bytes */
    /* On INVALID: the number by which clients know the reason; 0 if they know none. */
    int32_t refusal;
    struct zone_memo *zones; /* of names that are computed; NULL: each is looked for anew */
    /* Asked now and then in long work, that on one row included: shall it go on? May be NULL. */
    status (*check)(void *context);
    void *check_context;
    uint64_t effort; /* since it was asked: operators, and what they were given */
};

/* Counts work, and asks when there was much of it. */
MUST_USE status formula_work(struct formula_run *run, uint64_t effort);

/* INVALID for operands that an operator refuses, TOO_LARGE past a limit. */
MUST_USE status formula_value(const struct formula *formula, struct formula_run *run,
                              struct value *out);
/* Neither false, null, missing, undefined nor a number that is zero. */
bool formula_is_true(struct value value);

/* ---- building, all in `arena`; TOO_LARGE past LIMIT_QUERY_DEPTH -------------------------------------- */

MUST_USE status formula_literal(struct arena *arena, struct value value,
                                const struct formula **out);
MUST_USE status formula_path(struct arena *arena, const struct formula *of, bytes path,
                             const struct formula **out);
MUST_USE status formula_leaf(struct arena *arena, enum formula_kind kind, uint32_t number,
                             const struct formula **out);
/* `args` (and `names`) are copied; `number` is the first variable that the operator binds. */
MUST_USE status formula_call(struct arena *arena, enum formula_operator operator, uint32_t number,
                             const struct formula *const *args, size_t count,
                             const struct formula **out);
MUST_USE status formula_object(struct arena *arena, const bytes *names,
                               const struct formula *const *args, size_t count,
                               const struct formula **out);
MUST_USE status formula_array(struct arena *arena, const struct formula *const *args, size_t count,
                              const struct formula **out);
/* A literal that is used as a time zone; the zone is found once, if there is one. */
MUST_USE status formula_zone(struct arena *arena, struct value name, const struct formula **out);
/* `elements` in the order of `order`; without one, by their values, backwards if it descends. */
MUST_USE status formula_sorted(struct arena *arena, const struct formula *elements,
                               const struct order *order, bool is_descending,
                               const struct formula **out);
/* Is it the name of a unit of time? */
bool formula_is_unit(bytes name);
/* How many arguments an operator takes. */
struct formula_arity {
    size_t least, most;
};
struct formula_arity formula_arity(enum formula_operator operator);
/* The name as languages write it and what it does, for people. */
const char *formula_name(enum formula_operator operator);
const char *formula_sentence(enum formula_operator operator);

#endif
