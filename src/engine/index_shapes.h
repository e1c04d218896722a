/* The shapes of an index, and the kinds of scalars at its paths, as writes meet them. Private to this room; queries ask
 * through scan.h. */
#ifndef ENGINE_INDEX_SHAPES_H
#define ENGINE_INDEX_SHAPES_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/catalog.h"

/* ---- index_set.c ---- */
/* What is remembered begins with this. */
struct index_set {
    pthread_mutex_t lock;
};
/* The one at this place, zeroed and of this size if it has to be made. NULL: no memory. */
struct index_set *index_set_of(_Atomic(struct index_set *) *place, size_t size);
void index_set_close(_Atomic(struct index_set *) *place);

/* ---- index_shapes.c ---- */
/* A document with this shape is about to be in the index: its entry, without the prefix of shapes. */
void index_shapes_note(const struct index *index, bytes key);

/* ---- index_kinds.c ---- */
/* A document with this kind of scalar (enum scan_kind) at the path is about to be in the index. */
void index_kinds_note(const struct index *index, uint64_t path_hash, unsigned kind);
/* What is known of a path, taken before a view is opened. */
struct kinds_claim {
    const struct kinds_fact *fact; /* NULL: nothing */
    bool is_wanted;                /* it would be remembered if somebody found out */
};
struct kinds_claim index_kinds_recall(const struct index *index, bytes path);
/* The kinds of which a view shows no document at that path, which was opened in the meantime. */
unsigned index_kinds_absent(const struct index *index, struct kinds_claim claim, time_ms now);
/* ---- index_paths.c ---- */
/* What writes note the kinds of a path under. False for what is no path of names. */
bool index_path_hash(struct arena *arena, bytes path, uint64_t *out);

#endif
