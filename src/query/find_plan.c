/* Find plan: which way to take to the documents.
 *
 * Candidates are the documents' keys and every index over fields that may be used: one that holds all documents
 * that the condition can mean, and whose first field the condition names, or that has the wanted order. The one
 * that narrows most is taken; an order counts as much as a bounded stretch.
 *
 * An index in which documents may have several entries gives less: fields that share the beginning of their
 * paths may meet different elements of one array, so only the first of them is bounded; and its order holds
 * only if it is read whole.
 *
 * Threads: belongs to its request. Start reading at find_plan_make(). */
#include "query/find_parts.h"
#include "query/match_parts.h"

/* Stretches that several fields together may make. */
enum { PRODUCT_MAX = 1000 };
enum {
    SCORE_POINTS = 100, /* for each field that is one of a few values */
    SCORE_RANGE = 40,
    SCORE_ORDER = 50,
    SCORE_ORDER_ONLY = 20,
    SCORE_SPARSE = 10, /* all that have the field */
    SCORE_KEYS = 1,
};

struct candidate {
    struct find_plan plan;
    int score;
};

struct planning {
    const struct find_request *wanted;
    struct arena *arena;
    struct candidate best;
    uint64_t gone; /* indexes that were dropped meanwhile, by their places */
};

static void offer(struct planning *p, const struct candidate *candidate)
{
    if (p->best.score == 0 || candidate->score > p->best.score)
        p->best = *candidate;
}

static bool is_all_points(const struct find_ranges *ranges)
{
    for (size_t i = 0; i < ranges->count; i++) {
        if (!ranges->items[i].is_point)
            return false;
    }
    return true;
}

/* For who asks how it is done. */
static status keep_fields(struct planning *p, struct find_ranges *const *fields, size_t count,
                          struct find_plan *plan)
{
    struct find_ranges **kept;

    TRY(ARENA_NEW(p->arena, count, &kept));
    memcpy(kept, fields, count * sizeof(*kept));
    plan->fields = kept;
    plan->field_count = count;
    return STATUS_OK;
}

/* ---- by key ----------------------------------------------------------------------------------------- */

static bytes key_field(const struct planning *p)
{
    return p->wanted->view ? p->wanted->view->key_field : BYTES_NONE;
}

static status consider_keys(struct planning *p)
{
    const struct find_request *wanted = p->wanted;
    struct candidate keys = { .score = SCORE_KEYS, .plan = { .access = FIND_ACCESS_KEYS } };
    const struct collation *by = wanted->collection->definition.collation;
    struct find_ranges *ranges = NULL;
    bytes field = key_field(p);

    keys.plan.is_reverse = !wanted->order && wanted->is_reverse;
    if (field.len && wanted->by != FIND_NATURAL)
        TRY(find_ranges_of(p->arena, wanted->match, field, by, KEY_ASCENDING, true, &ranges));
    if (ranges) {
        TRY(keep_fields(p, &ranges, 1, &keys.plan));
        bool is_points = is_all_points(ranges);
        keys.plan.access = is_points ? FIND_ACCESS_POINTS : FIND_ACCESS_KEYS;
        keys.score = is_points ? 10 * SCORE_POINTS : SCORE_RANGE - 5;
        keys.plan.is_exact = ranges->is_exact &&
                             ranges->leaf_count == find_leaf_count(wanted->match);
    } else {
        TRY(find_ranges_all(p->arena, &ranges));
        keys.plan.is_exact = find_leaf_count(wanted->match) == 0;
    }
    keys.plan.ranges = ranges->items;
    keys.plan.range_count = ranges->count;
    if (wanted->order && wanted->order->count && field.len && wanted->order->collation == by &&
        bytes_equal(wanted->order->parts[0].path, field)) {
        keys.plan.is_ordered = true;
        keys.plan.is_reverse = wanted->order->parts[0].is_descending;
        keys.score += SCORE_ORDER;
    }
    offer(p, &keys);
    return STATUS_OK;
}

/* ---- by index --------------------------------------------------------------------------------------- */

/* What is known of the fields of one index. */
struct bounded {
    const struct index *index;
    bool has_many;
    bool is_wildcard;
    bytes wildcard; /* the path for which a wildcard is used */
    struct find_ranges *fields[LIMIT_INDEX_FIELDS];
    size_t count;  /* fields that are bounded, from the first on */
    size_t points; /* of them, those that are points */
    size_t leaves; /* that the bounds come from */
    bool is_exact;
    bool excludes_missing;
};

