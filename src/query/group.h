/* Groups of rows, each with the values that its rows have in common and its sums. Private to this room. */
#ifndef QUERY_GROUP_H
#define QUERY_GROUP_H

#include "query/aggregate.h"

struct group {
    bytes key;            /* tells it from all others, and gives it its place among them */
    struct value *values; /* of the query's groups, as its first row has them */
    struct sums sums;
};

struct groups {
    const struct query *query;
    struct arena *arenas[2]; /* one in use, the other for moving house */
    unsigned in_use;
    struct set numbers; /* of the groups, by their keys */
    struct group *items;
    size_t room;
    size_t wanted; /* how many first groups; 0: all of them */
    size_t keep;   /* ... and how many are kept when there are too many */
    bool has_after;
    bytes after;
    bool is_cut; /* what lies behind `last` is not wanted */
    bytes last;
    bool has_dropped;
    /* Rows come in ascending order of the first value: */
    bool is_ordered;
    bytes first;     /* what orders the value of the row before */
    bool is_settled; /* no row to come can change the groups that are wanted */
};

/* With `wanted`, the first so many groups by their keys, or fewer if they do not fit, and has_dropped tells that
 * more follow; `after` (may be NULL) leaves out those up to that key. Without, all of them. */
MUST_USE status groups_open(struct groups *groups, const struct query *query, size_t wanted,
                            const bytes *after);
/* Takes in the row that is bound. TOO_LARGE past LIMIT_QUERY_GROUPS_BYTES. */
MUST_USE status groups_add(struct groups *groups, struct evaluation *evaluation);
/* The encoded first value in a key; empty if it is not there as it is, or is no scalar. */
bytes groups_first_scalar(const struct query *query, bytes key);
size_t groups_count(const struct groups *groups);
/* Makes one group the row. The results are in the evaluation's arena. */
MUST_USE status groups_bind(const struct groups *groups, size_t number,
                            struct evaluation *evaluation);
void groups_close(struct groups *groups);

#endif
