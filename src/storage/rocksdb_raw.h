/* Documents and index rows, read from RocksDB's files without it. Private to the backend. */
#ifndef STORAGE_ROCKSDB_RAW_H
#define STORAGE_ROCKSDB_RAW_H

#include "storage/rocksdb_backend.h"

/* A snapshot, and the files that it is read from where RocksDB is not asked. */
struct raw_view {
    rocksdb_snapshot_t const *snapshot;
    uint64_t seq;                                   /* of the last commit that it shows */
    bool has_seq;                                   /* else it cannot be read this way */
    bool is_sound_state;                            /* of rocksdb_sync.c, who owns the snapshot */
    uint64_t ranges_deleted;                        /* as it was when it was opened */
    _Atomic(struct raw_files *) files[SPACE_COUNT]; /* NULL until they are needed */
};
void raw_view_open(struct rocksdb_storage *rocks, struct raw_view *view);
void raw_view_close(struct raw_view *view);

/* Gives it a list of files of a space, which is its own from now on, if it has none. Returns the one that it has;
 * borrowed. */
struct raw_files *raw_view_keep(struct raw_view *view, enum storage_space space,
                                struct raw_files *list);

/* False: RocksDB has to be asked. Else the row is there. The value is given back by raw_value_release(). */
bool raw_get(struct rocksdb_storage *rocks, struct raw_view *view, bytes key,
             struct storage_value *out);
/* The same for several rows at once, RAW_GETS_MAX at most. What is not found this way, RocksDB has to be asked for; its place in
 * `out` stays as it is. */
enum { RAW_GETS_MAX = 16 };
void raw_get_some(struct rocksdb_storage *rocks, struct raw_view *view, const bytes *keys,
                  size_t count, struct storage_value *out);
/* One row of the newest state, as it is at some moment during the call. */
bool raw_get_newest(struct rocksdb_storage *rocks, bytes key, struct storage_value *out);
/* Is it a value of raw_get()? Then it is given back. */
bool raw_value_release(struct storage_value *value);

struct raw_scan;
/* Rows of a space with start <= key < end, both borrowed. Owner: handle. NULL if an iterator has to do it.
 * `is_short`: there are few of them, or it is not known; what is read again and again is kept. */
struct raw_stretch {
    enum storage_space space;
    bytes start, end;
    bool is_short;
};
struct raw_scan *raw_scan_open(struct rocksdb_storage *rocks, struct raw_view *view,
                               const struct raw_stretch *stretch);
void raw_scan_close(struct raw_scan *scan);
/* Jumps to `key`, or to the first one behind it. */
void raw_scan_seek(struct raw_scan *scan, bytes key);
/* RAW_LOST: an iterator has to go on; see raw_scan_place(). Borrowed until the next call. */
enum raw_step { RAW_ROW, RAW_END, RAW_LOST };
enum raw_step raw_scan_next(struct raw_scan *scan, bytes *key_out, bytes *value_out);
/* Where it stands: everything below is done, and the key itself if `is_done_out` says so. Borrowed. */
bytes raw_scan_place(const struct raw_scan *scan, bool *is_done_out);

/* Has everything of the space reached files? */
bool raw_memory_is_empty(const struct raw_shelf *shelf);
/* Has everything that was read from the log at the opening? */
bool raw_past_is_in_files(struct raw_shelf *shelf);
/* When the database has been opened for writing. */
void raw_begin(struct rocksdb_storage *rocks);
/* So many rows of the space are about to be written. Forgets deletions that have reached files, now and then; by the
 * thread that commits. */
void raw_turn(struct raw_shelf *shelf, size_t rows);

#endif
