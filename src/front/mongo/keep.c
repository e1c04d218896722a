/* Keep: reading and writing the face's part of the options of a collection.
 *
 *   { ..., mongo: { options: {...}, stampIndex: {...}, idIndex: {...} }, ... }
 *
 * Fields that have nothing to say are left out. Keeps: the other fields of the options, in their order.
 * Pure apart from the arena. */
#include "front/mongo/keep.h"

#define OWN_KEY "mongo"

static bytes find_inner(bytes document, const char *name)
{
    struct value value;

    if (document.len == 0 || !document_find(document, name, &value) || value.type != VALUE_DOCUMENT)
        return BYTES_NONE;
    return value_document(value);
}

struct keep keep_read(bytes collection_options)
{
    bytes own = find_inner(collection_options, OWN_KEY);

    return (struct keep){ .options = find_inner(own, "options"),
                          .stamp_index = find_inner(own, "stampIndex"),
                          .id_index = find_inner(own, "idIndex") };
}

static void append_inner(struct buffer *out, const char *name, bytes document)
{
    if (document.len > 0)
        reply_document(out, name, document);
}

status keep_write(struct arena *arena, bytes collection_options, const struct keep *keep,
                  bytes *out)
{
    struct buffer buffer = buffer_in(arena);
    size_t begun = document_begin(&buffer);
    struct field field;

    if (collection_options.len > 0) {
        struct document_walk walk = document_fields(collection_options);
        while (document_next(&walk, &field)) {
            if (!bytes_equal(field.name, BYTES_LITERAL(OWN_KEY)))
                document_append(&buffer, field.name, field.value);
        }
    }
    size_t own = reply_begin(&buffer, OWN_KEY);
    append_inner(&buffer, "options", keep->options);
    append_inner(&buffer, "stampIndex", keep->stamp_index);
    append_inner(&buffer, "idIndex", keep->id_index);
    document_end(&buffer, own);
    document_end(&buffer, begun);
    return buffer_finish(&buffer, out);
}

struct value keep_option(const struct collection *collection, const char *name)
{
    struct value value = { .type = VALUE_MISSING };
    bytes options = keep_read(collection->definition.options).options;

    if (options.len > 0)
        document_find(options, name, &value);
    return value;
}

status keep_set_option(struct arena *arena, bytes options, const char *name, struct value value,
                       bytes *out)
{
    struct buffer buffer = buffer_in(arena);
    size_t begun = document_begin(&buffer);
    bool is_written = false;
    struct field field;

    if (options.len > 0) {
        struct document_walk walk = document_fields(options);
        while (document_next(&walk, &field)) {
            bool is_it = bytes_equal(field.name, bytes_of_text(name));
            document_append(&buffer, field.name, is_it ? value : field.value);
            is_written |= is_it;
        }
    }
    if (!is_written)
        document_append(&buffer, bytes_of_text(name), value);
    document_end(&buffer, begun);
    return buffer_finish(&buffer, out);
}

size_t keep_index_count(const struct collection *collection)
{
    size_t count = keep_option(collection, "timeseries").type != VALUE_DOCUMENT; /* that on _id */

    for (size_t i = 0; i < collection->index_count; i++) {
        bytes name = collection->indexes[i].definition.name;
        count += name.data[0] != '$'; /* those of the face's own begin so, and clients' cannot */
    }
    return count;
}

bool keep_is_view(const struct collection *collection)
{
    return keep_option(collection, "viewOn").type == VALUE_STRING;
}

bool keep_is_clustered(const struct collection *collection)
{
    return keep_option(collection, "clusteredIndex").type == VALUE_DOCUMENT;
}
