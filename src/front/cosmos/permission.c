/* Permission: create, upsert, read, list, query, replace, delete, and the tokens that come with them.
 *
 * A permission lets whoever has its token read one resource, or do everything with it. The resource is found
 * when the permission is written and kept by its number, so a container that is made again under the same
 * name is not covered. Every reply that shows a permission has a new token in it, which lasts as long as the
 * request says; the server keeps no tokens and cannot call them back.
 *
 * Threads: as the call; changes one at a time, see resource_change(). */
#include "front/cosmos/permission.h"

#include <strings.h>

#include "front/cosmos/face.h"
#include "front/cosmos/record.h"
#include "front/cosmos/resource.h"
#include "front/cosmos/user.h"

enum { EXPIRY_S_MIN = 10, EXPIRY_S_MAX = 18000, EXPIRY_S_DEFAULT = 3600 };

static struct record_owner permissions_of(const struct record *user)
{
    return (struct record_owner){ RECORD_PERMISSION, user->number };
}

/* ---- tokens ----------------------------------------------------------------------------------------- */

/* x-ms-documentdb-expiry-seconds: how long the tokens of the reply are valid. */
static status read_expiry(struct call *call, int64_t *seconds_out)
{
    bytes text;
    int64_t seconds = 0;
    bool is_number;

    *seconds_out = EXPIRY_S_DEFAULT;
    if (!call_header(call, "x-ms-documentdb-expiry-seconds", &text))
        return STATUS_OK;
    is_number = text.len > 0 && text.len <= 5;
    for (size_t i = 0; i < text.len && is_number; i++) {
        is_number = text.data[i] >= '0' && text.data[i] <= '9';
        seconds = seconds * 10 + (text.data[i] - '0');
    }
    if (!is_number || seconds < EXPIRY_S_MIN || seconds > EXPIRY_S_MAX)
        return call_fail(call, FAIL_BAD_REQUEST,
                         "The header x-ms-documentdb-expiry-seconds is '%.*s'; it must be a whole "
                         "number from %d to %d.",
                         (int)text.len, (const char *)text.data, EXPIRY_S_MIN, EXPIRY_S_MAX);
    *seconds_out = seconds;
    return STATUS_OK;
}

static bool is_mode(bytes text, const char *mode)
{
    return text.len == strlen(mode) && strncasecmp((const char *)text.data, mode, text.len) == 0;
}

static bytes text_field(bytes document, const char *name)
{
    struct value value;

    return document_find(document, name, &value) && value.type == VALUE_STRING ? value_text(value)
                                                                               : BYTES_NONE;
}

static status make_token(struct call *call, const struct record *permission, int64_t expiry_s,
                         bytes *out)
{
    const struct auth *auth = call->face->auth;
    struct permission_grant grant = { .item = text_field(permission->document, "item"),
                                      .expires_at = auth_machine_now(auth) + expiry_s * 1000 };
    struct buffer key = buffer_in(call->arena);
    struct value partition_key;

    grant.is_all = is_mode(text_field(permission->document, "mode"), "all");
    if (!rid_parse(text_field(permission->document, "target"), &grant.resource))
        return status_of(CORRUPT, "a permission is not stored as it should be");
    if (document_find(permission->document, "partitionKey", &partition_key)) {
        json_write_value(&key, partition_key);
        TRY(buffer_finish(&key, &grant.partition_key));
    }
    return auth_make_token(auth, call->arena, &grant, out);
}

/* ---- showing ---------------------------------------------------------------------------------------- */

static struct rid permission_rid(const struct call *call, const struct record *user,
                                 const struct record *permission)
{
    return rid_of_permission(user_rid(call, user), permission->number);
}

static status permission_document(struct call *call, const struct record *user,
                                  const struct record *permission, int64_t expiry_s, bytes *out)
{
    struct rid rids[] = { rid_of_database(call->database_id), user_rid(call, user),
                          permission_rid(call, user, permission) };
    char texts[3][RID_TEXT_BYTES];
    struct resource_mark mark = { .rid = texts[2], .etag = permission->seq, .ts = permission->ts };
    struct buffer document = buffer_in(call->arena);
    struct value partition_key;
    bytes token;

    for (size_t i = 0; i < ARRAY_COUNT(rids); i++)
        rid_format(&rids[i], texts[i]);
    mark.self = arena_format(call->arena, "dbs/%s/users/%s/permissions/%s/", texts[0], texts[1],
                             texts[2]);
    if (!mark.self)
        return arena_exhausted(call->arena);
    TRY(make_token(call, permission, expiry_s, &token));
    size_t begun = document_begin(&document);
    document_append_text(&document, "permissionMode", text_field(permission->document, "mode"));
    document_append_text(&document, "resource", text_field(permission->document, "resource"));
    if (document_find(permission->document, "partitionKey", &partition_key))
        document_append(&document, BYTES_LITERAL("resourcePartitionKey"), partition_key);
    document_append_text(&document, "id", permission->id);
    resource_append_mark(&document, &mark);
    document_append_text(&document, "_token", token);
    document_end(&document, begun);
    return buffer_finish(&document, out);
}

