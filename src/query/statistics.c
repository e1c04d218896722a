/* Statistics: spread and percentiles of numbers.
 *
 * The spread is kept as a mean and a sum of squares around it, which stays exact where a sum of squares alone
 * would cancel. Percentiles are numbers that are there, none in between.
 *
 * Pure. */
#include "query/statistics.h"

#include <math.h>
#include <stdlib.h>

#include "query/list.h"

void spread_add(struct spread *spread, double number)
{
    double off = number - spread->mean;

    spread->count++;
    spread->mean += off / (double)spread->count;
    spread->squares += off * (number - spread->mean);
}

status spread_give(const struct spread *spread, struct arena *arena, bool is_sample,
                   struct value *out)
{
    uint64_t least = is_sample ? 2 : 1;

    *out = (struct value){ .type = VALUE_NULL };
    if (spread->count < least)
        return STATUS_OK;
    double squares = spread->squares < 0 ? 0 : spread->squares;
    return value_of_double(arena, sqrt(squares / (double)(spread->count - least + 1)), out);
}

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    if (isnan(x) || isnan(y))
        return isnan(y) - isnan(x);
    return (x > y) - (x < y);
}

/* One number more in a sorted row. */
static void insert_sorted(double *numbers, size_t count, double number)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_numbers(&numbers[middle], &number) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    memmove(&numbers[low + 1], &numbers[low], (count - low) * sizeof(*numbers));
    numbers[low] = number;
}

/* What grows by a few numbers at a time is in order but for those. */
void percentile_sort(double *numbers, size_t count)
{
    enum { FEW = 8 };
    size_t sorted = count > 0;

    while (sorted < count && compare_numbers(&numbers[sorted - 1], &numbers[sorted]) <= 0)
        sorted++;
    for (size_t left = count - sorted; left > 0 && left <= FEW; left--, sorted++)
        insert_sorted(numbers, sorted, numbers[sorted]);
    if (sorted < count)
        qsort(numbers, count, sizeof(*numbers), compare_numbers);
}

double percentile_of(const double *sorted, size_t count, double p)
{
    double rank = ceil(p * (double)count) - 1;

    ASSERT(count > 0);
    if (!(rank > 0))
        return sorted[0];
    return sorted[rank >= (double)count ? count - 1 : (size_t)rank];
}

status percentile_give(struct arena *arena, double *numbers, size_t count, struct value shares,
                       struct value *out)
{
    struct list list = list_begin(arena);
    struct field share;

    percentile_sort(numbers, count);
    *out = (struct value){ .type = VALUE_NULL };
    if (shares.type != VALUE_ARRAY)
        return count ? value_of_double(arena,
                                       percentile_of(numbers, count, value_as_double(shares)), out)
                     : STATUS_OK;
    struct document_walk walk = document_fields(value_document(shares));
    while (document_next(&walk, &share)) {
        struct value number = { .type = VALUE_NULL };
        if (count)
            TRY(value_of_double(arena, percentile_of(numbers, count, value_as_double(share.value)),
                                &number));
        list_add(&list, number);
    }
    return list_end(&list, out);
}
