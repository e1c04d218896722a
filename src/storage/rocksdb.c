/* RocksDB: rows on disk.
 *
 * All partitions share one database with a column family per space; a row's key there is its
 * partition (8 bytes) and its key, so a partition is a range. Opening claims the directory first, so
 * that a wrong path or a second server is found before anything is touched.
 *
 * Keeps: what was committed is on disk before the commit returns; no write after a failed write.
 * Threads: any. Start reading at storage_open_rocksdb(); the other parts are listed in
 * rocksdb_backend.h. */
#include <string.h>

#include "storage/directory.h"
#include "storage/rocksdb_ahead.h"
#include "storage/rocksdb_graves.h"
#include "storage/rocksdb_log.h"
#include "storage/rocksdb_memtable.h"
#include "storage/rocksdb_raw.h"
#include "storage/rocksdb_spare.h"
#include "storage/rocksdb_sync.h"
#include "storage/rocksdb_trash.h"

/* RocksDB insists on a family called default. Names are stored. */
const char *const rocksdb_space_names[SPACE_COUNT] = {
    [SPACE_META] = "default",
    [SPACE_ROWS] = "rows",
    [SPACE_BODIES] = "bodies",
};

/* ---- failures ------------------------------------------------------------------------------------- */

status_code rocksdb_error_code(const char *error)
{
    return strncmp(error, "Corruption", strlen("Corruption")) == 0 ? CORRUPT : IO_ERROR;
}

status rocksdb_failure(const struct rocksdb_storage *rocks, const char *doing, char *error)
{
    const status_code code = rocksdb_error_code(error);

    if (rocks->log != NULL)
        log_event(rocks->log, LOG_ERROR, "storage_failed", "doing=%s error=\"%s\"", doing, error);
    rocksdb_free(error);
    return code == CORRUPT
               ? status_of(CORRUPT, "stored bytes are damaged; the server's log has the details")
               : status_of(IO_ERROR, "the disk failed; the server's log has the details");
}

/* ---- life ----------------------------------------------------------------------------------------- */

static void rocks_close(struct storage *storage)
{
    struct rocksdb_storage *rocks = rocksdb_of(storage);

    spares_end(rocks);
    trash_stop(rocks);
    sync_end(rocks);
    if (rocks->db != NULL) {
        for (int i = 0; i < SPACE_COUNT; i++)
            rocksdb_column_family_handle_destroy(rocks->spaces[i]);
        rocksdb_close(rocks->db);
    }
    sync_release(rocks);
    for (int i = 0; i < SPACE_COUNT; i++)
        raw_shelf_close(&rocks->shelves[i]);
    trash_end(rocks);
    raw_blocks_close(rocks->blocks);
    raw_blocks_close(rocks->body_blocks);
    ASSERT(atomic_load(&rocks->sweeps_running) == 0);
    if (rocks->options[0] != NULL)
        rocksdb_options_release(rocks);
    ahead_end(rocks);
    spares_release(rocks);
    pthread_mutex_destroy(&rocks->trash.lock);
    directory_close(rocks->directory_fd);
    memory_give(rocks->path);
    memory_give(rocks);
}

static const struct storage_backend rocksdb_backend = {
    .close = rocks_close,
    .view_open = rocks_view_open,
    .view_close = rocks_view_close,
    .get = rocks_get,
    .get_some = rocks_get_some,
    .find_missing = rocks_find_missing,
    .value_release = rocks_value_release,
    .scan_open = rocks_scan_open,
    .scan_next = rocks_scan_next,
    .scan_seek = rocks_scan_seek,
    .scan_status = rocks_scan_status,
    .scan_close = rocks_scan_close,
    .part = rocks_part,
    .batch_open = rocks_batch_open,
    .batch_close = rocks_batch_close,
    .batch_clear = rocks_batch_clear,
    .batch_bytes = rocks_batch_bytes,
    .put = rocks_put,
    .delete = rocks_delete,
    .delete_range = rocks_delete_range,
    .add = rocks_add,
    .commit = rocks_commit,
    .drop_range = rocks_drop_range,
    .drop_fresh = rocks_drop_fresh,
    .sweep = rocks_sweep,
    .settle = rocks_settle,
    .trim = rocks_trim,
    .usage = rocks_usage,
    .checkpoint = rocks_checkpoint,
};

static struct rocksdb_storage *rocks_make(const struct storage_options *options)
{
    struct rocksdb_storage *rocks = memory_take_zeroed(1, sizeof(*rocks));
    const size_t path_size = strlen(options->path) + 1;

