/* Running a query, page by page.
 *
 * Each page is a request of its own with its own `now`. A page ends when it is full, when it has worked
 * enough, or when there is no more; what a later page needs to go on travels as a small opaque state
 * (position, counts, sums so far). Positions are keys, never "skip n": whatever dies, comes or goes between
 * pages, a document that lived and stayed as it is all the time is given exactly once.
 *
 * A query that sorts without a fitting index looks at all its documents for every page and keeps the first
 * of them; the limit on work does not end such a page. Long texts are sorted by their first
 * LIMIT_INDEXED_TEXT_BYTES; those that begin alike for so long come in any order. */
#ifndef QUERY_PAGE_H
#define QUERY_PAGE_H

#include "query/tree.h"

/* ---- what is looked at ------------------------------------------------------------------------------- */

/* Fields that documents show but do not store. */
struct query_decoration {
    /* A small BSON document whose fields stand behind those of the document; where it has a name that
     * the stored document has too, it wins. In `arena`; only valid until the next row. */
    status (*decorate)(void *context, const struct document *document, struct arena *arena,
                       bytes *fields_out);
    void *context;
    /* Every name it may give. Queries that need none of them do not call it; none is looked up in an
     * index. */
    const bytes *names;
    size_t name_count;
    /* The name that shows the id part of the document's key, empty if none does. It makes point reads
     * possible. */
    bytes id_name;
    /* The ids (QUERY_IDS at most) of documents that could show `shown` under that name; returns how many.
     * NULL: only that value itself. A document with another id must never show it. */
    size_t (*ids)(void *context, struct value shown, struct arena *arena, struct value *ids_out);
};
enum { QUERY_IDS = 8, QUERY_FILTERS = 3 };

/* A document of a list. Lists are in ascending order of their keys, which say who is who between pages. */
struct query_item {
    bytes key;
    bytes document;
};

/* How the values of the documents are meant, where they do not say it themselves. */
struct query_meaning {
    bool is_flat;         /* shapes lie in a plane, not on the earth */
    struct value vectors; /* an array of { path: '/a/b', distanceFunction: name }, or missing */
};

/* Gets a row that is a whole document, as it is stored; says how many bytes it made of it. */
typedef status query_document_sink(void *context, const struct document *document, size_t *len_out);

/* Gives the whole document of a row that was not read, if what that write has made is known. */
typedef bool query_known_sink(void *context, const struct scan_row *row, size_t *len_out);

struct query_source {
    /* The documents of a collection ... */
    struct request *request;
    const struct collection *collection; /* NULL: the list */
    /* Only documents whose key's partition part begins with this (whole encoded values); empty: all. */
    bytes partition;
    const struct query_decoration *decoration; /* may be NULL */
    const struct query_meaning *meaning;       /* may be NULL */
    /* Is given rows that are whole documents in place of the sink, with the same context, and shows what decoration
     * would; so nobody has to join stored and shown fields first. NULL: the sink gets all rows. */
    query_document_sink *whole_sink;
    /* Is asked before such a document is read, if nothing else of the query needs it. May be NULL. */
    query_known_sink *known_sink;
    /* ... or a list in memory. Without a request, the arena is said here. */
    struct arena *arena;
    const struct query_item *items;
    size_t item_count;
    /* What time it is for the query; a request has its own. */
    time_ms now;
    bool is_timed; /* it is noted how long the page takes; that costs a little for each document */
};

/* ---- one page ---------------------------------------------------------------------------------------- */

enum query_patience {
    PATIENCE_LEFT,
    PATIENCE_ENDS, /* the page ends as soon as it can */
    PATIENCE_OVER, /* and this is TOO_LARGE */
};

struct query_limits {
    size_t items;        /* rows given; at least 1 */
    size_t output_bytes; /* the page ends with the row that reaches it; 0: no bound */
    uint64_t rows;       /* keys, index rows and joined rows looked at; 0: LIMIT_QUERY_PAGE_ROWS */
    uint64_t loaded_bytes; /* of documents; 0: LIMIT_QUERY_PAGE_LOADED_BYTES */
    /* How much time is left, asked now and then in long work, that on one row included; by any of the threads that work
     * on the page. NULL: enough. */
    enum query_patience (*ask)(void *context);
    void *ask_context;
};

