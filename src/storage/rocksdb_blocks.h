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
/* Owner: handle. */
struct raw_blocks *raw_blocks_open(void);
void raw_blocks_close(struct raw_blocks *blocks);

/* Owner: handle, let go by raw_block_let_go(). NULL: it is not here. */
struct raw_block *raw_blocks_find(struct raw_blocks *blocks, struct raw_block_id id);
/* It was not here and had to be unpacked; keeps a copy if that is so for the second time. */
void raw_blocks_offer(struct raw_blocks *blocks, struct raw_block_id id, bytes content);

#endif
