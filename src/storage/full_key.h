/* A row's key with its partition in front (8 bytes, most significant first): what backends that keep
 * all partitions in one ordered map sort by. Short keys, the rule, need no memory of their own. */
#ifndef STORAGE_FULL_KEY_H
#define STORAGE_FULL_KEY_H

#include "storage/storage.h"

enum { FULL_KEY_PREFIX_BYTES = 8, FULL_KEY_INLINE_BYTES = 256 };

/* Owner: handle, given back by full_key_release(). Must not be moved. */
struct full_key {
    uint8_t *data;
    size_t len;
    uint8_t room[FULL_KEY_INLINE_BYTES];
};

void full_key_make(struct full_key *key, partition_id partition, bytes rest);
/* The exclusive end of a range; an empty `end` is the end of the partition. */
void full_key_make_end(struct full_key *key, partition_id partition, bytes end);
void full_key_release(struct full_key *key);

static inline bytes full_key_bytes(const struct full_key *key)
{
    return bytes_of(key->data, key->len);
}

/* Takes a full key apart again. */
partition_id full_key_partition(bytes full);

static inline bytes full_key_rest(bytes full)
{
    return bytes_from(full, FULL_KEY_PREFIX_BYTES);
}

#endif
