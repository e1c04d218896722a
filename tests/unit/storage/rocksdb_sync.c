/* Tests of commits whose sync runs beside the filling of the memory tables: nothing is shown before it is on the disk, and never
 * if it cannot get there. */
#include "storage/rocksdb_sync.h"
#include "storage/rocksdb_direct.h"
#include "storage/rocksdb_disk.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/random.h"
#include "storage/rocksdb_replaced.h"
#include "tests/unit/storage/fixture.h"

/* Few rows are synced by the thread that commits, many by another one. */
enum { FEW_ROWS = 10, ROWS = 400, VALUE_BYTES = 500, LOOKS = 4000 };

/* tidy: global because a sync is told nothing but the file; one test at a time. */
static struct {
    struct fixture *fixture;
    _Atomic int calls;
    int shown; /* how often a row was there before it was on the disk */
} watched;

static struct log_sync *sync_of(struct fixture *f)
{
    return &rocksdb_of(f->storage)->sync;
}

/* Under the sanitizers the library fills its tables by itself (mk/flags.mk), so that every sync comes before. */
static bool is_replaced(void)
{
    return dlsym(RTLD_DEFAULT, ROCKSDB_NAME_OF_FILLING) == (void *)rocksdb_fill_tables;
}

static void open_watched(struct fixture *f, int (*call)(int file))
{
    fixture_open(f, FIXTURE_ROCKSDB);
    watched.fixture = f;
    atomic_store(&watched.calls, 0);
    watched.shown = 0;
    fixture_put(f, fixture_at(SPACE_META), "first", "1");
    fixture_commit(f); /* tables were filled through us once, else no sync is put off */
    sync_of(f)->call = call;
}

/* More than enough for the thread, unless `rows` are few. */
static void put_rows(struct fixture *f, enum storage_space space, const char *prefix, unsigned rows)
{
    char key[64], value[VALUE_BYTES];

    memset(value, 'v', sizeof(value));
    value[sizeof(value) - 1] = '\0';
    for (unsigned i = 0; i < rows; i++) {
        snprintf(key, sizeof(key), "%s%05u", prefix, i);
        fixture_put(f, fixture_at(space), key, value);
    }
}

static bool is_there(struct fixture *f, enum storage_space space, const char *key)
{
    struct storage_value value;
    const status s = storage_get(f->storage, NULL, fixture_at(space), bytes_of(key, strlen(key)),
                                 &value);

    if (s.code == OK)
        storage_value_release(f->storage, &value);
    return s.code == OK;
}

static status commit(struct fixture *f)
{
    size_t conflict;
    const status s = storage_commit(f->storage, f->batch, NULL, 0, f->arena, &conflict);

    storage_batch_clear(f->storage, f->batch);
    return s;
}

/* ---- a sync that looks around ------------------------------------------------------------------------ */

static int look_and_sync(int file)
{
    for (int i = 0; i < LOOKS; i++)
        watched.shown += is_there(watched.fixture, SPACE_ROWS, "new00000") ||
                         is_there(watched.fixture, SPACE_BODIES, "new00000");
    atomic_fetch_add(&watched.calls, 1);
    return fdatasync(file);
}

TEST(storage, rocksdb_rows_of_a_large_commit_are_shown_when_its_log_is_on_the_disk)
{
    struct fixture f;

    open_watched(&f, look_and_sync);
    put_rows(&f, SPACE_ROWS, "new", ROWS);
    put_rows(&f, SPACE_BODIES, "new", ROWS);
    CHECK_OK(commit(&f));
    CHECK_EQ(watched.shown, 0, "");
    CHECK_EQ(atomic_load(&watched.calls), 1, "");
    CHECK_EQ(sync_of(&f)->has_thread, is_replaced(), "");
    CHECK(is_there(&f, SPACE_ROWS, "new00000"));
    CHECK(is_there(&f, SPACE_BODIES, "new00399"));
    fixture_reopen(&f);
    CHECK(is_there(&f, SPACE_ROWS, "new00399"));
    fixture_close(&f);
}

TEST(
    storage,
    rocksdb_rows_of_a_small_commit_are_shown_when_its_log_is_on_the_disk_and_no_thread_is_made_for_it)
{
    struct fixture f;

    open_watched(&f, look_and_sync);
    put_rows(&f, SPACE_ROWS, "new", FEW_ROWS);
    CHECK_OK(commit(&f));
    CHECK_EQ(watched.shown, 0, "");
    CHECK_EQ(atomic_load(&watched.calls), 1, "");
    CHECK(!sync_of(&f)->has_thread);
    CHECK(is_there(&f, SPACE_ROWS, "new00000"));
    fixture_close(&f);
}

