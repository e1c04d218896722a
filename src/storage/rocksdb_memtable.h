/* The memory tables of RocksDB, made by us: see rocksdb_memtable.cc. */
#ifndef STORAGE_ROCKSDB_MEMTABLE_H
#define STORAGE_ROCKSDB_MEMTABLE_H

#include <rocksdb/c.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A database or space that is opened with these options has them. */
void rocksdb_memtable_choose(rocksdb_options_t *options);

/* Whether tables that are made from now on collect rows without looking at them, which is for the reading of the log. With
 * false those that did end it, too. */
void rocksdb_memtable_collect(rocksdb_options_t *options, bool is_collecting);

#ifdef __cplusplus
}
#endif

#endif
