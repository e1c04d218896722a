/* Page groups: one row for each group of rows.
 *
 * All rows are looked at for every page. Groups that come in no order of the query's come in that of their keys,
 * and a page holds only those it gives; with an order, or where rows must be distinct, all groups are held until
 * the last row was seen, because only then it is known where each stands. The next page goes on behind the place
 * of the last group given, so whatever dies, comes or goes between pages, no other group is given twice or left
 * out. Where there are many pages and an index has the order of the first value, the later ones are read from it,
 * from the place of the page before on, and end where they have their groups.
 *
 * Threads: a page belongs to its request. Start reading at run_grouped(). */
#include "query/group.h"
#include "query/run.h"
#include "query/sorter.h"

/* So many pages look at all rows before the next ones are read in order: that pays where there are many. */
enum { PAGES_BY_SCAN = 4 };

static bool is_by_key(const struct query *query)
{
    return query->order_count == 0 && !query->is_distinct;
}

/* ---- distinct rows ---------------------------------------------------------------------------------- */

/* The columns of the output one by one, so that an index over the first can help; otherwise the output as a whole. */
static status group_output(struct run *run, struct query *query)
{
    const struct expression *output = query->output;
    bool is_split = output->kind == EXPRESSION_OBJECT && output->count > 0 &&
                    output->count <= LIMIT_QUERY_GROUPS;
    const struct expression **parts;

    query->group_count = is_split ? output->count : 1;
    TRY(ARENA_NEW(run->arena, query->group_count, &parts));
    for (size_t i = 0; i < query->group_count; i++)
        parts[i] = is_split ? output->args[i] : output;
    query->groups = parts;
    return expression_regroup(run->arena, output, parts, query->group_count, &query->output);
}

status run_group_distinct(struct run *run)
{
    const struct query *query = run->query;
    struct query *grouped;

    if (!query->is_distinct || !query->has_source || query->order_count || query->aggregate_count ||
        query->group_count)
        return STATUS_OK;
    TRY(ARENA_NEW(run->arena, 1, &grouped));
    *grouped = *query;
    grouped->is_distinct = false;
    run->query = grouped;
    return group_output(run, grouped);
}

/* ---- all rows ----------------------------------------------------------------------------------------- */

static status add_alone(struct run *run, struct groups *groups)
{
    bool is_wanted = true;

    if (run->query->where)
        TRY(evaluate_condition(&run->evaluation, run->query->where, &is_wanted));
    return is_wanted ? groups_add(groups, &run->evaluation) : STATUS_OK;
}

static status collect(struct run *run, struct groups *groups)
{
    if (!run->query->has_source)
        return add_alone(run, groups);
    for (;;) {
        bool has_row, is_wanted;
        TRY(run_next_row(run, &has_row, &is_wanted));
        if (!has_row)
            return STATUS_OK;
        if (is_wanted)
            TRY(groups_add(groups, &run->evaluation));
        if (groups->is_settled)
            return STATUS_OK;
    }
}

/* Makes a group the row, with nothing else bound. */
static status bind_group(struct run *run, const struct groups *groups, size_t number)
{
    arena_reset(run->scratch);
    evaluation_bind(&run->evaluation, NULL);
    return groups_bind(groups, number, &run->evaluation);
}

/* `*is_wanted_out`: it gives a row. */
static status place_group(struct run *run, const struct groups *groups, size_t number,
                          struct sort_entry *out, bool *is_wanted_out)
{
    *out = (struct sort_entry){ .key = groups->items[number].key };
    *is_wanted_out = true;
    TRY(bind_group(run, groups, number));
    return is_by_key(run->query) ? STATUS_OK : run_order_key(run, &out->order_key, is_wanted_out);
}

static status put_in_order(struct run *run, const struct groups *groups, struct sorter *sorter)
{
    for (size_t i = 0; i < groups_count(groups); i++) {
        struct sort_entry entry;
        bool has_output;
        TRY(place_group(run, groups, i, &entry, &has_output));
        if (has_output)
            TRY(sorter_add(sorter, entry));
    }
    return sorter_finish(sorter);
}

static status note_groups(struct run *run, const struct sorter *sorter, void *context,
                          struct place_maker *maker)
{
    const struct groups *groups = context;

    for (size_t i = 0; i < groups_count(groups); i++) {
        struct sort_entry entry;
        bool has_output;
        TRY(place_group(run, groups, i, &entry, &has_output));
        struct place_key place = sorter_place(sorter, &entry);
        place_note(maker, &place);
    }
    return STATUS_OK;
}

