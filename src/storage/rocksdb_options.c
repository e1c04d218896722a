/* RocksDB options: how the engine room is set up, and why.
 *
 * Written for one writer at a time (the commit queue), small idle memory and whole files that leave
 * when their time is over. Everything that RocksDB would do beside that (statistics in its log,
 * persisted statistics, several writers at once) is off.
 *
 * A damaged write-ahead log. Every acknowledged commit was synced, so a crash can only cut or garble
 * what came after the last sync: nothing that was promised. RocksDB's absolute mode would refuse to
 * open after any kill in mid-write. Its tail mode accepts a record cut short at the end, which is all
 * that a killed process leaves, and refuses everything else; but after a power cut pages may have
 * reached the disk out of order, so an unsynced tail can also look garbled. Its point-in-time mode
 * reads up to the first damage and never mixes column families of different instants, but
 * cannot tell an unsynced tail from synced bytes that have rotted. So we open in tail mode first, and
 * if that fails, in point-in-time mode with a warning in the log: the server comes back after a power
 * cut, and no loss is silent. That happens after a kill in mid-write too, once there are zeros behind the end of the log
 * (rocksdb_ahead.c): a record cut short then looks garbled. That can be seen beforehand (rocksdb_log.c), so that the log is not
 * read twice for it: point-in-time mode at once, with the warning. Closed logs are listed in the manifest with their sizes, so a
 * missing or shortened one is found in either mode.
 *
 * What was read from the log. RocksDB would write it to files before anybody is served. In tail mode it stays in memory
 * instead, and is written to files while the first clients are served already. Until then the old logs are kept, and a second crash reads
 * them again; so they have to be on the disk (logs_look() has synced them), and the memory tables have to hold all of them, because
 * RocksDB writes all tables before anybody is served if one of them becomes full. After damage everything is written at once as
 * RocksDB would. A record cut short at the end of a file is no damage: such a log may be kept and be read again together with a later
 * one. Tail mode passes it over, and point-in-time mode does too, because the first record of the later log has the number that follows the
 * last whole one of the log before; so nothing may use up numbers that are not in the log. A log that is kept is not listed in
 * the manifest, until it goes a second later.
 *
 * Threads: called while opening and closing only. */
#include "storage/rocksdb_backend.h"

#include <stdio.h>
#include <unistd.h>

#include "storage/rocksdb_disk.h"
#include "storage/rocksdb_memtable.h"
#include "storage/rocksdb_sweeper.h"

enum {
    /* Most of it for index rows and locators: documents are read from the files themselves, and RocksDB is asked for those
     * only that were written lately. They have a part of their own, because a query that meets many of them must not push out
     * the rows that lead to them. */
    CACHE_BYTES = 72 << 20,
    BODIES_SHARE = 8,
    /* What a point read has to decompress for one document. */
    BLOCK_BYTES = 4 << 10,
    BLOOM_BITS = 10,
    /* Memory of a space until it is flushed; taken bit by bit, so an empty database has none. Also the
     * size of what a flush writes, and so of the smallest piece that a range drop can give back. */
    META_BUFFER_BYTES = 8 << 20,
    ROWS_BUFFER_BYTES = 32 << 20,
    BODIES_BUFFER_BYTES = 32 << 20,
    BUFFERS_MAX = 3,
    /* Such a piece of that memory comes from the system by itself (base/memory.c) and goes back to it after the flush;
     * smaller ones would leave holes between what lives longer. */
    BUFFER_PIECE_BYTES = 4 << 20,
    ROWS_FILE_BYTES = 32 << 20,
    BODIES_FILE_BYTES = 16 << 20,
    /* What a start after a crash has to read at most. */
    LOGS_BYTES_MAX = 128 << 20,
    /* What is in it goes to files before anybody is served. */
    LITTLE_LOG_BYTES = 4 << 20,
    SYNC_STEP_BYTES = 1 << 20,
    /* One long sweep must not keep the level-0 compactions from running: that would stall writers. */
    BACKGROUND_JOBS = 3,
    /* Unadded counters of one row that a reader may meet before they are folded into one. */
    SUCCESSIVE_ADDS_MAX = 16,
    INFO_LOGS_MAX = 4,
    INFO_LOG_BYTES = 4 << 20,
};

