/* Operators of formulas on arrays and objects.
 *
 * Null or missing in, null out, where not said otherwise; what is no array is refused. Operators that compute
 * something for each element bind it to variables.
 *
 * Pure apart from the run's arena. */
#include "query/formula_body.h"
#include "query/match.h"

#include <stdlib.h>

static status not_array(struct formula_run *run, int32_t number, const char *what,
                        struct value value)
{
    return formula_refuse(run, number, "%s must be an array, but is %s", what,
                          value_type_name(value.type));
}

/* The argument's elements; *is_null_out if there are none because it is null. */
status formula_take_array(const struct formula *call, struct formula_run *run, size_t at,
                          const char *what, int32_t number, struct formula_values *out,
                          bool *is_null_out)
{
    struct value value;

    TRY(formula_argument(call, run, at, &value));
    *is_null_out = formula_is_null(value);
    *out = (struct formula_values){ 0 };
    if (*is_null_out)
        return STATUS_OK;
    if (value.type != VALUE_ARRAY)
        return not_array(run, number, what, value);
    return formula_values_of(run, value, out);
}

static status take_int(const struct formula *call, struct formula_run *run, size_t at,
                       const char *what, int32_t number, int64_t *out)
{
    struct value value;

    TRY(formula_argument(call, run, at, &value));
    if (!value_is_number(value) || !value_as_int64(value, out) || *out < INT32_MIN ||
        *out > INT32_MAX)
        return formula_refuse(run, number,
                              "%s must be representable as a 32-bit integer, but is of type %s",
                              what, value_type_name(value.type));
    return STATUS_OK;
}

status formula_size(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct value value;

    TRY(formula_argument(call, run, 0, &value));
    if (value.type != VALUE_ARRAY)
        return formula_refuse(run, 17124,
                              "The argument to $size must be an array, but was of type: %s",
                              value_type_name(value.type));
    return formula_give_int(run, (int64_t)document_field_count(value_document(value)), out);
}

/* ---- single elements -------------------------------------------------------------------------------- */

static void pick(const struct formula_values *values, int64_t at, struct value *out)
{
    if (at < 0)
        at += (int64_t)values->count;
    if (at >= 0 && at < (int64_t)values->count)
        *out = values->items[at];
}

status formula_array_at(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct formula_values values;
    struct value position;
    bool is_null;
    int64_t at;

    TRY(formula_take_array(call, run, 0, "$arrayElemAt's first argument", 28689, &values,
                           &is_null));
    TRY(formula_argument(call, run, 1, &position));
    if (is_null || formula_is_null(position))
        return formula_give_null(out);
    TRY(take_int(call, run, 1, "$arrayElemAt's second argument", 28690, &at));
    pick(&values, at, out);
    return STATUS_OK;
}

static status give_end(const struct formula *call, struct formula_run *run, const char *name,
                       int64_t at, struct value *out)
{
    struct formula_values values;
    bool is_null;

    TRY(formula_take_array(call, run, 0, name, 28689, &values, &is_null));
    if (is_null)
        return formula_give_null(out);
    pick(&values, at, out);
    return STATUS_OK;
}

status formula_array_first(const struct formula *call, struct formula_run *run, struct value *out)
{
    return give_end(call, run, "$first's argument", 0, out);
}

status formula_array_last(const struct formula *call, struct formula_run *run, struct value *out)
{
    return give_end(call, run, "$last's argument", -1, out);
}

status formula_array_index(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct formula_values values;
    struct value wanted;
    int64_t from = 0, to = INT32_MAX;
    bool is_null;

    TRY(formula_take_array(call, run, 0, "$indexOfArray's first argument", 40090, &values,
                           &is_null));
    if (is_null)
        return formula_give_null(out);
    TRY(formula_argument(call, run, 1, &wanted));
    if (call->count > 2)
        TRY(take_int(call, run, 2, "$indexOfArray's start", 40096, &from));
    if (call->count > 3)
        TRY(take_int(call, run, 3, "$indexOfArray's end", 40096, &to));
    if (from < 0 || to < 0)
        return formula_refuse(run, 40097, "$indexOfArray requires nonnegative start and end");
    for (int64_t i = from; i < to && i < (int64_t)values.count; i++) {
        if (value_compare_by(run->collation, values.items[i], wanted) == 0)
            return formula_give_int(run, i, out);
    }
    return formula_give_int(run, -1, out);
}

/* ---- pieces ----------------------------------------------------------------------------------------- */

status formula_give_range(struct formula_run *run, const struct formula_values *values, size_t from,
                          size_t count, struct value *out)
{
    struct formula_list list = formula_list_begin(run);

    for (size_t i = from; i < values->count && i - from < count; i++)
        formula_list_add(&list, values->items[i]);
    return formula_list_end(&list, out);
}

