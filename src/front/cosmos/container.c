/* Container: create, read, list, query, replace, delete.
 *
 * The definition is stored as it is shown, so that reading is copying. The time to live is the engine's own, as
 * another face may have set it.
 *
 * Keeps: everything is checked before anything changes, and a change is one step of the engine.
 * Threads: as the call; changes one at a time, see resource_change(). Start reading at
 * serve_container_replace(). */
#include "front/cosmos/container.h"

#include <inttypes.h>

#include "front/cosmos/face.h"
#include "front/cosmos/offer.h"
#include "front/cosmos/resource.h"
#include "front/front.h"

/* ---- showing ---------------------------------------------------------------------------------------- */

/* A time to live that another face has set since makes another version of it. */
static uint64_t etag_of(const struct collection *collection)
{
    struct stored stored = stored_read(collection->definition.options);
    bool is_changed_elsewhere = stored.version &&
                                stored.default_ttl != collection->definition.default_ttl;
    uint32_t version = stored.version | (is_changed_elsewhere ? 0x80000000u : 0);

    return resource_etag(collection->id, version);
}

static void append_links(struct buffer *document)
{
    document_append_text(document, "_docs", BYTES_LITERAL("docs/"));
    document_append_text(document, "_sprocs", BYTES_LITERAL("sprocs/"));
    document_append_text(document, "_triggers", BYTES_LITERAL("triggers/"));
    document_append_text(document, "_udfs", BYTES_LITERAL("udfs/"));
    document_append_text(document, "_conflicts", BYTES_LITERAL("conflicts/"));
}

static status container_document(struct call *call, const struct collection *collection, bytes *out)
{
    struct rid rid = rid_of_container(call->database_id, collection->id);
    struct rid database = rid_of_database(call->database_id);
    char rid_text[RID_TEXT_BYTES], database_text[RID_TEXT_BYTES];
    struct resource_mark mark = { .rid = rid_text, .etag = etag_of(collection) };
    struct buffer document = buffer_in(call->arena);
    struct field field;
    bytes definition;

    rid_format(&rid, rid_text);
    rid_format(&database, database_text);
    mark.ts = stored_read(collection->definition.options).ts;
    mark.self = arena_format(call->arena, "dbs/%s/colls/%s/", database_text, rid_text);
    if (!mark.self)
        return arena_exhausted(call->arena);
    TRY(container_definition_of(call, collection, &definition));
    size_t begun = document_begin(&document);
    document_append_text(&document, "id", collection->definition.name);
    struct document_walk walk = document_fields(definition);
    while (document_next(&walk, &field))
        document_append(&document, field.name, field.value);
    if (collection->definition.default_ttl != TTL_OFF)
        document_append_int64(&document, "defaultTtl", collection->definition.default_ttl);
    resource_append_mark(&document, &mark);
    append_links(&document);
    document_end(&document, begun);
    return buffer_finish(&document, out);
}

static status reply_container(struct call *call, unsigned http_status,
                              const struct collection *collection)
{
    bytes document;

    TRY(container_document(call, collection, &document));
    return resource_reply(call, http_status, document, etag_of(collection));
}

static void add_progress(struct call *call)
{
    const struct index *index = container_path_index(call->collection);
    unsigned percent = index ? index_progress_per_mille(index) / 10 : 100;

    call_add_header(call, "x-ms-documentdb-collection-index-transformation-progress", "%u",
                    percent);
    if (index && index->definition.is_lazy)
        call_add_header(call, "x-ms-documentdb-collection-lazy-indexing-progress", "%u", percent);
}

/* Sizes in KB, but documentSize in MB; the dead are left out (C-12). */
static status add_quota(struct call *call)
{
    struct collection_figures figures;

    TRY(collection_figures(&call->request, call->collection, &figures));
    uint64_t kilobytes = (figures.bytes + 1023) / 1024;
    call_add_header(call, "x-ms-resource-quota",
                    "functions=50;storedProcedures=100;triggers=25;documentSize=10240;"
                    "documentsSize=10485760;documentsCount=-1;collectionSize=10485760;");
    call_add_header(call, "x-ms-resource-usage",
                    "functions=0;storedProcedures=0;triggers=0;documentSize=%" PRIu64
                    ";documentsSize=%" PRIu64 ";documentsCount=%" PRIu64 ";collectionSize=%" PRIu64
                    ";",
                    kilobytes / 1024, kilobytes, figures.documents, kilobytes);
    return STATUS_OK;
}

status serve_container_read(struct call *call)
{
    uint64_t etag = etag_of(call->collection);

    if (resource_is_unchanged(call, etag))
        return resource_reply_unchanged(call, etag);
    add_progress(call);
    if (route_header_is_true(call->http, "x-ms-documentdb-populatequotainfo"))
        TRY(add_quota(call));
    return reply_container(call, 200, call->collection);
}

static status collect(struct call *call, struct feed *feed)
{
    *feed = (struct feed){ .key = "DocumentCollections",
                           .owner = rid_of_database(call->database_id) };
    for (size_t i = 0; i < catalog_collection_count(&call->request); i++) {
        const struct collection *collection = catalog_collection(&call->request, i);
        bytes document;
        if (!bytes_equal(collection->definition.database, call->database) ||
            foreign_is_view(collection))
            continue;
        TRY(container_document(call, collection, &document));
        TRY(feed_add(call, feed, document));
    }
    return STATUS_OK;
}

