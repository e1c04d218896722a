/* Kept: between documents of clients and documents of the engine.
 *
 * A document's key in the engine is the encoding of its _id, whatever its type, behind the partition key
 * of the collection; a collection made through this face has none. Documents of another face have an `id`
 * and are keyed by it, so its value is their _id here. Which of the two it is follows from the key: if the
 * encoding of the stored _id is the key, the _id is the one.
 *
 * A field `ttl` means time to live where the collection has that switched on; only there a value that
 * cannot be one is refused, because elsewhere it is a field like any other.
 *
 * Threads: the command's. */
#include "front/mongo/kept.h"

#include "front/mongo/duplicate.h"
#include "front/mongo/series.h"
#include "front/mongo/validator.h"

enum { TIMESTAMP_BYTES = 8 };

bool kept_is_keyed_by_id(const struct collection *collection)
{
    return collection->definition.partition_path_count == 0;
}

status kept_id_key(struct arena *arena, const struct collection *collection, struct value id,
                   bytes *out)
{
    struct buffer encoded = buffer_in(arena);

    key_append_value_by(&encoded, collection->definition.collation, id, KEY_ASCENDING);
    return buffer_finish(&encoded, out);
}

/* ---- taking in -------------------------------------------------------------------------------------- */

static status check_id(struct command *command, struct value id)
{
    struct field field;

    if (id.type == VALUE_ARRAY || id.type == VALUE_REGEX || id.type == VALUE_UNDEFINED)
        return command_fail(command, ERROR_InvalidIdField, "The '_id' value cannot be of type %s",
                            value_type_name(id.type));
    if (id.type != VALUE_DOCUMENT)
        return STATUS_OK;
    struct document_walk walk = document_fields(value_document(id));
    while (document_next(&walk, &field)) {
        if (field.name.len > 0 && field.name.data[0] == '$')
            return command_fail(command, ERROR_DollarPrefixedFieldName,
                                "_id fields may not contain '$'-prefixed fields: %.*s is not valid "
                                "for storage.",
                                (int)field.name.len, (const char *)field.name.data);
    }
    return STATUS_OK;
}

static bool is_empty_timestamp(struct value value)
{
    static const uint8_t zero[TIMESTAMP_BYTES];

    return value.type == VALUE_TIMESTAMP && memcmp(value.raw.data, zero, sizeof(zero)) == 0;
}

/* What taking in a document depends on, in one walk over its fields. */
struct look {
    bool is_as_stored; /* _id in front, and no timestamp that the server fills in */
    bool has_ttl, has_id;
};

static struct look look_at(bytes document)
{
    struct document_walk walk = document_fields(document);
    struct look look = { 0 };
    struct field field;

    for (size_t at = 0; document_next(&walk, &field); at++) {
        if (at == 0)
            look.is_as_stored = bytes_equal(field.name, BYTES_LITERAL("_id"));
        else if (is_empty_timestamp(field.value))
            look.is_as_stored = false;
        look.has_ttl = look.has_ttl || bytes_equal(field.name, BYTES_LITERAL("ttl"));
        look.has_id = look.has_id || bytes_equal(field.name, BYTES_LITERAL("id"));
    }
    return look;
}

static void append_filled(struct command *command, struct buffer *out, const struct field *field)
{
    const char *name = NULL;

    if (is_empty_timestamp(field->value))
        name = arena_format(command->arena, "%.*s", (int)field->name.len,
                            (const char *)field->name.data);
    if (name)
        reply_timestamp(out, name, face_cluster_time(command->face, true));
    else
        document_append(out, field->name, field->value);
}

static status put_id_first(struct command *command, bytes document, bytes *out)
{
    struct document_walk walk = document_fields(document);
    struct buffer copy = buffer_in(command->arena);
    uint8_t made[OBJECT_ID_BYTES];
    struct value id;
    struct field field;

    buffer_reserve(&copy, document.len + 32);
    size_t begun = document_begin(&copy);
    if (document_find(document, "_id", &id)) {
        document_append(&copy, BYTES_LITERAL("_id"), id);
    } else {
        face_make_object_id(command->face, made);
        reply_object_id(&copy, "_id", made);
    }
    while (document_next(&walk, &field)) {
        if (!bytes_equal(field.name, BYTES_LITERAL("_id")))
            append_filled(command, &copy, &field);
    }
    document_end(&copy, begun);
    return buffer_finish(&copy, out);
}

