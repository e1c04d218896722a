/* Inside of the types of RocksDB's functions for C, for our files in C++: how librocksdb has defined them. */
#ifndef STORAGE_ROCKSDB_INSIDE_H
#define STORAGE_ROCKSDB_INSIDE_H

#ifdef __cplusplus

#include <rocksdb/c.h>
#include <rocksdb/db.h>
#include <rocksdb/options.h>

namespace inside
{
inline rocksdb::Options &options_of(rocksdb_options_t *options)
{
    return *reinterpret_cast<rocksdb::Options *>(options);
}

inline rocksdb::DB *db_of(rocksdb_t *db)
{
    return *reinterpret_cast<rocksdb::DB **>(db);
}

inline rocksdb::ColumnFamilyHandle *family_of(rocksdb_column_family_handle_t *family)
{
    return *reinterpret_cast<rocksdb::ColumnFamilyHandle **>(family);
}
} // namespace inside

#endif
#endif
