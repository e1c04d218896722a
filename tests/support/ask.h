/* Queries in tests: SQL text in, the rows out as JSON text. Texts of documents and parameters are JSON
 * with ' for ", as in worlds. An answer that is a failure is text too: "SC1001 7-11: message" for an error
 * of the SQL text, "INVALID: message" for any other. */
#ifndef TESTS_SUPPORT_ASK_H
#define TESTS_SUPPORT_ASK_H

#include "front/cosmos/sql.h"
#include "tests/support/world.h"

/* How a query is asked; all zero: everything at once, from the whole collection. */
struct asking {
    const char *parameters;       /* "[{'name':'@a','value':1}]" */
    const char *partition;        /* "['a',2]": values of the partition key, or of its front */
    size_t items;                 /* rows of a page; 0: many */
    uint64_t rows;                /* work of a page; 0: many */
    enum query_patience patience; /* what it is told when it asks for the time */
    bool is_plain;                /* documents show what they store, and nothing else */
    bool is_without_ids;          /* no name stands for the id of the key */
};

/* What time it is for ask_list(): 2024-10-14T14:20:30.666Z. */
#define ASK_LIST_NOW INT64_C(1728915630666)

/* Rows as a JSON array, over documents written as a JSON array. */
const char *ask_list(struct arena *arena, const char *documents, const char *sql,
                     const char *parameters);
/* The same from a collection of a world, over all pages, each a request of its own. The figures are sums
 * over the pages. Documents show _ts, and their _id is their key. */
const char *ask(struct world *w, const char *collection, const char *sql, const struct asking *how,
                struct query_explain *explain_out);

/* One page in an open request; state in, state out (in the world's arena). Rows are appended to `rows` as
 * JSON, with a comma between. */
status ask_page(struct world *w, struct request *request, const char *collection, const char *sql,
                const struct asking *how, bytes *state, struct buffer *rows,
                struct query_page *page_out);

/* The rows of an answer in one order, whatever theirs was; or the text itself if it is a failure. */
const char *ask_sorted(struct arena *arena, const char *answer);

/* A parsed query; ends the test if the text is not right. */
const struct query *ask_query(struct arena *arena, const char *sql, const char *parameters);

#endif
