/* Inside the engine: which entries a document has in its collection's indexes. */
#ifndef ENGINE_INDEX_H
#define ENGINE_INDEX_H

#include "engine/state.h"

struct index_entry {
    uint32_t index_id;
    bytes values; /* encoded */
};
struct index_entries {
    struct index_entry *items; /* sorted by index and values, no doubles */
    size_t count, room;
};
/* All entries of a document in one index. */
MUST_USE status index_collect(struct engine *engine, struct arena *arena, const struct index *index,
                              bytes document, struct index_entries *out);
MUST_USE status index_collect_all(struct engine *engine, struct arena *arena,
                                  const struct collection *collection, bytes document,
                                  struct index_entries *out);
MUST_USE status index_entries_add(struct arena *arena, struct index_entries *entries,
                                  uint32_t index_id, bytes values);
void index_entries_sort(struct index_entries *entries);
MUST_USE status index_collect_paths(struct arena *arena, const struct index *index, bytes document,
                                    struct index_entries *out);
/* All patterns of an INDEX_PATHS index, included ones first. */
MUST_USE status index_parse_patterns(struct arena *memory,
                                     const struct index_definition *definition,
                                     const struct path_pattern **out);
MUST_USE status index_check_patterns(struct arena *arena,
                                     const struct index_definition *definition);

/* Hash of a unique key, for its latch. */
uint64_t write_unique_hash(uint32_t collection_id, const struct index_entry *entry);

#endif
