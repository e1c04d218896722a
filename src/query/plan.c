/* Plan: how to get at the documents of a query.
 *
 * The condition gives constraints on single paths (ranges.c). From them, in this order: nothing at all
 * if one of them cannot be fulfilled; the documents themselves if the condition names their whole key;
 * an index if one holds a constrained path; otherwise all documents, or those of one partition. Where
 * several ways remain, each is tried for a few rows, and the one that ends first is taken.
 *
 * Whatever is chosen, the whole condition is checked again on each document: a plan can be slow, but not
 * wrong.
 *
 * Threads: belongs to its request. Start reading at plan_make(). */
#include "query/plan.h"

#include <stdlib.h>

enum {
    PROBE_ROWS = 128,
    PROBE_RANGES = 8,
    CANDIDATES_MAX = CONSTRAINTS_MAX * 2,
};

struct planner {
    struct arena *arena;
    const struct query *query;
    const struct query_source *source;
    struct constraints *constraints;
    bool is_partition_whole;
    unsigned in_partition; /* bit i: constraint i is part of the partition */
    struct plan *plan;     /* what all candidates have in common */
};

static bool is_same_choice(const struct plan_choice *a, const struct plan_choice *b)
{
    return a->access == b->access && a->index_id == b->index_id && a->constraint == b->constraint;
}

static bool is_shown_only(const struct planner *p, const struct expression *path)
{
    return decoration_has(p->source->decoration, expression_path_first(path));
}

/* ---- does anything need the document? --------------------------------------------------------------- */

static bool needs_document(const struct query *query)
{
    bool needs = query->where && expression_uses_variable(query->where);

    needs |= expression_uses_variable(query->output);
    for (size_t i = 0; i < query->order_count; i++)
        needs |= expression_uses_variable(query->orders[i].by);
    for (size_t i = 0; i < query->aggregate_count; i++)
        needs |= expression_uses_variable(query->aggregates[i].of);
    return needs;
}

/* All that is asked is how many documents there are. */
static bool is_plain_count(const struct query *query)
{
    for (size_t i = 0; i < query->aggregate_count; i++) {
        const struct query_aggregate *aggregate = &query->aggregates[i];
        if (aggregate->kind != AGGREGATE_COUNT || aggregate->of->kind != EXPRESSION_LITERAL ||
            value_kind_of(aggregate->of->literal) == KIND_MISSING)
            return false;
    }
    return query->aggregate_count > 0 && !query->where;
}

/* ---- the partition ---------------------------------------------------------------------------------- */

static size_t encoded_count(bytes key)
{
    size_t count = 0, len;

    while (key.len && (len = key_value_length(key, KEY_ASCENDING)) > 0) {
        key = bytes_from(key, len);
        count++;
    }
    return count;
}

/* Is the expression this dotted path? Walks both from the end. */
static bool is_dotted_path(const struct expression *x, const struct path *path)
{
    size_t left = path->count;

    for (; x->kind == EXPRESSION_MEMBER; x = x->args[0]) {
        if (left == 0 || !bytes_equal(x->name, path->parts[--left]))
            return false;
    }
    return left == 0;
}

/* The only value that the condition allows at this path; false if it allows several. */
static bool find_point(struct planner *p, const struct path *path, bytes *key_out)
{
    for (size_t i = 0; i < p->constraints->count; i++) {
        const struct constraint *c = &p->constraints->items[i];
        if (!c->is_element && c->count == 1 && c->ranges[0].is_point &&
            is_dotted_path(c->path, path) && !is_shown_only(p, c->path)) {
            *key_out = c->ranges[0].start;
            p->in_partition |= 1U << i;
            return true;
        }
    }
    return false;
}

/* The source's partition, or the one that the condition names by itself, as far as it does. What the
 * condition says about a part that the source gives needs no index either. */
