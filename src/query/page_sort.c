/* Page sort: the rows of a page that come in an order which no index gives.
 *
 * All rows are looked at, and the first behind the place where the page before ended are kept; then their
 * documents are fetched again and given. A place is the order key and the document's key, so it means the
 * same on every page, however the documents are found.
 *
 * Threads: a page belongs to its request. Start reading at run_sorted(). */
#include "query/run.h"
#include "query/sorter.h"

/* How much of a value orders distinct rows among each other; they are told apart beyond that. It travels in
 * the state of a page, which should stay below 1 KB. */
enum { IDENTITY_BYTES = 512 };

enum { AGE_BYTES = 8 };

static void append_age(const struct run *run, struct buffer *key)
{
    uint64_t birth = run->evaluation.document ? run->evaluation.document->birth_seq : 0;
    bool is_descending = false;

    for (size_t i = 0; i < run->query->order_count; i++)
        is_descending |= run->query->orders[i].is_descending;
    buffer_append_u64(key, is_descending ? ~birth : birth);
}

status run_order_key(struct run *run, bytes *out, bool *has_output_out)
{
    const struct query *query = run->query;
    size_t parts = query->order_count + query->is_distinct;
    size_t room = LIMIT_QUERY_SORT_KEY_BYTES / (parts ? parts : 1);
    struct buffer key = buffer_in(run->scratch);
    struct value value;

    *has_output_out = true;
    for (size_t i = 0; i < query->order_count; i++) {
        TRY(evaluate(&run->evaluation, query->orders[i].by, &value));
        sorter_append_value(&key, query->rules, value, query->orders[i].is_descending, room);
    }
    if (query->is_distinct) {
        TRY(evaluate(&run->evaluation, query->output, &value));
        *has_output_out = value_kind_of(value) != KIND_MISSING;
        sorter_append_identity(&key, query->rules, value,
                               room < IDENTITY_BYTES ? room : IDENTITY_BYTES);
    }
    if (query->is_tied_by_age)
        append_age(run, &key);
    return buffer_finish(&key, out);
}

/* One step; `*is_wanted_out`: it was a row that has a place. */
static status next_entry(struct run *run, bool is_key_descending, struct sort_entry *out,
                         bool *has_out, bool *is_wanted_out)
{
    TRY(run_next_row(run, has_out, is_wanted_out));
    if (*has_out && *is_wanted_out)
        TRY(run_order_key(run, &out->order_key, is_wanted_out));
    if (*has_out && *is_wanted_out && run->firsts)
        TRY(run_is_first(run, out->order_key, is_wanted_out));
    if (!*has_out || !*is_wanted_out)
        return STATUS_OK;
    struct buffer key = buffer_in(run->scratch);
    cursor_append_key(&run->cursor, &key);
    rows_append_place(&run->rows, is_key_descending, &key);
    return buffer_finish(&key, &out->key);
}

/* Where rows come in order, all that are equal to the last one wanted have to be seen, and nothing behind them. */
static status is_enough(struct run *run, const struct sorter *sorter,
                        const struct sort_entry *entry, bytes *last, bool *out)
{
    bytes place = bytes_of(entry->order_key.data, entry->order_key.len - AGE_BYTES);

    *out = false;
    if (bytes_equal(place, *last))
        return STATUS_OK;
    *out = sorter->count >= sorter->keep;
    return arena_copy(run->arena, place, last);
}

static status collect(struct run *run, struct sorter *sorter)
{
    bytes last = BYTES_NONE;

    TRY(run_find_firsts(run));

    for (;;) {
        struct sort_entry entry;
        bool has_row, is_wanted, is_done = false;
        TRY(next_entry(run, sorter->is_key_descending, &entry, &has_row, &is_wanted));
        if (has_row && is_wanted && run->is_walked_in_order)
            TRY(is_enough(run, sorter, &entry, &last, &is_done));
        sorter->has_dropped |= is_done;
        if (!has_row || is_done)
            return sorter_finish(sorter);
        if (is_wanted)
            TRY(sorter_add(sorter, entry));
    }
}

