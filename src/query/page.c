/* Page: runs a query for one page. */
#include "query/query.h"

status query_run_page(const struct query *query, const struct query_source *source,
                      const struct query_limits *limits, bytes state, query_sink *sink,
                      void *context, struct query_page *out)
{
    (void)query, (void)source, (void)limits, (void)state, (void)sink, (void)context;
    *out = (struct query_page){ 0 };
    return status_of(UNSUPPORTED, "queries are not there yet");
}

status query_matches(const struct query *query, struct arena *arena,
                     const struct query_decoration *decoration, const struct document *document,
                     bool *out)
{
    (void)query, (void)arena, (void)decoration, (void)document;
    *out = false;
    return status_of(UNSUPPORTED, "queries are not there yet");
}

enum query_distinct query_distinct_kind(const struct query *query)
{
    return query->is_distinct ? DISTINCT_UNORDERED : DISTINCT_NONE;
}
