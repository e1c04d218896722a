/* Group: rows put together by the values of some expressions.
 *
 * A group is found by a key made of those values, in which equal values are equal bytes and long ones are told
 * apart by hashes. Keys have an order, the same on every page: where only the first groups of it are wanted,
 * those behind are dropped as soon as there are too many, and turned away from then on. So a page needs no more
 * memory than what it gives, however many groups there are. What is kept then moves to a fresh arena, which
 * leaves behind all that was outgrown.
 *
 * Keeps: after any number of rows, every group of them is there or lies behind all that are there, and those
 * that are there have seen all their rows.
 * Threads: belongs to its request. Start reading at groups_add(). */
#include "query/group.h"

#include <stdlib.h>

#include "query/sorter.h"

/* How much of all its values together orders a group, and of each at least; beyond that they are told apart. */
enum { KEY_BYTES = 384, VALUE_BYTES_MIN = 16 };
enum { FIRST_ROOM = 64, KEEP_MIN = 512 };

status groups_open(struct groups *g, const struct query *query, size_t keep, const bytes *after)
{
    *g = (struct groups){ .query = query, .keep = keep, .has_after = after != NULL };
    if (keep && keep < KEEP_MIN)
        g->keep = KEEP_MIN;
    if (after)
        g->after = *after;
    g->arenas[0] = arena_open(LIMIT_QUERY_GROUPS_BYTES);
    if (!g->arenas[0])
        return status_of(OUT_OF_MEMORY, "there is no memory for the groups of a query");
    g->numbers = set_in(g->arenas[0]);
    return STATUS_OK;
}

void groups_close(struct groups *g)
{
    for (int i = 0; i < 2; i++) {
        if (g->arenas[i])
            arena_close(g->arenas[i]);
    }
}

size_t groups_count(const struct groups *g)
{
    return g->numbers.count;
}

/* ---- cutting ---------------------------------------------------------------------------------------- */

static int compare_groups(const void *a, const void *b)
{
    const struct group *left = a, *right = b;

    return bytes_compare(left->key, right->key);
}

static status make_room(struct groups *g, struct arena *arena, size_t room)
{
    struct group *items;

    TRY(ARENA_NEW(arena, room, &items));
    if (groups_count(g))
        memcpy(items, g->items, groups_count(g) * sizeof(*items));
    g->items = items;
    g->room = room;
    return STATUS_OK;
}

static status copy_values(const struct groups *g, struct arena *arena, const struct value *from,
                          struct value **out)
{
    struct value *copy;

    TRY(ARENA_NEW(arena, g->query->group_count, &copy));
    for (size_t i = 0; i < g->query->group_count; i++) {
        copy[i].type = from[i].type;
        TRY(arena_copy(arena, from[i].raw, &copy[i].raw));
    }
    *out = copy;
    return STATUS_OK;
}

/* The first `count` groups of items, which are in order, into the other arena. */
static status move_house(struct groups *g, size_t count)
{
    struct arena **fresh = &g->arenas[1 - g->in_use];

    if (!*fresh)
        *fresh = arena_open(LIMIT_QUERY_GROUPS_BYTES);
    if (!*fresh)
        return status_of(OUT_OF_MEMORY, "there is no memory for the groups of a query");
    TRY(make_room(g, *fresh, g->room));
    g->numbers = set_in(*fresh);
    for (size_t i = 0; i < count; i++) {
        struct group *group = &g->items[i];
        size_t number;
        bool is_new;
        TRY(set_add(&g->numbers, group->key, &number, &is_new));
        group->key = g->numbers.members[number].key;
        TRY(copy_values(g, *fresh, group->values, &group->values));
        TRY(sums_move(&group->sums, *fresh));
    }
    arena_reset(g->arenas[g->in_use]);
    g->in_use = 1 - g->in_use;
    return STATUS_OK;
}

/* Drops the last groups if there are too many, or if they take too much. */
static status cut(struct groups *g)
{
    size_t count = groups_count(g), keep = g->keep;
    bool is_heavy = arena_used_bytes(g->arenas[g->in_use]) > LIMIT_QUERY_GROUPS_BYTES / 2;

    if (keep == 0 || (count <= keep * 2 && !is_heavy))
        return STATUS_OK;
    if (is_heavy && keep > count / 2)
        keep = count / 2 ? count / 2 : 1;
    if (keep >= count)
        return STATUS_OK;
    qsort(g->items, count, sizeof(g->items[0]), compare_groups);
    TRY(move_house(g, keep));
    g->keep = keep;
    g->is_cut = true;
    g->has_dropped = true;
    g->last = g->items[keep - 1].key;
    return STATUS_OK;
}

/* ---- adding ----------------------------------------------------------------------------------------- */

static status make_key(const struct groups *g, struct evaluation *e, struct value *values,
                       bytes *out)
{
    size_t room = KEY_BYTES / g->query->group_count;
    struct buffer key = buffer_in(e->arena);

    for (size_t i = 0; i < g->query->group_count; i++) {
        TRY(evaluate(e, g->query->groups[i], &values[i]));
        sorter_append_identity(&key, g->query->rules, values[i],
                               room < VALUE_BYTES_MIN ? VALUE_BYTES_MIN : room);
    }
    return buffer_finish(&key, out);
}

static status begin_group(struct groups *g, size_t number, const struct value *values)
{
    struct arena *arena = g->arenas[g->in_use];
    struct group *group;

    /* The set counts it already. */
    if (number >= g->room) {
        g->numbers.count--;
        TRY(make_room(g, arena, g->room ? g->room * 2 : FIRST_ROOM));
        g->numbers.count++;
    }
    group = &g->items[number];
    group->key = g->numbers.members[number].key;
    TRY(copy_values(g, arena, values, &group->values));
    return sums_open(&group->sums, arena, g->query, BYTES_NONE);
}

static status add(struct groups *g, struct evaluation *e)
{
    struct value values[LIMIT_QUERY_GROUPS];
    size_t number;
    bool is_new;
    bytes key;

    TRY(make_key(g, e, values, &key));
    if (g->has_after && bytes_compare(key, g->after) <= 0)
        return STATUS_OK;
    if (g->is_cut && bytes_compare(key, g->last) > 0)
        return STATUS_OK;
    TRY(set_add(&g->numbers, key, &number, &is_new));
    if (is_new)
        TRY(begin_group(g, number, values));
    TRY(sums_add(&g->items[number].sums, e));
    return cut(g);
}

status groups_add(struct groups *g, struct evaluation *e)
{
    status s = add(g, e);

    if (s.code == OUT_OF_MEMORY)
        return status_fail(e->arena, TOO_LARGE,
                           "the groups of the query and what is kept for them take more than %d "
                           "bytes, the limit: group by fewer different values, or list less",
                           LIMIT_QUERY_GROUPS_BYTES);
    return s;
}

/* ---- giving ----------------------------------------------------------------------------------------- */

status groups_bind(const struct groups *g, size_t number, struct evaluation *e)
{
    const struct group *group = &g->items[number];

    e->groups = group->values;
    return sums_results(&group->sums, e->arena, &e->aggregates);
}