/* How much of an entry's key is that of the document; behind it stands the place of the row in it. */
static size_t key_len(const struct run *run, const struct sort_entry *entry)
{
    return entry->key.len - run->query->binding_count * ROWS_PLACE_BYTES;
}

status run_give_entry(struct run *run, const struct sorter *sorter, size_t number)
{
    const struct sort_entry *entry = &sorter->entries[number];
    enum expression_kind output = run->query->output->kind;
    bytes key = bytes_of(entry->key.data, key_len(run, entry));
    bool is_there;

    /* An object is always there, so the rows that are left out need not be looked at again. */
    if (run->state.skip && (output == EXPRESSION_OBJECT || output == EXPRESSION_VARIABLE)) {
        run->state.skip--;
        return STATUS_OK;
    }
    int64_t begun = run_time(run);
    TRY(cursor_fetch(&run->cursor, key, &is_there));
    run->page->explain.times.loading += run_time(run) - begun;
    if (!is_there)
        return STATUS_OK;
    run_bind(run, &run->cursor.document);
    TRY(rows_seek(&run->rows, bytes_from(entry->key, key.len), sorter->is_key_descending,
                  &is_there));
    return is_there ? run_give(run) : STATUS_OK;
}

/* Looks at all rows once more, because a place that is too long has to be told from those of all others. */
static status note_all(struct run *run, const struct sorter *sorter, void *context,
                       struct place_maker *maker)
{
    (void)context;
    run->rows.is_open = false;
    cursor_close(&run->cursor);
    TRY(cursor_open(&run->cursor, &run->plan, run->source, BYTES_NONE, &run->page->explain));
    for (;;) {
        struct sort_entry entry;
        bool has_row, is_wanted;
        TRY(next_entry(run, sorter->is_key_descending, &entry, &has_row, &is_wanted));
        if (!has_row)
            return STATUS_OK;
        struct place_key place = sorter_place(sorter, &entry);
        if (is_wanted)
            place_note(maker, &place);
    }
}

status run_stand_behind(struct run *run, const struct sorter *sorter, size_t number,
                        run_note_places *note_places, void *context)
{
    struct place_key place = sorter_place(sorter, &sorter->entries[number]);
    struct buffer whole = buffer_in(run->arena);
    size_t room = state_room(&run->state);
    struct place_maker maker;

    if (1 + place.first.len + place.second.len <= room) {
        place_write_whole(&whole, &place);
        return buffer_finish(&whole, &run->state.position);
    }
    TRY(place_begin(run->arena, &place, room, &maker));
    TRY(note_places(run, sorter, context, &maker));
    return place_finish(&maker, run->arena, room, &run->state.position);
}

static status give_sorted(struct run *run, const struct sorter *sorter)
{
    size_t at = 0;

    for (; at < sorter->count && !run_is_full(run) && run->state.remaining; at++)
        TRY(run_give_entry(run, sorter, at));
    run->is_finished = run->state.remaining == 0 || (at == sorter->count && !sorter->has_dropped);
    return run->is_finished || at == 0 ? STATUS_OK
                                       : run_stand_behind(run, sorter, at - 1, note_all, NULL);
}

size_t run_wanted_rows(const struct run *run)
{
    uint64_t rows = run->limits->items;

    if (run->state.remaining < rows)
        rows = run->state.remaining;
    return run->state.skip > LIMIT_QUERY_SORT_ROWS || rows > LIMIT_QUERY_SORT_ROWS
               ? LIMIT_QUERY_SORT_ROWS
               : (size_t)(rows + run->state.skip);
}

status run_sorted(struct run *run)
{
    struct sorter sorter;

    TRY(run_rank(run));
    if (run->query->rank && run->query->rank->part_count)
        return run_fused(run);
    status s = sorter_open(&sorter, run->arena, run_wanted_rows(run), run->query,
                           run->is_resumed ? &run->after : NULL);

    if (s.code == OK && run->is_walked_in_order)
        s = run_begin_in_order(run);
    if (s.code == OK)
        s = collect(run, &sorter);
    if (s.code == OK)
        s = give_sorted(run, &sorter);
    sorter_close(&sorter);
    run_forget_firsts(run);
    return s;
}
