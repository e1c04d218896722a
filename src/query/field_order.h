/* Values whose documents have their fields in one order. Private to this room. */
#ifndef QUERY_FIELD_ORDER_H
#define QUERY_FIELD_ORDER_H

#include "query/expression.h"

/* The value itself if all documents in it, however deep, have their fields in the order of their names;
 * otherwise an equal one in `arena` that does. */
MUST_USE status field_order_make(struct arena *arena, struct value value, struct value *out);

#endif
