/* Functions of arrays, access by a computed name or position, and choices by number.
 *
 * Pure apart from the row's arena. */
#include "query/call.h"

status function_array_length(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct value array;

    TRY(evaluate(e, call->args[0], &array));
    if (array.type != VALUE_ARRAY)
        return STATUS_OK;
    size_t count = document_field_count(value_document(array));
    return value_of_int64(e->arena, (int64_t)count, out);
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

static bool array_has(struct value array, struct value wanted)
{
    struct document_walk walk = document_fields(value_document(array));
    struct field field;

    while (document_next(&walk, &field)) {
        if (values_equal(field.value, wanted))
            return true;
    }
    return false;
}

/* As if each value were asked for alone, and the answers taken together with AND or OR. */
static status contains_each(struct evaluation *e, const struct expression *call, bool is_any,
                            struct value *out)
{
    struct value array, wanted;
    bool is_missing = false;

    TRY(evaluate(e, call->args[0], &array));
    if (array.type != VALUE_ARRAY)
        return STATUS_OK;
    for (size_t i = 1; i < call->count; i++) {
        TRY(evaluate(e, call->args[i], &wanted));
        if (value_kind_of(wanted) == KIND_MISSING) {
            is_missing = true;
        } else if (array_has(array, wanted) == is_any) {
            *out = value_bool(is_any);
            return STATUS_OK;
        }
    }
    if (!is_missing)
        *out = value_bool(!is_any);
    return STATUS_OK;
}

status function_array_contains_all(struct evaluation *e, const struct expression *call,
                                   struct value *out)
{
    return contains_each(e, call, false, out);
}

status function_array_contains_any(struct evaluation *e, const struct expression *call,
                                   struct value *out)
{
    return contains_each(e, call, true, out);
}

/* ---- new arrays ------------------------------------------------------------------------------------- */

status function_array_concat(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct call_list list = call_list_begin(e);
    struct value array;
    struct field field;

    for (size_t i = 0; i < call->count; i++) {
        TRY(evaluate(e, call->args[i], &array));
        if (array.type != VALUE_ARRAY)
            return STATUS_OK;
        struct document_walk walk = document_fields(value_document(array));
        while (document_next(&walk, &field))
            call_list_add(&list, field.value);
    }
    return call_list_end(&list, out);
}

/* A negative start counts from the end. */
status function_array_slice(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct value v[3];
    struct field field;
    int64_t start, most = INT64_MAX, at = 0;

    TRY(call_take(e, call, v, 3));
    if (v[0].type != VALUE_ARRAY || !value_as_int64(v[1], &start) ||
        (call_has(call, 2) && !value_as_int64(v[2], &most)))
        return STATUS_OK;
    bytes array = value_document(v[0]);
    int64_t count = (int64_t)document_field_count(array);
    if (start < 0)
        start = start < -count ? 0 : start + count;
    struct call_list list = call_list_begin(e);
    struct document_walk walk = document_fields(array);
    while (most > 0 && document_next(&walk, &field)) {
        if (at++ < start)
            continue;
        call_list_add(&list, field.value);
        most--;
    }
    return call_list_end(&list, out);
}

static bool is_name(struct value value)
{
    bytes text = value_is_text(value) ? value_text(value) : BYTES_NONE;

    return value_is_text(value) && (text.len == 0 || !memchr(text.data, 0, text.len));
}

status function_object_to_array(struct evaluation *e, const struct expression *call,
                                struct value *out)
{
    struct value v[3], name;
    struct field field;

    TRY(call_take(e, call, v, 3));
    if (v[0].type != VALUE_DOCUMENT || (call_has(call, 1) && !is_name(v[1])) ||
        (call_has(call, 2) && !is_name(v[2])))
        return STATUS_OK;
    bytes key = call_has(call, 1) ? value_text(v[1]) : BYTES_LITERAL("k");
    bytes value_key = call_has(call, 2) ? value_text(v[2]) : BYTES_LITERAL("v");
    struct call_list list = call_list_begin(e);
    struct document_walk walk = document_fields(value_document(v[0]));
    while (document_next(&walk, &field)) {
        struct buffer pair = buffer_in(e->arena);
        struct value element = { .type = VALUE_DOCUMENT };
        size_t mark = document_begin(&pair);
        TRY(value_of_text(e->arena, field.name, &name));
        document_append(&pair, key, name);
        document_append(&pair, value_key, field.value);
        document_end(&pair, mark);
        TRY(buffer_finish(&pair, &element.raw));
        call_list_add(&list, element);
        TRY(call_check_size(e, list.built.len));
    }
    return call_list_end(&list, out);
}

/* ---- one of many ------------------------------------------------------------------------------------ */

/* The others are not evaluated. */
status function_pick(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct value which;
    int64_t number;

    TRY(evaluate(e, call->args[0], &which));
    if (!value_as_int64(which, &number) || number < 1 || (uint64_t)number >= call->count)
        return STATUS_OK;
    return evaluate(e, call->args[number], out);
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
