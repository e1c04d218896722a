/* Scans and gets that read RocksDB's files themselves, against its own over the same view: with flushes, compactions, deletions in memory and in files, deleted ranges, keys that come back, and while somebody writes. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "storage/rocksdb_graves.h"
#include "storage/rocksdb_raw.h"
#include "tests/unit/storage/fixture.h"

/* Of all keys the last ones are written once, and only deleted by a range that begins before them. */
enum { KEYS = 400, QUIET_KEYS = 200, ROWS_PER_COMMIT = 150 };

/* What is read, and what a reader of files has had to do. */
struct seen {
    enum storage_space space;
    bool is_short;
    uint64_t rows, lost, refused;
    uint64_t found, asked; /* by gets */
    uint64_t found_newest;
};

static void put_key(char out[16], uint64_t n)
{
    snprintf(out, 16, "k%05u", (unsigned)n);
}

static void commit_some(struct fixture *f, struct random *random, enum storage_space space)
{
    const struct row_address where = fixture_at(space);
    char key[16], end[16], value[64];
    const uint64_t first = random_below(random, KEYS);

    for (uint64_t i = 0; i < ROWS_PER_COMMIT; i++) {
        const uint64_t n = random_chance(random, 50) ? random_below(random, KEYS)
                                                     : (first + i) % KEYS;
        put_key(key, n);
        snprintf(value, sizeof(value), "%llu temperature temperature",
                 (unsigned long long)random_next(random));
        if (random_chance(random, 60))
            fixture_put(f, where, key, value);
        else
            fixture_delete(f, where, key);
    }
    if (random_chance(random, 4)) {
        put_key(key, first);
        put_key(end, first + random_below(random, 30));
        fixture_delete_range(f, where, key, end);
    }
    fixture_commit(f);
}

static void put_and_flush_space(struct fixture *f, enum storage_space space)
{
    char key[16];

    for (uint64_t n = 0; n < KEYS + QUIET_KEYS; n++) {
        put_key(key, n);
        fixture_put(f, fixture_at(space), key, "value");
    }
    fixture_commit(f);
    fixture_flush(f, space);
}

static void put_and_flush_all(struct fixture *f)
{
    put_and_flush_space(f, SPACE_BODIES);
}

/* How many of a thousand steps are what is not a commit. */
struct habit {
    uint64_t flushes, compactions;
};

/* A scan gives up where two dozen files lie over one key. RocksDB's compactions let others go first, so that on a busy machine there
 * could be as many. */
static void flush_and_wait(struct fixture *f, enum storage_space space)
{
    enum { FILES_MANY = 12 };
    struct rocksdb_storage *rocks = rocksdb_of(f->storage);

    fixture_flush(f, space);
    char *told = rocksdb_property_value_cf(rocks->db, rocks->spaces[space],
                                           "rocksdb.num-files-at-level0");
    CHECK(told != NULL);
    const long files = strtol(told, NULL, 10);
    rocksdb_free(told);
    if (files > FILES_MANY)
        fixture_compact(f, space);
}

static void step(struct fixture *f, struct random *random, const struct habit *habit,
                 enum storage_space space)
{
    const uint64_t dice = random_below(random, 1000);

    if (dice < habit->flushes)
        flush_and_wait(f, space);
    else if (dice < habit->flushes + habit->compactions)
        fixture_compact(f, space);
    else
        commit_some(f, random, space);
}

/* RocksDB's own way over a view. */
struct rival {
    rocksdb_readoptions_t *options;
    rocksdb_iterator_t *rows;
};

static struct rival rival_open(struct fixture *f, struct storage_view *view,
                               enum storage_space space, bytes start)
{
    struct rocksdb_storage *rocks = rocksdb_of(f->storage);
    struct rival rival = { .options = rocksdb_readoptions_create() };

    rocksdb_readoptions_set_snapshot(rival.options, ((struct raw_view *)view)->snapshot);
    rival.rows = rocksdb_create_iterator_cf(rocks->db, rival.options, rocks->spaces[space]);
    rocksdb_iter_seek(rival.rows, (const char *)start.data, start.len);
    return rival;
}

static bool rival_next(struct rival *rival, bytes *key_out, bytes *value_out)
{
    size_t len;

    if (!rocksdb_iter_valid(rival->rows))
        return false;
    const char *key = rocksdb_iter_key(rival->rows, &len);
    *key_out = bytes_of(key, len);
    const char *value = rocksdb_iter_value(rival->rows, &len);
    *value_out = bytes_of(value, len);
    return full_key_partition(*key_out) == 7;
}

static void rival_close(struct rival *rival)
{
    rocksdb_iter_destroy(rival->rows);
    rocksdb_readoptions_destroy(rival->options);
}

static bool is_of(const struct raw_files *list, uint64_t arrangement)
{
    return !list || list->arrangement == arrangement;
}

