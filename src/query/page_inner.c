/* Page inner: a query over the rows of another one.
 *
 * What all documents together decide (distinct rows, groups, sums) is not there before the last of them was seen.
 * So the inner query is run to its end first, for every page of the outer one, into a list in bounded memory; the
 * outer one then runs over that list as over any other. A row of the list has what it is as its key, so the
 * position of a page stays right when rows come and go before the next one.
 *
 * Threads: a page belongs to its request. Start reading at run_inner(). */
#include <stdlib.h>

#include "query/run.h"
#include "query/sorter.h"

/* How much of a row orders it among the others; beyond that they are told apart. */
enum { KEY_BYTES = 256, FIRST_ROOM = 64 };
/* Equal rows are numbered at the end of their keys. */
enum { NUMBER_BYTES = 4 };

struct list {
    const struct query *query;
    struct arena *arena;
    struct query_item *items;
    size_t count, room;
};

static status refuse_more(const struct list *list)
{
    return status_fail(list->arena, TOO_LARGE,
                       "the subquery in FROM has more than %d rows, or they take more than %d "
                       "bytes, the limits: filter within the subquery, or give less for a row",
                       LIMIT_QUERY_INNER_ROWS, LIMIT_QUERY_INNER_BYTES);
}

static status grow(struct list *list)
{
    size_t room = list->room ? list->room * 2 : FIRST_ROOM;
    struct query_item *items;

    TRY(ARENA_NEW(list->arena, room, &items));
    if (list->count)
        memcpy(items, list->items, list->count * sizeof(*items));
    list->items = items;
    list->room = room;
    return STATUS_OK;
}

static status add(struct list *list, struct value row)
{
    struct buffer key = buffer_in(list->arena), document = buffer_in(list->arena);
    struct query_item item;

    if (list->count == LIMIT_QUERY_INNER_ROWS)
        return refuse_more(list);
    if (list->count == list->room)
        TRY(grow(list));
    sorter_append_identity(&key, list->query->rules, row, KEY_BYTES);
    buffer_append_u32(&key, 0);
    TRY(buffer_finish(&key, &item.key));
    size_t begun = document_begin(&document);
    document_append(&document, BYTES_LITERAL(QUERY_INNER_NAME), row);
    document_end(&document, begun);
    TRY(buffer_finish(&document, &item.document));
    list->items[list->count++] = item;
    return STATUS_OK;
}

static status take_row(void *context, struct value row, size_t *len_out)
{
    struct list *list = context;
    status s = add(list, row);

    *len_out = 0;
    return s.code == OUT_OF_MEMORY ? refuse_more(list) : s;
}

static int compare_items(const void *a, const void *b)
{
    const struct query_item *left = a, *right = b;

    return bytes_compare(left->key, right->key);
}

static void put_in_order(struct list *list)
{
    uint32_t number = 0;

    if (list->count > 1)
        qsort(list->items, list->count, sizeof(list->items[0]), compare_items);
    for (size_t i = 1; i < list->count; i++) {
        bytes before = list->items[i - 1].key, key = list->items[i].key;
        bool is_equal = key.len == before.len &&
                        memcmp(key.data, before.data, key.len - NUMBER_BYTES) == 0;
        number = is_equal ? number + 1 : 0;
        uint8_t *end = (uint8_t *)(uintptr_t)key.data + key.len;
        for (int byte = 0; byte < NUMBER_BYTES; byte++)
            end[-1 - byte] = (uint8_t)(number >> 8 * byte);
    }
}

static void add_explained(struct query_explain *sum, const struct query_explain *more)
{
    sum->access = more->access;
    sum->index = more->index;
    sum->path = more->path;
    sum->rows += more->rows;
    sum->joined += more->joined;
    sum->documents += more->documents;
    sum->loaded_bytes += more->loaded_bytes;
    sum->times.planning += more->times.planning;
    sum->times.choosing += more->times.choosing;
    sum->times.lookup += more->times.lookup;
    sum->times.loading += more->times.loading;
    sum->times.all += more->times.all;
}

/* ---- running ---------------------------------------------------------------------------------------- */

/* What is done for one page of the outermost query. */
struct work {
    const struct run *run;
    struct query_explain explain; /* of what was really looked at; the path is in `notes` */
    struct arena *notes;
};

