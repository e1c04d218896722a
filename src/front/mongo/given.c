/* Given: hashes of rows in order.
 *
 * Several rows may be the same by what they are, such as equal elements of an array: as many as were given are left out. The first entry of equal ones counts how many have come again.
 *
 * Keeps: 24 bytes for each row. Threads: the command's that runs the batch. */
#include "front/mongo/given.h"

#include <stdlib.h>

#include "front/mongo/foreign.h"

struct entry {
    uint64_t hash[2];
    uint64_t again; /* of the first of equal ones */
};

struct given_rows {
    struct entry *entries;
    size_t count, room;
    struct arena *scratch;
};

status given_open(struct given_rows **out)
{
    struct given_rows *given = memory_take_zeroed(1, sizeof(*given));

    *out = given;
    if (given)
        given->scratch = arena_open(LIMIT_REQUEST_ARENA_BYTES);
    if (given && given->scratch)
        return STATUS_OK;
    memory_give(given);
    *out = NULL;
    return status_of(OUT_OF_MEMORY, "there is no memory for a cursor");
}

void given_close(struct given_rows *given)
{
    if (!given)
        return;
    arena_close(given->scratch);
    memory_give(given->entries);
    memory_give(given);
}

static status identify(struct given_rows *given, const struct waiting_row *row, struct entry *out)
{
    arena_reset(given->scratch);
    struct buffer name = buffer_in(given->scratch);
    if (row->origin.len > 0)
        row_origin_name(&name, row->origin);
    else
        buffer_append(&name, row->document);
    if (name.is_failed)
        return arena_exhausted(given->scratch);
    *out = (struct entry){ 0 };
    bytes_digest(bytes_of(name.data, name.len), out->hash);
    return STATUS_OK;
}

status given_add(struct given_rows *given, const struct waiting_row *row)
{
    if (given->count == LIMIT_QUERY_SET_MEMBERS)
        return status_fail(given->scratch, TOO_LARGE,
                           "documents have expired since the cursor was opened, and it has given "
                           "more than %d rows, the limit up to which it can go on without them: "
                           "ask again",
                           LIMIT_QUERY_SET_MEMBERS);
    if (given->count == given->room) {
        const size_t room = given->room ? given->room * 2 : 128;
        struct entry *more = memory_resize(given->entries, room * sizeof(*more));
        if (!more)
            return status_of(OUT_OF_MEMORY, "there is no memory for a cursor");
        given->entries = more;
        given->room = room;
    }
    return identify(given, row, &given->entries[given->count++]);
}

static int compare(const void *a, const void *b)
{
    return memcmp(((const struct entry *)a)->hash, ((const struct entry *)b)->hash,
                  sizeof(((const struct entry *)a)->hash));
}

void given_begin(struct given_rows *given)
{
    if (given->count > 0)
        qsort(given->entries, given->count, sizeof(*given->entries), compare);
    for (size_t i = 0; i < given->count; i++)
        given->entries[i].again = 0;
}

status given_comes_again(struct given_rows *given, const struct waiting_row *row, bool *out)
{
    size_t low = 0, high = given->count;
    struct entry wanted;

    *out = false;
    TRY(identify(given, row, &wanted));
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&given->entries[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == given->count)
        return STATUS_OK;
    struct entry *first = &given->entries[low];
    *out = first->again < given->count - low && compare(&first[first->again], &wanted) == 0;
    first->again += *out;
    return STATUS_OK;
}
