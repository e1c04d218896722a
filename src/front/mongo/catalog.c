/* Catalog: databases and collections, listed and dropped.
 *
 * What another face has made is listed beside what this one has made; its own system database is not.
 *
 * Threads: the command's. */
#include "front/mongo/create.h"
#include "front/mongo/handlers.h"
#include "front/mongo/keep.h"
#include "front/mongo/kept.h"
#include "front/mongo/stream.h"

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

status serve_list_databases(struct command *command)
{
    static const struct argument table[] = {
        {"filter",               ARGUMENT_DOCUMENT, false},
        { "nameOnly",            ARGUMENT_FLAG,     false},
        { "authorizedDatabases", ARGUMENT_FLAG,     false},
    };
    enum { FILTER, NAME_ONLY };
    struct value given[ARRAY_COUNT(table)];
    struct buffer *out = &command->reply;
    char room[REPLY_INDEX_BYTES];
    uint64_t total = 0, size;
    size_t count = 0;
    bool is_empty;

    TRY(command_arguments(command, table, ARRAY_COUNT(table), given));
    bool is_name_only = argument_flag(given[NAME_ONLY], false);
    size_t list = reply_begin_array(out, "databases");
    for (size_t i = 0; i < catalog_database_count(&command->request); i++) {
        bytes name = catalog_database(&command->request, i);
        if (namespace_is_hidden(name))
            continue;
        TRY(database_size(command, name, &size, &is_empty));
        if (is_empty)
            continue;
        size_t row = reply_begin(out, reply_index(count++, room));
        reply_bytes(out, "name", name);
        if (!is_name_only) {
            reply_int64(out, "sizeOnDisk", (int64_t)size);
            reply_bool(out, "empty", false);
        }
        document_end(out, row);
        total += size;
    }
    document_end(out, list);
    if (!is_name_only) {
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

static void append_collection(struct buffer *out, const struct collection *collection,
                              bool is_name_only)
{
    reply_bytes(out, "name", collection->definition.name);
    bool is_view = keep_is_view(collection);
    reply_text(out, "type", is_view ? "view" : "collection");
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
    if (is_view || keep_is_clustered(collection))
        return;
    size_t index = reply_begin(out, "idIndex");
    reply_int32(out, "v", 2);
    size_t key = reply_begin(out, "key");
    reply_int32(out, "_id", 1);
    document_end(out, key);
    reply_text(out, "name", "_id_");
    document_end(out, index);
}

/* {name: "c"} is what clients ask for. */
static bool is_wanted(bytes filter, const struct collection *collection)
{
    struct value name;

    if (!document_find(filter, "name", &name) || name.type != VALUE_STRING)
        return true;
    return bytes_equal(value_text(name), collection->definition.name);
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
    struct request *request = &command->request;
    char room[REPLY_INDEX_BYTES];
    size_t count = 0;

    TRY(command_arguments(command, table, ARRAY_COUNT(table), given));
    bool is_name_only = argument_flag(given[NAME_ONLY], false);
    size_t cursor = reply_begin(out, "cursor");
    reply_int64(out, "id", 0);
    reply_bytes(out, "ns", command_namespace(command, BYTES_LITERAL("$cmd.listCollections")));
    size_t list = reply_begin_array(out, "firstBatch");
    for (size_t i = 0; i < catalog_collection_count(request); i++) {
        const struct collection *collection = catalog_collection(request, i);
        if (!bytes_equal(collection->definition.database, command->database) ||
            namespace_is_hidden(command->database) ||
            !is_wanted(argument_document(given[FILTER]), collection))
            continue;
        size_t row = reply_begin(out, reply_index(count++, room));
        append_collection(out, collection, is_name_only);
        document_end(out, row);
    }
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
    if (!collection)
        return STATUS_OK;
    int32_t indexes = (int32_t)collection->index_count + 1;
    status s = collection_drop(command->face->engine, command->arena, command->database, name);
    if (s.code == NOT_FOUND)
        return STATUS_OK;
    TRY(s);
    reply_int32(&command->reply, "nIndexesWas", indexes);
    reply_bytes(&command->reply, "ns", command_namespace(command, name));
    return STATUS_OK;
}
