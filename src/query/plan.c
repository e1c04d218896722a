/* Plan: how to get at the documents of a query.
 *
 * The condition gives constraints on single paths (ranges.c). From them, in this order: nothing at all
 * if one of them cannot be fulfilled; the documents themselves if the condition names their whole key;
 * an index if one holds a constrained path; otherwise all documents, or those of one partition. Where
 * several ways remain, each is tried for a few rows, and the one that ends first is taken.
 *
 * The whole condition is checked again on each document, so that a plan can be slow, but not wrong; unless the
 * constraints are exact and the way fulfils all of them. Then a query that wants nothing else of the documents,
 * such as a count, loads none.
 *
 * Threads: belongs to its request. Start reading at plan_make(). */
#include "query/planner.h"

enum { PROBE_ROWS = 128, PROBE_ROWS_LONG = 1024, PROBE_RANGES = 8 };

static bool is_same_choice(const struct plan_choice *a, const struct plan_choice *b)
{
    return a->access == b->access && a->index_id == b->index_id && a->constraint == b->constraint;
}

/* ---- what is left to do for a row ------------------------------------------------------------------- */

/* Does every row have a value here, if it has one at `path`? */
static bool is_always_there(const struct expression *x, const struct expression *path)
{
    if (x->kind == EXPRESSION_LITERAL)
        return value_kind_of(x->literal) != KIND_MISSING;
    return x->kind == EXPRESSION_VARIABLE || (path && expression_equal(x, path));
}

/* All that is asked is how many rows there are. */
static bool counts_rows(const struct query *query, const struct expression *path)
{
    if (query->group_count)
        return false;
    for (size_t i = 0; i < query->aggregate_count; i++) {
        if (query->aggregates[i].kind != AGGREGATE_COUNT ||
            !is_always_there(query->aggregates[i].of, path))
            return false;
    }
    return query->aggregate_count > 0;
}

static bool result_needs_document(const struct query *query, bool is_count)
{
    bool needs = query->binding_count > 0 || expression_uses_variable(query->output);

    for (size_t i = 0; i < query->order_count; i++)
        needs |= expression_uses_variable(query->orders[i].by);
    for (size_t i = 0; i < query->aggregate_count && !is_count; i++)
        needs |= expression_uses_variable(query->aggregates[i].of);
    for (size_t i = 0; i < query->group_count; i++)
        needs |= expression_uses_variable(query->groups[i]);
    return needs;
}

void planner_settle(const struct planner *p, size_t number, struct plan *plan)
{
    const struct constraints *constraints = p->constraints;
    const struct expression *path = number < constraints->count ? constraints->items[number].path
                                                                : NULL;

    plan->is_decided = constraints->is_exact;
    for (size_t i = 0; i < constraints->count; i++)
        plan->is_decided &= i == number || (p->is_fulfilled >> i & 1);
    plan->counts_rows = counts_rows(p->query, path);
    plan->needs_document = result_needs_document(p->query, plan->counts_rows) ||
                           (p->query->where && !plan->is_decided &&
                            expression_uses_variable(p->query->where));
}

/* ---- the choice ------------------------------------------------------------------------------------- */

status planner_count_rows(struct planner *p, const struct scan_spec *spec, size_t most,
                          size_t *rows)
{
    struct scan_row row;
    struct scan *scan;

    TRY(scan_open(p->source->request, p->source->collection, spec, &scan));
    while (*rows < most && scan_next(scan, &row))
        ++*rows;
    status s = scan_status(scan);
    scan_close(scan);
    return s;
}

/* How many rows a plan would have to look at, `most` meaning many. */
static status probe(struct planner *p, const struct plan *plan, size_t most, size_t *rows_out)
{
    *rows_out = 0;
    if (plan->choice.access == ACCESS_KEYS) {
        struct scan_spec spec = { .start = plan->partition,
                                  .end = plan->partition,
                                  .is_end_inclusive = true };
        return planner_count_rows(p, &spec, most, rows_out);
    }
    if (plan->range_count > PROBE_RANGES) {
        *rows_out = most;
        return STATUS_OK;
    }
    for (size_t i = 0; i < plan->range_count && *rows_out < most; i++) {
        struct scan_spec spec = { .index = plan->index };
        TRY(plan_range_spec(p->arena, plan, i, &spec));
        TRY(planner_count_rows(p, &spec, most, rows_out));
    }
    return STATUS_OK;
}

/* The fewest rows; among those with many, one that saves the sorting, then the first (they stand in the
 * order of the condition, and the way by key comes last). */
static status find_best(struct planner *p, const struct plan *candidates, size_t count, size_t most,
                        size_t *best_out)
{
    p->rows = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        size_t rows;
        TRY(probe(p, &candidates[i], most, &rows));
        bool is_better_order = rows == p->rows && rows == most && candidates[i].is_ordered &&
                               !candidates[*best_out].is_ordered;
        if (rows < p->rows || is_better_order) {
            *best_out = i;
            p->rows = rows;
        }
    }
    return STATUS_OK;
}

