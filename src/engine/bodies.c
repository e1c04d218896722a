/* Bodies: rows of a long scan, with their documents read as they lie.
 *
 * A scan by key or index meets documents in an order that has little to do with where they lie, and to get each of them by
 * its slot costs ten times as much as to step from one slot to the next. So a scan that has asked for many documents takes
 * rows in advance, puts them into the order of their slots, walks there once, and gives them in its own order.
 *
 * A few documents are got by their slots, but all at once: what lies in one place is read once. And what it takes to walk over rows, to
 * get a document and to give it to a client is together more than a processor keeps at hand, so that each turn would begin with code that it
 * has to fetch again.
 *
 * Keeps: at most ROWS_MAX rows, and little more than BYTES_MAX of documents, or FEW_BYTES_MAX of a few.
 * Threads: belongs to its scan. Start reading at bodies_fetch() and bodies_fetch_few(). */
#include "engine/bodies.h"

#include <stdlib.h>

#include "engine/slots.h"

enum {
    ROWS_FIRST = 64, /* then four times as many each time */
    ROWS_SOME = 1024,
    ROWS_MAX = 16384,
    BYTES_MAX = 8 << 20,
    FEW_BYTES_MAX = 64 << 10,
    STEPS_MAX = 8, /* rows that are stepped over rather than to look for the one behind them */
};

/* Where half of all slots are passed to find the rows, more of them cost next to nothing; but whoever wants some hundred
 * rows shall not wait for all. */
static size_t next_most(const struct bodies *ahead, uint64_t documents, bool is_many)
{
    const size_t most = ahead->most * 4;
    const bool is_dense = most > ROWS_SOME && most * STEPS_MAX >= documents / 2;
    size_t next = is_many || is_dense || most > ROWS_MAX ? ROWS_MAX : most;

    if (next > documents)
        next = documents > ROWS_FIRST ? (size_t)documents : ROWS_FIRST;
    return next;
}

static status begin(struct bodies *ahead)
{
    if (!ahead->arena)
        ahead->arena = arena_open(LIMIT_REQUEST_ARENA_BYTES);
    if (!ahead->arena)
        return status_of(OUT_OF_MEMORY, "there is no memory to read documents in advance");
    arena_reset(ahead->arena);
    ahead->count = ahead->given = ahead->body_bytes = 0;
    return STATUS_OK;
}

status bodies_begin(struct bodies *ahead, uint64_t documents, bool is_many, size_t *most_out)
{
    ASSERT(!ahead->found);
    if (ahead->most < ROWS_FIRST / 4)
        ahead->most = ROWS_FIRST / 4;
    TRY(begin(ahead));
    ahead->most = next_most(ahead, documents, is_many);
    ahead->body_bytes_max = BYTES_MAX;
    *most_out = ahead->most;
    return ARENA_NEW(ahead->arena, ahead->most, &ahead->rows);
}

status bodies_begin_few(struct bodies *ahead, size_t most)
{
    ASSERT(!ahead->found && most <= BODIES_FEW_MAX);
    TRY(begin(ahead));
    ahead->most = most;
    ahead->body_bytes_max = FEW_BYTES_MAX;
    TRY(ARENA_NEW(ahead->arena, most, &ahead->rows));
    return ARENA_NEW(ahead->arena, most, &ahead->found);
}

void bodies_forget(struct bodies *ahead, struct storage *storage)
{
    for (size_t i = 0; ahead->found && i < ahead->count; i++)
        storage_value_release(storage, &ahead->found[i].pin);
    ahead->found = NULL;
    ahead->count = ahead->given = 0;
}

void bodies_close(struct bodies *ahead, struct storage *storage)
{
    bodies_forget(ahead, storage);
    if (ahead->arena)
        arena_close(ahead->arena);
    *ahead = (struct bodies){ 0 };
}

status bodies_add(struct bodies *ahead, bytes key, bytes value, const struct stamp *stamp,
                  bool *has_room_out)
{
    struct bodies_row *row = &ahead->rows[ahead->count++];

    ASSERT(ahead->count <= ahead->most);
    TRY(arena_copy(ahead->arena, key, &row->key));
    TRY(arena_copy(ahead->arena, value, &row->value));
    row_key_slot(row->slot, stamp->lane, expiry_order(stamp), stamp->seq);
    row->seq = stamp->seq;
    ahead->body_bytes += stamp->body_len;
    *has_room_out = ahead->count < ahead->most && ahead->body_bytes < ahead->body_bytes_max;
    return STATUS_OK;
}

const struct bodies_row *bodies_next(struct bodies *ahead)
{
    return ahead->given < ahead->count ? &ahead->rows[ahead->given++] : NULL;
}

/* ---- documents -------------------------------------------------------------------------------------- */

/* A walk over slots that has a row, or looks for one. */
struct slots {
    struct storage_scan *rows;
    bytes key, value;
    bool has_row;
};

/* A row and, near at hand for sorting, where its document lies. */
struct sorted {
    uint8_t slot[ROW_SLOT_BYTES];
    struct bodies_row *row;
};

