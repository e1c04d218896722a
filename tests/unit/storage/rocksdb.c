/* What only a storage on disk can do wrong: directories, reopening, space. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/directory.h"
#include "storage/rocksdb_ahead.h"
#include "storage/rocksdb_log.h"
#include "storage/rocksdb_raw.h"
#include "tests/unit/storage/fixture.h"

enum { BODY_BYTES = 500 };

static status open_again(struct fixture *f, struct storage_options options)
{
    struct storage *storage = NULL;
    const status s = storage_open_rocksdb(&options, f->arena, &storage);

    storage_close(storage);
    return s;
}

TEST(storage, rocksdb_keeps_everything_over_a_reopen)
{
    struct fixture f;

    fixture_open(&f, FIXTURE_ROCKSDB);
    CHECK(storage_capabilities(f.storage) & STORAGE_IS_DURABLE);
    fixture_put(&f, fixture_at(SPACE_META), "a", "1");
    fixture_put(&f, fixture_at(SPACE_ROWS), "b", "2");
    fixture_put(&f, fixture_at(SPACE_BODIES), "c", "3");
    fixture_add(&f, "n", 5, 6);
    fixture_commit(&f);
    fixture_add(&f, "n", 5, 6);
    fixture_delete_range(&f, fixture_at(SPACE_BODIES), "", "");
    fixture_put(&f, fixture_at(SPACE_BODIES), "d", "4");
    fixture_commit(&f);
    for (int i = 0; i < 3; i++) {
        fixture_reopen(&f);
        CHECK_ROW(&f, NULL, fixture_at(SPACE_META), "a", "1");
        CHECK_SCAN(&f, NULL, fixture_at(SPACE_ROWS), "", "", false, "b=2");
        CHECK_SCAN(&f, NULL, fixture_at(SPACE_BODIES), "", "", false, "d=4");
        struct storage_value value;
        struct storage_counters counters;
        CHECK_OK(storage_get(f.storage, NULL, fixture_at(SPACE_META), BYTES_LITERAL("n"), &value));
        CHECK(storage_counters_decode(value.value, &counters));
        CHECK_EQ(counters.first, 10, "");
        CHECK_EQ(counters.second, 12, "");
        storage_value_release(f.storage, &value);
    }
    fixture_close(&f);
}

TEST(storage, rocksdb_directory_serves_one_server_at_a_time)
{
    struct fixture f;
    struct storage_options reader;

    fixture_open(&f, FIXTURE_ROCKSDB);
    const status s = open_again(&f, f.options);
    CHECK_EQ(s.code, IO_ERROR, "");
    CHECK_THAT(strstr(s.message, "another server is using") != NULL, "%s", s.message);
    reader = f.options;
    reader.is_read_only = true;
    CHECK_CODE(open_again(&f, reader), IO_ERROR);
    fixture_close(&f);
}

TEST(storage, rocksdb_leaves_foreign_directories_alone)
{
    struct fixture f;
    char file[512];

    fixture_open(&f, FIXTURE_MEMORY);
    check_temp_dir(f.path, sizeof(f.path));
    snprintf(file, sizeof(file), "%s/letter.txt", f.path);
    close(open(file, O_CREAT | O_WRONLY, 0600));
    const status s = open_again(&f, f.options);
    CHECK_EQ(s.code, CORRUPT, "");
    CHECK_THAT(strstr(s.message, "not a mayfly data directory") != NULL, "%s", s.message);

    struct storage_options options = f.options;
    options.path = file;
    CHECK_CODE(open_again(&f, options), IO_ERROR);
    fixture_close(&f);
}

/* A directory in which there is nothing but such a mark, and nobody uses it. */
static void open_beside_mark(struct fixture *f, bytes mark)
{
    char file[512];

    fixture_open(f, FIXTURE_MEMORY);
    check_temp_dir(f->path, sizeof(f->path));
    snprintf(file, sizeof(file), "%s/MAYFLY", f->path);
    const int fd = open(file, O_CREAT | O_WRONLY, 0600);
    CHECK_EQ(write(fd, mark.data, mark.len), (ssize_t)mark.len, "");
    close(fd);
}

TEST(storage, rocksdb_directory_of_another_format_is_refused)
{
    struct fixture f;

    open_beside_mark(&f, BYTES_LITERAL("mayfly storage format 99\n"));
    CHECK_CODE(open_again(&f, f.options), CORRUPT);
    fixture_close(&f);
}

/* Of whoever died while it was written. */
TEST(storage, rocksdb_directory_with_the_beginning_of_a_mark_is_ours)
{
    const char text[] = "mayfly storage format 1\n";
    const size_t lens[] = { 0, 1, 12, sizeof(text) - 2 };

    EACH_ROW(lens, len) {
        struct fixture f;
        int lock;
        open_beside_mark(&f, bytes_of(text, *len));
        CHECK_CODE(storage_keep_out(f.path, f.arena, &lock), NOT_FOUND);
        CHECK_OK(open_again(&f, f.options));
        fixture_close(&f);
    }
}

