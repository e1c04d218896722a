/* Backups without a server: files, lists of checksums, and two at once. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/backup.h"
#include "server/copy.h"
#include "server/file.h"
#include "storage/storage.h"
#include "tests/check.h"

struct yard {
    struct arena *arena;
    char path[256];
    const char *data, *backups;
};

static void yard_open(struct yard *yard)
{
    struct storage_options options = { 0 };
    struct storage *storage;

    yard->arena = arena_open(64 << 20);
    check_temp_dir(yard->path, sizeof(yard->path));
    yard->data = arena_format(yard->arena, "%s/data", yard->path);
    yard->backups = arena_format(yard->arena, "%s/backups", yard->path);
    options.path = yard->data;
    CHECK_OK(storage_open_rocksdb(&options, yard->arena, &storage));
    storage_close(storage);
}

static void yard_close(struct yard *yard)
{
    arena_close(yard->arena);
}

static status back_up(struct yard *yard, time_ms now, struct backup_result *out)
{
    const struct backup_order order = { .data = yard->data, .to = yard->backups, .now = now };

    return backup_make(yard->arena, &order, out);
}

TEST(backup, backups_are_named_by_their_time_and_the_newest_is_found)
{
    struct yard yard;
    struct backup_result result;
    const char *newest;

    yard_open(&yard);
    CHECK_OK(back_up(&yard, INT64_C(1700000000123), &result));
    CHECK_THAT(strstr(result.path, "/2023-11-14T22-13-20.123Z") != NULL, "%s", result.path);
    CHECK_OK(back_up(&yard, INT64_C(1800000000000), &result));
    CHECK_OK(backup_find_newest(yard.arena, yard.backups, &newest));
    CHECK_STRING(newest, result.path);
    CHECK_THAT(back_up(&yard, INT64_C(1800000000000), &result).code == IO_ERROR,
               "a backup is never written over");
    yard_close(&yard);
}

TEST(backup, two_backups_at_once_do_not_disturb_each_other)
{
    struct yard yard;
    struct backup_result result;

    yard_open(&yard);
    CHECK_EQ(mkdir(yard.backups, 0700), 0, "");
    int fd = open(yard.backups, O_RDONLY | O_DIRECTORY);
    CHECK_EQ(flock(fd, LOCK_EX), 0, "");
    CHECK_CODE(back_up(&yard, 1000, &result), BUSY);
    close(fd);
    int lock = open(yard.data, O_RDONLY | O_DIRECTORY);
    CHECK_EQ(flock(lock, LOCK_EX), 0, "");
    CHECK_CODE(back_up(&yard, 1000, &result), BUSY);
    close(lock);
    CHECK_OK(back_up(&yard, 1000, &result));
    yard_close(&yard);
}

static const char *make_file(struct yard *yard, const char *directory, const char *name)
{
    const char *path = arena_format(yard->arena, "%s/%s/%s", yard->path, directory, name);

    (void)mkdir(arena_format(yard->arena, "%s/%s", yard->path, directory), 0700);
    CHECK_OK(file_write(yard->arena, path, BYTES_LITERAL("dear"), 0600));
    return path;
}

TEST(backup, a_backup_removes_nothing_that_it_has_not_made)
{
    struct yard yard;
    struct backup_result result;

    yard_open(&yard);
    CHECK_EQ(mkdir(yard.backups, 0700), 0, "");
    const char *kept[] = {
        make_file(&yard, "backups/movie.partial", "a"),
        make_file(&yard, "backups/2020-01-0xT00-00-00.000Z.partial", "b"),
        make_file(&yard, "precious", "c"),
    };
    const char *left = make_file(&yard, "backups/2020-01-01T00-00-00.000Z.partial", "000001.sst");
    const char *links[] = { "%s/backups/2020-01-02T00-00-00.000Z.partial", "%s/data/checkpoint",
                            "%s/data/checkpoint.lock" };
    EACH_ROW(links, link_name) {
        const char *path = arena_format(yard.arena, *link_name, yard.path);
        CHECK_EQ(symlink(arena_format(yard.arena, "%s/precious", yard.path), path), 0, "%s", path);
    }
    CHECK_OK(back_up(&yard, 1000, &result));
    EACH_ROW(kept, path)
        CHECK_EQ(access(*path, F_OK), 0, "%s", *path);
    CHECK_EQ(access(left, F_OK), -1, "%s", left);
    yard_close(&yard);
}

TEST(backup, a_backup_leaves_no_lock_in_the_data_that_keeps_others_out)
{
    struct yard yard;
    struct backup_result result;

    yard_open(&yard);
    CHECK_OK(back_up(&yard, 1000, &result));
    CHECK_EQ(access(arena_format(yard.arena, "%s/checkpoint.lock", yard.data), F_OK), -1, "");
    yard_close(&yard);
}

TEST(backup, a_restored_copy_has_the_times_of_the_original)
{
    struct yard yard;
    struct backup_result result;
    struct stat before, after;

    yard_open(&yard);
    CHECK_OK(back_up(&yard, 1000, &result));
    const struct restore_order order = { .from = yard.backups,
                                         .to = arena_format(yard.arena, "%s/new", yard.path) };
    CHECK_OK(backup_restore(yard.arena, &order, &result));
    CHECK_EQ(stat(arena_format(yard.arena, "%s/CURRENT", yard.data), &before), 0, "");
    CHECK_EQ(stat(arena_format(yard.arena, "%s/CURRENT", order.to), &after), 0, "");
    CHECK_EQ(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec, "");
    CHECK_CODE(backup_restore(yard.arena, &order, &result), EXISTS);
    yard_close(&yard);
}

TEST(backup, a_list_of_checksums_is_read_strictly)
{
#define SUM "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
    const struct {
        const char *text;
        bool is_good;
    } rows[] = {
        {SUM "  000001.sst\n",      true },
        { SUM "  000001.sst",       false}, /* cut off */
        { SUM " 000001.sst\n",      false},
        { SUM "  \n",               false},
        { SUM "  ../escape\n",      false},
        { "X" SUM "  000001.sst\n", false},
        { "\n",                     false},
        { "0123  000001.sst\n",     false},
    };
    struct arena *arena = arena_open(1 << 20);

    EACH_ROW(rows, r) {
        bytes rest = bytes_of_text(r->text);
        struct copy_line line;
        bool has_line;
        status s = copy_take_line(arena, &rest, &line, &has_line);
        CHECK_EQ(s.code, r->is_good ? OK : CORRUPT, "%s", r->text);
        if (r->is_good)
            CHECK(bytes_equal(line.name, BYTES_LITERAL("000001.sst")));
    }
    arena_close(arena);
#undef SUM
}