static bytes first_part(bytes path)
{
    return match_take_part(&path);
}

static bool shares_beginning(const struct bounded *b, size_t field)
{
    const struct index_field *fields = b->index->definition.fields;

    for (size_t i = 0; i < field; i++) {
        if (bytes_equal(first_part(fields[i].path), first_part(fields[field].path)))
            return true;
    }
    return false;
}

/* One stretch from the first to the last. */
static void span(struct find_ranges *ranges)
{
    ranges->items[0].end = ranges->items[ranges->count - 1].end;
    ranges->items[0].is_end_inclusive = ranges->items[ranges->count - 1].is_end_inclusive;
    ranges->items[0].is_point = false;
    ranges->count = 1;
}

static status bound_fields(struct planning *p, struct bounded *b)
{
    const struct index_definition *definition = &b->index->definition;
    size_t product = 1;

    b->is_exact = true;
    for (size_t i = 0; i < definition->field_count; i++) {
        struct find_ranges *ranges;
        if (b->has_many && shares_beginning(b, i))
            return STATUS_OK;
        struct find_part part = { b->index, i, !b->has_many, b->wildcard };
        TRY(find_part_ranges(p->wanted, p->arena, &part, &ranges));
        bool is_too_much = ranges &&
                           ranges->count * product > PRODUCT_MAX + LIMIT_QUERY_RANGES * (i == 0);
        if (is_too_much && definition->fields[i].part == PART_CELLS)
            span(ranges); /* must be bounded */
        else if (!ranges || is_too_much)
            return STATUS_OK;
        b->fields[b->count++] = ranges;
        b->leaves += ranges->leaf_count;
        b->is_exact = b->is_exact && ranges->is_exact;
        b->excludes_missing |= !ranges->has_missing;
        product *= ranges->count;
        if (!is_all_points(ranges))
            return STATUS_OK;
        b->points++;
        if (product > PRODUCT_MAX)
            return STATUS_OK;
    }
    return STATUS_OK;
}

/* Every stretch so far, cut by each stretch of the next field. */
static status multiply(struct planning *p, const struct find_ranges *by, struct find_plan *plan)
{
    struct find_range *made;
    size_t count = 0;

    TRY(ARENA_NEW(p->arena, plan->range_count * by->count, &made));
    for (size_t i = 0; i < plan->range_count; i++) {
        bytes front = plan->ranges[i].start;
        for (size_t j = 0; j < by->count; j++) {
            struct find_range *range = &made[count++];
            *range = by->items[j];
            TRY(arena_join(p->arena, front, by->items[j].start, &range->start));
            TRY(arena_join(p->arena, front, by->items[j].end, &range->end));
            range->is_end_inclusive |= by->items[j].end.len == 0 && front.len > 0;
        }
    }
    plan->ranges = made;
    plan->range_count = count;
    return STATUS_OK;
}

static bool is_fixed(const struct bounded *b, size_t field)
{
    return field < b->count && b->fields[field]->count == 1 && b->fields[field]->items[0].is_point;
}

/* Is it everything, bounded by its mere existence? */
static bool is_everywhere(const struct find_ranges *ranges)
{
    if (ranges->values)
        ranges = ranges->values;
    return ranges->count && ranges->items[0].end.len == 0;
}

/* Does the index have the order, forwards or backwards? */
static bool has_order(const struct bounded *b, const struct order *order, bool *is_reverse_out)
{
    const struct index_definition *definition = &b->index->definition;
    size_t part = 0;
    int direction = 0;

    if (!definition->is_missing_null || (b->has_many && b->count))
        return false;
    for (size_t i = 0; i < definition->field_count && part < order->count; i++) {
        bool is_wildcard = definition->fields[i].part == PART_WILDCARD;
        bool is_same = bytes_equal(is_wildcard ? b->wildcard : definition->fields[i].path,
                                   order->parts[part].path);
        if (is_fixed(b, i)) {
            part += is_same;
            continue;
        }
        bool is_sorted = definition->fields[i].part == PART_VALUE ||
                         (is_wildcard && !is_everywhere(b->fields[i]));
        if (!is_same || !is_sorted ||
            order->collation !=
                (definition->fields[i].part == PART_VALUE ? definition->collation : NULL))
            return false;
        int wanted = order->parts[part].is_descending ==
                             (definition->fields[i].order == KEY_DESCENDING)
                         ? 1
                         : -1;
        if (direction && direction != wanted)
            return false;
        direction = wanted;
        part++;
    }
    *is_reverse_out = direction < 0;
    return part == order->count;
}

