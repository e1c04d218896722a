/* Formulas: the expressions of $expr, $project, $group and pipeline updates, parsed into a tree of the query
 * room (query/formula.h). */
#ifndef FRONT_MONGO_FORMULA_H
#define FRONT_MONGO_FORMULA_H

#include "front/mongo/fault.h"
#include "query/query.h"

/* What is known around an expression: variables that stand for $$names, each with its place in
 * formula_run.variables, and how texts compare. */
struct formula_scope {
    const struct formula_scope *around; /* may be NULL */
    bytes name;                         /* empty: no variable */
    uint32_t number;
    const struct collation *collation;
};
/* A scope without variables; NULL, which is the same, for the order of bytes. */
MUST_USE status formula_scope_of(struct arena *arena, const struct collation *by,
                                 const struct formula_scope **out);
const struct collation *formula_scope_collation(const struct formula_scope *scope);

/* Any BSON value as an expression: "$a.b" is a path, "$$v" a variable, {$op: ...} a call, other documents
 * and arrays are built from their parts, the rest are literals. Borrows from the bytes. */
MUST_USE status formula_parse(struct arena *arena, struct value expression,
                              const struct formula_scope *scope, const struct formula **out,
                              struct fault *fault);
/* The same where $$DESCEND, $$PRUNE and $$KEEP are known. */
MUST_USE status formula_parse_redact(struct arena *arena, struct value expression,
                                     const struct formula_scope *scope, const struct formula **out,
                                     struct fault *fault);
/* The `let` of a command: its names, with their values (constant expressions) in `variables`, which has room
 * for FORMULA_VARIABLES_MAX. `let` may be empty. */
MUST_USE status formula_parse_let(struct arena *arena, bytes let, struct formula_run *run,
                                  const struct formula_scope **out, struct fault *fault);
/* { input, method, p } of $percentile and { input, method } of $median; the shares are an array of numbers, or
 * one number. */
MUST_USE status formula_parse_percentile(struct arena *arena, struct field call,
                                         const struct formula_scope *scope,
                                         const struct formula **input_out, struct value *shares_out,
                                         struct fault *fault);
/* One line of a table for each operator: name, arguments, what it does. */
void formula_describe(struct buffer *out);
/* The fault that a run of the query room has ended with. */
MUST_USE status formula_fault(struct arena *arena, const struct formula_run *run, status failed,
                              struct fault *fault);

#endif
