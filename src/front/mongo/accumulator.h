/* Accumulators of $group and its like, parsed into those of the query room (query/pipeline.h). */
#ifndef FRONT_MONGO_ACCUMULATOR_H
#define FRONT_MONGO_ACCUMULATOR_H

#include "front/mongo/formula.h"

/* { name: { $accumulator: argument } } */
MUST_USE status accumulator_parse(struct arena *arena, struct field field,
                                  const struct formula_scope *scope, struct accumulator *out,
                                  struct fault *fault);
/* The { $accumulator: argument } alone; *is_known_out is false for a name that is none. */
MUST_USE status accumulator_parse_call(struct arena *arena, struct field call,
                                       const struct formula_scope *scope, struct accumulator *out,
                                       bool *is_known_out, struct fault *fault);
/* One that counts rows. */
MUST_USE status accumulator_count(struct arena *arena, struct accumulator *out);
/* One line of a table for each: name, arguments, what it does. */
void accumulator_describe(struct buffer *out);

#endif
