/* Plan by composite index: one that holds every document in the order of several fields.
 *
 * Such an index serves a query whose condition fixes its first fields to one value each: those documents are one
 * stretch. Within it rows lie in the order of the fields that follow, so it also serves an order by them, forwards or
 * backwards. What an order says about a field that is fixed does not matter.
 *
 * Threads: belongs to its request. Start reading at planner_composite_order(). */
#include "query/planner.h"

/* How a query fits to an index. */
struct fit {
    const struct index *index;
    size_t fixed; /* so many fields from the first on have one value */
    unsigned fixed_constraints;
    bool is_ordered;
    bool is_reverse;
};

static const enum scan_rank ranks[KIND_COUNT] = {
    [KIND_MISSING] = RANK_MISSING,   [KIND_NULL] = RANK_NULL,     [KIND_BOOL] = RANK_BOOL,
    [KIND_NUMBER] = RANK_NUMBER,     [KIND_STRING] = RANK_STRING, [KIND_ARRAY] = RANK_ARRAY,
    [KIND_DOCUMENT] = RANK_DOCUMENT, [KIND_OTHER] = RANK_OTHER,
};

/* Does the language order kinds as the index does? */
static bool has_same_ranks(const struct query_rules *rules)
{
    for (size_t i = 0; i < KIND_COUNT; i++) {
        for (size_t j = 0; j < KIND_COUNT; j++) {
            if (ranks[i] < ranks[j] && rules->kind_order[i] >= rules->kind_order[j] &&
                i != KIND_OTHER && j != KIND_OTHER)
                return false;
        }
    }
    return true;
}

/* ---- fitting ----------------------------------------------------------------------------------------- */

static bool is_fixed(const struct constraint *c)
{
    return !c->is_element && c->count == 1 && c->ranges[0].is_point;
}

/* The constraint that fixes this field; NULL if none does. */
static const struct constraint *fixing(const struct planner *p, const struct path *path,
                                       size_t *number_out)
{
    for (size_t i = 0; i < p->constraints->count; i++) {
        const struct constraint *c = &p->constraints->items[i];
        if (is_fixed(c) && planner_is_dotted(c->path, path) && !planner_shows_only(p, c->path)) {
            *number_out = i;
            return c;
        }
    }
    return NULL;
}

static bool is_order_fixed(const struct planner *p, const struct query_order *order)
{
    for (size_t i = 0; i < p->constraints->count; i++) {
        const struct constraint *c = &p->constraints->items[i];
        if (is_fixed(c) && expression_equal(c->path, order->by))
            return true;
    }
    return false;
}

static bool is_order_by(const struct planner *p, const struct query_order *order,
                        const struct path *path)
{
    return expression_is_path(order->by) && planner_is_dotted(order->by, path) &&
           !planner_shows_only(p, order->by);
}

/* The fields behind the fixed ones, one by one, must be those that the query sorts by. */
static void fit_order(const struct planner *p, struct fit *fit)
{
    const struct index_definition *definition = &fit->index->definition;
    size_t field = fit->fixed;
    bool has_direction = false;

    if (p->query->is_distinct || !has_same_ranks(p->query->rules))
        return;
    for (size_t i = 0; i < p->query->order_count; i++) {
        const struct query_order *order = &p->query->orders[i];
        if (is_order_fixed(p, order))
            continue;
        if (field == definition->field_count || !is_order_by(p, order, fit->index->paths[field]))
            return;
        bool is_reverse = order->is_descending !=
                          (definition->fields[field].order == KEY_DESCENDING);
        if (has_direction && is_reverse != fit->is_reverse)
            return;
        fit->is_reverse = is_reverse;
        has_direction = true;
        field++;
    }
    fit->is_ordered = p->query->order_count > 0;
}

static struct fit fit_index(const struct planner *p, const struct index *index)
{
    struct fit fit = { .index = index };
    size_t room = LIMIT_QUERY_SORT_KEY_BYTES / index->definition.field_count, number;

    for (; fit.fixed < index->definition.field_count; fit.fixed++) {
        const struct constraint *c = fixing(p, index->paths[fit.fixed], &number);
        if (!c || c->ranges[0].start.len + 1 > room)
            break;
        fit.fixed_constraints |= 1U << number;
    }
    fit_order(p, &fit);
    return fit;
}

/* ---- the plan ---------------------------------------------------------------------------------------- */

static void append_complement(struct buffer *out, bytes plain, bool is_descending)
{
    for (size_t i = 0; i < plain.len; i++)
        buffer_append_byte(out, is_descending ? (uint8_t)~plain.data[i] : plain.data[i]);
}

/* Its fields for people: /a ASC, /b/c DESC. */
static status name_index(struct planner *p, const struct index *index, bytes *out)
{
    struct buffer name = buffer_in(p->arena);

    for (size_t i = 0; i < index->definition.field_count; i++) {
        const struct path *path = index->paths[i];
        buffer_append_text(&name, i ? ", " : "");
        for (size_t part = 0; part < path->count; part++) {
            buffer_append_byte(&name, '/');
            buffer_append(&name, path->parts[part]);
        }
        bool is_descending = index->definition.fields[i].order == KEY_DESCENDING;
        buffer_append_text(&name, is_descending ? " DESC" : " ASC");
    }
    return buffer_finish(&name, out);
}

