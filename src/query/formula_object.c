/* Operators of formulas on objects.
 *
 * Pure apart from the run's arena. */
#include "query/formula_body.h"

static status give_document(struct buffer *built, size_t begun, struct value *out)
{
    document_end(built, begun);
    *out = (struct value){ .type = VALUE_DOCUMENT };
    return buffer_finish(built, &out->raw);
}

/* A field with this value, in its old place or at the end; missing takes it away. */
static status put_field(struct formula_run *run, struct value object, bytes name,
                        struct value value, struct value *out)
{
    struct buffer built = buffer_in(run->arena);
    size_t begun = document_begin(&built);
    struct document_walk walk = document_fields(value_document(object));
    struct field field;
    bool is_there = false;

    while (document_next(&walk, &field)) {
        bool is_it = bytes_equal(field.name, name);
        is_there |= is_it;
        document_append(&built, field.name, is_it ? value : field.value);
    }
    if (!is_there)
        document_append(&built, name, value);
    return give_document(&built, begun, out);
}

status formula_merge_objects(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct value all, value;
    struct buffer empty = buffer_in(run->arena);
    struct field field;

    TRY(give_document(&empty, document_begin(&empty), &all));
    for (size_t i = 0; i < call->count; i++) {
        TRY(formula_argument(call, run, i, &value));
        if (formula_is_null(value))
            continue;
        if (value.type != VALUE_DOCUMENT)
            return formula_refuse(run, 40400,
                                  "$mergeObjects requires object inputs, but input is of type %s",
                                  value_type_name(value.type));
        struct document_walk walk = document_fields(value_document(value));
        while (document_next(&walk, &field))
            TRY(put_field(run, all, field.name, field.value, &all));
    }
    *out = all;
    return STATUS_OK;
}

static status take_name(const struct formula *call, struct formula_run *run, size_t at,
                        const char *what, bytes *out)
{
    struct value name;

    TRY(formula_argument(call, run, at, &name));
    if (name.type != VALUE_STRING)
        return formula_refuse(run, 5654602,
                              "%s requires 'field' to evaluate to type String, but got %s", what,
                              value_type_name(name.type));
    *out = value_text(name);
    return STATUS_OK;
}

status formula_get_field(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct value object = run->current;
    bytes name;

    TRY(take_name(call, run, 0, "$getField", &name));
    if (call->count > 1)
        TRY(formula_argument(call, run, 1, &object));
    if (formula_is_null(object))
        *out = object.type == VALUE_MISSING ? value_missing() : value_null();
    else if (object.type == VALUE_DOCUMENT)
        document_find_bytes(value_document(object), name, out);
    return STATUS_OK;
}

static status set_field(struct formula_run *run, struct value object, bytes name,
                        struct value value, const char *what, struct value *out)
{
    if (formula_is_null(object)) {
        *out = value_null();
        return STATUS_OK;
    }
    if (object.type != VALUE_DOCUMENT)
        return formula_refuse(run, 4161105,
                              "%s requires 'input' to evaluate to type Object, but got %s", what,
                              value_type_name(object.type));
    if (name.len && memchr(name.data, 0, name.len))
        return formula_refuse(run, 4161106, "%s: a field name contains a zero byte", what);
    return put_field(run, object, name, value, out);
}

status formula_set_field(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct value object, value;
    bytes name;

    TRY(take_name(call, run, 0, "$setField", &name));
    TRY(formula_argument(call, run, 1, &value));
    TRY(formula_argument(call, run, 2, &object));
    return set_field(run, object, name, value, "$setField", out);
}

status formula_unset_field(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct value object;
    bytes name;

    TRY(take_name(call, run, 0, "$unsetField", &name));
    TRY(formula_argument(call, run, 1, &object));
    return set_field(run, object, name, value_missing(), "$unsetField", out);
}

/* ---- objects as arrays ------------------------------------------------------------------------------ */

status formula_array_from_object(const struct formula *call, struct formula_run *run,
                                 struct value *out)
{
    struct document_walk walk;
    struct value object, pair;
    struct formula_list list;
    struct field field;

    TRY(formula_argument(call, run, 0, &object));
    *out = value_null();
    if (formula_is_null(object))
        return STATUS_OK;
    if (object.type != VALUE_DOCUMENT)
        return formula_refuse(run, 40390, "$objectToArray requires a document input, found: %s",
                              value_type_name(object.type));
    list = formula_list_begin(run);
    walk = document_fields(value_document(object));
    while (document_next(&walk, &field)) {
        struct buffer built = buffer_in(run->arena);
        size_t begun = document_begin(&built);
        document_append_text(&built, "k", field.name);
        document_append(&built, BYTES_LITERAL("v"), field.value);
        TRY(give_document(&built, begun, &pair));
        formula_list_add(&list, pair);
    }
    return formula_list_end(&list, out);
}

/* [name, value] or { k: name, v: value } */
static status take_pair(struct formula_run *run, struct value pair, struct value *key_out,
                        struct value *value_out)
{
    struct document_walk walk;
    struct field key, value;

    if (pair.type == VALUE_ARRAY) {
        walk = document_fields(value_document(pair));
        if (document_field_count(value_document(pair)) != 2)
            return formula_refuse(run, 40397,
                                  "$arrayToObject requires an array of size 2 arrays, found "
                                  "array of size: %zu",
                                  document_field_count(value_document(pair)));
        bool has_both = document_next(&walk, &key) && document_next(&walk, &value);
        ASSERT(has_both);
        *key_out = key.value;
        *value_out = value.value;
        return STATUS_OK;
    }
    if (pair.type != VALUE_DOCUMENT)
        return formula_refuse(run, 40398, "Unrecognised input type format for $arrayToObject: %s",
                              value_type_name(pair.type));
    if (!document_find(value_document(pair), "k", key_out) ||
        !document_find(value_document(pair), "v", value_out) ||
        document_field_count(value_document(pair)) != 2)
        return formula_refuse(run, 40393,
                              "$arrayToObject requires an object with keys 'k' and 'v'");
    return STATUS_OK;
}

status formula_object_from_array(const struct formula *call, struct formula_run *run,
                                 struct value *out)
{
    struct buffer empty = buffer_in(run->arena);
    struct value array, key, value, all;
    struct document_walk walk;
    struct field element;

    TRY(formula_argument(call, run, 0, &array));
    *out = value_null();
    if (formula_is_null(array))
        return STATUS_OK;
    if (array.type != VALUE_ARRAY)
        return formula_refuse(run, 40386, "$arrayToObject requires an array input, found: %s",
                              value_type_name(array.type));
    TRY(give_document(&empty, document_begin(&empty), &all));
    walk = document_fields(value_document(array));
    while (document_next(&walk, &element)) {
        TRY(take_pair(run, element.value, &key, &value));
        if (key.type != VALUE_STRING || memchr(value_text(key).data, 0, value_text(key).len))
            return formula_refuse(
                run, 40394, "$arrayToObject requires string keys without zero bytes, found %s",
                value_type_name(key.type));
        TRY(put_field(run, all, value_text(key), value, &all));
    }
    *out = all;
    return STATUS_OK;
}
