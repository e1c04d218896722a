/* Filters: the conditions of find, count, update, delete, $match, partial indexes and validators, parsed into
 * a tree of the query room (query/match.h).
 *
 *   const struct match *match;
 *   TRY(filter_parse(arena, filter, NULL, &match, fault));
 *   struct matching run = { .scratch = arena };
 *   TRY(match_document(match, &run, document, &is_match));
 *
 * A filter that is not acceptable raises a fault (usually BadValue). The tree borrows from the filter's
 * bytes. */
#ifndef FRONT_MONGO_FILTER_H
#define FRONT_MONGO_FILTER_H

#include "front/mongo/fault.h"
#include "query/query.h"

struct formula_scope;

/* `scope`: variables that $expr may use, and how texts compare; NULL: none but the system's, and by their bytes. */
MUST_USE status filter_parse(struct arena *arena, bytes filter, const struct formula_scope *scope,
                             const struct match **out, struct fault *fault);
/* The same where the documents are then found in the order of how near they are, if the filter says so; elsewhere
 * that raises 5626500. */
MUST_USE status filter_parse_sorting(struct arena *arena, bytes filter,
                                     const struct formula_scope *scope, const struct match **out,
                                     struct fault *fault);
/* The operators of one field ({$gt: 1, $lt: 5}) or a value to equal, for a path; an empty path asks single
 * values (match_value). */
MUST_USE status filter_parse_field(struct arena *arena, bytes path, struct value operand,
                                   const struct formula_scope *scope, const struct match **out,
                                   struct fault *fault);
/* Does the document begin with a field whose name starts with $ (and is no reference)? */
bool filter_has_operators(struct value value);

/* For engine_options.predicate: does a document belong to a partial index with this filter? A filter that
 * cannot be parsed holds for no document. */
bool filter_predicate(void *context, bytes predicate, bytes document);
/* Is the filter one that a partial index may have? Raises CannotCreateIndex. */
MUST_USE status filter_check_partial(struct arena *arena, const struct match *match,
                                     struct fault *fault);
/* Do two such filters hold for the same documents, as far as their parts tell? Empty is one that is not there. */
bool filter_is_same(struct arena *arena, bytes a, bytes b);
/* Every operator as a row of a Markdown table. */
void filter_describe(struct buffer *out);

#endif
