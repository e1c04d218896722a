/* Logs that begin as old ones: what is left of the old one, and when there is none. */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/rocksdb_ahead.h"
#include "storage/rocksdb_log.h"
#include "storage/rocksdb_spare.h"
#include "tests/unit/storage/fixture.h"

enum { LOG_BYTES = 9 << 20 };

static const char *path_in(struct fixture *f, const char *name)
{
    return arena_format(f->arena, "%s/%s", f->path, name);
}

static off_t size_of(struct fixture *f, const char *name)
{
    struct stat about;

    return stat(path_in(f, name), &about) == 0 ? about.st_size : -1;
}

static off_t newest_log_bytes(const struct fixture *f)
{
    const int log = log_open_newest(f->path, O_RDONLY);
    struct stat about;

    CHECK_EQ(fstat(log, &about), 0, "");
    close(log);
    return about.st_size;
}

/* A large log as it might have been, with what the newest one has in each of its blocks. */
static void make_old_log(struct fixture *f, const char *name)
{
    static uint8_t block[LOG_BLOCK_BYTES];
    const int from = log_open_newest(f->path, O_RDONLY),
              to = open(path_in(f, name), O_CREAT | O_RDWR, 0600);

    CHECK(to >= 0);
    CHECK(pread(from, block, sizeof(block), 0) > LOG_HEAD_BYTES);
    for (off_t at = 0; at < LOG_BYTES; at += LOG_BLOCK_BYTES)
        CHECK_EQ(pwrite(to, block, sizeof(block), at), LOG_BLOCK_BYTES, "");
    /* It ends where the last commit did. */
    CHECK_EQ(ftruncate(to, LOG_BYTES - 1000), 0, "");
    close(from);
    close(to);
}

static size_t spare_count(struct fixture *f)
{
    struct log_spares *spares = &rocksdb_of(f->storage)->spares;

    pthread_mutex_lock(&spares->lock);
    const size_t count = spares->count;
    pthread_mutex_unlock(&spares->lock);
    return count;
}

static uint64_t begun_count(struct fixture *f)
{
    struct log_spares *spares = &rocksdb_of(f->storage)->spares;

    pthread_mutex_lock(&spares->lock);
    const uint64_t count = spares->begun;
    pthread_mutex_unlock(&spares->lock);
    return count;
}

/* A log that is begun by a flush. */
static void begin_log(struct fixture *f)
{
    fixture_flush(f, SPACE_ROWS);
}

/* A database with a commit in its log, whose logs follow each other fast. */
static void fixture_open_in_haste(struct fixture *f)
{
    fixture_open(f, FIXTURE_ROCKSDB);
    atomic_store(&rocksdb_of(f->storage)->spares.full_bytes, 1);
    for (int i = 0; i < 3; i++) {
        if (i > 0)
            begin_log(f);
        fixture_put(f, fixture_at(SPACE_ROWS), "a", "old");
        fixture_commit(f);
    }
}

/* The same, with a spare. None is made where the disk is nearly full, or knows no leases. */
static void fixture_open_with_spare(struct fixture *f)
{
    fixture_open_in_haste(f);
    make_old_log(f, "900001.log");
    CHECK(spares_take(path_in(f, "900001.log")));
    while (spare_count(f) == 0) {
        CHECK_THAT(size_of(f, "spare/900001.log") >= 0,
                   "no spare was made: 320 MB must be free in the directory for temporary files, "
                   "on a disk with leases");
        sched_yield();
    }
}

TEST(storage, rocksdb_begins_a_log_with_an_old_one_of_which_nothing_is_left)
{
    static uint8_t block[LOG_BLOCK_BYTES], zeros[LOG_BLOCK_BYTES];
    struct fixture f;

    fixture_open_with_spare(&f);
    begin_log(&f);
    CHECK_EQ(begun_count(&f), 1, "");
    CHECK_EQ(spare_count(&f), 0, "");
    CHECK_EQ(newest_log_bytes(&f), LOG_BYTES, "up to the end of a block");
    const int log = log_open_newest(f.path, O_RDONLY);
    for (off_t at = 0; at < LOG_BYTES; at += LOG_BLOCK_BYTES) {
        CHECK_EQ(pread(log, block, sizeof(block), at), LOG_BLOCK_BYTES, "");
        CHECK_EQ(memcmp(block, zeros, sizeof(block)), 0, "");
    }
    close(log);
    fixture_close(&f);
}

