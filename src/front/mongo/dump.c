/* Dump: what a collection is, as the tools of this protocol keep it beside its documents.
 *
 *   { options: {...}, indexes: [ as listIndexes has them ], collectionName, type: "collection" | "timeseries" | "view",
 *     mayfly: { defaultTtl?, partitionPaths?: [...], options?: {...}, definition } }
 *
 * `mayfly` has what this protocol does not know: the time to live of the collection, its partition key, and what the
 * other face keeps, for people to read; and all of it as the engine describes it, for an import.
 *
 * Threads: any; pure apart from the arena. */
#include "front/mongo/create.h"
#include "front/mongo/index_spec.h"
#include "front/mongo/keep.h"
#include "front/mongo/mongo.h"
#include "front/mongo/reply.h"
#include "front/mongo/series.h"

static void append_indexes(struct buffer *out, const struct index_spec *specs, size_t count)
{
    size_t list = reply_begin_array(out, "indexes");
    char room[REPLY_INDEX_BYTES];

    for (size_t i = 0; i < count; i++) {
        size_t row = reply_begin(out, reply_index(i, room));
        index_spec_append(out, &specs[i]);
        document_end(out, row);
    }
    document_end(out, list);
}

static void append_own(struct buffer *out, const struct collection_definition *definition,
                       bytes description)
{
    size_t own = reply_begin(out, "mayfly");
    char room[REPLY_INDEX_BYTES];

    if (definition->default_ttl != TTL_OFF)
        reply_int32(out, "defaultTtl", definition->default_ttl);
    if (definition->partition_path_count > 0) {
        size_t list = reply_begin_array(out, "partitionPaths");
        for (size_t i = 0; i < definition->partition_path_count; i++)
            reply_bytes(out, reply_index(i, room), definition->partition_paths[i]);
        document_end(out, list);
    }
    if (definition->options.len > 0)
        reply_document(out, "options", definition->options);
    reply_binary(out, "definition", 0, description);
    document_end(out, own);
}

status mongo_describe_collection(struct arena *arena, const struct collection *collection,
                                 struct buffer *out)
{
    struct buffer document = buffer_in(arena);
    struct command command = { .arena = arena };
    struct index_spec *specs;
    size_t count;
    bytes described, description;

    TRY(collection_describe(arena, collection, &description));
    TRY(index_spec_list(&command, collection, &specs, &count));
    size_t begun = document_begin(&document);
    size_t options = reply_begin(&document, "options");
    create_append_options(&document, collection);
    document_end(&document, options);
    append_indexes(&document, specs, count);
    reply_bytes(&document, "collectionName", collection->definition.name);
    reply_text(&document, "type",
               keep_is_view(collection) ? "view"
               : series_is(collection)  ? "timeseries"
                                        : "collection");
    append_own(&document, &collection->definition, description);
    document_end(&document, begun);
    TRY(buffer_finish(&document, &described));
    json_write(out, described);
    return STATUS_OK;
}

bool mongo_is_hidden(bytes database)
{
    return namespace_is_hidden(database);
}
