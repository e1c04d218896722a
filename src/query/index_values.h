/* The values that a document has in parts of indexes that the engine cannot compute by itself; for
 * engine_options.extract, without a context. */
#ifndef QUERY_INDEX_VALUES_H
#define QUERY_INDEX_VALUES_H

#include "engine/engine.h"

MUST_USE status query_index_values(void *context, struct arena *arena,
                                   const struct index_field *field, bytes document,
                                   struct index_values *out);

#endif