/* RocksDB does not know that its log is not what it should be. */
static void check_is_left_alone(struct fixture *f)
{
    char copy[sizeof(f->path) + 8];

    snprintf(copy, sizeof(copy), "%s.copy", f->path);
    CHECK_CODE(storage_checkpoint(f->storage, copy, f->arena), IO_ERROR);
    CHECK(access(copy, F_OK) != 0);
    CHECK_CODE(storage_sweep(f->storage, 7, BYTES_NONE, BYTES_NONE), IO_ERROR);
    CHECK_CODE(storage_settle(f->storage, 7), IO_ERROR);
}

TEST(storage, rocksdb_large_commits_follow_each_other_while_tables_are_flushed)
{
    struct fixture f;
    char prefix[32];

    open_watched(&f, look_and_sync);
    for (int i = 0; i < 40; i++) {
        snprintf(prefix, sizeof(prefix), "p%02d", i);
        put_rows(&f, i % 2 ? SPACE_ROWS : SPACE_BODIES, prefix, ROWS);
        CHECK_OK(commit(&f));
        if (i % 7 == 3) /* begins another log */
            fixture_flush(&f, i % 2 ? SPACE_ROWS : SPACE_BODIES);
    }
    CHECK_EQ(watched.shown, 0, "");
    CHECK(atomic_load(&watched.calls) >= 40);
    fixture_reopen(&f);
    for (int i = 0; i < 40; i++) {
        snprintf(prefix, sizeof(prefix), "p%02d00399", i);
        CHECK(is_there(&f, i % 2 ? SPACE_ROWS : SPACE_BODIES, prefix));
    }
    fixture_close(&f);
}

/* ---- a sync that fails ------------------------------------------------------------------------------- */

static int fail_to_sync(int file)
{
    (void)file;
    atomic_fetch_add(&watched.calls, 1);
    errno = EIO;
    return -1;
}

static void check_shows_only_what_is_sound(struct fixture *f)
{
    struct storage_view *view;

    CHECK(!is_there(f, SPACE_ROWS, "new00000"));
    CHECK(!is_there(f, SPACE_BODIES, "new00000"));
    CHECK_ROW(f, NULL, fixture_at(SPACE_ROWS), "old", "1");
    CHECK_ROW(f, NULL, fixture_at(SPACE_BODIES), "gone", "1");
    CHECK_SCAN(f, NULL, fixture_at(SPACE_ROWS), "", "", false, "old=1");
    CHECK_OK(storage_view_open(f->storage, &view));
    CHECK_ROW(f, view, fixture_at(SPACE_ROWS), "new00000", NULL);
    CHECK_SCAN(f, view, fixture_at(SPACE_ROWS), "", "", false, "old=1");
    CHECK_SCAN(f, view, fixture_at(SPACE_BODIES), "", "", false, "gone=1");
    storage_view_close(f->storage, view);
}

static bool is_flushed(struct fixture *f, enum storage_space space)
{
    struct rocksdb_storage *rocks = rocksdb_of(f->storage);
    rocksdb_flushoptions_t *options = rocksdb_flushoptions_create();
    char *error = NULL;

    rocksdb_flush_cf(rocks->db, options, rocks->spaces[space], &error);
    rocksdb_flushoptions_destroy(options);
    const bool is_done = error == NULL;
    rocksdb_free(error);
    return is_done;
}

/* RocksDB would note down how long it takes the log for. */
static void check_is_not_flushed(struct fixture *f)
{
    CHECK(!is_flushed(f, SPACE_ROWS));
    CHECK(!is_flushed(f, SPACE_BODIES));
}

/* Where tables are filled after the sync, it is RocksDB that refuses. */
static void check_failing_commit(unsigned rows)
{
    struct fixture f;

    open_watched(&f, fdatasync);
    fixture_put(&f, fixture_at(SPACE_ROWS), "old", "1");
    fixture_put(&f, fixture_at(SPACE_BODIES), "gone", "1");
    fixture_commit(&f);
    sync_of(&f)->call = fail_to_sync;
    put_rows(&f, SPACE_ROWS, "new", rows);
    put_rows(&f, SPACE_BODIES, "new", rows);
    fixture_delete(&f, fixture_at(SPACE_BODIES), "gone");
    const status s = commit(&f);
    CHECK_CODE(s, UNKNOWN_RESULT);
    CHECK(strstr(s.message, strerror(EIO)) != NULL);
    CHECK_EQ(atomic_load(&watched.calls), 1, "");
    check_shows_only_what_is_sound(&f);
    fixture_put(&f, fixture_at(SPACE_ROWS), "later", "1");
    CHECK_CODE(commit(&f), IO_ERROR);
    if (is_replaced())
        check_is_left_alone(&f);
    check_is_not_flushed(&f);
    if (is_replaced())
        check_shows_only_what_is_sound(&f);
    fixture_reopen(&f);
    CHECK(is_there(&f, SPACE_ROWS, "new00000")); /* it had reached the file after all */
    fixture_close(&f);
}

