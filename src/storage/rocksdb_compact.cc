/* RocksDB, compactions of a certain file: see rocksdb_compact.h.
 *
 * In C++, because RocksDB's functions for C know ranges only.
 *
 * Threads: any; the work is done on the caller's. */
#include "storage/rocksdb_compact.h"

#include "storage/rocksdb_inside.h"

enum compacted rocksdb_compact_top_file(rocksdb_t *db, rocksdb_column_family_handle_t *family,
                                        const char *name)
{
    rocksdb::CompactionOptions options;

    options.compression = rocksdb::kDisableCompressionOption; /* that of the family */
    const rocksdb::Status s = inside::db_of(db)->CompactFiles(options, inside::family_of(family),
                                                              { name }, 0);
    if (s.ok())
        return FILE_COMPACTED;
    /* A file that is not there is an argument that is not valid. */
    return s.IsAborted() || s.IsIncomplete() || s.IsInvalidArgument() ? FILE_BUSY : FILE_FAILED;
}
