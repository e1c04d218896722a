/* Plan by index: which indexes hold a constrained path, and which stretches of them to walk.
 *
 * Threads: belongs to its request. */
#include "query/planner.h"

static bool is_plain_name(bytes name)
{
    for (size_t i = 0; i < name.len; i++) {
        uint8_t c = name.data[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
            c != '_')
            return false;
    }
    return name.len > 0;
}

/* /name for each part, quoted where need be. */
static void append_pattern(struct buffer *out, const struct expression *path)
{
    if (path->kind != EXPRESSION_MEMBER)
        return;
    append_pattern(out, path->args[0]);
    buffer_append_byte(out, '/');
    if (is_plain_name(path->name)) {
        buffer_append(out, path->name);
        return;
    }
    buffer_append_byte(out, '"');
    for (size_t i = 0; i < path->name.len; i++) {
        uint8_t c = path->name.data[i];
        if (c == '"' || c == '\\')
            buffer_append_byte(out, '\\');
        buffer_append_byte(out, c);
    }
    buffer_append_byte(out, '"');
}

static int compare_ranges(const struct planner *p, const struct range *a, const struct range *b)
{
    const uint8_t *order = p->query->rules->kind_order;

    if (order[a->kind] != order[b->kind])
        return order[a->kind] < order[b->kind] ? -1 : 1;
    return bytes_compare(a->start, b->start);
}

/* The ranges in the order of the language, which places kinds otherwise than keys do; backwards if asked.
 * They are ascending within each kind, and there are few kinds: insertion moves little. */
static status order_ranges(struct planner *p, const struct constraint *constraint,
                           struct plan *plan)
{
    struct range *ranges;

    TRY(ARENA_NEW(p->arena, constraint->count, &ranges));
    for (size_t i = 0; i < constraint->count; i++) {
        size_t at = i;
        for (; at > 0 && compare_ranges(p, &ranges[at - 1], &constraint->ranges[i]) > 0; at--)
            ranges[at] = ranges[at - 1];
        ranges[at] = constraint->ranges[i];
    }
    for (size_t i = 0; plan->is_reverse && i < constraint->count / 2; i++) {
        struct range swapped = ranges[i];
        ranges[i] = ranges[constraint->count - 1 - i];
        ranges[constraint->count - 1 - i] = swapped;
    }
    plan->ranges = ranges;
    plan->range_count = constraint->count;
    return STATUS_OK;
}

status planner_index(struct planner *p, const struct index *index,
                     const struct constraint *constraint, uint32_t number, bytes path,
                     struct plan *out)
{
    const struct query_order *order = p->query->order_count == 1 ? &p->query->orders[0] : NULL;
    struct buffer prefix = buffer_in(p->arena);

    *out = *p->plan;
    out->choice =
        (struct plan_choice){ .access = ACCESS_INDEX, .index_id = index->id, .constraint = number };
    out->index = index;
    out->filter_count = 0;
    out->path = path;
    scan_append_path_prefix(&prefix, path);
    TRY(buffer_finish(&prefix, &out->prefix));
    out->is_ordered = order && !p->query->is_distinct && !constraint->is_element &&
                      expression_equal(order->by, constraint->path);
    out->is_reverse = out->is_ordered && order->is_descending;
    planner_settle(p, number == PLAN_BY_ORDER ? CONSTRAINTS_MAX : number, out);
    return order_ranges(p, constraint, out);
}

static status pattern_of(struct planner *p, const struct constraint *constraint, bytes *out)
{
    struct buffer text = buffer_in(p->arena);

    append_pattern(&text, constraint->path);
    buffer_append_text(&text, constraint->is_element ? "/[]/?" : "/?");
    return buffer_finish(&text, out);
}

status planner_pattern(struct planner *p, const struct expression *path, bytes *out)
{
    return pattern_of(p, &(struct constraint){ .path = path }, out);
}

static bool can_use(struct planner *p, const struct index *index, bytes path)
{
    return index->state == INDEX_READY && scan_covers_path(p->arena, index, path);
}

