/* The parts of the RocksDB backend among themselves; nobody else includes this.
 *
 *     rocksdb.c           opening and closing
 *     rocksdb_options.c   how RocksDB is set up, and why
 *     rocksdb_hooks.c     what RocksDB calls: counters are added, garbage is swept
 *     rocksdb_read.c      views, gets, scans
 *     rocksdb_missing.c   which of many rows are not there
 *     rocksdb_part.c      how a range may be shared out
 *     rocksdb_raw.c       scans of documents and index rows from the files themselves (rocksdb_table.c)
 *     rocksdb_get.c       single documents from the files themselves
 *     rocksdb_blocks.c    unpacked blocks that such scans come back to
 *     rocksdb_files.c     which files there are (rocksdb_sorted.c, sst.c), and rocksdb_graves.c what is not in them
 *     rocksdb_write.c     batches and commits
 *     rocksdb_steps.c     what a batch does, in the order of keys
 *     rocksdb_memtable.cc where RocksDB keeps rows until they are flushed, in C++
 *     rocksdb_filling.cc  what RocksDB calls to fill them
 *     rocksdb_log.c       what a process left in the log
 *     rocksdb_direct.c    how logs are written (rocksdb_disk.cc)
 *     rocksdb_ahead.c     room in the log ahead of commits, so that syncs are short
 *     rocksdb_spare.c     logs that begin as old ones, with room in them (rocksdb_disk.cc)
 *     rocksdb_sweeper.cc  garbage never reaches a file (rocksdb_hooks.c)
 *     rocksdb_sync.c      the sync of a commit, beside the filling of the memory tables
 *     rocksdb_space.c     giving space back, and how much there is
 *     rocksdb_trash.c     files leave the disk in the background (rocksdb_unlink.c)
 *     rocksdb_copy.c      a second database from the files of the first */
#ifndef STORAGE_ROCKSDB_BACKEND_H
#define STORAGE_ROCKSDB_BACKEND_H

#include <linux/aio_abi.h>
#include <pthread.h>
#include <rocksdb/c.h>
#include <stdatomic.h>

#include "storage/backend.h"
#include "storage/full_key.h"
#include "storage/rocksdb_blocks.h"
#include "storage/rocksdb_files.h"

/* What is read if a sync has failed, see rocksdb_sync.c. */
struct sound_state {
    const rocksdb_snapshot_t *snapshot;
    uint64_t seq; /* of the last commit that it shows */
    rocksdb_readoptions_t *options;
};

enum sync_stage { SYNC_IDLE, SYNC_ASKED, SYNC_DONE, SYNC_ENDS };

struct log_sync {
    pthread_t thread;
    bool has_thread;
    bool is_aside;         /* this commit's is on the thread */
    int (*call)(int file); /* fdatasync() but in tests */
    /* RocksDB lets one thread have a log at a time; here tools can see it. */
    _Atomic unsigned turns;
    aio_context_t context; /* the committing thread's, see rocksdb_direct.c */
    size_t least_bytes;    /* of a commit whose sync goes to the thread */
    pthread_mutex_t lock;  /* guards the next two */
    pthread_cond_t changed;
    enum sync_stage stage;
    _Atomic(struct direct_log *) log; /* the one whose sync is put off, or NULL */
    int error;                        /* it is whoever's turn it is by `stage` */
    struct sound_state sound_state;
    _Atomic(const struct sound_state *) sound; /* NULL until a sync fails */
};

enum { SPARES_MAX = 4 };

/* See rocksdb_spare.c. */
struct log_spares {
    pthread_t thread;
    bool is_begun, has_thread;
    int arrivals, stop; /* descriptors, or -1 */
    _Atomic int64_t keep_ns;
    /* What has gone to the logs since the last full one; with less the one in use is not full. */
    _Atomic uint64_t log_bytes, full_bytes;
    pthread_mutex_t lock; /* guards what follows, and is held while a log is begun */
    struct log_spare {
        uint64_t number, bytes;
        int64_t made_at_ns;
    } items[SPARES_MAX];
    size_t count;
    int pauses;
    /* When a log was begun behind a full one, and how long that was in use; for ever, if somebody wanted it short. */
    int64_t last_at_ns, interval_ns;
    uint64_t begun; /* logs so far, with a spare */
};

