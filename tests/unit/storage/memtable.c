/* Rows that are in memory only: in the right order whatever their keys look like and in whatever order they came, at every
 * instant that a view has kept, and while others are being written. What other RocksDBs make of our directories. */
#include <pthread.h>
#include <rocksdb/c.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/storage/fixture.h"

/* ---- keys of all shapes ----------------------------------------------------------------------------- */

enum {
    KEYS = 400,
    VIEWS = 3,
    LONGEST = 20000, /* lengths below are around those where RocksDB takes one more byte for them */
};

struct run {
    struct fixture f;
    struct random random;
    size_t count;
    bytes keys[KEYS]; /* ascending, all different */
    /* What has been written last under each key: 0 is nothing, or a removal. */
    uint32_t now[KEYS], instants[VIEWS][KEYS];
    struct storage_view *views[VIEWS];
};

static int by_bytes(const void *a, const void *b)
{
    return bytes_compare(*(const bytes *)a, *(const bytes *)b);
}

/* A start that many have in common, so that keys differ late or are prefixes of each other. No key of a storage has a zero. */
static bytes draw_key(struct run *run)
{
    static const size_t lens[] = { 1, 2, 7, 8, 9, 15, 16, 17, 111, 112, 113, 120, 300, LONGEST };
    static const uint8_t letters[] = { 0x01, 'a', 0x7F, 0x80, 0xFF };
    const size_t most = random_chance(&run->random, 2) ? ARRAY_COUNT(lens) : ARRAY_COUNT(lens) - 1;
    const size_t len = lens[random_below(&run->random, most)];
    const size_t drawn = 1 + random_below(&run->random, 3);
    uint8_t *room;

    CHECK_OK(ARENA_NEW(run->f.arena, len, &room));
    memset(room, 'm', len);
    for (size_t i = len - (drawn < len ? drawn : len); i < len; i++)
        room[i] = letters[random_below(&run->random, sizeof(letters))];
    return bytes_of(room, len);
}

static void draw_keys(struct run *run)
{
    for (size_t i = 0; i < KEYS; i++)
        run->keys[i] = draw_key(run);
    qsort(run->keys, KEYS, sizeof(run->keys[0]), by_bytes);
    for (size_t i = 0; i < KEYS; i++)
        if (run->count == 0 || !bytes_equal(run->keys[run->count - 1], run->keys[i]))
            run->keys[run->count++] = run->keys[i];
}

static bytes value_of(char room[16], uint32_t version)
{
    return bytes_of(room, (size_t)snprintf(room, 16, "%u", version));
}

static void commit_some(struct run *run, uint32_t *version)
{
    const struct row_address where = fixture_at(SPACE_ROWS);
    const uint64_t steps = 1 + random_below(&run->random, 20);
    char room[16];

    for (uint64_t i = 0; i < steps; i++) {
        const size_t at = random_below(&run->random, run->count);
        run->now[at] = random_chance(&run->random, 75) ? ++*version : 0;
        if (run->now[at] != 0)
            storage_put(run->f.storage, run->f.batch, where, run->keys[at],
                        value_of(room, run->now[at]));
        else
            storage_delete(run->f.storage, run->f.batch, where, run->keys[at]);
    }
    fixture_commit(&run->f);
}

static void check_gets(struct run *run, struct storage_view *view, const uint32_t *want)
{
    char room[16];

    for (size_t i = 0; i < run->count; i++) {
        struct storage_value found;
        const status s = storage_get(run->f.storage, view, fixture_at(SPACE_ROWS), run->keys[i],
                                     &found);
        CHECK_EQ(s.code, want[i] != 0 ? OK : NOT_FOUND, "key %zu", i);
        if (want[i] != 0)
            CHECK_BYTES(found.value, value_of(room, want[i]), "");
        storage_value_release(run->f.storage, &found);
    }
}

/* From a key in the middle to the end, or backwards to the beginning. */
static void check_scan(struct run *run, struct storage_view *view, const uint32_t *want,
                       bool is_reverse)
{
    const struct storage_range all = { .is_reverse = is_reverse };
    const size_t from = random_below(&run->random, run->count);
    struct storage_scan *scan;
    bytes key, value;
    char room[16];

    CHECK_OK(storage_scan_open(run->f.storage, view, fixture_at(SPACE_ROWS), &all, &scan));
    storage_scan_seek(scan, run->keys[from]);
    for (size_t i = from; i < run->count; is_reverse ? i-- : i++) {
        if (want[i] == 0)
            continue;
        CHECK(storage_scan_next(scan, &key, &value));
        CHECK_BYTES(key, run->keys[i], "");
        CHECK_BYTES(value, value_of(room, want[i]), "");
    }
    CHECK(!storage_scan_next(scan, &key, &value));
    CHECK_OK(storage_scan_status(scan));
    storage_scan_close(scan);
}

