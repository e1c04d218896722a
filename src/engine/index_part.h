/* Parts of an index over fields, and how each of them comes from a document.
 *
 * A part of kind PART_VALUE is what lies at its path. All other kinds are computed: an extractor gives none, one or
 * several encoded values for a document, and the entries of the document are all combinations of the values of its
 * parts. Where a part gives none, the document has no entry.
 *
 * To add a kind: a row below (at the end: the number is stored); its extractor, here in the engine if it needs
 * nothing but the document (index_part.c), otherwise behind engine_options.extract (query/index_values.c); the
 * stretches that a condition means in such a part, in find_part_ranges() (query/find_kinds.c); and what clients call
 * it, in the faces. What settings mean is between who defines the index and the extractor. */
#ifndef ENGINE_INDEX_PART_H
#define ENGINE_INDEX_PART_H

#include "value/value.h"

enum index_part {
    PART_VALUE,    /* the value at the path */
    PART_HASHED,   /* one number for it; a document with an array there is refused */
    PART_WILDCARD, /* every path below, and the value there; see index_wildcard.c */
    PART_WORDS,    /* the words of several texts: handed in */
    PART_CELLS,    /* the places that a shape on the globe covers: handed in */
    PART_KINDS
};

struct index_field {
    bytes path;
    enum key_order order; /* of PART_VALUE and PART_WILDCARD */
    enum index_part part;
    bytes settings; /* for the extractor of a computed part; a document, or empty */
};

/* Of one computed part: each one the encoding of values, one behind the other, as key_append_value gives it. */
struct index_values {
    bytes *items;
    size_t count, room;
};
/* TOO_LARGE past LIMIT_ENTRIES_PER_DOCUMENT. */
MUST_USE status index_values_add(struct arena *arena, struct index_values *values, bytes value);

/* Adds what the part holds of the document. INVALID: the document cannot be written while the index is there. */
typedef status index_extractor(void *context, struct arena *arena, const struct index_field *field,
                               bytes document, struct index_values *out);

/* The encoding of a value in a part of kind PART_HASHED. */
MUST_USE status index_append_hash(struct buffer *out, struct value value);

#endif
