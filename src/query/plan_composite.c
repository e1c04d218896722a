/* Plan by composite index: one that holds every document in the order of several fields.
 *
 * Such an index serves a query whose condition fixes its first fields to one value each: those documents are one
 * stretch. Within it rows lie in the order of the fields that follow, so it also serves an order by them, forwards or
 * backwards, and what the condition says of the next field cuts the stretch to ranges of it. What an order says about
 * a field that is fixed does not matter.
 *
 * Threads: belongs to its request. Start reading at planner_composite_order(). */
#include "query/planner.h"

#include <stdlib.h>

/* How a query fits to an index. */
struct fit {
    const struct index *index;
    size_t fixed;                   /* so many fields from the first on have one value */
    unsigned fulfilled;             /* bit i: constraint i holds for every row of the plan */
    const struct constraint *range; /* what the next field has to lie in, or NULL */
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

/* The constraint on this field; NULL if there is none. */
static const struct constraint *constraint_on(const struct planner *p, const struct path *path,
                                              size_t *number_out)
{
    for (size_t i = 0; i < p->constraints->count; i++) {
        const struct constraint *c = &p->constraints->items[i];
        if (!c->is_element && planner_is_dotted(c->path, path) && !planner_shows_only(p, c->path)) {
            *number_out = i;
            return c;
        }
    }
    return NULL;
}

/* Longer values are cut in the index, and a bound would not tell them apart. */
static bool is_within(const struct constraint *c, size_t room)
{
    for (size_t i = 0; i < c->count; i++) {
        if (c->ranges[i].start.len + 1 > room || c->ranges[i].end.len + 1 > room)
            return false;
    }
    return true;
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

    for (; fit.fixed < index->definition.field_count && !fit.range; fit.fixed++) {
        const struct constraint *c = constraint_on(p, index->paths[fit.fixed], &number);
        if (!c || !is_within(c, room))
            break;
        fit.fulfilled |= 1U << number;
        if (!is_fixed(c)) {
            fit.range = c;
            break;
        }
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

/* What stands in the index for a value of the field: a byte for its kind, then its key. */
static void append_entry(struct buffer *out, const struct fit *fit, size_t field,
                         enum value_kind kind, bytes value)
{
    bool is_descending = fit->index->definition.fields[field].order == KEY_DESCENDING;
    uint8_t rank = (uint8_t)ranks[kind];

    append_complement(out, bytes_of(&rank, 1), is_descending);
    append_complement(out, value, is_descending);
}

/* In the index, descending values lie the other way round; what begins with a bound stays on its side of it. */
static status make_range(struct planner *p, const struct fit *fit, const struct range *of,
                         struct range *out)
{
    bool is_descending = fit->index->definition.fields[fit->fixed].order == KEY_DESCENDING;
    struct buffer start = buffer_in(p->arena), end = buffer_in(p->arena);

    *out = (struct range){ .kind = of->kind };
    append_entry(&start, fit, fit->fixed, of->kind, is_descending ? of->end : of->start);
    append_entry(&end, fit, fit->fixed, of->kind, is_descending ? of->start : of->end);
    TRY(buffer_finish(&start, &out->start));
    TRY(buffer_finish(&end, &out->end));
    if (!is_descending)
        return STATUS_OK;
    TRY(range_behind(p->arena, out->start, &out->start));
    return range_behind(p->arena, out->end, &out->end);
}

static int compare_starts(const void *a, const void *b)
{
    return bytes_compare(((const struct range *)a)->start, ((const struct range *)b)->start);
}

/* The ranges of the next field as they are walked, or all that stands behind the prefix. */
static status make_ranges(struct planner *p, const struct fit *fit, struct plan *plan)
{
    size_t count = fit->range ? fit->range->count : 1;
    struct range *ranges;

    TRY(ARENA_NEW(p->arena, count, &ranges));
    for (size_t i = 0; fit->range && i < count; i++)
        TRY(make_range(p, fit, &fit->range->ranges[i], &ranges[i]));
    if (count > 1)
        qsort(ranges, count, sizeof(*ranges), compare_starts);
    for (size_t i = 0; plan->is_reverse && i < count / 2; i++) {
        struct range swapped = ranges[i];
        ranges[i] = ranges[count - 1 - i];
        ranges[count - 1 - i] = swapped;
    }
    plan->ranges = ranges;
    plan->range_count = count;
    return STATUS_OK;
}

static status make_plan(struct planner *p, const struct fit *fit, uint32_t number, struct plan *out)
{
    struct planner knowing = *p;
    struct buffer prefix = buffer_in(p->arena);

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
        const struct constraint *c = constraint_on(p, fit->index->paths[i], &(size_t){ 0 });
        append_entry(&prefix, fit, i, c->ranges[0].kind, c->ranges[0].start);
    }
    TRY(buffer_finish(&prefix, &out->prefix));
    TRY(name_index(p, fit->index, &out->path));
    knowing.is_fulfilled |= fit->fulfilled;
    planner_settle(&knowing, CONSTRAINTS_MAX, out);
    return make_ranges(p, fit, out);
}

status plan_ranked_entry(struct arena *arena, const struct plan *plan,
                         const struct expression *path, enum value_kind kind, bytes value,
                         bytes *out)
{
    const struct fit fit = { .index = plan->index, .fixed = plan->fixed_fields };
    struct buffer entry = buffer_in(arena);

    *out = BYTES_NONE;
    if (fit.fixed >= plan->index->definition.field_count ||
        !planner_is_dotted(path, plan->index->paths[fit.fixed]))
        return STATUS_OK;
    append_entry(&entry, &fit, fit.fixed, kind, value);
    return buffer_finish(&entry, out);
}

static bool can_use(const struct index *index)
{
    return index->definition.is_ranked && index->state == INDEX_READY;
}

/* How much of the condition it knows. A single field is better looked up in the index over its path. */
static size_t worth(const struct fit *fit)
{
    return fit->fixed * 2 + (fit->range != NULL);
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
        if (fit.is_ordered && (!best.index || worth(&fit) > worth(&best)))
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
        if (worth(&fit) > 2)
            TRY(make_plan(p, &fit, PLAN_BY_COMPOSITE, &candidates[(*count)++]));
    }
    return STATUS_OK;
}

status planner_composite_serves(struct planner *p, size_t fixed, bool has_more, bool *out)
{
    const struct collection *collection = p->source->collection;

    *out = false;
    for (size_t i = 0; i < collection->index_count && !*out; i++) {
        if (!can_use(&collection->indexes[i]))
            continue;
        struct fit fit = fit_index(p, &collection->indexes[i]);
        bool is_behind = p->query->order_count ? fit.is_ordered : fit.range != NULL;
        *out = fit.fixed >= fixed && (!has_more || is_behind);
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
