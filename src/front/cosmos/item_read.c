/* Item read: one item by its id.
 *
 * The fast way of the face: one look by key; only where there is nothing is the id tried as something
 * else (item_find.c).
 *
 * Threads: the worker's. */
#include "front/cosmos/item.h"

/* Only a document with an id of its own shows another than its key says. */
static status check_shown(struct call *call, struct document *document, bytes id)
{
    bytes shown = id;
    status s = STATUS_OK;

    if (foreign_is_own_marked(call->collection))
        s = foreign_shown_id(call->arena, document->bson, &shown);
    if (s.code == OK && !bytes_equal(shown, id))
        s = status_of(NOT_FOUND, "the document has another id");
    if (s.code != OK)
        document_release(&call->request, document);
    return s;
}

static status read_named(struct call *call, bytes partition, struct document *out)
{
    bytes id = call->link.parts[LINK_ITEM_PART];
    struct document_key key;
    struct item_place place;

    TRY(item_key(call, partition, id, &key));
    status s = document_read(&call->request, call->collection, key, out);
    if (s.code == OK)
        s = check_shown(call, out, id);
    if (s.code != NOT_FOUND)
        return s;
    TRY(item_find(call, partition, id, &place));
    if (bytes_equal(place.key.id, key.id))
        return s;
    return document_read(&call->request, call->collection, place.key, out);
}

static status reply_item(struct call *call, const struct document *document)
{
    enum { SYSTEM_PROPERTIES_BYTES = 320 };
    const struct item_home home = item_home_of(call_container_rid(call));
    struct buffer json = buffer_in(call->arena);

    buffer_reserve(&json, document->bson.len + document->bson.len / 4 + SYSTEM_PROPERTIES_BYTES);
    item_show(&home, &json, document);
    call->charge = charge_point_read(json.len);
    return call_reply(call, 200, &json);
}

status serve_item_read(struct call *call)
{
    struct partition_key given;
    struct document document;
    status s;

    TRY(partition_key_required(call, &given));
    TRY(read_named(call, given.encoded, &document));
    item_add_etag(call, document.seq);
    if (resource_is_unchanged(call, document.seq))
        s = call_reply_empty(call, 304);
    else
        s = reply_item(call, &document);
    document_release(&call->request, &document);
    return s;
}
