/* Aggregate: values taken over all rows, kept small enough to travel from page to page.
 *
 * Missing values do not count. A value without a place in the sum (a sum of strings, the least of an
 * array) spoils the result: it is missing then, whatever comes later. Sums stay exact while they are whole
 * and fit into 64 bits. As bytes, sums are a document with a field of its own for each aggregate:
 * { "0": { n: count, x: spoiled, s: sum, e: edge }, ... }.
 *
 * Lists keep whole values, so they do not travel: a query with a list takes in all its rows for one page.
 *
 * Threads: belongs to its request. */
#include "query/aggregate.h"

#include <math.h>
#include <stdio.h>

#include "query/sorter.h"

/* How much of a value tells it from others before hashes do. */
enum { IDENTITY_BYTES = 1024 };

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

static bool is_listing(enum aggregate_kind kind)
{
    return kind == AGGREGATE_LIST || kind == AGGREGATE_SET;
}

static status begin_listing(struct sums *sums, size_t number)
{
    struct listing **listing = &sums->items[number].listing;

    if (!is_listing(sums->query->aggregates[number].kind))
        return STATUS_OK;
    TRY(ARENA_NEW(sums->arena, 1, listing));
    **listing = (struct listing){ .array = buffer_in(sums->arena), .seen = set_in(sums->arena) };
    (*listing)->begun = document_begin(&(*listing)->array);
    return STATUS_OK;
}

status sums_open(struct sums *sums, struct arena *arena, const struct query *query, bytes earlier)
{
    *sums = (struct sums){ .arena = arena, .query = query };
    TRY(ARENA_NEW(arena, query->aggregate_count, &sums->items));
    for (size_t i = 0; i < query->aggregate_count; i++) {
        struct value value;
        char text[24];
        sums->items[i].is_whole = true;
        TRY(begin_listing(sums, i));
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

static status is_listed(struct arena *scratch, const struct query_rules *rules,
                        struct listing *listing, struct value value, bool *out)
{
    struct buffer identity = buffer_in(scratch);
    size_t number;
    bytes key;

    *out = false;
    sorter_append_identity(&identity, rules, value, IDENTITY_BYTES);
    TRY(buffer_finish(&identity, &key));
    TRY(set_add(&listing->seen, key, &number, out));
    *out = !*out;
    return STATUS_OK;
}

static status add_to_list(struct listing *listing, struct value value)
{
    char text[24];

    document_append(&listing->array, number_name(text, listing->count++), value);
    return listing->array.is_failed ? arena_exhausted(listing->array.arena) : STATUS_OK;
}

static status add_value(struct sums *sums, size_t number, struct arena *scratch, struct value value)
{
    bool is_known;
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
    case AGGREGATE_COUNT_IF:
        sum->count -= !value_is_true(value);
        return STATUS_OK;
    case AGGREGATE_LIST:
        return add_to_list(sum->listing, value);
    case AGGREGATE_SET:
        TRY(is_listed(scratch, sums->query->rules, sum->listing, value, &is_known));
        return is_known ? STATUS_OK : add_to_list(sum->listing, value);
    }
    return STATUS_OK;
}

status sums_add(struct sums *sums, struct evaluation *evaluation)
{
    for (size_t i = 0; i < sums->query->aggregate_count; i++) {
        struct value value;
        TRY(evaluate(evaluation, sums->query->aggregates[i].of, &value));
        TRY(add_value(sums, i, evaluation->arena, value));
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

/* ---- moving ----------------------------------------------------------------------------------------- */

static status move_listing(struct listing *listing, struct arena *arena)
{
    bytes array = bytes_of(listing->array.data, listing->array.len);
    struct set seen = set_in(arena);

    listing->array = buffer_in(arena);
    buffer_append(&listing->array, array);
    for (size_t i = 0; i < listing->seen.count; i++) {
        size_t number;
        bool is_new;
        TRY(set_add(&seen, listing->seen.members[i].key, &number, &is_new));
    }
    listing->seen = seen;
    return listing->array.is_failed ? arena_exhausted(arena) : STATUS_OK;
}

status sums_move(struct sums *sums, struct arena *arena)
{
    size_t count = sums->query->aggregate_count;
    struct sum *items;

    TRY(ARENA_NEW(arena, count, &items));
    if (count)
        memcpy(items, sums->items, count * sizeof(*items));
    for (size_t i = 0; i < count; i++) {
        TRY(arena_copy(arena, items[i].edge.raw, &items[i].edge.raw));
        items[i].kept = items[i].edge.raw;
        if (!items[i].listing)
            continue;
        struct listing *listing = items[i].listing;
        TRY(ARENA_NEW(arena, 1, &items[i].listing));
        *items[i].listing = *listing;
        TRY(move_listing(items[i].listing, arena));
    }
    sums->items = items;
    sums->arena = arena;
    return STATUS_OK;
}

/* ---- results ---------------------------------------------------------------------------------------- */

static status sum_value(struct arena *arena, const struct sum *sum, struct value *out)
{
    return sum->is_whole ? value_of_int64(arena, sum->whole, out)
                         : value_of_double(arena, sum->real, out);
}

bool sums_travel(const struct query *query)
{
    for (size_t i = 0; i < query->aggregate_count; i++) {
        if (is_listing(query->aggregates[i].kind))
            return false;
    }
    return true;
}

status sums_write(const struct sums *sums, bytes *out)
{
    struct buffer b = buffer_in(sums->arena);
    size_t mark = document_begin(&b);

    for (size_t i = 0; i < sums->query->aggregate_count; i++) {
        const struct sum *sum = &sums->items[i];
        struct value total;
        char text[24];
        TRY(sum_value(sums->arena, sum, &total));
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

static status end_list(const struct listing *listing, struct value *out)
{
    struct buffer array = listing->array;

    document_end(&array, listing->begun);
    out->type = VALUE_ARRAY;
    return buffer_finish(&array, &out->raw);
}

static status result(const struct sums *sums, size_t number, struct arena *arena, struct value *out)
{
    const struct sum *sum = &sums->items[number];

    if (sum->is_spoiled || !isfinite(sum->real))
        return STATUS_OK;
    switch (sums->query->aggregates[number].kind) {
    case AGGREGATE_COUNT:
    case AGGREGATE_COUNT_IF:
        return value_of_int64(arena, (int64_t)sum->count, out);
    case AGGREGATE_SUM:
        return sum_value(arena, sum, out);
    case AGGREGATE_AVERAGE:
        return sum->count ? value_of_double(arena, sum->real / (double)sum->count, out) : STATUS_OK;
    case AGGREGATE_MIN:
    case AGGREGATE_MAX:
        *out = sum->edge;
        return STATUS_OK;
    case AGGREGATE_LIST:
    case AGGREGATE_SET:
        return end_list(sum->listing, out);
    }
    return STATUS_OK;
}

status sums_results(const struct sums *sums, struct arena *arena, const struct value **out)
{
    struct value *results;

    TRY(ARENA_NEW(arena, sums->query->aggregate_count, &results));
    for (size_t i = 0; i < sums->query->aggregate_count; i++)
        TRY(result(sums, i, arena, &results[i]));
    *out = results;
    return STATUS_OK;
}
