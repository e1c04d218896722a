/* Foreign: the marks of collections that several faces share. One field of the options each.
 *
 * Pure apart from the arena. */
#include "front/foreign.h"

#define FIELD "foreign"
#define VIEW_FIELD "view"

static bool has_mark(const struct collection *collection, const char *field)
{
    bytes options = collection->definition.options;
    struct value mark;

    return options.len > 0 && document_find(options, field, &mark);
}

static status set_mark(struct arena *arena, bytes options, const char *name, bytes *out)
{
    struct buffer made = buffer_in(arena);
    size_t begun = document_begin(&made);

    if (options.len > 0) {
        struct document_walk walk = document_fields(options);
        struct field field;
        while (document_next(&walk, &field)) {
            if (!bytes_equal(field.name, bytes_of_text(name)))
                document_append(&made, field.name, field.value);
        }
    }
    document_append_bool(&made, name, true);
    document_end(&made, begun);
    return buffer_finish(&made, out);
}

bool foreign_is_marked(const struct collection *collection)
{
    return has_mark(collection, FIELD);
}

status foreign_mark(struct arena *arena, bytes options, bytes *out)
{
    return set_mark(arena, options, FIELD, out);
}

bool foreign_is_unindexed(const struct collection *collection)
{
    /* As the face keeps it that has indexing modes. */
    static const char *const way[] = { "cosmos", "definition", "indexingPolicy" };
    bytes at = collection->definition.options;
    struct value value;

    for (size_t i = 0; i < ARRAY_COUNT(way); i++) {
        if (at.len == 0 || !document_find(at, way[i], &value) || value.type != VALUE_DOCUMENT)
            return false;
        at = value_document(value);
    }
    return document_find(at, "indexingMode", &value) && value.type == VALUE_STRING &&
           bytes_equal(value_text(value), BYTES_LITERAL("none"));
}

bool foreign_is_view(const struct collection *collection)
{
    return has_mark(collection, VIEW_FIELD);
}

status foreign_mark_view(struct arena *arena, bytes options, bytes *out)
{
    return set_mark(arena, options, VIEW_FIELD, out);
}
