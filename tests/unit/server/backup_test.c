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

static status bring_back(struct yard *yard, const char *to, struct backup_result *out)
{
    const struct restore_order order = { .from = yard->backups, .to = to };

    return backup_restore(yard->arena, &order, out);
}

TEST(backup, a_second_restore_to_one_place_touches_nothing_of_the_first)
{
    struct yard yard;
    struct backup_result result;

    yard_open(&yard);
    CHECK_OK(back_up(&yard, 1000, &result));
    const char *to = arena_format(yard.arena, "%s/new", yard.path);
    struct file_place first;
    CHECK_OK(file_take_empty(yard.arena, to, &first));
    const char *file = make_file(&yard, "new", "CURRENT");
    CHECK_CODE(bring_back(&yard, to, &result), BUSY);
    CHECK_EQ(access(file, F_OK), 0, "");
    close(first.fd); /* killed */
    status s = bring_back(&yard, to, &result);
    CHECK_EQ(s.code, EXISTS, "");
    CHECK_THAT(strstr(s.message, "did not come to its end") != NULL, "%s", s.message);
    struct storage_options options = { .path = to };
    struct storage *storage;
    s = storage_open_rocksdb(&options, yard.arena, &storage);
    CHECK_EQ(s.code, CORRUPT, "");
    CHECK_THAT(strstr(s.message, "restore again") != NULL, "%s", s.message);
    yard_close(&yard);
}

TEST(backup, a_restore_that_fails_leaves_the_directory_as_it_was)
{
    struct yard yard;
    struct backup_result result;
    struct stat info;

    yard_open(&yard);
    CHECK_OK(back_up(&yard, 1000, &result));
    const char *current = arena_format(yard.arena, "%s/CURRENT", result.path);
    CHECK_OK(file_write(yard.arena, current, BYTES_LITERAL("rotten"), 0600));
    const char *to = arena_format(yard.arena, "%s/new", yard.path);
    CHECK_EQ(mkdir(to, 0750), 0, "");
    CHECK_EQ(chmod(to, 0751), 0, "");
    CHECK_EQ(stat(to, &info), 0, "");
    ino_t before = info.st_ino;
    CHECK_CODE(bring_back(&yard, to, &result), CORRUPT);
    CHECK_EQ(stat(to, &info), 0, "");
    CHECK_EQ(info.st_ino, before, "");
    CHECK_EQ(info.st_mode & 0777, 0751, "");
    CHECK_EQ(rmdir(to), 0, "nothing is left in it");
    yard_close(&yard);
}

/* All of the list but what is between two places. */
static void cut_list(struct yard *yard, const char *backup, size_t begin, size_t end)
{
    const char *path = arena_format(yard->arena, "%s/%s", backup, copy_list_name);
    struct buffer left = buffer_in(yard->arena);
    bytes list, content;

    CHECK_OK(file_read(yard->arena, path, 1 << 20, &list));
    CHECK_THAT(end <= list.len, "%zu", list.len);
    buffer_append(&left, bytes_of(list.data, begin));
    buffer_append(&left, bytes_from(list, end));
    CHECK_OK(buffer_finish(&left, &content));
    CHECK_OK(file_write(yard->arena, path, content, 0600));
}

TEST(backup, a_list_that_lost_a_line_and_a_file_that_no_list_names_are_refused)
{
    struct yard yard;
    struct backup_result result;
    bytes list;

    yard_open(&yard);
    CHECK_OK(back_up(&yard, 1000, &result));
    const char *to = arena_format(yard.arena, "%s/new", yard.path);
    const char *backup = result.path;
    const char *extra = arena_format(yard.arena, "%s/999999.sst", backup);
    CHECK_OK(file_write(yard.arena, extra, BYTES_LITERAL("x"), 0600));
    status s = bring_back(&yard, to, &result);
    CHECK_EQ(s.code, CORRUPT, "");
    CHECK_THAT(strstr(s.message, "999999.sst is not in the list") != NULL, "%s", s.message);
    CHECK_EQ(unlink(extra), 0, "");
    CHECK_OK(copy_read_list(yard.arena, backup, &list));
    const uint8_t *line_end = memchr(list.data, '\n', list.len);
    cut_list(&yard, backup, 0, (size_t)(line_end - list.data) + 1);
    s = bring_back(&yard, to, &result);
    CHECK_EQ(s.code, CORRUPT, "");
    CHECK_THAT(strstr(s.message, backup) != NULL, "it names the list: %s", s.message);
    CHECK_EQ(access(to, F_OK), -1, "");
    /* The next one does without it, and says so. */
    CHECK_OK(back_up(&yard, 2000, &result));
    CHECK_THAT(result.warning && strstr(result.warning, backup) != NULL, "%s", result.warning);
    CHECK_EQ(result.copied_bytes, result.bytes, "");
    CHECK_OK(bring_back(&yard, to, &result));
    yard_close(&yard);
}

TEST(backup, a_list_without_its_last_line_is_refused)
{
    struct yard yard;
    struct backup_result result;
    bytes lines, whole;

    yard_open(&yard);
    CHECK_OK(back_up(&yard, 1000, &result));
    const char *path = arena_format(yard.arena, "%s/%s", result.path, copy_list_name);
    CHECK_OK(copy_read_list(yard.arena, result.path, &lines));
    CHECK_OK(file_read(yard.arena, path, 1 << 20, &whole));
    for (size_t len = 0; len < whole.len; len++)
        CHECK_CODE(copy_open_list(yard.arena, bytes_of(whole.data, len), &lines), CORRUPT);
    CHECK_OK(copy_open_list(yard.arena, whole, &lines));
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
