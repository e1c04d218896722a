/* A page while it runs, shared by the files that do it. Private to this room. */
#ifndef QUERY_RUN_H
#define QUERY_RUN_H

#include "query/aggregate.h"
#include "query/cursor.h"
#include "query/place.h"
#include "query/rows.h"
#include "query/state.h"

struct run {
    const struct query *query;
    const struct query_source *source;
    const struct query_limits *limits;
    query_sink *sink;
    void *context;
    struct query_page *page;
    struct arena *arena;   /* of the request: what outlives the page */
    struct arena *scratch; /* of the row */
    struct plan plan;
    struct cursor cursor;
    struct evaluation evaluation;
    struct rows rows;               /* of the document that is bound */
    struct page_state state;        /* of this page, moving on */
    struct place after;             /* where the page before ended, if its position is a place */
    const uint8_t *position_before; /* that the state came with */
    bool is_resumed;
    bool is_returning; /* at a document of the page before: the cursor has not moved yet */
    struct firsts *
        firsts; /* of distinct rows, where several places of the order have an equal one; or NULL */
    /* Rows may be given without reading their documents; the row at hand was not read; and how many had to be after all,
     * one behind the other. */
    bool may_stay_unread, is_unread;
    unsigned unknown;
    bool is_finished;
    bool
        is_walked_in_order; /* a page that sorts gets its rows in order, but for those that are equal in it */
    /* Work of a way that was given up; it does not count against the page. */
    uint64_t rows_before, loaded_before;
};

/* ---- what all ends of a page do ---------------------------------------------------------------------- */

/* Nanoseconds from anywhere, or 0 if nobody asked how long the page takes. */
int64_t run_time(const struct run *run);
/* Says that it was the state, and passes the reason on. */
status run_refuse_state(struct run *run, status why);
/* Binds a document, or nothing; its rows begin. */
void run_bind(struct run *run, const struct document *document);
/* One step: the next row of the document at hand, or of the next one, and whether it fulfils the condition.
 * A document without rows is a step too. */
MUST_USE status run_next_row(struct run *run, bool *has_out, bool *is_wanted_out);
/* Goes back to the row that the page before ended with, if its document is still there. */
MUST_USE status run_return_to_row(struct run *run);
/* The next page goes on behind the row that is bound. */
MUST_USE status run_stand_here(struct run *run);
/* Gives the row that is bound, if its output is there; counts it. */
MUST_USE status run_give(struct run *run);
bool run_is_full(const struct run *run);
/* Has the page worked enough? */
bool run_is_worn_out(const struct run *run);

/* ---- where equal rows come first (page_distinct.c) --------------------------------------------------- */

/* Looks at all rows, if equal ones can stand at several places of the order. */
MUST_USE status run_find_firsts(struct run *run);
/* Is the row that is bound, with this place, the first of those that are equal to it? */
MUST_USE status run_is_first(struct run *run, bytes order_key, bool *out);
void run_forget_firsts(struct run *run);

struct sorter;
/* Tells the maker of every place that there is. */
typedef status run_note_places(struct run *run, const struct sorter *sorter, void *context,
                               struct place_maker *maker);
/* The next page goes on behind the entry with this number. */
MUST_USE status run_stand_behind(struct run *run, const struct sorter *sorter, size_t number,
                                 run_note_places *note_places, void *context);
/* Fetches the document of an entry again, and gives its row; those that are skipped need not be fetched. */
MUST_USE status run_give_entry(struct run *run, const struct sorter *sorter, size_t number);
/* How many rows of an order fill the page, those that are skipped included. */
size_t run_wanted_rows(const struct run *run);

/* ---- where a page ends (page_place.c) ----------------------------------------------------------------- */

/* Begins the walk where the page before ended. */
MUST_USE status run_open_cursor(struct run *run);
/* What the next page needs. */
MUST_USE status run_leave_state(struct run *run);

/* ---- in the order in which documents lie ------------------------------------------------------------- */

/* Changes the plan of a page that sorts or sums up and looks at all documents, or at many. */
MUST_USE status run_take_slots(struct run *run);
/* Lets several threads judge the condition, if the documents are walked as they lie and it can be. */
MUST_USE status run_sift(struct run *run);
/* The whole page of a filter that no index helps, if it pays. Otherwise nothing was given, and it goes on by key. */
MUST_USE status run_filtered(struct run *run, bool *is_done_out);

/* ---- the ends ---------------------------------------------------------------------------------------- */

MUST_USE status run_sorted(struct run *run);
/* Lets a walk in order begin with the rows that are equal to the last one of the page before (page_ties.c). */
MUST_USE status run_begin_in_order(struct run *run);
/* Before rows are looked at: counts what scores of words depend on, if the query has them. */
MUST_USE status run_rank(struct run *run);
/* All rows of a query that fuses scores. */
MUST_USE status run_fused(struct run *run);
MUST_USE status run_aggregate(struct run *run);
MUST_USE status run_give_sums(struct run *run, const struct sums *sums);
MUST_USE status run_grouped(struct run *run);
/* Distinct rows in no order are groups of equal rows: such a query as one that groups, if it is one. */
MUST_USE status run_group_distinct(struct run *run);
/* The whole page of a query over the rows of another one. */
MUST_USE status run_inner(struct run *run, bytes state);
/* Where the row that is bound stands: its place by each order, then, for distinct rows, what it is. */
MUST_USE status run_order_key(struct run *run, bytes *out, bool *has_output_out);
/* How many rows of an order the page can use. */
size_t run_wanted_rows(const struct run *run);

#endif