TEST(storage, rocksdb_reads_nothing_of_the_old_log_from_one_that_began_as_it_after_a_crash)
{
    struct fixture f, crashed;
    char image[256];
    int ends[2];
    char logged[256];

    fixture_open_with_spare(&f);
    fixture_delete(&f, fixture_at(SPACE_ROWS), "a");
    fixture_commit(&f);
    begin_log(&f);
    CHECK_EQ(begun_count(&f), 1, "");
    fixture_put(&f, fixture_at(SPACE_ROWS), "b", "1");
    fixture_commit(&f);
    fixture_put(&f, fixture_at(SPACE_BODIES), "c", "2");
    fixture_commit(&f);
    check_temp_dir(image, sizeof(image));
    fixture_copy_files(f.path, image);
    fixture_close(&f);

    CHECK_EQ(pipe(ends), 0, "");
    fixture_open_image(&crashed, image, log_to(ends[1], LOG_WARNING));
    CHECK_SCAN(&crashed, NULL, fixture_at(SPACE_ROWS), "", "", false, "b=1");
    CHECK_SCAN(&crashed, NULL, fixture_at(SPACE_BODIES), "", "", false, "c=2");
    fixture_close(&crashed);
    close(ends[1]);
    CHECK_EQ(read(ends[0], logged, sizeof(logged)), 0, "no warning");
    close(ends[0]);
}

/* Threads of RocksDB read large memory tables, whose memory others get when RocksDB has ordered that by means which
 * ThreadSanitizer does not see. */
#if !defined(__SANITIZE_THREAD__)

TEST(storage, rocksdb_keeps_what_was_committed_beyond_the_end_of_a_spare)
{
    enum { VALUE_BYTES = 1 << 20, VALUES = 12 };
    static char value[VALUE_BYTES];
    struct fixture f, crashed;
    char image[256], key[16];

    fixture_open_with_spare(&f);
    begin_log(&f);
    memset(value, 'v', sizeof(value) - 1);
    for (int i = 0; i < VALUES; i++) {
        snprintf(key, sizeof(key), "%02d", i);
        fixture_put(&f, fixture_at(SPACE_BODIES), key, value);
        fixture_commit(&f);
    }
    CHECK(newest_log_bytes(&f) > LOG_BYTES);
    check_temp_dir(image, sizeof(image));
    fixture_copy_files(f.path, image);
    fixture_close(&f);
    fixture_open_image(&crashed, image, log_to(STDERR_FILENO, LOG_ERROR));
    for (int i = 0; i < VALUES; i++) {
        snprintf(key, sizeof(key), "%02d", i);
        CHECK_ROW(&crashed, NULL, fixture_at(SPACE_BODIES), key, value);
    }
    fixture_close(&crashed);
}

#endif

TEST(storage, rocksdb_begins_no_log_with_a_spare_while_one_is_copied_or_shall_be_short)
{
    struct fixture f;

    fixture_open_with_spare(&f);
    ahead_pause(rocksdb_of(f.storage));
    begin_log(&f);
    ahead_resume(rocksdb_of(f.storage));
    CHECK_EQ(begun_count(&f), 0, "");
    CHECK_EQ(newest_log_bytes(&f), 0, "");

    fixture_put(&f, fixture_at(SPACE_ROWS), "b", "1");
    fixture_commit(&f);
    CHECK_OK(storage_settle(f.storage, fixture_at(SPACE_ROWS).partition));
    CHECK_EQ(begun_count(&f), 0, "");
    CHECK_EQ(spare_count(&f), 1, "");
    fixture_close(&f);
}

/* RocksDB would go on with it. */
TEST(storage, rocksdb_log_that_began_as_a_spare_and_has_no_commit_is_empty_before_it_is_copied)
{
    struct fixture f;

    fixture_open_with_spare(&f);
    begin_log(&f);
    CHECK_EQ(newest_log_bytes(&f), LOG_BYTES, "");
    ahead_pause(rocksdb_of(f.storage));
    CHECK_EQ(newest_log_bytes(&f), 0, "");
    ahead_resume(rocksdb_of(f.storage));
    fixture_put(&f, fixture_at(SPACE_ROWS), "b", "1");
    fixture_commit(&f);
    fixture_reopen(&f);
    CHECK_SCAN(&f, NULL, fixture_at(SPACE_ROWS), "", "", false, "a=old b=1");
    fixture_close(&f);
}

