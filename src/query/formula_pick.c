/* Operators of formulas that put the elements of arrays in another order or beside each other.
 *
 * Sorting keeps elements that are equal as they were. The greatest and least pass over null.
 *
 * Pure apart from the run's arena. */
#include <stdlib.h>

#include "query/formula_body.h"

/* ---- sorting ---------------------------------------------------------------------------------------- */

struct ranked {
    struct value value;
    bytes key; /* with an order of documents */
    size_t number;
};

static int by_number(const struct ranked *a, const struct ranked *b)
{
    return (a->number > b->number) - (a->number < b->number);
}

static int ascending(const void *a, const void *b, void *by)
{
    const struct ranked *x = a, *y = b;
    int order = value_compare_by(by, x->value, y->value);

    return order ? order : by_number(x, y);
}

static int descending(const void *a, const void *b, void *by)
{
    const struct ranked *x = a, *y = b;
    int order = value_compare_by(by, y->value, x->value);

    return order ? order : by_number(x, y);
}

static int by_key(const void *a, const void *b, void *by)
{
    const struct ranked *x = a, *y = b;
    int order = bytes_compare(x->key, y->key);

    (void)by;
    return order ? order : by_number(x, y);
}

static status sort_values(struct formula_run *run, struct formula_values *values,
                          const struct order *order, bool is_descending)
{
    static const uint8_t empty[] = { 5, 0, 0, 0, 0 };
    struct ranked *items;

    if (values->count < 2)
        return STATUS_OK;
    TRY(ARENA_NEW(run->arena, values->count, &items));
    for (size_t i = 0; i < values->count; i++) {
        items[i] = (struct ranked){ .value = values->items[i], .number = i };
        if (!order)
            continue;
        bytes document = bytes_of(empty, sizeof(empty));
        if (values->items[i].type == VALUE_DOCUMENT)
            document = value_document(values->items[i]);
        TRY(order_key(order, run->arena, document, &items[i].key));
    }
    qsort_r(items, values->count, sizeof(*items),
            order           ? by_key
            : is_descending ? descending
                            : ascending,
            (void *)(uintptr_t)run->collation);
    for (size_t i = 0; i < values->count; i++)
        values->items[i] = items[i].value;
    return STATUS_OK;
}

status formula_array_sort(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct formula_values values;
    bool is_null;

    TRY(formula_take_array(call, run, 0, "The input argument to $sortArray", 2942504, &values,
                           &is_null));
    if (is_null)
        return formula_give_null(out);
    TRY(sort_values(run, &values, call->order, call->number));
    return formula_give_range(run, &values, 0, values.count, out);
}

/* ---- so many of them -------------------------------------------------------------------------------- */

/* n, input */
static status take_some(const struct formula *call, struct formula_run *run, const char *name,
                        struct formula_values *values_out, size_t *count_out)
{
    struct value wanted, input;
    int64_t count;

    *count_out = 0;
    TRY(formula_argument(call, run, 0, &wanted));
    if (!value_as_int64(wanted, &count))
        return formula_refuse(run, 5787902, "%s: 'n' must be a whole number, but is %s", name,
                              value_type_name(wanted.type));
    if (count <= 0)
        return formula_refuse(run, 5787908, "%s: 'n' must be greater than 0, found %lld", name,
                              (long long)count);
    TRY(formula_argument(call, run, 1, &input));
    if (input.type != VALUE_ARRAY)
        return formula_refuse(run, 5788200, "%s: 'input' must be an array, but is %s", name,
                              value_type_name(input.type));
    TRY(formula_values_of(run, input, values_out));
    *count_out = (uint64_t)count < values_out->count ? (size_t)count : values_out->count;
    return STATUS_OK;
}

status formula_array_first_n(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct formula_values values;
    size_t count;

    TRY(take_some(call, run, "$firstN", &values, &count));
    return formula_give_range(run, &values, 0, count, out);
}

status formula_array_last_n(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct formula_values values;
    size_t count;

    TRY(take_some(call, run, "$lastN", &values, &count));
    return formula_give_range(run, &values, values.count - count, count, out);
}