TEST(storage, rocksdb_creates_a_private_directory_unless_it_must_exist)
{
    struct fixture f;
    struct stat info;
    char path[512];

    fixture_open(&f, FIXTURE_MEMORY);
    check_temp_dir(f.path, sizeof(f.path));
    snprintf(path, sizeof(path), "%s/new", f.path);
    struct storage_options options = f.options;
    options.path = path;
    options.must_exist = true;
    CHECK_CODE(open_again(&f, options), NOT_FOUND);
    options.must_exist = false;
    CHECK_OK(open_again(&f, options));
    CHECK_EQ(stat(path, &info), 0, "");
    CHECK_EQ(info.st_mode & 0777, 0700, "");
    options.must_exist = true;
    CHECK_OK(open_again(&f, options));
    fixture_close(&f);
}

TEST(storage, rocksdb_opened_for_reading_refuses_commits)
{
    struct fixture f;
    size_t conflict;

    fixture_open(&f, FIXTURE_ROCKSDB);
    fixture_put(&f, fixture_at(SPACE_ROWS), "a", "1");
    fixture_commit(&f);
    f.options.is_read_only = true;
    fixture_reopen(&f);
    CHECK_ROW(&f, NULL, fixture_at(SPACE_ROWS), "a", "1");
    CHECK_SCAN(&f, NULL, fixture_at(SPACE_ROWS), "", "", true, "a=1");
    fixture_put(&f, fixture_at(SPACE_ROWS), "a", "2");
    CHECK_CODE(storage_commit(f.storage, f.batch, NULL, 0, f.arena, &conflict), IO_ERROR);
    CHECK_CODE(storage_sweep(f.storage, 7, BYTES_NONE, BYTES_NONE), IO_ERROR);
    CHECK_ROW(&f, NULL, fixture_at(SPACE_ROWS), "a", "1");
    fixture_close(&f);
}

/* With an incompressible body. */
static void put_body(struct fixture *f, enum storage_space space, struct random *random,
                     const char *key, char first)
{
    uint64_t body[BODY_BYTES / 8];

    for (size_t j = 0; j < ARRAY_COUNT(body); j++)
        body[j] = random_next(random);
    memcpy(body, &first, 1);
    storage_put(f->storage, f->batch, fixture_at(space), bytes_of_text(key),
                bytes_of(body, sizeof(body)));
}

/* Writes rows with keys 00000000, 00000001, ... */
static void fill(struct fixture *f, enum storage_space space, int count)
{
    struct random random = random_seeded(1);
    char key[16];

    for (int i = 0; i < count; i++) {
        snprintf(key, sizeof(key), "%08d", i);
        put_body(f, space, &random, key, i % 2 == 0 ? 'd' : 'l');
        if (i % 1000 == 999)
            fixture_commit(f);
    }
    fixture_commit(f);
}

/* Every row once by a get; half of them as the view sees them. */
static int check_gets(struct fixture *f, struct storage_view *view, enum storage_space space)
{
    const struct storage_range all = { 0 };
    struct storage_value got;
    struct storage_scan *scan;
    bytes key, value;
    int count = 0;

    CHECK_OK(storage_scan_open(f->storage, NULL, fixture_at(space), &all, &scan));
    for (; storage_scan_next(scan, &key, &value); count++) {
        CHECK_OK(storage_get(f->storage, count % 2 ? view : NULL, fixture_at(space), key, &got));
        CHECK_BYTES(got.value, value, "");
        storage_value_release(f->storage, &got);
    }
    CHECK_OK(storage_scan_status(scan));
    storage_scan_close(scan);
    return count;
}

TEST(storage, rocksdb_gets_the_same_rows_from_a_cache_that_is_too_small)
{
    enum { ROWS = 6000 };
    struct fixture f;
    struct storage_view *view;

    fixture_open(&f, FIXTURE_ROCKSDB);
    fill(&f, SPACE_BODIES, ROWS);
    f.options.cache_bytes = 1 << 20; /* a third */
    fixture_reopen(&f);
    CHECK_OK(storage_view_open(f.storage, &view));
    /* They come from the files themselves, but for the first ones; RocksDB gets them where too many files are open. */
    struct rocksdb_storage *rocks = rocksdb_of(f.storage);
    CHECK_EQ(check_gets(&f, view, SPACE_BODIES), ROWS, "");
    struct cache_filling *filling = &rocks->fillings[SPACE_BODIES];
    const uint32_t gets = atomic_load(&filling->gets);
    CHECK(gets > 0 && gets < 200);
    raw_shelf_clear(&rocks->shelves[SPACE_BODIES]);
    atomic_fetch_add(&rocks->shelves[SPACE_BODIES].kept_open, 1u << 20);
    storage_view_close(f.storage, view);
    CHECK_OK(storage_view_open(f.storage, &view));
    for (int i = 0; i < 3; i++)
        CHECK_EQ(check_gets(&f, view, SPACE_BODIES), ROWS, "");
    CHECK_EQ(atomic_load(&filling->gets), gets + 3 * ROWS, "");
    CHECK(atomic_load(&filling->is_full));
    atomic_fetch_sub(&rocks->shelves[SPACE_BODIES].kept_open, 1u << 20);
    storage_view_close(f.storage, view);
    fixture_close(&f);
}

