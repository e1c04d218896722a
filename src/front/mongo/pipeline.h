/* Pipelines: the stages of `aggregate`, parsed into a pipeline of the query room (query/pipeline.h).
 *
 *   TRY(pipeline_parse(arena, array, scope, &pipeline, fault));
 *   TRY(pipeline_front(pipeline, arena, &front));       match, order and limit for a find (query/find.h)
 *   TRY(pipeline_open(pipeline, front.stage_count, &source, &formulas, arena, &run));
 *   s = pipeline_next(run, &document, &has_row);  if it fails: pipeline_fault(arena, run, s, fault)
 *
 * Stages that only read something else ($collStats, $currentOp, $changeStream ...) are not known here: whoever
 * serves them takes them off the front first. Everything borrows from the command's bytes. */
#ifndef FRONT_MONGO_PIPELINE_H
#define FRONT_MONGO_PIPELINE_H

#include "front/mongo/formula.h"

struct command;
struct collection;

MUST_USE status pipeline_parse(struct arena *arena, bytes array, const struct formula_scope *scope,
                               const struct pipeline **out, struct fault *fault);
/* A $geoNear without a key gets that of the only geographic index of the collection (NULL: there is none). Raises 27. */
MUST_USE status pipeline_complete_near(struct command *command, struct arena *arena,
                                       const struct collection *collection, bytes *stages);
/* An expression that gives the documents of $documents; *out is an array of documents. */
MUST_USE status pipeline_parse_documents(struct arena *arena, struct value argument,
                                         struct formula_run *run, const struct formula_scope *scope,
                                         bytes *out, struct fault *fault);
/* One line of a table for each stage: name, what it does. */
void pipeline_describe(struct buffer *out);
/* The fault that a run has ended with. */
MUST_USE status pipeline_fault(struct arena *arena, const struct pipeline_run *run, status failed,
                               struct fault *fault);

#endif
