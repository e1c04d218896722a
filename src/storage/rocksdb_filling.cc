/* RocksDB, filling: what stands between RocksDB and the memory tables (rocksdb_memtable.cc).
 *
 * Two functions that the library calls instead of its own, because what the program has comes first for the loader
 * (mk/flags.mk). In C++, because their results are. Under the sanitizers the library calls its own.
 *
 * Threads: any. */
#include "storage/rocksdb_replaced.h"

#include <dlfcn.h>
#include <rocksdb/status.h>

#include <cstdint>

extern "C" {
#define _Noreturn [[noreturn]] /* C's word, which is not one of C++ */
#include "base/check.h"
}

namespace rocksdb
{
class WriteBatch;
}

/* ---- filling the tables of a commit ----------------------------------------------------------------- */

/* RocksDB's own function, with its arguments as they come; but when the rows are in the tables, and before RocksDB shows them, the
 * sync of the commit has to be over: see rocksdb_sync.c. */
rocksdb::Status fill_tables(void *group, uint64_t sequence, void *tables, void *flushes,
                            void *trims, bool ignores_missing, uint64_t log, void *db,
                            bool is_concurrent, bool has_sequence_per_batch,
                            bool has_batch_per_transaction) __asm__("rocksdb_fill_tables");

rocksdb::Status fill_tables(void *group, uint64_t sequence, void *tables, void *flushes,
                            void *trims, bool ignores_missing, uint64_t log, void *db,
                            bool is_concurrent, bool has_sequence_per_batch,
                            bool has_batch_per_transaction)
{
    static const auto next =
        reinterpret_cast<decltype(&fill_tables)>(dlsym(RTLD_NEXT, ROCKSDB_NAME_OF_FILLING));

    ASSERT(next != nullptr);
    const rocksdb::Status status = next(group, sequence, tables, flushes, trims, ignores_missing,
                                        log, db, is_concurrent, has_sequence_per_batch,
                                        has_batch_per_transaction);
    rocksdb_rows_are_in();
    return status;
}

/* ---- rows from the log ----------------------------------------------------------------------------- */

/* RocksDB hashes each batch of the log twice when it is read again, and each row of it twice on its way into a table, to find
 * out whether the memory changed in between. No commit does that (protection_bytes_per_key is 0); the log has a checksum,
 * which was compared just before, and the blocks of the file that the rows go to have one, too. So nothing is hashed here. */
rocksdb::Status leave_unhashed(rocksdb::WriteBatch *batch, size_t bytes_per_key,
                               uint64_t *sum) __asm__("rocksdb_leave_unhashed");

rocksdb::Status leave_unhashed(rocksdb::WriteBatch * /*batch*/, size_t /*bytes_per_key*/,
                               uint64_t * /*sum*/)
{
    return rocksdb::Status::OK();
}
