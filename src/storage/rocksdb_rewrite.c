/* RocksDB, rewriting: files are not written again because somebody has looked.
 *
 * When a snapshot is released RocksDB rewrites every file of the lowest level whose rows are all older: a compaction may have kept
 * what was deleted or overwritten because the snapshot still showed it, and the numbers of rows can be set to zero. Files
 * of documents come to the lowest level as they were flushed, by being moved, so that each of them was written a second
 * time as soon as there was a query, without becoming smaller.
 *
 * A view can have kept alive no more rows than were written while it was open, deleted ranges aside. So RocksDB hears of
 * the end of a view only if those were many, or a range was deleted; what the others have kept goes with the next compaction
 * that comes by. RocksDB rewrites only files whose rows are all older than the oldest view that is left, and than the last
 * commit if there is none; so what a view has kept may have to wait for a later end. Until that has come, which is when the
 * oldest view is younger than everything that was written up to the end of the one in question, RocksDB hears of the end of
 * every view. The program has a function of the name that the library calls (mk/flags.mk), and what the program has comes
 * first for the loader; under the sanitizers the library goes on as it was.
 *
 * Threads: any. */
#include "storage/rocksdb_rewrite.h"

#include <dlfcn.h>

#include "storage/rocksdb_raw.h"
#include "storage/rocksdb_replaced.h"

/* Rows that were written while a view was open: some thousandths of what a compaction reads. */
enum { ROWS_MANY = 4096 };

/* While a snapshot is released that RocksDB is to hear of, and what it has found the oldest one to be; 0: it did not look. */
struct release {
    bool is_told;
    uint64_t oldest;
};

/* tidy: global because the call comes back from within RocksDB, on the thread that has released a snapshot */
static _Thread_local struct release release;

typedef void update_function(void *files, uint64_t oldest);

/* RocksDB's own: looked up each time, because it is seldom worth it. */
static void update_really(void *files, uint64_t oldest)
{
    update_function *next = (update_function *)dlsym(RTLD_NEXT, ROCKSDB_NAME_OF_UPDATE_OLDEST);

    ASSERT(next != NULL);
    next(files, oldest);
}

void rocksdb_update_oldest(void *files, uint64_t oldest)
{
    if (!release.is_told)
        return;
    release.oldest = oldest;
    update_really(files, oldest);
}

bool rewrite_is_worth(struct rocksdb_storage *rocks, const struct raw_view *view)
{
    return !view->has_seq ||
           rocksdb_get_latest_sequence_number(rocks->db) - view->seq >= ROWS_MANY ||
           atomic_load(&rocks->ranges_deleted) != view->ranges_deleted;
}

static void owe(struct rocksdb_storage *rocks)
{
    const uint64_t latest = rocksdb_get_latest_sequence_number(rocks->db);
    uint64_t owed = atomic_load(&rocks->rewrite_owed);

    while (owed < latest && !atomic_compare_exchange_weak(&rocks->rewrite_owed, &owed, latest))
        ;
}

/* RocksDB does not look where no file could be rewritten. */
static uint64_t find_oldest(struct rocksdb_storage *rocks)
{
    uint64_t oldest = 0;

    if (rocksdb_property_int(rocks->db, "rocksdb.oldest-snapshot-sequence", &oldest) == 0 &&
        oldest > 0)
        return oldest;
    return rocksdb_get_latest_sequence_number(rocks->db);
}

void rewrite_release(struct rocksdb_storage *rocks, const struct raw_view *view)
{
    if (view->is_sound_state)
        return;
    if (rewrite_is_worth(rocks, view))
        owe(rocks);
    uint64_t owed = atomic_load(&rocks->rewrite_owed);
    release = (struct release){ .is_told = owed > 0 };
    rocksdb_release_snapshot(rocks->db, view->snapshot);
    release.is_told = false;
    if (owed > 0 && (release.oldest ? release.oldest : find_oldest(rocks)) > owed)
        (void)atomic_compare_exchange_strong(&rocks->rewrite_owed, &owed, 0);
}