/* A query over rows in memory, as far as it goes within one page. Its rows are no documents that were loaded. */
static status run_over(struct work *work, const struct query *query, const struct list *list,
                       const struct run *page)
{
    const struct query_source source = { .request = work->run->source->request,
                                         .arena = work->run->source->arena,
                                         .items = list->items,
                                         .item_count = list->count,
                                         .meaning = work->run->source->meaning,
                                         .now = work->run->source->now,
                                         .is_timed = work->run->source->is_timed };
    struct query alone = *query;

    alone.inner = NULL;
    TRY(query_run_page(&alone, &source, page->limits, page->page->state, page->sink, page->context,
                       page->page));
    work->explain.joined += page->page->explain.rows + page->page->explain.joined;
    return STATUS_OK;
}

static status run_over_documents(struct work *work, const struct query *query,
                                 const struct run *page)
{
    struct query_source source = *work->run->source;

    source.whole_sink = NULL; /* it belongs to the outermost sink */
    source.known_sink = NULL;
    TRY(query_run_page(query, &source, page->limits, page->page->state, page->sink, page->context,
                       page->page));
    TRY(arena_copy(work->notes, page->page->explain.path, &page->page->explain.path));
    add_explained(&work->explain, &page->page->explain);
    return STATUS_OK;
}

static status collect(struct work *work, const struct query *query, struct list *out);

/* Opens a list and puts all rows of the query that is within this one into it; without one there is no list. */
static status collect_inner(struct work *work, const struct query *query, struct list *out)
{
    *out = (struct list){ .query = query->inner };
    if (!query->inner)
        return STATUS_OK;
    out->arena = arena_open(LIMIT_QUERY_INNER_BYTES);
    if (!out->arena)
        return status_of(OUT_OF_MEMORY, "there is no memory for the rows of a subquery");
    return collect(work, query->inner, out);
}

static void close_list(struct work *work, struct list *list, status *s)
{
    /* The message of a failure may live in the arena of the list. */
    if (s->code != OK)
        *s = status_fail(work->run->arena, s->code, "%s", s->message);
    if (list->arena)
        arena_close(list->arena);
}

/* All rows of a query, whatever work that is: a part of them would be of no use. What a page took is given back,
 * but for where it ended. */
static status collect(struct work *work, const struct query *query, struct list *out)
{
    const struct query_limits limits = { .items = LIMIT_QUERY_SORT_ROWS,
                                         .rows = UINT64_MAX,
                                         .loaded_bytes = UINT64_MAX,
                                         .ask = work->run->limits->ask,
                                         .ask_context = work->run->limits->ask_context };
    struct query_page done = { 0 };
    const struct run page = { .limits = &limits, .sink = take_row, .context = out, .page = &done };
    struct list inner;
    status s = collect_inner(work, query, &inner);

    while (s.code == OK) {
        arena_position mark = arena_mark(work->run->arena);
        s = query->inner ? run_over(work, query, &inner, &page)
                         : run_over_documents(work, query, &page);
        if (s.code != OK || done.state.len == 0)
            break;
        s = arena_copy(work->notes, done.state, &done.state);
        arena_release(work->run->arena, mark);
    }
    close_list(work, &inner, &s);
    if (s.code == OK)
        put_in_order(out);
    return s;
}

static status run_outermost(struct work *work, bytes state)
{
    const struct run *run = work->run;
    const struct query_limits limits = { .items = run->limits->items,
                                         .output_bytes = run->limits->output_bytes,
                                         .rows = UINT64_MAX,
                                         .loaded_bytes = UINT64_MAX,
                                         .ask = run->limits->ask,
                                         .ask_context = run->limits->ask_context };
    struct run page = *run;
    struct list inner;
    status s = collect_inner(work, run->query, &inner);

    page.limits = &limits;
    run->page->state = state;
    if (s.code == OK)
        s = run_over(work, run->query, &inner, &page);
    close_list(work, &inner, &s);
    return s;
}

status run_inner(struct run *run, bytes state)
{
    struct work work = { .run = run, .notes = arena_open(LIMIT_QUERY_INNER_BYTES) };

    if (!work.notes)
        return status_of(OUT_OF_MEMORY, "there is no memory for the rows of a subquery");
    status s = run_outermost(&work, state);
    run->page->explain.rows = 0;
    run->page->explain.joined = 0;
    run->page->explain.documents = 0;
    run->page->explain.loaded_bytes = 0;
    add_explained(&run->page->explain, &work.explain);
    run->page->explain.path = BYTES_NONE;
    if (s.code == OK)
        s = arena_copy(run->arena, work.explain.path, &run->page->explain.path);
    arena_close(work.notes);
    return s;
}
