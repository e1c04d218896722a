/* Files that leave the database without anybody waiting for the file system; see rocksdb_trash.c. */
#ifndef STORAGE_ROCKSDB_TRASH_H
#define STORAGE_ROCKSDB_TRASH_H

#include <sys/stat.h>

#include "storage/rocksdb_backend.h"

/* From the opening to the closing of the database; what an earlier process has left goes too. */
void trash_begin(struct rocksdb_storage *rocks);
/* Before the database is closed. */
void trash_stop(struct rocksdb_storage *rocks);
/* Behind it. What is much stays until the next opening. */
void trash_end(struct rocksdb_storage *rocks);

/* Files were dropped while RocksDB was told to keep all of them (rocks_drop_range); now it may let them go,
 * and another thread sees to that. */
void trash_let_go(struct rocksdb_storage *rocks);
/* The same on the caller's thread: RocksDB looks for files that nobody needs, and removes them. */
void trash_let_go_now(struct rocksdb_storage *rocks);

/* Instead of removing a file of a database: true if it lies among the dropped ones now. */
bool trash_take(const char *path);

/* One look at everything that was dropped. */
struct trash_look {
    uint64_t bytes_max; /* removed at most */
    int stop;           /* a descriptor: whoever can read from it wants this to end; -1: nobody */
    struct rocksdb_storage
        *rocks;       /* lets go between steps what was held since; NULL: it is closed */
    uint64_t removed; /* bytes */
    unsigned in_use;  /* files that stay for now, because somebody reads them */
};
void trash_empty(const char *path, struct trash_look *look);

/* ---- for others who keep removed files (rocksdb_spare.c) ---- */

/* Where a file of this name would lie among the dropped ones. */
void trash_path(const struct rocksdb_storage *rocks, const char *name, char out[], size_t size);
/* May the content of a file go, which nobody can open or give another name any more? */
bool trash_is_ours_alone(int file, const struct stat *about, bool *in_use_out);
/* The disk has not twice as much room as that. */
bool trash_is_disk_scarce(int file, uint64_t size);
/* A directory, which is made, and a descriptor that can be read when something was moved there; -1 if that fails. */
int trash_watch(const char *path, const char *name);
/* What has come from now on is told by the descriptor. */
void trash_forget_arrivals(int arrivals);

#endif
