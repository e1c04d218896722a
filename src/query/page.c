/* Page: runs a query for one page.
 *
 * A plan says where the documents come from, a cursor walks them, bindings make rows of them, the condition
 * picks the rows; then one of four ends: rows are given as they come, or the first of an order are
 * collected and given, or all of them become one row, or one row for each group of them. The state of the page before says where to begin, the state that is left says where
 * to go on.
 *
 * Everything that is computed for a row lives in a scratch arena of its own, because the sink's output
 * usually grows in the arena of the request meanwhile.
 *
 * Keeps: a row is given only if its document fulfils the whole condition under this request's `now`: it is asked,
 * unless the plan says that its rows are exactly those.
 * Threads: a page belongs to its request. Start reading at query_run_page(); sorting is in page_sort.c, summing up in page_sums.c,
 * grouping in page_groups.c, what reads documents as they lie in page_slots.c. */
#include "query/run.h"

/* How many rows a full page looks ahead to find out that it was the last. */
enum { LOOK_AHEAD_ROWS = 64 };
/* Where so many documents in a row were not known, the others will not be either. */
enum { UNKNOWN_MAX = 2 };

int64_t run_time(const struct run *run)
{
    return run->source->is_timed ? clock_stopwatch_ns() : 0;
}

/* ---- beginning -------------------------------------------------------------------------------------- */

/* Everything a position depends on. */
static uint64_t fingerprint(const struct run *run)
{
    uint64_t hash = run->query->fingerprint;

    hash = bytes_hash(run->source->partition, hash);
    return run->source->collection ? hash ^ (uint64_t)run->source->collection->id << 32 : hash;
}

status run_refuse_state(struct run *run, status why)
{
    run->page->is_state_refused = true;
    return why;
}

static status begin_state(struct run *run, bytes state)
{
    run->is_resumed = state.len > 0;
    run->state = (struct page_state){ .fingerprint = fingerprint(run),
                                      .skip = run->query->skip,
                                      .remaining = run->query->limit };
    if (!run->is_resumed)
        return STATUS_OK;
    status s = state_read(run->arena, state, &run->state);
    if (s.code == OK &&
        (run->state.fingerprint != fingerprint(run) || run->state.skip > run->query->skip ||
         run->state.remaining > run->query->limit || !run->query->has_source))
        s = status_of(INVALID, "the state belongs to another query");
    return s.code == OK ? s : run_refuse_state(run, s);
}

static enum page_mode mode_of(const struct run *run)
{
    if (run->query->group_count)
        return MODE_GROUP;
    if (run->query->aggregate_count)
        return MODE_AGGREGATE;
    bool needs_sort = run->query->is_distinct || (run->query->order_count && !run->plan.is_ordered);
    return needs_sort && run->query->has_source ? MODE_SORT : MODE_STREAM;
}

/* Is the position of such a page one in an order, not one of the cursor? */
static bool is_collected(enum page_mode mode)
{
    return mode == MODE_SORT || mode == MODE_GROUP;
}

/* A sorted page may find its documents another way than the page before, because its position is one in
 * the order; the others go on where the cursor stood. */
static status begin_plan(struct run *run)
{
    bool is_sort = run->is_resumed && is_collected(run->state.mode);
    const struct plan_choice *wanted = run->is_resumed && !is_sort ? &run->state.choice : NULL;
    int64_t begun = run_time(run);
    status s = plan_make(run->arena, run->query, run->source, wanted, &run->plan);
    run->page->explain.times.planning += run_time(run) - begun;
    run->page->explain.times.choosing += run->plan.choosing_ns;

    if (s.code == INVALID && run->is_resumed)
        return run_refuse_state(run, s);
    TRY(s);
    run->is_walked_in_order = run->plan.is_ordered && run->query->is_tied_by_age;
    if (is_sort || run->is_walked_in_order)
        run->plan.is_ordered = false;
    if (run->is_resumed && run->state.mode != mode_of(run))
        return run_refuse_state(run, status_of(INVALID, "the state is not one of such a query"));
    run->state.mode = mode_of(run);
    if (!run->is_walked_in_order)
        TRY(run_take_slots(run));
    run->state.choice = run->plan.choice;
    run->page->explain.access = run->plan.choice.access;
    run->page->explain.index = run->plan.index;
    run->page->explain.path = run->plan.path;
    run->page->explain.is_decided = run->plan.is_decided;
    run->page->explain.filter_count = run->plan.filter_count;
    for (size_t i = 0; i < run->plan.filter_count; i++)
        run->page->explain.filters[i] = run->plan.filters[i].path;
    run->page->explain.is_sorted = is_collected(run->state.mode);
    return run_open_cursor(run);
}

