/* Changing documents by operators on dotted paths, or replacing them.
 *
 * An update is a list of steps, each an operator on a path, joined to a tree by update_join(), which refuses paths
 * that are in each other's way. Applying walks the document and the tree together once; fields keep their
 * places, new ones come behind them in the order of their names (numbers by value).
 *
 * Parts of a path: a name; a position in an array; "$", the element that the condition found; "$[]", every
 * element; "$[name]", the elements for which the filter of that name holds.
 *
 *   struct update_run run = { .arena = arena, .now = now, .has_position = matching.has_position, ... };
 *   TRY(update_apply(update, &run, document, &result));    result.is_changed, result.document
 *   TRY(update_insert(update, &run, match, fresh_id, &document));   the document of an upsert
 *
 * Refusals are INVALID (TOO_LARGE for the document) with the number that clients know in run.refusal. Trees are
 * immutable, in the arena they were built in, usable by every thread. */
#ifndef QUERY_UPDATE_H
#define QUERY_UPDATE_H

#include "query/match.h"

enum update_kind {
    UPDATE_SET,
    UPDATE_SET_ON_INSERT,
    UPDATE_UNSET,
    UPDATE_INCREMENT,
    UPDATE_MULTIPLY,
    UPDATE_MIN,
    UPDATE_MAX,
    UPDATE_RENAME_FROM, /* the two ends of a renaming: the old name goes ... */
    UPDATE_RENAME_TO,   /* ... and what was at `from` is set here */
    UPDATE_CURRENT_DATE,
    UPDATE_CURRENT_TIMESTAMP,
    UPDATE_BITS,
    UPDATE_PUSH,
    UPDATE_ADD_TO_SET,
    UPDATE_POP,
    UPDATE_PULL,
    UPDATE_PULL_ALL,
};

enum update_bits { UPDATE_BITS_AND, UPDATE_BITS_OR, UPDATE_BITS_XOR };

/* How arrays are sorted: by whole elements, or by fields of elements that are documents. */
struct update_order {
    bytes path; /* empty: the element itself */
    bool is_descending;
};

struct update_step {
    enum update_kind kind;
    bytes path;
    struct value value;
    bytes from;       /* UPDATE_RENAME_TO */
    bool is_at_front; /* UPDATE_POP: the first element, otherwise the last */
    enum update_bits bits;
    /* UPDATE_PUSH, UPDATE_ADD_TO_SET, UPDATE_PULL_ALL: the elements, an array */
    bytes elements;
    bool has_slice, has_position;
    int64_t slice, position;
    const struct update_order *orders;
    size_t order_count;
    /* UPDATE_PULL: elements for which it holds go; documents only if is_where, else any value */
    const struct match *match;
    bool is_where;
};

struct update_filter {
    bytes name;                /* first, see names.h */
    const struct match *match; /* on a document { name: element }; NULL until it is given */
};

struct names;
struct update_node;
struct pipeline;

/* Steps, a replacement, or a pipeline that makes the new document of the old one. */
struct update {
    bool is_replacement;
    bytes replacement;
    const struct pipeline *pipeline;
    const struct update_node *root; /* NULL without steps */
    size_t node_count;              /* without the root */
    struct names *filters;          /* those that paths use */
};

struct update_run {
    struct arena *arena;
    time_ms now;
    /* Where the condition found its element (match.h). */
    bool has_position;
    size_t position;
    struct formula_run *formulas; /* for filters and pipelines; may be NULL */
    bool is_insert;               /* set by update_insert */
    int32_t refusal;
    /* While it runs, for renaming: how often fields were looked up, and once that is often, where. */
    size_t lookups;
    struct names *looked;
};

struct update_result {
    bytes document;
    bool is_changed; /* false: nothing to write, `document` is the old one */
};

/* Joins steps to an update. INVALID with *refusal_out set if two of them are in each other's way. */
MUST_USE status update_join(struct arena *arena, const struct update_step *steps, size_t count,
                            struct update *out, int32_t *refusal_out);
/* The filter of this name, to be given its match; NULL if no path of the update uses it. */
struct update_filter *update_filter_of(const struct update *update, bytes name);

MUST_USE status update_apply(const struct update *update, struct update_run *run, bytes document,
                             struct update_result *out);
/* A document from the equalities of a condition and the update; `fresh_id` is its _id unless they give one. */
MUST_USE status update_insert(const struct update *update, struct update_run *run,
                              const struct match *match, struct value fresh_id, bytes *out);
/* An _id that documents must not have: arrays, regular expressions, undefined. */
bool update_is_bad_id(struct value id);

#endif
