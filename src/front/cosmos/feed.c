/* Feed: lists of resources, whole or queried, page by page.
 *
 * A feed is made in memory from the catalog, put in order of its ids and cut where the page ends. The token
 * for the next page is the last id given, so resources that come and go between pages neither repeat nor hide
 * others.
 *
 * Keeps: a page ends at LIMIT_FEED_PAGE_BYTES, however many were asked for.
 * Threads: as the call. Start reading at feed_reply(). */
#include <stdlib.h>

#include "base/limits.h"
#include "front/cosmos/resource.h"

status feed_add(struct call *call, struct feed *feed, bytes document)
{
    if (feed->count == feed->room) {
        size_t room = feed->room ? feed->room * 2 : 16;
        bytes *documents;
        TRY(ARENA_NEW(call->arena, room, &documents));
        if (feed->count)
            memcpy(documents, feed->documents, feed->count * sizeof(*documents));
        feed->documents = documents;
        feed->room = room;
    }
    feed->documents[feed->count++] = document;
    return STATUS_OK;
}

/* ---- order ------------------------------------------------------------------------------------------ */

static int compare_items(const void *a, const void *b)
{
    const struct query_item *left = a, *right = b;

    return bytes_compare(left->key, right->key);
}

static status sort_items(struct call *call, const struct feed *feed, struct query_item **out)
{
    struct query_item *items;

    TRY(ARENA_NEW(call->arena, feed->count, &items));
    for (size_t i = 0; i < feed->count; i++) {
        struct value id;
        bool has_id = document_find(feed->documents[i], "id", &id) && id.type == VALUE_STRING;
        ASSERT(has_id);
        items[i] = (struct query_item){ value_text(id), feed->documents[i] };
    }
    if (feed->count > 1)
        qsort(items, feed->count, sizeof(*items), compare_items);
    *out = items;
    return STATUS_OK;
}

/* What a token of this feed belongs to. */
static status feed_scope(struct call *call, const struct feed *feed, bytes *out)
{
    struct buffer scope = buffer_in(call->arena);

    buffer_append_text(&scope, feed->key);
    buffer_append_byte(&scope, 0);
    buffer_append(&scope, bytes_of(feed->owner.raw, feed->owner.len));
    return buffer_finish(&scope, out);
}

/* ---- replies ---------------------------------------------------------------------------------------- */

/* What usually stands around the elements; more is taken when it is needed. */
enum { ENVELOPE_BYTES = 128 };

status feed_reply_envelope(struct call *call, const char *key, struct rid owner,
                           const struct buffer *elements, size_t count)
{
    char rid_text[RID_TEXT_BYTES];
    struct buffer body = buffer_in(call->arena);
    bytes inner;

    TRY(buffer_finish(elements, &inner));
    rid_format(&owner, rid_text);
    buffer_reserve(&body, inner.len + ENVELOPE_BYTES);
    buffer_append_text(&body, "{\"_rid\":\"");
    buffer_append_text(&body, rid_text);
    buffer_append_text(&body, "\",\"");
    buffer_append_text(&body, key);
    buffer_append_text(&body, "\":[");
    buffer_append(&body, inner);
    buffer_append_text(&body, "],\"_count\":");
    buffer_append_decimal(&body, count, 1);
    buffer_append_byte(&body, '}');
    call_add_header(call, "x-ms-item-count", "%zu", count);
    return call_reply(call, 200, &body);
}

/* The first item behind the one that the page before ended with. */
static size_t first_behind(const struct query_item *items, size_t count, bytes last)
{
    size_t at = 0;

    while (at < count && last.len > 0 && bytes_compare(items[at].key, last) <= 0)
        at++;
    return at;
}

static status reply_page(struct call *call, const struct feed *feed)
{
    struct buffer elements = buffer_in(call->arena);
    struct query_item *items;
    size_t page_size, given = 0;
    bytes scope, last;

    TRY(resource_page_size(call, &page_size));
    TRY(feed_scope(call, feed, &scope));
    TRY(continuation_open(call, "feed", scope, &last));
    TRY(sort_items(call, feed, &items));
    size_t at = first_behind(items, feed->count, last);
    while (at < feed->count && given < page_size && elements.len < LIMIT_FEED_PAGE_BYTES) {
        if (given++ > 0)
            buffer_append_byte(&elements, ',');
        json_write(&elements, items[at++].document);
    }
    if (at < feed->count)
        continuation_add(call, "feed", scope, items[at - 1].key);
    return feed_reply_envelope(call, feed->key, feed->owner, &elements, given);
}

status feed_take_row(void *context, struct value row, size_t *len_out)
{
    struct feed_rows *rows = context;
    size_t before = rows->elements.len;

    if (rows->count++ > 0)
        buffer_append_byte(&rows->elements, ',');
    json_write_value(&rows->elements, row);
    *len_out = rows->elements.len - before;
    return rows->elements.is_failed ? arena_exhausted(rows->elements.arena) : STATUS_OK;
}

static status reply_query(struct call *call, const struct feed *feed)
{
    struct feed_rows rows = { .elements = buffer_in(call->arena) };
    struct query_source source = { .arena = call->arena,
                                   .item_count = feed->count,
                                   .now = call->request.now };
    struct query_limits limits = { .output_bytes = LIMIT_FEED_PAGE_BYTES };
    const struct query *query;
    struct query_page page;
    struct query_item *items;
    bytes scope, state;

    TRY(resource_page_size(call, &limits.items));
    TRY(feed_scope(call, feed, &scope));
    TRY(continuation_open(call, "feed query", scope, &state));
    TRY(resource_query(call, &query));
    TRY(sort_items(call, feed, &items));
    source.items = items;
    status s = query_run_page(query, &source, &limits, state, feed_take_row, &rows, &page);
    if (s.code != OK)
        return resource_page_failed(call, s, &page);
    if (page.state.len > 0)
        continuation_add(call, "feed query", scope, page.state);
    return feed_reply_envelope(call, feed->key, feed->owner, &rows.elements, rows.count);
}

status feed_reply(struct call *call, const struct feed *feed)
{
    return call->route->form == FORM_QUERY ? reply_query(call, feed) : reply_page(call, feed);
}