status formula_array_slice(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct formula_values values;
    int64_t first, count;
    bool is_null;

    TRY(formula_take_array(call, run, 0, "First argument to $slice", 28724, &values, &is_null));
    if (is_null)
        return formula_give_null(out);
    TRY(take_int(call, run, 1, "Second argument to $slice", 28725, &first));
    int64_t size = (int64_t)values.count;
    if (call->count == 2) {
        int64_t from = first < 0 && -first < size ? size + first : 0;
        return formula_give_range(run, &values, (size_t)from, (size_t)(first < 0 ? -first : first),
                                  out);
    }
    TRY(take_int(call, run, 2, "Third argument to $slice", 28727, &count));
    if (count <= 0)
        return formula_refuse(run, 28729, "Third argument to $slice must be positive: %lld",
                              (long long)count);
    if (first < 0)
        first = first + size < 0 ? 0 : first + size;
    return formula_give_range(run, &values, (size_t)(first > size ? size : first), (size_t)count,
                              out);
}

status formula_array_reverse(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct formula_list list;
    struct formula_values values;
    bool is_null;

    TRY(formula_take_array(call, run, 0, "The argument to $reverseArray", 34435, &values,
                           &is_null));
    if (is_null)
        return formula_give_null(out);
    list = formula_list_begin(run);
    for (size_t i = values.count; i-- > 0;)
        formula_list_add(&list, values.items[i]);
    return formula_list_end(&list, out);
}

status formula_array_concat(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct formula_values *parts;
    struct formula_list list;
    bool is_null;

    TRY(ARENA_NEW(run->arena, call->count, &parts));
    for (size_t i = 0; i < call->count; i++) {
        TRY(formula_take_array(call, run, i, "each argument of $concatArrays", 28664, &parts[i],
                               &is_null));
        if (is_null)
            return formula_give_null(out);
    }
    list = formula_list_begin(run);
    for (size_t i = 0; i < call->count; i++) {
        for (size_t j = 0; j < parts[i].count; j++)
            formula_list_add(&list, parts[i].items[j]);
    }
    return formula_list_end(&list, out);
}

status formula_range(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct formula_list list;
    int64_t from, to, step = 1;

    TRY(take_int(call, run, 0, "$range's starting value", 34443, &from));
    TRY(take_int(call, run, 1, "$range's ending value", 34445, &to));
    if (call->count > 2)
        TRY(take_int(call, run, 2, "$range's step value", 34447, &step));
    if (step == 0)
        return formula_refuse(run, 34449, "$range requires a non-zero step value");
    list = formula_list_begin(run);
    for (int64_t i = from; step > 0 ? i < to : i > to; i += step) {
        struct value number;
        TRY(formula_give_int(run, i, &number));
        formula_list_add(&list, number);
        if (list.built.len > LIMIT_QUERY_VALUE_BYTES)
            break;
    }
    return formula_list_end(&list, out);
}

/* ---- computed for each element ---------------------------------------------------------------------- */

status formula_array_filter(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct formula_values values;
    struct value truth;
    int64_t most = INT32_MAX;
    size_t kept = 0;
    bool is_null;

    TRY(formula_take_array(call, run, 0, "input to $filter", 28651, &values, &is_null));
    if (is_null)
        return formula_give_null(out);
    if (call->count > 2)
        TRY(take_int(call, run, 2, "$filter: limit", 327391, &most));
    if (most < 1)
        return formula_refuse(run, 327392, "$filter: limit must be greater than 0");
    for (size_t i = 0; i < values.count && (int64_t)kept < most; i++) {
        run->variables[call->number] = values.items[i];
        TRY(formula_argument(call, run, 1, &truth));
        if (formula_is_true(truth))
            values.items[kept++] = values.items[i];
    }
    return formula_give_range(run, &values, 0, kept, out);
}

status formula_array_map(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct formula_values values;
    bool is_null;

    TRY(formula_take_array(call, run, 0, "input to $map", 16883, &values, &is_null));
    if (is_null)
        return formula_give_null(out);
    for (size_t i = 0; i < values.count; i++) {
        run->variables[call->number] = values.items[i];
        TRY(formula_argument(call, run, 1, &values.items[i]));
    }
    return formula_give_range(run, &values, 0, values.count, out);
}

