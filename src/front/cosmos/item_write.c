/* Item write: create, upsert, replace and delete of one item.
 *
 * The reply is ready before the commit but for the system properties, which the thread that committed puts
 * behind it. Whether an item is there, and in which version, is decided by the engine under its latches,
 * never by a look beforehand.
 *
 * Keeps: a bad body is refused before anything else is looked at; nothing is touched after the commit was
 * queued. Start reading at serve_item_create(). */
#include "front/cosmos/item.h"

/* ---- what create, upsert and replace share ---------------------------------------------------------- */

status item_change_prepare(struct call *call, enum write_kind kind, const struct item *item,
                           struct item_change *out)
{
    enum { SYSTEM_PROPERTIES_BYTES = 320 };

    *out = (struct item_change){ .json = buffer_in(call->arena) };
    out->op = (struct write_op){ .collection = call->collection,
                                 .kind = kind,
                                 .key = item->key,
                                 .document = item->bson,
                                 .own_ttl = item->own_ttl };
    buffer_reserve(&out->json, item->bson.len + item->bson.len / 4 + SYSTEM_PROPERTIES_BYTES);
    item_show_begin(&out->json, item->bson);
    buffer_reserve(&out->json, SYSTEM_PROPERTIES_BYTES);
    return out->json.is_failed ? arena_exhausted(call->arena) : STATUS_OK;
}

static bool is_indexed(const struct collection *collection)
{
    for (size_t i = 0; i < collection->index_count; i++) {
        if (collection->indexes[i].definition.kind == INDEX_PATHS)
            return true;
    }
    return false;
}

charge_units item_charge(const struct call *call, const struct item *item, size_t json_len)
{
    size_t term_count = item->term_count;

    if (item->own_ttl != TTL_ABSENT) /* time to live costs nothing (C-11) */
        term_count--;
    if (!is_indexed(call->collection))
        term_count = 0;
    if (item->old_len > 0)
        return charge_patch(item->old_len, json_len, term_count);
    return charge_write(json_len, term_count);
}

static uint64_t wanted_version(const struct call *call)
{
    bytes etag = BYTES_NONE;

    return call_header(call, "if-match", &etag) ? item_if_match(etag) : 0;
}

/* On the committing thread. */
static status reply_written(struct call *call)
{
    struct item_change *change = call->context;
    struct item_version version = item_version_written(&change->op);
    unsigned http_status = change->op.was_there ? 200 : 201;

    call->lsn = change->op.seq;
    item_add_etag(call, change->op.seq);
    if (change->is_minimal)
        return call_reply_empty(call, http_status);
    item_show_end(&change->json, call_container_rid(call), &version);
    return call_reply(call, http_status, &change->json);
}

status item_commit(struct call *call, enum write_kind kind, const struct item *item,
                   uint64_t if_seq)
{
    struct item_change *change;

    TRY(ARENA_NEW(call->arena, 1, &change));
    TRY(item_change_prepare(call, kind, item, change));
    change->op.if_seq = if_seq;
    change->is_minimal = item_is_minimal(call);
    call->charge = item_charge(call, item, change->json.len);
    call->context = change;
    return call_commit(call, &change->op, 1, WRITE_ALL_OR_NOTHING, reply_written);
}

/* ---- create and upsert ------------------------------------------------------------------------------ */

static status take_body(struct call *call, struct item *out)
{
    struct partition_key given;
    bytes document;

    TRY(item_read_body(call, &document));
    TRY(partition_key_of_header(call, &given));
    return item_take(call, document, &given, out);
}

status serve_item_create(struct call *call)
{
    bool is_upsert = route_header_is_true(call->http, "x-ms-documentdb-is-upsert");
    struct item_place place;
    struct item item;

    TRY(take_body(call, &item));
    TRY(item_find_place(call, &item, &place));
    if (place.foreign_id.type != VALUE_MISSING && !is_upsert)
        return call_fail(call, FAIL_CONFLICT, NULL);
    TRY(item_put_in_place(call, &place, &item));
    if (!is_upsert)
        return item_commit(call, WRITE_INSERT, &item, 0);
    return item_commit(call, WRITE_UPSERT, &item, wanted_version(call));
}

/* ---- replace ---------------------------------------------------------------------------------------- */

static bytes named(const struct call *call)
{
    return call->link.parts[LINK_ITEM_PART];
}

/* The id cannot change; a client that names the item by its resource id still sends the id. Of what is not
 * there, or dead, no id can be wrong. */
static status find_replaced(struct call *call, const struct item *item, struct item_place *out)
{
    struct document document;

    if (bytes_equal(item->id, named(call)))
        return item_find_place(call, item, out);
    TRY(item_find(call, item->key.partition, named(call), out));
    if (bytes_equal(out->key.id, item->key.id))
        return STATUS_OK;
    status s = document_read(&call->request, call->collection, out->key, &document);
    if (s.code == NOT_FOUND)
        return call_fail(call, FAIL_NO_ITEM, NULL);
    TRY(s);
    document_release(&call->request, &document);
    return call_fail(call, FAIL_BAD_REQUEST,
                     "The id of the item in the body does not match the one in the request path; "
                     "the id of an item cannot be changed.");
}

status serve_item_replace(struct call *call)
{
    struct item_place place;
    struct item item;

    TRY(take_body(call, &item));
    TRY(find_replaced(call, &item, &place));
    TRY(item_put_in_place(call, &place, &item));
    return item_commit(call, WRITE_REPLACE, &item, wanted_version(call));
}

/* ---- delete ----------------------------------------------------------------------------------------- */

static status reply_deleted(struct call *call)
{
    const struct write_op *op = call->context;

    call->lsn = op->seq;
    return call_reply_empty(call, 204);
}

status serve_item_delete(struct call *call)
{
    struct partition_key given;
    struct item_place place;
    struct write_op *op;

    TRY(partition_key_required(call, &given));
    TRY(item_find(call, given.encoded, named(call), &place));
    TRY(ARENA_NEW(call->arena, 1, &op));
    *op = (struct write_op){ .collection = call->collection,
                             .kind = WRITE_DELETE,
                             .key = place.key,
                             .own_ttl = TTL_ABSENT,
                             .if_seq = wanted_version(call) };
    call->charge = charge_delete(1);
    call->context = op;
    return call_commit(call, op, 1, WRITE_ALL_OR_NOTHING, reply_deleted);
}
