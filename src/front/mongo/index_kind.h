/* Kinds of indexes, as the key pattern names them: what each allows, and what the engine is told of it. Inside the
 * face only. To add one: its word in index_kind_of(), its checks in index_kind_check(), its fields in
 * index_kind_define(). */
#ifndef FRONT_MONGO_INDEX_KIND_H
#define FRONT_MONGO_INDEX_KIND_H

#include "front/mongo/index_spec.h"

/* "a.$**" and "$**". */
bool index_kind_is_wildcard_name(bytes name);
enum index_spec_kind index_kind_of(bytes key);
/* After all of the specification was read; may complete the key and the other options. Raises 2, 9, 14, 67. */
MUST_USE status index_kind_check(struct command *command, struct index_spec *spec);
/* The fields of the engine's index. */
MUST_USE status index_kind_define(struct command *command, const struct index_spec *spec,
                                  struct index_definition *out);

/* ---- index_text.c ---- */
/* The key and the options as they are listed. */
MUST_USE status index_text_complete(struct command *command, struct index_spec *spec);
/* For the engine's part of words. */
MUST_USE status index_text_settings(struct arena *arena, const struct index_spec *spec, bytes *out);

#endif
