/* Item list: all items of a container or of a partition key, page by page.
 *
 * Items come in the order of their keys. The token for the next page is the key of the last item given, so
 * whatever is written or dies between pages, an item that lived all the time is given exactly once.
 *
 * Keeps: a page ends at LIMIT_FEED_PAGE_BYTES, however many items were asked for.
 * Threads: the worker's. Start reading at serve_item_list(). */
#include "front/cosmos/item.h"

/* ---- what a page is limited to ---------------------------------------------------------------------- */

static bool is_whole_range(const struct call *call)
{
    bytes start, end;

    if (call_header(call, "x-ms-start-epk", &start) && start.len > 0 &&
        !bytes_equal(start, BYTES_LITERAL("00")))
        return false;
    return !call_header(call, "x-ms-end-epk", &end) || bytes_equal(end, BYTES_LITERAL("FF"));
}

/* There is one partition key range, "0"; some clients put the container's id in front of it. */
static bool is_known_range(bytes id)
{
    size_t start = id.len;

    while (start > 0 && id.data[start - 1] != ',')
        start--;
    return bytes_equal(bytes_from(id, start), BYTES_LITERAL("0"));
}

status item_scope_open(struct call *call, uint64_t fingerprint, struct item_scope *out)
{
    struct buffer token_scope = buffer_in(call->arena);
    struct rid container = call_container_rid(call);
    bytes range;

    *out = (struct item_scope){ 0 };
    if (call_header(call, "x-ms-documentdb-partitionkeyrangeid", &range) && !is_known_range(range))
        return call_fail(call, FAIL_GONE,
                         "There is no partition key range '%.*s' in this container.",
                         (int)range.len, (const char *)range.data);
    if (!is_whole_range(call))
        return call_fail(call, FAIL_UNSUPPORTED,
                         "mayfly does not support this: a part of a partition key range "
                         "(x-ms-start-epk, x-ms-end-epk); give the partition key instead.");
    TRY(partition_key_of_scope(call, &out->partition));
    TRY(resource_page_size(call, &out->page_size));
    buffer_append(&token_scope, bytes_of(container.raw, container.len));
    buffer_append_u64(&token_scope, fingerprint);
    buffer_append(&token_scope, out->partition.encoded);
    return buffer_finish(&token_scope, &out->token_scope);
}

/* ---- the feed --------------------------------------------------------------------------------------- */

struct page {
    struct item_home home;
    struct buffer elements;
    size_t count;
    struct charge_query work;
};

static status take_document(struct call *call, struct scan *scan, struct page *page)
{
    struct document document;
    size_t before = page->elements.len;

    TRY(scan_document(scan, &document));
    if (page->count++ > 0)
        buffer_append_byte(&page->elements, ',');
    item_show(&page->home, &page->elements, &document);
    page->work.documents_loaded++;
    page->work.bytes_loaded += document.bson.len;
    page->work.bytes_out += page->elements.len - before;
    document_release(&call->request, &document);
    return page->elements.is_failed ? arena_exhausted(call->arena) : STATUS_OK;
}

static status leave(struct call *call, const struct item_scope *scope, const struct scan_spec *spec,
                    bytes last)
{
    bytes state;

    TRY(query_leave_scan(&call->request, call->collection, spec, last, &state));
    continuation_add(call, "items", scope->token_scope, state);
    return STATUS_OK;
}

static status fill_page(struct call *call, const struct item_scope *scope,
                        const struct scan_spec *spec, struct scan *scan, struct page *page)
{
    struct scan_row row;
    bytes last = BYTES_NONE;

    while (scan_next(scan, &row)) {
        if (page->count == scope->page_size || page->elements.len >= LIMIT_FEED_PAGE_BYTES)
            return leave(call, scope, spec, last);
        page->work.rows_visited++;
        TRY(take_document(call, scan, page));
        if (page->count == scope->page_size || page->elements.len >= LIMIT_FEED_PAGE_BYTES)
            TRY(arena_copy(call->arena, scan_position(scan), &last));
    }
    return scan_status(scan);
}

/* One page, from where the one before has ended. */
static status list(struct call *call, const struct item_scope *scope, bytes state,
                   struct page *page)
{
    struct scan_spec spec = { .start = scope->partition.encoded,
                              .end = scope->partition.encoded,
                              .is_end_inclusive = true };
    struct scan *scan;
    bool is_over;

    status s = query_return_to_scan(&call->request, call->collection, state, &spec, &is_over);
    if (s.code == INVALID)
        return call_fail(call, FAIL_CONTINUATION, NULL);
    TRY(s);
    if (is_over)
        return STATUS_OK;
    TRY(scan_open(&call->request, call->collection, &spec, &scan));
    s = fill_page(call, scope, &spec, scan, page);
    scan_close(scan);
    return s;
}

status serve_item_list(struct call *call)
{
    struct page page = { .home = item_home_of(call_container_rid(call)),
                         .elements = buffer_in(call->arena) };
    struct item_scope scope;
    bytes state;

    TRY(item_scope_open(call, 0, &scope));
    TRY(continuation_open(call, "items", scope.token_scope, &state));
    TRY(list(call, &scope, state, &page));
    call->charge = charge_of_query(&page.work);
    return feed_reply_envelope(call, "Documents", call_container_rid(call), &page.elements,
                               page.count);
}
