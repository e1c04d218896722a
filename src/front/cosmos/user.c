/* User: create, upsert, read, list, query, replace, delete.
 *
 * A user is a name within a database that permissions hang from; the server knows nothing else of it. It may
 * be renamed: its number, and with it its resource id and its permissions, stay.
 *
 * Threads: as the call; changes one at a time, see resource_change(). */
#include "front/cosmos/user.h"

#include "front/cosmos/face.h"
#include "front/cosmos/record.h"
#include "front/cosmos/resource.h"

static struct record_owner users_of(const struct call *call)
{
    return (struct record_owner){ RECORD_USER, call->database_id };
}

/* ---- finding ---------------------------------------------------------------------------------------- */

struct rid user_rid(const struct call *call, const struct record *user)
{
    return rid_of_user(call->database_id, (uint32_t)user->number);
}

struct search {
    struct rid rid;
    struct record found;
    bool is_there;
};

static status match_rid(struct call *call, const struct record *record, void *context)
{
    struct search *search = context;
    struct rid rid = user_rid(call, record);

    if (memcmp(rid.raw, search->rid.raw, RID_CONTAINER_BYTES) == 0) {
        search->found = *record;
        search->is_there = true;
    }
    return STATUS_OK;
}

/* A name goes before a resource id of the same text. */
status user_find(struct call *call, struct record *out)
{
    bytes part = call->link.parts[3];
    struct search search = { .is_there = false };

    TRY(record_find(call, users_of(call), part, out, &search.is_there));
    if (search.is_there)
        return STATUS_OK;
    if (rid_parse(part, &search.rid) && search.rid.len == RID_CONTAINER_BYTES)
        TRY(record_each(call, users_of(call), match_rid, &search));
    *out = search.found;
    if (search.is_there)
        return STATUS_OK;
    return call_fail(call, call->link.count == 4 ? FAIL_NOT_FOUND : FAIL_NO_OWNER, NULL);
}

/* ---- showing ---------------------------------------------------------------------------------------- */

static status user_document(struct call *call, const struct record *user, bytes *out)
{
    struct rid database = rid_of_database(call->database_id), rid = user_rid(call, user);
    char database_text[RID_TEXT_BYTES], rid_text[RID_TEXT_BYTES];
    struct resource_mark mark = { .rid = rid_text, .etag = user->seq, .ts = user->ts };
    struct buffer document = buffer_in(call->arena);

    rid_format(&database, database_text);
    rid_format(&rid, rid_text);
    mark.self = arena_format(call->arena, "dbs/%s/users/%s/", database_text, rid_text);
    if (!mark.self)
        return arena_exhausted(call->arena);
    size_t begun = document_begin(&document);
    document_append_text(&document, "id", user->id);
    resource_append_mark(&document, &mark);
    document_append_text(&document, "_permissions", BYTES_LITERAL("permissions/"));
    document_end(&document, begun);
    return buffer_finish(&document, out);
}

static status reply_user(struct call *call, unsigned http_status, const struct record *user)
{
    bytes document;

    TRY(user_document(call, user, &document));
    return resource_reply(call, http_status, document, user->seq);
}

status serve_user_read(struct call *call)
{
    struct record user;

    TRY(user_find(call, &user));
    if (resource_is_unchanged(call, user.seq))
        return resource_reply_unchanged(call, user.seq);
    return reply_user(call, 200, &user);
}

static status add_to_feed(struct call *call, const struct record *record, void *context)
{
    bytes document;

    TRY(user_document(call, record, &document));
    return feed_add(call, context, document);
}

status serve_user_list(struct call *call)
{
    struct feed feed = { .key = "Users", .owner = rid_of_database(call->database_id) };

    TRY(record_each(call, users_of(call), add_to_feed, &feed));
    return feed_reply(call, &feed);
}

/* ---- changing --------------------------------------------------------------------------------------- */

struct writing {
    bytes id;
    struct record user;
    bool was_there;
};

static status put_user(struct call *call, struct writing *writing, bytes old_id)
{
    struct buffer document = buffer_in(call->arena);
    struct record *user = &writing->user;

    user->id = writing->id;
    size_t begun = record_begin(&document, users_of(call), user->id, user->number);
    document_end(&document, begun);
    TRY(buffer_finish(&document, &user->document));
    return record_put(call, users_of(call), old_id, user);
}

static status create(struct call *call, void *context)
{
    struct writing *writing = context;
    bool is_upsert = route_header_is_true(call->http, "x-ms-documentdb-is-upsert");

    TRY(record_prepare(call));
    TRY(record_find(call, users_of(call), writing->id, &writing->user, &writing->was_there));
    if (writing->was_there && !is_upsert)
        return call_fail(call, FAIL_CONFLICT, NULL);
    if (writing->was_there) {
        TRY(resource_check_match(call, writing->user.seq));
        return put_user(call, writing, writing->id);
    }
    writing->user.number = record_next_number(call);
    return put_user(call, writing, BYTES_NONE);
}

status serve_user_create(struct call *call)
{
    struct writing writing = { 0 };
    bytes body;

    call->charge = CHARGE_METADATA_WRITE;
    TRY(call_body(call, &body));
    TRY(resource_body_id(call, "user", body, &writing.id));
    TRY(resource_change(call, create, &writing));
    return reply_user(call, writing.was_there ? 200 : 201, &writing.user);
}

static status replace(struct call *call, void *context)
{
    struct writing *writing = context;

    TRY(user_find(call, &writing->user));
    TRY(resource_check_match(call, writing->user.seq));
    return put_user(call, writing, writing->user.id);
}

status serve_user_replace(struct call *call)
{
    struct writing writing = { 0 };
    bytes body;

    call->charge = CHARGE_METADATA_WRITE;
    TRY(call_body(call, &body));
    TRY(resource_body_id(call, "user", body, &writing.id));
    TRY(resource_change(call, replace, &writing));
    return reply_user(call, 200, &writing.user);
}

static status forget_permissions(struct call *call, const struct record *user, void *context)
{
    (void)context;
    return record_delete_all(call, (struct record_owner){ RECORD_PERMISSION, user->number });
}

static status drop(struct call *call, void *context)
{
    struct record user;

    TRY(user_find(call, &user));
    TRY(resource_check_match(call, user.seq));
    /* The user goes last, so that after a failure on the way it can be deleted again. */
    TRY(forget_permissions(call, &user, context));
    return record_delete(call, users_of(call), user.id);
}

status serve_user_delete(struct call *call)
{
    call->charge = CHARGE_METADATA_WRITE;
    TRY(resource_change(call, drop, NULL));
    return call_reply_empty(call, 204);
}

status user_forget_database(struct call *call, uint32_t database_id)
{
    struct record_owner owner = { RECORD_USER, database_id };

    TRY(record_each(call, owner, forget_permissions, NULL));
    return record_delete_all(call, owner);
}
