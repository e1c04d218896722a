/* Cursor filter: rows of one index that stand in others, too, found without loading a document.
 *
 * Where an index is asked for one value, its rows lie in the order of the documents' keys. So do those of every other
 * value, and whoever has both is found by walking them side by side: whichever is behind moves on, row by row while
 * the other one is near, and by a jump when it is not.
 *
 * Keeps: a document that a filter turns away does not fulfil the condition; positions do not depend on filters.
 * Threads: belongs to its request. Start reading at filters_pass(). */
#include "query/cursor.h"

/* A jump costs as much as so many steps. */
enum { STEPS_BEFORE_JUMP = 6 };

static int compare_keys(const struct document_key *a, const struct document_key *b)
{
    int order = bytes_compare(a->partition, b->partition);

    return order ? order : bytes_compare(a->id, b->id);
}

static struct scan_spec stretch_of(const struct plan_filter *filter)
{
    return (struct scan_spec){ .index = filter->index,
                               .start = filter->stretch,
                               .end = filter->stretch,
                               .is_end_inclusive = true };
}

/* Moves a scan of a stretch to the first row at or behind the key. */
static status jump(struct cursor *c, struct scan *scan, bytes stretch,
                   const struct document_key *key)
{
    struct arena *arena = c->source->request->arena;
    arena_position mark = arena_mark(arena);
    struct buffer position = buffer_in(arena);
    bytes target;

    buffer_append(&position, stretch);
    buffer_append(&position, key->partition);
    buffer_append(&position, key->id);
    status s = buffer_finish(&position, &target);
    if (s.code == OK)
        s = scan_seek(scan, target);
    arena_release(arena, mark);
    return s;
}

static status step_filter(struct cursor_filter *f)
{
    f->has_row = scan_next(f->scan, &f->row);
    return f->has_row ? STATUS_OK : scan_status(f->scan);
}

static status open_filter(struct cursor *c, struct cursor_filter *f,
                          const struct plan_filter *filter)
{
    struct scan_spec spec = stretch_of(filter);

    TRY(scan_open(c->source->request, c->source->collection, &spec, &f->scan));
    f->has_row = true;
    f->is_open = true;
    return STATUS_OK;
}

/* Moves the filter to the key, or to the first row behind it. */
static status advance(struct cursor *c, struct cursor_filter *f, const struct plan_filter *filter)
{
    bool is_new = !f->is_open;

    if (is_new)
        TRY(open_filter(c, f, filter));
    for (int i = 0; i < STEPS_BEFORE_JUMP && f->has_row && !is_new; i++) {
        if (compare_keys(&f->row.key, &c->row.key) >= 0)
            return STATUS_OK;
        TRY(step_filter(f));
    }
    if (!f->has_row || (!is_new && compare_keys(&f->row.key, &c->row.key) >= 0))
        return STATUS_OK;
    TRY(jump(c, f->scan, filter->stretch, &c->row.key));
    return step_filter(f);
}

/* The row is not in the filter. After some of those the cursor goes where the filter is. */
static status miss(struct cursor *c, const struct cursor_filter *f)
{
    if (!f->has_row || ++c->misses < STEPS_BEFORE_JUMP)
        return STATUS_OK;
    c->misses = 0;
    return jump(c, c->scan, c->row.index_key, &f->row.key);
}

status filters_pass(struct cursor *c, bool *out, bool *is_end_out)
{
    *out = true;
    *is_end_out = false;
    for (size_t i = 0; i < c->plan->filter_count && *out; i++) {
        struct cursor_filter *f = &c->filters[i];
        TRY(advance(c, f, &c->plan->filters[i]));
        c->explain->rows++;
        *is_end_out = !f->has_row;
        *out = f->has_row && compare_keys(&f->row.key, &c->row.key) == 0;
        if (!*out)
            TRY(miss(c, f));
    }
    if (*out)
        c->misses = 0;
    return STATUS_OK;
}

void filters_close(struct cursor *c)
{
    for (size_t i = 0; i < PLAN_FILTERS_MAX; i++) {
        if (c->filters[i].is_open)
            scan_close(c->filters[i].scan);
        c->filters[i].is_open = false;
    }
}
