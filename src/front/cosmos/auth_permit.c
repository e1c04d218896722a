/* Auth permit: what the one who asks may do.
 *
 * The route says which right an operation needs. A key has its right everywhere. A token has it on its
 * resource and below, and with the mode All it may also replace or delete the container that it is for.
 * Reading the account is open to every token, because clients begin with it. A token that is limited to a
 * partition key needs requests for items to name that key; the handlers keep to the key that a request names.
 *
 * Threads: as the call. Start reading at auth_permit(). */
#include "front/cosmos/auth.h"

#include "front/cosmos/call.h"
#include "front/cosmos/item.h"

static bool is_items_request(const struct call *call)
{
    return call->link.count >= 5 && (bytes_equal(call->link.parts[4], BYTES_LITERAL("docs")) ||
                                     bytes_equal(call->link.parts[4], BYTES_LITERAL("operations")));
}

/* Is the item of the path the one with this resource id? A token for a resource id is not for another item
 * of the same name, so the item itself has to be asked. */
static status is_item_of_rid(struct call *call, const struct rid *rid, bool *out)
{
    struct partition_key partition;
    struct item_place place;
    struct document document;

    *out = false;
    TRY(partition_key_of_header(call, &partition));
    TRY(item_find(call, partition.encoded, call->link.parts[LINK_ITEM_PART], &place));
    status s = document_read(&call->request, call->collection, place.key, &document);
    if (s.code == NOT_FOUND)
        return STATUS_OK;
    TRY(s);
    *out = document.birth_seq == rid_item(rid);
    document_release(&call->request, &document);
    return STATUS_OK;
}

static status covers_item(struct call *call, bool *out)
{
    const struct grant *grant = &call->grant;
    struct rid rid;

    *out = false;
    if (call->link.count != LINK_ITEM_PART + 1 || !is_items_request(call))
        return STATUS_OK;
    *out = bytes_equal(call->link.parts[LINK_ITEM_PART], grant->item);
    if (*out || !rid_parse(grant->item, &rid) || rid.len != RID_ITEM_BYTES ||
        memcmp(rid.raw, grant->resource.raw, RID_CONTAINER_BYTES) != 0)
        return STATUS_OK;
    return is_item_of_rid(call, &rid, out);
}

static status covers_resource(struct call *call, bool *out)
{
    const struct grant *grant = &call->grant;
    struct rid asked;

    *out = false;

    if (grant->resource.len == RID_DATABASE_BYTES && call->database_id != 0)
        asked = rid_of_database(call->database_id);
    else if (grant->resource.len == RID_CONTAINER_BYTES && call->collection)
        asked = call_container_rid(call);
    else
        return STATUS_OK;
    if (memcmp(asked.raw, grant->resource.raw, asked.len) != 0)
        return STATUS_OK;
    if (grant->item.len > 0)
        return covers_item(call, out);
    *out = true;
    return STATUS_OK;
}

/* The elements of `limit` are the first of those of `asked`. */
static bool begins_with(bytes asked, bytes limit)
{
    struct document_walk in_asked = document_fields(asked), in_limit = document_fields(limit);
    struct field one, other;

    while (document_next(&in_limit, &other)) {
        if (!document_next(&in_asked, &one) || value_compare(one.value, other.value) != 0)
            return false;
    }
    return true;
}

static status check_partition(struct call *call)
{
    bytes header, asked, limit;

    if (call->grant.partition_key.len == 0 || !is_items_request(call) ||
        call->route->form == FORM_PLAN)
        return STATUS_OK;
    if (call->route->form == FORM_BATCH &&
        !route_header_is_true(call->http, "x-ms-cosmos-batch-atomic"))
        return call_fail(call, FAIL_FORBIDDEN,
                         "The token is limited to one partition key, and the operations of a bulk "
                         "request name their own: use a transactional batch.");
    if (!call_header(call, "x-ms-documentdb-partitionkey", &header))
        return call_fail(call, FAIL_FORBIDDEN,
                         "The token is limited to the partition key %.*s, and the request names "
                         "none: send it as x-ms-documentdb-partitionkey.",
                         (int)call->grant.partition_key.len,
                         (const char *)call->grant.partition_key.data);
    TRY(json_read_array(call->arena, call->grant.partition_key, &limit));
    status s = json_read_array(call->arena, header, &asked);
    if (s.code == INVALID)
        return call_fail(call, FAIL_BAD_REQUEST,
                         "The header x-ms-documentdb-partitionkey is not a JSON array: %s.",
                         s.message);
    TRY(s);
    if (!begins_with(asked, limit))
        return call_fail(call, FAIL_FORBIDDEN,
                         "The token is limited to the partition key %.*s; the request is for "
                         "%.*s.",
                         (int)call->grant.partition_key.len,
                         (const char *)call->grant.partition_key.data, (int)header.len,
                         (const char *)header.data);
    return STATUS_OK;
}

/* Replacing or deleting the container that the permission is for, all of it. */
static bool is_whole_container(const struct call *call)
{
    return call->link.count == 4 && bytes_equal(call->link.parts[2], BYTES_LITERAL("colls")) &&
           call->grant.is_all && call->grant.resource.len == RID_CONTAINER_BYTES &&
           call->grant.item.len == 0 && call->grant.partition_key.len == 0;
}

static status permit_token(struct call *call)
{
    enum right right = call->route->right;
    bool is_covered;

    if (right == RIGHT_ADMIN && !is_whole_container(call))
        return call_fail(call, FAIL_FORBIDDEN,
                         "A resource token does not allow this (%s): it needs the master key.",
                         call->route->sentence);
    if (right == RIGHT_WRITE && !call->grant.is_all)
        return call_fail(call, FAIL_FORBIDDEN,
                         "The permission of the token has the mode Read; this (%s) needs All.",
                         call->route->sentence);
    if (call->link.count == 0)
        return STATUS_OK;
    TRY(covers_resource(call, &is_covered));
    if (!is_covered)
        return call_fail(call, FAIL_FORBIDDEN,
                         "The token is a permission for another resource than '%.*s'.",
                         (int)call->link.path.len, (const char *)call->link.path.data);
    return check_partition(call);
}

status auth_permit(struct call *call)
{
    switch (call->grant.kind) {
    case GRANT_MASTER:
        return STATUS_OK;
    case GRANT_READ_ONLY:
        if (call->route->right == RIGHT_READ)
            return STATUS_OK;
        return call_fail(call, FAIL_FORBIDDEN,
                         "The read-only key does not allow this: %s. Use the master key.",
                         call->route->sentence);
    case GRANT_TOKEN:
        return permit_token(call);
    case GRANT_NOTHING:
        break;
    }
    return call_fail(call, FAIL_FORBIDDEN, NULL);
}
