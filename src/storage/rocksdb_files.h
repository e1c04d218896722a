/* Which sorted files hold the rows of a space, for those who read them without RocksDB. Private to the backend. */
#ifndef STORAGE_ROCKSDB_FILES_H
#define STORAGE_ROCKSDB_FILES_H

#include <pthread.h>

#include "storage/rocksdb_graves.h"
#include "storage/rocksdb_sorted.h"
#include "storage/storage.h"

struct rocksdb_storage;

struct raw_file {
    bytes first, last; /* keys */
    bytes reach;       /* the greatest of the last keys of this file and all before it */
    const char *path;
    /* private to rocksdb_files.c */
    _Atomic(struct sorted *) sorted;
    _Atomic bool is_unreadable;
};

/* The files of one arrangement by their first keys. Shared by its holders; does not change. */
struct raw_files {
    uint64_t arrangement;
    uint64_t
        writes; /* of the shelf, if nothing was in memory when the files were listed; else odd */
    struct raw_file *files;
    size_t count;
    /* What was written before the files were listed and may be missing in them, and what was written since as long as
     * there was no turn. */
    struct graves_seen *graves;
    /* private to rocksdb_files.c */
    struct graves *home;
    struct arena *arena;
    _Atomic unsigned holders;
};

/* What is known of the files of a space, and of what is not in them yet. The newest list is shared by all views; `lock`
 * guards it. */
struct raw_shelf {
    struct rocksdb_storage *rocks;
    enum storage_space space;
    struct graves
        *graves; /* late writes; NULL if it is read only, or nobody reads the files of this space */
    /* Deletions that the graves do not know may be in memory still: those that were read from the log. */
    _Atomic bool has_past;
    /* Rows that were written since the last turn of the graves, and when it was last asked whether it is time for one;
     * the committing thread's, see raw_turn(). */
    uint64_t written, asked_at;
    _Atomic uint64_t writes; /* that have begun or ended: odd while one is under way */
    pthread_mutex_t lock;
    struct raw_files *newest;
    uint64_t missed; /* gets and short scans that had no list since the last one was made */
    uint64_t files;  /* in the last one */
    bool is_listing;
    _Atomic unsigned kept_open; /* files of lists */
};
void raw_shelf_open(struct raw_shelf *shelf, struct rocksdb_storage *rocks,
                    enum storage_space space);
void raw_shelf_close(struct raw_shelf *shelf);
/* Lets go of files that RocksDB may have removed: an open one keeps its space on the disk. */
void raw_shelf_tend(struct raw_shelf *shelf);
void raw_shelf_clear(struct raw_shelf *shelf);

/* Around each write to the space, by the thread that commits. */
void raw_shelf_write_begin(struct raw_shelf *shelf);
void raw_shelf_write_end(struct raw_shelf *shelf);

/* The number that RocksDB gives to what files and memory tables there are. */
uint64_t raw_arrangement(const struct raw_shelf *shelf);

/* For a view that is open. Owner: handle, let go by raw_files_let_go(). NULL: there is none, or it does not pay. */
struct raw_files *raw_files_for_get(struct raw_shelf *shelf);
/* The same in this arrangement. `is_short`: only if there is one, or if it pays by now. */
struct raw_files *raw_files_for_scan(struct raw_shelf *shelf, uint64_t arrangement, bool is_short);
/* The newest list if there is one and raw_files_are_all(). */
struct raw_files *raw_files_of_all(struct raw_shelf *shelf);
/* Is everything in the files that any view shows which is open now? */
bool raw_files_are_all(struct raw_shelf *shelf, const struct raw_files *list);
void raw_files_hold(struct raw_files *list);
void raw_files_let_go(struct raw_files *list);

/* Stays open with the list; borrowed from it. NULL if it cannot be read this way, or if too many are open. */
struct sorted *raw_file_keep(struct raw_shelf *shelf, struct raw_file *file);
/* Open in any case. Owner: handle, let go by sorted_let_go(). NULL if it cannot be read this way. */
struct sorted *raw_file_take(struct raw_shelf *shelf, struct raw_file *file);

#endif
