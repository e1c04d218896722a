/* Page sums: one row made of all.
 *
 * What was summed up so far travels in the state if a page has worked enough before it has seen all rows.
 *
 * Threads: a page belongs to its request. */
#include "query/aggregate.h"
#include "query/run.h"

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
        if (run_is_worn_out(run) && run->plan.choice.access != ACCESS_SLOTS &&
            sums_travel(run->query))
            break;
    }
    TRY(run_stand_here(run));
    return sums_write(&sums, &run->state.sums);
}
