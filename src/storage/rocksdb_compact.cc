/* RocksDB, compactions of certain files: see rocksdb_compact.h.
 *
 * In C++, because RocksDB's functions for C know ranges only.
 *
 * Threads: any; the work is done on the caller's. */
#include "storage/rocksdb_compact.h"

#include <string>
#include <vector>

#include "storage/rocksdb_inside.h"

enum compacted rocksdb_compact_files(rocksdb_t *db, rocksdb_column_family_handle_t *family,
                                     const char *const *names, size_t count, int level)
{
    rocksdb::ColumnFamilyHandle *of = inside::family_of(family);
    rocksdb::CompactionOptions options;

    options.compression = rocksdb::kDisableCompressionOption; /* that of the family */
    options.output_file_size_limit = inside::db_of(db)->GetOptions(of).target_file_size_base;
    const rocksdb::Status s = inside::db_of(db)->CompactFiles(
        options, of, std::vector<std::string>(names, names + count), level);
    if (s.ok())
        return FILES_COMPACTED;
    return s.IsAborted() || s.IsIncomplete() || s.IsInvalidArgument() ? FILES_BUSY : FILES_FAILED;
}
