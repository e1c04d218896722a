/* Database: create, read, list, query, delete.
 *
 * What the face knows of a database beyond its name (when it changed, its throughput) is in the database's
 * options. One that another face has made is shown like any other. The face's own database is hidden.
 *
 * Threads: as the call; changes one at a time, see resource_change(). */
#include "front/cosmos/face.h"
#include "front/cosmos/offer.h"
#include "front/cosmos/resource.h"
#include "front/cosmos/stored.h"
#include "front/cosmos/user.h"

/* ---- showing ---------------------------------------------------------------------------------------- */

static uint64_t etag_of(struct call *call, bytes name)
{
    struct stored stored = stored_read(catalog_database_options(&call->request, name));

    return resource_etag(catalog_database_id(&call->request, name), stored.version);
}

static status database_document(struct call *call, bytes name, bytes *out)
{
    struct stored stored = stored_read(catalog_database_options(&call->request, name));
    struct rid rid = rid_of_database(catalog_database_id(&call->request, name));
    struct buffer document = buffer_in(call->arena);
    char rid_text[RID_TEXT_BYTES];
    struct resource_mark mark = { .rid = rid_text, .ts = stored.ts, .etag = etag_of(call, name) };

    rid_format(&rid, rid_text);
    mark.self = arena_format(call->arena, "dbs/%s/", rid_text);
    if (!mark.self)
        return arena_exhausted(call->arena);
    size_t begun = document_begin(&document);
    document_append_text(&document, "id", name);
    resource_append_mark(&document, &mark);
    document_append_text(&document, "_colls", BYTES_LITERAL("colls/"));
    document_append_text(&document, "_users", BYTES_LITERAL("users/"));
    document_end(&document, begun);
    return buffer_finish(&document, out);
}

static status reply_database(struct call *call, unsigned http_status, bytes name)
{
    bytes document;

    TRY(database_document(call, name, &document));
    return resource_reply(call, http_status, document, etag_of(call, name));
}

status serve_database_read(struct call *call)
{
    uint64_t etag = etag_of(call, call->database);

    if (resource_is_unchanged(call, etag))
        return resource_reply_unchanged(call, etag);
    return reply_database(call, 200, call->database);
}

static status collect(struct call *call, struct feed *feed)
{
    *feed = (struct feed){ .key = "Databases" };
    for (size_t i = 0; i < catalog_database_count(&call->request); i++) {
        bytes name = catalog_database(&call->request, i), document;
        if (resource_is_hidden(name))
            continue;
        TRY(database_document(call, name, &document));
        TRY(feed_add(call, feed, document));
    }
    return STATUS_OK;
}

status serve_database_list(struct call *call)
{
    struct feed feed;

    TRY(collect(call, &feed));
    return feed_reply(call, &feed);
}

/* ---- changing --------------------------------------------------------------------------------------- */

struct creation {
    bytes name;
    struct stored stored;
};

static status create(struct call *call, void *context)
{
    struct creation *creation = context;
    struct stored *stored = &creation->stored;
    bytes options;

    stored->ts = stored->offer.ts = call->request.now / 1000;
    stored->version = stored->offer.version = 1;
    TRY(stored_write(call->arena, BYTES_NONE, stored, &options));
    TRY(database_create(call->face->engine, call->arena, creation->name, options));
    return call_renew(call);
}

status serve_database_create(struct call *call)
{
    struct creation creation = { .stored = { .default_ttl = TTL_OFF } };
    bytes body;

    call->charge = CHARGE_METADATA_WRITE;
    TRY(call_body(call, &body));
    TRY(resource_body_id(call, "database", body, &creation.name));
    if (resource_is_hidden(creation.name))
        return call_fail(call, FAIL_FORBIDDEN,
                         "The database id '" SYSTEM_DATABASE
                         "' is used by the server itself; choose another one.");
    TRY(offer_of_headers(call, &creation.stored));
    TRY(resource_change(call, create, &creation));
    return reply_database(call, 201, creation.name);
}

static status drop(struct call *call, void *context)
{
    (void)context;
    TRY(resource_check_match(call, etag_of(call, call->database)));
    TRY(database_drop(call->face->engine, call->arena, call->database));
    return user_forget_database(call, call->database_id);
}

status serve_database_delete(struct call *call)
{
    call->charge = CHARGE_METADATA_WRITE;
    TRY(resource_change(call, drop, NULL));
    return call_reply_empty(call, 204);
}
