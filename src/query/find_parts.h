/* What the files of finding share. Private to this room. */
#ifndef QUERY_FIND_PARTS_H
#define QUERY_FIND_PARTS_H

#include "query/find.h"
#include "query/geometry_cells.h"
#include "query/sorter.h"

/* Encoded values v of one field with start <= v, and v < end or v begins with end if it is inclusive. */
struct find_range {
    bytes start;
    bytes end;
    bool is_end_inclusive;
    bool is_point; /* start is the encoding of one value, and nothing else lies in it */
};

/* Ascending and disjoint. */
struct find_ranges {
    struct find_range *items;
    size_t count, room;
    bool is_exact;     /* the leaves they come from hold for every entry in them */
    bool has_missing;  /* documents without the field may be meant */
    size_t leaf_count; /* leaves that they come from */
    /* Of a wildcard part: which path they are of, and the stretches of its values alone. */
    bytes path;
    const struct find_ranges *values;
};

/* What the condition says about one path; *out is NULL if nothing. is_single: a document has one entry, so that
 * several leaves may be put together. Encoded in `order`, with texts by the collation `by`; a leaf that compares them
 * by another one says nothing. */
MUST_USE status find_ranges_of(struct arena *arena, const struct match *match, bytes path,
                               const struct collation *by, enum key_order order, bool is_single,
                               struct find_ranges **out);
/* A position in a path may also be a field name, which an index does not look for. */
bool find_has_position(bytes path);
/* The same in a part of hashes. */
MUST_USE status find_ranges_hashed(struct arena *arena, const struct match *match, bytes path,
                                   struct find_ranges **out);
/* The same at one path of a wildcard part. */
struct find_ranges_at {
    bytes path;
    enum key_order order;
    bool is_single;
};
MUST_USE status find_ranges_wildcard(struct arena *arena, const struct match *match,
                                     const struct find_ranges_at *at, struct find_ranges **out);
/* The same in a part of cells; of a wish on nearness, what lies in the ring, or all if it is NULL. */
MUST_USE status find_ranges_cells(struct arena *arena, const struct match *match,
                                  const struct index_field *field, const struct geometry_ring *ring,
                                  struct find_ranges **out);
/* Does the index hold where documents lie, so that the condition on nearness can be fulfilled by it? */
bool find_near_grid(const struct index *index, const struct match *near, struct cell_grid *out);
/* The same in a part of an index, whatever its kind; see find_kinds.c. */
struct find_part {
    const struct index *index;
    size_t field;
    bool is_single;
    bytes path; /* of a wildcard: which one */
};
MUST_USE status find_part_ranges(const struct find_request *wanted, struct arena *arena,
                                 const struct find_part *part, struct find_ranges **out);
/* Can documents be found by the index, though its parts up to this one alone are bounded? */
bool find_part_is_bounded(const struct index *index, size_t bounded);
/* Has the index a wildcard part? Then the path at which it serves best, and whether some document has an array on the
 * way there; empty if it serves nowhere. */
MUST_USE status find_wildcard_choose(const struct find_request *wanted, struct arena *arena,
                                     const struct index *index, bool *is_one_out, bytes *path_out,
                                     bool *has_many_out);
/* For who makes stretches: adds one, and puts all in order. */
MUST_USE status find_ranges_add(struct arena *arena, struct find_ranges *ranges,
                                struct find_range range);
void find_ranges_sort(struct find_ranges *ranges);
/* Everything. */
MUST_USE status find_ranges_all(struct arena *arena, struct find_ranges **out);
/* Leaves of the condition, all of them, whatever they are. */
size_t find_leaf_count(const struct match *match);
/* Is the second true wherever the first is? False if that cannot be told. */
MUST_USE status find_implies(struct arena *arena, const struct match *match,
                             const struct match *wanted, bool *out);

/* The way to the documents. */
struct find_plan {
    enum find_access access;
    const struct index *index;
    bool has_many;   /* documents may have several entries */
    bool has_arrays; /* the same, at the one path of a wildcard that is used */
    bytes wildcard;  /* that path */
    bool is_ordered; /* rows come in the order that is wanted */
    bool is_reverse;
    bool is_exact; /* entries decide the condition */
    /* Stretches of keys, ascending and disjoint; walked from the last if is_reverse. */
    struct find_range *ranges;
    size_t range_count;
    /* What each of the first fields is bounded by, of which the stretches are made; for explaining. */
    struct find_ranges *const *fields;
    size_t field_count;
};
/* Can rows be made of entries alone? And one of an entry; false: of this one it cannot. */
bool find_can_cover(const struct find_request *wanted, const struct find_plan *plan);
MUST_USE status find_cover(const struct find_request *wanted, const struct find_plan *plan,
                           struct arena *arena, bytes entry, bytes *document_out,
                           bool *is_covered_out);
