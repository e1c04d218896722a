/* Ordered keys on disk, atomic commits. A backend (RocksDB, memory, later RADOS; `faulty` wraps any of
 * them) stores rows: a key and a value inside a space of a partition. The atomic unit is a partition;
 * what a backend can do beyond that it declares as capabilities. Keys contain no NUL byte; values are
 * never empty. Every call may come from any thread. */
#ifndef STORAGE_STORAGE_H
#define STORAGE_STORAGE_H

#include "base/base.h"
#include "storage/commit_queue.h"

struct storage;

/* Rows of one partition live in three spaces, each ordered by itself. */
enum storage_space {
    SPACE_META, /* catalog, counters, marks: few and small */
    SPACE_ROWS, /* locators and index rows: the sweeper may drop them during compaction */
    /* Documents in slot order: leave by range, whole files at a time, and what is left by sweeping. A key is put once, or again only
     * behind its deletion in the same commit or an earlier one. */
    SPACE_BODIES,
    SPACE_COUNT
};

typedef uint64_t partition_id;

enum storage_capability {
    STORAGE_HAS_SNAPSHOTS = 1,       /* a view is one instant over all reads */
    STORAGE_HAS_MULTI_PARTITION = 2, /* one commit may touch several partitions */
    STORAGE_HAS_RANGE_DROP = 4,      /* storage_drop_range gives whole files back */
    STORAGE_HAS_SWEEPER = 8,         /* rows the sweeper calls garbage leave by themselves */
    STORAGE_HAS_SINGLE_WRITER = 16,  /* nobody else writes: guards may be left out */
    STORAGE_IS_DURABLE = 32,         /* a commit that returned OK survives a crash */
};

/* Asked about rows of SPACE_ROWS and SPACE_BODIES while they are written to files anyway, or rewritten. `begin` is called once per sweep of a
 * space, after the rows to be swept are fixed, and returns a context for is_garbage (NULL: keep everything);
 * `end` gives it back. Called from the backend's own threads. A row once called garbage must stay
 * garbage: it may vanish at any time afterwards, for existing views too. In SPACE_BODIES so may
 * its deletion and earlier versions of it come back: nobody may take notice of them. */
struct storage_sweeper {
    void *(*begin)(void *owner, enum storage_space space);
    bool (*is_garbage)(void *context, partition_id partition, bytes key, bytes value);
    void (*end)(void *owner, void *context);
    void *owner;
};

struct storage_options {
    const char *path; /* directory; unused by memory */
    const struct log *log;
    struct metrics *metrics;
    struct storage_sweeper sweeper; /* all NULL: no sweeping */
    size_t cache_bytes;             /* block cache; 0: the backend's default */
    bool must_exist;                /* do not create */
    bool is_read_only;              /* for `check`: no writes, no recovery side effects visible */
    bool counts_written_bytes; /* for benchmarks: storage_usage knows; a get costs a tenth more */
};

/* ---- life ----------------------------------------------------------------------------------------- */

/* Owner: handle. IO_ERROR when the directory cannot be used (in use by another process included),
 * CORRUPT when it is not a database of ours or is damaged, NOT_FOUND when it must exist (or is to be read
 * only) and does not. Messages are in `arena`. */
MUST_USE status storage_open_rocksdb(const struct storage_options *options, struct arena *arena,
                                     struct storage **out);
MUST_USE status storage_open_memory(const struct storage_options *options, struct storage **out);
void storage_close(struct storage *storage);
unsigned storage_capabilities(const struct storage *storage);

/* ---- reading -------------------------------------------------------------------------------------- */

/* One instant of the storage if it has snapshots; otherwise each read sees its own instant. Keep it
 * short: an open view keeps old files on disk. A NULL view reads the newest state. */
struct storage_view;
MUST_USE status storage_view_open(struct storage *storage, struct storage_view **out);
void storage_view_close(struct storage *storage, struct storage_view *view);

struct row_address {
    partition_id partition;
    enum storage_space space;
};

/* A value that stays put until storage_value_release(); borrowed from the backend. */
struct storage_value {
    bytes value;
    void *pin;
};
/* NOT_FOUND (static message) if there is no such row. */
MUST_USE status storage_get(struct storage *storage, struct storage_view *view,
                            struct row_address where, bytes key, struct storage_value *out);
