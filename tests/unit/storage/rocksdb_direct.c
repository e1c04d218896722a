/* Tests of logs that are written past the system's cache: what was appended is in the file, once, and only zeros are behind it. */
#include "storage/rocksdb_direct.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/random.h"
#include "storage/rocksdb_log.h"
#include "tests/check.h"

enum { BYTES_MAX = 12 << 20, SPARE_BYTES = 1 << 20, STEPS = 120 };

struct played {
    char directory[64], path[96];
    struct direct_log *log;
    aio_context_t context;
    uint8_t *wanted, *found;
    size_t len;
    bool may_begin;
};

static void play_begin(struct played *p, const char *top, bool is_spare)
{
    snprintf(p->directory, sizeof(p->directory), "%s/mayfly-direct-XXXXXX", top);
    CHECK(mkdtemp(p->directory) != NULL);
    snprintf(p->path, sizeof(p->path), "%s/000001.log", p->directory);
    const int file = open(p->path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    CHECK(file >= 0);
    CHECK(!is_spare || log_write_zeros(file, 0, SPARE_BYTES));
    close(file);
    p->context = 0;
    p->log = direct_open(p->path, is_spare, &p->context);
    CHECK(p->log != NULL);
    p->wanted = memory_take(BYTES_MAX);
    p->found = memory_take(BYTES_MAX);
    CHECK(p->wanted != NULL && p->found != NULL);
    p->len = 0;
    p->may_begin = true;
}

static void play_end(struct played *p)
{
    direct_end(&p->context);
    unlink(p->path);
    rmdir(p->directory);
    memory_give(p->wanted);
    memory_give(p->found);
}

/* As anybody sees the file. */
static size_t read_file(struct played *p)
{
    const int file = open(p->path, O_RDONLY | O_CLOEXEC);
    size_t len = 0;
    ssize_t n;

    CHECK(file >= 0);
    while ((n = read(file, p->found + len, BYTES_MAX - len)) > 0)
        len += (size_t)n;
    CHECK_EQ(n, 0, "");
    close(file);
    return len;
}

static void check_file(struct played *p)
{
    const size_t size = read_file(p);

    CHECK(size >= p->len);
    CHECK_EQ(memcmp(p->found, p->wanted, p->len), 0, "");
    for (size_t i = p->len; i < size; i++)
        CHECK_EQ(p->found[i], 0, "behind the end, at %zu of %zu", i, size);
    CHECK_THAT(size == p->len || size % LOG_BLOCK_BYTES == 0, "zeros up to %zu", size);
}

static void append(struct played *p, struct random *random, size_t len)
{
    if (p->len + len > BYTES_MAX / 2)
        len = 0;
    for (size_t i = 0; i < len; i++)
        p->wanted[p->len + i] = (uint8_t)random_next(random);
    CHECK_EQ(direct_append(p->log, p->wanted + p->len, len, p->may_begin), 0, "");
    p->len += len;
    CHECK_EQ(direct_bytes(p->log), p->len, "");
}

/* Small ones mostly, as single documents are. */
static size_t some_len(struct random *random)
{
    const uint64_t kind = random_next(random) % 8;

    return random_next(random) % (kind == 0 ? 200000 : kind < 3 ? 9000 : 1200);
}

/* As the committing thread does. */
static void add_zeros(struct played *p)
{
    const int file = open(p->path, O_WRONLY | O_CLOEXEC);
    struct stat about;

    CHECK(file >= 0 && fstat(file, &about) == 0);
    const uint64_t size = (uint64_t)about.st_size;
    CHECK(log_write_zeros(file, size, 3 * LOG_BLOCK_BYTES - size % LOG_BLOCK_BYTES));
    close(file);
}

static void play(const char *top, bool is_spare, uint64_t seed)
{
    struct random random = random_seeded(seed);
    struct played p;

    play_begin(&p, top, is_spare);
    for (int i = 0; i < STEPS; i++) {
        const uint64_t choice = random_next(&random);
        if (choice % 16 == 0 && p.len > DIRECT_FROM_BYTES)
            add_zeros(&p);
        append(&p, &random, some_len(&random));
        if (choice >> 8 & 1)
            append(&p, &random, some_len(&random));
        if (choice >> 9 & 1)
            direct_begin(p.log);
        CHECK_EQ(direct_write(p.log), 0, "");
        CHECK_EQ(fdatasync(direct_file(p.log)), 0, "");
        if (i % 8 == 0)
            check_file(&p);
    }
    check_file(&p);
    append(&p, &random, 100);
    CHECK_EQ(direct_close(p.log), 0, "");
    CHECK_EQ(read_file(&p), p.len, "");
    CHECK_EQ(memcmp(p.found, p.wanted, p.len), 0, "");
    play_end(&p);
}

TEST(storage, rocksdb_a_log_has_what_was_appended_and_only_zeros_behind_it)
{
    for (uint64_t seed = 1; seed <= 6; seed++) {
        play("/tmp", false, seed);
        play("/tmp", true, seed);
    }
}

/* Some of those that lie in memory do not know of direct writing. */
TEST(storage, rocksdb_a_log_is_the_same_on_a_file_system_in_memory)
{
    if (access("/dev/shm", W_OK) == 0) {
        play("/dev/shm", false, 1);
        play("/dev/shm", true, 2);
    }
}

TEST(storage, rocksdb_a_small_log_that_was_no_spare_has_no_zeros)
{
    struct random random = random_seeded(1);
    struct played p;

    play_begin(&p, "/tmp", false);
    while (p.len < DIRECT_FROM_BYTES - 1000) {
        append(&p, &random, 700);
        direct_begin(p.log);
        CHECK_EQ(direct_write(p.log), 0, "");
        CHECK_EQ(read_file(&p), p.len, "");
    }
    CHECK_EQ(direct_close(p.log), 0, "");
    play_end(&p);
}

TEST(storage, rocksdb_a_log_gets_no_zeros_until_it_may_have_some)
{
    struct random random = random_seeded(1);
    struct played p;

    play_begin(&p, "/tmp", false);
    p.may_begin = false;
    append(&p, &random, 3 * DIRECT_FROM_BYTES);
    CHECK_EQ(direct_write(p.log), 0, "");
    CHECK_EQ(read_file(&p), p.len, "");
    p.may_begin = true;
    append(&p, &random, 10);
    CHECK_EQ(direct_write(p.log), 0, "");
    CHECK(read_file(&p) > p.len);
    check_file(&p);
    CHECK_EQ(direct_close(p.log), 0, "");
    play_end(&p);
}

TEST(storage, rocksdb_of_a_large_commit_most_is_in_the_file_before_its_end_comes)
{
    enum { COMMIT_BYTES = 5 << 20, PIECE_BYTES = 100000, IN_MEMORY_BYTES_MAX = 4 << 20 };
    struct random random = random_seeded(1);
    struct played p;

    play_begin(&p, "/tmp", false);
    while (p.len < COMMIT_BYTES) {
        append(&p, &random, PIECE_BYTES);
        CHECK(read_file(&p) + IN_MEMORY_BYTES_MAX + 2 * PIECE_BYTES >= p.len);
    }
    CHECK_EQ(direct_write(p.log), 0, "");
    check_file(&p);
    CHECK_EQ(direct_close(p.log), 0, "");
    CHECK_EQ(read_file(&p), p.len, "");
    play_end(&p);
}

TEST(storage, rocksdb_a_log_that_was_removed_is_left_as_it_is_when_it_is_closed)
{
    struct random random = random_seeded(1);
    struct played p;
    char away[sizeof(p.path) + 8];
    struct stat about;

    play_begin(&p, "/tmp", true);
    append(&p, &random, 5000);
    CHECK_EQ(direct_write(p.log), 0, "");
    snprintf(away, sizeof(away), "%s.spare", p.path);
    CHECK_EQ(rename(p.path, away), 0, "");
    CHECK_EQ(direct_close(p.log), 0, "");
    CHECK_EQ(stat(away, &about), 0, "");
    CHECK_EQ(about.st_size, SPARE_BYTES, "");
    CHECK_EQ(rename(away, p.path), 0, "");
    play_end(&p);
}

/* A context that the system does not know any more, but we do. */
static void lose_context(struct played *p)
{
    CHECK(p->context != 0);
    CHECK_EQ(syscall(SYS_io_destroy, p->context), 0, "");
}

TEST(storage, rocksdb_a_log_whose_write_could_not_be_begun_has_zeros_up_to_the_end_of_a_block)
{
    struct random random = random_seeded(1);
    struct played p;

    play_begin(&p, "/tmp", false);
    append(&p, &random, DIRECT_FROM_BYTES);
    append(&p, &random, 5000);
    lose_context(&p);
    direct_begin(p.log);
    CHECK_EQ(direct_write(p.log), 0, "");
    CHECK_EQ(read_file(&p) % LOG_BLOCK_BYTES, 0, "");
    check_file(&p);
    CHECK_EQ(direct_close(p.log), 0, "");
    play_end(&p);
}

TEST(storage, rocksdb_a_write_that_cannot_be_waited_for_is_over_before_it_is_repeated)
{
    struct random random = random_seeded(1);
    struct played p;

    play_begin(&p, "/tmp", true);
    append(&p, &random, 5000);
    direct_begin(p.log);
    lose_context(&p);
    CHECK_EQ(direct_write(p.log), 0, "");
    CHECK_EQ(p.context, 0, "the end of a context is what waits");
    check_file(&p);
    append(&p, &random, 5000);
    direct_begin(p.log);
    CHECK_EQ(direct_write(p.log), 0, "");
    check_file(&p);
    CHECK_EQ(direct_close(p.log), 0, "");
    play_end(&p);
}

TEST(storage, rocksdb_a_log_that_takes_no_more_says_why)
{
    struct random random = random_seeded(1);
    struct played p;

    play_begin(&p, "/tmp", false);
    append(&p, &random, 2 * DIRECT_FROM_BYTES);
    append(&p, &random, 1000);
    const int null = open("/dev/full", O_RDWR | O_CLOEXEC);
    CHECK(null >= 0 && dup2(null, direct_file(p.log)) >= 0);
    direct_begin(p.log);
    CHECK_EQ(direct_write(p.log), ENOSPC, "");
    CHECK_EQ(direct_write(p.log), ENOSPC, "");
    close(null);
    CHECK(direct_close(p.log) != 0);
    play_end(&p);
}