/* Of a memory table, for its filter. */
#define MEMTABLE_FILTER_RATIO 0.03

enum { TAIL_MODE = 0, POINT_IN_TIME_MODE = 2 }; /* WALRecoveryMode */
/* RocksDB's own log file gets its opening lines and nothing else. Debian's RocksDB runs with its
 * assertions on, and one of them ends the process at the second line that cannot be written: a full
 * disk would take the readers down with it. What goes wrong reaches us as statuses anyway. */
enum { INFO_LOG_HEADERS = 5 };
enum { COMPRESSION_LZ4 = rocksdb_lz4_compression };

/* Options that have a name but no setter. */
static void set_by_name(rocksdb_options_t **options, const char *text)
{
    rocksdb_options_t *changed = rocksdb_options_create();
    char *error = NULL;

    rocksdb_get_options_from_string(*options, text, changed, &error);
    ASSERT(error == NULL);
    rocksdb_options_destroy(*options);
    *options = changed;
}

/* Compaction gives way to requests, on the disk and on the processors; flushes do not. */
static void lower_background_threads(void)
{
    rocksdb_env_t *env = rocksdb_create_default_env();

    rocksdb_env_lower_thread_pool_io_priority(env);
    rocksdb_env_lower_thread_pool_cpu_priority(env);
    rocksdb_env_destroy(env);
}

static void set_database_options(rocksdb_options_t *o)
{
    rocksdb_options_set_max_open_files(o, -1);
    rocksdb_options_set_max_background_jobs(o, BACKGROUND_JOBS);
    rocksdb_options_set_avoid_unnecessary_blocking_io(o, 1);
    rocksdb_options_set_bytes_per_sync(o, SYNC_STEP_BYTES);
    rocksdb_options_set_max_total_wal_size(o, LOGS_BYTES_MAX);

    rocksdb_options_set_allow_concurrent_memtable_write(o, 0);
    rocksdb_options_set_enable_write_thread_adaptive_yield(o, 0);
    rocksdb_options_set_enable_pipelined_write(o, 0);

    rocksdb_options_set_info_log_level(o, INFO_LOG_HEADERS);
    rocksdb_options_set_keep_log_file_num(o, INFO_LOGS_MAX);
    rocksdb_options_set_max_log_file_size(o, INFO_LOG_BYTES);
    rocksdb_options_set_stats_dump_period_sec(o, 0);
    rocksdb_options_set_stats_persist_period_sec(o, 0);
}

struct space_settings {
    size_t buffer_bytes;
    uint64_t file_bytes;
    /* Within a block keys are searched by halves, then one by one up to so many: fewer where keys are short beside
     * their values, so that writing them in full costs nothing. */
    int keys_per_restart;
    bool has_filter;
    bool
        has_memtable_filter; /* for keys that are looked for before they are there: every insert does */
};

static const struct space_settings spaces[SPACE_COUNT] = {
    [SPACE_META] = {.buffer_bytes = META_BUFFER_BYTES,
                    .file_bytes = ROWS_FILE_BYTES,
                    .keys_per_restart = 16},
    [SPACE_ROWS] = {    .buffer_bytes = ROWS_BUFFER_BYTES,
                    .file_bytes = ROWS_FILE_BYTES,
                    .keys_per_restart = 8,
                    .has_filter = true,
                    .has_memtable_filter = true },
    [SPACE_BODIES] = { .buffer_bytes = BODIES_BUFFER_BYTES,
                    .file_bytes = BODIES_FILE_BYTES,
                    .keys_per_restart = 1,
                    .has_filter = true },
};

