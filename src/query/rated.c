/* Rated: a bounded choice of values.
 *
 * The first are a list that ends; the last a ring; the least and greatest a heap with the one that will be let
 * go of next at its root, so that n values are chosen of m in m log n steps and the memory of n.
 *
 * Threads: belongs to its request. */
#include "query/rated.h"

#include <stdlib.h>

#include "query/list.h"

struct rated_entry {
    bytes key;
    uint64_t number; /* as they came */
    struct value value;
    uint8_t *memory; /* of key and value */
    size_t room;
};

static int compare_entries(const struct rated_entry *a, const struct rated_entry *b)
{
    int order = bytes_compare(a->key, b->key);

    return order ? order : (a->number > b->number) - (a->number < b->number);
}

/* Is `a` let go of before `b`? */
static bool is_worse(const struct rated *rated, const struct rated_entry *a,
                     const struct rated_entry *b)
{
    int order = compare_entries(a, b);

    return rated->kind == RATED_LEAST ? order > 0 : order < 0;
}

static void swap(struct rated_entry *a, struct rated_entry *b)
{
    struct rated_entry kept = *a;

    *a = *b;
    *b = kept;
}

static void rise(struct rated *rated, size_t at)
{
    while (at > 0 && is_worse(rated, &rated->entries[at], &rated->entries[(at - 1) / 2])) {
        swap(&rated->entries[at], &rated->entries[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
}

static void sink(struct rated *rated)
{
    for (size_t at = 0;;) {
        size_t worst = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < rated->count; child++) {
            if (is_worse(rated, &rated->entries[child], &rated->entries[worst]))
                worst = child;
        }
        if (worst == at)
            return;
        swap(&rated->entries[at], &rated->entries[worst]);
        at = worst;
    }
}

static status make_room(struct rated *rated, struct arena *arena)
{
    size_t room = rated->room ? rated->room * 2 : 8;
    struct rated_entry *more;

    if (rated->count < rated->room)
        return STATUS_OK;
    if (room > rated->wanted)
        room = (size_t)rated->wanted;
    TRY(ARENA_NEW(arena, room, &more));
    if (rated->count)
        memcpy(more, rated->entries, rated->count * sizeof(*more));
    rated->entries = more;
    rated->room = room;
    return STATUS_OK;
}

static status fill_entry(struct rated_entry *entry, struct arena *arena,
                         const struct rated_entry *from)
{
    size_t len = from->key.len + from->value.raw.len;
    void *memory;

    if (len > entry->room) {
        TRY(arena_take(arena, len, &memory));
        entry->memory = memory;
        entry->room = len;
    }
    ASSERT(entry->memory || (from->key.len == 0 && from->value.raw.len == 0));
    if (from->key.len)
        memcpy(entry->memory, from->key.data, from->key.len);
    if (from->value.raw.len)
        memcpy(entry->memory + from->key.len, from->value.raw.data, from->value.raw.len);
    entry->key = from->key.len ? bytes_of(entry->memory, from->key.len) : BYTES_NONE;
    entry->value = (struct value){ .type = from->value.type };
    if (from->value.raw.len)
        entry->value.raw = bytes_of(entry->memory + from->key.len, from->value.raw.len);
    entry->number = from->number;
    return STATUS_OK;
}

status rated_add(struct rated *rated, struct arena *arena, bytes key, struct value value)
{
    const struct rated_entry from = { .key = key, .number = rated->seen++, .value = value };
    bool is_heap = rated->kind == RATED_LEAST || rated->kind == RATED_GREATEST;

    if (rated->count < rated->wanted) {
        TRY(make_room(rated, arena));
        rated->entries[rated->count] = (struct rated_entry){ 0 };
        TRY(fill_entry(&rated->entries[rated->count], arena, &from));
        rated->count++;
        if (is_heap)
            rise(rated, rated->count - 1);
        return STATUS_OK;
    }
    if (rated->kind == RATED_FIRST)
        return STATUS_OK;
    if (rated->kind == RATED_LAST)
        return fill_entry(&rated->entries[from.number % rated->wanted], arena, &from);
    if (is_worse(rated, &from, &rated->entries[0]))
        return STATUS_OK;
    TRY(fill_entry(&rated->entries[0], arena, &from));
    sink(rated);
    return STATUS_OK;
}

static int by_key(const void *a, const void *b)
{
    return compare_entries(*(const struct rated_entry *const *)a,
                           *(const struct rated_entry *const *)b);
}

static int by_number(const void *a, const void *b)
{
    const struct rated_entry *x = *(const struct rated_entry *const *)a;
    const struct rated_entry *y = *(const struct rated_entry *const *)b;

    return (x->number > y->number) - (x->number < y->number);
}

status rated_give(const struct rated *rated, struct arena *arena, struct value *out)
{
    bool is_heap = rated->kind == RATED_LEAST || rated->kind == RATED_GREATEST;
    const struct rated_entry **sorted;

    TRY(ARENA_NEW(arena, rated->count, &sorted));
    for (size_t i = 0; i < rated->count; i++)
        sorted[i] = &rated->entries[i];
    if (rated->count > 1)
        qsort(sorted, rated->count, sizeof(*sorted), is_heap ? by_key : by_number);
    struct list list = list_begin(arena);
    for (size_t i = 0; i < rated->count; i++)
        list_add(&list, sorted[i]->value);
    return list_end(&list, out);
}