static status find_partition(struct planner *p)
{
    const struct collection_definition *definition = &p->source->collection->definition;
    struct buffer prefix = buffer_in(p->arena);
    size_t given = encoded_count(p->source->partition), at = 0;

    buffer_append(&prefix, p->source->partition);
    for (; at < definition->partition_path_count; at++) {
        const struct path *path;
        bytes key;
        TRY(path_parse(p->arena, definition->partition_paths[at], &path));
        bool is_named = find_point(p, path, &key);
        if (at >= given && !is_named)
            break;
        if (at >= given)
            buffer_append(&prefix, key);
    }
    p->is_partition_whole = at == definition->partition_path_count;
    return buffer_finish(&prefix, &p->plan->partition);
}

/* ---- point reads ------------------------------------------------------------------------------------ */

static bool is_id(const struct planner *p, const struct expression *x)
{
    const struct query_decoration *decoration = p->source->decoration;

    return x->kind == EXPRESSION_MEMBER && x->args[0]->kind == EXPRESSION_VARIABLE &&
           bytes_equal(x->name, decoration->id_name);
}

/* The part of the condition that says which ids are meant: id = x, x = id, id IN (x, y). */
static const struct expression *find_id_condition(const struct planner *p,
                                                  const struct expression *where)
{
    if (!where || where->kind != EXPRESSION_CALL)
        return NULL;
    if (where->function == FUNCTION_and) {
        const struct expression *found = NULL;
        for (size_t i = 0; i < where->count && !found; i++)
            found = find_id_condition(p, where->args[i]);
        return found;
    }
    if (where->function != FUNCTION_equal && where->function != FUNCTION_in)
        return NULL;
    size_t ids = 0, literals = 0;
    for (size_t i = 0; i < where->count; i++) {
        ids += is_id(p, where->args[i]);
        literals += where->args[i]->kind == EXPRESSION_LITERAL;
    }
    bool is_first = where->function == FUNCTION_equal || is_id(p, where->args[0]);
    return ids == 1 && literals == where->count - 1 && is_first ? where : NULL;
}

static status add_points(struct planner *p, struct value shown, struct document_key *points,
                         size_t *count)
{
    const struct query_decoration *decoration = p->source->decoration;
    struct value ids[QUERY_IDS] = { shown };
    size_t id_count = 1;

    if (decoration->ids)
        id_count = decoration->ids(decoration->context, shown, p->arena, ids);
    ASSERT(id_count <= QUERY_IDS);
    for (size_t i = 0; i < id_count; i++) {
        points[*count].partition = p->plan->partition;
        TRY(range_encode(p->arena, ids[i], &points[*count].id));
        ++*count;
    }
    return STATUS_OK;
}

static int compare_points(const void *a, const void *b)
{
    return bytes_compare(((const struct document_key *)a)->id,
                         ((const struct document_key *)b)->id);
}

static status plan_points(struct planner *p, bool *is_done_out)
{
    const struct expression *condition = NULL;
    struct document_key *points;
    size_t count = 0, kept = 0;

    *is_done_out = false;
    if (p->source->decoration && p->source->decoration->id_name.len && p->is_partition_whole)
        condition = find_id_condition(p, p->query->where);
    if (!condition)
        return STATUS_OK;
    TRY(ARENA_NEW(p->arena, condition->count * QUERY_IDS, &points));
    for (size_t i = 0; i < condition->count; i++) {
        if (condition->args[i]->kind == EXPRESSION_LITERAL)
            TRY(add_points(p, condition->args[i]->literal, points, &count));
    }
    if (count)
        qsort(points, count, sizeof(*points), compare_points);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || compare_points(&points[kept - 1], &points[i]) != 0)
            points[kept++] = points[i];
    }
    p->plan->choice.access = ACCESS_POINT;
    p->plan->points = points;
    p->plan->point_count = kept;
    *is_done_out = true;
    return STATUS_OK;
}

/* ---- indexes ---------------------------------------------------------------------------------------- */

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

static status plan_index(struct planner *p, const struct index *index,
                         const struct constraint *constraint, uint32_t number, bytes path,
                         struct plan *out)
{
    const struct query_order *order = p->query->order_count == 1 ? &p->query->orders[0] : NULL;
    struct buffer prefix = buffer_in(p->arena);

