/* The rows of one sorted file of RocksDB in order, without RocksDB. Private to the backend. */
#ifndef STORAGE_ROCKSDB_TABLE_H
#define STORAGE_ROCKSDB_TABLE_H

#include "storage/rocksdb_blocks.h"
#include "storage/rocksdb_sorted.h"

struct table;

/* Rows up to `end`, which is borrowed; the file is held. Owner: handle. NULL if there is no memory.
 * With `blocks` (may be NULL; borrowed) few rows are expected: what is read begins with one block, and unpacked blocks are
 * looked for there first. */
struct table *raw_table_open(struct sorted *sorted, bytes end, struct raw_blocks *blocks);
void raw_table_close(struct table *table);
/* Keys are without the number behind them here. The next row is the first one that is not below `key`. */
bool raw_table_seek(struct table *table, bytes key);
/* Rows come by key, and the newest of a key first. Borrowed until the next call. */
struct table_row {
    bytes key, value;
    uint64_t seq;
    enum sst_kind kind;
};
enum sst_step raw_table_next(struct table *table, struct table_row *out);
/* The number of the block that the last row is from, from 1 on, and a key that none of its rows is behind. */
uint32_t raw_table_block(const struct table *table);
bytes raw_table_block_end(const struct table *table);

#endif
