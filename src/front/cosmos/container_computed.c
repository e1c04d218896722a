/* Container computed: the properties that a container computes, from its definition to what queries use.
 *
 * A definition is text, and is parsed again for each query over the container; what it computes is never stored.
 *
 * Pure apart from the call. */
#include "front/cosmos/container.h"
#include "front/cosmos/stored.h"

static bytes text_of(bytes property, const char *name)
{
    struct value value;

    if (property.len == 0 || !document_find(property, name, &value) || value.type != VALUE_STRING)
        return BYTES_NONE;
    return value_text(value);
}

static bool is_reserved(bytes name)
{
    static const char *const names[] = { "id",  "_rid",         "_self", "_etag",
                                         "_ts", "_attachments", "_lsn",  "ttl" };

    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        if (bytes_equal(name, bytes_of_text(names[i])))
            return true;
    }
    return false;
}

static status check_name(struct call *call, const struct sql_properties *others, bytes name)
{
    const char *wrong = NULL;

    if (name.len == 0)
        wrong = "it is empty";
    else if (is_reserved(name))
        wrong = "the name is one of the system's";
    for (size_t i = 0; i < others->count; i++) {
        if (bytes_equal(others->items[i].name, name))
            wrong = "there are two of the name";
    }
    if (!wrong)
        return STATUS_OK;
    return call_fail(call, FAIL_BAD_REQUEST,
                     "The name '%.*s' of one of the 'computedProperties' is not possible: %s.",
                     (int)name.len, (const char *)name.data, wrong);
}

/* Parses one; `error_out` says what is wrong with its query. */
static status add(struct arena *arena, bytes property, struct sql_properties *out,
                  struct sql_error *error_out)
{
    struct sql_computed *computed = &out->items[out->count];

    computed->name = text_of(property, "name");
    computed->text = text_of(property, "query");
    TRY(sql_parse_property(arena, computed->text, &computed->value, error_out));
    out->count++;
    return STATUS_OK;
}

status container_computed_check(struct call *call, struct value given)
{
    struct document_walk walk = document_fields(value_document(given));
    struct sql_properties properties = { 0 };
    struct sql_error error;
    struct field element;

    while (document_next(&walk, &element)) {
        bytes property = element.value.type == VALUE_DOCUMENT ? value_document(element.value)
                                                              : BYTES_NONE;
        bytes name = text_of(property, "name");
        if (!name.data || !text_of(property, "query").data)
            return call_fail(call, FAIL_BAD_REQUEST,
                             "Each of the 'computedProperties' must be an object with the strings "
                             "'name' and 'query'.");
        if (properties.count == LIMIT_COMPUTED_PROPERTIES)
            return call_fail(call, FAIL_BAD_REQUEST,
                             "There are more than %d 'computedProperties', the limit.",
                             LIMIT_COMPUTED_PROPERTIES);
        TRY(check_name(call, &properties, name));
        status s = add(call->arena, property, &properties, &error);
        if (s.code == INVALID || s.code == TOO_LARGE || s.code == UNSUPPORTED)
            return call_fail(call, FAIL_BAD_REQUEST,
                             "The query of the computed property '%.*s' is not possible: %s",
                             (int)name.len, (const char *)name.data, s.message);
        TRY(s);
    }
    return STATUS_OK;
}

status container_computed(struct call *call, const struct collection *collection,
                          struct sql_properties *out)
{
    bytes definition = stored_definition(collection->definition.options);
    struct sql_error error;
    struct field element;
    struct value list;

    *out = (struct sql_properties){ 0 };
    if (definition.len == 0 || !document_find(definition, "computedProperties", &list) ||
        list.type != VALUE_ARRAY)
        return STATUS_OK;
    struct document_walk walk = document_fields(value_document(list));
    while (document_next(&walk, &element) && out->count < LIMIT_COMPUTED_PROPERTIES) {
        bytes property = element.value.type == VALUE_DOCUMENT ? value_document(element.value)
                                                              : BYTES_NONE;
        status s = add(call->arena, property, out, &error);
        /* One that an older server took without a look computes nothing. */
        if (s.code != INVALID && s.code != TOO_LARGE && s.code != UNSUPPORTED)
            TRY(s);
    }
    return STATUS_OK;
}
