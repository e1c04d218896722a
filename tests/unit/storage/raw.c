/* Long scans that read RocksDB's files themselves, against its own iterator over the same view: with flushes,
 * compactions, deletions in memory and in files, deleted ranges, keys that come back, and while somebody writes. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "storage/rocksdb_graves.h"
#include "storage/rocksdb_raw.h"
#include "tests/unit/storage/fixture.h"

enum { KEYS = 400, ROWS_PER_COMMIT = 150 };

/* What a reader of files has had to do. */
struct seen {
    uint64_t rows, lost, refused;
};

static void put_key(char out[16], uint64_t n)
{
    snprintf(out, 16, "k%05u", (unsigned)n);
}

static void commit_some(struct fixture *f, struct random *random)
{
    char key[16], end[16], value[64];
    const uint64_t first = random_below(random, KEYS);

    for (uint64_t i = 0; i < ROWS_PER_COMMIT; i++) {
        const uint64_t n = random_chance(random, 50) ? random_below(random, KEYS)
                                                     : (first + i) % KEYS;
        put_key(key, n);
        snprintf(value, sizeof(value), "%llu temperature temperature",
                 (unsigned long long)random_next(random));
        if (random_chance(random, 60))
            fixture_put(f, fixture_at(SPACE_BODIES), key, value);
        else
            fixture_delete(f, fixture_at(SPACE_BODIES), key);
    }
    if (random_chance(random, 4)) {
        put_key(key, first);
        put_key(end, first + random_below(random, 30));
        fixture_delete_range(f, fixture_at(SPACE_BODIES), key, end);
    }
    fixture_commit(f);
}

static void flush(struct fixture *f)
{
    struct rocksdb_storage *rocks = rocksdb_of(f->storage);
    rocksdb_flushoptions_t *options = rocksdb_flushoptions_create();
    char *error = NULL;

    rocksdb_flush_cf(rocks->db, options, rocks->spaces[SPACE_BODIES], &error);
    rocksdb_flushoptions_destroy(options);
    CHECK(error == NULL);
}

static void compact(struct fixture *f)
{
    struct rocksdb_storage *rocks = rocksdb_of(f->storage);

    rocksdb_compact_range_cf(rocks->db, rocks->spaces[SPACE_BODIES], NULL, 0, NULL, 0);
}

/* How many of a thousand steps are what is not a commit. */
struct habit {
    uint64_t flushes, compactions;
};

static void step(struct fixture *f, struct random *random, const struct habit *habit)
{
    const uint64_t dice = random_below(random, 1000);

    if (dice < habit->flushes)
        flush(f);
    else if (dice < habit->flushes + habit->compactions)
        compact(f);
    else
        commit_some(f, random);
}

/* Both ways over the view give the same rows, from the same place. */
static void compare(struct fixture *f, struct storage_view *view, const char *start,
                    struct seen *seen)
{
    struct rocksdb_storage *rocks = rocksdb_of(f->storage);
    const struct storage_range range = { .start = bytes_of_text("k") };
    struct full_key first, end;
    struct storage_scan *rows;
    bytes key, value, raw_key = BYTES_NONE, raw_value = BYTES_NONE;
    enum raw_step raw_step;

    full_key_make(&first, 7, bytes_of_text("k"));
    full_key_make_end(&end, 7, BYTES_NONE);
    struct raw_scan *raw = raw_scan_open(rocks, (struct raw_view *)view, full_key_bytes(&first),
                                         full_key_bytes(&end));
    seen->refused += raw == NULL;
    if (raw) {
        CHECK_OK(storage_scan_open(f->storage, view, fixture_at(SPACE_BODIES), &range, &rows));
        if (start) {
            struct full_key target;
            full_key_make(&target, 7, bytes_of_text(start));
            raw_scan_seek(raw, full_key_bytes(&target));
            full_key_release(&target);
            storage_scan_seek(rows, bytes_of_text(start));
        }
        while ((raw_step = raw_scan_next(raw, &raw_key, &raw_value)) == RAW_ROW) {
            CHECK(storage_scan_next(rows, &key, &value));
            CHECK_BYTES(full_key_rest(raw_key), key, "");
            CHECK_BYTES(raw_value, value, "");
            seen->rows++;
        }
        seen->lost += raw_step == RAW_LOST;
        CHECK(raw_step == RAW_LOST || !storage_scan_next(rows, &key, &value));
        storage_scan_close(rows);
    }
    raw_scan_close(raw);
    full_key_release(&first);
    full_key_release(&end);
}