static void check_everything(struct run *run)
{
    for (int i = -1; i < VIEWS; i++) {
        struct storage_view *view = i < 0 ? NULL : run->views[i];
        const uint32_t *want = view == NULL ? run->now : run->instants[i];
        check_gets(run, view, want);
        check_scan(run, view, want, false);
        check_scan(run, view, want, true);
    }
}

static void keep_an_instant(struct run *run)
{
    const size_t i = random_below(&run->random, VIEWS);

    storage_view_close(run->f.storage, run->views[i]);
    CHECK_OK(storage_view_open(run->f.storage, &run->views[i]));
    memcpy(run->instants[i], run->now, sizeof(run->now));
}

TEST(storage, rocksdb_keeps_rows_in_order_whatever_their_keys_look_like)
{
    EACH_SEED(seed, 4) {
        struct run *run = memory_take_zeroed(1, sizeof(*run));
        uint32_t version = 0;

        CHECK(run != NULL);
        fixture_open(&run->f, FIXTURE_ROCKSDB);
        run->random = random_seeded(seed);
        draw_keys(run);
        for (int round = 0; round < 10; round++) {
            keep_an_instant(run);
            for (int i = 0; i < 12; i++)
                commit_some(run, &version);
            check_everything(run);
        }
        for (int i = 0; i < VIEWS; i++)
            storage_view_close(run->f.storage, run->views[i]);
        memset(run->views, 0, sizeof(run->views));
        run->f.options.is_read_only = true; /* rows that come from the log stay in memory */
        fixture_reopen(&run->f);
        check_everything(run);
        run->f.options.is_read_only = false;
        fixture_reopen(&run->f);
        check_everything(run);
        fixture_close(&run->f);
        memory_give(run);
    }
}

/* ---- readers beside a writer ------------------------------------------------------------------------- */

enum { READERS = 3, COMMITS = 150, ROWS_PER_COMMIT = 40 };

/* Every commit adds as many new rows at random and changes a row with their number, so each instant tells how many there are.
 * The value of a row is its key twice. */
struct race {
    struct fixture f;
    _Atomic bool is_over;
    _Atomic int mistakes;
    _Atomic uint64_t rounds;
};

static bool is_row_whole(bytes key, bytes value)
{
    return value.len == 2 * key.len && memcmp(value.data, key.data, key.len) == 0 &&
           memcmp(value.data + key.len, key.data, key.len) == 0;
}

/* The number of rows, all of them whole and in order. */
static uint64_t count_rows(struct race *race, struct storage_view *view, bool is_reverse)
{
    const struct storage_range range = { .start = BYTES_LITERAL("r"), .is_reverse = is_reverse };
    struct storage_scan *scan;
    uint8_t before[16] = { 0 };
    bytes key, value;
    uint64_t count = 0;

    if (storage_scan_open(race->f.storage, view, fixture_at(SPACE_ROWS), &range, &scan).code != OK)
        return UINT64_MAX;
    for (; storage_scan_next(scan, &key, &value); count++) {
        const bool is_whole = key.len == sizeof(before) && is_row_whole(key, value);
        const int order = is_whole ? memcmp(before, key.data, sizeof(before)) : 0;
        if (!is_whole || (count > 0 && (order < 0) == is_reverse) || order == 0)
            atomic_fetch_add(&race->mistakes, 1);
        else
            memcpy(before, key.data, sizeof(before));
    }
    storage_scan_close(scan);
    return count;
}

static uint64_t told_rows(struct race *race, struct storage_view *view)
{
    struct storage_value found;
    uint64_t told = 0;

    if (storage_get(race->f.storage, view, fixture_at(SPACE_ROWS), BYTES_LITERAL("n"), &found)
            .code == OK)
        memcpy(&told, found.value.data, sizeof(told));
    storage_value_release(race->f.storage, &found);
    return told;
}

