/* RocksDB beside and below the engine: a plain database to compare with, and waiting until background
 * work has ended, which storage.h does not offer because nobody but a measurement needs it. */
#ifndef BENCH_ROCKS_H
#define BENCH_ROCKS_H

#include "bench/bench.h"

enum { BARE_KEY_BYTES = 24, BARE_VALUE_BYTES = 16 + BENCH_DOCUMENT_BYTES };

#define BENCH_ROCKS_OK(error)                                            \
    do {                                                                 \
        if ((error) != NULL) {                                           \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, (error)); \
            exit(1);                                                     \
        }                                                                \
    } while (0)

/* ---- quiet ---------------------------------------------------------------------------------------- */

static inline uint64_t bench_property(rocksdb_t *db, rocksdb_column_family_handle_t *family,
                                      const char *name)
{
    uint64_t value = 0;

    if (family != NULL)
        rocksdb_property_int_cf(db, family, name, &value);
    else
        rocksdb_property_int(db, name, &value);
    return value;
}

static inline bool bench_is_quiet(rocksdb_t *db, rocksdb_column_family_handle_t *family)
{
    return bench_property(db, family, "rocksdb.num-running-compactions") +
               bench_property(db, family, "rocksdb.num-running-flushes") +
               bench_property(db, family, "rocksdb.mem-table-flush-pending") +
               bench_property(db, family, "rocksdb.compaction-pending") ==
           0;
}

/* Until nothing has run for a while. A NULL family is the default one. */
static inline void bench_wait_quiet(rocksdb_t *db, rocksdb_column_family_handle_t **families,
                                    size_t count)
{
    enum { POLL_MS = 20, QUIET_POLLS = 5 };

    for (int quiet = 0; quiet < QUIET_POLLS; bench_sleep_ms(POLL_MS)) {
        bool is_quiet = true;
        for (size_t i = 0; i < count; i++)
            is_quiet = is_quiet && bench_is_quiet(db, families[i]);
        quiet = is_quiet ? quiet + 1 : 0;
    }
}

static inline void bench_flush(rocksdb_t *db, rocksdb_column_family_handle_t *family)
{
    rocksdb_flushoptions_t *options = rocksdb_flushoptions_create();
    char *error = NULL;

    rocksdb_flushoptions_set_wait(options, 1);
    if (family != NULL)
        rocksdb_flush_cf(db, options, family, &error);
    else
        rocksdb_flush(db, options, &error);
    rocksdb_flushoptions_destroy(options);
    BENCH_ROCKS_OK(error);
}

static inline void bench_storage_wait(struct storage *storage)
{
    struct rocksdb_storage *rocks = rocksdb_of(storage);

    bench_wait_quiet(rocks->db, rocks->spaces, SPACE_COUNT);
}

/* Everything in files, no compaction left to do. */
static inline void bench_storage_settle(struct storage *storage)
{
    struct rocksdb_storage *rocks = rocksdb_of(storage);

    for (int i = 0; i < SPACE_COUNT; i++)
        bench_flush(rocks->db, rocks->spaces[i]);
    bench_storage_wait(storage);
}

/* ---- a plain database ----------------------------------------------------------------------------- */

struct bare {
    rocksdb_t *db;
    rocksdb_options_t *options;
    rocksdb_cache_t *cache;
    rocksdb_readoptions_t *read;
    rocksdb_writeoptions_t *write_synced;
    rocksdb_writeoptions_t *write;
};

/* Blocks, filter, compression, buffers and jobs as in storage/rocksdb_options.c; the write path as
 * RocksDB comes (its own group commit, concurrent memtable writes), and no statistics. */
static inline void bare_open(struct bare *bare, const char *path, size_t cache_bytes)
{
    rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
    char *error = NULL;

    bare->cache = rocksdb_cache_create_lru(cache_bytes);
    rocksdb_block_based_options_set_block_size(table, 8 << 10);
    rocksdb_block_based_options_set_block_cache(table, bare->cache);
    rocksdb_block_based_options_set_cache_index_and_filter_blocks(table, 1);
    rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache(table, 1);
    rocksdb_block_based_options_set_filter_policy(table,
                                                  rocksdb_filterpolicy_create_bloom_full(10));
    bare->options = rocksdb_options_create();
    rocksdb_options_set_block_based_table_factory(bare->options, table);
    rocksdb_block_based_options_destroy(table);
    rocksdb_options_set_create_if_missing(bare->options, 1);
    rocksdb_options_set_compression(bare->options, rocksdb_lz4_compression);
    rocksdb_options_set_write_buffer_size(bare->options, 32 << 20);
    rocksdb_options_set_max_write_buffer_number(bare->options, 3);
    rocksdb_options_set_target_file_size_base(bare->options, 32 << 20);
    rocksdb_options_set_level_compaction_dynamic_level_bytes(bare->options, 1);
    rocksdb_options_set_max_background_jobs(bare->options, 3);
    rocksdb_options_set_max_open_files(bare->options, -1);
    rocksdb_options_set_bytes_per_sync(bare->options, 1 << 20);
    rocksdb_options_set_stats_dump_period_sec(bare->options, 0);
    rocksdb_options_set_stats_persist_period_sec(bare->options, 0);
    bare->db = rocksdb_open(bare->options, path, &error);
    BENCH_ROCKS_OK(error);
    bare->read = rocksdb_readoptions_create();
    bare->write = rocksdb_writeoptions_create();
    bare->write_synced = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(bare->write_synced, 1);
}

static inline void bare_wait(struct bare *bare)
{
    rocksdb_column_family_handle_t *none = NULL;

    bench_wait_quiet(bare->db, &none, 1);
}

static inline void bare_close(struct bare *bare)
{
    rocksdb_close(bare->db);
    rocksdb_writeoptions_destroy(bare->write_synced);
    rocksdb_writeoptions_destroy(bare->write);
    rocksdb_readoptions_destroy(bare->read);
    rocksdb_options_destroy(bare->options);
    rocksdb_cache_destroy(bare->cache);
}

/* As a collection would: 8 bytes in front that are the same for all, then 16 characters. */
static inline void bare_key(uint8_t out[BARE_KEY_BYTES], uint64_t n)
{
    memset(out, 7, BARE_KEY_BYTES - BENCH_ID_LEN);
    bench_hex(out + BARE_KEY_BYTES - BENCH_ID_LEN, bench_mix(n));
}

static inline void bare_value(uint8_t out[BARE_VALUE_BYTES], uint64_t n)
{
    memset(out, 1, BARE_VALUE_BYTES - BENCH_DOCUMENT_BYTES);
    (void)bench_document(out + BARE_VALUE_BYTES - BENCH_DOCUMENT_BYTES, n);
}

static inline void bare_put(struct bare *bare, rocksdb_writeoptions_t *options, uint64_t n)
{
    uint8_t key[BARE_KEY_BYTES], value[BARE_VALUE_BYTES];
    char *error = NULL;

    bare_key(key, n);
    bare_value(value, n);
    rocksdb_put(bare->db, options, (const char *)key, sizeof(key), (const char *)value,
                sizeof(value), &error);
    BENCH_ROCKS_OK(error);
}

#endif