static status reply_permission(struct call *call, unsigned http_status, const struct record *user,
                               const struct record *permission)
{
    bytes document;
    int64_t expiry_s;

    TRY(read_expiry(call, &expiry_s));
    TRY(permission_document(call, user, permission, expiry_s, &document));
    return resource_reply(call, http_status, document, permission->seq);
}

/* ---- finding ---------------------------------------------------------------------------------------- */

struct search {
    const struct record *user;
    struct rid rid;
    struct record found;
    bool is_there;
};

static status match_rid(struct call *call, const struct record *record, void *context)
{
    struct search *search = context;
    struct rid rid = permission_rid(call, search->user, record);

    if (memcmp(rid.raw, search->rid.raw, RID_ITEM_BYTES) == 0) {
        search->found = *record;
        search->is_there = true;
    }
    return STATUS_OK;
}

/* The user and the permission of the path. */
static status find_permission(struct call *call, struct record *user_out, struct record *out)
{
    bytes part = call->link.parts[5];
    struct search search = { .user = user_out };

    *out = (struct record){ 0 };
    TRY(user_find(call, user_out));
    TRY(record_find(call, permissions_of(user_out), part, out, &search.is_there));
    if (search.is_there)
        return STATUS_OK;
    if (rid_parse(part, &search.rid) && search.rid.len == RID_ITEM_BYTES)
        TRY(record_each(call, permissions_of(user_out), match_rid, &search));
    *out = search.found;
    return search.is_there ? STATUS_OK : call_fail(call, FAIL_NOT_FOUND, NULL);
}

status serve_permission_read(struct call *call)
{
    struct record user, permission;

    TRY(find_permission(call, &user, &permission));
    /* A client that has this version still needs a new token, so there is no "not modified". */
    return reply_permission(call, 200, &user, &permission);
}

struct listing {
    struct feed feed;
    struct record user;
    int64_t expiry_s;
};

static status add_to_feed(struct call *call, const struct record *record, void *context)
{
    struct listing *listing = context;
    bytes document;

    TRY(permission_document(call, &listing->user, record, listing->expiry_s, &document));
    return feed_add(call, &listing->feed, document);
}

static status collect(struct call *call, struct listing *out)
{
    *out = (struct listing){ .feed.key = "Permissions" };
    TRY(read_expiry(call, &out->expiry_s));
    TRY(user_find(call, &out->user));
    out->feed.owner = user_rid(call, &out->user);
    return record_each(call, permissions_of(&out->user), add_to_feed, out);
}

status serve_permission_list(struct call *call)
{
    struct listing listing;

    TRY(collect(call, &listing));
    return feed_reply(call, &listing.feed);
}

/* ---- what the body says ----------------------------------------------------------------------------- */

/* A permission on its way to be written. */
struct writing {
    bytes id, mode, resource;
    bytes partition_key; /* BSON array; empty: none */
    struct record user, permission;
    bool was_there;
};

/* An array of values, or its JSON text, or a single string. */
static status read_partition_key(struct call *call, bytes body, struct writing *out)
{
    struct value value;
    struct buffer text = buffer_in(call->arena), single = buffer_in(call->arena);

    if (!document_find(body, "resourcePartitionKey", &value) || value.type == VALUE_NULL)
        return STATUS_OK;
    if (value.type == VALUE_ARRAY) {
        out->partition_key = value_document(value);
    } else if (value.type != VALUE_STRING) {
        return call_fail(call, FAIL_BAD_REQUEST,
                         "The resourcePartitionKey of the permission must be an array of values, "
                         "e.g. [\"a\"].");
    } else if (json_read_array(call->arena, value_text(value), &out->partition_key).code != OK) {
        size_t begun = document_begin(&single);
        document_append(&single, BYTES_LITERAL("0"), value);
        document_end(&single, begun);
        TRY(buffer_finish(&single, &out->partition_key));
    }
    json_write_value(&text, (struct value){ VALUE_ARRAY, out->partition_key });
    size_t count = document_field_count(out->partition_key);
    if (count == 0 || count > LIMIT_PARTITION_KEY_PATHS || text.len > GRANT_PARTITION_BYTES_MAX)
        return call_fail(call, FAIL_BAD_REQUEST,
                         "The resourcePartitionKey of the permission has %zu values in %zu bytes; "
                         "it must have 1 to %d in at most %d.",
                         count, text.len, LIMIT_PARTITION_KEY_PATHS, GRANT_PARTITION_BYTES_MAX);
    return STATUS_OK;
}