/* Does a row need its document for nothing but to be given as a whole, to somebody who may know it? */
static bool may_stay_unread(const struct run *run)
{
    const struct expression *output = run->query->output;
    const enum query_access access = run->plan.choice.access;

    return run->source->known_sink && run->source->whole_sink && run->state.mode == MODE_STREAM &&
           (access == ACCESS_INDEX || access == ACCESS_KEYS) &&
           (!run->query->where || run->plan.is_decided) && run->query->binding_count == 0 &&
           output->kind == EXPRESSION_VARIABLE && output->number == 0 && run->plan.needs_document &&
           !run->source->request->transaction;
}

/* How many documents the page will ask the cursor for, if there are as many; 0 if that is not known. */
static size_t wanted_documents(const struct run *run)
{
    const uint64_t remaining = run->state.remaining, skip = run->state.skip;
    size_t most = run->limits->items;

    if (run->state.mode != MODE_STREAM || !run->plan.needs_document || run->plan.filter_count ||
        run->query->binding_count)
        return 0;
    if (remaining != QUERY_UNLIMITED && remaining < most && skip < most - remaining)
        most = (size_t)(remaining + skip);
    return most;
}

/* ---- rows ------------------------------------------------------------------------------------------- */

bool run_is_worn_out(const struct run *run)
{
    const struct query_explain *done = &run->page->explain;
    uint64_t rows = run->limits->rows ? run->limits->rows : LIMIT_QUERY_PAGE_ROWS;
    uint64_t loaded = run->limits->loaded_bytes ? run->limits->loaded_bytes
                                                : LIMIT_QUERY_PAGE_LOADED_BYTES;

    return done->rows - run->rows_before + done->joined >= rows ||
           done->loaded_bytes - run->loaded_before >= loaded || run->evaluation.is_late;
}

void run_bind(struct run *run, const struct document *document)
{
    arena_reset(run->scratch);
    evaluation_bind(&run->evaluation, document);
    rows_begin(&run->rows, run->query, &run->evaluation);
}

/* Takes the next document; its rows begin. */
static status next_document(struct run *run, bool *has_out)
{
    struct query_times *times = &run->page->explain.times;
    int64_t begun = run_time(run);

    run->is_returning = false;
    TRY(cursor_next(&run->cursor, has_out));
    int64_t found = run_time(run);
    times->lookup += found - begun;
    if (!*has_out)
        return STATUS_OK;
    run->is_unread = run->may_stay_unread && run->unknown < UNKNOWN_MAX && run->state.skip == 0;
    const bool is_needed = run->plan.needs_document && !run->is_unread;
    if (is_needed)
        TRY(cursor_load(&run->cursor));
    times->loading += run_time(run) - found;
    run_bind(run, is_needed ? &run->cursor.document : NULL);
    return STATUS_OK;
}

status run_next_row(struct run *run, bool *has_out, bool *is_wanted_out)
{
    *has_out = true;
    *is_wanted_out = false;
    if (!run->rows.is_open)
        TRY(next_document(run, has_out));
    if (!*has_out)
        return STATUS_OK;
    TRY(rows_next(&run->rows, is_wanted_out));
    /* A document that was come back to was not found by the index. */
    if (*is_wanted_out && run->query->where && (!run->plan.is_decided || run->is_returning))
        TRY(evaluate_condition(&run->evaluation, run->query->where, is_wanted_out));
    run->page->explain.joined = run->evaluation.steps;
    run->page->explain.matches += *is_wanted_out;
    return STATUS_OK;
}

status run_stand_here(struct run *run)
{
    struct buffer row = buffer_in(run->arena);

    if (!run->is_returning)
        TRY(cursor_position(&run->cursor, run->arena, &run->state.position));
    run->state.row = BYTES_NONE;
    if (!run->rows.is_open)
        return STATUS_OK;
    rows_append_place(&run->rows, false, &row);
    return buffer_finish(&row, &run->state.row);
}

