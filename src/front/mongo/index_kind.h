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
/* ---- index_geo.c: kinds that hold where documents lie ---- */
bool index_is_of_places(struct value type);
/* Checks a spec of kind INDEX_SPEC_PLACES, and adds the options that it has by default. Raises 67, 16801. */
MUST_USE status index_check_places(struct command *command, struct index_spec *spec);
/* The part of the engine's index for a field of that type; in `arena`. */
MUST_USE status index_define_places(struct arena *arena, const struct index_spec *spec,
                                    struct value type, struct index_field *out);

#endif
