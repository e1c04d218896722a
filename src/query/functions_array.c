/* Functions of arrays, and access by a computed name or position.
 *
 * Pure apart from the row's arena. */
#include "query/evaluate.h"

status function_array_length(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct value array;
    struct field field;
    int64_t count = 0;

    TRY(evaluate(e, call->args[0], &array));
    if (array.type != VALUE_ARRAY)
        return STATUS_OK;
    struct document_walk walk = document_fields(value_document(array));
    while (document_next(&walk, &field))
        count++;
    return value_of_int64(e->arena, count, out);
}

/* Does the document have all fields of the other, with equal values? */
static bool has_parts(struct value whole, struct value parts)
{
    struct field field;
    struct value found;

    if (whole.type != VALUE_DOCUMENT || parts.type != VALUE_DOCUMENT)
        return values_equal(whole, parts);
    struct document_walk walk = document_fields(value_document(parts));
    while (document_next(&walk, &field)) {
        if (!document_find_bytes(value_document(whole), field.name, &found) ||
            !values_equal(found, field.value))
            return false;
    }
    return true;
}

status function_array_contains(struct evaluation *e, const struct expression *call,
                               struct value *out)
{
    struct value array, wanted, partial = value_bool(false);
    struct field field;

    TRY(evaluate(e, call->args[0], &array));
    TRY(evaluate(e, call->args[1], &wanted));
    if (call->count == 3)
        TRY(evaluate(e, call->args[2], &partial));
    if (array.type != VALUE_ARRAY || value_kind_of(wanted) == KIND_MISSING ||
        partial.type != VALUE_BOOL)
        return STATUS_OK;
    bool is_partial = value_is_true(partial), has = false;
    struct document_walk walk = document_fields(value_document(array));
    while (!has && document_next(&walk, &field))
        has = is_partial ? has_parts(field.value, wanted) : values_equal(field.value, wanted);
    *out = value_bool(has);
    return STATUS_OK;
}

status function_element(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct value of, which;
    struct field field;
    int64_t position;

    TRY(evaluate(e, call->args[0], &of));
    TRY(evaluate(e, call->args[1], &which));
    if (of.type == VALUE_DOCUMENT && value_kind_of(which) == KIND_STRING)
        document_find_bytes(value_document(of), value_text(which), out);
    if (of.type != VALUE_ARRAY || !value_as_int64(which, &position) || position < 0)
        return STATUS_OK;
    struct document_walk walk = document_fields(value_document(of));
    while (document_next(&walk, &field)) {
        if (position-- == 0) {
            *out = field.value;
            return STATUS_OK;
        }
    }
    return STATUS_OK;
}
