/* What queries mean. A language is parsed into a tree (tree.h, expression.h); the tree is run page by
 * page over a collection or a list (page.h). No language's words are known here: where languages differ,
 * the tree carries the difference as data.
 *
 * The room's door: everything is in the headers included below. */
#ifndef QUERY_QUERY_H
#define QUERY_QUERY_H

#include "query/expression.h"
#include "query/find.h"
#include "query/formula.h"
#include "query/geometry.h"
#include "query/index_values.h"
#include "query/match.h"
#include "query/order.h"
#include "query/page.h"
#include "query/pipeline.h"
#include "query/projection.h"
#include "query/schema.h"
#include "query/search.h"
#include "query/tree.h"
#include "query/update.h"
#include "query/value_walk.h"

#endif
