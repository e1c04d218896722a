/* A sorted file of RocksDB, opened without RocksDB: its index, and what it says was deleted. Private to the backend. */
#ifndef STORAGE_ROCKSDB_SORTED_H
#define STORAGE_ROCKSDB_SORTED_H

#include "storage/sst.h"

/* Does not change once it is open, so that any number of threads may read it. Shared by its holders. */
struct sorted {
    int file;
    struct sst_index index;
    /* private to rocksdb_sorted.c */
    struct sorted_range *ranges; /* of what was deleted */
    size_t range_count;
    uint8_t *index_room, *ranges_room;
    _Atomic unsigned holders;
};

/* Owner: handle. NULL if it cannot be read this way. */
struct sorted *sorted_open(const char *path);
void sorted_hold(struct sorted *sorted);
void sorted_let_go(struct sorted *sorted);

/* Is the key in a range that the file says was deleted? */
bool sorted_suspects(const struct sorted *sorted, bytes key);
bool sorted_read(const struct sorted *sorted, uint64_t offset, uint8_t *out, size_t len);

#endif
