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
#include "query/planner.h"

enum { PROBE_ROWS = 128, PROBE_RANGES = 8 };

static bool is_same_choice(const struct plan_choice *a, const struct plan_choice *b)
{
    return a->access == b->access && a->index_id == b->index_id && a->constraint == b->constraint;
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
        TRY(planner_add_indexes(p, i, candidates, count_out));
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

    TRY(planner_order_index(p, &path, &scalars));
    if (wanted && wanted->constraint == PLAN_BY_ORDER && p->plan->order_index)
        return planner_index(p, p->plan->order_index, &scalars, PLAN_BY_ORDER, path, p->plan);
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
    TRY(planner_partition(p));
    TRY(planner_points(p, &is_done));
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