struct rocksdb_storage {
    struct storage base;
    const struct log *log;
    struct storage_sweeper sweeper;
    char *path;
    int directory_fd; /* holds the claim on the directory */
    bool is_read_only;

    rocksdb_t *db;
    rocksdb_column_family_handle_t *spaces[SPACE_COUNT];
    rocksdb_options_t *options[SPACE_COUNT]; /* the first is the database's too */
    rocksdb_cache_t *rows_cache, *bodies_cache;
    rocksdb_compactionfilter_t *zero_filter;
    rocksdb_readoptions_t *read_newest, *pass_newest; /* the second keeps nothing in a cache */
    rocksdb_writeoptions_t *write_synced;

    struct raw_shelf shelves[SPACE_COUNT]; /* the first is not used */
    size_t cache_bytes;
    /* Unpacked blocks of SPACE_ROWS and SPACE_BODIES, see rocksdb_blocks.c; NULL if it is read only. */
    struct raw_blocks *blocks, *body_blocks;
    /* Room in the log that is on the disk already, see rocksdb_ahead.c; the committing thread's. */
    size_t ahead_left;
    /* The same of a log that has just been begun, for the committing thread to take over; -1: none was. */
    _Atomic int64_t ahead_in_new_log;
    /* Held by the committing thread from the zeros to the end of the commit that they are for. */
    pthread_mutex_t ahead_lock;
    _Atomic int copies_running; /* changes under ahead_lock; no zeros meanwhile */
    struct log_sync sync;
    struct log_spares spares;
    /* What RocksDB makes files with, see rocksdb_disk.cc. */
    struct rocksdb_disk *disk;
    /* Files that were dropped, see rocksdb_trash.c; does not change while the database is open, but for the atomic one. */
    struct {
        pthread_t thread;
        bool is_begun, has_thread;
        pthread_mutex_t lock;     /* while RocksDB is told to let files go */
        int arrivals, wish, stop; /* descriptors, or -1 */
        _Atomic unsigned
            held; /* how often RocksDB was told to keep files, and not yet to let them go */
    } trash;
    _Atomic bool is_failed;          /* a write failed: no more commits */
    _Atomic uint64_t ranges_deleted; /* commits with such */
    _Atomic uint64_t rewrite_owed;   /* see rocksdb_rewrite.c; 0: nothing is */
    struct cache_filling {
        _Atomic uint32_t gets;
        _Atomic bool is_full;
    } fillings[SPACE_COUNT]; /* see rocksdb_read.c */
    /* Sweeps whose context is out; 0 when closed. Also orders the owner's memory between the threads
     * of RocksDB and ours in a way that tools can see. */
    _Atomic int sweeps_running;
};

/* Of the column families. */
extern const char *const rocksdb_space_names[SPACE_COUNT];

static inline struct rocksdb_storage *rocksdb_of(struct storage *storage)
{
    return (struct rocksdb_storage *)storage;
}

static inline const char *chars_of(bytes b)
{
    return (const char *)b.data;
}

/* ---- failures --------------------------------------------------------------------------------------
 * Where the interface has no place for a message of its own, RocksDB's text goes to the log and the
 * caller gets a static sentence. Each takes over `error`. */
status rocksdb_failure(const struct rocksdb_storage *rocks, const char *doing, char *error);
/* IO_ERROR once a write has failed. */
status rocksdb_refuse_if_failed(struct rocksdb_storage *rocks);
/* And where the database was opened for reading only. */
status rocksdb_refuse_unless_writable(struct rocksdb_storage *rocks);
/* CORRUPT or IO_ERROR, by RocksDB's text. */
status_code rocksdb_error_code(const char *error);

