/* Room in RocksDB's write-ahead log that is on the disk before it is needed; see rocksdb_ahead.c. */
#ifndef STORAGE_ROCKSDB_AHEAD_H
#define STORAGE_ROCKSDB_AHEAD_H

#include "storage/rocksdb_backend.h"

/* Around a commit of so many bytes, by the committing thread. Never fails: at worst the commit is slower. */
void ahead_prepare(struct rocksdb_storage *rocks, size_t size);
void ahead_committed(struct rocksdb_storage *rocks);

/* Around whatever copies the log that is in use, or puts another in its place that shall be short: no zeros are written meanwhile, and those
 * that were have their commit before them. */
void ahead_pause(struct rocksdb_storage *rocks);
void ahead_resume(struct rocksdb_storage *rocks);

void ahead_begin(struct rocksdb_storage *rocks);
void ahead_end(struct rocksdb_storage *rocks);

/* Whether there may be zeros behind the end of the log; for whoever writes one, also of a copy. */
bool ahead_is_free(const struct rocksdb_storage *rocks);

#endif