static status take_ttl(struct command *command, const struct collection *collection, bytes document,
                       int32_t *out)
{
    status s = expiry_own_ttl(command->arena, document, out);

    if (s.code == OK)
        return s;
    *out = TTL_ABSENT;
    if (collection->definition.default_ttl == TTL_OFF)
        return STATUS_OK;
    return command_fail(command, ERROR_BadValue,
                        "time to live is on in this collection, and there: %s", s.message);
}

/* Whoever knows documents by their `id` has to hear of one that has another than its `_id` says. */
static status note_own_id(struct command *command, const struct collection *collection,
                          bytes document)
{
    bool is_own = false;

    if (!foreign_is_own_marked(collection))
        TRY(foreign_has_own_id(command->arena, document, &is_own));
    return is_own ? command_mark_own_ids(command, collection) : STATUS_OK;
}

status kept_take(struct command *command, const struct collection *collection, bytes before,
                 bytes document, struct kept *out)
{
    const struct look look = look_at(document);

    *out = (struct kept){ .bson = document, .own_ttl = TTL_ABSENT };
    if (!look.is_as_stored)
        TRY(put_id_first(command, document, &out->bson));
    if (out->bson.len > LIMIT_DOCUMENT_BYTES)
        return command_fail(command, ERROR_BSONObjectTooLarge,
                            "object to insert too large. size in bytes: %zu, max size: %d",
                            out->bson.len, LIMIT_DOCUMENT_BYTES);
    document_find(out->bson, "_id", &out->id);
    TRY(check_id(command, out->id));
    TRY(series_check_document(command, collection, out->bson));
    TRY(validator_judge(command, collection, before, out->id, out->bson));
    if (look.has_ttl)
        TRY(take_ttl(command, collection, out->bson, &out->own_ttl));
    if (look.has_id)
        TRY(note_own_id(command, collection, out->bson));
    return document_key_make(command->arena, collection, out->bson, out->id, &out->key);
}

/* ---- showing ---------------------------------------------------------------------------------------- */

static bool is_key_of(struct arena *arena, const struct collection *collection, struct value id,
                      bytes key)
{
    bytes encoded;

    return kept_id_key(arena, collection, id, &encoded).code == OK && bytes_equal(encoded, key);
}

status kept_show(struct arena *arena, const struct collection *collection, struct document_key key,
                 bytes bson, bytes *out)
{
    struct document_walk walk = document_fields(bson);
    struct buffer copy = buffer_in(arena);
    struct field field;
    struct value id;

    *out = bson;
    struct document_walk first = walk;
    if (document_next(&first, &field) && bytes_equal(field.name, BYTES_LITERAL("_id")) &&
        is_key_of(arena, collection, field.value, key.id))
        return STATUS_OK;
    if (!document_find(bson, "_id", &id) || !is_key_of(arena, collection, id, key.id))
        document_find(bson, "id", &id);
    buffer_reserve(&copy, bson.len + id.raw.len + 8);
    size_t begun = document_begin(&copy);
    document_append(&copy, BYTES_LITERAL("_id"), id);
    while (document_next(&walk, &field)) {
        if (!bytes_equal(field.name, BYTES_LITERAL("_id")))
            document_append(&copy, field.name, field.value);
    }
    document_end(&copy, begun);
    return buffer_finish(&copy, out);
}

/* ---- duplicates ------------------------------------------------------------------------------------- */

static status document_of_id(struct arena *arena, struct value id, bytes *out)
{
    struct buffer document = buffer_in(arena);
    size_t begun = document_begin(&document);

    document_append(&document, BYTES_LITERAL("_id"), id);
    document_end(&document, begun);
    return buffer_finish(&document, out);
}

status kept_fault_duplicate_id(struct command *command, bytes name,
                               const struct collection *collection, struct value id,
                               struct fault *out)
{
    struct duplicate duplicate = { .collection = name,
                                   .index = BYTES_LITERAL("_id_"),
                                   .collation = collection->definition.collation };
    struct value one;

    TRY(value_of_integer(command->arena, VALUE_INT32, 1, &one));
    TRY(document_of_id(command->arena, one, &duplicate.pattern));
    TRY(document_of_id(command->arena, id, &duplicate.values));
    return duplicate_fault(command, &duplicate, out);
}