void storage_value_release(struct storage *storage, struct storage_value *value);
/* What storage_get() gives for each of the keys, all at once for less than one by one. A row that is not there, or cannot be read,
 * has no pin. */
void storage_get_some(struct storage *storage, struct storage_view *view, struct row_address where,
                      const bytes *keys, size_t count, struct storage_value *out);
/* Which of these rows are not there now, all at once for less than one by one. What is true is sure; what is false is
 * not known. `arena` is for the time of the call. */
void storage_find_missing(struct storage *storage, struct row_address where, const bytes *keys,
                          size_t count, struct arena *arena, bool *is_missing_out);

/* Rows with start <= key < end in key order, or from the end backwards. An empty `end` means: to the
 * end of the space in this partition. O(1) memory. */
struct storage_range {
    bytes start;
    bytes end;
    bool is_reverse;
    bool is_bulk; /* much will be read, once: read ahead, and leave what others have in the cache */
};
struct storage_scan;
MUST_USE status storage_scan_open(struct storage *storage, struct storage_view *view,
                                  struct row_address where, const struct storage_range *range,
                                  struct storage_scan **out);
/* False at the end or on failure. Key and value are borrowed until the next call. */
bool storage_scan_next(struct storage_scan *scan, bytes *key_out, bytes *value_out);
/* Jumps to `key` (or the first one after it in the scan's direction); the next call gives it. */
void storage_scan_seek(struct storage_scan *scan, bytes key);
/* OK if the scan ended because there was nothing more. */
MUST_USE status storage_scan_status(const struct storage_scan *scan);
void storage_scan_close(struct storage_scan *scan);

/* Keys within the range, ascending and at most `most`, that part it into stretches of some megabytes, so that
 * several threads may scan one each; none if it is small. An estimate: no view is needed. In `arena`. */
struct storage_parting {
    bytes *keys;
    size_t count;
};
MUST_USE status storage_part(struct storage *storage, struct row_address where,
                             const struct storage_range *range, size_t most, struct arena *arena,
                             struct storage_parting *out);

/* ---- writing -------------------------------------------------------------------------------------- */

/* What one commit does, in order. Owner: handle; keys and values are copied in. */
struct storage_batch;
struct storage_batch *storage_batch_open(struct storage *storage);
void storage_batch_close(struct storage *storage, struct storage_batch *batch);
void storage_batch_clear(struct storage *storage, struct storage_batch *batch);
size_t storage_batch_bytes(const struct storage *storage, const struct storage_batch *batch);

void storage_put(struct storage *storage, struct storage_batch *batch, struct row_address where,
                 bytes key, bytes value);
void storage_delete(struct storage *storage, struct storage_batch *batch, struct row_address where,
                    bytes key);
/* All keys with start <= key < end; an empty end means to the end of the space in this partition. */
void storage_delete_range(struct storage *storage, struct storage_batch *batch,
                          struct row_address where, bytes start, bytes end);
/* Adds to a row of two signed counters (16 bytes, most significant byte first; absent counts as 0, 0).
 * Only in SPACE_META, where a value of 16 zero bytes always counts as such a row. A row whose counters
 * are both 0 may or may not be there. */
struct storage_counters {
    int64_t first;
    int64_t second;
};
void storage_add(struct storage *storage, struct storage_batch *batch, struct row_address where,
                 bytes key, struct storage_counters delta);
bool storage_counters_decode(bytes value, struct storage_counters *out);

/* A claim that must hold for the commit to happen: the row has exactly this value, or (empty value)
 * is absent. Guards see the state before the commit. */
struct storage_guard {
    struct row_address where;
    bytes key;
    bytes expected;
};

/* Applies the batch atomically and, where the backend is durable, synced. CONFLICT: nothing was written
 * and *conflict_out is the index of a guard that did not hold. IO_ERROR: the backend refuses further
 * commits. UNSUPPORTED: several partitions without the capability. One caller at a time (the commit
 * queue sees to that). UNKNOWN_RESULT: as IO_ERROR, but the batch may have reached the disk and may be
 * there after a restart; until then no reader sees it. */
MUST_USE status storage_commit(struct storage *storage, struct storage_batch *batch,
                               const struct storage_guard *guards, size_t guard_count,
                               struct arena *arena, size_t *conflict_out);

