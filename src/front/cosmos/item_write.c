/* Item write: create, upsert, replace and delete of one item.
 *
 * The reply is ready before the commit but for the system properties, which the thread that committed puts
 * behind it. Whether an item is there, and in which version, is decided by the engine under its latches,
 * never by a look beforehand. Only where documents can have an id that is not their key is there such a look;
 * then the write is for what was seen, and done again if that has changed.
 *
 * Keeps: a bad body is refused before anything else is looked at; nothing is touched after the commit was
 * queued. Start reading at serve_item_create(). */
#include "front/cosmos/item.h"

enum { SEARCH_TRIES = 64 };

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
    const struct item_home home = item_home_of(call_container_rid(call));
    item_show_end(&change->json, &home, &version);
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

/* Where ids are not all keys, an upsert that has found nothing must not come over a document of another id that
 * was put there meanwhile. */
static status create_once(struct call *call, struct item item, bool is_upsert, bool *is_raced_out)
{
    bool is_searched = foreign_is_own_marked(call->collection);
    struct item_place place;

    *is_raced_out = false;
    TRY(item_find_place(call, &item, &place));
    if (!is_upsert || place.is_taken)
        TRY(item_check_free(call, &place));
    TRY(item_put_in_place(call, &place, &item));
    if (!is_upsert)
        return item_commit(call, WRITE_INSERT, &item, 0);
    uint64_t wanted = wanted_version(call);
    if (!is_searched || place.seq != 0 || wanted != 0)
        return item_commit(call, WRITE_UPSERT, &item, wanted);
    status s = item_commit(call, WRITE_INSERT, &item, 0);
    *is_raced_out = s.code == EXISTS;
    return s;
}

status serve_item_create(struct call *call)
{
    bool is_upsert = route_header_is_true(call->http, "x-ms-documentdb-is-upsert");
    bool is_raced = true;
    struct item item;
    status s = STATUS_OK;

    TRY(take_body(call, &item));
    for (int i = 0; i < SEARCH_TRIES && is_raced; i++)
        s = create_once(call, item, is_upsert, &is_raced);
    return is_raced ? call_fail(call, FAIL_RETRY, NULL) : s;
}

/* ---- replace ---------------------------------------------------------------------------------------- */

static bytes named(const struct call *call)
{
    return call->link.parts[LINK_ITEM_PART];
}

static status check_same_id(struct call *call, const struct item *item,
                            const struct item_place *place)
{
    struct document document;
    bytes shown;
    status s = document_read(&call->request, call->collection, place->key, &document);

    if (s.code == NOT_FOUND)
        return call_fail(call, FAIL_NO_ITEM, NULL);
    TRY(s);
    s = foreign_shown_id(call->arena, document.bson, &shown);
    bool is_same = s.code == OK && bytes_equal(shown, item->id);
    document_release(&call->request, &document);
    TRY(s);
    return is_same ? STATUS_OK
                   : call_fail(call, FAIL_BAD_REQUEST,
                               "The id of the item in the body does not match the one in the "
                               "request path; the id of an item cannot be changed.");
}

/* The id cannot change; a client that names the item by its resource id still sends the id. Of what is not
 * there, or dead, no id can be wrong. */
static status find_replaced(struct call *call, const struct item *item, struct item_place *out)
{
    if (!bytes_equal(item->id, named(call))) {
        TRY(item_find(call, item->key.partition, named(call), out));
        return bytes_equal(out->key.id, item->key.id) ? STATUS_OK : check_same_id(call, item, out);
    }
    TRY(item_find_place(call, item, out));
    return out->is_taken ? call_fail(call, FAIL_NO_ITEM, NULL) : STATUS_OK;
}

/* A version that the client wants, or the one that was seen to have the id. */
static uint64_t version_to_write(const struct call *call, const struct item_place *place)
{
    uint64_t wanted = wanted_version(call);

    return wanted != 0 ? wanted : place->seq;
}

static bool is_changed_since(const struct call *call, status outcome)
{
    return outcome.code == PRECONDITION && wanted_version(call) == 0;
}

status serve_item_replace(struct call *call)
{
    struct item_place place;
    struct item body, item;
    bool is_raced = true;
    status s = STATUS_OK;

    TRY(take_body(call, &body));
    for (int i = 0; i < SEARCH_TRIES && is_raced; i++) {
        item = body;
        TRY(find_replaced(call, &item, &place));
        TRY(item_put_in_place(call, &place, &item));
        s = item_commit(call, WRITE_REPLACE, &item, version_to_write(call, &place));
        is_raced = s.code != OK && is_changed_since(call, s);
    }
    return is_raced ? call_fail(call, FAIL_RETRY, NULL) : s;
}

/* ---- delete ----------------------------------------------------------------------------------------- */

static status reply_deleted(struct call *call)
{
    const struct write_op *op = call->context;

    call->lsn = op->seq;
    return call_reply_empty(call, 204);
}

static status delete_once(struct call *call, bytes partition, bool *is_raced_out)
{
    struct item_place place;
    struct write_op *op;

    *is_raced_out = false;
    TRY(item_find(call, partition, named(call), &place));
    TRY(ARENA_NEW(call->arena, 1, &op));
    *op = (struct write_op){ .collection = call->collection,
                             .kind = WRITE_DELETE,
                             .key = place.key,
                             .own_ttl = TTL_ABSENT,
                             .if_seq = version_to_write(call, &place) };
    call->charge = charge_delete(1);
    call->context = op;
    status s = call_commit(call, op, 1, WRITE_ALL_OR_NOTHING, reply_deleted);
    *is_raced_out = s.code != OK && is_changed_since(call, s);
    return s;
}

status serve_item_delete(struct call *call)
{
    struct partition_key given;
    bool is_raced = true;
    status s = STATUS_OK;

    TRY(partition_key_required(call, &given));
    for (int i = 0; i < SEARCH_TRIES && is_raced; i++)
        s = delete_once(call, given.encoded, &is_raced);
    return is_raced ? call_fail(call, FAIL_RETRY, NULL) : s;
}
