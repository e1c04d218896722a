/* Long stretches of documents, read from RocksDB's files without its iterators. Private to the backend. */
#ifndef STORAGE_ROCKSDB_RAW_H
#define STORAGE_ROCKSDB_RAW_H

#include <pthread.h>

#include "storage/rocksdb_backend.h"

/* The files of a view, found once; guarded by its lock. All zero but the lock at first. */
struct raw_files;
struct raw_view {
    rocksdb_snapshot_t const *snapshot;
    uint64_t seq; /* of the last commit that it shows */
    bool has_seq; /* else it cannot be read this way */
    pthread_mutex_t lock;
    struct raw_files *files;
};
void raw_view_open(struct rocksdb_storage *rocks, struct raw_view *view);
void raw_view_close(struct raw_view *view);

struct raw_scan;
/* Rows of SPACE_BODIES with start <= key < end, both borrowed. Owner: handle. NULL if an iterator has to do it. */
struct raw_scan *raw_scan_open(struct rocksdb_storage *rocks, struct raw_view *view, bytes start,
                               bytes end);
void raw_scan_close(struct raw_scan *scan);
/* Jumps to `key`, or to the first one behind it. */
void raw_scan_seek(struct raw_scan *scan, bytes key);
/* RAW_LOST: an iterator has to go on; see raw_scan_place(). Borrowed until the next call. */
enum raw_step { RAW_ROW, RAW_END, RAW_LOST };
enum raw_step raw_scan_next(struct raw_scan *scan, bytes *key_out, bytes *value_out);
/* Where it stands: everything below is done, and the key itself if `is_done_out` says so. Borrowed. */
bytes raw_scan_place(const struct raw_scan *scan, bool *is_done_out);

/* When the database has been opened for writing. */
void raw_begin(struct rocksdb_storage *rocks);
/* So many rows of SPACE_BODIES are about to be written. Forgets deletions that have reached files, now and then; by the
 * thread that commits. */
void raw_turn(struct rocksdb_storage *rocks, size_t rows);

#endif