static void *keep_reading(void *arg)
{
    struct race *race = arg;

    for (bool is_reverse = false; !atomic_load(&race->is_over); is_reverse = !is_reverse) {
        struct storage_view *view;
        if (storage_view_open(race->f.storage, &view).code != OK)
            break;
        const uint64_t told = told_rows(race, view);
        if (told != count_rows(race, view, is_reverse))
            atomic_fetch_add(&race->mistakes, 1);
        storage_view_close(race->f.storage, view);
        atomic_fetch_add(&race->rounds, 1);
    }
    return NULL;
}

static void add_rows(struct race *race, struct random *random, uint64_t told)
{
    const struct row_address where = fixture_at(SPACE_ROWS);

    for (uint64_t i = 0; i < ROWS_PER_COMMIT; i++) {
        char row[33];
        snprintf(row, 17, "r%010llx%05x", (unsigned long long)random_next(random) >> 24,
                 (unsigned)(told + i)); /* the second number: no key twice */
        memcpy(row + 16, row, 16);
        storage_put(race->f.storage, race->f.batch, where, bytes_of(row, 16), bytes_of(row, 32));
    }
    told += ROWS_PER_COMMIT;
    storage_put(race->f.storage, race->f.batch, where, BYTES_LITERAL("n"),
                bytes_of(&told, sizeof(told)));
    fixture_commit(&race->f);
}

TEST(storage, rocksdb_readers_see_whole_commits_while_rows_are_added)
{
    struct race race = { 0 };
    struct random random = random_seeded(check_seed());
    pthread_t readers[READERS];

    fixture_open(&race.f, FIXTURE_ROCKSDB);
    for (int i = 0; i < READERS; i++)
        CHECK_EQ(pthread_create(&readers[i], NULL, keep_reading, &race), 0, "");
    for (uint64_t i = 0; i < COMMITS; i++)
        add_rows(&race, &random, i * ROWS_PER_COMMIT);
    while (atomic_load(&race.rounds) < READERS) {
    }
    atomic_store(&race.is_over, true);
    for (int i = 0; i < READERS; i++)
        pthread_join(readers[i], NULL);
    CHECK_EQ(atomic_load(&race.mistakes), 0, "");
    CHECK_EQ(count_rows(&race, NULL, false), COMMITS * ROWS_PER_COMMIT, "");
    fixture_close(&race.f);
}

/* ---- other RocksDBs ------------------------------------------------------------------------------------ */

/* With the options that are stored in the directory, as its tools do it. */
static void put_as_a_tool(const char *path, const char *key, const char *value)
{
    rocksdb_env_t *env = rocksdb_create_default_env();
    rocksdb_cache_t *cache = rocksdb_cache_create_lru(1 << 20);
    rocksdb_options_t *options, **each;
    char **names, *error = NULL;
    rocksdb_column_family_handle_t *spaces[8];
    size_t count;

    rocksdb_load_latest_options(path, env, false, cache, &options, &count, &names, &each, &error);
    CHECK_THAT(error == NULL, "%s", error);
    CHECK(count <= ARRAY_COUNT(spaces));
    rocksdb_t *db =
        rocksdb_open_column_families(options, path, (int)count, (const char *const *)names,
                                     (const rocksdb_options_t *const *)each, spaces, &error);
    CHECK_THAT(error == NULL, "%s", error);
    rocksdb_writeoptions_t *write = rocksdb_writeoptions_create();
    rocksdb_put_cf(db, write, spaces[SPACE_ROWS], key, 9, value, strlen(value), &error);
    CHECK_THAT(error == NULL, "%s", error);
    rocksdb_writeoptions_destroy(write);
    for (size_t i = 0; i < count; i++)
        rocksdb_column_family_handle_destroy(spaces[i]);
    rocksdb_close(db);
    rocksdb_load_latest_options_destroy(options, names, each, count);
    rocksdb_cache_destroy(cache);
    rocksdb_env_destroy(env);
}

TEST(storage, rocksdb_directory_can_be_opened_by_tools_with_its_stored_options)
{
    struct fixture f;

    fixture_open(&f, FIXTURE_ROCKSDB);
    fixture_put(&f, fixture_at(SPACE_ROWS), "a", "1");
    fixture_commit(&f);
    storage_batch_close(f.storage, f.batch);
    storage_close(f.storage);
    put_as_a_tool(f.options.path, "\0\0\0\0\0\0\0\7b", "2");
    CHECK_OK(storage_open_rocksdb(&f.options, f.arena, &f.storage));
    f.batch = storage_batch_open(f.storage);
    CHECK_SCAN(&f, NULL, fixture_at(SPACE_ROWS), "", "", false, "a=1 b=2");
    fixture_close(&f);
}
