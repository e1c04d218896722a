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
    return buffer_finish(&key, out);
}

static status collect(struct run *run, struct sorter *sorter)
{
    for (;;) {
        struct sort_entry entry;
        bool has_row, is_wanted;
        TRY(run_next_row(run, &has_row, &is_wanted));
        if (!has_row)
            return sorter_finish(sorter);
        if (is_wanted)
            TRY(run_order_key(run, &entry.order_key, &is_wanted));
        if (!is_wanted)
            continue;
        struct buffer key = buffer_in(run->scratch);
        cursor_append_key(&run->cursor, &key);
        rows_append_place(&run->rows, sorter->is_key_descending, &key);
        TRY(buffer_finish(&key, &entry.key));
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
    TRY(cursor_fetch(&run->cursor, key, &is_there));
    if (!is_there)
        return STATUS_OK;
    run_bind(run, &run->cursor.document);
    TRY(rows_seek(&run->rows, bytes_from(entry->key, key.len), sorter->is_key_descending,
                  &is_there));
    return is_there ? run_give(run) : STATUS_OK;
}

/* Where the next page goes on. */
static status stand_behind(struct run *run, const struct sort_entry *entry)
{
    TRY(arena_copy(run->arena, entry->order_key, &run->state.order_key));
    return arena_copy(run->arena, run->query->is_distinct ? BYTES_NONE : entry->key,
                      &run->state.position);
}

static status give_sorted(struct run *run, const struct sorter *sorter)
{
    size_t at = 0;

    for (; at < sorter->count && !run_is_full(run) && run->state.remaining; at++)
        TRY(run_give_entry(run, sorter, at));
    run->is_finished = run->state.remaining == 0 || (at == sorter->count && !sorter->has_dropped);
    return run->is_finished || at == 0 ? STATUS_OK : stand_behind(run, &sorter->entries[at - 1]);
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
    struct sort_entry after = { .order_key = run->state.order_key, .key = run->state.position };
    struct sorter sorter;

    TRY(run_rank(run));
    if (run->query->rank && run->query->rank->part_count)
        return run_fused(run);
    status s = sorter_open(&sorter, run->arena, run_wanted_rows(run), run->query,
                           run->is_resumed ? &after : NULL);

    if (s.code == OK)
        s = collect(run, &sorter);
    if (s.code == OK)
        s = give_sorted(run, &sorter);
    sorter_close(&sorter);
    return s;
}
