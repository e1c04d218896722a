/* Foreign: the marks of collections that several faces share, one field of the options each; and the ids of
 * documents of which one face knows the `_id` and another the `id`.
 *
 * Pure apart from the arena. */
#include "front/foreign.h"

#define FIELD "foreign"
#define VIEW_FIELD "view"
#define OWN_FIELD "ownIds"

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

/* ---- ids -------------------------------------------------------------------------------------------- */

static bool find_text(bytes document, const char *name, bytes *out)
{
    struct value value;

    *out = BYTES_NONE;
    if (!document_find(document, name, &value) || value.type != VALUE_STRING)
        return false;
    *out = value_text(value);
    return true;
}

static status text_of_key(struct arena *arena, bytes document, bytes *out)
{
    struct buffer text = buffer_in(arena);
    struct value id;

    if (find_text(document, "_id", out))
        return STATUS_OK;
    document_find(document, "_id", &id);
    if (id.type == VALUE_OBJECT_ID) {
        for (size_t i = 0; i < id.raw.len; i++)
            buffer_append_format(&text, "%02x", id.raw.data[i]);
    } else if (id.type != VALUE_MISSING) {
        json_write_value(&text, id);
    }
    return buffer_finish(&text, out);
}

status foreign_shown_id(struct arena *arena, bytes document, bytes *out)
{
    return find_text(document, "id", out) ? STATUS_OK : text_of_key(arena, document, out);
}

status foreign_has_own_id(struct arena *arena, bytes document, bool *out)
{
    bytes own, other;

    *out = false;
    if (!find_text(document, "id", &own))
        return STATUS_OK;
    TRY(text_of_key(arena, document, &other));
    *out = !bytes_equal(own, other);
    return STATUS_OK;
}

bool foreign_is_own_marked(const struct collection *collection)
{
    return has_mark(collection, OWN_FIELD);
}

status foreign_mark_own(struct arena *arena, bytes options, bytes *out)
{
    return set_mark(arena, options, OWN_FIELD, out);
}

/* ---- what one face only can make sense of ----------------------------------------------------------- */

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
