/* RocksDB's write-ahead logs as a process left them; see rocksdb_log.c. */
#ifndef STORAGE_ROCKSDB_LOG_H
#define STORAGE_ROCKSDB_LOG_H

#include "storage/rocksdb_backend.h"

/* A log consists of blocks, and a commit of pieces that each lie in one block, behind a head. */
enum { LOG_BLOCK_BYTES = 32 << 10, LOG_HEAD_BYTES = 7 };

enum { LOG_NAME_BYTES = 32 };
/* The number in NNNNNN.log, or 0; and the name of such a number. */
uint64_t log_number(const char *name);
void log_name(uint64_t number, char out[LOG_NAME_BYTES]);
/* The log of this number, with flags of open(); -1 if there is none. */
int log_open(int directory, uint64_t number, int flags);
/* The newest one in a directory, the same way. */
int log_open_newest(const char *path, int flags);

/* False if that fails. One page of memory at a time: where the system keeps larger pieces of a file together, it counts a
 * whole piece as written for each commit into it. */
bool log_write_zeros(int log, uint64_t at, uint64_t size);
/* Has it nothing in it, or nothing but zeros? */
bool log_is_empty(int log);

struct logs_left {
    uint64_t bytes; /* zeros included */
    bool is_cut;    /* the last record is not whole, and zeros follow it */
    bool is_synced; /* what can be read is on the disk */
};

/* Before RocksDB is opened. Nothing is changed; what cannot be found out is false. */
struct logs_left logs_look(const struct rocksdb_storage *rocks);

#endif
