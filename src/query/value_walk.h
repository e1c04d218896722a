/* Which values a field has, by an index: one living document for each of them, and the others of the same value are
 * jumped over. Documents with several values come once for each. */
#ifndef QUERY_VALUE_WALK_H
#define QUERY_VALUE_WALK_H

#include "query/find.h"

struct value_walk;

struct value_walk_request {
    struct request *request;
    const struct collection *collection;
    const struct index *index;    /* value_walk_fits() says that it has them all */
    const struct find_view *view; /* NULL: as they are stored */
};

/* Has the index an entry for every value at the path, and values that the collation calls equal at one place? */
bool value_walk_fits(const struct index *index, const struct collation *by, bytes path);

MUST_USE status value_walk_open(const struct value_walk_request *wanted, struct value_walk **out);
/* The next document, as shown, in `scratch` or borrowed until the next call; and the key of its value, as the index
 * orders it. */
MUST_USE status value_walk_next(struct value_walk *walk, struct arena *scratch, bytes *document_out,
                                bytes *key_out, bool *has_out);
/* The document does have that value, so no other one with it is wanted. Null stands for what is not there, too. */
void value_walk_pass(struct value_walk *walk);
/* False once there is so little to jump over that all documents are looked at sooner as they lie. */
bool value_walk_pays(const struct value_walk *walk);
/* Keys and documents that were looked at. */
struct find_explain value_walk_explain(const struct value_walk *walk);
void value_walk_close(struct value_walk *walk);

#endif
