/* What the files of updates share. Private to this room. */
#ifndef QUERY_UPDATE_PARTS_H
#define QUERY_UPDATE_PARTS_H

#include "query/names.h"
#include "query/update.h"

/* Numbers by which clients know reasons. */
enum {
    REFUSED_BAD_VALUE = 2,
    REFUSED_TYPE = 14,
    REFUSED_PATH = 28,
    REFUSED_BACKFILL = 33,
    REFUSED_CONFLICT = 40,
    REFUSED_TWICE = 54,
    REFUSED_IMMUTABLE = 66,
    REFUSED_SIZE = 17419,
};

/* One part of a path. A leaf has a step, any other node children, in the order in which they are applied. */
struct update_node {
    bytes name; /* first, see names.h */
    const struct update_step *step;
    struct update_node *children;
    struct update_node *next; /* of the same parent */
    uint32_t number;          /* in the tree, from 1; the root is 0 */
    uint32_t child_count;
    struct names *names;          /* of the children */
    struct update_node *dollared; /* the first of the children that begin with '$' */
    /* Of the children those that may make something where nothing is, or that begin with '$': the first one and the next of
     * the same parent. For a document that is there, and for one that is being inserted. */
    struct update_node *fertile[2], *next_fertile[2];
};

/* Does its name begin with '$'? Then it may stand for others. */
bool update_is_dollared(const struct update_node *node);

/* What a step makes of a value. */
struct update_change {
    bool is_changed;
    struct value value; /* missing: the field goes */
};

#define update_refuse(...) status_of(INVALID, update_note_refusal(__VA_ARGS__))
const char *update_note_refusal(struct update_run *run, int32_t number, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Would the step put a value where there is none? */
bool update_creates(const struct update_step *step, const struct update_run *run);
/* `original` is the whole document as it came; `old` is missing if there is nothing. */
MUST_USE status update_step_apply(const struct update_step *step, struct update_run *run,
                                  bytes original, struct value old, struct update_change *out);
MUST_USE status update_push(const struct update_step *step, struct update_run *run,
                            struct value old, struct update_change *out);
MUST_USE status update_add_to_set(const struct update_step *step, struct update_run *run,
                                  struct value old, struct update_change *out);
MUST_USE status update_pop(const struct update_step *step, struct update_run *run, struct value old,
                           struct update_change *out);
MUST_USE status update_pull(const struct update_step *step, struct update_run *run,
                            struct value old, struct update_change *out);
/* How texts compare. */
const struct collation *update_collation(const struct update_run *run);
/* Same type and same bytes. */
bool update_is_identical(struct value a, struct value b);

#endif