static status read_body(struct call *call, struct writing *out)
{
    bytes body;
    int64_t expiry_s;

    TRY(read_expiry(call, &expiry_s)); /* before anything is written */
    TRY(call_body(call, &body));
    TRY(resource_body_id(call, "permission", body, &out->id));
    out->mode = text_field(body, "permissionMode");
    if (!is_mode(out->mode, "read") && !is_mode(out->mode, "all"))
        return call_fail(call, FAIL_BAD_REQUEST,
                         "The permissionMode '%.*s' of the permission is invalid; it must be Read "
                         "or All.",
                         (int)out->mode.len, (const char *)out->mode.data);
    out->resource = text_field(body, "resource");
    if (out->resource.len == 0 || out->resource.len > LIMIT_PATH_BYTES)
        return call_fail(call, FAIL_BAD_REQUEST,
                         "The permission needs a 'resource': a text of 1 to %d bytes such as "
                         "dbs/{database}/colls/{container}.",
                         LIMIT_PATH_BYTES);
    return read_partition_key(call, body, out);
}

/* ---- changing --------------------------------------------------------------------------------------- */

/* A key that the container does not have would limit nothing. */
static status check_partition_key(struct call *call, const struct writing *writing,
                                  const struct permission_target *target)
{
    size_t count = writing->partition_key.len > 0 ? document_field_count(writing->partition_key)
                                                  : 0;

    if (count <= target->path_count)
        return STATUS_OK;
    return call_fail(call, FAIL_BAD_REQUEST,
                     "The resourcePartitionKey of the permission has %zu values; the partition key "
                     "of the resource '%.*s' has %zu.",
                     count, (int)writing->resource.len, (const char *)writing->resource.data,
                     target->path_count);
}

static status put_permission(struct call *call, struct writing *writing, bytes old_id)
{
    struct record_owner owner = permissions_of(&writing->user);
    struct record *permission = &writing->permission;
    struct buffer document = buffer_in(call->arena);
    struct permission_target target;
    char target_text[RID_TEXT_BYTES];

    TRY(permission_find_target(call, writing->resource, &target));
    TRY(check_partition_key(call, writing, &target));
    rid_format(&target.resource, target_text);
    permission->id = writing->id;
    size_t begun = record_begin(&document, owner, permission->id, permission->number);
    document_append_text(&document, "mode", writing->mode);
    document_append_text(&document, "resource", writing->resource);
    document_append_text(&document, "target", bytes_of_text(target_text));
    document_append_text(&document, "item", target.item);
    if (writing->partition_key.len > 0)
        document_append(&document, BYTES_LITERAL("partitionKey"),
                        (struct value){ VALUE_ARRAY, writing->partition_key });
    document_end(&document, begun);
    TRY(buffer_finish(&document, &permission->document));
    return record_put(call, owner, old_id, permission);
}

static status create(struct call *call, void *context)
{
    struct writing *writing = context;
    bool is_upsert = route_header_is_true(call->http, "x-ms-documentdb-is-upsert");

    TRY(user_find(call, &writing->user));
    TRY(record_find(call, permissions_of(&writing->user), writing->id, &writing->permission,
                    &writing->was_there));
    if (writing->was_there && !is_upsert)
        return call_fail(call, FAIL_CONFLICT, NULL);
    if (writing->was_there) {
        TRY(resource_check_match(call, writing->permission.seq));
        return put_permission(call, writing, writing->id);
    }
    writing->permission.number = record_next_number(call);
    return put_permission(call, writing, BYTES_NONE);
}

status serve_permission_create(struct call *call)
{
    struct writing writing = { 0 };

    call->charge = CHARGE_METADATA_WRITE;
    TRY(read_body(call, &writing));
    TRY(resource_change(call, create, &writing));
    return reply_permission(call, writing.was_there ? 200 : 201, &writing.user,
                            &writing.permission);
}

static status replace(struct call *call, void *context)
{
    struct writing *writing = context;

    TRY(find_permission(call, &writing->user, &writing->permission));
    TRY(resource_check_match(call, writing->permission.seq));
    return put_permission(call, writing, writing->permission.id);
}

status serve_permission_replace(struct call *call)
{
    struct writing writing = { 0 };

    call->charge = CHARGE_METADATA_WRITE;
    TRY(read_body(call, &writing));
    TRY(resource_change(call, replace, &writing));
    return reply_permission(call, 200, &writing.user, &writing.permission);
}

static status drop(struct call *call, void *context)
{
    struct record user, permission;

    (void)context;
    TRY(find_permission(call, &user, &permission));
    TRY(resource_check_match(call, permission.seq));
    return record_delete(call, permissions_of(&user), permission.id);
}

status serve_permission_delete(struct call *call)
{
    call->charge = CHARGE_METADATA_WRITE;
    TRY(resource_change(call, drop, NULL));
    return call_reply_empty(call, 204);
}