status planner_add_indexes(struct planner *p, size_t number, struct plan *candidates, size_t *count)
{
    const struct collection *collection = p->source->collection;
    const struct constraint *constraint = &p->constraints->items[number];
    bytes path;

    if (planner_shows_only(p, constraint->path) || (p->in_partition >> number & 1))
        return STATUS_OK;
    TRY(pattern_of(p, constraint, &path));
    for (size_t i = 0; i < collection->index_count && *count < CANDIDATES_MAX; i++) {
        const struct index *index = &collection->indexes[i];
        if (can_use(p, index, path))
            TRY(planner_index(p, index, constraint, (uint32_t)number, path,
                              &candidates[(*count)++]));
    }
    return STATUS_OK;
}

/* Rows come in the order of the documents' keys where an index is asked for one value. */
static bool is_by_key(const struct plan *plan)
{
    return plan->choice.access == ACCESS_INDEX && plan->range_count == 1 &&
           plan->ranges[0].is_point && !plan->is_reverse && !plan->is_ranked &&
           plan->choice.constraint < CONSTRAINTS_MAX;
}

static status add_filter(struct planner *p, const struct constraint *constraint, bool *is_added)
{
    const struct collection *collection = p->source->collection;
    struct plan_filter *filter = &p->plan->filters[p->plan->filter_count];
    bytes path;

    *is_added = false;
    TRY(pattern_of(p, constraint, &path));
    for (size_t i = 0; i < collection->index_count && !*is_added; i++) {
        if (!can_use(p, &collection->indexes[i], path))
            continue;
        struct buffer stretch = buffer_in(p->arena);
        scan_append_path_prefix(&stretch, path);
        buffer_append(&stretch, constraint->ranges[0].start);
        TRY(buffer_finish(&stretch, &filter->stretch));
        filter->index = &collection->indexes[i];
        filter->path = path;
        p->plan->filter_count++;
        *is_added = true;
    }
    return STATUS_OK;
}

status planner_add_filters(struct planner *p)
{
    struct planner knowing = *p;

    if (!is_by_key(p->plan))
        return STATUS_OK;
    for (size_t i = 0; i < p->constraints->count; i++) {
        const struct constraint *c = &p->constraints->items[i];
        bool is_added, is_point = c->count == 1 && c->ranges[0].is_point;
        if (i == p->plan->choice.constraint || !is_point || planner_shows_only(p, c->path) ||
            (p->in_partition >> i & 1) || p->plan->filter_count == PLAN_FILTERS_MAX)
            continue;
        TRY(add_filter(p, c, &is_added));
        knowing.is_fulfilled |= is_added ? 1U << i : 0;
    }
    if (p->plan->filter_count)
        planner_settle(&knowing, p->plan->choice.constraint, p->plan);
    return STATUS_OK;
}

status planner_order_index(struct planner *p, const struct expression *by, bytes *path_out,
                           const struct index **out)
{
    const struct collection *collection = p->source->collection;

    *out = NULL;
    TRY(planner_pattern(p, by, path_out));
    for (size_t i = 0; i < collection->index_count && !*out; i++) {
        const struct index *index = &collection->indexes[i];
        if (index->definition.is_shaped && can_use(p, index, *path_out))
            *out = index;
    }
    return STATUS_OK;
}

bytes plan_range_prefix(const struct plan *plan, size_t number)
{
    return plan->ranges[number].kind == KIND_MISSING && !plan->is_ranked ? plan->rest_prefix
                                                                         : plan->prefix;
}

status plan_range_spec(struct arena *arena, const struct plan *plan, size_t number,
                       struct scan_spec *spec)
{
    const struct range *range = &plan->ranges[number];

    if (plan->is_ranked && range->end.len == 0) {
        *spec = (struct scan_spec){ .index = plan->index,
                                    .start = plan->prefix,
                                    .end = plan->prefix,
                                    .is_end_inclusive = true,
                                    .is_reverse = plan->is_reverse };
        return STATUS_OK;
    }
    struct buffer start = buffer_in(arena), end = buffer_in(arena);

    buffer_append(&start, plan_range_prefix(plan, number));
    buffer_append(&start, range->start);
    buffer_append(&end, plan_range_prefix(plan, number));
    buffer_append(&end, range->end);
    spec->index = plan->index;
    spec->is_reverse = plan->is_reverse;
    /* Behind one value stands the document's key, which begins with its partition. */
    if (range->is_point)
        buffer_append(&start, plan->partition);
    TRY(buffer_finish(&start, &spec->start));
    TRY(buffer_finish(&end, &spec->end));
    spec->is_end_inclusive = range->is_point;
    if (range->is_point)
        spec->end = spec->start;
    return STATUS_OK;
}