status run_return_to_row(struct run *run)
{
    bool is_there = false, is_same;

    if (run->state.row.len == 0)
        return STATUS_OK;
    if (run->state.position.len == 0)
        return run_refuse_state(run, status_of(INVALID, "a row without a document"));
    bytes key = cursor_position_key(&run->cursor, run->state.position);
    if (bytes_starts_with(key, run->plan.partition))
        TRY(cursor_fetch(&run->cursor, key, &is_there));
    if (!is_there)
        return STATUS_OK;
    run_bind(run, &run->cursor.document);
    run->is_returning = true;
    status s = rows_seek(&run->rows, run->state.row, false, &is_same);
    return s.code == INVALID ? run_refuse_state(run, s) : s;
}

/* Is the row the document itself, for somebody who knows what to do with it? */
static bool is_whole_document(const struct run *run)
{
    const struct expression *output = run->query->output;

    return run->source->whole_sink && run->evaluation.document &&
           output->kind == EXPRESSION_VARIABLE && output->number == 0;
}

/* What has been given counts. */
static void count_output(struct run *run, size_t len, int64_t begun)
{
    struct query_explain *explain = &run->page->explain;

    explain->times.output += run_time(run) - begun;
    if (run->state.remaining != QUERY_UNLIMITED)
        run->state.remaining--;
    explain->output_count++;
    explain->output_bytes += len;
}

/* Gives a row that was not read, or reads it. */
static status give_unread(struct run *run, bool *is_given_out)
{
    int64_t begun = run_time(run);
    size_t len;

    run->is_unread = false;
    *is_given_out = run->source->known_sink(run->context, &run->cursor.row, &len);
    run->unknown = *is_given_out ? 0 : run->unknown + 1;
    if (*is_given_out) {
        cursor_count_known(&run->cursor);
        count_output(run, len, begun);
        return STATUS_OK;
    }
    TRY(cursor_load(&run->cursor));
    run->page->explain.times.loading += run_time(run) - begun;
    evaluation_bind(&run->evaluation, &run->cursor.document);
    return STATUS_OK;
}

static status give_read(struct run *run)
{
    const bool is_whole = is_whole_document(run);
    struct value row = { .type = VALUE_DOCUMENT };
    size_t len = 0;

    if (!is_whole)
        TRY(evaluate(&run->evaluation, run->query->output, &row));
    if (value_kind_of(row) == KIND_MISSING)
        return STATUS_OK;
    if (run->state.skip) {
        run->state.skip--;
        return STATUS_OK;
    }
    if (run->state.remaining == 0)
        return STATUS_OK;
    int64_t begun = run_time(run);
    if (is_whole)
        TRY(run->source->whole_sink(run->context, run->evaluation.document, &len));
    else
        TRY(run->sink(run->context, row, &len));
    count_output(run, len, begun);
    return STATUS_OK;
}

status run_give(struct run *run)
{
    bool is_given = false;

    if (run->is_unread)
        TRY(give_unread(run, &is_given));
    return is_given ? STATUS_OK : give_read(run);
}

bool run_is_full(const struct run *run)
{
    const struct query_explain *done = &run->page->explain;

    return done->output_count >= run->limits->items ||
           (run->limits->output_bytes && done->output_bytes >= run->limits->output_bytes);
}

/* ---- rows as they come ------------------------------------------------------------------------------ */

/* A page that is full is also the last one if nothing more matches nearby. */
static status look_ahead(struct run *run)
{
    for (int i = 0; i < LOOK_AHEAD_ROWS; i++) {
        bool has_row, is_wanted;
        TRY(run_next_row(run, &has_row, &is_wanted));
        run->is_finished = !has_row;
        if (!has_row || is_wanted)
            return STATUS_OK;
    }
    return STATUS_OK;
}

static status run_stream(struct run *run)
{
    bool is_done;

    TRY(run_filtered(run, &is_done));
    if (!is_done)
        TRY(run_return_to_row(run));
    while (!is_done) {
        bool has_row, is_wanted;
        if (run->state.remaining == 0) {
            run->is_finished = true;
            return STATUS_OK;
        }
        if (run_is_full(run))
            return look_ahead(run);
        if (run_is_worn_out(run))
            return STATUS_OK;
        TRY(run_next_row(run, &has_row, &is_wanted));
        if (!has_row) {
            run->is_finished = true;
            return STATUS_OK;
        }
        if (is_wanted)
            TRY(run_give(run));
        if (run_is_full(run) || run_is_worn_out(run))
            TRY(run_stand_here(run));
    }
    return STATUS_OK;
}

