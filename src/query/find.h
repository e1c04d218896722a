/* Finding documents that fulfil a condition (match.h), in an order (order.h), one by one, resumable.
 *
 *   struct find_request wanted = { .request = request, .collection = collection, .match = match };
 *   TRY(find_open(&wanted, &find));
 *   while (find_next(find, &row, &has_row) is OK and has_row) ... row.document ...
 *   position = find_position(find);      for find_request.after of a later find, in another request
 *   find_close(find);
 *
 * The way to the documents is chosen by the condition and the order: by key, by an index over fields, or all of
 * them; whichever it is, the same documents come. Where no index has the order, the first of them are
 * collected and sorted; what does not fit in memory comes after the position. A condition on nearness gives the nearest
 * first, unless another order is wanted; it needs an index over where documents lie. find_next giving nothing while
 * find_is_over() is false means: go on with find_position() in a new find. */
#ifndef QUERY_FIND_H
#define QUERY_FIND_H

#include "query/gather.h"
#include "query/match.h"
#include "query/order.h"

/* How stored documents look to who asks. */
struct find_view {
    /* The document as it is shown; in `arena` if it is not the stored one. */
    status (*show)(void *context, struct arena *arena, const struct document *document,
                   bytes *shown_out);
    void *context;
    /* The key of a document is the encoding of this top-level field alone; empty if it is not. */
    bytes key_field;
};

enum find_hint {
    FIND_ANY_WAY,
    FIND_BY_KEY,   /* by the key field */
    FIND_BY_INDEX, /* find_request.hint */
    FIND_NATURAL,  /* all of them */
};

/* Rows that a find had sorted and has not given, see find_keep_rest(). */
struct find_rest {
    /* The next of them, borrowed until the next call. */
    status (*next)(void *context, bytes *row_out, bool *has_out);
    void *context;
    uint64_t seq; /* documents that were born after this write are others */
    bool is_all;  /* nothing comes behind them */
};

struct find_request {
    struct request *request;
    const struct collection *collection;
    const struct match *match;    /* NULL: all */
    const struct order *order;    /* NULL: as they come */
    const struct find_view *view; /* NULL: as they are stored */
    struct formula_run *formulas; /* for conditions with formulas; may be NULL */
    const struct search *search;  /* for a condition that searches texts; may be NULL otherwise */
    bytes after;                  /* a position; empty: from the beginning */
    const struct find_rest *rest; /* comes first, then what lies behind its last row; may be NULL */
    bool keeps_rest;              /* the rest will be asked for, so it may be long */
    uint64_t wanted;              /* rows that will be asked for at most; 0: unknown */
    uint64_t batch;   /* rows that will be asked for before there is a pause; 0: unknown */
    bool is_reverse;  /* without an order: backwards */
    bool is_one_pass; /* the position is never asked for, and any order will do */
    bool is_many;     /* as many will be asked for as there are, or megabytes of them */
    enum find_hint by;
    const struct index *hint;
    const struct index *natural; /* the order of those who want none; NULL: that of the keys */
    /* Names of fields: nothing else of a document will be looked at; none: everything. Then rows may come without
     * the rest, and without what is stored (find_row.bson is empty). */
    const bytes *needed;
    size_t needed_count;
    /* With a hint: documents whose values are those of the index's fields; from min on, below max. */
    bytes min, max;
    /* May the index be used? NULL: all that are ready. */
    bool (*is_usable)(void *context, const struct index *index);
    /* The condition of a partial index; NULL: those are not used. */
    status (*predicate)(void *context, const struct index *index, const struct match **out);
    /* Asked now and then; a failure ends the find with it. */
    status (*go_on)(void *context);
    void *context;
    /* Lowered to the first moment at which the document of a row that was given will be dead; may be NULL. */
    time_ms *earliest_death;
    const struct geometry_ring *ring; /* for the finder itself */
};

struct find_row {
    struct document_key key;
    bytes document; /* as shown */
    bytes bson;     /* as stored */
    uint64_t seq;
    /* Which element of an array has decided, see struct matching. */
    bool has_position;
    size_t position;
    struct row_score score;
    /* With a condition on nearness: how near, and what is so near. */
    double distance;
    struct value nearest;
};

enum find_access { FIND_ACCESS_NOTHING, FIND_ACCESS_POINTS, FIND_ACCESS_KEYS, FIND_ACCESS_INDEX };

struct find_explain {
    enum find_access access;
    const struct index *index; /* FIND_ACCESS_INDEX */
    bool is_reverse;
    bool is_sorted;     /* collected and sorted */
    bool is_covered;    /* counted by keys alone */
    bool is_everything; /* all documents are looked at */
    uint64_t range_count;
    uint64_t rows;      /* keys looked at */
    uint64_t documents; /* loaded */
    uint64_t reloaded;  /* of these, for the second time, after they were sorted */
    uint64_t matched;   /* that fulfil the condition */
};

struct find;

/* One way to the documents, told. */
struct find_way {
    enum find_access access;
    const struct index *index; /* FIND_ACCESS_INDEX */
    bool is_everything;        /* all documents are looked at */
    bool has_many;             /* documents may have several entries */
    bool is_near;              /* ring by ring around a point */
    bool has_arrays;           /* the same, of a wildcard at the one path for which it is used */
    bytes wildcard;            /* that path; empty: none is used */
    bool is_reverse;
    bool is_exact;   /* keys alone decide the condition */
    bool is_covered; /* and give all that is needed */
    bytes search;    /* what is searched for in texts, see search_tell(); empty: nothing */
    bytes bounds;    /* {field: ["[1, 5)", ...]}, by the fields of the index, or the key field */
};

/* INVALID with a message if the position is none of such a find, or its index is gone; UNSUPPORTED if nearness is
 * asked for and no index can tell. */
MUST_USE status find_open(const struct find_request *wanted, struct find **out);
/* The row is valid until the next call. */
MUST_USE status find_next(struct find *find, struct find_row *out, bool *has_out);
/* Before the first row of a find with is_one_pass: hands all rows to workers instead, with several threads. *is_done_out
 * is false, and nothing has happened, where that is not possible or has failed; what was given to workers is void
 * then. */
MUST_USE status find_gather(struct find *find, const struct gather *gather, bool *is_done_out);
/* Where it stands, behind the row given last; valid until the find is closed. Empty if it never moved. */
MUST_USE status find_position(struct find *find, struct arena *arena, bytes *out);
/* Of a find that sorts: hands over the rows that are sorted and not given yet, each as a few bytes that find its document
 * again, in their order; so a later find need not sort again. *has_out is false if there are none to be had that way: it
 * does not sort, or gives what another one has kept. */
typedef status find_rest_sink(void *context, bytes row);
MUST_USE status find_keep_rest(struct find *find, find_rest_sink *sink, void *context,
                               struct find_rest *out, bool *has_out);
/* Is the document there at which the position of `wanted` stands? That of a find that does not sort. */
MUST_USE status find_is_at(const struct find_request *wanted, bool *out);
/* There is nothing more behind the position. */
bool find_is_over(const struct find *find);
const struct find_explain *find_explain(const struct find *find);
/* All ways: one, or one for each alternative of a condition; in `arena`. */
MUST_USE status find_tell(const struct find *find, struct arena *arena, struct find_way **out,
                          size_t *count_out);
void find_close(struct find *find);

/* How many there are; documents are only looked at where keys do not decide. `explain_out` may be NULL. */
MUST_USE status find_count(const struct find_request *wanted, uint64_t *count_out,
                           struct find_explain *explain_out);

#endif