TEST(storage, rocksdb_gets_the_same_locators_from_a_cache_that_is_too_small)
{
    enum { ROWS = 6000 };
    struct fixture f;
    struct storage_view *view;

    fixture_open(&f, FIXTURE_ROCKSDB);
    fill(&f, SPACE_ROWS, ROWS);
    f.options.cache_bytes = 1 << 20; /* a third */
    fixture_reopen(&f);
    CHECK_OK(storage_view_open(f.storage, &view));
    for (int i = 0; i < 3; i++)
        CHECK_EQ(check_gets(&f, view, SPACE_ROWS), ROWS, "");
    CHECK(atomic_load(&rocksdb_of(f.storage)->fillings[SPACE_ROWS].is_full));
    storage_view_close(f.storage, view);
    fixture_close(&f);
}

static uint64_t disk_bytes(struct fixture *f)
{
    struct storage_usage usage;

    storage_usage(f->storage, &usage);
    return usage.disk_bytes;
}

TEST(storage, rocksdb_gives_the_disk_back_after_a_sweep)
{
    struct fixture f;
    const int count = 40000;

    fixture_open(&f, FIXTURE_ROCKSDB);
    fill(&f, SPACE_ROWS, count);
    CHECK_OK(storage_sweep(f.storage, 7, BYTES_NONE, BYTES_NONE));
    const uint64_t full = disk_bytes(&f);
    CHECK_THAT(full > (uint64_t)count * BODY_BYTES, "%llu bytes", (unsigned long long)full);
    atomic_store(&f.garbage_byte, 'd');
    CHECK_OK(storage_sweep(f.storage, 7, BYTES_NONE, BYTES_NONE));
    const uint64_t swept = disk_bytes(&f);
    CHECK_THAT(swept < full * 6 / 10, "%llu of %llu bytes left", (unsigned long long)swept,
               (unsigned long long)full);
    CHECK_ROW(&f, NULL, fixture_at(SPACE_ROWS), "00000000", NULL);
    fixture_close(&f);
}

static uint64_t written_bytes(struct fixture *f)
{
    struct storage_usage usage;

    storage_usage(f->storage, &usage);
    return usage.written_bytes;
}

/* So many files that reach over everything, with a row at either end. */
static void put_fresh_files(struct fixture *f, int count)
{
    for (int i = 0; i < count; i++) {
        fixture_put(f, fixture_at(SPACE_ROWS), "00000000", "early");
        fixture_put(f, fixture_at(SPACE_ROWS), "99999999", "late");
        fixture_commit(f);
        fixture_flush(f, SPACE_ROWS);
    }
}

TEST(storage, rocksdb_a_sweep_writes_rows_once_however_many_fresh_files_there_are)
{
    enum { MOST = 3 }; /* RocksDB does not wait for more than one behind them */

    for (int fresh = 0; fresh <= MOST; fresh++) {
        struct fixture f;

        fixture_open(&f, FIXTURE_ROCKSDB);
        fill(&f, SPACE_ROWS, 4000);
        fixture_put(&f, fixture_at(SPACE_ROWS), "00000001a", "early");
        CHECK_OK(storage_sweep(f.storage, 7, BYTES_NONE, BYTES_NONE));
        put_fresh_files(&f, fresh);
        fixture_put(&f, fixture_at(SPACE_ROWS), "50000000", "middle");
        fixture_commit(&f);
        const uint64_t before = written_bytes(&f);
        const uint64_t once = disk_bytes(&f);
        atomic_store(&f.garbage_byte, 'e'); /* the early ones are that */
        CHECK_OK(storage_sweep(f.storage, 7, BYTES_NONE, BYTES_NONE));
        const uint64_t written = written_bytes(&f) - before;
        CHECK_ROW(&f, NULL, fixture_at(SPACE_ROWS), "00000001a", NULL);
        CHECK_ROW(&f, NULL, fixture_at(SPACE_ROWS), "50000000", "middle");
        CHECK_THAT(written < once * 15 / 10, "%d fresh files: %llu bytes written, of %llu", fresh,
                   (unsigned long long)written, (unsigned long long)once);
        fixture_close(&f);
    }
}

TEST(storage, rocksdb_garbage_in_memory_is_not_written_to_files)
{
    for (enum storage_space space = SPACE_ROWS; space <= SPACE_BODIES; space++) {
        struct fixture f;
        fixture_open(&f, FIXTURE_ROCKSDB);
        fill(&f, space, 4000);
        fixture_put(&f, fixture_at(space), "99999999", "late");
        fixture_commit(&f);
        const uint64_t before = written_bytes(&f);
        atomic_store(&f.garbage_byte, 'd');
        fixture_flush(&f, space);
        const uint64_t written = written_bytes(&f) - before;
        CHECK_THAT(written < 4000 * BODY_BYTES / 2 * 13 / 10, "half is garbage, %llu bytes written",
                   (unsigned long long)written);
        atomic_store(&f.garbage_byte, 0);
        CHECK_ROW(&f, NULL, fixture_at(space), "00000000", NULL);
        CHECK_ROW(&f, NULL, fixture_at(space), "99999999", "late");
        fixture_reopen(&f);
        CHECK_ROW(&f, NULL, fixture_at(space), "00000000", NULL);
        CHECK_ROW(&f, NULL, fixture_at(space), "99999999", "late");
        fixture_close(&f);
    }
}

