/* Sorter: the first rows of an order, in bounded memory.
 *
 * Rows are collected until there are twice as many as wanted, then sorted and cut; from then on whatever
 * lies behind the last one kept is turned away at once. What is kept moves to a fresh arena with every
 * cut, so turned-away rows take no memory. If the rows are so long that they do not fit, fewer are kept:
 * the page gets shorter, not wrong.
 *
 * Keeps: after sorter_finish, every row that was added lies in `entries` or behind all of them.
 * Threads: belongs to its request. */
#include "query/sorter.h"

#include <stdlib.h>

#include "query/field_order.h"

/* Short places are no prefix of each other, so only those that are cut can fall together. */
static void append_place(struct buffer *out, const struct query_rules *rules, struct value value,
                         bool is_descending)
{
    uint8_t place = (uint8_t)(rules->kind_order[value_kind_of(value)] + 1);

    buffer_append_byte(out, is_descending ? (uint8_t)~place : place);
    key_append_value(out, value, is_descending ? KEY_DESCENDING : KEY_ASCENDING);
}

static struct value front_of_text(struct buffer *out, struct value value)
{
    struct value front = value;

    if (value_kind_of(value) != KIND_STRING || value_text(value).len < LIMIT_INDEXED_TEXT_BYTES)
        return value;
    bytes text = bytes_of(value_text(value).data, LIMIT_INDEXED_TEXT_BYTES);
    if (value_of_text(out->arena, text, &front).code != OK)
        out->is_failed = true;
    return front;
}

void sorter_append_value(struct buffer *out, const struct query_rules *rules, struct value value,
                         bool is_descending, size_t room)
{
    size_t start = out->len;

    append_place(out, rules, front_of_text(out, value), is_descending);
    if (out->len - start > room)
        out->len = start + room;
}

/* What is cut off is told apart by two independent hashes. */
void sorter_cut(struct buffer *out, size_t start, size_t room)
{
    if (out->is_failed || out->len - start <= room)
        return;
    bytes whole = bytes_of(out->data + start, out->len - start);
    uint64_t digest[2];

    bytes_digest(whole, digest);
    out->len = start + room;
    buffer_append_u64(out, digest[0]);
    buffer_append_u64(out, digest[1]);
}

void sorter_append_identity(struct buffer *out, const struct query_rules *rules, struct value value,
                            size_t room)
{
    size_t start = out->len;

    if (rules->is_field_order_free && field_order_make(out->arena, value, &value).code != OK)
        out->is_failed = true;
    append_place(out, rules, value, false);
    sorter_cut(out, start, room);
}

static int compare_order(const void *a, const void *b)
{
    const struct sort_entry *left = a, *right = b;

    return bytes_compare(left->order_key, right->order_key);
}

static int compare_all(const void *a, const void *b)
{
    const struct sort_entry *left = a, *right = b;
    int order = compare_order(a, b);

    return order ? order : bytes_compare(left->key, right->key);
}

static int compare_backwards(const void *a, const void *b)
{
    const struct sort_entry *left = a, *right = b;
    int order = compare_order(a, b);

    return order ? order : bytes_compare(right->key, left->key);
}

typedef int entry_order(const void *a, const void *b);

static entry_order *order_of(const struct sorter *s)
{
    if (s->is_distinct)
        return compare_order;
    return s->is_key_descending ? compare_backwards : compare_all;
}

status sorter_open(struct sorter *s, struct arena *arena, size_t keep, const struct query *query,
                   const struct place *after)
{
    *s = (struct sorter){ .is_distinct = query->is_distinct, .has_after = after != NULL };
    s->is_key_descending = query->order_count == 1 && query->orders[0].is_descending;
    s->keep = keep < 1 ? 1 : keep > LIMIT_QUERY_SORT_ROWS ? LIMIT_QUERY_SORT_ROWS : keep;
    if (after)
        s->after = *after;
    s->room = s->keep * 2 + 1;
    TRY(ARENA_NEW(arena, s->room, &s->entries));
    for (int i = 0; i < 2; i++) {
        /* Room for what is held and for one more cut of it. */
        s->arenas[i] = arena_open((size_t)LIMIT_QUERY_SORT_BYTES * 2);
        if (!s->arenas[i])
            return status_of(OUT_OF_MEMORY, "there is no memory for sorting");
    }
    return STATUS_OK;
}

