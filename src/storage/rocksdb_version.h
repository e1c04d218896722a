/* Versions of documents in blocks of RocksDB's files. Private to the backend's gets. */
#ifndef STORAGE_ROCKSDB_VERSION_H
#define STORAGE_ROCKSDB_VERSION_H

#include "storage/rocksdb_raw.h"

/* The youngest version of a key that is not younger than a view. */
struct version {
    bool is_there;
    uint64_t seq;
    enum sst_kind kind;
    bytes value;
    /* What holds the value: the room, or else the block. */
    struct raw_room *room;
    struct raw_block *block;
};
void version_let_go(const struct version *version);
/* What holds its value is held by the value from now on; raw_value_release() gives it back. */
void version_give(const struct version *version, struct storage_value *out);

/* A block as it is stored, with its trailer, and how long it is unpacked. */
struct stored_block {
    bytes stored;
    size_t content_len;
};
/* False: it is damaged, or none that is read this way. */
bool stored_block_check(bytes stored, struct stored_block *out);
/* Unpacks all of it into memory of that length. */
bool stored_block_unpack(const struct stored_block *block, uint8_t *room, bytes *out);

/* What there is of the key; false if that cannot be told. The caller lets the version go in any case. */

/* In a block of the file, which is read unless it is known. */
bool version_in_block(struct raw_blocks *blocks, const struct sorted *sorted,
                      const struct sorted_hit *hit, bytes key, uint64_t seq, struct version *out);
/* In a block that nobody else wants. */
bool version_in_stored(struct raw_blocks *blocks, const struct stored_block *block,
                       unsigned portion, bytes key, uint64_t seq, struct version *out);
/* In one that is unpacked, and that something else holds. */
bool version_in_content(bytes content, bytes key, uint64_t seq, struct version *out);

#endif