TEST(storage, rocksdb_gives_logs_back_and_rows_that_have_just_left_them)
{
    struct fixture f;
    const int count = 36000;

    fixture_open(&f, FIXTURE_ROCKSDB);
    fill(&f, SPACE_BODIES, count);
    fixture_put(&f, fixture_at(SPACE_META), "a", "1");
    fixture_commit(&f);
    CHECK(directory_bytes(f.path, ".log") > (uint64_t)count * BODY_BYTES);
    CHECK_OK(storage_trim(f.storage));
    const uint64_t full = disk_bytes(&f);
    CHECK_THAT(full < (uint64_t)count * BODY_BYTES * 12 / 10, "%llu bytes without logs",
               (unsigned long long)full);
    fixture_put(&f, fixture_at(SPACE_BODIES), "00099999", "late");
    fixture_commit(&f);
    CHECK_OK(storage_drop_range(f.storage, fixture_at(SPACE_BODIES), BYTES_NONE,
                                BYTES_LITERAL("00050000")));
    CHECK_ROW(&f, NULL, fixture_at(SPACE_META), "a", "1");
    atomic_store(&f.garbage_byte, 'd');
    bool has_rest;
    CHECK_OK(storage_drop_fresh(f.storage, fixture_at(SPACE_BODIES), BYTES_NONE,
                                BYTES_LITERAL("00050000"), &has_rest));
    const uint64_t left = disk_bytes(&f);
    CHECK_THAT(left < full * 6 / 10, "%llu of %llu bytes left", (unsigned long long)left,
               (unsigned long long)full);
    CHECK_ROW(&f, NULL, fixture_at(SPACE_BODIES), "00000000", NULL);
    CHECK_ROW(&f, NULL, fixture_at(SPACE_BODIES), "00099999", "late");
    fixture_close(&f);
}

/* In a file of their own, each behind one of fill()'s. */
static void put_dead(struct fixture *f, enum storage_space space, int count)
{
    struct random random = random_seeded(2);
    char key[16];

    for (int i = 0; i < count; i++) {
        snprintf(key, sizeof(key), "%08da", i);
        put_body(f, space, &random, key, 'd');
    }
    fixture_commit(f);
    fixture_flush(f, space);
}

TEST(storage, rocksdb_dead_documents_in_fresh_files_leave_without_anything_being_written)
{
    enum { DOCUMENTS = 4000 };

    for (int living = 0; living <= 1; living++) {
        struct fixture f;
        fixture_open(&f, FIXTURE_ROCKSDB);
        fill(&f, SPACE_BODIES, DOCUMENTS);
        fixture_compact(&f, SPACE_BODIES);
        const uint64_t settled = directory_bytes(f.path, ".sst");
        put_dead(&f, SPACE_BODIES, DOCUMENTS);
        if (living) {
            fixture_put(&f, fixture_at(SPACE_BODIES), "99999999", "late");
            fixture_commit(&f);
            fixture_flush(&f, SPACE_BODIES);
        }
        put_dead(&f, SPACE_BODIES, DOCUMENTS / 2);
        const uint64_t before = written_bytes(&f), full = directory_bytes(f.path, ".sst");
        CHECK(full > settled + DOCUMENTS * BODY_BYTES * 15 / 10);
        atomic_store(&f.garbage_byte, 'd');
        bool has_rest;
        CHECK_OK(storage_drop_fresh(f.storage, fixture_at(SPACE_BODIES), BYTES_NONE,
                                    BYTES_LITERAL("00050000"), &has_rest));
        CHECK(!has_rest);
        CHECK_EQ(written_bytes(&f), before, "bytes");
        atomic_store(&f.garbage_byte, 0);
        CHECK(directory_bytes(f.path, ".sst") < settled + 4096);
        CHECK_ROW(&f, NULL, fixture_at(SPACE_BODIES), "00000000a", NULL);
        CHECK_ROW(&f, NULL, fixture_at(SPACE_BODIES), "99999999", living ? "late" : NULL);
        CHECK_EQ(check_gets(&f, NULL, SPACE_BODIES), DOCUMENTS + living, "");
        fixture_reopen(&f);
        CHECK_ROW(&f, NULL, fixture_at(SPACE_BODIES), "00000000a", NULL);
        CHECK_ROW(&f, NULL, fixture_at(SPACE_BODIES), "99999999", living ? "late" : NULL);
        fixture_close(&f);
    }
}

TEST(storage, rocksdb_gives_whole_files_back_when_a_range_is_dropped)
{
    struct fixture f;
    const int count = 100000;
    bytes key, value;
    const struct storage_range all = { 0 };
    struct storage_scan *scan;
    struct storage_usage before, after;

    fixture_open(&f, FIXTURE_ROCKSDB);
    fill(&f, SPACE_BODIES, count);
    /* Files leave from below the first level only; do not depend on when RocksDB gets there. */
    fixture_compact(&f, SPACE_BODIES);
    storage_usage(f.storage, &before);
    fixture_delete_range(&f, fixture_at(SPACE_BODIES), "", "00099990");
    fixture_commit(&f);
    CHECK_OK(storage_drop_range(f.storage, fixture_at(SPACE_BODIES), BYTES_NONE,
                                BYTES_LITERAL("00099990")));
    do /* another thread removes them */
        storage_usage(f.storage, &after);
    while (after.disk_bytes >= before.disk_bytes / 2 && sched_yield() == 0);
    CHECK(before.written_bytes >= (uint64_t)count * BODY_BYTES);
    CHECK_OK(storage_scan_open(f.storage, NULL, fixture_at(SPACE_BODIES), &all, &scan));
    for (int i = 99990; i < count; i++) {
        char want[16];
        snprintf(want, sizeof(want), "%08d", i);
        CHECK(storage_scan_next(scan, &key, &value));
        CHECK_TEXT(key, want);
    }
    CHECK(!storage_scan_next(scan, &key, &value));
    storage_scan_close(scan);
    fixture_close(&f);
}