TEST(storage,
     rocksdb_rows_that_could_not_be_synced_are_never_shown_and_nothing_is_written_behind_them)
{
    check_failing_commit(ROWS);
    check_failing_commit(FEW_ROWS);
}

TEST(storage, rocksdb_a_view_from_before_a_failed_sync_goes_on_showing_what_it_did)
{
    struct fixture f;
    struct storage_view *view;

    open_watched(&f, fdatasync);
    fixture_put(&f, fixture_at(SPACE_ROWS), "old", "1");
    fixture_commit(&f);
    CHECK_OK(storage_view_open(f.storage, &view));
    sync_of(&f)->call = fail_to_sync;
    put_rows(&f, SPACE_ROWS, "new", ROWS);
    CHECK_CODE(commit(&f), UNKNOWN_RESULT);
    CHECK_SCAN(&f, view, fixture_at(SPACE_ROWS), "", "", false, "old=1");
    storage_view_close(f.storage, view);
    fixture_close(&f);
}

/* ---- a log that cannot be written --------------------------------------------------------------------- */

/* No file may be longer than this: a disk that is full. */
static void limit_files(rlim_t most)
{
    struct rlimit limit;

    CHECK_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0, "");
    limit.rlim_cur = most < limit.rlim_max ? most : limit.rlim_max;
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0, "");
}

static void check_has_what_was_promised(struct fixture *f)
{
    CHECK(is_there(f, SPACE_META, "first"));
    CHECK(is_there(f, SPACE_ROWS, "old00000"));
    CHECK(is_there(f, SPACE_ROWS, "old00399"));
    fixture_put(f, fixture_at(SPACE_ROWS), "later", "1");
    fixture_commit(f);
    fixture_flush(f, SPACE_ROWS);
}

/* So long files may be, which is too little for the log with the last commit, and enough for everything else. */
static void check_opens_again(unsigned rows, rlim_t limit_bytes)
{
    char copy[256];
    struct fixture f, image;

    open_watched(&f, fdatasync);
    put_rows(&f, SPACE_ROWS, "old", ROWS);
    CHECK_OK(commit(&f));
    put_rows(&f, SPACE_ROWS, "new", rows);
    limit_files(limit_bytes);
    CHECK_CODE(commit(&f), UNKNOWN_RESULT);
    check_is_not_flushed(&f);
    limit_files(RLIM_INFINITY);
    check_temp_dir(copy, sizeof(copy));
    fixture_copy_files(f.path, copy);
    fixture_open_image(&image, copy, f.log);
    CHECK(!is_there(&image, SPACE_ROWS, "new00000"));
    check_has_what_was_promised(&image);
    fixture_close(&image);
    fixture_reopen(&f);
    check_has_what_was_promised(&f);
    fixture_close(&f);
}

TEST(storage, rocksdb_a_database_whose_log_could_not_be_written_opens_again_with_all_it_promised)
{
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);

    check_opens_again(FEW_ROWS, 128 << 10);
    check_opens_again(ROWS, 128 << 10);
    check_opens_again(4 * ROWS, 512 << 10); /* a part of it gets there */
    signal(SIGXFSZ, before);
}

enum { OLD_ROWS = 40000, FILE_BYTES_MAX = 6 << 20 };

/* More than a file may have, in what LZ4 cannot pack. */
static void put_much(struct fixture *f)
{
    struct random random = random_seeded(1);
    char key[32];
    uint64_t value[VALUE_BYTES / 8];

    for (unsigned i = 0; i < OLD_ROWS; i++) {
        for (size_t k = 0; k < sizeof(value) / sizeof(*value); k++)
            value[k] = random_next(&random);
        snprintf(key, sizeof(key), "old%05u", i);
        storage_put(f->storage, f->batch, fixture_at(SPACE_BODIES), bytes_of_text(key),
                    bytes_of(value, sizeof(value)));
        if (i % 1000 == 999)
            CHECK_OK(commit(f));
    }
}

