/* Walking the documents of a plan, one by one, from a position on. Private to this room. */
#ifndef QUERY_CURSOR_H
#define QUERY_CURSOR_H

#include "query/plan.h"

/* Another index that documents must stand in, while it is walked. */
struct cursor_filter {
    struct scan *scan;
    struct scan_row row;
    bool is_open, has_row;
};

struct cursor {
    const struct plan *plan;
    const struct query_source *source;
    struct query_explain *explain;
    size_t at;     /* number of the range, point or item that comes next */
    bytes after;   /* a position, until it was found */
    bytes from;    /* or the first row to take in that range, without its prefix */
    size_t wanted; /* see scan_spec; both set after opening */
    bool may_know;
    struct scan *scan;
    struct sift
        *sift; /* ACCESS_SLOTS, set after opening: only documents that pass; owned from then on */
    struct sift_seen seen;
    bool is_placed; /* ACCESS_INDEX: the scan stands in range number `at` */
    struct scan_row row;
    struct cursor_filter filters[PLAN_FILTERS_MAX];
    int misses; /* rows that a filter has turned away, one behind the other */
    struct document document;
    bool is_loaded;
    bool is_pinned;
};

/* `after` is a position of an earlier cursor of the same plan, or empty. INVALID if it is none. */
MUST_USE status cursor_open(struct cursor *cursor, const struct plan *plan,
                            const struct query_source *source, bytes after,
                            struct query_explain *explain);
/* The number of the range that a position lies in; false if none holds it. Of a composite index: see there. */
bool cursor_range_of(const struct plan *plan, bytes position, size_t *out);
/* From the first living row of range number `number` on, if `from` is empty, otherwise from the row that is there. */
void cursor_begin_at(struct cursor *cursor, size_t number, bytes from);
/* The next living document; its key is known then, its content after cursor_load. */
MUST_USE status cursor_next(struct cursor *cursor, bool *has_out);
MUST_USE status cursor_load(struct cursor *cursor);
/* It was given without that, which counts the same. */
void cursor_count_known(struct cursor *cursor);
/* Where it stands, for `after`; in `arena`. */
MUST_USE status cursor_position(const struct cursor *cursor, struct arena *arena, bytes *out);
/* The encoded value under which the index has this document. */
bytes cursor_entry(const struct cursor *cursor);
/* The key within such a position, for cursor_fetch. */
bytes cursor_position_key(const struct cursor *cursor, bytes position);
/* Appends the key by which cursor_fetch finds the document again. */
void cursor_append_key(const struct cursor *cursor, struct buffer *out);
/* Loads a document by such a key. After a scan it is there as the scan saw it; where there was none, or the
 * key is of an earlier page, it may have gone. */
MUST_USE status cursor_fetch(struct cursor *cursor, bytes key, bool *is_there_out);
void cursor_close(struct cursor *cursor);

/* ---- cursor_filter.c, for the cursor ---- */
/* Does the row stand in all filters? At the end of one of them, no row behind it does. */
MUST_USE status filters_pass(struct cursor *cursor, bool *out, bool *is_end_out);
void filters_close(struct cursor *cursor);

#endif