/* In the order of keys nothing else has to be known but how many pages there were; so many bytes, in the end. */
static bytes count_page(const struct run *run)
{
    static const uint8_t pages[PAGES_BY_SCAN] = { 0 };
    size_t count = run->state.pages.len;

    return bytes_of(pages, count < PAGES_BY_SCAN ? count + 1 : count);
}

static status give(struct run *run, struct groups *groups, const struct sorter *sorter)
{
    bool has_dropped = sorter->has_dropped || groups->has_dropped;
    size_t at = 0;

    for (; at < sorter->count && !run_is_full(run) && run->state.remaining; at++) {
        size_t number;
        if (!set_find(&groups->numbers, sorter->entries[at].key, &number))
            continue;
        TRY(bind_group(run, groups, number));
        TRY(run_give(run));
    }
    run->is_finished = run->state.remaining == 0 || (at == sorter->count && !has_dropped);
    if (run->is_finished || at == 0)
        return STATUS_OK;
    if (!is_by_key(run->query))
        return run_stand_behind(run, sorter, at - 1, note_groups, groups);
    run->state.pages = count_page(run);
    return arena_copy(run->arena, sorter->entries[at - 1].key, &run->state.position);
}

/* ---- in order -------------------------------------------------------------------------------------- */

/* What lies before the value was given on pages before. Kinds have an order of their own in an index, so only
 * the range that holds the value can be compared with it. */
static status cut_ranges(struct run *run, bytes value, struct plan *plan, bool *is_found_out)
{
    struct range *ranges;
    size_t at = 0;

    while (at < plan->range_count && (plan->ranges[at].kind == KIND_MISSING ||
                                      bytes_compare(plan->ranges[at].start, value) > 0 ||
                                      bytes_compare(plan->ranges[at].end, value) <= 0))
        at++;
    plan->range_count -= at;
    *is_found_out = plan->range_count > 0;
    if (!*is_found_out)
        return STATUS_OK;
    TRY(ARENA_NEW(run->arena, plan->range_count, &ranges));
    memcpy(ranges, plan->ranges + at, plan->range_count * sizeof(*ranges));
    ranges[0].start = value;
    plan->ranges = ranges;
    return STATUS_OK;
}

/* Reads the rows in the order of the first value, from that of the last group given on, if an index has it. */
static status take_order(struct run *run, struct groups *groups)
{
    const struct query_order order = { .by = run->query->groups[0] };
    bytes value = groups_first_scalar(run->query, run->state.position);
    struct query ordered = *run->query;
    struct plan plan;
    bool is_found;

    if (run->state.pages.len < PAGES_BY_SCAN || value.len == 0 || !run->source->collection)
        return STATUS_OK;
    ordered.orders = &order;
    ordered.order_count = 1;
    TRY(plan_make(run->arena, &ordered, run->source, NULL, &plan));
    if (plan.choice.access != ACCESS_INDEX || plan.choice.constraint != PLAN_BY_ORDER ||
        plan.is_ranked)
        return STATUS_OK;
    TRY(cut_ranges(run, value, &plan, &is_found));
    if (!is_found)
        return STATUS_OK;
    cursor_close(&run->cursor);
    run->plan = plan;
    groups->is_ordered = true;
    run->page->explain.access = plan.choice.access;
    run->page->explain.index = plan.index;
    run->page->explain.path = plan.path;
    return cursor_open(&run->cursor, &run->plan, run->source, BYTES_NONE, &run->page->explain);
}

static status run_in(struct run *run, struct groups *groups, struct sorter *sorter)
{
    bool is_cut = is_by_key(run->query);
    TRY(groups_open(groups, run->query, is_cut ? run_wanted_rows(run) : 0,
                    is_cut && run->is_resumed ? &run->state.position : NULL));
    if (is_cut && run->is_resumed)
        TRY(take_order(run, groups));
    TRY(collect(run, groups));
    TRY(sorter_open(sorter, run->arena, run_wanted_rows(run), run->query,
                    run->is_resumed ? &run->after : NULL));
    TRY(put_in_order(run, groups, sorter));
    return give(run, groups, sorter);
}

status run_grouped(struct run *run)
{
    struct groups groups = { 0 };
    struct sorter sorter = { 0 };
    status s = run_in(run, &groups, &sorter);

    sorter_close(&sorter);
    groups_close(&groups);
    run->evaluation.groups = NULL;
    run->evaluation.aggregates = NULL;
    return s;
}
