/* Advise: indexes that a query would use if they were there.
 *
 * A single one for each path that the condition compares, or that the order goes by, and that no index holds. A
 * composite one, if the condition fixes some paths and says something of another one, or sorts by others: first the
 * fixed ones, then those of the order, or else the one that has to lie in a range. It is not named where one that is
 * there serves the query as well, and nothing is named where the condition names the whole keys of documents: those
 * are read without any index.
 *
 * Threads: belongs to its request. Start reading at query_advise(). */
#include "query/planner.h"

/* Paths and fields while they are found. */
struct advice {
    struct planner *planner;
    bytes paths[CONSTRAINTS_MAX + LIMIT_QUERY_ORDERS];
    size_t path_count;
    bytes fields[CONSTRAINTS_MAX + LIMIT_QUERY_ORDERS];
    size_t field_count;
};

/* ---- single ones ------------------------------------------------------------------------------------ */

static status is_held(struct planner *p, bytes pattern, bool *out)
{
    const struct collection *collection = p->source->collection;

    *out = false;
    for (size_t i = 0; i < collection->index_count && !*out; i++)
        *out = scan_covers_path(p->arena, &collection->indexes[i], pattern);
    return STATUS_OK;
}

static status add_path(struct advice *a, const struct expression *path)
{
    bytes pattern;
    bool is_known;

    if (!expression_is_path(path) || planner_shows_only(a->planner, path))
        return STATUS_OK;
    TRY(planner_pattern(a->planner, path, &pattern));
    TRY(is_held(a->planner, pattern, &is_known));
    for (size_t i = 0; i < a->path_count; i++)
        is_known |= bytes_equal(a->paths[i], pattern);
    if (!is_known)
        a->paths[a->path_count++] = pattern;
    return STATUS_OK;
}

/* ---- composite ones --------------------------------------------------------------------------------- */

static bool is_fixed(const struct constraint *c)
{
    return !c->is_element && c->count == 1 && c->ranges[0].is_point;
}

/* /a/b ASC */
static status add_field(struct advice *a, const struct expression *path, bool is_descending)
{
    struct buffer name = buffer_in(a->planner->arena);
    bytes pattern;

    TRY(planner_pattern(a->planner, path, &pattern));
    buffer_append(&name, bytes_of(pattern.data, pattern.len - strlen("/?")));
    buffer_append_text(&name, is_descending ? " DESC" : " ASC");
    return buffer_finish(&name, &a->fields[a->field_count++]);
}

static status add_fixed(struct advice *a)
{
    const struct constraints *constraints = a->planner->constraints;

    for (size_t i = 0; i < constraints->count; i++) {
        const struct constraint *c = &constraints->items[i];
        if (is_fixed(c) && !planner_shows_only(a->planner, c->path))
            TRY(add_field(a, c->path, false));
    }
    return STATUS_OK;
}

/* Is it sorted by a path that the condition fixes? Then the order does not matter. */
static bool is_order_fixed(const struct advice *a, const struct expression *by)
{
    const struct constraints *constraints = a->planner->constraints;

    for (size_t i = 0; i < constraints->count; i++) {
        if (is_fixed(&constraints->items[i]) && expression_equal(constraints->items[i].path, by))
            return true;
    }
    return false;
}

static status add_orders(struct advice *a)
{
    const struct query *query = a->planner->query;

    for (size_t i = 0; i < query->order_count; i++) {
        const struct query_order *order = &query->orders[i];
        if (!expression_is_path(order->by) || planner_shows_only(a->planner, order->by)) {
            a->field_count = 0;
            return STATUS_OK;
        }
        if (!is_order_fixed(a, order->by))
            TRY(add_field(a, order->by, order->is_descending));
    }
    return STATUS_OK;
}

/* The first path that has to lie in a range. */
static status add_range(struct advice *a)
{
    const struct constraints *constraints = a->planner->constraints;

    for (size_t i = 0; i < constraints->count; i++) {
        const struct constraint *c = &constraints->items[i];
        if (!c->is_element && !is_fixed(c) && !planner_shows_only(a->planner, c->path))
            return add_field(a, c->path, false);
    }
    return STATUS_OK;
}

static status add_composite(struct advice *a)
{
    const struct query *query = a->planner->query;
    bool is_served;

    TRY(add_fixed(a));
    size_t fixed = a->field_count;
    if (query->order_count)
        TRY(add_orders(a));
    else
        TRY(add_range(a));
    TRY(planner_composite_serves(a->planner, fixed, a->field_count > fixed, &is_served));
    if (a->field_count < 2 || a->field_count > LIMIT_INDEX_FIELDS || is_served ||
        query->is_distinct || query->rank)
        a->field_count = 0;
    return STATUS_OK;
}

/* ---- all -------------------------------------------------------------------------------------------- */

static status keep(struct arena *arena, const bytes *from, size_t count, const bytes **out)
{
    bytes *copy;

    TRY(ARENA_NEW(arena, count ? count : 1, &copy));
    if (count)
        memcpy(copy, from, count * sizeof(*copy));
    *out = copy;
    return STATUS_OK;
}

static status are_keys_named(struct planner *planner, bool *out)
{
    TRY(ranges_derive(planner->arena, planner->query->where, planner->constraints));
    TRY(planner_partition(planner));
    return planner_points(planner, out);
}

status query_advise(const struct query *query, const struct query_source *source,
                    struct query_advice *out)
{
    struct arena *arena = source->request->arena;
    struct plan plan = { 0 };
    struct planner planner = { .arena = arena, .query = query, .source = source, .plan = &plan };
    struct advice *a;
    bool is_by_key;

    *out = (struct query_advice){ 0 };
    if (!query->has_source || query->inner)
        return STATUS_OK;
    TRY(ARENA_NEW(arena, 1, &a));
    a->planner = &planner;
    TRY(ARENA_NEW(arena, 1, &planner.constraints));
    TRY(are_keys_named(&planner, &is_by_key));
    if (is_by_key)
        return STATUS_OK;
    for (size_t i = 0; i < planner.constraints->count; i++)
        TRY(add_path(a, planner.constraints->items[i].path));
    for (size_t i = 0; i < query->order_count && !query->group_count; i++)
        TRY(add_path(a, query->orders[i].by));
    if (!query->group_count)
        TRY(add_composite(a));
    out->path_count = a->path_count;
    out->field_count = a->field_count;
    TRY(keep(arena, a->paths, a->path_count, &out->paths));
    return keep(arena, a->fields, a->field_count, &out->fields);
}