/* ---- giving space back ----------------------------------------------------------------------------- */

/* After a synced range delete of the same range, or where nobody minds rows that are left of it, older
 * versions included: gives whole files inside it back at once, whatever old views may think of it. Costs
 * next to nothing. What still lies in fresh files of the topmost level
 * stays until compaction gets there: call it again at the next truncation, from the same start. */
MUST_USE status storage_drop_range(struct storage *storage, struct row_address where, bytes start,
                                   bytes end);
/* Behind it, from a thread that nobody waits for: what still lies in such files leaves through the sweeper, where nothing else
 * lies in the same file; blocks until done. `has_rest`: somebody was rewriting some of them, and the dead may have got into files
 * that storage_drop_range takes now. */
MUST_USE status storage_drop_fresh(struct storage *storage, struct row_address where, bytes start,
                                   bytes end, bool *has_rest);
/* Asks for the rows of SPACE_ROWS in [start, end) of the partition to be swept now; blocks until done.
 * `end` empty: to the end. Memory sweeps at once. */
MUST_USE status storage_sweep(struct storage *storage, partition_id partition, bytes start,
                              bytes end);
/* Gives back what deleted rows of a partition still take, in all spaces and in the log; blocks until
 * done. Rewrites what lies between them, so it is for partitions that are (almost) empty. */
MUST_USE status storage_settle(struct storage *storage, partition_id partition);
/* Gives back what the log takes if that is much beside what it is the log of: writes what is in memory to files. For now and
 * then, from a thread that nobody waits for; blocks until done. */
MUST_USE status storage_trim(struct storage *storage);
/* Bytes on disk (files), and bytes written since opening (WAL + flush + compaction); 0 if unknown or not
 * asked for with counts_written_bytes. */
struct storage_usage {
    uint64_t disk_bytes;
    uint64_t written_bytes;
};
void storage_usage(struct storage *storage, struct storage_usage *out);

/* ---- copies --------------------------------------------------------------------------------------- */

/* Makes the directory `path`, which must not exist, a database of its own that holds what this one holds at
 * one instant, every commit included that has returned. Files that no longer change are hard links, so `path`
 * must be on the same file system, and what this storage gives back takes up space until `path` is removed.
 * UNSUPPORTED in memory; IO_ERROR. */
MUST_USE status storage_checkpoint(struct storage *storage, const char *path, struct arena *arena);
/* Keeps servers out of the data directory at `path`, so that its files can be copied, until *fd_out is closed.
 * IO_ERROR if a server has it; NOT_FOUND, CORRUPT as for opening. */
MUST_USE status storage_keep_out(const char *path, struct arena *arena, int *fd_out);
/* True if a file of this name in a data directory belongs to the database: not a lock, a log for people, or
 * what others keep beside it. */
bool storage_owns_file(const char *name);
/* A directory that is being filled, or was left by somebody who did not come to his end, has a file of this name. */
extern const char storage_unfinished_name[];
/* The file that makes a directory a data directory: what is copied has it last. */
extern const char storage_mark_name[];

/* ---- overlays ------------------------------------------------------------------------------------- */

/* What `below` holds at this instant, and changes over it that are in memory only: they are never written
 * below, and are gone when it is closed. Ranges cannot be deleted in it, nor counters added to. An open
 * overlay is an open view. `below` is borrowed. */
MUST_USE status storage_open_overlay(struct storage *below, struct storage **out);

/* ---- test doubles --------------------------------------------------------------------------------- */

/* Wraps `inner` (owned from now on). The n-th call that can fail, counted from storage_faulty_arm, fails
 * with IO_ERROR without having done anything; n = 0 disarms. After a failed commit further commits
 * fail until storage_faulty_heal. */
MUST_USE status storage_open_faulty(struct storage *inner, struct storage **out);
void storage_faulty_arm(struct storage *faulty, uint64_t nth_call);
void storage_faulty_heal(struct storage *faulty);
/* From then on storage_drop_fresh always tells of a rest. */
void storage_faulty_leave_rest(struct storage *faulty);
/* Calls that could have failed since the last arm. */
uint64_t storage_faulty_calls(const struct storage *faulty);

#endif
