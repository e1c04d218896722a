/* Walking a collection: by document key, by an index, or by slot. The dead are skipped without reading
 * their bodies. A scan sees one instant (the request's view). A position taken from a scan by key or by
 * index resumes it later, in another request, without repeating or skipping a document that lived all
 * the time; slot order cannot be resumed, because documents move in it when they are written. */
#ifndef ENGINE_SCAN_H
#define ENGINE_SCAN_H

#include "engine/document.h"

struct scan;

struct scan_row {
    struct document_key key; /* borrowed until the next call */
    uint64_t seq;
    uint64_t birth_seq; /* 0 in a scan by index: only scan_document knows it then */
    int64_t written_at_s;
    uint32_t body_len; /* size of the document */
    bytes index_key;   /* index scans: the encoded values (behind the partition key if the index is
                        * per partition key), without the document key */
};

struct scan_spec {
    const struct index *index; /* NULL: by document key */
    /* Encoded bounds: partition-key (or full key) bytes, or index value bytes. Both prefixes are
     * inclusive as prefixes: start <= key, and key < end or key begins with end if end_is_inclusive. */
    bytes start;
    bytes end; /* empty: no bound */
    bool is_end_inclusive;
    bool is_reverse;
    bytes after;  /* a position of an earlier scan; empty: from the beginning */
    bool lends;   /* documents need not outlive the next scan_next(); then many come faster */
    bool is_many; /* and many will be asked for: no need to wait and see */
    size_t
        wanted; /* so many documents will be asked for, if there are that many rows; 0: it is not known */
    bool may_know; /* or perhaps not, because the reader may know them: scan_document_known() */
};

MUST_USE status scan_open(struct request *request, const struct collection *collection,
                          const struct scan_spec *spec, struct scan **out);
/* All living documents in slot order, lane by lane. */
MUST_USE status scan_open_slots(struct request *request, const struct collection *collection,
                                struct scan **out);
/* Goes on in another stretch, one within the bounds of an open scan by key or index: `spec` as above, but index
 * and direction are those of the scan. Much cheaper than to open another scan. */
MUST_USE status scan_move(struct scan *scan, const struct scan_spec *spec);
/* Jumps forward to `position`, or to the first row behind it; within the bounds, and nothing stays in the arena. */
MUST_USE status scan_seek(struct scan *scan, bytes position);
/* False at the end or on failure. */
bool scan_next(struct scan *scan, struct scan_row *out);
MUST_USE status scan_status(const struct scan *scan);
/* The document of the row that scan_next gave last; borrowed until document_release. */
MUST_USE status scan_document(struct scan *scan, struct document *out);
/* The document of that row was handed to a reader who knew it already. */
void scan_document_known(struct scan *scan);
/* When the document of the last row will die under the policy of this request; TIME_NEVER: not at all.
 * Slot scans only. */
time_ms scan_deadline(const struct scan *scan);
/* Where the scan stands, to be handed to a later scan_spec.after; borrowed until the next call. */
bytes scan_position(const struct scan *scan);
void scan_close(struct scan *scan);

/* Are the rows of the index in the view of the request, which is opened by this? Not if it was dropped after the request
 * began. */
MUST_USE status scan_has_index(struct request *request, const struct collection *collection,
                               const struct index *index, bool *out);

/* Prefix of all rows of one path in an INDEX_PATHS index: put the value's encoding behind it. */
void scan_append_path_prefix(struct buffer *out, bytes path);
/* The same of the shapes in a shaped one: behind it stand an ObjectId and the document's key. */
void scan_append_shape_prefix(struct buffer *out);
/* What documents of a shape have at a path. */
enum shape_has { SHAPE_HAS_UNKNOWN, SHAPE_HAS_NOTHING, SHAPE_HAS_SCALAR, SHAPE_HAS_OTHER };
enum { SCAN_SHAPES_MAX = 32 };
struct scan_shape {
    bytes key; /* as in scan_row.index_key, without the prefix */
    enum shape_has has;
};
/* Scalars of which an index over paths has the order, as bits. */
enum scan_kind {
    SCAN_KIND_NULL = 1,
    SCAN_KIND_BOOL = 2,
    SCAN_KIND_NUMBER = 4,
    SCAN_KIND_TEXT = 8,
};
struct scan_shapes {
    bool is_known; /* otherwise the shapes have to be walked */
    struct scan_shape *items;
    size_t count;
    /* If the shapes are known: which kinds no document has at the path; and whether it pays to find that out, and to tell
     * scan_note_absent_kinds(). */
    unsigned absent_kinds;
    bool wants_kinds;
};
/* The shapes that documents in the view of the request have, and perhaps others, ascending; in its arena. Known if they were
 * walked before, with a look at the path in a document of each, and if the request has not opened its view yet. */
MUST_USE status scan_recall_shapes(struct request *request, const struct index *index, bytes path,
                                   struct scan_shapes *out);
/* For whoever walks: what a document of the shape has at the path; and that all shapes in the view were told. */
void scan_note_shape(const struct index *index, bytes key, bytes path, enum shape_has has);
void scan_note_all_shapes(const struct index *index);
/* And for whoever has looked for all kinds at the path in the view of the request: those that no living document has. */
void scan_note_absent_kinds(const struct request *request, const struct index *index, bytes path,
                            unsigned absent);
/* Does an INDEX_PATHS index hold the scalar that any document has at exactly this path, a pattern that
 * ends in ? */
bool scan_covers_path(struct arena *arena, const struct index *index, bytes path);

/* Puts a value behind it as the index holds it. Texts of LIMIT_INDEXED_TEXT_BYTES and more are cut, and
 * then may stand for others that begin alike: true is returned, and the document has to be asked. */
bool scan_append_path_value(struct buffer *out, struct value value);

/* Every entry that a document has in an index over fields, as scan_row.index_key has them: ascending, no
 * doubles; in the arena. Whether a partial index holds the document at all is not asked, and no partition key
 * stands in front. */
struct scan_entries {
    bytes *items;
    size_t count;
};
/* Does, or did, some document of the request's view have several entries in the index, or one of an array's only element?
 * If not, an entry is all there is of its document. */
MUST_USE status scan_has_many(struct request *request, const struct collection *collection,
                              const struct index *index, bool *out);
/* Was that noted of every document? Databases of earlier versions did not count arrays of one element. */
bool scan_can_read_off(const struct request *request);
/* `request` may be NULL for an index without computed parts. */
MUST_USE status scan_entries(const struct request *request, struct arena *arena,
                             const struct index *index, bytes document, struct scan_entries *out);

/* ---- wildcard parts: index_wildcard.c ---------------------------------------------------------------- */

/* Does the part hold the value that any document has at the path; with_below: and all that lies below it? */
bool scan_wildcard_covers(const struct index_field *field, bytes path, bool with_below);
/* What stands in front of the values of the path; and what is there if some document has an array at it. */
void scan_append_wildcard_path(struct buffer *out, bytes path);
void scan_append_wildcard_mark(struct buffer *out, bytes path);

/* ---- ranked indexes ---------------------------------------------------------------------------------- */

/* The order of kinds in them. */
enum scan_rank {
    RANK_MISSING = 1,
    RANK_NULL,
    RANK_BOOL,
    RANK_NUMBER,
    RANK_STRING,
    RANK_ARRAY,
    RANK_DOCUMENT,
    RANK_OTHER,
};
/* Puts the value of field number `field` behind those before it, as the index holds it. True if it was cut and may
 * stand for others too. */
bool scan_append_ranked_value(struct buffer *out, const struct index *index, size_t field,
                              struct value value);

#endif