static void begin_flush(struct fixture *f, enum storage_space space)
{
    struct rocksdb_storage *rocks = rocksdb_of(f->storage);
    rocksdb_flushoptions_t *options = rocksdb_flushoptions_create();
    char *error = NULL;

    rocksdb_flushoptions_set_wait(options, 0);
    rocksdb_flush_cf(rocks->db, options, rocks->spaces[space], &error);
    rocksdb_flushoptions_destroy(options);
    CHECK_STRING(error != NULL ? error : "", "");
}

static int fail_behind_a_failed_flush(int file)
{
    uint64_t errors = 0;

    (void)file;
    do
        rocksdb_property_int(rocksdb_of(watched.fixture->storage)->db, "rocksdb.background-errors",
                             &errors);
    while (errors == 0 && sched_yield() == 0);
    errno = ENOSPC;
    return -1;
}

TEST(storage, rocksdb_goes_on_showing_what_is_sound_when_a_flush_and_a_commit_fail_at_once)
{
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);

    for (unsigned rows = FEW_ROWS; rows <= ROWS && is_replaced(); rows += ROWS - FEW_ROWS) {
        struct fixture f;
        open_watched(&f, fdatasync);
        put_much(&f);
        limit_files(FILE_BYTES_MAX);
        begin_flush(&f, SPACE_BODIES);
        fixture_put(&f, fixture_at(SPACE_ROWS), "between", "1"); /* it waits for the log to end */
        CHECK_OK(commit(&f));
        sync_of(&f)->call = fail_behind_a_failed_flush;
        put_rows(&f, SPACE_ROWS, "new", rows);
        CHECK_CODE(commit(&f), UNKNOWN_RESULT);
        CHECK(is_there(&f, SPACE_BODIES, "old00000"));
        CHECK(is_there(&f, SPACE_ROWS, "between"));
        CHECK(!is_there(&f, SPACE_ROWS, "new00000"));
        limit_files(RLIM_INFINITY);
        sync_of(&f)->call = fdatasync;
        fixture_reopen(&f);
        CHECK(is_there(&f, SPACE_BODIES, "old39999"));
        CHECK(is_there(&f, SPACE_ROWS, "between"));
        fixture_close(&f);
    }
    signal(SIGXFSZ, before);
}

/* ---- a commit that begins another log ------------------------------------------------------------------ */

enum { COMMITS_MAX = 1000 }; /* more than fill a memory table */

/* tidy: global because a sync is told nothing but the file; one test at a time. */
static struct {
    char first_log[PATH_MAX];
    _Atomic int others;          /* files that are not logs */
    _Atomic int later, failures; /* syncs of another log than the first; how often one has failed */
    bool fails, goes_on_failing;
} switched;

static void put_name(int file, char out[PATH_MAX])
{
    char link[32];

    snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
    const ssize_t len = readlink(link, out, PATH_MAX - 1);
    out[len > 0 ? len : 0] = '\0';
}

static int sync_through_a_switch(int file)
{
    char name[PATH_MAX];

    put_name(file, name);
    const bool is_log = strstr(name, ".log") != NULL;
    if (is_log && switched.first_log[0] == '\0')
        memcpy(switched.first_log, name, sizeof(name));
    const bool is_later = is_log && strcmp(name, switched.first_log) != 0;
    switched.others += !is_log;
    switched.later += is_later;
    if ((switched.fails && is_later && switched.failures == 0) ||
        (switched.goes_on_failing && switched.failures > 0)) {
        switched.failures++;
        errno = EIO;
        return -1;
    }
    return fdatasync(file);
}

/* Until a commit has begun another log; what that one came to. */
static status commit_until_a_switch(struct fixture *f, char last_key[32])
{
    status s = STATUS_OK;

    memset(switched.first_log, 0, sizeof(switched.first_log));
    switched.others = switched.later = switched.failures = 0;
    for (int i = 0; i < COMMITS_MAX && s.code == OK && switched.later == 0; i++) {
        char prefix[16];
        snprintf(prefix, sizeof(prefix), "p%03d", i);
        put_rows(f, SPACE_BODIES, prefix, ROWS);
        snprintf(last_key, 32, "p%03d%05d", i, ROWS - 1);
        s = commit(f);
    }
    CHECK(switched.later == 1);
    CHECK_EQ(switched.others, 0, "");
    return s;
}

TEST(storage, rocksdb_only_its_log_is_synced_beside_a_commit_also_where_another_one_begins)
{
    struct fixture f;
    char last[32];

    open_watched(&f, sync_through_a_switch);
    switched.fails = switched.goes_on_failing = false;
    if (is_replaced()) {
        CHECK_OK(commit_until_a_switch(&f, last));
        CHECK(is_there(&f, SPACE_BODIES, last));
        fixture_reopen(&f);
        CHECK(is_there(&f, SPACE_BODIES, last));
    }
    fixture_close(&f);
}

