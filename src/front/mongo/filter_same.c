/* Filters of partial indexes that mean the same, however they are written: parts of $and and $or in any order,
 * twice or nested, {a: 1} for {a: {$eq: 1}} and {a: {$in: [1]}}, {a: {$gt: 0, $lt: 9}} for the $and of both.
 *
 * Both are brought into one form: nested parts joined, sorted, without doubles. What cannot be parsed is only the
 * same as itself. Threads: any. */
#include "front/mongo/filter.h"

#include <stdlib.h>

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_values(const struct match *a, const struct match *b)
{
    int order = compare_numbers(a->value_count, b->value_count);

    for (size_t i = 0; i < a->value_count && order == 0; i++)
        order = value_compare(a->values[i], b->values[i]);
    return order;
}

static int compare_patterns(const struct match *a, const struct match *b)
{
    int order = compare_numbers(a->pattern_count, b->pattern_count);

    for (size_t i = 0; i < a->pattern_count && order == 0; i++)
        order = value_compare(a->patterns[i].regex, b->patterns[i].regex);
    return order;
}

/* Of the conditions that a partial index may have, in their one form. */
static int compare(const struct match *a, const struct match *b)
{
    int order = compare_numbers(a->kind, b->kind);

    if (order == 0)
        order = bytes_compare(a->path, b->path);
    if (order == 0)
        order = value_compare(a->value, b->value);
    if (order == 0)
        order = compare_numbers(a->types, b->types);
    if (order == 0)
        order = compare_values(a, b);
    if (order == 0)
        order = compare_patterns(a, b);
    if (order == 0)
        order = compare_numbers(a->count, b->count);
    for (size_t i = 0; i < a->count && order == 0; i++)
        order = compare(a->parts[i], b->parts[i]);
    return order;
}

static int compare_parts(const void *a, const void *b)
{
    return compare(*(const struct match *const *)a, *(const struct match *const *)b);
}

static size_t sort_parts(const struct match **parts, size_t count)
{
    size_t kept = 0;

    qsort(parts, count, sizeof(*parts), compare_parts);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || compare(parts[kept - 1], parts[i]) != 0)
            parts[kept++] = parts[i];
    }
    return kept;
}

static status normalise(struct arena *arena, const struct match *match, const struct match **out);

/* The parts in their one form; those that are joined in the same way give theirs. */
static status gather(struct arena *arena, const struct match *match,
                     const struct match ***parts_out, size_t *count_out)
{
    const struct match **own, **parts;
    size_t count = 0;

    TRY(ARENA_NEW(arena, match->count, &own));
    for (size_t i = 0; i < match->count; i++) {
        TRY(normalise(arena, match->parts[i], &own[i]));
        count += own[i]->kind == match->kind ? own[i]->count : 1;
    }
    TRY(ARENA_NEW(arena, count, &parts));
    *count_out = 0;
    for (size_t i = 0; i < match->count; i++) {
        bool is_joined = own[i]->kind == match->kind;
        const struct match *const *from = is_joined ? own[i]->parts : &own[i];
        size_t from_count = is_joined ? own[i]->count : 1;
        for (size_t k = 0; k < from_count; k++)
            parts[(*count_out)++] = from[k];
    }
    *parts_out = parts;
    return STATUS_OK;
}

static status normalise(struct arena *arena, const struct match *match, const struct match **out)
{
    const struct match **parts;
    size_t count;

    *out = match;
    if (match->kind == MATCH_IN && match->value_count == 1 && match->pattern_count == 0)
        return match_leaf(arena, MATCH_EQUAL, match->path, match->values[0], out);
    if (match->kind != MATCH_AND && match->kind != MATCH_OR)
        return STATUS_OK;
    TRY(gather(arena, match, &parts, &count));
    return match_join(arena, match->kind, parts, sort_parts(parts, count), out);
}

static status parse(struct arena *arena, bytes filter, const struct match **out)
{
    struct fault fault = { 0 };

    TRY(filter_parse(arena, filter, NULL, out, &fault));
    return normalise(arena, *out, out);
}

bool filter_is_same(struct arena *arena, bytes a, bytes b)
{
    const struct match *match_a, *match_b;

    if (a.len == 0 || b.len == 0)
        return a.len == b.len;
    if (document_compare(a, b) == 0)
        return true;
    return parse(arena, a, &match_a).code == OK && parse(arena, b, &match_b).code == OK &&
           compare(match_a, match_b) == 0;
}
