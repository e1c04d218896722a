/* Catalog: databases and collections, listed and dropped.
 *
 * What another face has made is listed beside what this one has made; its own system database is not.
 *
 * Threads: the command's. */
#include "front/mongo/condition.h"
#include "front/mongo/create.h"
#include "front/mongo/handlers.h"
#include "front/mongo/keep.h"
#include "front/mongo/principal.h"
#include "front/mongo/series.h"
#include "front/mongo/view.h"

/* A list of rows, those that fulfil the filter of the command. */
struct listing {
    struct condition *filter;
    bool is_name_only;
    size_t count;
};

static status listing_begin(struct command *command, struct value filter, struct value name_only,
                            struct listing *out)
{
    *out = (struct listing){ .is_name_only = argument_flag(name_only, false) };
    return condition_make(command, command->arena, argument_document(filter), BYTES_NONE, NULL,
                          &out->filter);
}

static status listing_add(struct command *command, struct listing *listing, struct buffer *row,
                          size_t begun)
{
    char room[REPLY_INDEX_BYTES];
    struct matching matching;
    bool is_wanted;
    bytes document;

    document_end(row, begun);
    TRY(buffer_finish(row, &document));
    TRY(condition_holds(command, listing->filter, command->arena, document, &matching, &is_wanted));
    if (is_wanted)
        reply_document(&command->reply, reply_index(listing->count++, room), document);
    return STATUS_OK;
}

/* ---- databases -------------------------------------------------------------------------------------- */

static status database_size(struct command *command, bytes database, uint64_t *bytes_out,
                            bool *is_empty_out)
{
    struct request *request = &command->request;
    struct collection_figures figures;

    *bytes_out = 0;
    *is_empty_out = true;
    for (size_t i = 0; i < catalog_collection_count(request); i++) {
        const struct collection *collection = catalog_collection(request, i);
        if (!bytes_equal(collection->definition.database, database))
            continue;
        TRY(collection_figures(request, collection, &figures));
        *bytes_out += figures.bytes;
        *is_empty_out = false;
    }
    return STATUS_OK;
}

/* Whether only those are listed on which the user has a role: who may not see all sees these. */
static status choose_databases(struct command *command, struct value authorized, bool *is_own_out)
{
    bool sees_all = principal_own_rights(command, command->database) & RIGHT_LIST_DATABASES;

    *is_own_out = argument_flag(authorized, !sees_all);
    if (*is_own_out || sees_all)
        return STATUS_OK;
    return command_fail(command, ERROR_Unauthorized,
                        "not authorized on admin to list all databases; leave authorizedDatabases "
                        "out to see those on which you have a role");
}

status serve_list_databases(struct command *command)
{
    static const struct argument table[] = {
        {"filter",               ARGUMENT_DOCUMENT, false},
        { "nameOnly",            ARGUMENT_FLAG,     false},
        { "authorizedDatabases", ARGUMENT_FLAG,     false},
    };
    enum { FILTER, NAME_ONLY, AUTHORIZED };
    struct value given[ARRAY_COUNT(table)];
    struct buffer *out = &command->reply;
    struct listing listing;
    uint64_t total = 0, size;
    bool is_empty, is_own;

    TRY(command_arguments(command, table, ARRAY_COUNT(table), given));
    TRY(listing_begin(command, given[FILTER], given[NAME_ONLY], &listing));
    TRY(choose_databases(command, given[AUTHORIZED], &is_own));
    size_t list = reply_begin_array(out, "databases");
    for (size_t i = 0; i < catalog_database_count(&command->request); i++) {
        bytes name = catalog_database(&command->request, i);
        if (namespace_is_hidden(name) || (is_own && !principal_has_part(command, name)))
            continue;
        TRY(database_size(command, name, &size, &is_empty));
        if (is_empty)
            continue;
        struct buffer row = buffer_in(command->arena);
        size_t begun = document_begin(&row);
        reply_bytes(&row, "name", name);
        if (!listing.is_name_only) {
            reply_int64(&row, "sizeOnDisk", (int64_t)size);
            reply_bool(&row, "empty", false);
        }
        TRY(listing_add(command, &listing, &row, begun));
        total += size;
    }
    document_end(out, list);
    if (!listing.is_name_only) {
        reply_int64(out, "totalSize", (int64_t)total);
        reply_int64(out, "totalSizeMb", (int64_t)(total / (1024 * 1024)));
    }
    return STATUS_OK;
}

status serve_drop_database(struct command *command)
{
    bool is_there = catalog_has_database(&command->request, command->database);

    if (is_there) {
        status s = database_drop(command->face->engine, command->arena, command->database);
        if (s.code != OK && s.code != NOT_FOUND)
            return s;
        reply_bytes(&command->reply, "dropped", command->database);
    }
    return STATUS_OK;
}

/* ---- collections: list ------------------------------------------------------------------------------ */

/* Never used again for another collection, and the same after a restart. */
static void append_uuid(struct buffer *out, uint32_t collection_id)
{
    struct random random = random_seeded(collection_id);
    uint64_t words[2] = { random_next(&random), random_next(&random) };
    uint8_t raw[16];

    memcpy(raw, words, sizeof(raw));
    raw[6] = (uint8_t)((raw[6] & 0x0F) | 0x40);
    raw[8] = (uint8_t)((raw[8] & 0x3F) | 0x80);
    reply_binary(out, "uuid", 4, bytes_of(raw, sizeof(raw)));
}

