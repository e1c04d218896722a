/* Page distinct: distinct rows in an order by something that the rows do not show.
 *
 * SELECT DISTINCT c.kind ... ORDER BY c.price: equal rows stand at several places of the order, and only the first of
 * them is given. Which one that is, is found out by a look at all rows before they are sorted; for each different row
 * its first place is kept, in bounded memory. Where the order goes by what the rows show, equal ones have one place,
 * and nothing has to be known.
 *
 * Threads: a page belongs to its request. Start reading at run_find_firsts(). */
#include "query/run.h"
#include "query/set.h"
#include "query/sorter.h"

struct firsts {
    struct arena *arena;
    struct set rows;
    bytes *places;
    size_t room;
};

enum { IDENTITY_BYTES = 512, FIRST_ROOM = 64 };

/* Is it this expression, or a path below it? */
static bool is_below(const struct expression *x, const struct expression *shown)
{
    for (; x; x = x->kind == EXPRESSION_MEMBER ? x->args[0] : NULL) {
        if (expression_equal(x, shown))
            return true;
    }
    return false;
}

/* Have equal rows equal values there? */
static bool is_shown(const struct query *query, const struct expression *by)
{
    const struct expression *output = query->output;
    bool is_made = output->kind == EXPRESSION_OBJECT || output->kind == EXPRESSION_ARRAY;
    bool is_found = by->kind == EXPRESSION_LITERAL || is_below(by, output);

    for (size_t i = 0; is_made && i < output->count && !is_found; i++)
        is_found = is_below(by, output->args[i]);
    return is_found;
}

static bool needs_firsts(const struct query *query)
{
    bool needs = false;

    for (size_t i = 0; i < query->order_count; i++)
        needs |= !is_shown(query, query->orders[i].by);
    return query->is_distinct && !query->group_count && needs;
}

static status identity_of(struct run *run, bytes *out)
{
    struct buffer identity = buffer_in(run->scratch);
    struct value value;

    TRY(evaluate(&run->evaluation, run->query->output, &value));
    sorter_append_identity(&identity, run->query->rules, value, IDENTITY_BYTES);
    return buffer_finish(&identity, out);
}

static status make_room(struct firsts *f)
{
    bytes *places;

    if (f->rows.count <= f->room)
        return STATUS_OK;
    TRY(ARENA_NEW(f->arena, f->room * 2 + FIRST_ROOM, &places));
    if (f->room)
        memcpy(places, f->places, f->room * sizeof(*places));
    f->places = places;
    f->room = f->room * 2 + FIRST_ROOM;
    return STATUS_OK;
}

static status note(struct run *run)
{
    struct firsts *f = run->firsts;
    bytes identity, place;
    bool is_new, has_output;
    size_t number;

    TRY(run_order_key(run, &place, &has_output));
    if (!has_output)
        return STATUS_OK;
    TRY(identity_of(run, &identity));
    TRY(set_add(&f->rows, identity, &number, &is_new));
    TRY(make_room(f));
    if (is_new || bytes_compare(place, f->places[number]) < 0)
        return arena_copy(f->arena, place, &f->places[number]);
    return STATUS_OK;
}

static status note_all(struct run *run)
{
    bool has_row = true, is_wanted;

    while (has_row) {
        TRY(run_next_row(run, &has_row, &is_wanted));
        if (has_row && is_wanted)
            TRY(note(run));
    }
    cursor_close(&run->cursor);
    return cursor_open(&run->cursor, &run->plan, run->source, BYTES_NONE, &run->page->explain);
}

status run_find_firsts(struct run *run)
{
    if (!needs_firsts(run->query))
        return STATUS_OK;
    TRY(ARENA_NEW(run->arena, 1, &run->firsts));
    run->firsts->arena = arena_open(LIMIT_QUERY_GROUPS_BYTES);
    if (!run->firsts->arena)
        return status_of(OUT_OF_MEMORY, "there is no memory for the distinct rows of a query");
    run->firsts->rows = set_in(run->firsts->arena);
    status s = note_all(run);
    if (s.code == OUT_OF_MEMORY)
        return status_fail(run->arena, TOO_LARGE,
                           "the different rows of the query take more than %d bytes, the limit: "
                           "select less, or order by what is selected",
                           LIMIT_QUERY_GROUPS_BYTES);
    return s;
}

status run_is_first(struct run *run, bytes order_key, bool *out)
{
    const struct firsts *f = run->firsts;
    bytes identity;
    size_t number;

    TRY(identity_of(run, &identity));
    *out = set_find(&f->rows, identity, &number) && bytes_equal(order_key, f->places[number]);
    return STATUS_OK;
}

void run_forget_firsts(struct run *run)
{
    if (run->firsts && run->firsts->arena)
        arena_close(run->firsts->arena);
    run->firsts = NULL;
}
