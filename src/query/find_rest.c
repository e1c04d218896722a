/* Find, rest: rows that were sorted for one batch and are given in a later one.
 *
 * A sort is the work of a whole find, so what it has put in order and not given is kept by whoever asks: not the documents
 * but their places and keys. Each of them is judged again when its turn comes, under the `now` of that request: whoever
 * has died, or does not fulfil the condition any more, is left out, and so is a document that was born since under the key
 * of one that is gone.
 *
 * A row is the length(4) of its place, the place, and the document's key; behind the last of them a sort goes on from there,
 * because the same bytes are a position (find.c).
 *
 * Threads: a find belongs to its request. */
#include "query/find_parts.h"

void find_append_sorted(struct buffer *out, const struct sort_entry *entry)
{
    buffer_append_u32(out, (uint32_t)entry->order_key.len);
    buffer_append(out, entry->order_key);
    buffer_append(out, entry->key);
}

status find_keep_rest(struct find *f, find_rest_sink *sink, void *context, struct find_rest *out,
                      bool *has_out)
{
    struct buffer row = buffer_in(f->home);

    *out = (struct find_rest){ .seq = request_last_seq(f->wanted.request),
                               .is_all = !f->sorter.has_dropped };
    *has_out = f->is_sorting && f->is_collected && !f->near && !f->wanted.rest;
    if (!*has_out)
        return STATUS_OK;
    for (size_t i = f->given; i < f->sorter.count; i++) {
        row.len = 0;
        find_append_sorted(&row, &f->sorter.entries[i]);
        if (row.is_failed)
            return arena_exhausted(f->home);
        TRY(sink(context, bytes_of(row.data, row.len)));
    }
    return STATUS_OK;
}

static status load(struct find *f, bytes row, struct find_row *out, bool *is_there_out)
{
    struct reader reader = reader_of(row);
    struct sort_entry entry = { .order_key = reader_bytes(&reader, reader_u32(&reader)) };

    entry.key = reader.rest;
    if (reader.is_failed)
        return status_of(CORRUPT, "a sorted row that was kept is damaged");
    f->position.len = 0;
    buffer_append(&f->position, row);
    if (f->position.is_failed)
        return arena_exhausted(f->home);
    TRY(find_load_sorted(f, &entry, out, is_there_out));
    *is_there_out = *is_there_out && f->document.birth_seq <= f->wanted.rest->seq;
    return STATUS_OK;
}

status find_next_kept(struct find *f, struct find_row *out, bool *has_out)
{
    const struct find_rest *rest = f->wanted.rest;
    bool has_row;
    bytes row;

    *has_out = false;
    while (!*has_out) {
        TRY(find_ask_to_go_on(f));
        TRY(rest->next(rest->context, &row, &has_row));
        if (!has_row) {
            f->is_over = rest->is_all;
            return STATUS_OK;
        }
        TRY(load(f, row, out, has_out));
    }
    return STATUS_OK;
}