TEST(storage, rocksdb_files_read_directly_show_what_an_iterator_shows)
{
    static const struct habit habits[] = {
        {150, 50},
        { 4,  0 },
        { 60, 0 },
    };

    EACH_SEED(seed, 3) {
        const struct habit *habit = &habits[seed % ARRAY_COUNT(habits)];
        struct random random = random_seeded(seed);
        struct storage_view *old = NULL, *view;
        struct seen seen = { 0 };
        struct fixture f;
        char start[16];

        fixture_open(&f, FIXTURE_ROCKSDB);
        for (int i = 0; i < 400; i++) {
            step(&f, &random, habit);
            if (i % 137 == 5) {
                storage_view_close(f.storage, old);
                CHECK_OK(storage_view_open(f.storage, &old));
            }
            if (i % 4)
                continue;
            CHECK_OK(storage_view_open(f.storage, &view));
            put_key(start, random_below(&random, KEYS));
            compare(&f, view, NULL, &seen);
            compare(&f, view, start, &seen);
            if (old)
                compare(&f, old, start, &seen);
            storage_view_close(f.storage, view);
        }
        storage_view_close(f.storage, old);
        fixture_close(&f);
        CHECK_EQ(seen.lost, 0, "");
        CHECK_EQ(seen.refused, 0, "");
        CHECK(seen.rows > 1000);
    }
}

/* Nothing is known of deletions before the start but what the files say. */
TEST(storage, rocksdb_files_read_directly_keep_deletions_over_a_reopen)
{
    static const char *const keys[] = { "k1", "k2", "k3", "k4", "k5", "k6" };
    struct seen seen = { 0 };
    struct storage_view *view;
    struct fixture f;

    fixture_open(&f, FIXTURE_ROCKSDB);
    for (size_t i = 0; i < ARRAY_COUNT(keys); i++)
        fixture_put(&f, fixture_at(SPACE_BODIES), keys[i], "value");
    fixture_commit(&f);
    flush(&f);
    fixture_delete_range(&f, fixture_at(SPACE_BODIES), "k2", "k4");
    fixture_delete(&f, fixture_at(SPACE_BODIES), "k5");
    fixture_commit(&f);
    fixture_reopen(&f);
    fixture_put(&f, fixture_at(SPACE_BODIES), "k3", "again");
    fixture_commit(&f);
    CHECK_OK(storage_view_open(f.storage, &view));
    compare(&f, view, NULL, &seen);
    storage_view_close(f.storage, view);
    fixture_close(&f);
    CHECK_EQ(seen.rows, 4, "");
    CHECK_EQ(seen.lost + seen.refused, 0, "");
}

/* A list of files that a view shares is from the same moment as what it knows of deletions in memory. */
TEST(storage, rocksdb_files_read_directly_know_what_was_deleted_when_they_were_listed)
{
    struct seen seen = { 0 };
    struct storage_view *view;
    struct fixture f;

    fixture_open(&f, FIXTURE_ROCKSDB);
    fixture_put(&f, fixture_at(SPACE_BODIES), "k1", "value");
    fixture_put(&f, fixture_at(SPACE_BODIES), "k2", "value");
    fixture_commit(&f);
    flush(&f);
    fixture_delete(&f, fixture_at(SPACE_BODIES), "k1");
    fixture_commit(&f);
    CHECK_OK(storage_view_open(f.storage, &view));
    compare(&f, view, NULL, &seen);
    for (int i = 0; i < 2; i++)
        graves_turn(rocksdb_of(f.storage)->graves);
    compare(&f, view, NULL, &seen);
    storage_view_close(f.storage, view);
    fixture_close(&f);
    CHECK_EQ(seen.rows, 2, "k2, twice");
    CHECK_EQ(seen.lost + seen.refused, 0, "");
}

/* ---- beside a writer ------------------------------------------------------------------------------ */

struct writer {
    struct fixture *f;
    _Atomic bool is_over;
};

static void *write_on(void *context)
{
    struct writer *writer = context;
    static const struct habit habit = { .flushes = 150, .compactions = 50 };
    struct random random = random_seeded(11);

    while (!atomic_load(&writer->is_over))
        step(writer->f, &random, &habit);
    return NULL;
}

TEST(storage, rocksdb_files_read_directly_stand_still_beside_a_writer)
{
    struct seen seen = { 0 };
    struct storage_view *view;
    struct fixture f;
    pthread_t thread;

    fixture_open(&f, FIXTURE_ROCKSDB);
    struct writer writer = { .f = &f };
    CHECK_EQ(pthread_create(&thread, NULL, write_on, &writer), 0, "");
    for (int i = 0; i < 150; i++) {
        CHECK_OK(storage_view_open(f.storage, &view));
        compare(&f, view, NULL, &seen);
        compare(&f, view, "k00200", &seen);
        storage_view_close(f.storage, view);
    }
    atomic_store(&writer.is_over, true);
    pthread_join(thread, NULL);
    fixture_close(&f);
    CHECK_EQ(seen.lost, 0, "");
    CHECK(seen.refused < 150);
}
