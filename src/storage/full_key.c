/* Full key: partition and key as one sortable string.
 *
 * The partition comes first, most significant byte first, so that the rows of a partition are
 * neighbours and the end of a partition is the beginning of the next number.
 *
 * Threads: no shared state. */
#include "storage/full_key.h"

static void write_partition(uint8_t *out, partition_id partition)
{
    for (int i = 0; i < FULL_KEY_PREFIX_BYTES; i++)
        out[i] = (uint8_t)(partition >> (8 * (FULL_KEY_PREFIX_BYTES - 1 - i)));
}

void full_key_make(struct full_key *key, partition_id partition, bytes rest)
{
    key->len = FULL_KEY_PREFIX_BYTES + rest.len;
    key->data = key->room;
    if (key->len > sizeof(key->room)) {
        key->data = memory_take(key->len);
        ASSERT(key->data != NULL);
    }
    write_partition(key->data, partition);
    if (rest.len > 0)
        memcpy(key->data + FULL_KEY_PREFIX_BYTES, rest.data, rest.len);
}

void full_key_make_end(struct full_key *key, partition_id partition, bytes end)
{
    ASSERT(partition < UINT64_MAX);
    full_key_make(key, bytes_is_empty(end) ? partition + 1 : partition, end);
}

void full_key_release(struct full_key *key)
{
    if (key->data != key->room)
        memory_give(key->data);
    key->data = NULL;
}

partition_id full_key_partition(bytes full)
{
    partition_id partition = 0;

    ASSERT(full.len >= FULL_KEY_PREFIX_BYTES);
    for (int i = 0; i < FULL_KEY_PREFIX_BYTES; i++)
        partition = partition << 8 | full.data[i];
    return partition;
}
