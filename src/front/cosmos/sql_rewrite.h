/* Queries in the form that clients ask of a range when they put the answers of several together. Private to
 * this face. */
#ifndef FRONT_COSMOS_SQL_REWRITE_H
#define FRONT_COSMOS_SQL_REWRITE_H

#include "front/cosmos/sql_layout.h"

enum sql_form {
    SQL_FORM_ROWS,    /* the same rows, from the first on */
    SQL_FORM_ORDERED, /* rows with what they are sorted by */
    SQL_FORM_GROUPED, /* groups with their keys, and aggregates that can be added up */
};

/* What plans call the aggregate that an expression consists of, going by its text; NULL if it is none. */
const char *sql_aggregate_name(bytes text);
/* Is there an aggregate somewhere in it? */
bool sql_has_aggregate(const struct expression *expression);
/* The expression of a column, or of VALUE. */
const struct expression *sql_column(const struct query *query, size_t i);

/* Appends the text; `filter` is put where clients may put a condition of their own (SQL_FORM_ORDERED). With
 * aggregates, each column that has one must consist of it. */
void sql_rewrite(struct buffer *out, enum sql_form form, const struct query *query,
                 const struct sql_layout *layout, const char *filter);

/* Such a text (SQL_FORM_ORDERED) with `true` in the place of what a client has put there; any other text as it is. */
MUST_USE status sql_without_filter(struct arena *arena, bytes text, bytes *out);

#endif