/* ---- a full disk ---------------------------------------------------------------------------------- */

struct full_disk {
    struct rlimit limit;
    void (*handler)(int);
};

/* A limit on the size of files stands in for a disk without space. */
static struct full_disk disk_fill(void)
{
    struct full_disk before;

    CHECK_EQ(getrlimit(RLIMIT_FSIZE, &before.limit), 0, "");
    before.handler = signal(SIGXFSZ, SIG_IGN);
    const struct rlimit none = { .rlim_cur = 1, .rlim_max = before.limit.rlim_max };
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &none), 0, "");
    return before;
}

static void disk_free(struct full_disk before)
{
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &before.limit), 0, "");
    signal(SIGXFSZ, before.handler);
}

TEST(storage, rocksdb_refuses_commits_after_a_failed_write_and_still_reads)
{
    struct fixture f;
    size_t conflict;

    fixture_open(&f, FIXTURE_ROCKSDB);
    fixture_put(&f, fixture_at(SPACE_ROWS), "a", "1");
    fixture_commit(&f);
    fixture_put(&f, fixture_at(SPACE_ROWS), "a", "2");
    const struct full_disk before = disk_fill();
    const status s = storage_commit(f.storage, f.batch, NULL, 0, f.arena, &conflict);
    disk_free(before);

    CHECK_EQ(s.code, UNKNOWN_RESULT, "%s", s.message);
    CHECK_THAT(strstr(s.message, "restart the server") != NULL, "%s", s.message);
    CHECK_CODE(storage_commit(f.storage, f.batch, NULL, 0, f.arena, &conflict), IO_ERROR);
    CHECK_ROW(&f, NULL, fixture_at(SPACE_ROWS), "a", "1");
    storage_batch_clear(f.storage, f.batch);
    fixture_reopen(&f);
    fixture_put(&f, fixture_at(SPACE_ROWS), "b", "3");
    fixture_commit(&f);
    CHECK_SCAN(&f, NULL, fixture_at(SPACE_ROWS), "", "", false, "a=1 b=3");
    fixture_close(&f);
}

TEST(storage, rocksdb_sweep_on_a_full_disk_fails_and_loses_nothing)
{
    struct fixture f;

    fixture_open(&f, FIXTURE_ROCKSDB);
    fixture_put(&f, fixture_at(SPACE_ROWS), "a", "1");
    fixture_commit(&f);
    const struct full_disk before = disk_fill();
    CHECK_CODE(storage_sweep(f.storage, 7, BYTES_NONE, BYTES_NONE), IO_ERROR);
    CHECK_ROW(&f, NULL, fixture_at(SPACE_ROWS), "a", "1");
    disk_free(before);
    fixture_reopen(&f);
    CHECK_ROW(&f, NULL, fixture_at(SPACE_ROWS), "a", "1");
    fixture_close(&f);
}

/* ---- after a crash -------------------------------------------------------------------------------- */

