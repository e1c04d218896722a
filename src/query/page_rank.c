/* Page rank: rows by how well they fit a search.
 *
 * Scores of words need counts of all texts: they are made by a look at all documents, before the first page,
 * and go with the state from then on.
 *
 * Scores of several searches are fused by their ranks: each search puts the rows in order, and a row gets the
 * sum of weight / (60 + its rank) over all searches, rows with equal scores having equal ranks. Each search
 * names its best rows, several times as many as are asked for, and these are ranked among each other. A rank
 * depends on what else is there, so it would not mean the same on a later page: therefore all rows that are
 * asked for come on one page.
 *
 * Threads: a page belongs to its request. Start reading at run_rank() and run_fused(). */
#include "query/run.h"
#include "query/sorter.h"

#include <math.h>
#include <stdlib.h>

#include "query/rank.h"

enum {
    RANK_CONSTANT = 60,
    /* So many times the rows that are asked for are ranked, and never less than LEAST_CANDIDATES. */
    CANDIDATES_PER_ROW = 10,
    LEAST_CANDIDATES = 1000,
    /* What counts may take of the state; if they are more, they are made again for every page. */
    COUNTS_BYTES = 450,
};

/* ---- counts ----------------------------------------------------------------------------------------- */

static status count_documents(struct run *run, const struct plan *plan, struct rank *rank)
{
    struct cursor cursor;
    bool has_row = true;
    status s = cursor_open(&cursor, plan, run->source, BYTES_NONE, &run->page->explain);

    while (s.code == OK) {
        s = cursor_next(&cursor, &has_row);
        if (s.code != OK || !has_row)
            break;
        s = cursor_load(&cursor);
        if (s.code != OK)
            break;
        arena_reset(run->scratch);
        evaluation_bind(&run->evaluation, &cursor.document);
        s = rank_add(rank, &run->evaluation);
    }
    evaluation_bind(&run->evaluation, NULL);
    cursor_close(&cursor);
    return s;
}

/* All documents of the source, whatever the condition. */
static status count_all(struct run *run, struct rank *rank)
{
    struct query all = { .rules = run->query->rules, .has_source = true, .limit = QUERY_UNLIMITED };
    struct plan plan;

    TRY(expression_variable(run->arena, 0, &all.output));
    TRY(plan_make(run->arena, &all, run->source, NULL, &plan));
    if (plan.choice.access == ACCESS_KEYS && plan.partition.len == 0)
        plan.choice.access = ACCESS_SLOTS;
    return count_documents(run, &plan, rank);
}

status run_rank(struct run *run)
{
    struct rank *rank;

    if (!run->query->rank || run->query->rank->search_count == 0)
        return STATUS_OK;
    TRY(rank_open(run->arena, run->query->rank, &rank));
    run->evaluation.ranks = rank;
    if (!run->is_resumed || run->state.sums.len == 0) {
        TRY(count_all(run, rank));
        TRY(rank_write(rank, run->arena, &run->state.sums));
        if (run->state.sums.len > COUNTS_BYTES)
            run->state.sums = BYTES_NONE;
        return STATUS_OK;
    }
    status s = rank_read(rank, run->state.sums);
    return s.code == INVALID ? run_refuse_state(run, s) : s;
}

/* ---- candidates ------------------------------------------------------------------------------------- */

struct candidate {
    bytes key;
    double scores[LIMIT_QUERY_SCORES]; /* NAN: none */
    double fused;
};

struct fusion {
    struct run *run;
    const struct query_rank *rank;
    struct sorter best[LIMIT_QUERY_SCORES]; /* the best rows of each search */
    size_t open_count;
    struct candidate *candidates;
    size_t count;
};

static status scores_of(struct fusion *f, double *scores)
{
    struct value value;

    for (size_t i = 0; i < f->rank->part_count; i++) {
        TRY(evaluate(&f->run->evaluation, f->rank->parts[i].by, &value));
        scores[i] = value_is_number(value) ? value_as_double(value) : NAN;
    }
    return STATUS_OK;
}

/* The order key ends with all scores, so that a row that was kept need not be looked at again for them. */
static status add_row(struct fusion *f)
{
    struct run *run = f->run;
    struct sort_entry entry;
    struct buffer key = buffer_in(run->scratch);
    struct value value;
    double scores[LIMIT_QUERY_SCORES] = { 0 };

    TRY(scores_of(f, scores));
    cursor_append_key(&run->cursor, &key);
    rows_append_place(&run->rows, false, &key);
    TRY(buffer_finish(&key, &entry.key));
    for (size_t i = 0; i < f->rank->part_count; i++) {
        struct buffer order = buffer_in(run->scratch);
        if (isnan(scores[i]))
            value = value_missing();
        else
            TRY(value_of_double(run->scratch, scores[i], &value));
        sorter_append_value(&order, run->query->rules, value, true, LIMIT_QUERY_SORT_KEY_BYTES);
        buffer_append(&order, bytes_of(scores, f->rank->part_count * sizeof(scores[0])));
        TRY(buffer_finish(&order, &entry.order_key));
        TRY(sorter_add(&f->best[i], entry));
    }
    return STATUS_OK;
}

static status collect(struct fusion *f)
{
    bool has_row = true, is_wanted;

    while (has_row) {
        TRY(run_next_row(f->run, &has_row, &is_wanted));
        if (has_row && is_wanted)
            TRY(add_row(f));
    }
    for (size_t i = 0; i < f->rank->part_count; i++)
        TRY(sorter_finish(&f->best[i]));
    return STATUS_OK;
}

static int compare_keys(const void *a, const void *b)
{
    return bytes_compare(((const struct candidate *)a)->key, ((const struct candidate *)b)->key);
}