static void set_table_options(rocksdb_options_t *o, rocksdb_cache_t *cache,
                              const struct space_settings *space)
{
    rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();

    rocksdb_block_based_options_set_block_size(table, BLOCK_BYTES);
    rocksdb_block_based_options_set_block_restart_interval(table, space->keys_per_restart);
    rocksdb_block_based_options_set_block_cache(table, cache);
    /* Indexes and filters stay in memory beside the cache, about 10 bytes per document of 500 bytes: looking
     * them up in the cache instead would add a third to the instructions of a get. */
    rocksdb_block_based_options_set_cache_index_and_filter_blocks(table, 0);
    if (space->has_filter) {
        rocksdb_block_based_options_set_filter_policy(
            table, rocksdb_filterpolicy_create_bloom_full(BLOOM_BITS));
        rocksdb_block_based_options_set_whole_key_filtering(table, 1);
    }
    rocksdb_options_set_block_based_table_factory(o, table);
    rocksdb_block_based_options_destroy(table);
}

static void set_space_options(rocksdb_options_t *o, rocksdb_cache_t *cache,
                              const struct space_settings *space)
{
    rocksdb_options_set_compression(o, COMPRESSION_LZ4);
    rocksdb_options_set_write_buffer_size(o, space->buffer_bytes);
    rocksdb_options_set_max_write_buffer_number(o, BUFFERS_MAX);
    rocksdb_options_set_arena_block_size(o, BUFFER_PIECE_BYTES);
    rocksdb_options_set_target_file_size_base(o, space->file_bytes);
    rocksdb_options_set_level_compaction_dynamic_level_bytes(o, 1);
    set_table_options(o, cache, space);
    if (space->has_memtable_filter) {
        rocksdb_options_set_memtable_prefix_bloom_size_ratio(o, MEMTABLE_FILTER_RATIO);
        rocksdb_options_set_memtable_whole_key_filtering(o, 1);
    }
}

/* ---- reading the log -------------------------------------------------------------------------------- */

/* Rows take more memory than log: links, and lengths of whole words. */
static size_t recovery_buffer_bytes(enum storage_space space, uint64_t kept_log_bytes)
{
    const size_t needed = 2 * (size_t)kept_log_bytes, usual = spaces[space].buffer_bytes;

    return needed > usual ? needed : usual;
}

/* The filter stays as large as it is: it would be made anew for one second. */
static double filter_ratio(enum storage_space space, size_t buffer_bytes)
{
    return spaces[space].has_memtable_filter
               ? MEMTABLE_FILTER_RATIO * (double)spaces[space].buffer_bytes / (double)buffer_bytes
               : 0;
}

void rocksdb_options_set_recovery(struct rocksdb_storage *rocks, enum log_recovery recovery,
                                  uint64_t kept_log_bytes)
{
    for (int i = 0; i < SPACE_COUNT; i++) {
        const size_t size = recovery_buffer_bytes((enum storage_space)i, kept_log_bytes);
        rocksdb_options_set_write_buffer_size(rocks->options[i], size);
        rocksdb_options_set_memtable_prefix_bloom_size_ratio(
            rocks->options[i], filter_ratio((enum storage_space)i, size));
    }
    set_by_name(&rocks->options[0], kept_log_bytes > 0 ? "avoid_flush_during_recovery=true"
                                                       : "avoid_flush_during_recovery=false");
    rocksdb_options_set_wal_recovery_mode(
        rocks->options[0], recovery == RECOVERY_STRICT ? TAIL_MODE : POINT_IN_TIME_MODE);
}

/* For the tables that come next. */
static char *set_usual_buffer(struct rocksdb_storage *rocks, enum storage_space space)
{
    static const char *const names[] = { "write_buffer_size", "memtable_prefix_bloom_size_ratio" };
    char size[32], ratio[32];
    const char *const values[] = { size, ratio };
    char *error = NULL;

    snprintf(size, sizeof(size), "%zu", spaces[space].buffer_bytes);
    snprintf(ratio, sizeof(ratio), "%g", filter_ratio(space, spaces[space].buffer_bytes));
    rocksdb_set_options_cf(rocks->db, rocks->spaces[space], ARRAY_COUNT(names), names, values,
                           &error);
    return error;
}

