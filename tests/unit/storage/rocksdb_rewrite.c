/* Tests of what RocksDB rewrites when a view is closed: nothing after a short look, and what a long one has kept. */
#include "storage/rocksdb_rewrite.h"

#include <dlfcn.h>
#include <stdio.h>

#include "storage/rocksdb_raw.h"
#include "storage/rocksdb_replaced.h"
#include "tests/unit/storage/fixture.h"

enum {
    DOCUMENTS = 500,
    NAMES_BYTES = 256,
    LOOKS = 10,
    LOOKS_PATIENT = 2000,
    ROWS_FEW = 100,
    ROWS_MANY = 5000
};

/* Under the sanitizers the library decides by itself (mk/flags.mk). */
static bool is_replaced(void)
{
    return dlsym(RTLD_DEFAULT, ROCKSDB_NAME_OF_UPDATE_OLDEST) == (void *)rocksdb_update_oldest;
}

static void put_rows(struct fixture *f, enum storage_space space, unsigned count)
{
    char key[16];

    for (unsigned n = 0; n < count; n++) {
        snprintf(key, sizeof(key), "k%05u", n);
        fixture_put(f, fixture_at(space), key, "a document of some length");
    }
    fixture_commit(f);
}

/* Until compactions that are due have run: one by hand waits for them. */
static void wait_for_compactions(struct fixture *f)
{
    put_rows(f, SPACE_META, 1); /* else it would have nothing to do */
    fixture_compact(f, SPACE_META);
}

/* Without a sweeper, whom RocksDB would ask about each row, a file comes to the lowest level as it was flushed. */
static void open_with_file(struct fixture *f)
{
    fixture_open(f, FIXTURE_ROCKSDB);
    f->options.sweeper = (struct storage_sweeper){ 0 };
    fixture_reopen(f);
    put_rows(f, SPACE_BODIES, DOCUMENTS);
    fixture_compact(f, SPACE_BODIES);
    put_rows(f, SPACE_META, 1); /* younger than all rows of the file */
}

/* Which files hold the documents, in one text; empty if none does. */
static void put_names(struct fixture *f, char out[NAMES_BYTES])
{
    const rocksdb_livefiles_t *live = rocksdb_livefiles(rocksdb_of(f->storage)->db);
    size_t len = 0;

    out[0] = '\0';
    for (int i = 0; i < rocksdb_livefiles_count(live) && len < NAMES_BYTES; i++) {
        if (strcmp(rocksdb_livefiles_column_family_name(live, i),
                   rocksdb_space_names[SPACE_BODIES]) == 0)
            len += (size_t)snprintf(out + len, NAMES_BYTES - len, "%s",
                                    rocksdb_livefiles_name(live, i));
    }
    rocksdb_livefiles_destroy(live);
    CHECK(len < NAMES_BYTES);
}

static bool has_files(struct fixture *f)
{
    char names[NAMES_BYTES];

    put_names(f, names);
    return names[0] != '\0';
}

/* Is the file another one when a view has been open while so many rows were written? On a busy machine it may be long before
 * a compaction begins. */
static bool is_rewritten(unsigned rows, bool deletes_range, int looks)
{
    char before[NAMES_BYTES], after[NAMES_BYTES];
    struct storage_view *view;
    struct fixture f;

    open_with_file(&f);
    put_names(&f, before);
    CHECK(before[0] != '\0');
    CHECK_OK(storage_view_open(f.storage, &view));
    if (rows)
        put_rows(&f, SPACE_ROWS, rows);
    if (deletes_range) {
        fixture_delete_range(&f, fixture_at(SPACE_ROWS), "a", "b");
        fixture_commit(&f);
    }
    storage_view_close(f.storage, view);
    /* Who waits for others to run may get in front of one that has not begun. */
    for (int i = 0; i == 0 || (i < looks && strcmp(before, after) == 0); i++) {
        wait_for_compactions(&f);
        put_names(&f, after);
    }
    fixture_close(&f);
    CHECK(after[0] != '\0');
    return strcmp(before, after) != 0;
}

TEST(storage, rocksdb_files_are_not_rewritten_because_somebody_has_looked)
{
    if (!is_replaced())
        return;
    CHECK(!is_rewritten(0, false, LOOKS));
    CHECK(!is_rewritten(ROWS_FEW, false, LOOKS));
}

TEST(storage, rocksdb_files_are_rewritten_when_a_view_may_have_kept_much_alive)
{
    CHECK(is_rewritten(ROWS_MANY, false, LOOKS_PATIENT));
    CHECK(is_rewritten(0, true, LOOKS_PATIENT));
}

/* When the view ends, the file that it has kept alive is not older than the last commit, so that RocksDB lets it be. */
TEST(storage, rocksdb_files_that_a_view_has_kept_alive_go_when_a_later_one_ends)
{
    struct storage_view *view;
    struct fixture f;

    open_with_file(&f);
    CHECK_OK(storage_view_open(f.storage, &view));
    fixture_delete_range(&f, fixture_at(SPACE_BODIES), "a", "z");
    fixture_commit(&f);
    fixture_compact(&f, SPACE_BODIES);
    CHECK(has_files(&f));
    storage_view_close(f.storage, view);
    for (int i = 0; i < LOOKS_PATIENT && has_files(&f); i++) {
        put_rows(&f, SPACE_META, 1);
        CHECK_OK(storage_view_open(f.storage, &view));
        storage_view_close(f.storage, view);
        wait_for_compactions(&f);
    }
    CHECK(!has_files(&f));
    fixture_close(&f);
}

TEST(storage, rocksdb_views_have_kept_much_alive_if_many_rows_or_ranges_went_meanwhile)
{
    struct storage_view *view;
    struct fixture f;

    fixture_open(&f, FIXTURE_ROCKSDB);
    struct rocksdb_storage *rocks = rocksdb_of(f.storage);
    fixture_delete_range(&f, fixture_at(SPACE_BODIES), "a", "b");
    fixture_commit(&f);
    CHECK_OK(storage_view_open(f.storage, &view));
    CHECK(!rewrite_is_worth(rocks, (struct raw_view *)view));
    put_rows(&f, SPACE_ROWS, ROWS_FEW);
    CHECK(!rewrite_is_worth(rocks, (struct raw_view *)view));
    put_rows(&f, SPACE_ROWS, ROWS_MANY);
    CHECK(rewrite_is_worth(rocks, (struct raw_view *)view));
    storage_view_close(f.storage, view);
    CHECK_OK(storage_view_open(f.storage, &view));
    fixture_delete_range(&f, fixture_at(SPACE_META), "a", "b");
    fixture_commit(&f);
    CHECK(rewrite_is_worth(rocks, (struct raw_view *)view));
    storage_view_close(f.storage, view);
    fixture_close(&f);
}
