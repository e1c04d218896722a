/* Page slots: pages that look at all documents, or at many, in the order in which they lie, where loading them is
 * several times faster than by key.
 *
 * There is no going on in that order, since documents move in it when they are written. Sorting has a position of
 * its own. Sums must be done by the end of the page. Rows of a filter are collected and then given in the order of
 * their keys, so that the next page can go on behind the last one whichever way it takes; that pays while there are
 * few of them, and is given up for the way by key as soon as it shows that there are many.
 *
 * Threads: a page belongs to its request. Start reading at run_take_slots() and run_filtered(). */
#include "query/run.h"
#include "query/sorter.h"

enum {
    /* So many documents in the order in which they lie are as much work as one by key. */
    SLOTS_PER_KEY = 8,
    /* An index that leads to no more rows is taken as it is. */
    FEW_ROWS = 128,
    /* A filter over no more documents is not worth two looks. */
    FEW_DOCUMENTS = 1000,
    /* From so many matches on, the rest is guessed from those so far. */
    MATCHES_TO_GUESS = 32,
};

/* Is so much work within a page, which may allow less than usual? */
static bool is_within(uint64_t amount, uint64_t limit, uint64_t usual)
{
    return amount <= (limit ? limit * SLOTS_PER_KEY : usual);
}

static bool is_page_enough(const struct run *run, const struct collection_size *size)
{
    return is_within(size->documents, run->limits->rows, LIMIT_QUERY_PAGE_SLOTS) &&
           is_within(size->bytes, run->limits->loaded_bytes, LIMIT_QUERY_PAGE_SLOT_BYTES);
}

static void take(struct plan *plan)
{
    plan->choice = (struct plan_choice){ .access = ACCESS_SLOTS };
    plan->index = NULL;
    plan->path = BYTES_NONE;
    plan->is_decided = false;
}

/* ---- sorting and summing up -------------------------------------------------------------------------- */

/* Does the index lead to so many of the documents that looking at all of them is less work? */
static status is_broad(struct run *run, uint64_t documents, bool *out)
{
    uint64_t few = documents / SLOTS_PER_KEY > FEW_ROWS ? documents / SLOTS_PER_KEY : FEW_ROWS;
    struct query_explain ignored = { 0 };
    struct cursor probe;
    bool has_row = true;

    *out = false;
    TRY(cursor_open(&probe, &run->plan, run->source, BYTES_NONE, &ignored));
    status s = STATUS_OK;
    while (s.code == OK && has_row && ignored.rows <= few)
        s = cursor_next(&probe, &has_row);
    cursor_close(&probe);
    *out = has_row;
    return s;
}

status run_take_slots(struct run *run)
{
    bool is_index = run->plan.choice.access == ACCESS_INDEX, is_wanted = true;
    struct collection_size size;

    if ((run->plan.choice.access != ACCESS_KEYS && !is_index) || run->plan.partition.len ||
        !run->plan.needs_document || run->state.mode == MODE_STREAM)
        return STATUS_OK;
    size = collection_size(run->source->request, run->source->collection);
    if (run->state.mode == MODE_AGGREGATE)
        is_wanted = !run->is_resumed && is_page_enough(run, &size);
    if (is_wanted && is_index)
        TRY(is_broad(run, size.documents, &is_wanted));
    if (is_wanted)
        take(&run->plan);
    return STATUS_OK;
}

/* ---- filters ----------------------------------------------------------------------------------------- */

struct filter {
    struct run *run;
    uint64_t documents;   /* that there are */
    size_t wanted;        /* rows that fill the page */
    uint64_t rows_before; /* looked at before the documents were */
    uint64_t matches;
    struct sorter found;
};

static bool is_filter(const struct run *run)
{
    return run->plan.choice.access == ACCESS_KEYS && run->plan.needs_document &&
           !run->plan.is_decided && run->plan.partition.len == 0 && run->query->binding_count == 0;
}

/* Would the way by key fill the page with less work than it takes to see all documents? */
static bool has_many(const struct filter *f)
{
    if (f->matches < MATCHES_TO_GUESS)
        return false;
    return f->matches * f->documents / (f->run->page->explain.rows - f->rows_before) >
           (uint64_t)f->wanted * SLOTS_PER_KEY;
}

/* Looks at every document; stops early if there are many matches. */
static status find(struct filter *f, bool *is_done_out)
{
    struct run *run = f->run;

    *is_done_out = false;
    while (!has_many(f)) {
        struct sort_entry entry = { 0 };
        bool has_row, is_wanted;
        TRY(run_next_row(run, &has_row, &is_wanted));
        *is_done_out = !has_row;
        if (!has_row)
            return sorter_finish(&f->found);
        if (!is_wanted)
            continue;
        struct buffer key = buffer_in(run->scratch);
        cursor_append_key(&run->cursor, &key);
        TRY(buffer_finish(&key, &entry.key));
        f->matches += place_compare(&run->after, &(struct place_key){ .first = entry.key }, NULL) >
                      0;
        TRY(sorter_add(&f->found, entry));
    }
    return STATUS_OK;
}

/* The page before has ended at a key, and so does this one. */
static status give_found(struct filter *f)
{
    struct run *run = f->run;
    size_t at = 0;

    for (; at < f->found.count && !run_is_full(run) && run->state.remaining; at++)
        TRY(run_give_entry(run, &f->found, at));
    run->is_finished = run->state.remaining == 0 || (at == f->found.count && !f->found.has_dropped);
    if (run->is_finished || at == 0)
        return STATUS_OK;
    return arena_copy(run->arena, f->found.entries[at - 1].key, &run->state.position);
}

/* The cursor by key was not moved yet and comes back if the filter gives up. */
static status filter(struct filter *f, bool *is_done_out)
{
    struct run *run = f->run;
    const struct plan by_key = run->plan;
    const struct cursor at_key = run->cursor;
    struct query_explain *explain = &run->page->explain;

    take(&run->plan);
    f->rows_before = explain->rows;
    TRY(cursor_open(&run->cursor, &run->plan, run->source, BYTES_NONE, explain));
    TRY(run_sift(run));
    TRY(find(f, is_done_out));
    if (*is_done_out) {
        explain->access = ACCESS_SLOTS;
        return give_found(f);
    }
    cursor_close(&run->cursor);
    run->plan = by_key;
    run->cursor = at_key;
    run->rows_before = explain->rows;
    run->loaded_before = explain->loaded_bytes;
    return STATUS_OK;
}

status run_filtered(struct run *run, bool *is_done_out)
{
    struct filter f = { .run = run, .wanted = run_wanted_rows(run) };

    *is_done_out = false;
    if (!is_filter(run))
        return STATUS_OK;
    const struct collection_size size = collection_size(run->source->request,
                                                        run->source->collection);
    f.documents = size.documents;
    if (f.documents < FEW_DOCUMENTS || !is_page_enough(run, &size))
        return STATUS_OK;
    status s = sorter_open(&f.found, run->arena, f.wanted, run->query,
                           run->state.position.len ? &run->after : NULL);
    if (s.code == OK)
        s = filter(&f, is_done_out);
    sorter_close(&f.found);
    return s;
}