/* Does the index hold every document that the condition can mean? */
static status holds_all(struct planning *p, const struct bounded *b, bool *out)
{
    const struct index_definition *definition = &b->index->definition;
    const struct match *predicate;

    *out = true;
    if (p->wanted->by == FIND_BY_INDEX)
        return STATUS_OK;
    if (definition->is_sparse && !b->excludes_missing)
        *out = false;
    if (!definition->is_partial || !*out)
        return STATUS_OK;
    *out = false;
    if (!p->wanted->predicate)
        return STATUS_OK;
    TRY(p->wanted->predicate(p->wanted->context, b->index, &predicate));
    return predicate ? find_implies(p->arena, p->wanted->match, predicate, out) : STATUS_OK;
}

/* Is the last bounded field bounded by its mere existence? */
static bool is_unbounded(const struct bounded *b)
{
    return is_everywhere(b->fields[b->count - 1]);
}

static int score_of(const struct bounded *b, bool is_ordered)
{
    int score = (int)b->points * SCORE_POINTS;

    if (b->count > b->points && !is_unbounded(b))
        score += SCORE_RANGE;
    else if (b->count > b->points && (b->index->definition.is_sparse || b->is_wildcard))
        score += SCORE_SPARSE;
    if (b->points == b->index->definition.field_count && b->index->definition.is_unique)
        score += SCORE_POINTS;
    if (is_ordered)
        score += b->count ? SCORE_ORDER : SCORE_ORDER_ONLY;
    /* One that was made for the fields comes first. */
    return b->is_wildcard && score ? score - 1 : score;
}

/* With a hint: from the values of `min` on, below those of `max`. */
static status encode_limit(struct planning *p, const struct index *index, bytes limit, bytes *out)
{
    struct buffer key = buffer_in(p->arena);
    struct document_walk walk = document_fields(limit);
    struct field field;

    for (size_t i = 0; i < index->definition.field_count && document_next(&walk, &field); i++)
        key_append_value_by(&key, index->definition.collation, field.value,
                            index->definition.fields[i].order);
    return buffer_finish(&key, out);
}

static status take_limits(struct planning *p, struct bounded *b, struct find_plan *plan)
{
    struct find_range *range;

    TRY(ARENA_NEW(p->arena, 1, &range));
    if (p->wanted->min.len)
        TRY(encode_limit(p, b->index, p->wanted->min, &range->start));
    if (p->wanted->max.len)
        TRY(encode_limit(p, b->index, p->wanted->max, &range->end));
    plan->ranges = range;
    plan->range_count = 1;
    b->count = b->points = 0;
    b->is_exact = false;
    return STATUS_OK;
}

static status consider_index(struct planning *p, const struct index *index, bool is_needed)
{
    const struct find_request *wanted = p->wanted;
    struct candidate candidate = {
        .plan = {.access = FIND_ACCESS_INDEX, .index = index}
    };
    struct bounded bounded = { .index = index };
    struct find_plan *plan = &candidate.plan;
    struct find_ranges *all;
    bool holds;

    TRY(scan_has_many(wanted->request, wanted->collection, index, &bounded.has_many));
    plan->has_many = bounded.has_many;
    TRY(find_wildcard_choose(wanted, p->arena, index, &bounded.is_wildcard, &bounded.wildcard,
                             &bounded.has_many));
    TRY(bound_fields(p, &bounded));
    TRY(holds_all(p, &bounded, &holds));
    if ((!holds && !is_needed) || !find_part_is_bounded(index, bounded.count))
        return STATUS_OK;
    TRY(find_ranges_all(p->arena, &all));
    plan->ranges = all->items;
    plan->range_count = 1;
    plan->has_arrays = bounded.has_many;
    plan->wildcard = bounded.wildcard;
    if (wanted->min.len || wanted->max.len)
        TRY(take_limits(p, &bounded, plan));
    for (size_t i = 0; i < bounded.count; i++)
        TRY(multiply(p, bounded.fields[i], plan));
    if (bounded.count > 0)
        TRY(keep_fields(p, bounded.fields, bounded.count, plan));
    plan->is_exact = bounded.is_exact && !plan->has_many &&
                     bounded.leaves == find_leaf_count(wanted->match) && !wanted->min.len &&
                     !wanted->max.len;
    plan->is_reverse = !wanted->order && wanted->is_reverse;
    bool is_limited = wanted->min.len || wanted->max.len;
    if (wanted->order && wanted->order->count && !(is_limited && plan->has_many))
        plan->is_ordered = has_order(&bounded, wanted->order, &plan->is_reverse);
    candidate.score = score_of(&bounded, plan->is_ordered) +
                      (match_near(wanted->match) != NULL); /* there is no other way */
    if (is_needed)
        candidate.score = INT32_MAX;
    if (candidate.score)
        offer(p, &candidate);
    return STATUS_OK;
}