static int compare_slots(const void *a, const void *b)
{
    const struct sorted *left = a, *right = b;

    return memcmp(left->slot, right->slot, sizeof(left->slot));
}

static int step(struct slots *slots, bytes slot)
{
    if (!slots->has_row)
        slots->has_row = storage_scan_next(slots->rows, &slots->key, &slots->value);
    return slots->has_row ? bytes_compare(slots->key, slot) : 1;
}

/* Is the slot there? Then it is the row. */
static bool walk_to(struct slots *slots, bytes slot)
{
    int order = step(slots, slot);

    for (unsigned steps = 1; order < 0 && steps < STEPS_MAX; steps++) {
        slots->has_row = false;
        order = step(slots, slot);
    }
    if (order < 0) {
        storage_scan_seek(slots->rows, slot);
        slots->has_row = false;
        order = step(slots, slot);
    }
    return order == 0;
}

static status fetch(struct bodies *ahead, struct slots *slots, struct request *request,
                    struct storage_view *view, const struct collection *collection,
                    const struct sorted *sorted)
{
    const bytes slot = bytes_of(sorted->slot, sizeof(sorted->slot));
    struct bodies_row *row = sorted->row;
    struct storage_value pin;

    if (walk_to(slots, slot))
        return arena_copy(ahead->arena, slots->value, &row->body);
    TRY(storage_get(request->storage, view, address(collection->state->partition, SPACE_BODIES),
                    slot, &pin)); /* tells what the walk has failed with, too */
    status s = arena_copy(ahead->arena, pin.value, &row->body);
    storage_value_release(request->storage, &pin);
    return s;
}

status bodies_fetch(struct bodies *ahead, struct request *request, struct storage_view *view,
                    const struct collection *collection)
{
    enum { DENSE = 16 };
    const struct collection_size size = collection_size(request, collection);
    struct sorted *by_slot;
    struct slots slots = { 0 };

    if (ahead->count == 0)
        return STATUS_OK;
    TRY(ARENA_NEW(ahead->arena, ahead->count, &by_slot));
    for (size_t i = 0; i < ahead->count; i++) {
        memcpy(by_slot[i].slot, ahead->rows[i].slot, sizeof(by_slot[i].slot));
        by_slot[i].row = &ahead->rows[i];
    }
    qsort(by_slot, ahead->count, sizeof(*by_slot), compare_slots);
    const struct storage_range range = { .start = bytes_of(by_slot[0].slot,
                                                           sizeof(by_slot[0].slot)),
                                         .is_bulk = ahead->body_bytes >= SLOTS_LONG_BYTES / 16 &&
                                                    ahead->body_bytes >= size.bytes / DENSE };
    TRY(storage_scan_open(request->storage, view,
                          address(collection->state->partition, SPACE_BODIES), &range,
                          &slots.rows));
    status s = STATUS_OK;
    for (size_t i = 0; i < ahead->count && s.code == OK; i++)
        s = fetch(ahead, &slots, request, view, collection, &by_slot[i]);
    storage_scan_close(slots.rows);
    return s;
}

/* ---- a few ------------------------------------------------------------------------------------------ */

/* Those of them that are not recalled, as far as is known; `at_out` says which. */
static size_t choose_unknown(const struct bodies *ahead, const struct recall *recall,
                             const struct collection *collection, bytes slots_out[],
                             struct bodies_found *at_out[])
{
    size_t count = 0;

    /* What one look after the other would wait for comes at the same time. */
    for (size_t i = 0; recall && i < ahead->count; i++)
        recall_expect_write(recall, collection, ahead->rows[i].seq);
    for (size_t i = 0; i < ahead->count; i++) {
        const struct bodies_row *row = &ahead->rows[i];
        if (recall && recall_may_have_write(recall, collection, row->seq))
            continue;
        slots_out[count] = bytes_of(row->slot, sizeof(row->slot));
        at_out[count++] = &ahead->found[i];
    }
    return count;
}

void bodies_fetch_few(struct bodies *ahead, struct request *request, struct storage_view *view,
                      const struct collection *collection)
{
    struct storage_value pins[BODIES_FEW_MAX];
    struct bodies_found *found[BODIES_FEW_MAX];
    bytes slots[BODIES_FEW_MAX];

    ASSERT(ahead->count <= BODIES_FEW_MAX);
    const size_t count = choose_unknown(ahead, request->engine->recall, collection, slots, found);
    storage_get_some(request->storage, view, address(collection->state->partition, SPACE_BODIES),
                     slots, count, pins);
    for (size_t i = 0; i < count; i++) {
        found[i]->pin = pins[i];
        /* What could not be read is read again when the document is asked for, and that tells why. */
        found[i]->is_there = pins[i].pin && row_read_body(pins[i].value, &found[i]->body);
    }
}

bool bodies_take(struct bodies *ahead, struct storage_value *pin_out, struct row_body *out)
{
    struct bodies_found *found = ahead->found && ahead->given > 0 ? &ahead->found[ahead->given - 1]
                                                                  : NULL;

    if (!found || !found->is_there)
        return false;
    *pin_out = found->pin;
    *out = found->body;
    *found = (struct bodies_found){ 0 };
    return true;
}
