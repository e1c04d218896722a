/* Unpacked blocks of RocksDB's files that are read again and again. Private to the backend. */
#ifndef STORAGE_ROCKSDB_BLOCKS_H
#define STORAGE_ROCKSDB_BLOCKS_H

#include "base/base.h"

/* Which block: the number of its file, and where it begins there. Both stay the same for ever. */
struct raw_block_id {
    uint64_t file, offset;
};

/* Does not change. Shared by its holders. */
struct raw_block {
    struct raw_block_id id;
    bytes content;
    /* private to rocksdb_blocks.c */
    _Atomic unsigned holders;
};
void raw_block_let_go(struct raw_block *block);

struct raw_blocks;
/* For so many blocks at most. Owner: handle. */
struct raw_blocks *raw_blocks_open(size_t places);
void raw_blocks_close(struct raw_blocks *blocks);

/* Owner: handle, let go by raw_block_let_go(). NULL: it is not here. */
struct raw_block *raw_blocks_find(struct raw_blocks *blocks, struct raw_block_id id);
/* A new one whose content is still to be written to `room_out`. Owner: handle. NULL: there is no memory. */
struct raw_block *raw_block_new(struct raw_block_id id, size_t len, uint8_t **room_out);
/* Keeps it for others; it stays the caller's, too. */
void raw_blocks_keep(struct raw_blocks *blocks, struct raw_block *block);
/* It was not here and had to be unpacked; keeps a copy if that is so for the second time. */
void raw_blocks_offer(struct raw_blocks *blocks, struct raw_block_id id, bytes content);

/* Leaves a copy of a block as it is stored, with its trailer, until somebody comes for it again or for another one. */
void raw_blocks_leave(struct raw_blocks *blocks, struct raw_block_id id, bytes stored);
/* What was left, once: copies it to `out`, where there must be room for the longest that is kept. False: it is not here. */
enum { RAW_PACKED_BYTES_MAX = 16 << 10 };
bool raw_blocks_take(struct raw_blocks *blocks, struct raw_block_id id, uint8_t *out,
                     size_t *len_out);

#endif
