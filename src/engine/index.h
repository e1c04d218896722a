/* Inside the engine: which entries a document has in its collection's indexes. */
#ifndef ENGINE_INDEX_H
#define ENGINE_INDEX_H

#include "engine/state.h"

/* NULL if the collection has none of that id. */
const struct index *index_by_id(const struct collection *collection, uint32_t id);

struct index_entry {
    uint32_t index_id;
    bytes values;    /* encoded */
    bool is_of_many; /* of an index over fields: the document has others, or it is of an array */
};
struct index_entries {
    struct index_entry *items; /* sorted by index and values, no doubles */
    size_t count, room;
};
/* A document whose entries are wanted. */
struct indexed_document {
    const struct collection *collection;
    bytes key; /* joined: partition key and id */
    bytes bson;
    uint64_t birth_seq; /* 0: not known yet, see index_find_arrival */
};
/* All entries of a document in one index. */
MUST_USE status index_collect(struct engine *engine, struct arena *arena, const struct index *index,
                              const struct indexed_document *document, struct index_entries *out);
MUST_USE status index_collect_all(struct engine *engine, struct arena *arena,
                                  const struct indexed_document *document,
                                  struct index_entries *out);
MUST_USE status index_entries_add(struct arena *arena, struct index_entries *entries,
                                  uint32_t index_id, bytes values);
void index_entries_sort(struct index_entries *entries);
MUST_USE status index_collect_paths(struct arena *arena, const struct index *index, bytes document,
                                    struct index_entries *out);
MUST_USE status index_collect_ranked(struct arena *arena, const struct index *index, bytes document,
                                     struct index_entries *out);
/* ---- index_part.c ---- */
/* Has it a part that is not simply a value? */
bool index_is_computed(const struct index_definition *definition);
/* What a part that is computed from the whole document has; not for PART_VALUE and PART_HASHED. */
struct index_part_values {
    struct index_values values;
    struct index_values marks; /* entries of their own, in which all other parts are MinKey */
};
MUST_USE status index_part_collect(const struct engine *engine, struct arena *arena,
                                   const struct index_field *field, bytes document,
                                   struct index_part_values *out);
bool index_part_is_whole(enum index_part part);
/* ---- index_wildcard.c ---- */
MUST_USE status index_wildcard_values(struct arena *arena, const struct index_field *field,
                                      bytes document, struct index_part_values *out);
/* ---- index_arrival.c ---- */
MUST_USE status index_collect_arrival(struct arena *arena, const struct index *index,
                                      const struct indexed_document *document,
                                      struct index_entries *out);
/* The number of the entry by arrival, whose value is written again when the birth is known; entries->count if
 * there is none. */
size_t index_find_arrival(const struct collection *collection, const struct index_entries *entries);
/* All patterns of an INDEX_PATHS index, included ones first. */
MUST_USE status index_parse_patterns(struct arena *memory,
                                     const struct index_definition *definition,
                                     const struct path_pattern **out);
MUST_USE status index_check_patterns(struct arena *arena,
                                     const struct index_definition *definition);

/* Keys of the rows that the entries of a document have in SPACE_ROWS. */
MUST_USE status index_row_keys(struct arena *arena, const struct index_entries *entries,
                               bytes document_key, bytes **out);
/* The dates that the collection's living TTL indexes see in a document, packed for its stamp. */
MUST_USE status index_pack_dates(struct arena *arena, const struct collection *collection,
                                 const struct index_entries *entries, bytes document, bytes *out);

/* A document as it goes into storage: body, locator and index rows, all with the same stamp. */
struct written_document {
    struct collection_state *state;
    const struct stamp *stamp;
    uint64_t birth_seq;
    bytes locator_key;
    const struct index_entries *entries;
    const bytes *index_keys;
    uint8_t *body_value; /* room for the head, then the document */
    size_t body_value_len;
};
/* Puts all rows; to count the document into its lane is the caller's. */
void write_put_rows(struct storage *storage, struct storage_batch *batch,
                    const struct written_document *document);

/* On the committing thread: puts the rows of a document's entries; keys as of index_row_keys. */
void index_put_rows(struct storage *storage, struct storage_batch *batch,
                    struct collection_state *state, const struct stamp *stamp,
                    const struct index_entries *entries, const bytes *keys);

/* ---- index_backlog.c: lazy indexes ---- */
bool index_has_lazy(const struct collection *collection);
/* Takes the entries of lazy indexes out, which are put later. */
void index_entries_without_lazy(const struct collection *collection, struct index_entries *entries);
/* A write that is durable has left a backlog row in each lazy index of the collection. */
void backlog_note(struct engine *engine, const struct collection *collection);
bool backlog_is_pending(const struct index *index);
/* 1000 if there is no backlog. */
unsigned backlog_per_mille(const struct index *index);
/* One batch; notes it when there was nothing. */
MUST_USE status backlog_step(struct engine *engine, struct request *request,
                             const struct collection *collection, const struct index *index);

/* ---- index_build.c: how far a build, or the work on a backlog, has come ---- */
MUST_USE status index_cursor_load(struct engine *engine, struct storage_view *view,
                                  struct arena *arena, const struct collection *collection,
                                  uint32_t index_id, bytes *out);
MUST_USE status index_cursor_put(struct storage *storage, struct storage_batch *batch,
                                 struct arena *arena, partition_id partition, uint32_t index_id,
                                 bytes cursor);

/* Hash of a unique key, for its latch. */
uint64_t write_unique_hash(uint32_t collection_id, const struct index_entry *entry);

#endif