void sorter_clear(struct sorter *s)
{
    s->count = s->held_bytes = 0;
    s->is_full = s->has_dropped = false;
    for (int i = 0; i < 2; i++)
        arena_reset(s->arenas[i]);
}

void sorter_close(struct sorter *s)
{
    for (int i = 0; i < 2; i++) {
        if (s->arenas[i])
            arena_close(s->arenas[i]);
    }
}

static void sort(struct sorter *s)
{
    size_t kept = 0;

    if (s->count > 1)
        qsort(s->entries, s->count, sizeof(s->entries[0]), order_of(s));
    for (size_t i = 0; s->is_distinct && i < s->count; i++) {
        if (kept == 0 || compare_order(&s->entries[kept - 1], &s->entries[i]) != 0)
            s->entries[kept++] = s->entries[i];
    }
    if (s->is_distinct)
        s->count = kept;
}

static size_t entry_bytes(const struct sort_entry *entry)
{
    return entry->order_key.len + entry->key.len;
}

/* As many as are wanted and take no more than half of the room. */
static void cut(struct sorter *s)
{
    size_t count = 0;

    s->held_bytes = 0;
    while (count < s->count && count < s->keep &&
           (count == 0 ||
            s->held_bytes + entry_bytes(&s->entries[count]) <= LIMIT_QUERY_SORT_BYTES / 2))
        s->held_bytes += entry_bytes(&s->entries[count++]);
    if (count < s->count) {
        s->has_dropped = true;
        s->keep = count;
    }
    s->count = count;
}

static status move_house(struct sorter *s)
{
    struct arena *fresh = s->arenas[1 - s->in_use];

    for (size_t i = 0; i < s->count; i++) {
        TRY(arena_copy(fresh, s->entries[i].order_key, &s->entries[i].order_key));
        TRY(arena_copy(fresh, s->entries[i].key, &s->entries[i].key));
    }
    arena_reset(s->arenas[s->in_use]);
    s->in_use = 1 - s->in_use;
    return STATUS_OK;
}

static status tidy_up(struct sorter *s)
{
    sort(s);
    cut(s);
    TRY(move_house(s));
    s->is_full = s->count == s->keep;
    if (s->is_full)
        s->last = s->entries[s->count - 1];
    return STATUS_OK;
}

struct place_key sorter_place(const struct sorter *s, const struct sort_entry *entry)
{
    return (struct place_key){ .first = entry->order_key,
                               .second = s->is_distinct ? BYTES_NONE : entry->key,
                               .is_second_reversed = s->is_key_descending };
}

status sorter_add(struct sorter *s, struct sort_entry entry)
{
    struct arena *arena = s->arenas[s->in_use];
    struct place_key place = sorter_place(s, &entry);

    if (s->has_after && place_compare(&s->after, &place, NULL) <= 0)
        return STATUS_OK;
    if (s->is_full && order_of(s)(&entry, &s->last) > 0) {
        s->has_dropped = true;
        return STATUS_OK;
    }
    TRY(arena_copy(arena, entry.order_key, &entry.order_key));
    TRY(arena_copy(arena, entry.key, &entry.key));
    s->entries[s->count++] = entry;
    s->held_bytes += entry_bytes(&entry);
    if (s->count < s->room && s->held_bytes <= LIMIT_QUERY_SORT_BYTES)
        return STATUS_OK;
    return tidy_up(s);
}

status sorter_finish(struct sorter *s)
{
    sort(s);
    cut(s);
    return STATUS_OK;
}
