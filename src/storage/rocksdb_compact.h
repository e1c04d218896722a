/* What RocksDB's functions for C have no word for: compactions of certain files. */
#ifndef STORAGE_ROCKSDB_COMPACT_H
#define STORAGE_ROCKSDB_COMPACT_H

#include <rocksdb/c.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum compacted {
    FILES_COMPACTED,
    FILES_BUSY, /* somebody is rewriting one of them, or has done it already */
    FILES_FAILED
};

/* Puts files of one level together, and leaves the result on that level; on the topmost one, files between them in time go along,
 * on the others files between them by their keys. Blocks until done; otherwise they are as they were. */
enum compacted rocksdb_compact_files(rocksdb_t *db, rocksdb_column_family_handle_t *family,
                                     const char *const *names, size_t count, int level);

#ifdef __cplusplus
}
#endif

#endif
