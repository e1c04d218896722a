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
void raw_block_hold(struct raw_block *block);
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

/* Memory for a block as it is stored, with its trailer; it belongs to whoever has taken it. */
struct raw_packed {
    struct raw_block_id id;
    size_t len; /* 0: there is no block in it */
    size_t room;
    uint8_t data[];
};
enum { RAW_PACKED_BYTES_MAX = 16 << 10 };

/* For a block of this length that is not here: memory for it, in which it may lie already if somebody has left it. Owner: handle,
 * given back by raw_packed_leave(). NULL: there is none. */
struct raw_packed *raw_packed_take(struct raw_blocks *blocks, struct raw_block_id id, size_t len);
/* Leaves it, with the block that is in it, until somebody comes for that again or enough others were left. */
void raw_packed_leave(struct raw_blocks *blocks, struct raw_packed *packed);

/* Memory for what is unpacked of a block, or for what is read of a file. Shared by its holders, of whom whoever has taken it is the
 * first and the only one to write to it. */
struct raw_room {
    /* private to rocksdb_blocks.c */
    struct raw_blocks *home;
    size_t size;
    _Atomic unsigned holders;
    uint8_t data[];
};
/* With that many bytes at least. Owner: handle, given back by raw_room_leave(). NULL: there is no memory. */
struct raw_room *raw_room_take(struct raw_blocks *blocks, size_t len);
void raw_room_hold(struct raw_room *room);
void raw_room_leave(struct raw_room *room);

#endif