/* Flushes begin when all options are set, because both sync. Little is waited for: it is as if RocksDB had done it. */
char *rocksdb_options_end_recovery(struct rocksdb_storage *rocks, uint64_t kept_log_bytes)
{
    rocksdb_flushoptions_t *flush = rocksdb_flushoptions_create();
    char *error = NULL;

    rocksdb_flushoptions_set_wait(flush, kept_log_bytes <= LITTLE_LOG_BYTES);
    for (int i = 0; i < SPACE_COUNT && error == NULL; i++) {
        const enum storage_space space = (enum storage_space)i;
        if (recovery_buffer_bytes(space, kept_log_bytes) != spaces[i].buffer_bytes)
            error = set_usual_buffer(rocks, space);
    }
    for (int i = 0; i < SPACE_COUNT && error == NULL; i++)
        rocksdb_flush_cf(rocks->db, flush, rocks->spaces[i], &error);
    rocksdb_flushoptions_destroy(flush);
    return error;
}

/* ---- all of them ------------------------------------------------------------------------------------ */

void rocksdb_options_make(struct rocksdb_storage *rocks, const struct storage_options *options)
{
    const size_t cache_bytes = options->cache_bytes != 0 ? options->cache_bytes : CACHE_BYTES;

    rocks->cache_bytes = cache_bytes;
    rocks->rows_cache = rocksdb_cache_create_lru(cache_bytes - cache_bytes / BODIES_SHARE);
    rocks->bodies_cache = rocksdb_cache_create_lru(cache_bytes / BODIES_SHARE);
    for (int i = 0; i < SPACE_COUNT; i++) {
        rocks->options[i] = rocksdb_options_create();
        rocksdb_memtable_choose(rocks->options[i]);
        set_space_options(rocks->options[i],
                          i == SPACE_BODIES ? rocks->bodies_cache : rocks->rows_cache, &spaces[i]);
    }
    /* No disk in advance: a log and a manifest would take 40 MB of it, and blocks ahead of the log's end come with the
     * zeros there (rocksdb_ahead.c). */
    set_by_name(&rocks->options[0], "track_and_verify_wals_in_manifest=true;allow_fallocate=false");
    set_database_options(rocks->options[0]);
    rocks->disk = rocksdb_disk_choose(rocks->options[0], rocks);
    if (options->counts_written_bytes)
        rocksdb_options_enable_statistics(rocks->options[0]);
    rocksdb_options_set_create_if_missing(rocks->options[0], !options->must_exist);
    rocksdb_options_set_create_missing_column_families(rocks->options[0], !options->must_exist);

    rocksdb_options_set_merge_operator(rocks->options[SPACE_META], rocksdb_counters_operator());
    rocks->zero_filter = rocksdb_zero_filter();
    rocksdb_options_set_compaction_filter(rocks->options[SPACE_META], rocks->zero_filter);
    rocksdb_options_set_max_successive_merges(rocks->options[SPACE_META], SUCCESSIVE_ADDS_MAX);
    for (int i = SPACE_ROWS; options->sweeper.begin != NULL && i <= SPACE_BODIES; i++)
        rocksdb_sweeper_choose(rocks->options[i], rocks, i, i == SPACE_ROWS);
    lower_background_threads();

    rocks->read_newest = rocksdb_readoptions_create();
    rocks->pass_newest = rocksdb_readoptions_create();
    rocksdb_readoptions_set_fill_cache(rocks->pass_newest, 0);
    rocks->write_synced = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(rocks->write_synced, 1);
}

void rocksdb_options_release(struct rocksdb_storage *rocks)
{
    rocksdb_writeoptions_destroy(rocks->write_synced);
    rocksdb_readoptions_destroy(rocks->pass_newest);
    rocksdb_readoptions_destroy(rocks->read_newest);
    for (int i = 0; i < SPACE_COUNT; i++)
        rocksdb_options_destroy(rocks->options[i]);
    rocksdb_cache_destroy(rocks->bodies_cache);
    rocksdb_cache_destroy(rocks->rows_cache);
    rocksdb_compactionfilter_destroy(rocks->zero_filter);
    rocksdb_disk_release(rocks->disk);
}
