/* Functions of logic: comparison, and, or, not, choices, and what kind a value is.
 *
 * Logic has three values: true, false and everything else, which counts as missing. A comparison of
 * different kinds has no order (missing); equality of different kinds is plainly false.
 *
 * Pure apart from the row's arena. The sentences in functions.def say what each one does. */
#include <math.h>

#include "query/call.h"

/* ---- comparison ------------------------------------------------------------------------------------- */

static bool documents_equal(bytes a, bytes b)
{
    struct document_walk walk = document_fields(a);
    struct field field;
    struct value other;

    if (document_field_count(a) != document_field_count(b))
        return false;
    while (document_next(&walk, &field)) {
        if (!document_find_bytes(b, field.name, &other) || !values_equal(field.value, other))
            return false;
    }
    return true;
}

static bool arrays_equal(bytes a, bytes b)
{
    struct document_walk left = document_fields(a), right = document_fields(b);
    struct field x, y;

    for (;;) {
        bool has_left = document_next(&left, &x), has_right = document_next(&right, &y);
        if (!has_left || !has_right)
            return has_left == has_right;
        if (!values_equal(x.value, y.value))
            return false;
    }
}

bool values_equal(struct value a, struct value b)
{
    if (a.type == VALUE_STRING && b.type == VALUE_STRING)
        return bytes_equal(a.raw, b.raw);
    enum value_kind kind = value_kind_of(a);
    if (kind != value_kind_of(b))
        return false;
    if (kind == KIND_DOCUMENT)
        return documents_equal(value_document(a), value_document(b));
    if (kind == KIND_ARRAY)
        return arrays_equal(value_document(a), value_document(b));
    return value_compare(a, b) == 0;
}

bool values_order(struct value a, struct value b, int *order_out)
{
    enum value_kind kind = value_kind_of(a);

    *order_out = 0;
    if (kind != value_kind_of(b) || kind == KIND_MISSING || kind == KIND_ARRAY ||
        kind == KIND_DOCUMENT)
        return false;
    if (kind == KIND_OTHER && a.type != b.type)
        return false;
    *order_out = value_compare(a, b);
    return true;
}

static status two_arguments(struct evaluation *e, const struct expression *call, struct value *a,
                            struct value *b)
{
    TRY(evaluate(e, call->args[0], a));
    return evaluate(e, call->args[1], b);
}

static status equality(struct evaluation *e, const struct expression *call, bool want,
                       struct value *out)
{
    struct value a, b;

    TRY(two_arguments(e, call, &a, &b));
    if (value_kind_of(a) != KIND_MISSING && value_kind_of(b) != KIND_MISSING)
        *out = value_bool(values_equal(a, b) == want);
    return STATUS_OK;
}

status function_equal(struct evaluation *e, const struct expression *call, struct value *out)
{
    return equality(e, call, true, out);
}

status function_not_equal(struct evaluation *e, const struct expression *call, struct value *out)
{
    return equality(e, call, false, out);
}

/* Is the order of the two one of the two wanted ones? */
static status comparison(struct evaluation *e, const struct expression *call, int wanted,
                         bool or_equal, struct value *out)
{
    struct value a, b;
    int order;

    TRY(two_arguments(e, call, &a, &b));
    if (!values_order(a, b, &order))
        return STATUS_OK;
    *out = value_bool(order == 0 ? or_equal : (order < 0) == (wanted < 0));
    return STATUS_OK;
}

status function_less(struct evaluation *e, const struct expression *call, struct value *out)
{
    return comparison(e, call, -1, false, out);
}

status function_less_equal(struct evaluation *e, const struct expression *call, struct value *out)
{
    return comparison(e, call, -1, true, out);
}

status function_greater(struct evaluation *e, const struct expression *call, struct value *out)
{
    return comparison(e, call, 1, false, out);
}

status function_greater_equal(struct evaluation *e, const struct expression *call,
                              struct value *out)
{
    return comparison(e, call, 1, true, out);
}

status function_between(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct value value, low, high;
    int from, upto;

    TRY(evaluate(e, call->args[0], &value));
    TRY(evaluate(e, call->args[1], &low));
    TRY(evaluate(e, call->args[2], &high));
    bool has_from = values_order(value, low, &from), has_upto = values_order(value, high, &upto);
    if ((has_from && from < 0) || (has_upto && upto > 0))
        *out = value_bool(false);
    else if (has_from && has_upto)
        *out = value_bool(true);
    return STATUS_OK;
}