static bool is_gone(const struct planning *p, const struct index *index)
{
    return p->gone >> (index - p->wanted->collection->indexes) & 1;
}

static bool is_usable(const struct planning *p, const struct index *index)
{
    const struct index_definition *definition = &index->definition;
    const struct find_request *wanted = p->wanted;

    return definition->kind == INDEX_FIELDS && index->state == INDEX_READY && !is_gone(p, index) &&
           !definition->is_lazy && !definition->is_per_partition &&
           (!wanted->is_usable || wanted->is_usable(wanted->context, index));
}

/* Where nearness is asked for, only an index over where documents lie can do it. */
static status make_near(struct planning *p, const struct match *near, const struct index *needed)
{
    const struct collection *collection = p->wanted->collection;
    struct cell_grid grid;

    for (size_t i = 0; i < collection->index_count && p->wanted->by != FIND_NATURAL; i++) {
        const struct index *index = &collection->indexes[i];
        if ((!needed || index == needed) && p->wanted->by != FIND_BY_KEY && is_usable(p, index) &&
            find_near_grid(index, near, &grid))
            TRY(consider_index(p, index, index == needed));
    }
    if (!p->best.score)
        return status_of(UNSUPPORTED, "unable to find index for $geoNear query");
    return STATUS_OK;
}

static status choose(struct planning *p, const struct index *needed)
{
    const struct find_request *wanted = p->wanted;
    const struct match *near = match_near(wanted->match);

    if (near)
        return make_near(p, near, needed);
    if (needed)
        TRY(consider_index(p, needed, true));
    if (!p->best.score && needed && (wanted->min.len || wanted->max.len))
        return status_of(INVALID, "min and max are for an index over plain fields, and the hint "
                                  "names another one");
    if (!p->best.score) {
        TRY(consider_keys(p));
        /* Nothing is better than documents named by their keys. */
        bool is_done = wanted->by != FIND_ANY_WAY || p->best.plan.access == FIND_ACCESS_POINTS;
        for (size_t i = 0; !is_done && i < wanted->collection->index_count; i++) {
            if (is_usable(p, &wanted->collection->indexes[i]))
                TRY(consider_index(p, &wanted->collection->indexes[i], false));
        }
    }
    if (wanted->natural && !is_gone(p, wanted->natural) && !needed && !wanted->after.len &&
        !wanted->is_one_pass && !(wanted->order && wanted->order->count) &&
        find_plan_is_everything(&p->best.plan))
        TRY(consider_index(p, wanted->natural, true));
    return STATUS_OK;
}

status find_plan_make(const struct find_request *wanted, struct arena *arena,
                      const struct index *resumed, struct find_plan *out)
{
    struct planning p = { .wanted = wanted, .arena = arena };
    const struct index *needed = resumed                       ? resumed
                                 : wanted->by == FIND_BY_INDEX ? wanted->hint
                                                               : NULL;
    bool is_there = false;

    /* Once for each index that was dropped since the request has begun. */
    while (!is_there) {
        p.best = (struct candidate){ 0 };
        TRY(choose(&p, needed));
        *out = p.best.plan;
        if (out->access != FIND_ACCESS_INDEX)
            return STATUS_OK;
        TRY(scan_has_index(wanted->request, wanted->collection, out->index, &is_there));
        if (!is_there && out->index == needed)
            return status_of(INVALID, "the index that was to be used was dropped meanwhile");
        if (!is_there)
            p.gone |= UINT64_C(1) << (out->index - wanted->collection->indexes);
    }
    return STATUS_OK;
}