/* Gets the rows one by one; the value is only valid during the call. Says how many bytes it made of it. A
 * failure ends the page with it. */
typedef status query_sink(void *context, struct value row, size_t *len_out);

enum query_access {
    ACCESS_NOTHING, /* no source, or a condition that nothing can fulfil */
    ACCESS_LIST,
    ACCESS_FIGURES, /* counted without looking at a single row */
    ACCESS_POINT,   /* one document by its key */
    ACCESS_KEYS,    /* by document key, all or one partition */
    ACCESS_INDEX,
    ACCESS_SLOTS, /* all of them in the order in which they lie, for pages that look at all anyway */
};

/* How long it took, in nanoseconds; zero where nobody asked. */
struct query_times {
    int64_t planning; /* all of it, choosing included */
    int64_t choosing; /* between several ways */
    int64_t lookup;   /* of keys and rows of indexes */
    int64_t loading;  /* documents */
    int64_t output;   /* of rows, by the sink */
    int64_t all;
};

/* What was done for this page, honestly. */
struct query_explain {
    enum query_access access;
    const struct index *index; /* ACCESS_INDEX; valid as long as the request */
    bytes
        path; /* ... and the path that was looked up in it, as /a/b/?; of a composite one all fields */
    /* ... and paths of which other indexes decided what the condition says of them. */
    bytes filters[QUERY_FILTERS];
    size_t filter_count;
    bool is_decided;    /* its rows were exactly those that fulfil the condition */
    uint64_t matches;   /* rows that fulfil the condition */
    bool is_sorted;     /* rows were collected and sorted, not given as they came */
    uint64_t rows;      /* keys and index rows looked at */
    uint64_t joined;    /* rows that joins and subqueries made of documents */
    uint64_t documents; /* loaded */
    uint64_t loaded_bytes;
    uint64_t output_count;
    uint64_t output_bytes;
    struct query_times times;
};

struct query_page {
    bytes state; /* for the next page, in the arena of the source; empty: there is no more */
    /* On INVALID: it was `state` that was not acceptable, not the query. */
    bool is_state_refused;
    struct query_explain explain;
};

/* `state` is empty for the first page, otherwise what the page before has given (from whom it comes and
 * whether it was changed on the way is the caller's to check; nonsense is refused). INVALID for a bad
 * state, also when the index it stands in is gone; OUT_OF_MEMORY past the budget of the arena. */
MUST_USE status query_run_page(const struct query *query, const struct query_source *source,
                               const struct query_limits *limits, bytes state, query_sink *sink,
                               void *context, struct query_page *out);

/* The position of a scan by key, for whoever walks a partition or all of them without a query: in as few bytes as the
 * state of a page, however long keys are. */
MUST_USE status query_leave_scan(struct request *request, const struct collection *collection,
                                 const struct scan_spec *spec, bytes position, bytes *state_out);
/* Makes a scan go on behind it; with an empty state it begins. `*is_over_out`: there is nothing behind it. INVALID. */
MUST_USE status query_return_to_scan(struct request *request, const struct collection *collection,
                                     bytes state, struct scan_spec *spec, bool *is_over_out);

/* ---- indexes that are not there ---------------------------------------------------------------------- */

struct query_advice {
    /* Paths that the condition or the order speaks of and no index holds, as /a/b/? */
    const bytes *paths;
    size_t path_count;
    /* Fields of a composite index that would serve the query better than those that are there, as /a/b ASC. */
    const bytes *fields;
    size_t field_count;
};
/* In the arena of the request. */
MUST_USE status query_advise(const struct query *query, const struct query_source *source,
                             struct query_advice *out);

/* Can an index give the order that the query asks for? Languages differ in whether they sort otherwise. */
enum query_order_fault {
    ORDER_SERVED,       /* or not an order by plain paths */
    ORDER_EXCLUDED,     /* no index holds the path */
    ORDER_NO_COMPOSITE, /* several keys, but no composite index has them in this order */
};
MUST_USE status query_check_order(const struct query *query, const struct query_source *source,
                                  enum query_order_fault *out);

/* Does the document fulfil the query's condition at `now`? `arena` is used and given back. */
MUST_USE status query_matches(const struct query *query, struct arena *arena,
                              const struct query_decoration *decoration,
                              const struct document *document, time_ms now, bool *out);

#endif