    *out = *p->plan;
    out->choice =
        (struct plan_choice){ .access = ACCESS_INDEX, .index_id = index->id, .constraint = number };
    out->index = index;
    out->path = path;
    scan_append_path_prefix(&prefix, path);
    TRY(buffer_finish(&prefix, &out->prefix));
    out->is_ordered = order && !p->query->is_distinct && !constraint->is_element &&
                      expression_equal(order->by, constraint->path);
    out->is_reverse = out->is_ordered && order->is_descending;
    bool is_single = constraint->count == 1 && constraint->ranges[0].is_point;
    out->entry = constraint->is_element || is_single ? NULL : constraint->path;
    return order_ranges(p, constraint, out);
}

static status pattern_of(struct planner *p, const struct constraint *constraint, bytes *out)
{
    struct buffer text = buffer_in(p->arena);

    append_pattern(&text, constraint->path);
    buffer_append_text(&text, constraint->is_element ? "/[]/?" : "/?");
    return buffer_finish(&text, out);
}

static bool can_use(struct planner *p, const struct index *index, bytes path)
{
    return index->state == INDEX_READY && scan_covers_path(p->arena, index, path);
}

/* All indexes that can answer one constraint. */
static status add_candidates(struct planner *p, size_t number, struct plan *candidates,
                             size_t *count)
{
    const struct collection *collection = p->source->collection;
    const struct constraint *constraint = &p->constraints->items[number];
    bytes path;

    if (is_shown_only(p, constraint->path) || (p->in_partition >> number & 1))
        return STATUS_OK;
    TRY(pattern_of(p, constraint, &path));
    for (size_t i = 0; i < collection->index_count && *count < CANDIDATES_MAX; i++) {
        const struct index *index = &collection->indexes[i];
        if (can_use(p, index, path))
            TRY(plan_index(p, index, constraint, (uint32_t)number, path, &candidates[(*count)++]));
    }
    return STATUS_OK;
}

/* An index over the path that the query sorts by. It has the order, but only of documents with a scalar
 * there, so whoever uses it must know that all have one. */
static status find_order_index(struct planner *p, bytes *path_out, struct constraint *scalars_out)
{
    const struct collection *collection = p->source->collection;
    const struct query *query = p->query;

    if (query->order_count != 1 || query->is_distinct || p->plan->partition.len ||
        !expression_is_path(query->orders[0].by) || is_shown_only(p, query->orders[0].by))
        return STATUS_OK;
    TRY(ranges_of_scalars(p->arena, query->orders[0].by, scalars_out));
    TRY(pattern_of(p, scalars_out, path_out));
    for (size_t i = 0; i < collection->index_count && !p->plan->order_index; i++) {
        if (can_use(p, &collection->indexes[i], *path_out))
            p->plan->order_index = &collection->indexes[i];
    }
    return STATUS_OK;
}

/* ---- the choice ------------------------------------------------------------------------------------- */

static status count_rows(struct planner *p, const struct scan_spec *spec, size_t *rows)
{
    struct scan_row row;
    struct scan *scan;

    TRY(scan_open(p->source->request, p->source->collection, spec, &scan));
    while (*rows < PROBE_ROWS && scan_next(scan, &row))
        ++*rows;
    status s = scan_status(scan);
    scan_close(scan);
    return s;
}

/* How many rows a plan would have to look at, PROBE_ROWS meaning many. */
static status probe(struct planner *p, const struct plan *plan, size_t *rows_out)
{
    *rows_out = 0;
    if (plan->choice.access == ACCESS_KEYS) {
        struct scan_spec spec = { .start = plan->partition,
                                  .end = plan->partition,
                                  .is_end_inclusive = true };
        return count_rows(p, &spec, rows_out);
    }
    if (plan->range_count > PROBE_RANGES) {
        *rows_out = PROBE_ROWS;
        return STATUS_OK;
    }
    for (size_t i = 0; i < plan->range_count && *rows_out < PROBE_ROWS; i++) {
        struct scan_spec spec = { .index = plan->index };
        TRY(plan_range_spec(p->arena, plan, i, &spec));
        TRY(count_rows(p, &spec, rows_out));
    }
    return STATUS_OK;
}

/* The fewest rows; among those with many, one that saves the sorting, then the first (they stand in the
 * order of the condition, and the way by key comes last). */