status serve_container_list(struct call *call)
{
    struct feed feed;

    TRY(collect(call, &feed));
    return feed_reply(call, &feed);
}

/* ---- changing --------------------------------------------------------------------------------------- */

/* What a create or a replace wants. */
struct wish {
    bytes body;
    bytes id;
    int32_t default_ttl;
    struct container_definition definition;
    struct stored stored;
    bytes options;
};

/* C-9: documents die by the index that says when they do, as far as clients know. */
static status check_ttl_and_mode(struct call *call, const struct wish *wish)
{
    if (wish->definition.policy.mode != INDEXING_NONE || wish->default_ttl == TTL_OFF)
        return STATUS_OK;
    return call_fail(call, FAIL_BAD_REQUEST,
                     "Indexing mode value cannot be 'none' when 'defaultTtl' is specified in the "
                     "collection");
}

static status write_options(struct call *call, struct wish *wish, bytes old)
{
    wish->stored.ts = call->request.now / 1000;
    wish->stored.version++;
    wish->stored.default_ttl = wish->default_ttl;
    wish->stored.definition = wish->definition.document;
    return stored_write(call->arena, old, &wish->stored, &wish->options);
}

static status create(struct call *call, void *context)
{
    struct wish *wish = context;
    struct container_indexes indexes;

    wish->stored.offer.version = 1;
    wish->stored.offer.ts = call->request.now / 1000;
    TRY(write_options(call, wish, BYTES_NONE));
    TRY(container_indexes_make(call, &wish->definition, &indexes));
    struct collection_definition definition = {
        .database = call->database,
        .name = wish->id,
        .default_ttl = wish->default_ttl,
        .options = wish->options,
        .partition_path_count = wish->definition.partition_path_count,
        .partition_paths = wish->definition.partition_paths,
    };
    TRY(collection_create(call->face->engine, call->arena, &definition, indexes.definitions,
                          indexes.count));
    return call_renew(call);
}

status serve_container_create(struct call *call)
{
    const struct collection *collection;
    struct wish *wish;

    call->charge = CHARGE_METADATA_WRITE;
    TRY(ARENA_NEW(call->arena, 1, &wish));
    TRY(call_body(call, &wish->body));
    TRY(resource_body_id(call, "container", wish->body, &wish->id));
    TRY(container_default_ttl(call, wish->body, &wish->default_ttl));
    TRY(container_definition_read(call, wish->body, BYTES_NONE, &wish->definition));
    TRY(check_ttl_and_mode(call, wish));
    TRY(offer_of_headers(call, &wish->stored));
    TRY(resource_change(call, create, wish));
    TRY(catalog_find(&call->request, call->database, wish->id, &collection));
    return reply_container(call, 201, collection);
}

static status check_same_id(struct call *call, const struct wish *wish)
{
    bytes name = call->collection->definition.name;
    struct value id;

    if (document_find(wish->body, "id", &id) && id.type == VALUE_STRING &&
        bytes_equal(value_text(id), name))
        return STATUS_OK;
    return call_fail(call, FAIL_BAD_REQUEST,
                     "The 'id' of the container must be '%.*s', as in the url; a container cannot "
                     "be renamed.",
                     (int)name.len, (const char *)name.data);
}

static status replace(struct call *call, void *context)
{
    const struct collection_definition *old = &call->collection->definition;
    struct wish *wish = context;
    bytes old_document;

    TRY(check_same_id(call, wish));
    TRY(container_definition_of(call, call->collection, &old_document));
    TRY(container_definition_read(call, wish->body, old_document, &wish->definition));
    TRY(check_ttl_and_mode(call, wish));
    TRY(resource_check_match(call, etag_of(call->collection)));
    wish->stored = stored_read(old->options);
    TRY(write_options(call, wish, old->options));
    struct collection_change change = {
        .if_version = call->collection->version,
        .sets_default_ttl = wish->default_ttl != old->default_ttl,
        .default_ttl = wish->default_ttl,
        .sets_options = true,
        .options = wish->options,
    };
    bool is_switched_on = old->default_ttl == TTL_OFF && wish->default_ttl != TTL_OFF;
    TRY(container_indexes_change(call, &wish->definition,
                                 is_switched_on && wish->definition.policy.mode == INDEXING_LAZY,
                                 &change));
    TRY(collection_change(call->face->engine, call->arena, old->database, old->name, &change));
    return call_renew(call);
}

status serve_container_replace(struct call *call)
{
    struct wish *wish;

    call->charge = CHARGE_METADATA_WRITE;
    TRY(ARENA_NEW(call->arena, 1, &wish));
    TRY(call_body(call, &wish->body));
    TRY(container_default_ttl(call, wish->body, &wish->default_ttl));
    TRY(resource_change(call, replace, wish));
    return reply_container(call, 200, call->collection);
}

static status drop(struct call *call, void *context)
{
    (void)context;
    TRY(resource_check_match(call, etag_of(call->collection)));
    return collection_drop(call->face->engine, call->arena, call->database,
                           call->collection->definition.name);
}

status serve_container_delete(struct call *call)
{
    call->charge = CHARGE_METADATA_WRITE;
    TRY(resource_change(call, drop, NULL));
    return call_reply_empty(call, 204);
}
