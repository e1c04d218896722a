/* Updates: the `u` of update and findAndModify, parsed into steps of the query room (query/update.h).
 *
 *   const struct update *update;
 *   TRY(update_parse(arena, u, array_filters, scope, &update, fault));
 *   status s = update_apply(update, &run, document, &result);      or update_insert() for an upsert
 *   if (s.code != OK) return update_fault(arena, &run, s, fault);
 *
 * Everything borrows from the command's bytes. */
#ifndef FRONT_MONGO_UPDATE_H
#define FRONT_MONGO_UPDATE_H

#include "front/mongo/formula.h"

/* `u` is a document: operators, or a replacement; or an array, a pipeline. `array_filters` is the array of that name, or empty. */
MUST_USE status update_parse(struct arena *arena, struct value u, bytes array_filters,
                             const struct formula_scope *scope, const struct update **out,
                             struct fault *fault);
/* A pipeline with variables of `let`; `scope` may be NULL. */
MUST_USE status update_parse_pipeline(struct arena *arena, bytes stages,
                                      const struct formula_scope *scope, const struct update **out,
                                      struct fault *fault);
/* The fault that applying has ended with. */
MUST_USE status update_fault(struct arena *arena, const struct update_run *run, status failed,
                             struct fault *fault);
/* Every operator as a row of a Markdown table. */
void update_describe(struct buffer *out);

#endif