TEST(storage, rocksdb_keeps_the_commits_of_a_log_that_began_as_a_spare_when_it_is_copied)
{
    struct fixture f, copy;

    fixture_open_with_spare(&f);
    begin_log(&f);
    fixture_put(&f, fixture_at(SPACE_ROWS), "b", "1");
    fixture_commit(&f);
    const char *path = path_in(&f, "copy");
    CHECK_OK(storage_checkpoint(f.storage, path, f.arena));
    fixture_open_image(&copy, path, log_to(STDERR_FILENO, LOG_ERROR));
    CHECK_SCAN(&copy, NULL, fixture_at(SPACE_ROWS), "", "", false, "a=old b=1");
    fixture_close(&copy);
    fixture_close(&f);
}

static void wait_until_there_is_no_file(struct fixture *f, const char *name)
{
    while (size_of(f, name) >= 0)
        sched_yield();
}

TEST(storage, rocksdb_leaves_a_spare_to_the_trash_when_nobody_comes_for_it)
{
    struct fixture f;

    fixture_open_in_haste(&f);
    atomic_store(&rocksdb_of(f.storage)->spares.keep_ns, 0);
    make_old_log(&f, "900001.log");
    CHECK(spares_take(path_in(&f, "900001.log")));
    wait_until_there_is_no_file(&f, "spare/900001.log");
    wait_until_there_is_no_file(&f, "dropped/900001.log");
    CHECK_EQ(spare_count(&f), 0, "");
    fixture_close(&f);
}

TEST(storage, rocksdb_gives_its_spares_back_when_the_disk_is_nearly_full)
{
    struct fixture f;

    fixture_open_with_spare(&f);
    CHECK_EQ(spares_tend(rocksdb_of(f.storage), 0), 1, "");
    CHECK_EQ(spares_tend(rocksdb_of(f.storage), UINT64_MAX / 2), 0, "more room than disks have");
    CHECK_EQ(size_of(&f, "spare/900001.log"), -1, "");
    wait_until_there_is_no_file(&f, "dropped/900001.log");
    fixture_close(&f);
}

TEST(storage, rocksdb_changes_no_removed_log_that_a_copy_has_too)
{
    uint8_t head[LOG_HEAD_BYTES] = { 0 };
    struct fixture f;

    fixture_open_in_haste(&f);
    make_old_log(&f, "900001.log");
    CHECK_EQ(link(path_in(&f, "900001.log"), path_in(&f, "copy")), 0, "");
    CHECK(spares_take(path_in(&f, "900001.log")));
    wait_until_there_is_no_file(&f, "spare/900001.log");
    const int copy = open(path_in(&f, "copy"), O_RDONLY);
    CHECK_EQ(pread(copy, head, sizeof(head), 0), LOG_HEAD_BYTES, "");
    CHECK(head[LOG_HEAD_BYTES - 1] != 0);
    close(copy);
    CHECK_EQ(spare_count(&f), 0, "");
    fixture_close(&f);
}

TEST(storage, rocksdb_makes_no_spare_where_logs_begin_because_somebody_wants_them_short)
{
    struct fixture f;

    fixture_open_in_haste(&f);
    ahead_pause(rocksdb_of(f.storage));
    begin_log(&f);
    ahead_resume(rocksdb_of(f.storage));
    fixture_put(&f, fixture_at(SPACE_ROWS), "a", "1");
    fixture_commit(&f);
    make_old_log(&f, "900001.log");
    CHECK(spares_take(path_in(&f, "900001.log")));
    wait_until_there_is_no_file(&f, "spare/900001.log");
    CHECK_EQ(spare_count(&f), 0, "");
    fixture_close(&f);
}

static void begin_log_and_commit(struct fixture *f)
{
    begin_log(f);
    fixture_put(f, fixture_at(SPACE_ROWS), "a", "1");
    fixture_commit(f);
}

