/* Page sums: one row made of all.
 *
 * What was summed up so far travels in the state if a page has worked enough before it has seen all rows.
 *
 * Threads: a page belongs to its request. */
#include "query/aggregate.h"
#include "query/run.h"

/* What sums may take of the state; the rest is for the position. */
enum { SUMS_BYTES = 450 };

status run_give_sums(struct run *run, const struct sums *sums)
{
    arena_reset(run->scratch);
    evaluation_bind(&run->evaluation, NULL);
    TRY(sums_results(sums, run->scratch, &run->evaluation.aggregates));
    run->is_finished = true;
    return run_give(run);
}

static status count_by_figures(struct run *run, struct sums *sums)
{
    struct collection_figures figures;

    TRY(collection_figures(run->source->request, run->source->collection, &figures));
    sums_add_rows(sums, figures.documents);
    return run_give_sums(run, sums);
}

/* Long texts among the sums do not travel: then the page works on as if it were a fresh one. */
static status end_page(struct run *run, const struct sums *sums, bool *is_ended_out)
{
    const struct query_explain *explain = &run->page->explain;
    bytes written;

    TRY(sums_write(sums, &written));
    *is_ended_out = written.len <= SUMS_BYTES;
    if (*is_ended_out) {
        run->state.sums = written;
        return run_stand_here(run);
    }
    run->rows_before = explain->rows + explain->joined;
    run->loaded_before = explain->loaded_bytes;
    return STATUS_OK;
}

status run_aggregate(struct run *run)
{
    struct sums sums;
    status s = sums_open(&sums, run->arena, run->query, run->state.sums);

    if (s.code == INVALID)
        return run_refuse_state(run, s);
    TRY(s);
    if (run->plan.choice.access == ACCESS_FIGURES)
        return count_by_figures(run, &sums);
    TRY(run_return_to_row(run));
    for (;;) {
        bool has_row, is_wanted;
        TRY(run_next_row(run, &has_row, &is_wanted));
        if (!has_row)
            return run_give_sums(run, &sums);
        if (is_wanted && run->plan.counts_rows)
            sums_add_rows(&sums, 1);
        else if (is_wanted)
            TRY(sums_add(&sums, &run->evaluation));
        bool may_end = run_is_worn_out(run) && run->plan.choice.access != ACCESS_SLOTS &&
                       sums_travel(run->query),
             is_ended = false;
        if (may_end)
            TRY(end_page(run, &sums, &is_ended));
        if (is_ended)
            return STATUS_OK;
    }
}
