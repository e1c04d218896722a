/* Files that RocksDB removes: moved aside first, shortened later, and by whom not. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/rocksdb_trash.h"
#include "tests/unit/storage/fixture.h"

static int dropped_files(struct fixture *f)
{
    const struct dirent *entry;
    char path[600];
    int count = 0;

    snprintf(path, sizeof(path), "%s/dropped", f->path);
    DIR *directory = opendir(path);
    CHECK(directory != NULL);
    while ((entry = readdir(directory)) != NULL)
        count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

static void wait_until_dropped_files_are_gone(struct fixture *f)
{
    while (dropped_files(f) > 0)
        sched_yield();
}

/* Its descriptor. */
static int make_file(const struct fixture *f, const char *name, off_t size)
{
    char path[600];

    snprintf(path, sizeof(path), "%s/%s", f->path, name);
    const int file = open(path, O_CREAT | O_RDWR, 0600);
    CHECK(file >= 0);
    CHECK_EQ(ftruncate(file, size), 0, "");
    return file;
}

static bool take_file(const struct fixture *f, const char *name)
{
    char path[600];

    snprintf(path, sizeof(path), "%s/%s", f->path, name);
    return trash_take(path);
}

static off_t size_of(const struct fixture *f, const char *name)
{
    struct stat about;
    char path[600];

    snprintf(path, sizeof(path), "%s/%s", f->path, name);
    return stat(path, &about) == 0 ? about.st_size : -1;
}

/* Of the database that was opened there, nobody else looks after its trash. */
static void fixture_open_and_stop_trash(struct fixture *f)
{
    fixture_open(f, FIXTURE_ROCKSDB);
    trash_stop(rocksdb_of(f->storage));
}

enum { LARGE_FILE_BYTES = 3 << 20 };

TEST(storage, rocksdb_removes_dropped_files_that_an_earlier_process_has_left)
{
    struct fixture f;

    fixture_open_and_stop_trash(&f);
    const int reader = make_file(&f, "dropped/000017.sst", LARGE_FILE_BYTES);
    fixture_reopen(&f);
    CHECK_EQ(dropped_files(&f), 1, "");
    close(reader);
    fixture_reopen(&f);
    wait_until_dropped_files_are_gone(&f);
    fixture_close(&f);
}

TEST(storage, rocksdb_removes_a_file_as_soon_as_it_was_dropped)
{
    struct fixture f;

    fixture_open(&f, FIXTURE_ROCKSDB);
    close(make_file(&f, "900017.log", LARGE_FILE_BYTES));
    CHECK(take_file(&f, "900017.log"));
    CHECK_EQ(size_of(&f, "900017.log"), -1, "");
    wait_until_dropped_files_are_gone(&f);
    fixture_close(&f);
}

TEST(storage, rocksdb_drops_only_large_tables_and_logs)
{
    const struct {
        const char *name;
        off_t size;
        bool is_taken;
    } rows[] = {
        {"900001.sst",       LARGE_FILE_BYTES, true },
        { "900002.log",      LARGE_FILE_BYTES, true },
        { "900003.sst",      1000,             false},
        { "MANIFEST-900004", LARGE_FILE_BYTES, false},
        { "900005.sst.old",  LARGE_FILE_BYTES, false},
        { ".sst",            LARGE_FILE_BYTES, false},
    };
    struct fixture f;

    fixture_open_and_stop_trash(&f);
    EACH_ROW(rows, r) {
        close(make_file(&f, r->name, r->size));
        CHECK_EQ(take_file(&f, r->name), r->is_taken, "%s", r->name);
        CHECK_EQ(size_of(&f, r->name), r->is_taken ? -1 : r->size, "%s", r->name);
    }
    CHECK(!take_file(&f, "900006.sst"));
    CHECK_EQ(dropped_files(&f), 2, "");
    fixture_close(&f);
}

TEST(storage, rocksdb_does_not_shorten_a_dropped_file_that_somebody_reads)
{
    struct fixture f;
    struct trash_look look = { .bytes_max = UINT64_MAX, .stop = -1 };

    fixture_open_and_stop_trash(&f);
    const int reader = make_file(&f, "dropped/900001.sst", LARGE_FILE_BYTES);
    close(make_file(&f, "dropped/900002.sst", LARGE_FILE_BYTES));
    trash_empty(f.path, &look);
    CHECK_EQ(look.in_use, 1, "");
    CHECK_EQ(dropped_files(&f), 1, "");
    CHECK_EQ(size_of(&f, "dropped/900001.sst"), LARGE_FILE_BYTES, "");
    close(reader);
    trash_empty(f.path, &look);
    CHECK_EQ(look.in_use, 0, "");
    CHECK_EQ(dropped_files(&f), 0, "");
    fixture_close(&f);
}

