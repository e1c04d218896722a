/* Files that leave the database without anybody waiting for the file system; see rocksdb_trash.c. */
#ifndef STORAGE_ROCKSDB_TRASH_H
#define STORAGE_ROCKSDB_TRASH_H

#include "storage/rocksdb_backend.h"

/* Full keys, both included. */
struct file_bounds {
    bytes first, last;
};
/* Of one file of a list, for as long as there is the list. */
struct file_bounds trash_bounds(const rocksdb_livefiles_t *files, int i);
bool trash_lies_within(const rocksdb_livefiles_t *files, int i, enum storage_space space,
                       struct file_bounds range);

/* Before the files of a range are dropped. */
void trash_keep(struct rocksdb_storage *rocks, enum storage_space space, struct file_bounds range);
/* Behind it: they go in the background. After opening too, if an earlier process has left some. */
bool trash_is_there(const struct rocksdb_storage *rocks);
void trash_empty(struct rocksdb_storage *rocks);
/* Leaves the rest to the next opening. */
void trash_end(struct rocksdb_storage *rocks);

#endif
