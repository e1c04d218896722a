/* Plan by order: rows straight from the index that has the order of the query.
 *
 * An index over paths has the scalars of a path in order, but no row for a document that has none there. Which
 * documents those are, its shapes tell: one document of each shape is looked at, and those of the shapes that have
 * nothing at the path are a stretch of the index too, in front of all others or behind them. Of the scalars, mostly one
 * kind is there. What was found out is remembered (scan_recall_shapes), so that this is done once and not for each query. Arrays and documents
 * have an order among themselves that no index holds; where there are any, and where there are many shapes, the
 * query is sorted instead.
 *
 * Pages to come go on in the same order, and must not lose a shape that was there at the beginning; one that comes
 * later holds only documents that were written later.
 *
 * Threads: belongs to its request. Start reading at planner_order(). */
#include "query/planner.h"

enum {
    /* Each shape costs as much as a document. */
    SHAPES_MAX = SCAN_SHAPES_MAX,
    SHAPES_LATER_MAX = 4096,
    /* How many rows show whether enough of them fulfil the condition, and how few are enough. */
    TRIAL_ROWS = 128,
    TRIAL_MATCHES = TRIAL_ROWS / 8,
};

/* ---- what has no scalar ------------------------------------------------------------------------------ */

struct rest {
    struct planner *planner;
    const struct expression *path;
    bytes pattern; /* the path as the index has it */
    bytes prefix;  /* of the rows of shapes */
    size_t shapes_max;
    struct range *ranges;
    size_t count, room;
    bool is_known; /* nobody has anything but scalars there, or nothing */
    unsigned absent_kinds;
    bool wants_kinds;
};

static status kind_at_path(struct planner *p, const struct expression *path, struct scan *scan,
                           enum value_kind *out)
{
    struct evaluation evaluation = { .arena = p->arena,
                                     .lasting = p->arena,
                                     .rules = p->query->rules };
    struct document document;
    struct value value;

    TRY(scan_document(scan, &document));
    evaluation_bind(&evaluation, &document);
    status s = evaluate(&evaluation, path, &value);
    if (s.code == OK)
        *out = value_kind_of(value);
    document_release(p->source->request, &document);
    return s;
}

static status add_missing(struct rest *rest, bytes shape)
{
    if (rest->count == rest->room) {
        struct range *more;
        TRY(ARENA_NEW(rest->planner->arena, rest->room * 2 + 4, &more));
        if (rest->count)
            memcpy(more, rest->ranges, rest->count * sizeof(*more));
        rest->ranges = more;
        rest->room = rest->room * 2 + 4;
    }
    return range_of_key(rest->planner->arena, shape, KIND_MISSING, &rest->ranges[rest->count++]);
}

static enum shape_has has_of(enum value_kind kind)
{
    if (kind == KIND_MISSING)
        return SHAPE_HAS_NOTHING;
    return kind == KIND_NULL || kind == KIND_BOOL || kind == KIND_NUMBER || kind == KIND_STRING
               ? SHAPE_HAS_SCALAR
               : SHAPE_HAS_OTHER;
}

static status add_shape(struct rest *rest, bytes key, enum shape_has has)
{
    rest->is_known &= has != SHAPE_HAS_OTHER;
    return has == SHAPE_HAS_NOTHING ? add_missing(rest, key) : STATUS_OK;
}

/* Looks at the first living document of the next shape; `*from` moves behind that shape. */
static status next_shape(struct rest *rest, const struct index *index, struct scan *scan,
                         bytes *from, bool *has_out)
{
    struct arena *arena = rest->planner->arena;
    struct scan_spec spec = { .start = *from, .end = rest->prefix, .is_end_inclusive = true };
    enum value_kind kind = KIND_MISSING;
    struct scan_row row;
    bytes shape;

    TRY(scan_move(scan, &spec));
    *has_out = scan_next(scan, &row);
    TRY(scan_status(scan));
    if (!*has_out)
        return STATUS_OK;
    TRY(arena_copy(arena, row.index_key, &shape));
    TRY(kind_at_path(rest->planner, rest->path, scan, &kind));
    bytes key = bytes_from(shape, rest->prefix.len);
    enum shape_has has = has_of(kind);
    scan_note_shape(index, key, rest->pattern, has);
    TRY(add_shape(rest, key, has));
    return range_behind(arena, shape, from);
}