/* Lists that hold everything are used for as long as nobody writes, although their files may have been compacted away since. */
static bool lists_are_of(struct raw_shelf *shelf, struct raw_view *view, uint64_t arrangement)
{
    pthread_mutex_lock(&shelf->lock);
    const bool is_newest = is_of(shelf->newest, arrangement);
    pthread_mutex_unlock(&shelf->lock);
    return is_newest && is_of(atomic_load(&view->files[shelf->space]), arrangement);
}

/* Both ways over the view give the same rows, from the same place. */
static void compare(struct fixture *f, struct storage_view *view, const char *start,
                    struct seen *seen)
{
    struct rocksdb_storage *rocks = rocksdb_of(f->storage);
    struct full_key first, end, target;
    bytes key, value, raw_key = BYTES_NONE, raw_value = BYTES_NONE;
    enum raw_step raw_step;

    seen->space = seen->space ? seen->space : SPACE_BODIES;
    full_key_make(&first, 7, bytes_of_text("k"));
    full_key_make_end(&end, 7, BYTES_NONE);
    full_key_make(&target, 7, bytes_of_text(start ? start : "k"));
    struct raw_shelf *shelf = &rocks->shelves[seen->space];
    const uint64_t arrangement = raw_arrangement(shelf);
    const bool is_current = lists_are_of(shelf, (struct raw_view *)view, arrangement);
    struct raw_scan *raw = raw_scan_open(rocks, (struct raw_view *)view,
                                         &(struct raw_stretch){ .space = seen->space,
                                                                .start = full_key_bytes(&first),
                                                                .end = full_key_bytes(&end),
                                                                .is_short = seen->is_short });
    seen->refused += raw == NULL;
    if (raw) {
        struct rival rival = rival_open(f, view, seen->space, full_key_bytes(&target));
        if (start)
            raw_scan_seek(raw, full_key_bytes(&target));
        while ((raw_step = raw_scan_next(raw, &raw_key, &raw_value)) == RAW_ROW) {
            CHECK(rival_next(&rival, &key, &value));
            CHECK_BYTES(raw_key, key, "");
            CHECK_BYTES(raw_value, value, "");
            rocksdb_iter_next(rival.rows);
            seen->rows++;
        }
        /* A compaction may have taken a file away that was not yet opened; then an iterator has to go on. */
        seen->lost += raw_step == RAW_LOST && is_current && arrangement == raw_arrangement(shelf);
        CHECK(raw_step == RAW_LOST || !rival_next(&rival, &key, &value));
        rival_close(&rival);
    }
    raw_scan_close(raw);
    full_key_release(&first);
    full_key_release(&end);
    full_key_release(&target);
}

/* What the files said is what RocksDB says. */
static void check_value(struct fixture *f, const rocksdb_readoptions_t *options, bytes full_key,
                        struct storage_value *got)
{
    struct rocksdb_storage *rocks = rocksdb_of(f->storage);
    char *error = NULL;
    size_t len;

    rocksdb_pinnableslice_t *pin =
        rocksdb_get_pinned_cf(rocks->db, options, rocks->spaces[SPACE_BODIES],
                              (const char *)full_key.data, full_key.len, &error);
    CHECK(pin != NULL);
    const char *want = rocksdb_pinnableslice_value(pin, &len);
    CHECK_BYTES(got->value, bytes_of(want, len), "");
    rocksdb_pinnableslice_destroy(pin);
    CHECK(raw_value_release(got));
}

/* Is what the files say of a key what RocksDB says? */
static void compare_key(struct fixture *f, struct storage_view *view, const char *key,
                        struct seen *seen)
{
    struct raw_view *raw = (struct raw_view *)view;
    rocksdb_readoptions_t *options = rocksdb_readoptions_create();
    struct storage_value got;
    struct full_key full;

    full_key_make(&full, 7, bytes_of_text(key));
    rocksdb_readoptions_set_snapshot(options, raw->snapshot);
    seen->asked++;
    if (raw_get(rocksdb_of(f->storage), raw, full_key_bytes(&full), &got)) {
        check_value(f, options, full_key_bytes(&full), &got);
        seen->found++;
    }
    full_key_release(&full);
    rocksdb_readoptions_destroy(options);
}

static void compare_get(struct fixture *f, struct storage_view *view, uint64_t n, struct seen *seen)
{
    char key[16];

    put_key(key, n);
    compare_key(f, view, key, seen);
}

static void compare_gets(struct fixture *f, struct storage_view *view, struct seen *seen)
{
    for (uint64_t n = 0; n < KEYS + QUIET_KEYS; n += 3)
        compare_get(f, view, n, seen);
}

