/* Item query: queries over the items of a container. There is one partition key range, and every query is
 * answered whole.
 *
 * The headers with metrics say what was really looked at; the times in them are zero, because nobody
 * reads the clock for them.
 *
 * Threads: the worker's. Start reading at serve_item_query(). */
#include <inttypes.h>

#include "front/cosmos/container.h"
#include "front/cosmos/item.h"
#include "front/cosmos/sql.h"

/* ---- headers ---------------------------------------------------------------------------------------- */

static void add_query_metrics(struct call *call, const struct query_explain *explain)
{
    /* Of the documents that were loaded, how many were wanted; nothing is in vain where none had to be. */
    double used = explain->documents > explain->matches
                      ? (double)explain->matches / (double)explain->documents
                      : 1;

    if (!route_header_is_true(call->http, "x-ms-documentdb-populatequerymetrics"))
        return;
    call_add_header(call, "x-ms-documentdb-query-metrics",
                    "totalExecutionTimeInMs=0.00;queryCompileTimeInMs=0.00;"
                    "queryLogicalPlanBuildTimeInMs=0.00;queryPhysicalPlanBuildTimeInMs=0.00;"
                    "queryOptimizationTimeInMs=0.00;VMExecutionTimeInMs=0.00;"
                    "indexLookupTimeInMs=0.00;documentLoadTimeInMs=0.00;"
                    "systemFunctionExecuteTimeInMs=0.00;userFunctionExecuteTimeInMs=0.00;"
                    "retrievedDocumentCount=%" PRIu64 ";retrievedDocumentSize=%" PRIu64
                    ";outputDocumentCount=%" PRIu64 ";outputDocumentSize=%" PRIu64
                    ";writeOutputTimeInMs=0.00;indexUtilizationRatio=%.2f",
                    explain->documents, explain->loaded_bytes, explain->output_count,
                    explain->output_bytes, used);
}

static void append_precision(struct buffer *json, const struct query_explain *explain)
{
    buffer_append_text(json, explain->is_decided ? "true" : "false");
    buffer_append_text(json, ",\"IndexImpactScore\":\"High\"}");
}

static void append_single_index(struct buffer *json, const struct query_explain *explain)
{
    buffer_append_text(json, "{\"IndexSpec\":");
    http_append_json_text(json, explain->path);
    buffer_append_text(json, ",\"FilterExpression\":\"\",\"FilterPreciseSet\":");
    buffer_append_text(json, explain->is_decided ? "true" : "false");
    buffer_append_text(json, ",\"IndexPreciseSet\":");
    append_precision(json, explain);
}

/* Its fields one by one; they stand in the path with a comma and a blank between them. */
static void append_composite_index(struct buffer *json, const struct query_explain *explain)
{
    bytes rest = explain->path;

    buffer_append_text(json, "{\"IndexSpecs\":[");
    while (rest.len) {
        size_t len = 0;
        while (len < rest.len && rest.data[len] != ',')
            len++;
        http_append_json_text(json, bytes_of(rest.data, len));
        rest = bytes_from(rest, len + 2 < rest.len ? len + 2 : rest.len);
        buffer_append_text(json, rest.len ? "," : "");
    }
    buffer_append_text(json, "],\"IndexPreciseSet\":");
    append_precision(json, explain);
}

static void add_index_metrics(struct call *call, const struct query_explain *explain)
{
    bool is_plain = route_header_is_true(call->http, "x-ms-cosmos-populateindexmetrics-V2");
    struct buffer json = buffer_in(call->arena);
    bytes text;

    if (!is_plain && !route_header_is_true(call->http, "x-ms-cosmos-populateindexmetrics"))
        return;
    bool is_used = explain->access == ACCESS_INDEX;
    bool is_composite = is_used && explain->index->definition.is_ranked;
    buffer_append_text(&json, "{\"UtilizedIndexes\":{\"SingleIndexes\":[");
    if (is_used && !is_composite)
        append_single_index(&json, explain);
    buffer_append_text(&json, "],\"CompositeIndexes\":[");
    if (is_composite)
        append_composite_index(&json, explain);
    buffer_append_text(&json, "]},\"PotentialIndexes\":{\"SingleIndexes\":[],"
                              "\"CompositeIndexes\":[]}}");
    if (buffer_finish(&json, &text).code != OK) {
        call->headers.is_failed = true;
        return;
    }
    buffer_append_text(&call->headers, "x-ms-cosmos-index-utilization: ");
    if (is_plain)
        buffer_append(&call->headers, text);
    else
        base64_append(&call->headers, text);
    buffer_append_text(&call->headers, "\r\n");
}

