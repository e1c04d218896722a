/* Functions that the shared library of RocksDB calls instead of its own and of the system's; mk/flags.mk gives them the
 * names by which it asks. */
#ifndef STORAGE_ROCKSDB_REPLACED_H
#define STORAGE_ROCKSDB_REPLACED_H

#include <stddef.h>
#include <stdint.h>

/* What the library calls them: rocksdb::crc32c::Extend(unsigned, const char *, unsigned long),
 * rocksdb::VersionStorageInfo::UpdateOldestSnapshot(unsigned long),
 * rocksdb::WriteBatchInternal::UpdateProtectionInfo(WriteBatch *, unsigned long, unsigned long *) and
 * rocksdb::WriteBatchInternal::InsertInto(WriteThread::WriteGroup &, unsigned long, ColumnFamilyMemTables *,
 * FlushScheduler *, TrimHistoryScheduler *, bool, unsigned long, DB *, bool, bool, bool), as C++ spells them. */
#define ROCKSDB_NAME_OF_CRC_EXTEND "_ZN7rocksdb6crc32c6ExtendEjPKcm"
#define ROCKSDB_NAME_OF_UPDATE_OLDEST "_ZN7rocksdb18VersionStorageInfo20UpdateOldestSnapshotEm"
#define ROCKSDB_NAME_OF_HASHES \
    "_ZN7rocksdb18WriteBatchInternal20UpdateProtectionInfoEPNS_10WriteBatchEmPm"
#define ROCKSDB_NAME_OF_FILLING                                                                    \
    "_ZN7rocksdb18WriteBatchInternal10InsertIntoERNS_11WriteThread10WriteGroupEmPNS_21ColumnFamil" \
    "yMemTablesEPNS_14FlushSchedulerEPNS_20TrimHistorySchedulerEbmPNS_2DBEbbb"
#define ROCKSDB_NAME_OF_UNLINK "unlink"

#ifdef __cplusplus
extern "C" {
#endif

uint32_t rocksdb_crc_extend(uint32_t so_far, const char *data, size_t len);
void rocksdb_update_oldest(void *files, uint64_t oldest);
int rocksdb_unlink(const char *path);
/* In rocksdb_filling.cc, with results of C++: nobody calls them but the library. */
void rocksdb_leave_unhashed(void);
void rocksdb_fill_tables(void);
/* What the latter calls when it has filled them. */
void rocksdb_rows_are_in(void);

#ifdef __cplusplus
}
#endif

#endif
