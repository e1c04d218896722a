/* Aggregate: values taken over all rows, kept small enough to travel from page to page.
 *
 * Missing values do not count. A value without a place in the sum (a sum of strings, the least of an
 * array) spoils the result: it is missing then, whatever comes later. Sums stay exact while they are whole
 * and fit into 64 bits. As bytes, sums are a document with a field of its own for each aggregate:
 * { "0": { n: count, x: spoiled, s: sum, e: edge }, ... }.
 *
 * Threads: belongs to its request. */
#include "query/aggregate.h"

#include <math.h>
#include <stdio.h>

/* ---- from the page before --------------------------------------------------------------------------- */

static status bad_sums(void)
{
    return status_of(INVALID, "the sums of the pages before are not readable");
}

static status read_sum(struct sum *sum, bytes document)
{
    struct value value;
    int64_t count;

    if (!document_find(document, "n", &value) || !value_as_int64(value, &count) || count < 0)
        return bad_sums();
    sum->count = (uint64_t)count;
    sum->is_spoiled = document_find(document, "x", &value) && value_is_true(value);
    if (!document_find(document, "s", &value) || !value_is_number(value))
        return bad_sums();
    sum->is_whole = value.type != VALUE_DOUBLE && value_as_int64(value, &sum->whole);
    sum->real = value_as_double(value);
    document_find(document, "e", &sum->edge);
    return STATUS_OK;
}

static bytes number_name(char text[24], size_t number)
{
    return bytes_of(text, (size_t)snprintf(text, 24, "%zu", number));
}

status sums_open(struct sums *sums, struct arena *arena, const struct query *query, bytes earlier)
{
    *sums = (struct sums){ .arena = arena, .query = query };
    TRY(ARENA_NEW(arena, query->aggregate_count, &sums->items));
    for (size_t i = 0; i < query->aggregate_count; i++) {
        struct value value;
        char text[24];
        sums->items[i].is_whole = true;
        if (earlier.len == 0)
            continue;
        if (!document_find_bytes(earlier, number_name(text, i), &value) ||
            value.type != VALUE_DOCUMENT)
            return bad_sums();
        TRY(read_sum(&sums->items[i], value_document(value)));
    }
    return STATUS_OK;
}

/* ---- adding ----------------------------------------------------------------------------------------- */

static void add_number(struct sum *sum, struct value value)
{
    int64_t whole;

    sum->real += value_as_double(value);
    sum->is_whole = sum->is_whole && value.type != VALUE_DOUBLE && value_as_int64(value, &whole) &&
                    int64_add(sum->whole, whole, &sum->whole);
}

/* Kinds first, in the order of the language; then values. */
static int compare_edges(const struct query_rules *rules, struct value a, struct value b)
{
    uint8_t left = rules->kind_order[value_kind_of(a)];
    uint8_t right = rules->kind_order[value_kind_of(b)];

    return left != right ? (left < right ? -1 : 1) : value_compare(a, b);
}

/* Reuses the room of the edge before where it fits, so that a long run of new edges stays small. */
static status keep_edge(struct sums *sums, struct sum *sum, struct value value)
{
    if (sum->kept.len < value.raw.len) {
        uint8_t *room;
        TRY(arena_take(sums->arena, value.raw.len * 2, (void **)&room));
        sum->kept = bytes_of(room, value.raw.len * 2);
    }
    if (value.raw.len)
        memcpy((uint8_t *)(uintptr_t)sum->kept.data, value.raw.data, value.raw.len);
    sum->edge = (struct value){ .type = value.type,
                                .raw = bytes_of(sum->kept.data, value.raw.len) };
    return STATUS_OK;
}

static status add_edge(struct sums *sums, struct sum *sum, struct value value, int wanted)
{
    enum value_kind kind = value_kind_of(value);

    if (kind == KIND_ARRAY || kind == KIND_DOCUMENT || kind == KIND_OTHER) {
        sum->is_spoiled = true;
        return STATUS_OK;
    }
    if (sum->edge.type != VALUE_MISSING &&
        compare_edges(sums->query->rules, value, sum->edge) * wanted <= 0)
        return STATUS_OK;
    return keep_edge(sums, sum, value);
}