status function_in(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct value needle, item;

    TRY(evaluate(e, call->args[0], &needle));
    if (value_kind_of(needle) == KIND_MISSING)
        return STATUS_OK;
    for (size_t i = 1; i < call->count; i++) {
        TRY(evaluate(e, call->args[i], &item));
        if (values_equal(needle, item)) {
            *out = value_bool(true);
            return STATUS_OK;
        }
    }
    *out = value_bool(false);
    return STATUS_OK;
}

/* ---- and, or, not, choices -------------------------------------------------------------------------- */

/* One operand that is `decisive` decides; otherwise all must be bools. */
static status junction(struct evaluation *e, const struct expression *call, bool decisive,
                       struct value *out)
{
    bool is_missing = false;

    for (size_t i = 0; i < call->count; i++) {
        struct value value;
        TRY(evaluate(e, call->args[i], &value));
        if (value.type != VALUE_BOOL) {
            is_missing = true;
        } else if (value_is_true(value) == decisive) {
            *out = value_bool(decisive);
            return STATUS_OK;
        }
    }
    if (!is_missing)
        *out = value_bool(!decisive);
    return STATUS_OK;
}

status function_and(struct evaluation *e, const struct expression *call, struct value *out)
{
    return junction(e, call, false, out);
}

status function_or(struct evaluation *e, const struct expression *call, struct value *out)
{
    return junction(e, call, true, out);
}

status function_not(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct value value;

    TRY(evaluate(e, call->args[0], &value));
    if (value.type == VALUE_BOOL)
        *out = value_bool(!value_is_true(value));
    return STATUS_OK;
}

status function_choose(struct evaluation *e, const struct expression *call, struct value *out)
{
    bool is_true;

    TRY(evaluate_condition(e, call->args[0], &is_true));
    return evaluate(e, call->args[is_true ? 1 : 2], out);
}

status function_coalesce(struct evaluation *e, const struct expression *call, struct value *out)
{
    TRY(evaluate(e, call->args[0], out));
    return value_kind_of(*out) == KIND_MISSING ? evaluate(e, call->args[1], out) : STATUS_OK;
}

/* ---- what a value is -------------------------------------------------------------------------------- */

static status is_one_of(struct evaluation *e, const struct expression *call, unsigned kinds,
                        struct value *out)
{
    struct value value;

    TRY(evaluate(e, call->args[0], &value));
    *out = value_bool((kinds >> value_kind_of(value) & 1) != 0);
    return STATUS_OK;
}

status function_is_defined(struct evaluation *e, const struct expression *call, struct value *out)
{
    return is_one_of(e, call, ~(1U << KIND_MISSING), out);
}

status function_is_null(struct evaluation *e, const struct expression *call, struct value *out)
{
    return is_one_of(e, call, 1U << KIND_NULL, out);
}

status function_is_bool(struct evaluation *e, const struct expression *call, struct value *out)
{
    return is_one_of(e, call, 1U << KIND_BOOL, out);
}

status function_is_number(struct evaluation *e, const struct expression *call, struct value *out)
{
    return is_one_of(e, call, 1U << KIND_NUMBER, out);
}

status function_is_string(struct evaluation *e, const struct expression *call, struct value *out)
{
    return is_one_of(e, call, 1U << KIND_STRING, out);
}

status function_is_array(struct evaluation *e, const struct expression *call, struct value *out)
{
    return is_one_of(e, call, 1U << KIND_ARRAY, out);
}

status function_is_object(struct evaluation *e, const struct expression *call, struct value *out)
{
    return is_one_of(e, call, 1U << KIND_DOCUMENT, out);
}

status function_is_primitive(struct evaluation *e, const struct expression *call, struct value *out)
{
    return is_one_of(
        e, call, 1U << KIND_NULL | 1U << KIND_BOOL | 1U << KIND_NUMBER | 1U << KIND_STRING, out);
}

status function_is_integer(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct value value;
    int64_t whole;

    TRY(call_take(e, call, &value, 1));
    *out = value_bool(value_as_int64(value, &whole));
    return STATUS_OK;
}

status function_is_finite_number(struct evaluation *e, const struct expression *call,
                                 struct value *out)
{
    struct value value;

    TRY(call_take(e, call, &value, 1));
    *out = value_bool(value_is_number(value) && isfinite(value_as_double(value)));
    return STATUS_OK;
}

/* ---- the document itself ---------------------------------------------------------------------------- */

/* The number of the write that made it: no two documents of a collection have the same. */
status function_document_number(struct evaluation *e, const struct expression *call,
                                struct value *out)
{
    bool is_row = call->args[0]->kind == EXPRESSION_VARIABLE && call->args[0]->number == 0;

    if (!is_row || !e->document)
        return STATUS_OK;
    return call_give_whole(e, (int64_t)e->document->birth_seq, out);
}