/* The same of the newest state; nobody writes meanwhile. */
static void compare_newest(struct fixture *f, struct seen *seen)
{
    struct rocksdb_storage *rocks = rocksdb_of(f->storage);
    struct storage_value got;
    struct full_key full;
    char key[16];

    for (uint64_t n = 0; n < KEYS + QUIET_KEYS; n++) {
        put_key(key, n);
        full_key_make(&full, 7, bytes_of_text(key));
        if (raw_get_newest(rocks, full_key_bytes(&full), &got)) {
            check_value(f, rocks->read_newest, full_key_bytes(&full), &got);
            seen->found_newest++;
        }
        full_key_release(&full);
    }
}

/* ---- many steps at random ------------------------------------------------------------------------- */

enum { ENOUGH_GETS = 70 }; /* for RocksDB to be left alone */

/* Short scans begin without a list of files; enough of them make one. */
static void ask_for_rows(struct fixture *f)
{
    struct seen seen = { .space = SPACE_ROWS, .is_short = true };
    struct storage_view *view;

    CHECK_OK(storage_view_open(f->storage, &view));
    for (int i = 0; i < ENOUGH_GETS; i++)
        compare(f, view, NULL, &seen);
    storage_view_close(f->storage, view);
}

/* Compares what a new view shows with what RocksDB says; `old` is one that has been open for long, or NULL. */
typedef void look_function(struct fixture *f, struct storage_view *view, struct storage_view *old,
                           struct random *random, struct seen *seen);

/* Commits, flushes and compactions in the space that `seen` names, and a look now and then. */
static void walk_at_random(uint64_t seed, look_function *look, struct seen *seen)
{
    static const struct habit habits[] = {
        {150, 50},
        { 4,  0 },
        { 60, 0 },
    };
    const struct habit *habit = &habits[seed % ARRAY_COUNT(habits)];
    struct random random = random_seeded(seed);
    struct storage_view *old = NULL, *view;
    struct fixture f;

    fixture_open(&f, FIXTURE_ROCKSDB);
    put_and_flush_space(&f, seen->space);
    for (int i = 0; i < 400; i++) {
        step(&f, &random, habit, seen->space);
        if (i % 137 == 5) {
            storage_view_close(f.storage, old);
            CHECK_OK(storage_view_open(f.storage, &old));
        }
        if (i % 4)
            continue;
        if (i % 16 == 0 && seen->is_short)
            ask_for_rows(&f);
        CHECK_OK(storage_view_open(f.storage, &view));
        look(&f, view, old, &random, seen);
        storage_view_close(f.storage, view);
    }
    storage_view_close(f.storage, old);
    fixture_close(&f);
}

static void look_at_bodies(struct fixture *f, struct storage_view *view, struct storage_view *old,
                           struct random *random, struct seen *seen)
{
    char start[16];

    put_key(start, random_below(random, KEYS));
    compare(f, view, NULL, seen);
    compare(f, view, start, seen);
    compare_gets(f, view, seen);
    compare_newest(f, seen);
    if (old) {
        compare_gets(f, old, seen);
        compare(f, old, start, seen);
    }
}