static status make_plan(struct planner *p, const struct fit *fit, uint32_t number, struct plan *out)
{
    struct planner knowing = *p;
    struct buffer prefix = buffer_in(p->arena);
    struct range *all;

    *out = *p->plan;
    out->choice = (struct plan_choice){ .access = ACCESS_INDEX,
                                        .index_id = fit->index->id,
                                        .constraint = number };
    out->index = fit->index;
    out->is_ranked = true;
    out->fixed_fields = fit->fixed;
    out->filter_count = 0;
    out->is_ordered = fit->is_ordered;
    out->is_reverse = fit->is_reverse;
    for (size_t i = 0; i < fit->fixed; i++) {
        const struct constraint *c = fixing(p, fit->index->paths[i], &(size_t){ 0 });
        bool is_descending = fit->index->definition.fields[i].order == KEY_DESCENDING;
        uint8_t rank = (uint8_t)ranks[c->ranges[0].kind];
        append_complement(&prefix, bytes_of(&rank, 1), is_descending);
        append_complement(&prefix, c->ranges[0].start, is_descending);
    }
    TRY(buffer_finish(&prefix, &out->prefix));
    TRY(name_index(p, fit->index, &out->path));
    knowing.is_fulfilled |= fit->fixed_constraints;
    planner_settle(&knowing, CONSTRAINTS_MAX, out);
    TRY(ARENA_NEW(p->arena, 1, &all));
    out->ranges = all;
    out->range_count = 1;
    return STATUS_OK;
}

static bool can_use(const struct index *index)
{
    return index->definition.is_ranked && index->state == INDEX_READY;
}

status planner_composite_order(struct planner *p, uint32_t index_id, struct plan *out,
                               bool *is_found_out)
{
    const struct collection *collection = p->source->collection;
    struct fit best = { 0 };

    *is_found_out = false;
    for (size_t i = 0; i < collection->index_count; i++) {
        const struct index *index = &collection->indexes[i];
        if (!can_use(index) || (index_id && index->id != index_id))
            continue;
        struct fit fit = fit_index(p, index);
        if (fit.is_ordered && (!best.index || fit.fixed > best.fixed))
            best = fit;
    }
    if (!best.index)
        return STATUS_OK;
    *is_found_out = true;
    return make_plan(p, &best, PLAN_BY_ORDER, out);
}

status planner_add_composites(struct planner *p, struct plan *candidates, size_t *count)
{
    const struct collection *collection = p->source->collection;

    for (size_t i = 0; i < collection->index_count && *count < CANDIDATES_MAX; i++) {
        const struct index *index = &collection->indexes[i];
        if (!can_use(index))
            continue;
        struct fit fit = fit_index(p, index);
        if (fit.fixed > 1)
            TRY(make_plan(p, &fit, PLAN_BY_COMPOSITE, &candidates[(*count)++]));
    }
    return STATUS_OK;
}

/* ---- what a query may ask for ------------------------------------------------------------------------ */

static bool is_any_ranked(const struct planner *p)
{
    const struct collection *collection = p->source->collection;

    for (size_t i = 0; i < collection->index_count; i++) {
        const struct index *index = &collection->indexes[i];
        if (index->definition.is_ranked && fit_index(p, index).is_ordered)
            return true;
    }
    return false;
}

static status is_path_indexed(struct planner *p, const struct expression *path, bool *out)
{
    const struct collection *collection = p->source->collection;
    bytes pattern;

    *out = false;
    TRY(planner_pattern(p, path, &pattern));
    for (size_t i = 0; i < collection->index_count && !*out; i++)
        *out = scan_covers_path(p->arena, &collection->indexes[i], pattern);
    return STATUS_OK;
}

status query_check_order(const struct query *query, const struct query_source *source,
                         enum query_order_fault *out)
{
    struct arena *arena = source->request->arena;
    struct planner planner = { .arena = arena, .query = query, .source = source };

    *out = ORDER_SERVED;
    for (size_t i = 0; i < query->order_count; i++) {
        bool is_indexed;
        /* What is computed or only shown is in no index, and sorted without one. */
        if (!expression_is_path(query->orders[i].by) ||
            planner_shows_only(&planner, query->orders[i].by)) {
            *out = ORDER_SERVED;
            return STATUS_OK;
        }
        TRY(is_path_indexed(&planner, query->orders[i].by, &is_indexed));
        if (!is_indexed)
            *out = ORDER_EXCLUDED;
    }
    TRY(ARENA_NEW(arena, 1, &planner.constraints));
    TRY(ranges_derive(arena, query->where, planner.constraints));
    bool is_composite = query->order_count > 0 && is_any_ranked(&planner);
    if (is_composite)
        *out = ORDER_SERVED;
    else if (query->order_count > 1)
        *out = ORDER_NO_COMPOSITE;
    return STATUS_OK;
}
