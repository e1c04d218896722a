/* Functions that look at all elements of an array: least, greatest, sum, average, median.
 *
 * Sums, averages and medians are of numbers; one element of another kind and there is none. Least and
 * greatest are of everything that is not an array or document, in the order in which the language sorts.
 *
 * Pure apart from the row's arena. */
#include "query/call.h"

#include <stdlib.h>

/* ---- numbers ---------------------------------------------------------------------------------------- */

struct numbers {
    bool are_numbers;
    size_t count;
    double *items;
    double sum;
    bool is_whole; /* the sum, exactly */
    int64_t whole;
};

static status take_numbers(struct evaluation *e, const struct expression *call, struct numbers *out)
{
    struct value array;
    struct field field;
    int64_t whole;

    *out = (struct numbers){ .is_whole = true };
    TRY(call_take(e, call, &array, 1));
    if (array.type != VALUE_ARRAY)
        return STATUS_OK;
    /* An element that is a number has seven bytes at least. */
    TRY(ARENA_NEW(e->arena, array.raw.len / 7 + 1, &out->items));
    struct document_walk walk = document_fields(value_document(array));
    while (document_next(&walk, &field)) {
        if (!value_is_number(field.value))
            return STATUS_OK;
        out->items[out->count] = value_as_double(field.value);
        out->sum += out->items[out->count++];
        out->is_whole = out->is_whole && value_is_whole(field.value) &&
                        value_as_int64(field.value, &whole) &&
                        !__builtin_add_overflow(out->whole, whole, &out->whole);
    }
    out->are_numbers = true;
    return STATUS_OK;
}

status function_array_sum(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct numbers n;

    TRY(take_numbers(e, call, &n));
    if (!n.are_numbers)
        return STATUS_OK;
    return n.is_whole ? call_give_whole(e, n.whole, out) : call_give_real(e, n.sum, out);
}

status function_array_average(struct evaluation *e, const struct expression *call,
                              struct value *out)
{
    struct numbers n;

    TRY(take_numbers(e, call, &n));
    return n.are_numbers && n.count ? call_give_real(e, n.sum / (double)n.count, out) : STATUS_OK;
}

static int compare_reals(const void *a, const void *b)
{
    double x, y;

    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return (x > y) - (x < y);
}

status function_array_median(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct numbers n;

    TRY(take_numbers(e, call, &n));
    if (!n.are_numbers || n.count == 0)
        return STATUS_OK;
    qsort(n.items, n.count, sizeof(*n.items), compare_reals);
    double middle = n.items[n.count / 2];
    return call_give_real(e, n.count % 2 ? middle : (n.items[n.count / 2 - 1] + middle) / 2, out);
}

/* ---- least and greatest ----------------------------------------------------------------------------- */

static int compare_kinds(const struct evaluation *e, struct value a, struct value b)
{
    int order = e->rules->kind_order[value_kind_of(a)] - e->rules->kind_order[value_kind_of(b)];

    return order ? order : value_compare(a, b);
}

/* Of two elements, that one for which the order has the sign. */
static status extreme(struct evaluation *e, const struct expression *call, int sign,
                      struct value *out)
{
    struct value array, best = value_missing();
    struct field field;

    TRY(call_take(e, call, &array, 1));
    if (array.type != VALUE_ARRAY)
        return STATUS_OK;
    struct document_walk walk = document_fields(value_document(array));
    while (document_next(&walk, &field)) {
        enum value_kind kind = value_kind_of(field.value);
        if (kind == KIND_ARRAY || kind == KIND_DOCUMENT || kind == KIND_OTHER)
            return STATUS_OK;
        if (best.type == VALUE_MISSING || compare_kinds(e, field.value, best) * sign > 0)
            best = field.value;
    }
    *out = best;
    return STATUS_OK;
}

status function_array_max(struct evaluation *e, const struct expression *call, struct value *out)
{
    return extreme(e, call, 1, out);
}

status function_array_min(struct evaluation *e, const struct expression *call, struct value *out)
{
    return extreme(e, call, -1, out);
}
