/* Range: the partition key ranges of a container. There is one, from the least to the greatest key.
 *
 * Some clients read this feed as a feed of changes and go on until they are told that there are none, with a
 * 304 that carries the etag.
 *
 * Threads: as the call. */
#include "front/cosmos/resource.h"
#include "front/cosmos/stored.h"

static status range_document(struct call *call, uint64_t etag, bytes *out)
{
    char rid_text[RID_TEXT_BYTES], database_text[RID_TEXT_BYTES], container_text[RID_TEXT_BYTES];
    struct rid container = call_container_rid(call), database = rid_of_database(call->database_id);
    struct rid range = rid_of_range(container);
    struct resource_mark mark = { .rid = rid_text, .etag = etag };
    struct buffer document = buffer_in(call->arena);

    rid_format(&range, rid_text);
    rid_format(&database, database_text);
    rid_format(&container, container_text);
    mark.ts = stored_read(call->collection->definition.options).ts;
    mark.self = arena_format(call->arena, "dbs/%s/colls/%s/pkranges/%s/", database_text,
                             container_text, rid_text);
    if (!mark.self)
        return arena_exhausted(call->arena);
    size_t begun = document_begin(&document);
    document_append_text(&document, "id", BYTES_LITERAL("0"));
    document_append_text(&document, "minInclusive", BYTES_LITERAL(""));
    document_append_text(&document, "maxExclusive", BYTES_LITERAL("FF"));
    document_append_int64(&document, "ridPrefix", 0);
    document_append_int64(&document, "throughputFraction", 1);
    document_append_text(&document, "status", BYTES_LITERAL("online"));
    document_end(&document, document_begin_inner(&document, VALUE_ARRAY, BYTES_LITERAL("parents")));
    resource_append_mark(&document, &mark);
    document_end(&document, begun);
    return buffer_finish(&document, out);
}

status serve_range_list(struct call *call)
{
    struct feed feed = { .key = "PartitionKeyRanges", .owner = call_container_rid(call) };
    char etag_text[ETAG_TEXT_BYTES];
    uint64_t etag = call->collection->id; /* the ranges of a container never change */
    bytes range;

    etag_format(etag, etag_text);
    call_add_header(call, "etag", "%s", etag_text);
    if (resource_is_unchanged(call, etag))
        return call_reply_empty(call, 304);
    TRY(range_document(call, etag, &range));
    TRY(feed_add(call, &feed, range));
    return feed_reply(call, &feed);
}
