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
/* With all that tells them apart; it travels in the state of a page. */
enum { WHOLE_KEY_BYTES = 512 };
enum { FIRST_ROOM = 64, KEEP_MIN = 512 };

status groups_open(struct groups *g, const struct query *query, size_t wanted, const bytes *after)
{
    *g = (struct groups){
        .query = query, .wanted = wanted, .keep = wanted, .has_after = after != NULL
    };
    if (wanted && wanted < KEEP_MIN)
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
    TRY(arena_copy(*fresh, g->first, &g->first));
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

/* How much of each value orders a group. */
static size_t value_room(const struct query *query)
{
    size_t room = KEY_BYTES / query->group_count;

    return room < VALUE_BYTES_MIN ? VALUE_BYTES_MIN : room;
}

bytes groups_first_scalar(const struct query *query, bytes key)
{
    const uint8_t *order = query->rules->kind_order;
    bytes value = bytes_from(key, key.len ? 1 : 0);
    size_t len = key_value_length(value, KEY_ASCENDING);

    /* What is cut has no end within its room. */
    if (len == 0 || 1 + len > value_room(query))
        return BYTES_NONE;
    for (enum value_kind kind = KIND_NULL; kind <= KIND_STRING; kind++) {
        if (key.data[0] == order[kind] + 1)
            return bytes_of(value.data, len);
    }
    return BYTES_NONE;
}

/* `first_out`: the part of the key that orders the first value. */
static status make_key(const struct groups *g, struct evaluation *e, struct value *values,
                       bytes *out, bytes *first_out)
{
    size_t room = value_room(g->query);
    struct buffer key = buffer_in(e->arena);

    *first_out = BYTES_NONE;
    for (size_t i = 0; i < g->query->group_count; i++) {
        TRY(evaluate(e, g->query->groups[i], &values[i]));
        sorter_append_identity(&key, g->query->rules, values[i], room);
        if (i == 0)
            first_out->len = key.len < room ? key.len : room;
    }
    sorter_cut(&key, 0, WHOLE_KEY_BYTES);
    TRY(buffer_finish(&key, out));
    first_out->data = out->data;
    return STATUS_OK;
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

/* Where the first value changes, all groups so far are whole. */
static status note_first(struct groups *g, bytes first)
{
    if (bytes_equal(g->first, first))
        return STATUS_OK;
    if (groups_count(g) >= g->wanted) {
        g->is_settled = true;
        g->has_dropped = true;
        return STATUS_OK;
    }
    return arena_copy(g->arenas[g->in_use], first, &g->first);
}

static status add(struct groups *g, struct evaluation *e)
{
    struct value values[LIMIT_QUERY_GROUPS];
    size_t number;
    bool is_new;
    bytes key, first;

    TRY(make_key(g, e, values, &key, &first));
    if (g->is_ordered)
        TRY(note_first(g, first));
    if (g->is_settled)
        return STATUS_OK;
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
