/* What RocksDB asks about rows that it writes to files: see rocksdb_sweeper.cc. */
#ifndef STORAGE_ROCKSDB_SWEEPER_H
#define STORAGE_ROCKSDB_SWEEPER_H

#include <rocksdb/c.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rocksdb_storage;
struct sweep;

/* The options of a space use it from then on. `has_versions`: earlier versions of garbage must not come back. */
void rocksdb_sweeper_choose(rocksdb_options_t *options, struct rocksdb_storage *rocks, int space,
                            bool has_versions);

/* In rocksdb_hooks.c. From a beginning to its end rows are judged by one thread; NULL keeps everything. */
struct sweep *rocksdb_sweep_begin(struct rocksdb_storage *rocks, int space);
bool rocksdb_sweep_is_garbage(const struct sweep *sweep, const char *key, size_t key_len,
                              const char *value, size_t value_len);
void rocksdb_sweep_end(struct sweep *sweep);

#ifdef __cplusplus
}
#endif

#endif
