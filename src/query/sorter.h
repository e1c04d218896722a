/* The first rows of an order, out of however many. Private to this room. */
#ifndef QUERY_SORTER_H
#define QUERY_SORTER_H

#include "query/evaluate.h"
#include "query/place.h"

struct sort_entry {
    bytes order_key; /* bytes whose order is the order of the rows */
    bytes key;       /* of the document; decides between equal order keys */
};

struct sorter {
    bool is_distinct;       /* rows with equal order keys are one row */
    bool is_key_descending; /* those with equal order keys come in descending order of their keys */
    size_t keep;            /* how many first rows are wanted */
    struct place after;
    bool has_after;
    struct arena *arenas[2]; /* one in use, the other for moving house */
    unsigned in_use;
    struct sort_entry *entries;
    size_t count, room;
    size_t held_bytes;
    bool is_full; /* entries[keep - 1] was found: what lies behind it is not wanted */
    bool has_dropped;
    struct sort_entry last;
};

/* `after` NULL: from the beginning; otherwise only what lies behind it. Rows that a query sorts by one
 * expression come exactly in the order of an index over it, walked backwards if it is descending. */
MUST_USE status sorter_open(struct sorter *sorter, struct arena *arena, size_t keep,
                            const struct query *query, const struct place *after);
/* Where an entry stands among all others: its order key, then its key. */
struct place_key sorter_place(const struct sorter *sorter, const struct sort_entry *entry);
/* Copies both. */
MUST_USE status sorter_add(struct sorter *sorter, struct sort_entry entry);
/* Puts in order what is there; `entries` and `count` are the answer, has_dropped tells that more follow. */
MUST_USE status sorter_finish(struct sorter *sorter);
/* As it was when it was opened. */
void sorter_clear(struct sorter *sorter);
void sorter_close(struct sorter *sorter);

/* Appends the place of a value in an order: a byte for its kind, then its key as an index has it, which
 * holds long texts by their front; of other values at most `room` bytes. */
void sorter_append_value(struct buffer *out, const struct query_rules *rules, struct value value,
                         bool is_descending, size_t room);
/* Appends what tells a value from all others, in some order; the same room and a little more. */
void sorter_append_identity(struct buffer *out, const struct query_rules *rules, struct value value,
                            size_t room);

/* Cuts what stands from `start` on to so many bytes, and puts 16 behind it that tell what was cut off. */
void sorter_cut(struct buffer *out, size_t start, size_t room);

#endif
