/* The fixture of the storage tests: opens any backend and says each step in one word. */
#include "tests/unit/storage/fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/rocksdb_graves.h"
#include "storage/rocksdb_raw.h"

enum { ARENA_BYTES = 64 << 20 };

/* ---- the sweeper ---------------------------------------------------------------------------------- */

static void *sweeper_begin(void *owner, enum storage_space space)
{
    struct fixture *f = owner;

    ASSERT(space == SPACE_ROWS || space == SPACE_BODIES);
    if (atomic_load(&f->garbage_byte) == 0)
        return NULL;
    atomic_fetch_add(&f->sweeps_begun, 1);
    return f;
}

static bool sweeper_is_garbage(void *context, partition_id partition, bytes key, bytes value)
{
    struct fixture *f = context;

    ASSERT(partition == 7 || partition == 8);
    ASSERT(key.len > 0 && value.len > 0);
    atomic_fetch_add(&f->rows_judged, 1);
    return value.data[0] == atomic_load(&f->garbage_byte);
}

static void sweeper_end(void *owner, void *context)
{
    struct fixture *f = owner;

    ASSERT(context == owner);
    atomic_fetch_add(&f->sweeps_ended, 1);
}

/* ---- life ----------------------------------------------------------------------------------------- */

static void open_storage(struct fixture *f)
{
    struct storage *inner;

    switch (f->kind) {
    case FIXTURE_MEMORY:
        CHECK_OK(storage_open_memory(&f->options, &f->storage));
        break;
    case FIXTURE_ROCKSDB:
        CHECK_OK(storage_open_rocksdb(&f->options, f->arena, &f->storage));
        break;
    case FIXTURE_FAULTY:
        CHECK_OK(storage_open_memory(&f->options, &inner));
        CHECK_OK(storage_open_faulty(inner, &f->storage));
        break;
    }
    f->batch = storage_batch_open(f->storage);
}

static void close_storage(struct fixture *f)
{
    storage_batch_close(f->storage, f->batch);
    storage_close(f->storage);
    f->storage = NULL;
}

void fixture_open(struct fixture *f, enum fixture_kind kind)
{
    memset(f, 0, sizeof(*f));
    f->kind = kind;
    f->log = log_to(2, LOG_SILENT);
    f->arena = arena_open(ARENA_BYTES);
    CHECK(f->arena != NULL);
    if (kind == FIXTURE_ROCKSDB)
        check_temp_dir(f->path, sizeof(f->path));
    f->options = (struct storage_options){
        .path = f->path,
        .log = &f->log,
        .metrics = &f->metrics,
        .counts_written_bytes = true,
        .sweeper = {sweeper_begin, sweeper_is_garbage, sweeper_end, f},
    };
    open_storage(f);
}

void fixture_close(struct fixture *f)
{
    close_storage(f);
    arena_close(f->arena);
    CHECK_EQ(atomic_load(&f->sweeps_begun), atomic_load(&f->sweeps_ended), "sweeps left open");
}

void fixture_reopen(struct fixture *f)
{
    close_storage(f);
    open_storage(f);
}

void fixture_run(enum fixture_kind kind, void (*contract)(struct fixture *f))
{
    struct fixture f;

    fixture_open(&f, kind);
    contract(&f);
    fixture_close(&f);
}

/* ---- steps ---------------------------------------------------------------------------------------- */

struct row_address fixture_at(enum storage_space space)
{
    return (struct row_address){ .partition = 7, .space = space };
}

void fixture_put(struct fixture *f, struct row_address where, const char *key, const char *value)
{
    struct storage_value there;

    /* It may have been put before, and be deleted or not: see storage.h. */
    if (where.space == SPACE_BODIES &&
        storage_get(f->storage, NULL, where, bytes_of_text(key), &there).code == OK) {
        storage_value_release(f->storage, &there);
        storage_delete(f->storage, f->batch, where, bytes_of_text(key));
    }
    storage_put(f->storage, f->batch, where, bytes_of_text(key), bytes_of_text(value));
}

void fixture_delete(struct fixture *f, struct row_address where, const char *key)
{
    storage_delete(f->storage, f->batch, where, bytes_of_text(key));
}

void fixture_delete_range(struct fixture *f, struct row_address where, const char *start,
                          const char *end)
{
    storage_delete_range(f->storage, f->batch, where, bytes_of_text(start), bytes_of_text(end));
}

void fixture_add(struct fixture *f, const char *key, int64_t first, int64_t second)
{
    storage_add(f->storage, f->batch, fixture_at(SPACE_META), bytes_of_text(key),
                (struct storage_counters){ first, second });
}

void fixture_commit(struct fixture *f)
{
    size_t conflict;

    CHECK_OK(storage_commit(f->storage, f->batch, NULL, 0, f->arena, &conflict));
    storage_batch_clear(f->storage, f->batch);
}

