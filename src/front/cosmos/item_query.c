/* Item query: queries over the items of a container. There is one partition key range, and every query is
 * answered whole.
 *
 * Threads: the worker's. Start reading at serve_item_query(). */
#include "front/cosmos/container.h"
#include "front/cosmos/item.h"
#include "front/cosmos/item_query_metrics.h"
#include "front/cosmos/sql.h"

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
    struct item_home home;
};

/* A row that is an item, as reading the item shows it. */
static status take_item(void *context, const struct document *document, size_t *len_out)
{
    struct item_rows *items = context;
    struct buffer *out = &items->rows.elements;
    size_t before = out->len;

    if (items->rows.count++ > 0)
        buffer_append_byte(out, ',');
    if (document->is_recalled)
        item_show_again(items->call, &items->home, out, document);
    else
        item_show(&items->home, out, document);
    *len_out = out->len - before;
    return out->is_failed ? arena_exhausted(out->arena) : STATUS_OK;
}

/* The same without the item, if it was shown before. */
static bool take_known(void *context, const struct scan_row *row, size_t *len_out)
{
    struct item_rows *items = context;
    struct buffer *out = &items->rows.elements;
    size_t before = out->len;

    if (items->rows.count > 0)
        buffer_append_byte(out, ',');
    if (!item_show_known(items->call, &items->home, out, row->seq)) {
        out->len = before;
        return false;
    }
    items->rows.count++;
    *len_out = out->len - before;
    return true;
}

enum { ABANDONED_MS = 1000 };

/* How long a page works. */
struct page_time {
    const struct call *call;
    int64_t begun_ms;
};

static int64_t page_clock(const struct call *call)
{
    return clock_monotonic(engine_clock(call->request.engine));
}

/* Nobody waits for a reply, or it has taken as long as a page may. Asked by all threads that work on the page. */
static enum query_patience ask_patience(void *context)
{
    const struct page_time *time = context;
    const struct connection *connection = time->call->exchange->connection;
    const int64_t spent_ms = page_clock(time->call) - time->begun_ms;
    /* Who closes only the sending side of a connection still gets what takes no time. */
    const bool is_abandoned = spent_ms > ABANDONED_MS && connection &&
                              connection_is_gone(connection);

    if (spent_ms > LIMIT_QUERY_PAGE_MS_MAX || is_abandoned)
        return PATIENCE_OVER;
    return spent_ms > LIMIT_QUERY_PAGE_MS ? PATIENCE_ENDS : PATIENCE_LEFT;
}

static status run_page(struct call *call, const struct query *query, const struct item_scope *scope,
                       struct item_rows *rows, struct query_page *page,
                       struct query_metrics *metrics)
{
    struct page_time time = { .call = call, .begun_ms = page_clock(call) };
    struct query_limits limits = { .items = scope->page_size,
                                   .output_bytes = LIMIT_FEED_PAGE_BYTES,
                                   .ask = ask_patience,
                                   .ask_context = &time };
    struct query_meaning meaning = container_meaning(call->collection);
    struct query_source source = { .request = &call->request,
                                   .collection = call->collection,
                                   .meaning = &meaning,
                                   .whole_sink = take_item,
                                   .known_sink = take_known,
                                   .partition = scope->partition.encoded,
                                   .arena = call->arena,
                                   .is_timed = metrics->is_timed };
    bytes state;

    TRY(item_decoration(call, &source.decoration));
    TRY(check_order(call, query, &source));
    query_metrics_checked(metrics);
    TRY(continuation_open(call, "query", scope->token_scope, &state));
    status s = query_run_page(query, &source, &limits, state, feed_take_row, rows, page);
    return s.code == OK ? query_metrics_advise(metrics, query, &source)
                        : resource_page_failed(call, s, page);
}

status serve_item_query(struct call *call)
{
    struct item_rows items = { .rows.elements = buffer_in(call->arena),
                               .call = call,
                               .home = item_home_of(call_container_rid(call)) };
    const struct query *query;
    struct item_scope scope;
    struct query_page page = { 0 };
    struct query_metrics metrics = query_metrics_begin(call);

    TRY(resource_query(call, &query));
    query_metrics_compiled(&metrics);
    TRY(item_scope_open(call, query->fingerprint, &scope));
    TRY(run_page(call, query, &scope, &items, &page, &metrics));
    struct charge_query work = { .rows_visited = page.explain.rows + page.explain.joined,
                                 .documents_loaded = page.explain.documents,
                                 .bytes_loaded = page.explain.loaded_bytes,
                                 .bytes_out = page.explain.output_bytes };
    call->charge = charge_of_query(&work);
    query_metrics_add(&metrics, call, &page.explain);
    if (page.state.len > 0)
        continuation_add(call, "query", scope.token_scope, page.state);
    return feed_reply_envelope(call, "Documents", call_container_rid(call), &items.rows.elements,
                               items.rows.count);
}
