/* The sync of a commit, beside the filling of the memory tables: see rocksdb_sync.c. Private to the backend. */
#ifndef STORAGE_ROCKSDB_SYNC_H
#define STORAGE_ROCKSDB_SYNC_H

#include "storage/rocksdb_backend.h"

/* Before anything else of this; `rocks` is zeroed. */
void sync_begin(struct rocksdb_storage *rocks);
/* Before the database is closed, when nobody reads any more. */
void sync_end(struct rocksdb_storage *rocks);
/* When it is closed, and with it all of its logs. */
void sync_release(struct rocksdb_storage *rocks);

/* Around a commit of so many bytes, on the thread that commits. */
void sync_commit_begin(struct rocksdb_storage *rocks, size_t size);
/* 0, or why the log could not be synced, as errno says it: then nobody has seen the commit, nor will before a restart. */
int sync_commit_end(struct rocksdb_storage *rocks);

/* What shows the newest state to whoever has no view: NULL, or the last one that is on the disk for sure, if a sync has failed.
 * It is the right one if it is still the same after reading. */
const struct sound_state *sync_sound_state(const struct rocksdb_storage *rocks);

#endif