    ASSERT(rocks != NULL);
    rocks->base.backend = &rocksdb_backend;
    rocks->base.capabilities = STORAGE_HAS_SNAPSHOTS | STORAGE_HAS_MULTI_PARTITION |
                               STORAGE_HAS_RANGE_DROP | STORAGE_HAS_SWEEPER |
                               STORAGE_HAS_SINGLE_WRITER | STORAGE_IS_DURABLE;
    rocks->log = options->log;
    rocks->sweeper = options->sweeper;
    rocks->is_read_only = options->is_read_only;
    rocks->directory_fd = -1;
    for (int i = 0; i < SPACE_COUNT; i++)
        raw_shelf_open(&rocks->shelves[i], rocks, (enum storage_space)i);
    ahead_begin(rocks);
    spares_init(rocks);
    sync_begin(rocks);
    pthread_mutex_init(&rocks->trash.lock, NULL);
    atomic_store(&rocks->sweeps_running, 0);
    rocks->path = memory_take(path_size);
    ASSERT(rocks->path != NULL);
    memcpy(rocks->path, options->path, path_size);
    return rocks;
}

/* RocksDB's own text, or NULL. */
static char *open_database(struct rocksdb_storage *rocks)
{
    const rocksdb_options_t *const *each = (const rocksdb_options_t *const *)rocks->options;
    char *error = NULL;

    for (int i = 0; i < SPACE_COUNT; i++)
        rocksdb_memtable_collect(rocks->options[i], true);
    if (rocks->is_read_only)
        rocks->db = rocksdb_open_for_read_only_column_families(rocks->options[0], rocks->path,
                                                               SPACE_COUNT, rocksdb_space_names,
                                                               each, rocks->spaces, 0, &error);
    else
        rocks->db = rocksdb_open_column_families(rocks->options[0], rocks->path, SPACE_COUNT,
                                                 rocksdb_space_names, each, rocks->spaces, &error);
    for (int i = 0; i < SPACE_COUNT; i++)
        rocksdb_memtable_collect(rocks->options[i], false);
    return error;
}

static char *open_strictly(struct rocksdb_storage *rocks, const struct logs_left *left)
{
    const bool is_kept = left->is_synced && left->bytes <= KEPT_LOG_BYTES_MAX &&
                         !rocks->is_read_only;
    const uint64_t kept_log_bytes = is_kept ? left->bytes : 0;

    rocksdb_options_set_recovery(rocks, RECOVERY_STRICT, kept_log_bytes);
    char *error = open_database(rocks);
    if (error == NULL && kept_log_bytes > 0)
        error = rocksdb_options_end_recovery(rocks, kept_log_bytes);
    return error;
}

static char *open_up_to_damage(struct rocksdb_storage *rocks, const char *damage)
{
    rocksdb_options_set_recovery(rocks, RECOVERY_UP_TO_DAMAGE, 0);
    char *error = open_database(rocks);
    if (error == NULL && rocks->log != NULL)
        log_event(rocks->log, LOG_WARNING, "storage_log_damaged",
                  "kept=\"everything before the damage\" path=%s error=\"%s\"", rocks->path,
                  damage);
    return error;
}

/* Strictly first, unless that is known to fail; with a damaged log, up to the damage and with a warning (see
 * rocksdb_options.c). */
static status open_or_recover(struct rocksdb_storage *rocks, struct arena *arena)
{
    const struct logs_left left = logs_look(rocks);
    char *error;

    if (left.is_cut)
        error = open_up_to_damage(rocks, "the log ends in a record that is not whole");
    else {
        error = open_strictly(rocks, &left);
        if (error != NULL && rocks->db == NULL && rocksdb_error_code(error) == CORRUPT) {
            char *strict_error = error;
            error = open_up_to_damage(rocks, strict_error);
            rocksdb_free(strict_error);
        }
    }
    if (error == NULL)
        return STATUS_OK;
    const status s = status_fail(arena, rocksdb_error_code(error),
                                 "cannot open the database in %s: %s", rocks->path, error);
    rocksdb_free(error);
    return s;
}

status storage_open_rocksdb(const struct storage_options *options, struct arena *arena,
                            struct storage **out)
{
    const struct directory_claim claim = {
        .path = options->path,
        .must_exist = options->must_exist,
        .is_read_only = options->is_read_only,
    };
    status s;

    *out = NULL;
    ASSERT(options->path != NULL);
    struct rocksdb_storage *rocks = rocks_make(options);
    TRY_GOTO(directory_open(&claim, arena, &rocks->directory_fd), done);
    rocksdb_options_make(rocks, options);
    s = open_or_recover(rocks, arena);
    if (s.code == OK && !rocks->is_read_only) {
        raw_begin(rocks);
        trash_begin(rocks);
        spares_begin(rocks);
    }
done:
    if (s.code == OK)
        *out = &rocks->base;
    else
        rocks_close(&rocks->base);
    return s;
}