static void append_id_index(struct buffer *out, const struct collation *by)
{
    size_t index = reply_begin(out, "idIndex");

    reply_int32(out, "v", 2);
    size_t key = reply_begin(out, "key");
    reply_int32(out, "_id", 1);
    document_end(out, key);
    reply_text(out, "name", "_id_");
    if (by)
        reply_document(out, "collation", collation_document(by));
    document_end(out, index);
}

static void append_collection(struct buffer *out, const struct collection *collection,
                              bool is_name_only)
{
    reply_bytes(out, "name", collection->definition.name);
    bool is_view = keep_is_view(collection), is_series = series_is(collection);
    reply_text(out, "type", is_view ? "view" : is_series ? "timeseries" : "collection");
    if (is_name_only)
        return;
    size_t options = reply_begin(out, "options");
    create_append_options(out, collection);
    document_end(out, options);
    size_t info = reply_begin(out, "info");
    reply_bool(out, "readOnly", is_view);
    if (!is_view)
        append_uuid(out, collection->id);
    document_end(out, info);
    if (!is_view && !is_series && !keep_is_clustered(collection))
        append_id_index(out, collection->definition.collation);
}

/* The list of the views, which is there as long as there is one, or the rows of the profiler. */
static void append_list(struct command *command, struct buffer *out, const char *name,
                        bool is_name_only)
{
    reply_text(out, "name", name);
    reply_text(out, "type", "collection");
    if (is_name_only)
        return;
    document_end(out, reply_begin(out, "options"));
    size_t info = reply_begin(out, "info");
    reply_bool(out, "readOnly", false);
    append_uuid(out, catalog_database_id(&command->request, command->database));
    document_end(out, info);
    append_id_index(out, NULL);
}

static status add_list(struct command *command, struct listing *listing, const char *name)
{
    struct buffer row = buffer_in(command->arena);
    size_t begun = document_begin(&row);

    append_list(command, &row, name, listing->is_name_only);
    return listing_add(command, listing, &row, begun);
}

static status list_collections(struct command *command, struct listing *listing)
{
    struct request *request = &command->request;

    for (size_t i = 0; i < catalog_collection_count(request); i++) {
        const struct collection *collection = catalog_collection(request, i);
        if (!bytes_equal(collection->definition.database, command->database))
            continue;
        struct buffer row = buffer_in(command->arena);
        size_t begun = document_begin(&row);
        append_collection(&row, collection, listing->is_name_only);
        TRY(listing_add(command, listing, &row, begun));
    }
    if (view_are_any(command))
        TRY(add_list(command, listing, VIEW_LIST));
    return profiler_has_list(command) ? add_list(command, listing, PROFILE_LIST) : STATUS_OK;
}

status serve_list_collections(struct command *command)
{
    static const struct argument table[] = {
        {"filter",                 ARGUMENT_DOCUMENT, false},
        { "nameOnly",              ARGUMENT_FLAG,     false},
        { "authorizedCollections", ARGUMENT_FLAG,     false},
        { "cursor",                ARGUMENT_DOCUMENT, false},
    };
    enum { FILTER, NAME_ONLY };
    struct value given[ARRAY_COUNT(table)];
    struct buffer *out = &command->reply;
    struct listing listing;

    TRY(command_arguments(command, table, ARRAY_COUNT(table), given));
    TRY(listing_begin(command, given[FILTER], given[NAME_ONLY], &listing));
    size_t cursor = reply_begin(out, "cursor");
    reply_int64(out, "id", 0);
    reply_bytes(out, "ns", command_namespace(command, BYTES_LITERAL("$cmd.listCollections")));
    size_t list = reply_begin_array(out, "firstBatch");
    if (!namespace_is_hidden(command->database))
        TRY(list_collections(command, &listing));
    document_end(out, list);
    document_end(out, cursor);
    return STATUS_OK;
}

/* ---- collections: drop ------------------------------------------------------------------------------ */

status serve_drop(struct command *command)
{
    const struct collection *collection;
    bytes name;

    TRY(command_collection_name(command, &name));
    TRY(command_find(command, name, &collection));
    if (profiler_is_list(name) && !collection)
        return profiler_drop(command);
    if (view_is_needed(name, collection) && !collection)
        return command_fail(command, ERROR_IllegalOperation,
                            "%s is the list of the views, which are dropped one by one", VIEW_LIST);
    if (!collection)
        return STATUS_OK;
    bool is_view = keep_is_view(collection);
    int32_t indexes = (int32_t)keep_index_count(collection);
    status s = collection_drop(command->face->engine, command->arena, command->database, name);
    if (s.code == NOT_FOUND)
        return STATUS_OK;
    TRY(s);
    if (!is_view)
        reply_int32(&command->reply, "nIndexesWas", indexes);
    reply_bytes(&command->reply, "ns", command_namespace(command, name));
    return STATUS_OK;
}
