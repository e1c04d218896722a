/* The memory tables of RocksDB, made by us: see rocksdb_memtable.cc. */
#ifndef STORAGE_ROCKSDB_MEMTABLE_H
#define STORAGE_ROCKSDB_MEMTABLE_H

#ifdef __cplusplus
extern "C" {
#endif

/* Makes them known to RocksDB; what an option `memtable_factory` of this name then chooses. Static. */
const char *rocksdb_memtable_name(void);

#ifdef __cplusplus
}
#endif

#endif
