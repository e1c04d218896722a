/* Operators of formulas that tell how numbers are spread.
 *
 * What is no number is passed over.
 *
 * Pure apart from the run's arena. */
#include "query/formula_body.h"
#include "query/statistics.h"

static status deviation(const struct formula *call, struct formula_run *run, bool is_sample,
                        struct value *out)
{
    struct formula_values values;
    struct spread spread = { 0 };

    TRY(formula_take_all(call, run, &values));
    for (size_t i = 0; i < values.count; i++) {
        if (value_is_number(values.items[i]))
            spread_add(&spread, value_as_double(values.items[i]));
    }
    return spread_give(&spread, run->arena, is_sample, out);
}

status formula_deviation(const struct formula *call, struct formula_run *run, struct value *out)
{
    return deviation(call, run, false, out);
}

status formula_deviation_of_sample(const struct formula *call, struct formula_run *run,
                                   struct value *out)
{
    return deviation(call, run, true, out);
}

/* input, shares: a number or an array of them, checked when it was parsed */
status formula_percentile(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct formula_values values = { 0 };
    struct value input, shares;
    double *numbers;
    size_t count = 0;

    TRY(formula_argument(call, run, 0, &input));
    TRY(formula_argument(call, run, 1, &shares));
    if (input.type == VALUE_ARRAY)
        TRY(formula_values_of(run, input, &values));
    else
        values = (struct formula_values){ .items = &input, .count = 1 };
    TRY(ARENA_NEW(run->arena, values.count, &numbers));
    for (size_t i = 0; i < values.count; i++) {
        if (value_is_number(values.items[i]))
            numbers[count++] = value_as_double(values.items[i]);
    }
    return percentile_give(run->arena, numbers, count, shares, out);
}