/* If all have many rows, a longer look may tell them apart. */
static status choose(struct planner *p, const struct plan *candidates, size_t count)
{
    size_t best = 0;

    p->rows = PROBE_ROWS;
    if (count > 1)
        TRY(find_best(p, candidates, count, PROBE_ROWS, &best));
    if (count > 1 && p->rows == PROBE_ROWS)
        TRY(find_best(p, candidates, count, PROBE_ROWS_LONG, &best));
    *p->plan = candidates[best];
    return p->rows < PROBE_ROWS ? STATUS_OK : planner_add_filters(p);
}

/* The way by key is there if nothing else is, and competes where it means only one partition. */
static status find_candidates(struct planner *p, struct plan **candidates_out, size_t *count_out)
{
    struct plan *candidates;

    *count_out = 0;
    /* Each is written as a whole when it is added, and mostly there is one: they are not worth being zeroed. */
    TRY(arena_take(p->arena, (CANDIDATES_MAX + 1) * sizeof(*candidates), (void **)&candidates));
    for (size_t i = 0; i < p->constraints->count; i++)
        TRY(planner_add_indexes(p, i, candidates, count_out));
    TRY(planner_add_composites(p, candidates, count_out));
    if (*count_out == 0 || p->plan->partition.len) {
        struct plan *by_key = &candidates[(*count_out)++];
        *by_key = *p->plan;
        by_key->choice.access = ACCESS_KEYS;
    }
    *candidates_out = candidates;
    return STATUS_OK;
}

/* A composite index, where it knows more than the index over paths: several keys, or what the condition fixes. */
static status find_order(struct planner *p, struct plan *out, bool *is_found_out)
{
    struct plan by_path;
    bool is_path;

    TRY(planner_composite_order(p, 0, out, is_found_out));
    if (*is_found_out && (p->query->order_count > 1 || out->prefix.len))
        return STATUS_OK;
    TRY(planner_order(p, false, &by_path, &is_path));
    if (is_path)
        *out = by_path;
    *is_found_out |= is_path;
    return STATUS_OK;
}

/* Many rows that would have to be sorted can also be read in order, if there is an index for it. */
static status consider_order(struct planner *p)
{
    struct plan by_order;
    bool is_found, does_pay;
    size_t rows = PROBE_ROWS;

    if (p->query->order_count == 0 || p->plan->is_ordered)
        return STATUS_OK;
    if (p->plan->choice.access != ACCESS_KEYS || p->plan->partition.len)
        TRY(probe(p, p->plan, PROBE_ROWS, &rows));
    if (rows < PROBE_ROWS)
        return STATUS_OK;
    TRY(find_order(p, &by_order, &is_found));
    if (!is_found)
        return STATUS_OK;
    TRY(planner_order_pays(p, &by_order, &does_pay));
    if (does_pay)
        *p->plan = by_order;
    return STATUS_OK;
}

static status refuse_index(void)
{
    return status_of(INVALID,
                     "the index that the pages before were read from is not there any more");
}

static status resume_order(struct planner *p, uint32_t index_id)
{
    struct plan by_order;
    bool is_found;

    TRY(planner_composite_order(p, index_id, &by_order, &is_found));
    if (!is_found)
        TRY(planner_order(p, true, &by_order, &is_found));
    if (!is_found)
        return refuse_index();
    *p->plan = by_order;
    return STATUS_OK;
}

static status plan_scan(struct planner *p, const struct plan_choice *wanted)
{
    struct plan *candidates;
    size_t count;

    if (wanted && wanted->constraint == PLAN_BY_ORDER)
        return resume_order(p, wanted->index_id);
    TRY(find_candidates(p, &candidates, &count));
    if (!wanted) {
        int64_t begun = p->source->is_timed ? clock_stopwatch_ns() : 0;
        TRY(choose(p, candidates, count));
        TRY(consider_order(p));
        p->plan->choosing_ns = p->source->is_timed ? clock_stopwatch_ns() - begun : 0;
        return STATUS_OK;
    }
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
    return refuse_index();
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

    if (!p->query->where && p->plan->counts_rows && p->query->binding_count == 0 &&
        p->source->partition.len == 0) {
        p->plan->choice.access = ACCESS_FIGURES;
        return STATUS_OK;
    }
    TRY(planner_partition(p));
    planner_settle(p, CONSTRAINTS_MAX, p->plan);
    TRY(planner_points(p, &is_done));
    return is_done ? STATUS_OK : plan_scan(p, wanted);
}

status plan_make(struct arena *arena, const struct query *query, const struct query_source *source,
                 const struct plan_choice *wanted, struct plan *out)
{
    struct planner planner = { .arena = arena, .query = query, .source = source, .plan = out };

    *out = (struct plan){ .choice.access = ACCESS_NOTHING };
    TRY(ARENA_NEW(arena, 1, &planner.constraints));
    TRY(ranges_derive(arena, query->where, planner.constraints));
    planner_settle(&planner, CONSTRAINTS_MAX, out);
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
