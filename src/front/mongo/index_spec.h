/* Indexes as clients of this protocol know them: what createIndexes is told, what the engine keeps of it, and
 * what listIndexes says. Inside the face only. */
#ifndef FRONT_MONGO_INDEX_SPEC_H
#define FRONT_MONGO_INDEX_SPEC_H

#include "front/mongo/command.h"

enum index_spec_kind {
    INDEX_SPEC_ID,     /* the key of the collection; not an index of the engine */
    INDEX_SPEC_STAMP,  /* on _ts with an expiry: the collection's default time to live */
    INDEX_SPEC_PLAIN,  /* ascending and descending fields */
    INDEX_SPEC_HASHED, /* one of its fields is */
    INDEX_SPEC_WILDCARD,
    INDEX_SPEC_TEXT,
    INDEX_SPEC_PLACES, /* 2dsphere, 2d: where documents lie; see index_geo.c */
    INDEX_SPEC_IDLE,   /* of an unknown word: listed, but without entries */
};

/* {$nor: [{}]}: the predicate of an idle index. */
#define INDEX_NO_DOCUMENT                \
    "\x18\0\0\0\x04$nor\0\x0d\0\0\0\x03" \
    "0\0\x05\0\0\0\0\0\0"

/* Borrows from the command or from the catalog. */
struct index_spec {
    enum index_spec_kind kind;
    bytes name;
    bytes key; /* document, as it was given */
    int32_t version;
    bool is_unique, is_sparse, is_hidden;
    bool has_expiry;
    int32_t expire_after_s;     /* -1 only on _ts: on, without a default */
    bytes partial;              /* document; empty: holds all */
    bytes collation;            /* document with all its settings; empty: as bytes */
    bool says_collation;        /* of a wish: otherwise it is that of the collection */
    const struct collation *by; /* of a wish: the same as `collation` */
    bytes others;               /* document of options that are only kept and listed; or empty */
    const struct index *index;  /* NULL if the engine has none of it, or not yet */
};

/* One member of `indexes`. Raises 9, 14, 67, 197 and others for what is not acceptable. */
MUST_USE status index_spec_parse(struct command *command, bytes given, struct index_spec *out);
/* What the wish does not say about texts is as the collection has it. Raises 2 and 67 where that cannot be. */
MUST_USE status index_spec_inherit(struct command *command, const struct collection *collection,
                                   struct index_spec *spec);
/* All that clients may see, _id first; FAILED ones are left out. */
MUST_USE status index_spec_list(struct command *command, const struct collection *collection,
                                struct index_spec **out, size_t *count_out);
/* The fields of a row of listIndexes. */
void index_spec_append(struct buffer *out, const struct index_spec *spec);
/* The same as text, for messages; in the arena. */
const char *index_spec_text(struct command *command, const struct index_spec *spec);
/* For the engine; not for INDEX_SPEC_ID and INDEX_SPEC_STAMP. */
MUST_USE status index_spec_define(struct command *command, const struct index_spec *spec,
                                  struct index_definition *out);
/* The options that the engine keeps of it, and the row of a collection's options; in the arena. */
MUST_USE status index_spec_options(struct arena *arena, const struct index_spec *spec, bytes *out);
MUST_USE status index_spec_row(struct arena *arena, const struct index_spec *spec, bytes *out);
/* Same key, uniqueness, sparseness, collation, filter: two such indexes cannot be side by side. */
bool index_spec_is_same(struct arena *arena, const struct index_spec *a,
                        const struct index_spec *b);
bool index_spec_has_same_options(const struct index_spec *a, const struct index_spec *b);
/* Can it ever end a document? */
bool index_spec_never_expires(const struct index_spec *spec);
/* A single field with a number: what can be given an expiry. */
bool index_spec_is_single(const struct index_spec *spec);
bool index_spec_is_wildcard(const struct index_spec *spec);
/* Is it {_ts: 1} or {_ts: -1}? */
bool index_spec_is_on_stamp(bytes key);

/* The key pattern as clients know it; empty if the index was made by another face. */
bytes index_key_pattern(const struct index *index);
/* For planners: a hidden index serves no query, an idle one cannot. */
bool index_is_usable(const struct index *index);

#endif