static status choose(struct planner *p, const struct plan *candidates, size_t count)
{
    size_t best = 0, best_rows = SIZE_MAX;

    for (size_t i = 0; i < count && count > 1; i++) {
        size_t rows;
        TRY(probe(p, &candidates[i], &rows));
        bool is_better_order = rows == best_rows && rows == PROBE_ROWS &&
                               candidates[i].is_ordered && !candidates[best].is_ordered;
        if (rows < best_rows || is_better_order) {
            best = i;
            best_rows = rows;
        }
    }
    *p->plan = candidates[best];
    return STATUS_OK;
}

/* The way by key is there if nothing else is, and competes where it means only one partition. */
static status find_candidates(struct planner *p, struct plan **candidates_out, size_t *count_out)
{
    struct plan *candidates;

    *count_out = 0;
    TRY(ARENA_NEW(p->arena, CANDIDATES_MAX + 1, &candidates));
    for (size_t i = 0; i < p->constraints->count; i++)
        TRY(add_candidates(p, i, candidates, count_out));
    if (*count_out == 0 || p->plan->partition.len) {
        struct plan *by_key = &candidates[(*count_out)++];
        *by_key = *p->plan;
        by_key->choice.access = ACCESS_KEYS;
    }
    *candidates_out = candidates;
    return STATUS_OK;
}

static status plan_scan(struct planner *p, const struct plan_choice *wanted)
{
    struct constraint scalars;
    struct plan *candidates;
    size_t count;
    bytes path;

    TRY(find_order_index(p, &path, &scalars));
    if (wanted && wanted->constraint == PLAN_BY_ORDER && p->plan->order_index)
        return plan_index(p, p->plan->order_index, &scalars, PLAN_BY_ORDER, path, p->plan);
    TRY(find_candidates(p, &candidates, &count));
    if (!wanted)
        return choose(p, candidates, count);
    for (size_t i = 0; i < count; i++) {
        if (is_same_choice(&candidates[i].choice, wanted)) {
            *p->plan = candidates[i];
            return STATUS_OK;
        }
    }
    if (wanted->access == ACCESS_KEYS) {
        p->plan->choice.access = ACCESS_KEYS;
        return STATUS_OK;
    }
    return status_of(INVALID,
                     "the index that the pages before were read from is not there any more");
}

static bool is_never_true(const struct planner *p)
{
    const struct expression *where = p->query->where;

    for (size_t i = 0; i < p->constraints->count; i++) {
        if (p->constraints->items[i].count == 0)
            return true;
    }
    return where && where->kind == EXPRESSION_LITERAL && !value_is_true(where->literal);
}

static status plan_collection(struct planner *p, const struct plan_choice *wanted)
{
    bool is_done;

    if (is_plain_count(p->query) && p->source->partition.len == 0) {
        p->plan->choice.access = ACCESS_FIGURES;
        return STATUS_OK;
    }
    TRY(find_partition(p));
    TRY(plan_points(p, &is_done));
    return is_done ? STATUS_OK : plan_scan(p, wanted);
}

status plan_make(struct arena *arena, const struct query *query, const struct query_source *source,
                 const struct plan_choice *wanted, struct plan *out)
{
    struct planner planner = { .arena = arena, .query = query, .source = source, .plan = out };

    *out = (struct plan){ .needs_document = needs_document(query) };
    out->choice.access = ACCESS_NOTHING;
    TRY(ARENA_NEW(arena, 1, &planner.constraints));
    TRY(ranges_derive(arena, query->where, planner.constraints));
    if (!query->has_source || is_never_true(&planner))
        return STATUS_OK;
    if (source->collection)
        TRY(plan_collection(&planner, wanted));
    else
        out->choice.access = ACCESS_LIST;
    if (wanted && !is_same_choice(&out->choice, wanted))
        return status_of(INVALID, "the pages before were read another way");
    return STATUS_OK;
}

status plan_range_spec(struct arena *arena, const struct plan *plan, size_t number,
                       struct scan_spec *spec)
{
    const struct range *range = &plan->ranges[number];
    struct buffer start = buffer_in(arena), end = buffer_in(arena);

    buffer_append(&start, plan->prefix);
    buffer_append(&start, range->start);
    buffer_append(&end, plan->prefix);
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