static status walk_shapes(struct rest *rest, const struct index *index)
{
    const struct query_source *source = rest->planner->source;
    struct scan_spec all = {
        .index = index, .start = rest->prefix, .end = rest->prefix, .is_end_inclusive = true
    };
    bool has_more = true;
    bytes from = rest->prefix;
    struct scan *scan;
    status s = STATUS_OK;

    rest->is_known = true;
    TRY(scan_open(source->request, source->collection, &all, &scan));
    for (size_t i = 0; i < rest->shapes_max && has_more && rest->is_known && s.code == OK; i++)
        s = next_shape(rest, index, scan, &from, &has_more);
    scan_close(scan);
    rest->is_known &= !has_more;
    if (s.code == OK && !has_more)
        scan_note_all_shapes(index);
    return s;
}

static status find_rest(struct rest *rest, const struct index *index)
{
    struct scan_shapes shapes;

    TRY(scan_recall_shapes(rest->planner->source->request, index, rest->pattern, &shapes));
    if (!shapes.is_known)
        return walk_shapes(rest, index);
    rest->is_known = true;
    rest->absent_kinds = shapes.absent_kinds;
    rest->wants_kinds = shapes.wants_kinds;
    for (size_t i = 0; i < shapes.count; i++)
        TRY(add_shape(rest, shapes.items[i].key, shapes.items[i].has));
    return STATUS_OK;
}

/* ---- which scalars there are ------------------------------------------------------------------------- */

static unsigned bit_of(enum value_kind kind)
{
    switch (kind) {
    case KIND_NULL:
        return SCAN_KIND_NULL;
    case KIND_BOOL:
        return SCAN_KIND_BOOL;
    case KIND_NUMBER:
        return SCAN_KIND_NUMBER;
    case KIND_STRING:
        return SCAN_KIND_TEXT;
    case KIND_MISSING:
    case KIND_ARRAY:
    case KIND_DOCUMENT:
    case KIND_OTHER:
    case KIND_COUNT:
        break;
    }
    return 0;
}

/* Looks for one row of each kind, and tells. */
static status look_for_kinds(struct planner *p, const struct plan *plan, bytes path)
{
    struct plan anywhere = *plan;
    unsigned absent = 0;

    anywhere.partition = BYTES_NONE;
    for (size_t i = 0; i < plan->range_count; i++) {
        struct scan_spec spec = { 0 };
        size_t rows = 0;
        TRY(plan_range_spec(p->arena, &anywhere, i, &spec));
        TRY(planner_count_rows(p, &spec, 1, &rows));
        absent |= rows ? 0 : bit_of(plan->ranges[i].kind);
    }
    scan_note_absent_kinds(p->source->request, plan->index, path, absent);
    return STATUS_OK;
}

/* All scalars at the path but those of kinds that are absent, unless they all are. Pages to come find themselves by all. */
static status ranges_of_scalars(struct planner *p, const struct expression *path, unsigned absent,
                                struct constraint *out)
{
    static const enum value_kind all[] = { KIND_NULL, KIND_BOOL, KIND_NUMBER, KIND_STRING };
    enum value_kind kinds[ARRAY_COUNT(all)];
    size_t count = 0;

    for (size_t i = 0; i < ARRAY_COUNT(all); i++) {
        if (!(bit_of(all[i]) & absent))
            kinds[count++] = all[i];
    }
    return count ? ranges_of_kinds(p->arena, path, kinds, count, out)
                 : ranges_of_kinds(p->arena, path, all, ARRAY_COUNT(all), out);
}

/* ---- the plan ---------------------------------------------------------------------------------------- */