TEST(storage, rocksdb_files_read_directly_show_what_an_iterator_shows)
{
    EACH_SEED(seed, 3) {
        struct seen seen = { .space = SPACE_BODIES };
        walk_at_random(seed, look_at_bodies, &seen);
        CHECK_EQ(seen.lost, 0, "");
        CHECK_EQ(seen.refused, 0, "");
        CHECK(seen.rows > 1000);
        CHECK(seen.found > 100);
        CHECK(seen.found_newest > 100);
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
    fixture_flush(&f, SPACE_BODIES);
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
    fixture_flush(&f, SPACE_BODIES);
    fixture_delete(&f, fixture_at(SPACE_BODIES), "k1");
    fixture_commit(&f);
    CHECK_OK(storage_view_open(f.storage, &view));
    compare(&f, view, NULL, &seen);
    for (int i = 0; i < 2; i++)
        graves_turn(rocksdb_of(f.storage)
                        ->shelves[SPACE_BODIES]
                        .graves); /* as if they were in files by now */
    compare(&f, view, NULL, &seen);
    storage_view_close(f.storage, view);
    fixture_close(&f);
    CHECK_EQ(seen.rows, 2, "k2, twice");
    CHECK_EQ(seen.lost + seen.refused, 0, "");
}

/* ---- lists that are kept -------------------------------------------------------------------------- */

/* Asks a new view for keys until the files are known; false if they never are. */
static bool warm_up(struct fixture *f)
{
    struct storage_view *view;
    struct seen seen = { 0 };

    CHECK_OK(storage_view_open(f->storage, &view));
    for (uint64_t n = 100; n < 100 + ENOUGH_GETS; n++)
        compare_get(f, view, n, &seen);
    storage_view_close(f->storage, view);
    return seen.found > 0;
}

/* Does a new view find the key in the files? What is found is what RocksDB says. */
static bool finds(struct fixture *f, uint64_t n)
{
    struct storage_view *view;
    struct seen seen = { 0 };

    CHECK_OK(storage_view_open(f->storage, &view));
    compare_get(f, view, n, &seen);
    storage_view_close(f->storage, view);
    return seen.found > 0;
}

/* A block is unpacked as far as the row probably reaches, which is wrong where the sizes of rows differ. */
TEST(storage, rocksdb_files_read_directly_have_each_row_wherever_it_is_in_its_block)
{
    enum { ALIKE, GROWING, RANDOM, SIZES };

    for (int sizes = 0; sizes < SIZES; sizes++) {
        struct random random = random_seeded(7);
        struct seen seen = { 0 };
        struct storage_view *view;
        struct fixture f;
        char key[16], value[1400];

        fixture_open(&f, FIXTURE_ROCKSDB);
        for (uint64_t n = 0; n < KEYS; n++) {
            const uint64_t len = sizes == ALIKE     ? 500
                                 : sizes == GROWING ? 30 + n % 8 * 150
                                                    : 30 + random_below(&random, 1300);
            for (uint64_t i = 0; i < len; i++)
                value[i] = (char)('a' + (i % 5 ? i % 7 : random_below(&random, 26)));
            value[len] = '\0';
            put_key(key, n);
            fixture_put(&f, fixture_at(SPACE_BODIES), key, value);
        }
        fixture_commit(&f);
        fixture_flush(&f, SPACE_BODIES);
        CHECK(warm_up(&f));
        CHECK_OK(storage_view_open(f.storage, &view));
        for (uint64_t n = 0; n < KEYS; n++)
            compare_get(&f, view, n, &seen);
        storage_view_close(f.storage, view);
        fixture_close(&f);
        CHECK_EQ(seen.found, KEYS, "sizes %d", sizes);
    }
}

TEST(storage, rocksdb_files_that_were_listed_before_a_write_do_not_hide_it)
{
    struct fixture f;

    fixture_open(&f, FIXTURE_ROCKSDB);
    put_and_flush_all(&f);
    CHECK(warm_up(&f));
    CHECK(finds(&f, 1) && finds(&f, 2) && finds(&f, 3) && finds(&f, 4));
    fixture_put(&f, fixture_at(SPACE_BODIES), "k00001", "another value");
    fixture_delete(&f, fixture_at(SPACE_BODIES), "k00002");
    fixture_delete_range(&f, fixture_at(SPACE_BODIES), "k00003", "k00004");
    fixture_commit(&f);
    CHECK(!finds(&f, 1) && !finds(&f, 2) && !finds(&f, 3));
    CHECK(finds(&f, 4));
    fixture_close(&f);
}

/* What was forgotten is in files that the list does not have. */
TEST(storage, rocksdb_files_that_were_listed_before_deletions_were_forgotten_are_not_asked)
{
    struct fixture f;

    fixture_open(&f, FIXTURE_ROCKSDB);
    put_and_flush_all(&f);
    CHECK(warm_up(&f));
    fixture_delete(&f, fixture_at(SPACE_BODIES), "k00002");
    fixture_put(&f, fixture_at(SPACE_BODIES), "k00001", "another value");
    fixture_commit(&f);
    struct raw_files *before = rocksdb_of(f.storage)->shelves[SPACE_BODIES].newest;
    CHECK(before != NULL);
    fixture_flush(&f, SPACE_BODIES);
    CHECK(!finds(&f, 2) && !finds(&f, 1));
    CHECK(warm_up(&f));
    CHECK(rocksdb_of(f.storage)->shelves[SPACE_BODIES].newest != before);
    CHECK(!finds(&f, 2) && finds(&f, 1));
    fixture_close(&f);
}

/* After a turn a list does not hear of writes any more. */
TEST(storage, rocksdb_files_that_were_listed_before_a_turn_are_not_asked_by_new_views)
{
    struct fixture f;

    fixture_open(&f, FIXTURE_ROCKSDB);
    put_and_flush_all(&f);
    CHECK(warm_up(&f));
    graves_turn(
        rocksdb_of(f.storage)->shelves[SPACE_BODIES].graves); /* nothing is in memory tables */
    fixture_delete(&f, fixture_at(SPACE_BODIES), "k00002");
    fixture_put(&f, fixture_at(SPACE_BODIES), "k00001", "another value");
    fixture_commit(&f);
    CHECK(rocksdb_of(f.storage)->shelves[SPACE_BODIES].newest != NULL);
    CHECK(!finds(&f, 2) && !finds(&f, 1));
    CHECK(warm_up(&f));
    CHECK(!finds(&f, 2) && !finds(&f, 1) && finds(&f, 3));
    fixture_close(&f);
}

/* What tells blocks apart may lie behind what the array of blocks knows of their keys. */
TEST(storage, rocksdb_files_read_directly_find_keys_that_begin_alike)
{
    enum { ROWS = 3000 };
    static const char *const forms[] = { "b%04u", "m-and-so-on-and-so-on-and-so-on-%04u",
                                         "z%04u-x" };
    char key[64], value[128];
    struct seen seen = { 0 };
    struct storage_view *view;
    struct fixture f;

    fixture_open(&f, FIXTURE_ROCKSDB);
    for (unsigned i = 0; i < ROWS; i++) {
        snprintf(key, sizeof(key), forms[i % ARRAY_COUNT(forms)], i);
        snprintf(value, sizeof(value), "%u %080u", i, i * 7919u);
        fixture_put(&f, fixture_at(SPACE_BODIES), key, value);
    }
    fixture_commit(&f);
    fixture_flush(&f, SPACE_BODIES);
    CHECK_OK(storage_view_open(f.storage, &view));
    for (unsigned i = 0; i < ROWS; i++) {
        snprintf(key, sizeof(key), forms[i % ARRAY_COUNT(forms)], i);
        compare_key(&f, view, key, &seen);
        snprintf(key, sizeof(key), "%cnone%u", "abmnz"[i % 5], i);
        CHECK_ROW(&f, view, fixture_at(SPACE_BODIES), key, NULL);
    }
    storage_view_close(f.storage, view);
    fixture_close(&f);
    CHECK(seen.found > ROWS / 2);
}

TEST(storage, rocksdb_files_that_are_too_many_to_stay_open_are_read_by_scans_only)
{
    struct seen seen = { 0 };
    struct storage_view *view;
    struct fixture f;

    fixture_open(&f, FIXTURE_ROCKSDB);
    put_and_flush_all(&f);
    _Atomic unsigned *kept_open = &rocksdb_of(f.storage)->shelves[SPACE_BODIES].kept_open;
    atomic_fetch_add(kept_open, 1u << 20);
    CHECK(!warm_up(&f));
    CHECK_OK(storage_view_open(f.storage, &view));
    compare(&f, view, NULL, &seen);
    storage_view_close(f.storage, view);
    CHECK_EQ(seen.rows, KEYS + QUIET_KEYS, "");
    CHECK_EQ(atomic_load(kept_open), 1u << 20, "");
    atomic_fetch_sub(kept_open, 1u << 20);
    CHECK(warm_up(&f));
    CHECK_EQ(atomic_load(kept_open), 1, "");
    fixture_close(&f);
}

TEST(storage, rocksdb_files_that_are_gone_are_let_go_with_the_next_commit)
{
    struct seen seen = { 0 };
    struct storage_view *old;
    struct fixture f;

    fixture_open(&f, FIXTURE_ROCKSDB);
    put_and_flush_all(&f);
    CHECK(warm_up(&f));
    CHECK_OK(storage_view_open(f.storage, &old));
    compare_get(&f, old, 5, &seen);
    fixture_delete(&f, fixture_at(SPACE_BODIES), "k00005");
    fixture_commit(&f);
    CHECK(rocksdb_of(f.storage)->shelves[SPACE_BODIES].newest != NULL);
    fixture_compact(&f, SPACE_BODIES);
    fixture_put(&f, fixture_at(SPACE_BODIES), "k00006", "value");
    fixture_commit(&f);
    CHECK(rocksdb_of(f.storage)->shelves[SPACE_BODIES].newest == NULL);
    /* Who began with them has them still. */
    compare_gets(&f, old, &seen);
    CHECK(seen.found > KEYS / 4);
    storage_view_close(f.storage, old);
    fixture_close(&f);
}

/* ---- beside a writer ------------------------------------------------------------------------------ */

struct writer {
    struct fixture f;
    enum storage_space space;
    pthread_t thread;
    _Atomic bool is_over;
};

static void *write_on(void *context)
{
    struct writer *writer = context;
    static const struct habit habit = { .flushes = 150, .compactions = 50 };
    struct random random = random_seeded(11);

    while (!atomic_load(&writer->is_over))
        step(&writer->f, &random, &habit, writer->space);
    return NULL;
}

static void writer_begin(struct writer *writer, enum storage_space space)
{
    writer->space = space;
    atomic_init(&writer->is_over, false);
    fixture_open(&writer->f, FIXTURE_ROCKSDB);
    put_and_flush_space(&writer->f, space);
    CHECK_EQ(pthread_create(&writer->thread, NULL, write_on, writer), 0, "");
}

static void writer_end(struct writer *writer)
{
    atomic_store(&writer->is_over, true);
    pthread_join(writer->thread, NULL);
    fixture_close(&writer->f);
}

TEST(storage, rocksdb_files_read_directly_stand_still_beside_a_writer)
{
    struct seen seen = { 0 };
    struct storage_view *view;
    struct writer writer;

    writer_begin(&writer, SPACE_BODIES);
    for (int i = 0; i < 150; i++) {
        CHECK_OK(storage_view_open(writer.f.storage, &view));
        compare(&writer.f, view, NULL, &seen);
        compare(&writer.f, view, "k00200", &seen);
        compare_gets(&writer.f, view, &seen);
        storage_view_close(writer.f.storage, view);
    }
    writer_end(&writer);
    CHECK_EQ(seen.lost, 0, "");
    CHECK(seen.refused < 150);
    CHECK(seen.found > 0);
}

/* Each value is a number that only grows; `committed` says which one was the last to be committed. */
struct counting {
    struct fixture *f;
    _Atomic uint64_t committed[KEYS];
    _Atomic bool is_over;
};

static void *count_on(void *context)
{
    struct counting *counting = context;
    struct fixture *f = counting->f;
    struct random random = random_seeded(13);
    char key[16], value[32];

    for (uint64_t turn = 1; !atomic_load(&counting->is_over); turn++) {
        const uint64_t first = random_below(&random, KEYS);
        for (uint64_t i = 0; i < 40; i++) {
            put_key(key, (first + i) % KEYS);
            snprintf(value, sizeof(value), "%020llu", (unsigned long long)turn);
            fixture_put(f, fixture_at(SPACE_BODIES), key, value);
        }
        fixture_commit(f);
        for (uint64_t i = 0; i < 40; i++)
            atomic_store(&counting->committed[(first + i) % KEYS], turn);
        if (random_chance(&random, 20))
            fixture_flush(f, SPACE_BODIES);
        if (random_chance(&random, 5))
            fixture_compact(f, SPACE_BODIES);
    }
    return NULL;
}

TEST(storage, rocksdb_files_read_without_a_view_never_miss_what_was_committed)
{
    static struct counting counting;
    struct random random = random_seeded(17);
    struct storage_value got;
    struct full_key full;
    struct fixture f;
    uint64_t found = 0;
    pthread_t thread;
    char key[16];

    fixture_open(&f, FIXTURE_ROCKSDB);
    for (uint64_t n = 0; n < KEYS; n++) {
        put_key(key, n);
        fixture_put(&f, fixture_at(SPACE_BODIES), key, "00000000000000000000");
    }
    fixture_commit(&f);
    fixture_flush(&f, SPACE_BODIES);
    counting.f = &f;
    CHECK_EQ(pthread_create(&thread, NULL, count_on, &counting), 0, "");
    for (int i = 0; i < 60000 || (found < 100 && i < 6000000); i++) {
        const uint64_t n = random_below(&random, KEYS);
        const uint64_t before = atomic_load(&counting.committed[n]);
        put_key(key, n);
        full_key_make(&full, 7, bytes_of_text(key));
        if (raw_get_newest(rocksdb_of(f.storage), full_key_bytes(&full), &got)) {
            CHECK_EQ(got.value.len, 20, "");
            CHECK(strtoull((const char *)got.value.data, NULL, 10) >= before);
            CHECK(raw_value_release(&got));
            found++;
        }
        full_key_release(&full);
    }
    atomic_store(&counting.is_over, true);
    pthread_join(thread, NULL);
    fixture_close(&f);
    CHECK(found > 0);
}

/* ---- index rows ----------------------------------------------------------------------------------- */

/* The same for a whole scan of the storage, which goes on with an iterator where the files do not suffice. */
static void compare_storage(struct fixture *f, struct storage_view *view, const char *start,
                            const char *again)
{
    const struct storage_range range = { .start = bytes_of_text("k") };
    const char *const starts[] = { start, again };
    struct storage_scan *rows;
    bytes key, value, want_key, want_value;
    struct full_key target;

    CHECK_OK(storage_scan_open(f->storage, view, fixture_at(SPACE_ROWS), &range, &rows));
    for (size_t i = 0; i < ARRAY_COUNT(starts); i++) {
        full_key_make(&target, 7, bytes_of_text(starts[i]));
        struct rival rival = rival_open(f, view, SPACE_ROWS, full_key_bytes(&target));
        storage_scan_seek(rows, bytes_of_text(starts[i]));
        while (rival_next(&rival, &want_key, &want_value)) {
            CHECK(storage_scan_next(rows, &key, &value));
            CHECK_BYTES(key, full_key_rest(want_key), "");
            CHECK_BYTES(value, want_value, "");
            rocksdb_iter_next(rival.rows);
        }
        CHECK(!storage_scan_next(rows, &key, &value));
        rival_close(&rival);
        full_key_release(&target);
    }
    CHECK_OK(storage_scan_status(rows));
    storage_scan_close(rows);
}

static void look_at_rows(struct fixture *f, struct storage_view *view, struct storage_view *old,
                         struct random *random, struct seen *seen)
{
    char start[16], again[16];

    put_key(start, random_below(random, KEYS + QUIET_KEYS));
    put_key(again, random_below(random, KEYS + QUIET_KEYS));
    compare(f, view, NULL, seen);
    compare(f, view, start, seen);
    compare_storage(f, view, start, again);
    if (old) {
        compare(f, old, again, seen);
        compare_storage(f, old, again, start);
    }
}

TEST(storage, rocksdb_index_rows_read_directly_are_those_of_an_iterator)
{
    EACH_SEED(seed, 3) {
        struct seen seen = { .space = SPACE_ROWS, .is_short = true };
        walk_at_random(seed, look_at_rows, &seen);
        CHECK(seen.rows > 1000);
    }
}

/* Where much was deleted lately an iterator is cheaper than to look up each row. */
TEST(storage, rocksdb_index_rows_of_which_many_were_deleted_are_left_to_an_iterator)
{
    struct seen seen = { .space = SPACE_ROWS, .is_short = true };
    struct storage_view *view;
    struct fixture f;
    char key[16];

    fixture_open(&f, FIXTURE_ROCKSDB);
    put_and_flush_space(&f, SPACE_ROWS);
    ask_for_rows(&f);
    for (uint64_t n = 0; n < 10; n++) {
        put_key(key, n);
        fixture_delete(&f, fixture_at(SPACE_ROWS), key);
    }
    fixture_commit(&f);
    CHECK_OK(storage_view_open(f.storage, &view));
    for (int i = 0; i < ENOUGH_GETS && seen.rows == 0; i++)
        compare(&f, view, NULL, &seen);
    CHECK_EQ(seen.lost, 0, "");
    CHECK_EQ(seen.rows, KEYS + QUIET_KEYS - 10, "");
    storage_view_close(f.storage, view);
    for (uint64_t n = 10; n < 50; n++) {
        put_key(key, n);
        fixture_delete(&f, fixture_at(SPACE_ROWS), key);
    }
    fixture_commit(&f);
    /* While RocksDB arranges its files anew it is refused at once, until there is a list of these, and what is lost then does not
     * count; a view that has a list of the files before keeps it. */
    for (int tries = 0; seen.lost == 0 && tries <= 20 * ENOUGH_GETS; tries++) {
        CHECK_OK(storage_view_open(f.storage, &view));
        compare(&f, view, NULL, &seen);
        storage_view_close(f.storage, view);
    }
    CHECK_EQ(seen.lost, 1, "");
    CHECK_OK(storage_view_open(f.storage, &view));
    compare_storage(&f, view, "k", "k00020");
    storage_view_close(f.storage, view);
    fixture_close(&f);
}

/* Keys of one value of an index begin alike for longer than the array of blocks knows; and what comes behind the last
 * file is not there. */
TEST(storage, rocksdb_index_rows_are_found_behind_long_beginnings)
{
    enum { ROWS = 6000 };
    static const char *const forms[] = { "kb%04u", "km-and-so-on-and-so-on-and-so-on-%04u",
                                         "kz%04u-x" };
    struct random random = random_seeded(3);
    struct storage_view *view;
    struct fixture f;
    char key[64], other[64];

    fixture_open(&f, FIXTURE_ROCKSDB);
    for (unsigned i = 0; i < ROWS; i++) {
        snprintf(key, sizeof(key), forms[i % ARRAY_COUNT(forms)], i);
        fixture_put(&f, fixture_at(SPACE_ROWS), key, i % 2 ? "a stamp" : "another stamp");
    }
    fixture_commit(&f);
    fixture_flush(&f, SPACE_ROWS);
    ask_for_rows(&f);
    CHECK(rocksdb_of(f.storage)->shelves[SPACE_ROWS].newest != NULL);
    CHECK_OK(storage_view_open(f.storage, &view));
    for (unsigned i = 0; i < 100; i++) {
        const unsigned n = (unsigned)random_below(&random, ROWS);
        snprintf(key, sizeof(key), forms[n % ARRAY_COUNT(forms)], n);
        snprintf(other, sizeof(other), forms[i % ARRAY_COUNT(forms)], n + 1);
        compare_storage(&f, view, key, other);
    }
    compare_storage(&f, view, "a", "kzz");
    storage_view_close(f.storage, view);
    fixture_close(&f);
}

TEST(storage, rocksdb_index_rows_read_directly_stand_still_beside_a_writer)
{
    struct storage_view *view;
    struct writer writer;

    writer_begin(&writer, SPACE_ROWS);
    for (int i = 0; i < 300; i++) {
        CHECK_OK(storage_view_open(writer.f.storage, &view));
        compare_storage(&writer.f, view, "k", "k00200");
        compare_storage(&writer.f, view, "k00390", "k00010");
        storage_view_close(writer.f.storage, view);
    }
    writer_end(&writer);
}

/* Nothing is in memory: the files are all, until somebody writes. */
TEST(storage, rocksdb_index_rows_come_from_files_alone_until_the_next_write)
{
    struct storage_view *view;
    struct fixture f;

    fixture_open(&f, FIXTURE_ROCKSDB);
    struct raw_shelf *shelf = &rocksdb_of(f.storage)->shelves[SPACE_ROWS];
    fixture_put(&f, fixture_at(SPACE_ROWS), "k1", "in memory");
    fixture_commit(&f);
    ask_for_rows(&f);
    CHECK(shelf->newest != NULL && !raw_files_are_all(shelf, shelf->newest));
    fixture_flush(&f, SPACE_ROWS);
    ask_for_rows(&f);
    CHECK(shelf->newest != NULL && raw_files_are_all(shelf, shelf->newest));
    fixture_put(&f, fixture_at(SPACE_BODIES), "k1", "another space");
    fixture_commit(&f);
    CHECK(shelf->newest != NULL && raw_files_are_all(shelf, shelf->newest));
    CHECK_OK(storage_view_open(f.storage, &view));
    compare_storage(&f, view, "k", "k1");
    fixture_delete(&f, fixture_at(SPACE_ROWS), "k1");
    fixture_put(&f, fixture_at(SPACE_ROWS), "k2", "later");
    fixture_commit(&f);
    CHECK(!shelf->newest || !raw_files_are_all(shelf, shelf->newest));
    compare_storage(&f, view, "k", "k1");
    storage_view_close(f.storage, view);
    CHECK_OK(storage_view_open(f.storage, &view));
    compare_storage(&f, view, "k", "k1");
    storage_view_close(f.storage, view);
    fixture_delete_range(&f, fixture_at(SPACE_ROWS), "k", "kz");
    fixture_commit(&f);
    CHECK_OK(storage_view_open(f.storage, &view));
    compare_storage(&f, view, "k", "k1");
    storage_view_close(f.storage, view);
    fixture_close(&f);
}

/* Somebody has opened none of the files yet, and they are rewritten without any commit. */
TEST(storage, rocksdb_index_rows_are_found_when_files_were_rewritten_since_they_were_listed)
{
    struct seen seen = { .space = SPACE_ROWS, .is_short = true };
    struct storage_view *view;
    struct fixture f;

    fixture_open(&f, FIXTURE_ROCKSDB);
    struct raw_shelf *shelf = &rocksdb_of(f.storage)->shelves[SPACE_ROWS];
    put_and_flush_space(&f, SPACE_ROWS);
    put_and_flush_space(&f, SPACE_ROWS);
    struct raw_files *list = raw_files_for_scan(shelf, raw_arrangement(shelf), false);
    CHECK(list != NULL && raw_files_are_all(shelf, list));
    raw_files_let_go(list);
    fixture_compact(&f, SPACE_ROWS);
    CHECK_OK(storage_view_open(f.storage, &view));
    for (int i = 0; i < 2 * ENOUGH_GETS; i++)
        compare_storage(&f, view, "k00390", "k00010");
    storage_view_close(f.storage, view);
    CHECK_OK(storage_view_open(f.storage, &view));
    compare(&f, view, NULL, &seen);
    CHECK_EQ(seen.rows, KEYS + QUIET_KEYS, "");
    storage_view_close(f.storage, view);
    fixture_close(&f);
}

/* Of every key: is it told to be missing where a get finds nothing, and nowhere else? Returns how many are. */
static uint64_t compare_missing(struct fixture *f)
{
    const struct row_address rows = fixture_at(SPACE_ROWS);
    char names[KEYS][16];
    bytes keys[KEYS];
    bool are_missing[KEYS];
    uint64_t missing = 0;

    for (uint64_t n = 0; n < KEYS; n++) {
        put_key(names[n], n);
        keys[n] = bytes_of_text(names[n]);
    }
    storage_find_missing(f->storage, rows, keys, KEYS, f->arena, are_missing);
    for (uint64_t n = 0; n < KEYS; n++) {
        struct storage_value value = { 0 };
        const status s = storage_get(f->storage, NULL, rows, keys[n], &value);
        CHECK_EQ(are_missing[n], s.code == NOT_FOUND, "%s", names[n]);
        missing += are_missing[n];
        storage_value_release(f->storage, &value);
    }
    return missing;
}

/* Views keep old versions of keys alive, so that they lie in several files. */
TEST(storage, rocksdb_rows_are_told_to_be_missing_exactly_where_a_get_finds_none)
{
    EACH_SEED(seed, 3) {
        static const struct habit habit = { .flushes = 60, .compactions = 8 };
        struct random random = random_seeded(seed);
        struct storage_view *view = NULL;
        struct fixture f;
        uint64_t missing = 0;

        fixture_open(&f, FIXTURE_ROCKSDB);
        for (int i = 0; i < 300; i++) {
            step(&f, &random, &habit, SPACE_ROWS);
            if (i % 37 == 5) {
                storage_view_close(f.storage, view);
                CHECK_OK(storage_view_open(f.storage, &view));
            }
            missing += compare_missing(&f);
        }
        storage_view_close(f.storage, view);
        fixture_close(&f);
        CHECK(missing > 1000);
    }
}
