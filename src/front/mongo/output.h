/* $out and $merge: the rows of a pipeline written into a collection. Inside the face only. */
#ifndef FRONT_MONGO_OUTPUT_H
#define FRONT_MONGO_OUTPUT_H

#include "front/mongo/command.h"
#include "front/mongo/formula.h"

struct output;

/* Takes the stage off the end of the stages, if it is there; *out is NULL otherwise. Everything is in `arena`,
 * and borrows from the stages. Refuses a client that may not write there. */
MUST_USE status output_take(struct command *command, struct arena *arena,
                            const struct formula_scope *scope, bytes *stages, struct output **out);
/* Writes the rows; the pipeline has been read to its end. `next` gives them one by one. */
typedef status output_next(void *context, bytes *row_out, bool *has_out);
MUST_USE status output_write(struct command *command, struct output *output, output_next *next,
                             void *context);

#endif