void fixture_flush(struct fixture *f, enum storage_space space)
{
    struct rocksdb_storage *rocks = rocksdb_of(f->storage);
    rocksdb_flushoptions_t *options = rocksdb_flushoptions_create();
    char *error = NULL;

    rocksdb_flush_cf(rocks->db, options, rocks->spaces[space], &error);
    rocksdb_flushoptions_destroy(options);
    CHECK(error == NULL);
    /* Nothing is in memory tables now, and it is the committing thread that says so. */
    for (int i = 0; i < 2; i++)
        graves_turn(rocks->shelves[space].graves);
}

void fixture_compact(struct fixture *f, enum storage_space space)
{
    struct rocksdb_storage *rocks = rocksdb_of(f->storage);

    rocksdb_compact_range_cf(rocks->db, rocks->spaces[space], NULL, 0, NULL, 0);
}

/* ---- claims --------------------------------------------------------------------------------------- */

void fixture_check_row(const char *file, int line, struct fixture *f, struct storage_view *view,
                       struct row_address where, const char *key, const char *want)
{
    struct storage_value found;
    const status s = storage_get(f->storage, view, where, bytes_of_text(key), &found);

    if (s.code != OK && s.code != NOT_FOUND)
        check_fail(file, line, "CHECK_ROW", "%s: %s", key, s.message);
    if ((s.code == OK) != (want != NULL))
        check_fail(file, line, "CHECK_ROW", "%s is %s", key, s.code == OK ? "there" : "missing");
    if (want != NULL)
        check_same_bytes(file, line, key, found.value.data, found.value.len, want, strlen(want),
                         "");
    storage_value_release(f->storage, &found);
}

const char *fixture_rest_of(struct fixture *f, struct storage_scan *scan)
{
    struct buffer text = buffer_in(f->arena);
    bytes key;
    bytes value;
    bytes out;

    while (storage_scan_next(scan, &key, &value)) {
        if (text.len > 0)
            buffer_append_byte(&text, ' ');
        buffer_append(&text, key);
        buffer_append_byte(&text, '=');
        buffer_append(&text, value);
    }
    buffer_append_byte(&text, 0);
    CHECK_OK(buffer_finish(&text, &out));
    return (const char *)out.data;
}

void fixture_check_scan(const char *file, int line, struct fixture *f, struct storage_view *view,
                        struct row_address where, const char *start, const char *end,
                        bool is_reverse, const char *want)
{
    struct storage_range range = { .start = bytes_of_text(start),
                                   .end = bytes_of_text(end),
                                   .is_reverse = is_reverse };
    struct storage_scan *scan;

    for (int i = 0; i < 2; i++, range.is_bulk = true) {
        CHECK_OK(storage_scan_open(f->storage, view, where, &range, &scan));
        const char *got = fixture_rest_of(f, scan);
        CHECK_OK(storage_scan_status(scan));
        storage_scan_close(scan);
        check_same_bytes(file, line, range.is_bulk ? "bulk scan" : "scan", got, strlen(got), want,
                         strlen(want), "");
    }
}

/* ---- after a crash -------------------------------------------------------------------------------- */

/* Which files there are is in these. */
static bool is_table_of_contents(const char *name)
{
    return strncmp(name, "MANIFEST", 8) == 0 || strcmp(name, "CURRENT") == 0;
}

static void copy_file(const char *from, const char *to, const char *name)
{
    struct stat info;
    char path[600];

    snprintf(path, sizeof(path), "%s/%s", from, name);
    const int in = open(path, O_RDONLY);
    if (in < 0) {
        CHECK_EQ(errno, ENOENT, "what RocksDB has removed since the listing may be gone");
        return;
    }
    CHECK_EQ(fstat(in, &info), 0, "");
    if (S_ISREG(info.st_mode)) {
        snprintf(path, sizeof(path), "%s/%s", to, name);
        const int out = open(path, O_CREAT | O_WRONLY, 0600);
        CHECK_EQ(sendfile(out, in, NULL, (size_t)info.st_size), info.st_size, "");
        close(out);
    }
    close(in);
}

void fixture_copy_files(const char *from, const char *to)
{
    const struct dirent *entry;

    for (int round = 0; round < 2; round++) {
        DIR *directory = opendir(from);
        CHECK(directory != NULL);
        while ((entry = readdir(directory)) != NULL)
            if (is_table_of_contents(entry->d_name) == (round == 0))
                copy_file(from, to, entry->d_name);
        closedir(directory);
    }
}

void fixture_open_image(struct fixture *f, const char *image, struct log log)
{
    fixture_open(f, FIXTURE_MEMORY);
    f->kind = FIXTURE_ROCKSDB;
    f->log = log;
    f->options.path = image;
    fixture_reopen(f);
}