/* The write-ahead log of a database that has only one with something in it. */
static void log_path(const char *from, char *out, size_t room)
{
    DIR *directory = opendir(from);
    const struct dirent *entry;
    off_t longest = 0;

    CHECK(directory != NULL);
    while ((entry = readdir(directory)) != NULL) {
        const size_t len = strlen(entry->d_name);
        struct stat info;
        char path[600];
        if (len < 4 || strcmp(entry->d_name + len - 4, ".log") != 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s", from, entry->d_name);
        CHECK_EQ(stat(path, &info), 0, "");
        if (info.st_size > longest) {
            longest = info.st_size;
            snprintf(out, room, "%s", path);
        }
    }
    closedir(directory);
    CHECK(longest > 0);
}

/* Where the last commit ends. */
static off_t end_of_commits(const char *log, off_t size)
{
    const int fd = open(log, O_RDONLY);
    char last = 0;

    while (size > 0 && last == 0) {
        size--;
        CHECK_EQ(pread(fd, &last, 1, size), 1, "");
    }
    close(fd);
    return size + 1;
}

/* What a process leaves that is killed behind its hundredth commit. */
struct crashed {
    char image[256], log[600];
    off_t log_size, end; /* of all of it, and of the last commit */
};

static struct crashed crash_with(const char *some_value)
{
    struct crashed crashed;
    struct stat info;
    struct fixture f;
    char key[16];

    fixture_open(&f, FIXTURE_ROCKSDB);
    for (int i = 0; i < 100; i++) {
        snprintf(key, sizeof(key), "%03d", i);
        fixture_put(&f, fixture_at(SPACE_ROWS), key, some_value);
        fixture_commit(&f);
    }
    check_temp_dir(crashed.image, sizeof(crashed.image));
    fixture_copy_files(f.path, crashed.image);
    fixture_close(&f);
    log_path(crashed.image, crashed.log, sizeof(crashed.log));
    CHECK_EQ(stat(crashed.log, &info), 0, "");
    crashed.log_size = info.st_size;
    crashed.end = end_of_commits(crashed.log, info.st_size);
    return crashed;
}

static void damage_log(const struct crashed *crashed, off_t at, bytes with)
{
    const int fd = open(crashed->log, O_WRONLY);

    CHECK_EQ(pwrite(fd, with.data, with.len, at), (ssize_t)with.len, "");
    close(fd);
}

/* Opens the image and returns how many of the commits are there; they must be the first ones. */
static int count_commits(const char *image, int log_fd)
{
    struct fixture f;
    const struct storage_range all = { 0 };
    struct storage_scan *scan;
    bytes key, value;
    char want[16];
    int count = 0;

    fixture_open_image(&f, image, log_to(log_fd, LOG_WARNING));
    CHECK_OK(storage_scan_open(f.storage, NULL, fixture_at(SPACE_ROWS), &all, &scan));
    while (storage_scan_next(scan, &key, &value)) {
        snprintf(want, sizeof(want), "%03d", count++);
        CHECK_TEXT(key, want);
    }
    CHECK_OK(storage_scan_status(scan));
    storage_scan_close(scan);
    fixture_close(&f);
    return count;
}

/* Opens the image with the log going to a pipe: the number of commits and what was logged. */
static int count_commits_and_log(const char *image, char *logged, size_t room)
{
    int ends[2];

    CHECK_EQ(pipe(ends), 0, "");
    const int count = count_commits(image, ends[1]);
    close(ends[1]);
    const ssize_t len = read(ends[0], logged, room - 1);
    close(ends[0]);
    logged[len > 0 ? len : 0] = '\0';
    return count;
}

TEST(storage, rocksdb_keeps_every_commit_over_a_crash)
{
    const struct crashed crashed = crash_with("some value");
    char logged[4096];

    CHECK_EQ(count_commits_and_log(crashed.image, logged, sizeof(logged)), 100, "");
    CHECK_STRING(logged, "");
}

TEST(storage, rocksdb_drops_a_commit_that_was_cut_off_while_it_was_written)
{
    const struct crashed crashed = crash_with("some value");
    char logged[4096];

    CHECK_EQ(truncate(crashed.log, crashed.log_size - 5), 0, "");
    CHECK_EQ(count_commits_and_log(crashed.image, logged, sizeof(logged)), 99, "");
    CHECK_STRING(logged, "");
}

TEST(storage, rocksdb_says_so_when_its_log_is_damaged_and_keeps_what_was_before)
{
    const struct crashed crashed = crash_with("some value");
    char logged[4096];

    damage_log(&crashed, crashed.log_size / 2, BYTES_LITERAL("\xAA\x55\xAA\x55"));
    const int count = count_commits_and_log(crashed.image, logged, sizeof(logged));
    CHECK_THAT(count >= 45 && count <= 55, "%d commits are left", count);
    CHECK_THAT(strstr(logged, "storage_log_damaged") != NULL, "%s", logged);
}

/* Long enough that zeros are written ahead of the commits. */
static const char *long_value(void)
{
    static char value[1500];

    memset(value, 'v', sizeof(value) - 1);
    return value;
}

TEST(storage, rocksdb_log_has_zeros_ahead_of_its_end_and_keeps_every_commit)
{
    const struct crashed crashed = crash_with(long_value());
    char logged[4096];

    CHECK(crashed.end + 4096 < crashed.log_size);
    CHECK_EQ(crashed.log_size % (32 << 10), 0, "the zeros end with a block");
    CHECK_EQ(count_commits_and_log(crashed.image, logged, sizeof(logged)), 100, "");
    CHECK_STRING(logged, "");
}

TEST(storage, rocksdb_drops_a_commit_that_was_cut_off_with_zeros_behind)
{
    const struct crashed crashed = crash_with(long_value());
    char logged[4096];

    damage_log(&crashed, crashed.end - 4, BYTES_LITERAL("\0\0\0\0"));
    CHECK_EQ(count_commits_and_log(crashed.image, logged, sizeof(logged)), 99, "");
    CHECK(strstr(logged, "storage_log_damaged") != NULL);
}

/* A copy of the image, with zeros from some place of its log on. */
static void copy_and_cut(const char *image, off_t from, char *out, size_t room)
{
    static const char zeros[4096];
    struct stat info;
    char path[600];

    check_temp_dir(out, room);
    fixture_copy_files(image, out);
    log_path(out, path, sizeof(path));
    const int fd = open(path, O_WRONLY);
    CHECK_EQ(fstat(fd, &info), 0, "");
    for (off_t at = from; at < info.st_size; at += (off_t)sizeof(zeros)) {
        const off_t left = info.st_size - at;
        const size_t len = left < (off_t)sizeof(zeros) ? (size_t)left : sizeof(zeros);
        CHECK_EQ(pwrite(fd, zeros, len, at), (ssize_t)len, "");
    }
    close(fd);
}

/* It is known before RocksDB is asked, unless nothing but a part of a head is left, which RocksDB takes for zeros. */
static void check_cut(const char *image, off_t from)
{
    char cut[256], logged[4096];

    copy_and_cut(image, from, cut, sizeof(cut));
    struct rocksdb_storage place = { .path = cut };
    const bool is_cut = logs_look(&place).is_cut;
    const int count = count_commits_and_log(cut, logged, sizeof(logged));
    CHECK_THAT(count < 100, "%d commits", count);
    CHECK_THAT((strstr(logged, "storage_log_damaged") != NULL) == is_cut, "from %lld: %s",
               (long long)from, logged);
    CHECK_THAT(strstr(logged, "Corruption") == NULL, "from %lld was read twice: %s",
               (long long)from, logged);
}

TEST(storage, rocksdb_sees_a_cut_in_its_log_before_it_reads_it)
{
    struct crashed crashed = crash_with(long_value());
    const char *image = crashed.image;
    const off_t end = crashed.end;

    struct rocksdb_storage place = { .path = crashed.image };
    CHECK_EQ(logs_look(&place).is_cut, false, "every commit is whole");
    CHECK_EQ(logs_look(&place).bytes, (uint64_t)crashed.log_size, "");
    /* In a value, in a key, in each byte of a head (a commit has 1,500 bytes and some), and somewhere at random. */
    check_cut(image, end - 1);
    check_cut(image, end - 1500);
    for (off_t in_head = 1500; in_head < 1560; in_head += 3)
        check_cut(image, end - in_head);
    struct random random = random_seeded(check_seed());
    for (int i = 0; i < 12; i++)
        check_cut(image, (off_t)(end - 1 - (off_t)random_below(&random, (uint64_t)end / 2)));
}

TEST(storage, rocksdb_tells_rot_in_front_of_whole_commits_from_a_cut)
{
    struct crashed crashed = crash_with(long_value());
    char logged[4096];

    damage_log(&crashed, crashed.end - 2000, BYTES_LITERAL("rot"));
    struct rocksdb_storage place = { .path = crashed.image };
    CHECK_EQ(logs_look(&place).is_cut, false, "a whole commit lies behind");
    CHECK_EQ(count_commits_and_log(crashed.image, logged, sizeof(logged)), 98, "");
    CHECK_THAT(strstr(logged, "Corruption") != NULL, "%s", logged);
}

/* ---- a log that is too large to wait for ------------------------------------------------------------ */

enum { LARGE_LOG_ROWS = 16000 };

/* Half of the rows of files are deleted and others written, all of which is in the log only. */
static void make_large_image(char *image, size_t room)
{
    struct fixture f;
    char key[16];

    fixture_open(&f, FIXTURE_ROCKSDB);
    fill(&f, SPACE_BODIES, LARGE_LOG_ROWS);
    CHECK_OK(storage_settle(f.storage, fixture_at(SPACE_BODIES).partition));
    CHECK(raw_memory_is_empty(&rocksdb_of(f.storage)->shelves[SPACE_BODIES]));
    for (int i = 0; i < LARGE_LOG_ROWS; i += 2) {
        snprintf(key, sizeof(key), "%08d", i);
        fixture_delete(&f, fixture_at(SPACE_BODIES), key);
    }
    fixture_commit(&f);
    fill(&f, SPACE_ROWS, LARGE_LOG_ROWS);
    CHECK_THAT(directory_bytes(f.path, ".log") > 8000000, "%llu",
               (unsigned long long)directory_bytes(f.path, ".log"));
    check_temp_dir(image, room);
    fixture_copy_files(f.path, image);
    fixture_close(&f);
}

/* As a view shows them, which is read from files where that is possible. */
static int count_rows(struct fixture *f, enum storage_space space)
{
    const struct storage_range all = { .is_bulk = true };
    struct storage_view *view;
    struct storage_scan *scan;
    bytes key, value;
    int count = 0;

    CHECK_OK(storage_view_open(f->storage, &view));
    CHECK_OK(storage_scan_open(f->storage, view, fixture_at(space), &all, &scan));
    while (storage_scan_next(scan, &key, &value))
        count++;
    CHECK_OK(storage_scan_status(scan));
    storage_scan_close(scan);
    storage_view_close(f->storage, view);
    return count;
}

TEST(storage, rocksdb_shows_a_large_log_before_and_after_it_is_in_files)
{
    char image[256];
    struct fixture f;

    make_large_image(image, sizeof(image));
    fixture_open_image(&f, image, log_to(2, LOG_SILENT));
    struct rocksdb_storage *rocks = rocksdb_of(f.storage);
    for (bool is_in_files = false, was_in_files = false; !was_in_files;) {
        was_in_files = is_in_files;
        CHECK_EQ(count_rows(&f, SPACE_BODIES), LARGE_LOG_ROWS / 2, "deleted ones do not count");
        CHECK_EQ(count_rows(&f, SPACE_ROWS), LARGE_LOG_ROWS, "");
        CHECK_ROW(&f, NULL, fixture_at(SPACE_BODIES), "00000000", NULL);
        is_in_files = raw_past_is_in_files(&rocks->shelves[SPACE_BODIES]) &&
                      raw_past_is_in_files(&rocks->shelves[SPACE_ROWS]);
    }
    CHECK_OK(storage_settle(f.storage, fixture_at(SPACE_BODIES).partition));
    CHECK_THAT(directory_bytes(image, ".log") < 1000000, "%llu",
               (unsigned long long)directory_bytes(image, ".log"));
    fixture_close(&f);
}

TEST(storage, rocksdb_reads_the_files_themselves_once_a_large_log_is_in_them)
{
    char image[256];
    struct fixture f;

    make_large_image(image, sizeof(image));
    fixture_open_image(&f, image, log_to(2, LOG_SILENT));
    struct raw_shelf *shelf = &rocksdb_of(f.storage)->shelves[SPACE_BODIES];
    while (!raw_past_is_in_files(shelf))
        sched_yield();
    CHECK_EQ(count_rows(&f, SPACE_BODIES), LARGE_LOG_ROWS / 2, "");
    CHECK(shelf->newest != NULL);
    fixture_close(&f);
}

TEST(storage, rocksdb_keeps_everything_when_it_crashes_again_before_a_large_log_is_in_files)
{
    char image[256], second[256], *error = NULL;
    struct fixture f;

    make_large_image(image, sizeof(image));
    fixture_open_image(&f, image, log_to(2, LOG_SILENT));
    rocksdb_disable_file_deletions(rocksdb_of(f.storage)->db, &error);
    CHECK(error == NULL);
    fixture_put(&f, fixture_at(SPACE_META), "after", "the first crash");
    fixture_commit(&f);
    check_temp_dir(second, sizeof(second));
    fixture_copy_files(image, second);
    fixture_close(&f);

    fixture_open_image(&f, second, log_to(2, LOG_SILENT));
    CHECK_EQ(count_rows(&f, SPACE_BODIES), LARGE_LOG_ROWS / 2, "");
    CHECK_EQ(count_rows(&f, SPACE_ROWS), LARGE_LOG_ROWS, "");
    CHECK_ROW(&f, NULL, fixture_at(SPACE_META), "after", "the first crash");
    fixture_close(&f);
}

TEST(storage, rocksdb_has_its_usual_buffers_after_a_large_log)
{
    char image[256], *value;
    struct fixture f;

    make_large_image(image, sizeof(image));
    fixture_open_image(&f, image, log_to(2, LOG_SILENT));
    fill(&f, SPACE_META, 20000); /* 10 MB: more than a usual buffer, less than a large one */
    value = rocksdb_property_value_cf(rocksdb_of(f.storage)->db,
                                      rocksdb_of(f.storage)->spaces[SPACE_META],
                                      "rocksdb.num-entries-active-mem-table");
    CHECK_THAT(value != NULL && atoi(value) < 20000, "%s", value);
    rocksdb_free(value);
    fixture_close(&f);
}

/* Descriptors of this process whose file is a log that was deleted. */
static int deleted_logs(void)
{
    DIR *directory = opendir("/proc/self/fd");
    const struct dirent *entry;
    char target[600];
    int count = 0;

    CHECK(directory != NULL);
    while ((entry = readdir(directory)) != NULL) {
        const ssize_t len = readlinkat(dirfd(directory), entry->d_name, target, sizeof(target) - 1);
        target[len > 0 ? len : 0] = 0;
        count += strstr(target, ".log (deleted)") != NULL;
    }
    closedir(directory);
    return count;
}

TEST(storage, rocksdb_holds_no_log_open_that_was_settled_away)
{
    enum { TRIES = 100000 };
    struct fixture f;

    fixture_open(&f, FIXTURE_ROCKSDB);
    for (int i = 0; i < 100; i++) {
        fixture_put(&f, fixture_at(SPACE_BODIES), "a", long_value());
        fixture_commit(&f);
    }
    CHECK_OK(storage_settle(f.storage, fixture_at(SPACE_BODIES).partition));
    for (int i = 0; deleted_logs() > 0 && i < TRIES;
         i++) /* a thread of RocksDB may just be at it */
        sched_yield();
    CHECK_EQ(deleted_logs(), 0, "");
    fixture_close(&f);
}

static off_t log_bytes(struct fixture *f)
{
    struct stat info;
    char path[600];

    log_path(f->path, path, sizeof(path));
    CHECK_EQ(stat(path, &info), 0, "");
    return info.st_size;
}

TEST(storage, rocksdb_log_gets_no_zeros_while_it_is_copied)
{
    struct fixture f;

    fixture_open(&f, FIXTURE_ROCKSDB);
    ahead_pause(rocksdb_of(f.storage));
    for (int i = 0; i < 100; i++) {
        fixture_put(&f, fixture_at(SPACE_BODIES), "a", long_value());
        fixture_commit(&f);
    }
    CHECK_THAT(log_bytes(&f) < 100 * 1600, "%lld", (long long)log_bytes(&f));
    ahead_resume(rocksdb_of(f.storage));
    fixture_put(&f, fixture_at(SPACE_BODIES), "a", long_value());
    fixture_commit(&f);
    CHECK_THAT(log_bytes(&f) > 100 * 1600, "%lld", (long long)log_bytes(&f));
    CHECK_OK(storage_checkpoint(f.storage, arena_format(f.arena, "%s/copy", f.path), f.arena));
    CHECK_EQ(rocksdb_of(f.storage)->copies_running, 0, "");
    fixture_close(&f);
}
