/* What RocksDB makes files with, so that we have a say; see rocksdb_disk.cc. */
#ifndef STORAGE_ROCKSDB_DISK_H
#define STORAGE_ROCKSDB_DISK_H

#include <rocksdb/c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rocksdb_storage;
struct rocksdb_disk;

/* The options of the database use it from then on; it has to outlive the database. */
struct rocksdb_disk *rocksdb_disk_choose(rocksdb_options_t *options, struct rocksdb_storage *rocks);
void rocksdb_disk_release(struct rocksdb_disk *disk);

/* What RocksDB does with a log (rocksdb_sync.c): the path is that of one that was just made, or of a spare one. NULL: errno says
 * why; the numbers are 0 or an errno, but for how long the log is. */
struct direct_log;
/* Then no log may begin. */
bool sync_has_failed(const struct rocksdb_storage *rocks);
struct direct_log *sync_log_open(struct rocksdb_storage *rocks, const char *path, bool is_spare);
int sync_log_append(struct rocksdb_storage *rocks, struct direct_log *log, const void *data,
                    size_t len);
int sync_log(struct rocksdb_storage *rocks, struct direct_log *log);
uint64_t sync_log_bytes(struct rocksdb_storage *rocks, const struct direct_log *log);
int sync_log_close(struct rocksdb_storage *rocks, struct direct_log *log);

/* What it asks when a log begins (rocksdb_spare.c). From `begin` to `end`, which follows in any case,
 * nobody else begins one. The first is true if there is a spare to begin it with: its path is in
 * `spare_out`. The second says whether that was done, and is true if it was and the new name is on the disk. */
bool spares_begin_log(struct rocksdb_storage *rocks, const char *path, char spare_out[],
                      size_t spare_size);
bool spares_end_log(struct rocksdb_storage *rocks, bool is_renamed);

#ifdef __cplusplus
}
#endif

#endif
