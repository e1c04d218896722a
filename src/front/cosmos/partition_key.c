/* Partition key: from JSON or from a document into the bytes that order items.
 *
 * Numbers that are equal give equal bytes, whatever their notation; a property that is not there is a
 * value of its own, different from null.
 *
 * Pure apart from the call; a call belongs to one thread at a time. */
#include "front/cosmos/partition_key.h"

/* ---- values ----------------------------------------------------------------------------------------- */

static const char *kind_name(enum value_type type)
{
    return type == VALUE_ARRAY ? "an array" : "an object";
}

/* {} is how clients say that the property is not there. */
static struct value component_of(struct value value)
{
    if (value.type == VALUE_DOCUMENT) {
        struct document_walk walk = document_fields(value_document(value));
        struct field field;
        if (!document_next(&walk, &field))
            return (struct value){ .type = VALUE_MISSING };
    }
    return value;
}

static size_t text_len(struct value value)
{
    return value.type == VALUE_STRING ? value_text(value).len : 0;
}

static status check_length(struct call *call, size_t len)
{
    if (len <= LIMIT_PARTITION_KEY_BYTES)
        return STATUS_OK;
    return call_fail(call, FAIL_BAD_REQUEST, "The partition key has %zu bytes, the limit is %d.",
                     len, LIMIT_PARTITION_KEY_BYTES);
}

static size_t path_count(const struct call *call)
{
    return call->collection->definition.partition_path_count;
}

/* ---- given ------------------------------------------------------------------------------------------ */

static status fail_count(struct call *call, size_t count)
{
    return call_fail(call, FAIL_PARTITION_KEY,
                     "The partition key has %zu components, but the container has %zu partition "
                     "key paths.",
                     count, path_count(call));
}

static status encode_components(struct call *call, bytes array, struct partition_key *out)
{
    struct document_walk walk = document_fields(array);
    struct buffer encoded = buffer_in(call->arena);
    struct field field;
    size_t len = 0;

    while (document_next(&walk, &field)) {
        struct value value = component_of(field.value);
        if (++out->count > LIMIT_PARTITION_KEY_PATHS)
            return fail_count(call, out->count);
        if (value.type == VALUE_DOCUMENT || value.type == VALUE_ARRAY)
            return call_fail(call, FAIL_BAD_REQUEST,
                             "Component %zu of the partition key is %s; it must be a string, a "
                             "number, true, false, null, or {} for a property that is not there.",
                             out->count, kind_name(value.type));
        len += text_len(value);
        key_append_value(&encoded, value, KEY_ASCENDING);
    }
    TRY(check_length(call, len));
    return buffer_finish(&encoded, &out->encoded);
}

status partition_key_parse(struct call *call, bytes json, struct partition_key *out)
{
    bytes array;

    *out = (struct partition_key){ .is_given = true };
    status s = json_read_array(call->arena, json, &array);
    if (s.code == INVALID || s.code == TOO_LARGE)
        return call_fail(call, FAIL_BAD_REQUEST,
                         "The partition key '%.*s' is not a JSON array of its components: %s.",
                         (int)(json.len < 200 ? json.len : 200), (const char *)json.data,
                         s.message);
    TRY(s);
    TRY(encode_components(call, array, out));
    if (path_count(call) == 0) {
        *out = (struct partition_key){ .is_given = true };
        return STATUS_OK;
    }
    return out->count > path_count(call) ? fail_count(call, out->count) : STATUS_OK;
}

status partition_key_check_whole(struct call *call, const struct partition_key *given)
{
    return given->count == path_count(call) ? STATUS_OK : fail_count(call, given->count);
}

status partition_key_of_header(struct call *call, struct partition_key *out)
{
    bytes text;

    *out = (struct partition_key){ 0 };
    if (!call_header(call, "x-ms-documentdb-partitionkey", &text))
        return STATUS_OK;
    TRY(partition_key_parse(call, text, out));
    return partition_key_check_whole(call, out);
}

status partition_key_required(struct call *call, struct partition_key *out)
{
    TRY(partition_key_of_header(call, out));
    if (out->is_given || path_count(call) == 0)
        return STATUS_OK;
    return call_fail(call, FAIL_BAD_REQUEST,
                     "PartitionKey value must be supplied for this operation, in the header "
                     "x-ms-documentdb-partitionkey.");
}

status partition_key_of_scope(struct call *call, struct partition_key *out)
{
    bytes text;

    *out = (struct partition_key){ 0 };
    if (!call_header(call, "x-ms-documentdb-partitionkey", &text))
        return STATUS_OK;
    return partition_key_parse(call, text, out);
}

/* ---- of a document ---------------------------------------------------------------------------------- */

/* What a dotted path leads to; arrays are not entered. */
static struct value value_at(bytes document, bytes dotted)
{
    struct value value = { .type = VALUE_DOCUMENT, .raw = document };

    while (dotted.len > 0) {
        const uint8_t *dot = memchr(dotted.data, '.', dotted.len);
        bytes name = bytes_of(dotted.data, dot ? (size_t)(dot - dotted.data) : dotted.len);
        if (value.type != VALUE_DOCUMENT ||
            !document_find_bytes(value_document(value), name, &value))
            return (struct value){ .type = VALUE_MISSING };
        dotted = bytes_from(dotted, name.len + 1);
    }
    return value;
}

status partition_key_of_document(struct call *call, bytes document, bytes *encoded_out)
{
    const struct collection_definition *definition = &call->collection->definition;
    struct buffer encoded = buffer_in(call->arena);
    size_t len = 0;

    *encoded_out = BYTES_NONE;
    for (size_t i = 0; i < definition->partition_path_count; i++) {
        bytes path = definition->partition_paths[i];
        struct value value = value_at(document, path);
        if (value.type == VALUE_DOCUMENT || value.type == VALUE_ARRAY)
            return call_fail(call, FAIL_BAD_REQUEST,
                             "The value at the partition key path '%.*s' is %s; it must be a "
                             "string, a number, true, false, null, or be left out.",
                             (int)path.len, (const char *)path.data, kind_name(value.type));
        len += text_len(value);
        key_append_value(&encoded, value, KEY_ASCENDING);
    }
    TRY(check_length(call, len));
    return buffer_finish(&encoded, encoded_out);
}

status partition_key_check(struct call *call, const struct partition_key *given, bytes encoded)
{
    if (!given->is_given || bytes_equal(given->encoded, encoded))
        return STATUS_OK;
    return call_fail(call, FAIL_PARTITION_KEY, NULL);
}