/* Variable `number` is the element, the next one the value so far. */
status formula_array_reduce(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct formula_values values;
    struct value so_far;
    bool is_null;

    TRY(formula_take_array(call, run, 0, "$reduce's 'input'", 40080, &values, &is_null));
    if (is_null)
        return formula_give_null(out);
    TRY(formula_argument(call, run, 1, &so_far));
    for (size_t i = 0; i < values.count; i++) {
        run->variables[call->number] = values.items[i];
        run->variables[call->number + 1] = so_far;
        TRY(formula_argument(call, run, 2, &so_far));
    }
    *out = so_far;
    return STATUS_OK;
}

/* ---- sets ------------------------------------------------------------------------------------------- */

static void make_set(const struct formula_run *run, struct formula_values *values)
{
    match_sort_values(run->collation, values->items, &values->count);
}

static bool set_has(const struct formula_run *run, const struct formula_values *set,
                    struct value value)
{
    return match_has_value(run->collation, set->items, set->count, value);
}

static status take_set(const struct formula *call, struct formula_run *run, size_t at,
                       const char *what, int32_t number, struct formula_values *out,
                       bool *is_null_out)
{
    TRY(formula_take_array(call, run, at, what, number, out, is_null_out));
    make_set(run, out);
    return STATUS_OK;
}

status formula_set_union(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct formula_values all = { 0 }, part;
    bool is_null;

    for (size_t i = 0; i < call->count; i++) {
        struct value *joined;
        TRY(formula_take_array(call, run, i, "All operands of $setUnion", 17043, &part, &is_null));
        if (is_null)
            return formula_give_null(out);
        TRY(ARENA_NEW(run->arena, all.count + part.count, &joined));
        for (size_t j = 0; j < all.count; j++)
            joined[j] = all.items[j];
        for (size_t j = 0; j < part.count; j++)
            joined[all.count + j] = part.items[j];
        all.items = joined;
        all.count += part.count;
    }
    make_set(run, &all);
    return formula_give_range(run, &all, 0, all.count, out);
}

status formula_set_intersection(const struct formula *call, struct formula_run *run,
                                struct value *out)
{
    struct formula_values all = { 0 }, part;
    bool is_null;

    for (size_t i = 0; i < call->count; i++) {
        size_t kept = 0;
        TRY(take_set(call, run, i, "All operands of $setIntersection", 17047, &part, &is_null));
        if (is_null)
            return formula_give_null(out);
        if (i == 0)
            all = part;
        for (size_t j = 0; j < all.count; j++) {
            if (set_has(run, &part, all.items[j]))
                all.items[kept++] = all.items[j];
        }
        all.count = kept;
    }
    return formula_give_range(run, &all, 0, all.count, out);
}

status formula_set_difference(const struct formula *call, struct formula_run *run,
                              struct value *out)
{
    struct formula_values a, b;
    struct formula_list list;
    bool is_null_a, is_null_b;

    TRY(formula_take_array(call, run, 0, "both operands of $setDifference", 17048, &a, &is_null_a));
    TRY(take_set(call, run, 1, "both operands of $setDifference", 17049, &b, &is_null_b));
    if (is_null_a || is_null_b)
        return formula_give_null(out);
    make_set(run, &a);
    list = formula_list_begin(run);
    for (size_t i = 0; i < a.count; i++) {
        if (!set_has(run, &b, a.items[i]))
            formula_list_add(&list, a.items[i]);
    }
    return formula_list_end(&list, out);
}

static bool is_subset(const struct formula_run *run, const struct formula_values *a,
                      const struct formula_values *b)
{
    for (size_t i = 0; i < a->count; i++) {
        if (!set_has(run, b, a->items[i]))
            return false;
    }
    return true;
}

static status null_is_no_array(struct formula_run *run, int32_t number, const char *name)
{
    return formula_refuse(run, number, "All operands of %s must be arrays, one is null", name);
}

status formula_set_equals(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct formula_values first = { 0 }, other;
    bool is_null;

    *out = value_bool(true);
    for (size_t i = 0; i < call->count; i++) {
        TRY(take_set(call, run, i, "All operands of $setEquals", 17044, &other, &is_null));
        if (is_null)
            return null_is_no_array(run, 17044, "$setEquals");
        if (i == 0)
            first = other;
        if (first.count != other.count || !is_subset(run, &first, &other))
            *out = value_bool(false);
    }
    return STATUS_OK;
}

status formula_set_is_subset(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct formula_values a, b;
    bool is_null_a, is_null_b;

    TRY(take_set(call, run, 0, "both operands of $setIsSubset", 17046, &a, &is_null_a));
    TRY(take_set(call, run, 1, "both operands of $setIsSubset", 17042, &b, &is_null_b));
    if (is_null_a || is_null_b)
        return null_is_no_array(run, 17046, "$setIsSubset");
    *out = value_bool(is_subset(run, &a, &b));
    return STATUS_OK;
}