/* ---- setting up ------------------------------------------------------------------------------------ */

void rocksdb_options_make(struct rocksdb_storage *rocks, const struct storage_options *options);
void rocksdb_options_release(struct rocksdb_storage *rocks);
/* How a damaged end of the write-ahead log is met, and whether what is read from it stays in memory at first (not, if 0 bytes
 * are to be kept): see rocksdb_options.c. The second is called when the database is open; RocksDB's text, or NULL. */
enum log_recovery { RECOVERY_STRICT, RECOVERY_UP_TO_DAMAGE };
/* Longer logs than there should ever be are written to files as they are read, because memory has an end. */
enum { KEPT_LOG_BYTES_MAX = 256 << 20 };
void rocksdb_options_set_recovery(struct rocksdb_storage *rocks, enum log_recovery recovery,
                                  uint64_t kept_log_bytes);
char *rocksdb_options_end_recovery(struct rocksdb_storage *rocks, uint64_t kept_log_bytes);

/* Owned by the options they are given to. */
rocksdb_mergeoperator_t *rocksdb_counters_operator(void);
/* Owned by the caller; it must outlive the database. */
rocksdb_compactionfilter_t *rocksdb_zero_filter(void);

/* ---- the functions of the backend ------------------------------------------------------------------ */

status rocks_view_open(struct storage *storage, struct storage_view **out);
void rocks_view_close(struct storage *storage, struct storage_view *view);
void rocks_get_some(struct storage *storage, struct storage_view *view, struct row_address where,
                    const bytes *keys, size_t count, struct storage_value *out);
status rocks_get(struct storage *storage, struct storage_view *view, struct row_address where,
                 bytes key, struct storage_value *out);
void rocks_find_missing(struct storage *storage, struct row_address where, const bytes *keys,
                        size_t count, struct arena *arena, bool *is_missing_out);
void rocks_value_release(struct storage *storage, struct storage_value *value);
status rocks_scan_open(struct storage *storage, struct storage_view *view, struct row_address where,
                       const struct storage_range *range, struct storage_scan **out);
bool rocks_scan_next(struct storage_scan *scan, bytes *key_out, bytes *value_out);
void rocks_scan_seek(struct storage_scan *scan, bytes key);
status rocks_scan_status(const struct storage_scan *scan);
void rocks_scan_close(struct storage_scan *scan);
status rocks_part(struct storage *storage, struct row_address where,
                  const struct storage_range *range, size_t most, struct arena *arena,
                  struct storage_parting *out);

struct storage_batch *rocks_batch_open(struct storage *storage);
void rocks_batch_close(struct storage *storage, struct storage_batch *batch);
void rocks_batch_clear(struct storage *storage, struct storage_batch *batch);
size_t rocks_batch_bytes(const struct storage *storage, const struct storage_batch *batch);
void rocks_put(struct storage *storage, struct storage_batch *batch, struct row_address where,
               bytes key, bytes value);
void rocks_delete(struct storage *storage, struct storage_batch *batch, struct row_address where,
                  bytes key);
void rocks_delete_range(struct storage *storage, struct storage_batch *batch,
                        struct row_address where, bytes start, bytes end);
void rocks_add(struct storage *storage, struct storage_batch *batch, struct row_address where,
               bytes key, bytes delta);
status rocks_commit(struct storage *storage, struct storage_batch *batch, struct arena *arena);

status rocks_drop_range(struct storage *storage, struct row_address where, bytes start, bytes end);
status rocks_drop_fresh(struct storage *storage, struct row_address where, bytes start, bytes end,
                        bool *has_rest);
status rocks_sweep(struct storage *storage, partition_id partition, bytes start, bytes end);
status rocks_settle(struct storage *storage, partition_id partition);
status rocks_trim(struct storage *storage);
void rocks_usage(struct storage *storage, struct storage_usage *out);
status rocks_checkpoint(struct storage *storage, const char *path, struct arena *arena);

#endif
