/* The shapes of an index, as writes meet them. Private to this room; queries ask through scan.h. */
#ifndef ENGINE_INDEX_SHAPES_H
#define ENGINE_INDEX_SHAPES_H

#include "engine/catalog.h"

struct index_progress;

/* A document with this shape is about to be in the index: its entry, without the prefix of shapes. */
void index_shapes_note(const struct index *index, bytes key);
void index_shapes_close(struct index_progress *progress);

#endif
