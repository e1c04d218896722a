/* Files that leave the database without anybody waiting for the file system; see rocksdb_trash.c. */
#ifndef STORAGE_ROCKSDB_TRASH_H
#define STORAGE_ROCKSDB_TRASH_H

#include "storage/rocksdb_backend.h"

/* Before the files of a range are dropped: both keys are full ones. */
void trash_keep(struct rocksdb_storage *rocks, enum storage_space space, bytes first, bytes last);
/* Behind it: they go in the background. After opening too, if an earlier process has left some. */
bool trash_is_there(const struct rocksdb_storage *rocks);
void trash_empty(struct rocksdb_storage *rocks);
/* Leaves the rest to the next opening. */
void trash_end(struct rocksdb_storage *rocks);

#endif
