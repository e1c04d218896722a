/* Page ties: a page that sorts only what an index leaves equal.
 *
 * The index gives rows in the order of the query, but those that are equal in it in the order of their keys. Where they
 * have to come by age, the page is one that sorts; it may stop as soon as it has its rows and all that are equal to
 * the last of them, and it begins with those that are equal to the last one of the page before.
 *
 * Threads: a page belongs to its request. Start reading at run_begin_in_order(). */
#include "query/run.h"

/* The first value that the page before ended with, as an index over paths has it; of a long text the front. */
static status value_before(struct run *run, enum value_kind *kind_out, bytes *out)
{
    bool is_descending = run->query->orders[0].is_descending;
    bytes front = run->after.front, value = bytes_from(front, front.len ? 1 : 0);
    size_t len = key_value_length(value, is_descending ? KEY_DESCENDING : KEY_ASCENDING);
    uint8_t place = front.len ? front.data[0] : 0;
    struct buffer plain = buffer_in(run->arena);

    *kind_out = KIND_OTHER;
    if (is_descending)
        place = (uint8_t)~place;
    for (enum value_kind kind = KIND_MISSING; kind < KIND_COUNT; kind++) {
        if (run->query->rules->kind_order[kind] + 1 == place)
            *kind_out = kind;
    }
    for (size_t i = 0; i < (len ? len : value.len); i++)
        buffer_append_byte(&plain, is_descending ? (uint8_t)~value.data[i] : value.data[i]);
    return buffer_finish(&plain, out);
}

/* In an index over the path: the range that has the value, or for none the first of those without one. */
static void begin_at_value(struct run *run, enum value_kind kind, bytes value)
{
    const struct plan *plan = &run->plan;
    size_t number = 0;

    if (kind == KIND_MISSING) {
        while (number < plan->range_count && plan->ranges[number].kind != KIND_MISSING)
            number++;
        cursor_begin_at(&run->cursor, number, BYTES_NONE);
    } else if (cursor_range_of(plan, value, &number)) {
        cursor_begin_at(&run->cursor, number, value);
    }
}

/* In a composite index: the rows that begin like that, in the range that they lie in. */
static status begin_at_entry(struct run *run, enum value_kind kind, bytes value)
{
    size_t number = 0;
    bytes entry;

    TRY(plan_ranked_entry(run->arena, &run->plan, run->query->orders[0].by, kind, value, &entry));
    if (entry.len && cursor_range_of(&run->plan, entry, &number))
        cursor_begin_at(&run->cursor, number, entry);
    return STATUS_OK;
}

status run_begin_in_order(struct run *run)
{
    enum value_kind kind;
    bytes value;

    if (!run->is_resumed || run->state.position.len == 0)
        return STATUS_OK;
    TRY(value_before(run, &kind, &value));
    bool is_scalar = kind >= KIND_NULL && kind <= KIND_STRING && value.len;
    if (run->plan.is_ranked && is_scalar)
        return begin_at_entry(run, kind, value);
    if (!run->plan.is_ranked && (is_scalar || kind == KIND_MISSING))
        begin_at_value(run, kind, value);
    return STATUS_OK;
}