TEST(storage, rocksdb_does_not_shorten_a_dropped_file_that_a_copy_has_too)
{
    struct fixture f;
    char from[600], to[600];
    struct trash_look look = { .bytes_max = UINT64_MAX, .stop = -1 };

    fixture_open_and_stop_trash(&f);
    close(make_file(&f, "dropped/900001.sst", LARGE_FILE_BYTES));
    snprintf(from, sizeof(from), "%s/dropped/900001.sst", f.path);
    snprintf(to, sizeof(to), "%s/copy", f.path);
    CHECK_EQ(link(from, to), 0, "");
    trash_empty(f.path, &look);
    CHECK_EQ(dropped_files(&f), 0, "");
    CHECK_EQ(size_of(&f, "copy"), LARGE_FILE_BYTES, "");
    fixture_close(&f);
}

TEST(storage, rocksdb_removes_no_more_of_dropped_files_than_it_is_asked_for)
{
    struct fixture f;
    struct trash_look look = { .bytes_max = 1 << 20, .stop = -1 };

    fixture_open_and_stop_trash(&f);
    close(make_file(&f, "dropped/900001.sst", LARGE_FILE_BYTES));
    trash_empty(f.path, &look);
    CHECK_EQ(look.removed, 1 << 20, "");
    CHECK_EQ(size_of(&f, "dropped/900001.sst"), LARGE_FILE_BYTES - (1 << 20), "");
    fixture_close(&f);
}

TEST(storage, rocksdb_lets_files_go_while_others_are_still_being_shortened)
{
    struct fixture f;
    char *error = NULL;

    fixture_open_and_stop_trash(&f);
    struct rocksdb_storage *rocks = rocksdb_of(f.storage);
    struct trash_look look = { .bytes_max = 1 << 20, .stop = -1, .rocks = rocks };
    close(make_file(&f, "dropped/900001.sst", LARGE_FILE_BYTES));
    rocksdb_disable_file_deletions(rocks->db, &error);
    CHECK(error == NULL);
    atomic_store(&rocks->trash.held, 1);
    trash_empty(f.path, &look);
    CHECK_EQ(atomic_load(&rocks->trash.held), 0, "");
    CHECK(size_of(&f, "dropped/900001.sst") > 0);
    fixture_close(&f);
}

/* The variants with slow checks and ThreadSanitizer leave the library alone (mk/flags.mk). */
#if !defined(MAYFLY_SLOW_CHECKS) && !defined(__SANITIZE_THREAD__)

/* The name of the only table. */
static void find_table(const struct fixture *f, char name_out[NAME_MAX + 1])
{
    const struct dirent *entry;
    int count = 0;

    DIR *directory = opendir(f->path);
    CHECK(directory != NULL);
    while ((entry = readdir(directory)) != NULL) {
        if (strstr(entry->d_name, ".sst") != NULL && ++count == 1)
            snprintf(name_out, NAME_MAX + 1, "%s", entry->d_name);
    }
    closedir(directory);
    CHECK_EQ(count, 1, "");
}

/* One row that cannot be compressed, in a table below the first level, where whole tables can be dropped. */
static void write_large_table(struct fixture *f)
{
    struct random random = random_seeded(1);
    uint8_t *value = memory_take(LARGE_FILE_BYTES);

    for (size_t i = 0; i < LARGE_FILE_BYTES; i++)
        value[i] = (uint8_t)random_next(&random);
    storage_put(f->storage, f->batch, fixture_at(SPACE_BODIES), BYTES_LITERAL("a"),
                bytes_of(value, LARGE_FILE_BYTES));
    fixture_commit(f);
    memory_give(value);
    fixture_compact(f, SPACE_BODIES);
}

TEST(storage, rocksdb_drops_the_files_that_it_removes_itself)
{
    struct fixture f;
    char name[NAME_MAX + 1], dropped[NAME_MAX + 16];

    fixture_open_and_stop_trash(&f);
    write_large_table(&f);
    find_table(&f, name);
    CHECK_OK(storage_drop_range(f.storage, fixture_at(SPACE_BODIES), BYTES_NONE, BYTES_NONE));
    trash_let_go_now(rocksdb_of(f.storage));
    while (size_of(&f, name) >= 0)
        sched_yield();
    snprintf(dropped, sizeof(dropped), "dropped/%s", name);
    CHECK(size_of(&f, dropped) >= LARGE_FILE_BYTES);
    fixture_close(&f);
}

#endif