/* In front of the scalars, or behind them if it goes backwards; shapes then too. */
static status add_rest(struct planner *p, const struct rest *rest, struct plan *plan)
{
    size_t count = plan->range_count + rest->count;
    struct range *ranges;

    TRY(ARENA_NEW(p->arena, count, &ranges));
    for (size_t i = 0; i < rest->count; i++)
        ranges[plan->is_reverse ? count - 1 - i : i] = rest->ranges[i];
    memcpy(ranges + (plan->is_reverse ? 0 : rest->count), plan->ranges,
           plan->range_count * sizeof(*ranges));
    plan->ranges = ranges;
    plan->range_count = count;
    return STATUS_OK;
}

status planner_order(struct planner *p, bool is_resumed, struct plan *out, bool *is_found_out)
{
    const struct query *query = p->query;
    struct buffer prefix = buffer_in(p->arena);
    struct constraint scalars;
    const struct index *index;
    bytes path;

    *is_found_out = false;
    if (query->order_count != 1 || query->is_distinct || !expression_is_path(query->orders[0].by) ||
        planner_shows_only(p, query->orders[0].by) ||
        query->rules->kind_order[KIND_MISSING] >= query->rules->kind_order[KIND_NULL])
        return STATUS_OK;
    TRY(planner_order_index(p, query->orders[0].by, &path, &index));
    if (!index)
        return STATUS_OK;
    struct rest rest = { .planner = p,
                         .path = query->orders[0].by,
                         .pattern = path,
                         .shapes_max = is_resumed ? SHAPES_LATER_MAX : SHAPES_MAX };
    scan_append_shape_prefix(&prefix);
    TRY(buffer_finish(&prefix, &rest.prefix));
    TRY(find_rest(&rest, index));
    TRY(ranges_of_scalars(p, rest.path, is_resumed ? 0 : rest.absent_kinds, &scalars));
    TRY(planner_index(p, index, &scalars, PLAN_BY_ORDER, path, out));
    out->rest_prefix = rest.prefix;
    if (!is_resumed && rest.wants_kinds)
        TRY(look_for_kinds(p, out, path));
    *is_found_out = rest.is_known || is_resumed;
    return add_rest(p, &rest, out);
}

/* ---- does it pay? ------------------------------------------------------------------------------------ */

struct trial {
    size_t rows, matches;
};

static status try_row(struct planner *p, const struct plan *plan, struct scan *scan, bool *out)
{
    struct document document;

    *out = true;
    if (!p->query->where || plan->is_decided)
        return STATUS_OK;
    TRY(scan_document(scan, &document));
    status s = query_matches(p->query, p->arena, p->source->decoration, &document,
                             p->source->request->now, out);
    document_release(p->source->request, &document);
    return s;
}

static status try_range(struct planner *p, const struct plan *plan, size_t number,
                        struct trial *trial)
{
    struct scan_spec spec = { 0 };
    struct scan_row row;
    struct scan *scan;
    status s = STATUS_OK;

    TRY(plan_range_spec(p->arena, plan, number, &spec));
    TRY(scan_open(p->source->request, p->source->collection, &spec, &scan));
    while (s.code == OK && trial->rows < TRIAL_ROWS && scan_next(scan, &row)) {
        bool is_match = bytes_starts_with(row.key.partition, plan->partition);
        trial->rows++;
        if (is_match)
            s = try_row(p, plan, scan, &is_match);
        trial->matches += is_match;
    }
    if (s.code == OK)
        s = scan_status(scan);
    scan_close(scan);
    return s;
}

status planner_order_pays(struct planner *p, const struct plan *plan, bool *out)
{
    struct trial trial = { 0 };
    bool is_filtered = p->query->where && !plan->is_decided;

    *out = !is_filtered && plan->partition.len == 0;
    /* What bindings make of a document, only a page finds out. */
    if (*out || (is_filtered && p->query->binding_count))
        return STATUS_OK;
    for (size_t i = 0; i < plan->range_count && trial.rows < TRIAL_ROWS; i++)
        TRY(try_range(p, plan, i, &trial));
    *out = trial.rows < TRIAL_ROWS || trial.matches >= TRIAL_MATCHES;
    return STATUS_OK;
}
