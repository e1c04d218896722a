/* A sorted file of RocksDB, opened without RocksDB: its index, and what it says was deleted. Private to the backend. */
#ifndef STORAGE_ROCKSDB_SORTED_H
#define STORAGE_ROCKSDB_SORTED_H

#include "storage/sst.h"

/* Where a block lies, and 16 bytes of its key in the index: those behind what all of them begin with. */
enum { SORTED_STRIDE = 16 };
struct sorted_block {
    uint64_t head[2];
    uint64_t offset;
    uint64_t len;
};

/* Blocks beside each other whose keys differ in nothing but the number that they end in. */
struct sorted_run {
    uint64_t front; /* what stands before it, behind what all keys begin with */
    uint64_t first; /* number */
    uint32_t begin, end;
    double blocks_per_number;
};
/* All that a get needs to know of a block; many of them lie in one page of memory. */
struct sorted_spot {
    uint32_t number; /* as far as it is above the first of its run */
    uint32_t offset;
};

/* Does not change once it is open, so that any number of threads may read it. Shared by its holders. */
struct sorted {
    int file;
    uint64_t number; /* in its name; no other file ever has the same */
    struct sst_index index;
    /* The same index once more, for searches: the blocks, and the heads of every SORTED_STRIDE-th of them. */
    bytes prefix;
    struct sorted_block *blocks;
    struct sorted_head {
        uint64_t half[2];
    } * heads;
    uint32_t head_count;
    /* And once more, for gets; only where the runs are few. */
    struct sorted_run *runs;
    uint32_t run_count;
    size_t key_len, number_at; /* of the longest key; others have been cut off */
    struct sorted_spot *spots; /* of all blocks, and where the last one ends */
    /* private to rocksdb_sorted.c */
    struct sorted_range *ranges; /* of what was deleted */
    size_t range_count;
    uint8_t *index_room, *ranges_room;
    _Atomic unsigned holders;
    _Atomic unsigned *tally; /* where this file is counted as long as it is open; NULL: nowhere */
};

/* Owner: handle. NULL if it cannot be read this way. */
struct sorted *sorted_open(const char *path);
void sorted_hold(struct sorted *sorted);
void sorted_let_go(struct sorted *sorted);

/* Is the key in a range that the file says was deleted? */
bool sorted_suspects(const struct sorted *sorted, bytes key);
/* The block that holds `key`, if one does. */
struct sorted_hit {
    struct sst_place place;
    unsigned portion; /* so many SORTED_PORTIONS-ths of the block probably reach behind the key */
};
enum { SORTED_PORTIONS = 256 };
enum sorted_find { SORTED_NOWHERE, SORTED_IN_BLOCK, SORTED_UNTOLD };
enum sorted_find sorted_find(const struct sorted *sorted, bytes key, struct sorted_hit *out);
/* That will be asked soon: what it looks at is fetched from memory meanwhile. */
void sorted_expect(const struct sorted *sorted, bytes key);
/* The first block that may hold `key` or what comes behind it, by its number; how many there are if there is none. False if
 * that cannot be told. */
bool sorted_seek(const struct sorted *sorted, bytes key, uint32_t *out);
bool sorted_read(const struct sorted *sorted, uint64_t offset, uint8_t *out, size_t len);

#endif