/* ---- order ------------------------------------------------------------------------------------------- */

/* The service does not sort what no index holds in order. A collection that another face has made has no
 * policy that could be changed. */
static status check_order(struct call *call, const struct query *query,
                          const struct query_source *source)
{
    enum query_order_fault fault;

    if (query->order_count == 0 || call->collection->definition.partition_path_count == 0)
        return STATUS_OK;
    TRY(query_check_order(query, source, &fault));
    switch (fault) {
    case ORDER_SERVED:
        break;
    case ORDER_EXCLUDED:
        return call_fail(call, FAIL_BAD_REQUEST,
                         "The index path corresponding to the specified order-by item is excluded. "
                         "Include the path in the indexing policy of the container.");
    case ORDER_NO_COMPOSITE:
        return call_fail(call, FAIL_BAD_REQUEST,
                         "The order by query does not have a corresponding composite index that it "
                         "can be served from. Add one with these paths and orders, or all of them "
                         "reversed, to the indexing policy of the container.");
    }
    return STATUS_OK;
}

/* ---- running ---------------------------------------------------------------------------------------- */

/* The rows first: it is the context of feed_take_row, too. */
struct item_rows {
    struct feed_rows rows;
    struct call *call;
};

/* A row that is an item, as reading the item shows it. */
static status take_item(void *context, const struct document *document, size_t *len_out)
{
    struct item_rows *items = context;
    struct buffer *out = &items->rows.elements;
    size_t before = out->len;

    if (items->rows.count++ > 0)
        buffer_append_byte(out, ',');
    item_show(items->call, out, document);
    *len_out = out->len - before;
    return out->is_failed ? arena_exhausted(out->arena) : STATUS_OK;
}

static status run_page(struct call *call, const struct query *query, const struct item_scope *scope,
                       struct item_rows *rows, struct query_page *page)
{
    struct query_limits limits = { .items = scope->page_size,
                                   .output_bytes = LIMIT_FEED_PAGE_BYTES };
    struct query_meaning meaning = container_meaning(call->collection);
    struct query_source source = { .request = &call->request,
                                   .collection = call->collection,
                                   .meaning = &meaning,
                                   .whole_sink = take_item,
                                   .partition = scope->partition.encoded,
                                   .arena = call->arena };
    bytes state;

    TRY(item_decoration(call, &source.decoration));
    TRY(check_order(call, query, &source));
    TRY(continuation_open(call, "query", scope->token_scope, &state));
    status s = query_run_page(query, &source, &limits, state, feed_take_row, rows, page);
    return s.code == OK ? s : resource_page_failed(call, s, page);
}

status serve_item_query(struct call *call)
{
    struct item_rows items = { .rows.elements = buffer_in(call->arena), .call = call };
    const struct query *query;
    struct item_scope scope;
    struct query_page page = { 0 };

    TRY(resource_query(call, &query));
    TRY(item_scope_open(call, query->fingerprint, &scope));
    TRY(run_page(call, query, &scope, &items, &page));
    struct charge_query work = { .rows_visited = page.explain.rows + page.explain.joined,
                                 .documents_loaded = page.explain.documents,
                                 .bytes_loaded = page.explain.loaded_bytes,
                                 .bytes_out = page.explain.output_bytes };
    call->charge = charge_of_query(&work);
    add_query_metrics(call, &page.explain);
    add_index_metrics(call, &page.explain);
    if (page.state.len > 0)
        continuation_add(call, "query", scope.token_scope, page.state);
    return feed_reply_envelope(call, "Documents", call_container_rid(call), &items.rows.elements,
                               items.rows.count);
}