/* ---- without a source: one row, with nothing bound -------------------------------------------------- */

static status run_alone(struct run *run)
{
    struct sums sums;
    bool is_wanted = true;

    run->is_finished = true;
    if (run->query->where)
        TRY(evaluate_condition(&run->evaluation, run->query->where, &is_wanted));
    if (!run->query->aggregate_count)
        return is_wanted ? run_give(run) : STATUS_OK;
    TRY(sums_open(&sums, run->arena, run->query, BYTES_NONE));
    if (is_wanted)
        TRY(sums_add(&sums, &run->evaluation));
    return run_give_sums(run, &sums);
}

/* ---- the page --------------------------------------------------------------------------------------- */

static status run_mode(struct run *run)
{
    if (!run->query->has_source && run->state.mode != MODE_GROUP)
        return run_alone(run);
    switch (run->state.mode) {
    case MODE_STREAM:
        return run_stream(run);
    case MODE_SORT:
        return run_sorted(run);
    case MODE_AGGREGATE:
        return run_aggregate(run);
    case MODE_GROUP:
        return run_grouped(run);
    }
    return STATUS_OK;
}

static status run_page(struct run *run, bytes state)
{
    TRY(run_group_distinct(run));
    TRY(begin_state(run, state));
    TRY(begin_plan(run));
    TRY(evaluation_open(&run->evaluation, run->query, run->arena));
    run->may_stay_unread = may_stay_unread(run);
    run->cursor.wanted = wanted_documents(run);
    run->cursor.may_know = run->may_stay_unread;
    TRY(run_sift(run));
    status s = run_mode(run);
    if (s.code == OK && !run->is_finished)
        s = run_leave_state(run);
    cursor_close(&run->cursor);
    return s;
}

status query_run_page(const struct query *query, const struct query_source *source,
                      const struct query_limits *limits, bytes state, query_sink *sink,
                      void *context, struct query_page *out)
{
    struct run run = { .query = query,
                       .source = source,
                       .limits = limits,
                       .sink = sink,
                       .context = context,
                       .page = out,
                       .arena = source->request ? source->request->arena : source->arena };

    struct keep keep = { .arena = run.arena, .shape_pairs = LIMIT_QUERY_PAGE_SHAPE_PAIRS };

    ASSERT(limits->items > 0);
    *out = (struct query_page){ 0 };
    if (query->inner)
        return run_inner(&run, state);
    run.scratch = arena_open(LIMIT_QUERY_ROW_BYTES);
    if (!run.scratch)
        return status_of(OUT_OF_MEMORY, "there is no memory for the rows of a query");
    run.evaluation = (struct evaluation){ .arena = run.scratch,
                                          .lasting = run.scratch,
                                          .rules = query->rules,
                                          .decoration = source->decoration,
                                          .meaning = source->meaning,
                                          .keep = &keep,
                                          .limits = limits,
                                          .now = source->request ? source->request->now
                                                                 : source->now };
    int64_t begun = run_time(&run);
    status s = run_page(&run, state);
    out->explain.times.all = run_time(&run) - begun;
    /* The message of a failure may live in the scratch arena. */
    if (s.code != OK)
        s = status_fail(run.arena, s.code, "%s", s.message);
    evaluation_close(&run.evaluation);
    arena_close(run.scratch);
    return s;
}

status query_matches(const struct query *query, struct arena *arena,
                     const struct query_decoration *decoration, const struct document *document,
                     time_ms now, bool *out)
{
    arena_position mark = arena_mark(arena);
    struct evaluation evaluation = { .arena = arena,
                                     .lasting = arena,
                                     .rules = query->rules,
                                     .decoration = decoration,
                                     .now = now };

    *out = true;
    status s = evaluation_open(&evaluation, query, arena);
    evaluation_bind(&evaluation, document);
    if (s.code == OK && query->where)
        s = evaluate_condition(&evaluation, query->where, out);
    evaluation_close(&evaluation);
    if (s.code == OK)
        arena_release(arena, mark);
    return s;
}

enum query_distinct query_distinct_kind(const struct query *query)
{
    const struct expression *output = query->output;

    if (!query->is_distinct)
        return DISTINCT_NONE;
    if (output->kind == EXPRESSION_OBJECT && output->count == 1)
        output = output->args[0];
    return query->order_count == 1 && expression_equal(query->orders[0].by, output)
               ? DISTINCT_ORDERED
               : DISTINCT_UNORDERED;
}
