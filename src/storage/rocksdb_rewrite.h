/* The end of a snapshot, and whether RocksDB rewrites files because of it. Private to the backend. */
#ifndef STORAGE_ROCKSDB_REWRITE_H
#define STORAGE_ROCKSDB_REWRITE_H

#include "storage/rocksdb_backend.h"

struct raw_view;
/* May the view have kept much alive that nobody needs any more? */
bool rewrite_is_worth(struct rocksdb_storage *rocks, const struct raw_view *view);
/* Releases the snapshot of the view. */
void rewrite_release(struct rocksdb_storage *rocks, const struct raw_view *view);

#endif
