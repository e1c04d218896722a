/* Logs that RocksDB is done with, for the logs that it begins next; see rocksdb_spare.c. */
#ifndef STORAGE_ROCKSDB_SPARE_H
#define STORAGE_ROCKSDB_SPARE_H

#include "storage/rocksdb_backend.h"

/* Around the life of the storage. */
void spares_init(struct rocksdb_storage *rocks);
void spares_release(struct rocksdb_storage *rocks);
/* From the opening of the database to right before its closing, with the trash. If it cannot begin, and behind its end, there are no spares, and no
 * log is taken for one. */
void spares_begin(struct rocksdb_storage *rocks);
void spares_end(struct rocksdb_storage *rocks);

/* Instead of removing a file of a database: true if it may become a spare now. */
bool spares_take(const char *path);
/* One look at what has come, and at the disk: if it has not twice as much room as that, all go to the trash. How many are ready behind
 * it. For tests: a thread does that. */
size_t spares_tend(struct rocksdb_storage *rocks, uint64_t room_bytes);

/* So much goes to the log in use. */
void spares_count(struct rocksdb_storage *rocks, size_t len);

/* Between these no log is begun with a spare, and when the first returns, none that was is without a commit. Commits must be held up
 * during the first. */
void spares_pause(struct rocksdb_storage *rocks);
void spares_resume(struct rocksdb_storage *rocks);

#endif
