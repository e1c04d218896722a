/* Index builds as clients wait for them and see them, and the errors of unique indexes. Inside the face
 * only. */
#ifndef FRONT_MONGO_INDEX_BUILD_H
#define FRONT_MONGO_INDEX_BUILD_H

#include "front/mongo/index_spec.h"

/* Returns when the index is ready, and helps to build it. One that cannot be built is dropped again, and
 * raises DuplicateKey or what else is in the way; one that somebody drops raises IndexBuildAborted. Renews the
 * request of the command. */
MUST_USE status index_build_await(struct command *command, bytes name, bytes index_name);

/* The row of each build under way for $currentOp, documents one behind the other. */
void index_build_append(struct command *command, struct buffer *out);
/* Ends the build that is shown with this number, and drops its index; whoever waits for it is told
 * (IndexBuildAborted). Nothing happens if there is none. */
MUST_USE status index_build_kill(struct command *command, int32_t id);

/* The field keyPattern. */
void index_append_pattern(struct command *command, struct buffer *out, const struct index *index);
/* Two documents would have the same key in a unique index: sentence, keyPattern, keyValue. `key` is the
 * document of their common values. */
MUST_USE status index_fault_duplicate(struct command *command, bytes name,
                                      const struct index *index, bytes key, struct fault *out);
/* The same for an operation whose outcome is DUPLICATE_KEY; for INVALID, with the number of the kind of the index that
 * cannot hold the document. */
MUST_USE status index_fault_of_write(struct command *command, const struct write_op *op,
                                     struct fault *out);
/* The outcome of an operation; for a duplicate, with the fault raised. */
MUST_USE status index_outcome(struct command *command, const struct write_op *op);

#endif