/* Does it walk all documents by key? */
bool find_plan_is_everything(const struct find_plan *plan);

/* Ways that are walked one after the other, each with the alternative it is for. */
struct find_branches {
    size_t count; /* 0: there are none */
    const struct find_plan *plans;
    const struct match *const *matches;
};
MUST_USE status find_branches_make(const struct find_request *wanted, struct arena *arena,
                                   struct find_branches *out);

/* Keys of documents, by their hashes. */
struct find_seen {
    bytes *keys;
    size_t count;
};

/* A find at work. */
struct find {
    struct find_request wanted;
    struct arena *home;    /* of the request */
    struct arena *scratch; /* of one row */
    struct find_plan plan;
    struct find_explain explain;
    struct matching matching;
    bool is_sorting, is_over;
    bool is_covering;  /* entries are all that is needed */
    bool is_backwards; /* the position says so */
    struct find_branches branches;
    size_t branch;    /* that is being walked */
    bool is_branched; /* the position is one in a branch */
    /* walking */
    size_t at; /* number of the stretch that comes next, in the order of the walk */
    bytes after;
    struct scan *scan;
    struct scan_row row;
    struct document document;
    bool has_document;
    struct buffer position; /* of the last row */
    /* sorted */
    struct sorter sorter;
    bool is_sorter_open, is_collected;
    size_t given;
    /* sorted by nearness, ring by ring; see find_near.c */
    const struct match *near; /* NULL: not so */
    struct geometry_ring ring;
    double farthest, least_width;
    struct arena *ring_memory; /* of the way to its documents */
    struct find_seen seen;     /* documents of the ring */
};

/* The next key or entry; its document is not loaded yet, unless it was named by its key. */
MUST_USE status find_next_entry(struct find *find, bool *has_out);

/* find_near.c: the ring that is looked at, and the next one */
bool find_near_resume(struct find *find, struct reader *position);
MUST_USE status find_near_begin(struct find *find);
MUST_USE status find_near_plan(struct find *find);
/* Is the document of the row one that the ring has not had yet? Some are called new twice. */
MUST_USE status find_near_look(struct find *find, bool *is_new_out);
/* Is the entry that comes next the same as the one before it? */
bool find_near_is_double(const struct find *find);
bool find_near_holds(const struct find *find, double distance);
MUST_USE status find_near_place(struct arena *arena, double distance, bytes *out);
/* Remembers the row that was given last, for find_position(). */
MUST_USE status find_near_keep(struct find *find, const struct sort_entry *last);
/* False if there is none left. */
bool find_near_advance(struct find *find);

/* Lets the document of the last row go. */
void find_let_go(struct find *find);
/* What go_on says, asked now and then. */
MUST_USE status find_ask_to_go_on(struct find *find);
/* The document of a sorted row, if it is there and still fulfils the condition. */
MUST_USE status find_load_sorted(struct find *find, const struct sort_entry *entry,
                                 struct find_row *out, bool *is_there_out);
/* find_rest.c: a sorted row as bytes, in a position and in what is kept of a find; and the next that was kept. */
void find_append_sorted(struct buffer *out, const struct sort_entry *entry);
MUST_USE status find_next_kept(struct find *find, struct find_row *out, bool *has_out);

/* The ways of a find: one, or one for each alternative. */
size_t find_plans(const struct find *find, const struct find_plan **out);
bool find_is_near(const struct find *find);
/* What it was asked for. */
const struct find_request *find_wanted(const struct find *find);

MUST_USE status find_plan_make(const struct find_request *wanted, struct arena *arena,
                               const struct index *resumed, struct find_plan *out);

/* find_gather.c: all documents that fulfil the condition, in no order; see find_gather(). */
MUST_USE status find_gather_all(const struct find_request *wanted, const struct gather *gather,
                                struct find_explain *explain, bool *is_done_out);

/* find_order.c: puts a document where its order key says. */
struct sorter;
MUST_USE status find_order_add(struct sorter *sorter, struct arena *scratch,
                               struct document_key key, bytes order_key);
/* Fills the sorter with the first of all documents, with several threads, and not at all if that is not possible. */
MUST_USE status find_order_together(const struct find_request *wanted, struct sorter *sorter,
                                    struct find_explain *explain, bool *is_done_out);

#endif