TEST(storage, rocksdb_a_commit_whose_new_log_could_not_be_synced_has_failed_and_is_never_shown)
{
    for (int goes_on = 0; goes_on < 2 && is_replaced(); goes_on++) {
        struct fixture f;
        char last[32];
        open_watched(&f, sync_through_a_switch);
        switched.fails = true;
        switched.goes_on_failing = goes_on;
        CHECK_CODE(commit_until_a_switch(&f, last), UNKNOWN_RESULT);
        CHECK_EQ(switched.failures, 1, "");
        CHECK(!is_there(&f, SPACE_BODIES, last));
        CHECK_SCAN(&f, NULL, fixture_at(SPACE_BODIES), last, "", false, "");
        fixture_close(&f);
    }
}

/* ---- the two threads, in all variants ---------------------------------------------------------------- */

static int count_syncs(int file)
{
    (void)file;
    atomic_fetch_add(&watched.calls, 1);
    return 0;
}

/* What RocksDB does in a commit, without RocksDB: a log is written and synced, and then something else. */
static int play_commit(struct rocksdb_storage *rocks, struct direct_log *log, size_t size,
                       bool are_rows_put)
{
    sync_commit_begin(rocks, size);
    CHECK_EQ(direct_append(log, "commit", 6, true), 0, "");
    CHECK_EQ(sync_log(rocks, log), 0, "");
    if (are_rows_put)
        rocksdb_rows_are_in();
    return sync_commit_end(rocks);
}

struct put_off {
    struct rocksdb_storage *rocks;
    struct direct_log *log;
};

static void append_too_early(void *put_off)
{
    const struct put_off *it = put_off;

    (void)sync_log_append(it->rocks, it->log, "next", 4);
}

static void close_too_early(void *put_off)
{
    const struct put_off *it = put_off;

    (void)sync_log_close(it->rocks, it->log);
}

TEST(storage, rocksdb_a_log_whose_sync_is_put_off_is_neither_written_nor_closed_before_it)
{
    struct fixture f;
    char path[sizeof(f.path) + 8];

    open_watched(&f, count_syncs);
    struct rocksdb_storage *rocks = rocksdb_of(f.storage);
    snprintf(path, sizeof(path), "%s/0.log", f.path);
    close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    struct put_off it = { rocks, sync_log_open(rocks, path, false) };
    CHECK(it.log != NULL);
    rocksdb_rows_are_in(); /* as if tables had been filled through us */
    sync_commit_begin(rocks, 1);
    CHECK_EQ(sync_log_append(rocks, it.log, "commit", 6), 0, "");
    CHECK_EQ(sync_log(rocks, it.log), 0, "");
    CHECK(check_aborts(append_too_early, &it));
    CHECK(check_aborts(close_too_early, &it));
    CHECK_EQ(sync_commit_end(rocks), 0, "");
    CHECK_EQ(sync_log_append(rocks, it.log, "next", 4), 0, "");
    CHECK_EQ(sync_log_close(rocks, it.log), 0, "");
    fixture_close(&f);
}

TEST(storage,
     rocksdb_the_sync_of_a_commit_is_over_when_its_rows_are_in_or_it_has_failed_without_them)
{
    struct fixture f;

    open_watched(&f, count_syncs);
    struct rocksdb_storage *rocks = rocksdb_of(f.storage);
    const size_t large = rocks->sync.least_bytes;
    char path[sizeof(f.path) + 8];
    snprintf(path, sizeof(path), "%s/0.log", f.path);
    close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    struct direct_log *log = direct_open(path, false, &rocks->sync.context);
    CHECK(log != NULL);
    rocksdb_rows_are_in(); /* as if tables had been filled through us */
    for (int i = 1; i <= 100; i++) {
        CHECK_EQ(play_commit(rocks, log, i % 3 ? large : large - 1, i % 2), 0, "");
        CHECK_EQ(atomic_load(&watched.calls), i, "");
    }
    CHECK(sync_sound_state(rocks) == NULL);
    rocks->sync.call = fail_to_sync;
    CHECK_EQ(play_commit(rocks, log, large, true), EIO, "");
    CHECK(sync_sound_state(rocks) != NULL);
    rocks->sync.call = fdatasync;
    CHECK_EQ(direct_close(log), 0, "");
    fixture_close(&f);
}
