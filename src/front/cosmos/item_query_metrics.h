/* What queries tell of how they were answered, if the client asks. Private to this face. */
#ifndef FRONT_COSMOS_ITEM_QUERY_METRICS_H
#define FRONT_COSMOS_ITEM_QUERY_METRICS_H

#include "front/cosmos/call.h"
#include "query/query.h"

struct query_metrics {
    bool is_timed, is_advised; /* what the client has asked for */
    /* Moments on the stopwatch; all 0 if nobody asked. */
    int64_t begun, compiled, checked;
    struct query_advice advice;
};

/* At the beginning, behind parsing, and before the page is run. */
struct query_metrics query_metrics_begin(const struct call *call);
void query_metrics_compiled(struct query_metrics *metrics);
void query_metrics_checked(struct query_metrics *metrics);
/* Finds out which indexes are missing. */
MUST_USE status query_metrics_advise(struct query_metrics *metrics, const struct query *query,
                                     const struct query_source *source);
/* Adds the headers. */
void query_metrics_add(const struct query_metrics *metrics, struct call *call,
                       const struct query_explain *explain);

#endif
