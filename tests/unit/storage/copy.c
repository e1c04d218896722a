/* Copies of a database that is in use. */
#include <stdio.h>
#include <unistd.h>

#include "tests/unit/storage/fixture.h"

static const char *place(struct fixture *f, const char *name)
{
    return arena_format(f->arena, "%s/%s", f->path, name);
}

TEST(storage, a_checkpoint_is_a_database_of_the_instant_it_was_made)
{
    struct fixture f;
    struct storage *copy;

    fixture_open(&f, FIXTURE_ROCKSDB);
    fixture_put(&f, fixture_at(SPACE_ROWS), "a", "1");
    fixture_add(&f, "n", 5, 6);
    fixture_commit(&f);
    CHECK_OK(storage_checkpoint(f.storage, place(&f, "copy"), f.arena));
    fixture_put(&f, fixture_at(SPACE_ROWS), "b", "2");
    fixture_commit(&f);

    struct storage_options options = f.options;
    options.path = place(&f, "copy");
    options.must_exist = true;
    CHECK_OK(storage_open_rocksdb(&options, f.arena, &copy));
    struct storage *original = f.storage;
    f.storage = copy;
    CHECK_SCAN(&f, NULL, fixture_at(SPACE_ROWS), "", "", false, "a=1");
    fixture_put(&f, fixture_at(SPACE_ROWS), "c", "3");
    fixture_commit(&f);
    f.storage = original;
    storage_close(copy);
    CHECK_SCAN(&f, NULL, fixture_at(SPACE_ROWS), "", "", false, "a=1 b=2");
    CHECK_THAT(storage_checkpoint(f.storage, place(&f, "copy"), f.arena).code == IO_ERROR,
               "what is there is left alone");
    fixture_close(&f);
}

TEST(storage, a_database_in_memory_has_no_checkpoint)
{
    struct fixture f;

    fixture_open(&f, FIXTURE_MEMORY);
    CHECK_CODE(storage_checkpoint(f.storage, "/tmp/never", f.arena), UNSUPPORTED);
    fixture_close(&f);
}

TEST(storage, files_are_kept_from_servers_while_they_are_copied)
{
    struct fixture f;
    int fd;

    fixture_open(&f, FIXTURE_ROCKSDB);
    CHECK_CODE(storage_keep_out(f.path, f.arena, &fd), IO_ERROR);
    storage_close(f.storage);
    CHECK_OK(storage_keep_out(f.path, f.arena, &fd));
    CHECK_CODE(storage_open_rocksdb(&f.options, f.arena, &f.storage), IO_ERROR);
    close(fd);
    CHECK_OK(storage_open_rocksdb(&f.options, f.arena, &f.storage));
    fixture_close(&f);
}

TEST(storage, only_files_of_the_database_are_its_own)
{
    const struct {
        const char *name;
        bool is_own;
    } rows[] = {
        {"MAYFLY",           true },
        { "CURRENT",         true },
        { "IDENTITY",        true },
        { "000012.sst",      true },
        { "000013.log",      true },
        { "MANIFEST-000004", true },
        { "OPTIONS-000007",  true },
        { "LOCK",            false},
        { "LOG",             false},
        { "LOG.old.1",       false},
        { "tls-key.pem",     false},
        { "control",         false},
        { ".log",            false},
        { "audit.log",       false},
        { "12a.sst",         false},
        { "000013.log.1",    false},
    };

    EACH_ROW(rows, r)
        CHECK_EQ(storage_owns_file(r->name), r->is_own, "%s", r->name);
}
