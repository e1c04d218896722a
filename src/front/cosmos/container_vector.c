/* Container vector: vector indexes are named in the indexing policy and described in the embedding policy, and
 * the two have to fit. Searching does not need the indexes; how vectors are compared that a query says nothing
 * about, the embedding policy says.
 *
 * Pure apart from the call. */
#include "front/cosmos/container.h"
#include "front/cosmos/stored.h"

static struct value find_list(bytes document, const char *policy, const char *list)
{
    struct value value = { .type = VALUE_MISSING };

    if (document.len > 0 && document_find(document, policy, &value) &&
        value.type == VALUE_DOCUMENT && document_find(value_document(value), list, &value) &&
        value.type == VALUE_ARRAY)
        return value;
    return (struct value){ .type = VALUE_MISSING };
}

static bool list_has_path(struct value list, struct value path)
{
    struct value other;
    struct field element;

    if (list.type != VALUE_ARRAY)
        return false;
    struct document_walk walk = document_fields(value_document(list));
    while (document_next(&walk, &element)) {
        if (element.value.type == VALUE_DOCUMENT &&
            document_find(value_document(element.value), "path", &other) &&
            value_compare(path, other) == 0)
            return true;
    }
    return false;
}

/* Clients look for the path with its slash escaped. */
static status fail_path(struct call *call, bytes path)
{
    struct buffer errors = buffer_in(call->arena);

    buffer_append_text(&errors, "{\"Errors\":[\"Vector Indexing Policy's path::");
    for (size_t i = 0; i < path.len; i++) {
        if (path.data[i] == '/' || path.data[i] == '"' || path.data[i] == '\\')
            buffer_append_byte(&errors, '\\');
        buffer_append_byte(&errors, path.data[i] < ' ' ? ' ' : path.data[i]);
    }
    buffer_append_text(&errors, " not matching in Embedding's path\"]}");
    status s = call_fail(call, FAIL_BAD_REQUEST, NULL);
    TRY(buffer_finish(&errors, &call->failure.errors));
    return s;
}

status container_vectors_check(struct call *call, bytes definition, bytes old)
{
    struct value indexes = find_list(definition, "indexingPolicy", "vectorIndexes");
    struct value embeddings = find_list(definition, "vectorEmbeddingPolicy", "vectorEmbeddings");
    struct value old_indexes = find_list(old, "indexingPolicy", "vectorIndexes");
    struct value path;
    struct field element;

    if (old_indexes.type == VALUE_ARRAY && indexes.type == VALUE_ARRAY &&
        value_compare(indexes, old_indexes) != 0)
        return call_fail(call, FAIL_BAD_REQUEST,
                         "Vector Indexing Policy cannot be changed in Collection Replace.");
    if (indexes.type != VALUE_ARRAY)
        return STATUS_OK;
    struct document_walk walk = document_fields(value_document(indexes));
    while (document_next(&walk, &element)) {
        bool has_path = document_find(value_document(element.value), "path", &path);
        ASSERT(has_path); /* the policy was checked */
        if (!list_has_path(embeddings, path))
            return fail_path(call, value_text(path));
    }
    return STATUS_OK;
}

struct query_meaning container_meaning(const struct collection *collection)
{
    bytes definition = stored_definition(collection->definition.options);
    struct query_meaning meaning = { .vectors = find_list(definition, "vectorEmbeddingPolicy",
                                                          "vectorEmbeddings") };
    struct value config, type;

    meaning.is_flat =
        definition.len > 0 && document_find(definition, "geospatialConfig", &config) &&
        config.type == VALUE_DOCUMENT && document_find(value_document(config), "type", &type) &&
        type.type == VALUE_STRING && bytes_equal(value_text(type), BYTES_LITERAL("Geometry"));
    return meaning;
}