TEST(storage, rocksdb_counts_no_log_that_was_not_full_as_one_that_was_filled_fast_or_slowly)
{
    for (int is_paused = 0; is_paused < 2; is_paused++) {
        struct fixture f;
        fixture_open_in_haste(&f);
        struct log_spares *spares = &rocksdb_of(f.storage)->spares;
        atomic_store(&spares->full_bytes, 1 << 20);
        if (is_paused)
            ahead_pause(rocksdb_of(f.storage));
        begin_log_and_commit(&f); /* a trim, or the second of two spaces that are full */
        if (is_paused)
            ahead_resume(rocksdb_of(f.storage));
        begin_log_and_commit(&f); /* what a sweep does behind a trim */
        make_old_log(&f, "900001.log");
        CHECK(spares_take(path_in(&f, "900001.log")));
        wait_until_there_is_no_file(&f, is_paused ? "spare/900001.log" : "900001.log");
        while (!is_paused && spare_count(&f) == 0)
            sched_yield();
        CHECK_EQ(spare_count(&f), is_paused ? 0 : 1, "");
        fixture_close(&f);
    }
}

TEST(storage, rocksdb_makes_a_spare_where_the_first_log_was_filled_fast)
{
    struct fixture f;

    fixture_open(&f, FIXTURE_ROCKSDB);
    atomic_store(&rocksdb_of(f.storage)->spares.full_bytes, 1);
    fixture_put(&f, fixture_at(SPACE_ROWS), "a", "1");
    fixture_commit(&f);
    begin_log_and_commit(&f);
    make_old_log(&f, "900001.log");
    CHECK(spares_take(path_in(&f, "900001.log")));
    while (spare_count(&f) == 0) {
        CHECK(size_of(&f, "spare/900001.log") >= 0);
        sched_yield();
    }
    fixture_close(&f);
}

TEST(storage, rocksdb_takes_only_large_logs_for_spares)
{
    const struct {
        const char *name;
        off_t size;
        bool is_taken;
    } rows[] = {
        {"900001.log",      LOG_BYTES, true },
        { "900002.log",     1 << 20,   false},
        { "900003.sst",     LOG_BYTES, false},
        { "900004.log.old", LOG_BYTES, false},
        { "LOG",            LOG_BYTES, false},
    };
    struct fixture f;

    fixture_open(&f, FIXTURE_ROCKSDB);
    EACH_ROW(rows, r) {
        const int file = open(path_in(&f, r->name), O_CREAT | O_RDWR, 0600);
        CHECK_EQ(ftruncate(file, r->size), 0, "");
        close(file);
        CHECK_EQ(spares_take(path_in(&f, r->name)), r->is_taken, "%s", r->name);
        CHECK_EQ(size_of(&f, r->name), r->is_taken ? -1 : r->size, "%s", r->name);
    }
    CHECK(!spares_take(path_in(&f, "900005.log")));
    fixture_close(&f);
}

TEST(storage, rocksdb_takes_no_log_for_a_spare_where_nobody_looks_after_them)
{
    struct fixture f;

    fixture_open_with_spare(&f);
    spares_end(rocksdb_of(f.storage));
    CHECK_EQ(spare_count(&f), 0, "");
    CHECK_EQ(size_of(&f, "spare"), -1, "");
    make_old_log(&f, "900002.log");
    CHECK(!spares_take(path_in(&f, "900002.log")));
    CHECK_EQ(unlink(path_in(&f, "900002.log")), 0, "");
    fixture_close(&f);
}

TEST(storage, rocksdb_drops_what_is_no_log_from_where_spares_are_kept)
{
    struct fixture f;

    fixture_open_in_haste(&f);
    make_old_log(&f, "900001.log");
    CHECK_EQ(rename(path_in(&f, "900001.log"), path_in(&f, "spare/stray")), 0, "");
    wait_until_there_is_no_file(&f, "spare/stray");
    CHECK_EQ(spare_count(&f), 0, "");
    fixture_close(&f);
}

TEST(storage, rocksdb_leaves_no_spare_behind_when_it_is_closed)
{
    struct fixture f;

    fixture_open_with_spare(&f);
    fixture_reopen(&f);
    CHECK_EQ(size_of(&f, "spare/900001.log"), -1, "");
    CHECK_EQ(size_of(&f, "dropped/900001.log"), -1, "");
    CHECK_SCAN(&f, NULL, fixture_at(SPACE_ROWS), "", "", false, "a=old");
    fixture_close(&f);
}
