/* Operators of formulas that compare, choose and bind.
 *
 * Comparisons know an order over all types, missing below null. Choices compute only the branch they take.
 *
 * Pure apart from the run's arena. */
#include "query/formula_body.h"

static status order_of(const struct formula *call, struct formula_run *run, int *order_out)
{
    struct value a, b;

    TRY(formula_argument(call, run, 0, &a));
    TRY(formula_argument(call, run, 1, &b));
    int order = value_compare_by(run->collation, a, b);
    *order_out = (order > 0) - (order < 0);
    return STATUS_OK;
}

status formula_compare(const struct formula *call, struct formula_run *run, struct value *out)
{
    int order;

    TRY(order_of(call, run, &order));
    return formula_give_int(run, order, out);
}

#define COMPARISON(name, claim)                                                                   \
    status formula_##name(const struct formula *call, struct formula_run *run, struct value *out) \
    {                                                                                             \
        int order;                                                                                \
                                                                                                  \
        TRY(order_of(call, run, &order));                                                         \
        *out = value_bool(claim);                                                                 \
        return STATUS_OK;                                                                         \
    }

COMPARISON(equal, order == 0)
COMPARISON(not_equal, order != 0)
COMPARISON(less, order < 0)
COMPARISON(less_equal, order <= 0)
COMPARISON(greater, order > 0)
COMPARISON(greater_equal, order >= 0)

/* ---- truth ------------------------------------------------------------------------------------------ */

static status find_truth(const struct formula *call, struct formula_run *run, bool wanted,
                         struct value *out)
{
    struct value value;

    for (size_t i = 0; i < call->count; i++) {
        TRY(formula_argument(call, run, i, &value));
        if (formula_is_true(value) == wanted) {
            *out = value_bool(wanted);
            return STATUS_OK;
        }
    }
    *out = value_bool(!wanted);
    return STATUS_OK;
}

status formula_and(const struct formula *call, struct formula_run *run, struct value *out)
{
    return find_truth(call, run, false, out);
}

status formula_or(const struct formula *call, struct formula_run *run, struct value *out)
{
    return find_truth(call, run, true, out);
}

status formula_not(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct value value;

    TRY(formula_argument(call, run, 0, &value));
    *out = value_bool(!formula_is_true(value));
    return STATUS_OK;
}

static status find_element(const struct formula *call, struct formula_run *run, const char *name,
                           int32_t number, bool wanted, struct value *out)
{
    struct document_walk walk;
    struct field element;
    struct value array;

    TRY(formula_argument(call, run, 0, &array));
    if (array.type != VALUE_ARRAY)
        return formula_refuse(run, number, "%s's argument must be an array, but is %s", name,
                              value_type_name(array.type));
    *out = value_bool(!wanted);
    walk = document_fields(value_document(array));
    while (document_next(&walk, &element)) {
        if (formula_is_true(element.value) == wanted)
            *out = value_bool(wanted);
    }
    return STATUS_OK;
}

status formula_all_true(const struct formula *call, struct formula_run *run, struct value *out)
{
    return find_element(call, run, "$allElementsTrue", 17040, false, out);
}

status formula_any_true(const struct formula *call, struct formula_run *run, struct value *out)
{
    return find_element(call, run, "$anyElementTrue", 17041, true, out);
}

/* ---- choices ---------------------------------------------------------------------------------------- */

status formula_cond(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct value value;

    TRY(formula_argument(call, run, 0, &value));
    return formula_argument(call, run, formula_is_true(value) ? 1 : 2, out);
}

status formula_if_null(const struct formula *call, struct formula_run *run, struct value *out)
{
    for (size_t i = 0; i < call->count; i++) {
        TRY(formula_argument(call, run, i, out));
        if (!formula_is_null(*out))
            return STATUS_OK;
    }
    return STATUS_OK;
}

/* Cases and values in turn; an odd one at the end is the default. */
status formula_switch(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct value value;
    size_t i = 0;

    for (; i + 1 < call->count; i += 2) {
        TRY(formula_argument(call, run, i, &value));
        if (formula_is_true(value))
            return formula_argument(call, run, i + 1, out);
    }
    if (i < call->count && call->args[i])
        return formula_argument(call, run, i, out);
    return formula_refuse(run, 40066,
                          "$switch could not find a matching branch for an input, and no default "
                          "was specified");
}

/* The first argument, with the others in the variables from `number` on. */
status formula_let(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct value values[FORMULA_VARIABLES_MAX];

    ASSERT(call->count - 1 <= FORMULA_VARIABLES_MAX);
    for (size_t i = 1; i < call->count; i++)
        TRY(formula_argument(call, run, i, &values[i - 1]));
    for (size_t i = 1; i < call->count; i++)
        run->variables[call->number + i - 1] = values[i - 1];
    return formula_argument(call, run, 0, out);
}

/* ---- kinds ------------------------------------------------------------------------------------------ */

status formula_in(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct document_walk walk;
    struct field element;
    struct value wanted, array;

    TRY(formula_argument(call, run, 0, &wanted));
    TRY(formula_argument(call, run, 1, &array));
    if (array.type != VALUE_ARRAY)
        return formula_refuse(run, 40081, "$in requires an array as a second argument, found: %s",
                              value_type_name(array.type));
    *out = value_bool(false);
    walk = document_fields(value_document(array));
    while (document_next(&walk, &element)) {
        if (value_compare_by(run->collation, element.value, wanted) == 0) {
            *out = value_bool(true);
            break;
        }
    }
    return STATUS_OK;
}

status formula_is_array(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct value value;

    TRY(formula_argument(call, run, 0, &value));
    *out = value_bool(value.type == VALUE_ARRAY);
    return STATUS_OK;
}

status formula_is_number(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct value value;

    TRY(formula_argument(call, run, 0, &value));
    *out = value_bool(value_is_number(value));
    return STATUS_OK;
}

status formula_type(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct value value;

    TRY(formula_argument(call, run, 0, &value));
    return formula_give_text(run, bytes_of_text(value_type_name(value.type)), out);
}
