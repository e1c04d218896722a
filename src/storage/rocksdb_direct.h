/* A log of RocksDB that goes to the disk past the system's cache: see rocksdb_direct.c. */
#ifndef STORAGE_ROCKSDB_DIRECT_H
#define STORAGE_ROCKSDB_DIRECT_H

#include <linux/aio_abi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct direct_log;

/* What goes through the system's cache at the beginning of a log, so that a small one has no zeros behind its end. */
enum { DIRECT_FROM_BYTES = 64 << 10 };

/* A log that is there and empty, or a spare one, which has nothing but zeros in it. Owner: handle. NULL: errno says why.
 * The context is that of one log behind the other, which begin to write by it: 0 until one does, and as long as the logs. */
struct direct_log *direct_open(const char *path, bool is_spare, aio_context_t *context);
/* Of a context: waits for what was begun, and some hundredths of a second more. It is 0 then, and may be used again. */
void direct_end(aio_context_t *context);
/* Cuts off what lies behind the end, if the log still has its name. 0 or an errno; the handle is gone in any case. */
int direct_close(struct direct_log *log);

/* Of what was appended; what its file is known by, for those who sync it. */
uint64_t direct_bytes(const struct direct_log *log);
int direct_file(const struct direct_log *log);

/* 0 or an errno, as below. `may_begin`: it may be direct from here on, with zeros behind its end. */
int direct_append(struct direct_log *log, const void *data, size_t len, bool may_begin);
/* Starts to write what was appended, if that can be done without waiting for it. May be left out. */
void direct_begin(struct direct_log *log);
/* What was appended is in the file when this returns, and on the disk behind a sync. */
int direct_write(struct direct_log *log);

#ifdef __cplusplus
}
#endif

#endif
