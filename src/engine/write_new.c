/* Write, new documents: which of many inserts are of keys that are not there.
 *
 * Every insert looks for its key, and nearly always finds nothing. To ask the storage for all keys of a write at once costs half
 * of what single questions cost; what it does not know is looked up one by one, as are few.
 *
 * Keeps: asked under the latches of the keys, so that nobody brings them meanwhile. Inside a transaction, and when one
 * commits, nothing is asked: what it sees lies in several places. Threads: those of the write. */
#include "engine/write.h"

enum { MANY_OPERATIONS = 16 };

static bool is_insert(const struct write_op *op)
{
    return op->kind == WRITE_INSERT && op->outcome.code == OK;
}

status write_find_new(struct write *write)
{
    struct arena *arena = write->request->arena;
    size_t count = 0;
    bytes *keys;
    bool *are_missing;

    if (write->op_count < MANY_OPERATIONS || write->state_count > 1 || write->request->transaction)
        return STATUS_OK;
    TRY(ARENA_NEW(arena, write->op_count, &keys));
    TRY(ARENA_NEW(arena, write->op_count, &are_missing));
    for (size_t i = 0; i < write->op_count; i++) {
        if (is_insert(&write->ops[i]))
            keys[count++] = write->steps[i].locator_key;
    }
    storage_find_missing(write->request->storage, address(write->states[0]->partition, SPACE_ROWS),
                         keys, count, arena, are_missing);
    for (size_t i = 0, at = 0; i < write->op_count; i++) {
        if (is_insert(&write->ops[i]))
            write->steps[i].is_new = are_missing[at++];
    }
    return STATUS_OK;
}