static status add_value(struct sums *sums, size_t number, struct value value)
{
    struct sum *sum = &sums->items[number];

    if (value_kind_of(value) == KIND_MISSING)
        return STATUS_OK;
    sum->count++;
    switch (sums->query->aggregates[number].kind) {
    case AGGREGATE_COUNT:
        return STATUS_OK;
    case AGGREGATE_SUM:
    case AGGREGATE_AVERAGE:
        if (value_is_number(value))
            add_number(sum, value);
        else
            sum->is_spoiled = true;
        return STATUS_OK;
    case AGGREGATE_MIN:
        return add_edge(sums, sum, value, -1);
    case AGGREGATE_MAX:
        return add_edge(sums, sum, value, 1);
    }
    return STATUS_OK;
}

status sums_add(struct sums *sums, struct evaluation *evaluation)
{
    for (size_t i = 0; i < sums->query->aggregate_count; i++) {
        struct value value;
        TRY(evaluate(evaluation, sums->query->aggregates[i].of, &value));
        TRY(add_value(sums, i, value));
    }
    return STATUS_OK;
}

void sums_add_rows(struct sums *sums, uint64_t rows)
{
    for (size_t i = 0; i < sums->query->aggregate_count; i++) {
        ASSERT(sums->query->aggregates[i].kind == AGGREGATE_COUNT);
        sums->items[i].count += rows;
    }
}

/* ---- results ---------------------------------------------------------------------------------------- */

static status sum_value(const struct sums *sums, const struct sum *sum, struct value *out)
{
    return sum->is_whole ? value_of_int64(sums->arena, sum->whole, out)
                         : value_of_double(sums->arena, sum->real, out);
}

status sums_write(const struct sums *sums, bytes *out)
{
    struct buffer b = buffer_in(sums->arena);
    size_t mark = document_begin(&b);

    for (size_t i = 0; i < sums->query->aggregate_count; i++) {
        const struct sum *sum = &sums->items[i];
        struct value total;
        char text[24];
        TRY(sum_value(sums, sum, &total));
        size_t inner = document_begin_inner(&b, VALUE_DOCUMENT, number_name(text, i));
        document_append_int64(&b, "n", (int64_t)sum->count);
        document_append_bool(&b, "x", sum->is_spoiled);
        document_append(&b, BYTES_LITERAL("s"), total);
        document_append(&b, BYTES_LITERAL("e"), sum->edge);
        document_end(&b, inner);
    }
    document_end(&b, mark);
    return buffer_finish(&b, out);
}

static status result(const struct sums *sums, size_t number, struct value *out)
{
    const struct sum *sum = &sums->items[number];

    if (sum->is_spoiled || !isfinite(sum->real))
        return STATUS_OK;
    switch (sums->query->aggregates[number].kind) {
    case AGGREGATE_COUNT:
        return value_of_int64(sums->arena, (int64_t)sum->count, out);
    case AGGREGATE_SUM:
        return sum_value(sums, sum, out);
    case AGGREGATE_AVERAGE:
        return sum->count ? value_of_double(sums->arena, sum->real / (double)sum->count, out)
                          : STATUS_OK;
    case AGGREGATE_MIN:
    case AGGREGATE_MAX:
        *out = sum->edge;
        return STATUS_OK;
    }
    return STATUS_OK;
}

status sums_results(const struct sums *sums, const struct value **out)
{
    struct value *results;

    TRY(ARENA_NEW(sums->arena, sums->query->aggregate_count, &results));
    for (size_t i = 0; i < sums->query->aggregate_count; i++)
        TRY(result(sums, i, &results[i]));
    *out = results;
    return STATUS_OK;
}
