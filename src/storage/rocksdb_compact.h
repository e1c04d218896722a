/* What RocksDB's functions for C have no word for: to compact a certain file. */
#ifndef STORAGE_ROCKSDB_COMPACT_H
#define STORAGE_ROCKSDB_COMPACT_H

#include <rocksdb/c.h>

#ifdef __cplusplus
extern "C" {
#endif

enum compacted {
    FILE_COMPACTED,
    FILE_BUSY, /* somebody is rewriting it, or has done it already */
    FILE_FAILED
};

/* Rewrites one file of the topmost level, by its name, and leaves the result on that level. Blocks until done; otherwise it is as it was. */
enum compacted rocksdb_compact_top_file(rocksdb_t *db, rocksdb_column_family_handle_t *family,
                                        const char *name);

#ifdef __cplusplus
}
#endif

#endif