/* Those that any search has named, each once. */
static status take_candidates(struct fusion *f)
{
    size_t room = 0, kept = 0, len = f->rank->part_count * sizeof(double);

    for (size_t i = 0; i < f->rank->part_count; i++)
        room += f->best[i].count;
    TRY(ARENA_NEW(f->run->arena, room, &f->candidates));
    for (size_t i = 0; i < f->rank->part_count; i++) {
        for (size_t j = 0; j < f->best[i].count; j++) {
            const struct sort_entry *entry = &f->best[i].entries[j];
            struct candidate *candidate = &f->candidates[f->count++];
            *candidate = (struct candidate){ .key = entry->key };
            memcpy(candidate->scores, entry->order_key.data + entry->order_key.len - len, len);
        }
    }
    qsort(f->candidates, f->count, sizeof(f->candidates[0]), compare_keys);
    for (size_t i = 0; i < f->count; i++) {
        if (kept == 0 || compare_keys(&f->candidates[kept - 1], &f->candidates[i]) != 0)
            f->candidates[kept++] = f->candidates[i];
    }
    f->count = kept;
    return STATUS_OK;
}

/* ---- ranks ------------------------------------------------------------------------------------------ */

struct standing {
    double score;
    size_t candidate;
};

/* Greater scores first, those without one last. */
static int compare_standings(const void *a, const void *b)
{
    double one = ((const struct standing *)a)->score, other = ((const struct standing *)b)->score;

    if (isnan(one) || isnan(other))
        return isnan(one) - isnan(other);
    return (one < other) - (one > other);
}

static status add_ranks(struct fusion *f, size_t part)
{
    struct standing *standings;
    size_t rank = 1;

    TRY(ARENA_NEW(f->run->arena, f->count, &standings));
    for (size_t i = 0; i < f->count; i++)
        standings[i] = (struct standing){ f->candidates[i].scores[part], i };
    qsort(standings, f->count, sizeof(standings[0]), compare_standings);
    for (size_t i = 0; i < f->count; i++) {
        rank += i > 0 && compare_standings(&standings[i - 1], &standings[i]) != 0;
        f->candidates[standings[i].candidate].fused += f->rank->parts[part].weight /
                                                       (double)(RANK_CONSTANT + rank);
    }
    return STATUS_OK;
}

static int compare_fused(const void *a, const void *b)
{
    double one = ((const struct candidate *)a)->fused, other = ((const struct candidate *)b)->fused;

    return one != other ? (one < other) - (one > other) : compare_keys(a, b);
}

/* ---- giving ----------------------------------------------------------------------------------------- */

static status check_amount(const struct fusion *f)
{
    uint64_t rows = f->count > f->run->state.skip ? f->count - f->run->state.skip : 0;

    if (f->run->state.remaining < rows)
        rows = f->run->state.remaining;
    if (rows <= LIMIT_QUERY_FUSED_ROWS)
        return STATUS_OK;
    return status_fail(f->run->arena, TOO_LARGE,
                       "the rows of ORDER BY RANK RRF come on one page, which has at most %d; say "
                       "with TOP or OFFSET LIMIT how many are wanted",
                       LIMIT_QUERY_FUSED_ROWS);
}

static status give_all(struct fusion *f)
{
    const struct query_limits *limits = f->run->limits;
    struct sorter in_order = { .count = f->count };

    TRY(check_amount(f));
    TRY(ARENA_NEW(f->run->arena, f->count, &in_order.entries));
    for (size_t i = 0; i < f->count; i++)
        in_order.entries[i] = (struct sort_entry){ .key = f->candidates[i].key };
    for (size_t i = 0; i < f->count && f->run->state.remaining; i++) {
        if (limits->output_bytes && f->run->page->explain.output_bytes >= limits->output_bytes)
            return status_fail(f->run->arena, TOO_LARGE,
                               "the rows of ORDER BY RANK RRF come on one page, which has at most "
                               "%zu bytes; ask for fewer rows or fewer fields",
                               limits->output_bytes);
        TRY(run_give_entry(f->run, &in_order, i));
    }
    f->run->is_finished = true;
    return STATUS_OK;
}

/* How many of the best rows of each search are ranked. */
static size_t wanted_candidates(const struct run *run)
{
    uint64_t most = LIMIT_QUERY_SORT_ROWS / CANDIDATES_PER_ROW;
    uint64_t rows = run->state.skip < most ? run->state.skip : most;

    rows += run->state.remaining < most ? run->state.remaining : most;
    rows *= CANDIDATES_PER_ROW;
    return (size_t)(rows < LEAST_CANDIDATES        ? LEAST_CANDIDATES
                    : rows > LIMIT_QUERY_SORT_ROWS ? LIMIT_QUERY_SORT_ROWS
                                                   : rows);
}

static status fuse(struct fusion *f)
{
    struct query plain = { .rules = f->run->query->rules };

    for (; f->open_count < f->rank->part_count; f->open_count++)
        TRY(sorter_open(&f->best[f->open_count], f->run->arena, wanted_candidates(f->run), &plain,
                        NULL));
    TRY(collect(f));
    TRY(take_candidates(f));
    for (size_t i = 0; i < f->rank->part_count; i++)
        TRY(add_ranks(f, i));
    qsort(f->candidates, f->count, sizeof(f->candidates[0]), compare_fused);
    return give_all(f);
}

status run_fused(struct run *run)
{
    struct fusion f = { .run = run, .rank = run->query->rank };
    status s = fuse(&f);

    /* One that failed to open has what it could get. */
    for (size_t i = 0; i < f.rank->part_count && i <= f.open_count; i++)
        sorter_close(&f.best[i]);
    return s;
}
