/* Where the clauses of a query stand in its text; for whoever writes another query from its pieces. Private
 * to this face. */
#ifndef FRONT_COSMOS_SQL_LAYOUT_H
#define FRONT_COSMOS_SQL_LAYOUT_H

#include "front/cosmos/sql.h"

struct sql_pieces {
    bytes *texts;
    size_t count, room;
};

/* All texts are parts of the query's own, without the words that begin the clause. */
struct sql_layout {
    bool is_star;              /* SELECT * */
    bytes select;              /* all columns, names included */
    struct sql_pieces columns; /* expressions, without the names they get */
    bytes from;                /* empty if there is none, like all that follows */
    bytes root;                /* the name that the items have; empty if FROM begins otherwise */
    bytes where;
    struct sql_pieces groups; /* of GROUP BY */
    bytes group;              /* ... all of them */
    struct sql_pieces orders; /* of ORDER BY, without ASC and DESC */
    bytes order;
};

/* `text` must be one that sql_parse has taken. Pieces are in `arena`. */
MUST_USE status sql_layout(struct arena *arena, bytes text, struct sql_layout *out);
/* Has the text as many pieces as the tree? It has, for the query that the text is. */
bool sql_layout_fits(const struct sql_layout *layout, const struct query *query);

#endif
