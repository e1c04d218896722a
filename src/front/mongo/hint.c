/* Hint: from what a client calls an index to the index.
 *
 * Threads: the command's. */
#include "front/mongo/hint.h"

#include "front/mongo/index_spec.h"
#include "front/mongo/keep.h"

/* Numbers by their sign, types by their name. */
static bool is_same_direction(struct value a, struct value b)
{
    if (a.type == VALUE_STRING || b.type == VALUE_STRING)
        return value_compare(a, b) == 0;
    return value_is_number(a) && value_is_number(b) &&
           (value_as_double(a) < 0) == (value_as_double(b) < 0);
}

static bool is_pattern_of(bytes pattern, const struct index *index)
{
    bytes key = index_key_pattern(index);
    struct document_walk walk = document_fields(pattern), own;
    struct field field, part;

    if (index->definition.kind != INDEX_FIELDS || key.len == 0)
        return false;
    own = document_fields(key);
    while (document_next(&walk, &field)) {
        if (!document_next(&own, &part) || !bytes_equal(part.name, field.name) ||
            !is_same_direction(part.value, field.value))
            return false;
    }
    return !document_next(&own, &part);
}

/* {_id: 1}, which every collection has. */
static bool is_id_pattern(bytes pattern)
{
    struct value order;

    return document_field_count(pattern) == 1 && document_find(pattern, "_id", &order) &&
           value_is_number(order) && value_as_double(order) > 0;
}

/* The index on _ts is the default time to live of the collection: it is listed, and holds every document, but no
 * order of its own. */
static bool is_stamp_name(const struct collection *collection, bytes name)
{
    bytes row = keep_read(collection->definition.options).stamp_index;
    struct value listed;

    if (collection->definition.default_ttl == TTL_OFF)
        return false;
    if (row.len > 0 && document_find(row, "name", &listed) && listed.type == VALUE_STRING)
        return bytes_equal(name, value_text(listed));
    return bytes_equal(name, BYTES_LITERAL("_ts_1"));
}

static bool find_by_pattern(const struct collection *collection, bytes pattern, struct hint *out)
{
    struct value natural;

    if (collection->definition.default_ttl != TTL_OFF && index_spec_is_on_stamp(pattern)) {
        out->by = FIND_NATURAL;
        return true;
    }
    if (document_find(pattern, "$natural", &natural)) {
        out->by = FIND_NATURAL;
        out->is_reverse = value_is_number(natural) && value_as_double(natural) < 0;
        return true;
    }
    if (is_id_pattern(pattern)) {
        out->by = FIND_BY_KEY;
        return true;
    }
    for (size_t i = 0; i < collection->index_count; i++) {
        if (is_pattern_of(pattern, &collection->indexes[i])) {
            out->is_ambiguous = out->index != NULL;
            out->by = FIND_BY_INDEX;
            out->index = &collection->indexes[i];
        }
    }
    return out->index != NULL;
}

static bool find_by_name(const struct collection *collection, bytes name, struct hint *out)
{
    if (bytes_equal(name, BYTES_LITERAL("_id_"))) {
        out->by = FIND_BY_KEY;
        return true;
    }
    if (is_stamp_name(collection, name)) {
        out->by = FIND_NATURAL;
        return true;
    }
    *out = (struct hint){ .by = FIND_BY_INDEX, .index = collection_index(collection, name) };
    return out->index && out->index->definition.kind == INDEX_FIELDS;
}

status hint_read(struct command *command, const struct collection *collection, struct value value,
                 struct hint *out)
{
    bool is_found = true;

    *out = (struct hint){ .by = FIND_ANY_WAY };
    if (!collection)
        return STATUS_OK;
    if (value.type == VALUE_DOCUMENT && document_field_count(value_document(value)) > 0)
        is_found = find_by_pattern(collection, value_document(value), out);
    else if (value.type == VALUE_STRING)
        is_found = find_by_name(collection, value_text(value), out);
    if (out->is_ambiguous)
        return command_fail(command, ERROR_IndexNotFound,
                            "Hint matched multiple indexes, must hint by index name");
    if (is_found && (!out->index || index_is_usable(out->index)))
        return STATUS_OK;
    return command_fail(command, ERROR_BadValue,
                        "hint provided does not correspond to an existing index");
}
