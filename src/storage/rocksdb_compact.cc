/* RocksDB, compactions of a certain file: see rocksdb_compact.h.
 *
 * In C++, because RocksDB's functions for C know ranges only. RocksDB would do it on the caller's thread; it is handed to those that
 * compact, because they give way to requests.
 *
 * Threads: any; the caller waits. */
#include "storage/rocksdb_compact.h"

#include <condition_variable>
#include <mutex>

#include "storage/rocksdb_inside.h"

namespace
{
struct work {
    rocksdb::DB *db;
    rocksdb::ColumnFamilyHandle *family;
    const char *name;
    bool has_ended;
    enum compacted outcome;
};

/* For handing over and back, which is seldom; not for the work itself. */
/* tidy: global because tools that look for races know nothing of how RocksDB hands work from thread to thread */
std::mutex lock;
/* tidy: global because it goes with the lock */
std::condition_variable is_over;

enum compacted compact(const work &work)
{
    rocksdb::CompactionOptions options;

    options.compression = rocksdb::kDisableCompressionOption; /* that of the family */
    const rocksdb::Status s = work.db->CompactFiles(options, work.family, { work.name }, 0);
    if (s.ok())
        return FILE_COMPACTED;
    /* A file that is not there is an argument that is not valid. */
    return s.IsAborted() || s.IsIncomplete() || s.IsInvalidArgument() ? FILE_BUSY : FILE_FAILED;
}

void run(void *argument)
{
    std::unique_lock<std::mutex> held(lock);
    work *const given = static_cast<work *>(argument);

    held.unlock();
    const enum compacted outcome = compact(*given);
    held.lock();
    given->outcome = outcome;
    given->has_ended = true;
    is_over.notify_all();
}
} // namespace

enum compacted rocksdb_compact_top_file(rocksdb_t *db, rocksdb_column_family_handle_t *family,
                                        const char *name)
{
    std::unique_lock<std::mutex> held(lock);
    work work = { inside::db_of(db), inside::family_of(family), name, false, FILE_FAILED };

    work.db->GetEnv()->Schedule(run, &work, rocksdb::Env::Priority::LOW);
    while (!work.has_ended)
        is_over.wait(held);
    return work.outcome;
}