static status give_edges(const struct formula *call, struct formula_run *run, const char *name,
                         bool is_max, struct value *out)
{
    struct formula_values values;
    size_t count, kept = 0;

    TRY(take_some(call, run, name, &values, &count));
    for (size_t i = 0; i < values.count; i++) {
        if (!formula_is_null(values.items[i]))
            values.items[kept++] = values.items[i];
    }
    values.count = kept;
    TRY(sort_values(run, &values, NULL, is_max));
    return formula_give_range(run, &values, 0, count, out);
}

status formula_array_max_n(const struct formula *call, struct formula_run *run, struct value *out)
{
    return give_edges(call, run, "$maxN", true, out);
}

status formula_array_min_n(const struct formula *call, struct formula_run *run, struct value *out)
{
    return give_edges(call, run, "$minN", false, out);
}

/* ---- side by side ----------------------------------------------------------------------------------- */

struct columns {
    struct formula_values *arrays;
    size_t count, shortest, longest;
};

static status take_columns(struct formula_run *run, struct value inputs, struct columns *out,
                           bool *is_null_out)
{
    struct formula_values list;

    *is_null_out = formula_is_null(inputs);
    *out = (struct columns){ .shortest = SIZE_MAX };
    if (*is_null_out)
        return STATUS_OK;
    if (inputs.type != VALUE_ARRAY)
        return formula_refuse(run, 34461, "inputs must be an array of expressions, found %s",
                              value_type_name(inputs.type));
    TRY(formula_values_of(run, inputs, &list));
    if (list.count == 0)
        return formula_refuse(run, 34465, "$zip requires at least one input array");
    TRY(ARENA_NEW(run->arena, list.count, &out->arrays));
    for (size_t i = 0; i < list.count; i++) {
        if (formula_is_null(list.items[i])) {
            *is_null_out = true;
            return STATUS_OK;
        }
        if (list.items[i].type != VALUE_ARRAY)
            return formula_refuse(run, 34468, "$zip found a non-array expression in input: %s",
                                  value_type_name(list.items[i].type));
        TRY(formula_values_of(run, list.items[i], &out->arrays[i]));
        size_t len = out->arrays[i].count;
        out->shortest = len < out->shortest ? len : out->shortest;
        out->longest = len > out->longest ? len : out->longest;
    }
    out->count = list.count;
    return STATUS_OK;
}

static status take_defaults(struct formula_run *run, struct value given, bool is_longest,
                            size_t count, struct formula_values *out)
{
    *out = (struct formula_values){ 0 };
    if (formula_is_null(given))
        return STATUS_OK;
    if (!is_longest)
        return formula_refuse(run, 34466,
                              "cannot specify defaults unless useLongestLength is true");
    if (given.type != VALUE_ARRAY)
        return formula_refuse(run, 34462, "defaults must be an array of expressions, found %s",
                              value_type_name(given.type));
    TRY(formula_values_of(run, given, out));
    if (out->count != count)
        return formula_refuse(run, 34467, "defaults and inputs must have the same length");
    return STATUS_OK;
}

/* inputs, useLongestLength, defaults */
status formula_array_zip(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct value inputs, is_longest, given, row;
    struct formula_values defaults;
    struct columns columns;
    bool is_null;

    TRY(formula_argument(call, run, 0, &inputs));
    TRY(formula_argument(call, run, 1, &is_longest));
    TRY(formula_argument(call, run, 2, &given));
    TRY(take_columns(run, inputs, &columns, &is_null));
    if (is_longest.type != VALUE_MISSING && is_longest.type != VALUE_BOOL)
        return formula_refuse(run, 34463, "useLongestLength must be a bool, found %s",
                              value_type_name(is_longest.type));
    bool is_long = formula_is_true(is_longest);
    TRY(take_defaults(run, given, is_long, columns.count, &defaults));
    if (is_null)
        return formula_give_null(out);
    struct formula_list list = formula_list_begin(run);
    for (size_t i = 0; i < (is_long ? columns.longest : columns.shortest); i++) {
        struct formula_list inner = formula_list_begin(run);
        for (size_t j = 0; j < columns.count; j++) {
            struct value value = defaults.count ? defaults.items[j] : value_null();
            if (i < columns.arrays[j].count)
                value = columns.arrays[j].items[i];
            formula_list_add(&inner, value);
        }
        TRY(formula_list_end(&inner, &row));
        formula_list_add(&list, row);
        if (list.built.len > LIMIT_QUERY_VALUE_BYTES)
            break;
    }
    return formula_list_end(&list, out);
}
