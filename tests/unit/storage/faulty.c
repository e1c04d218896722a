/* Storage that fails on command. */
#include "tests/unit/storage/fixture.h"

/* One call of each kind that can fail; stops at the first failure. */
static status scenario(struct fixture *f)
{
    const struct row_address rows = fixture_at(SPACE_ROWS);
    const struct storage_range all = { 0 };
    struct storage_view *view = NULL;
    struct storage_scan *scan = NULL;
    struct storage_value value = { 0 };
    bytes key, found;
    status s;

    storage_batch_clear(f->storage, f->batch);
    fixture_put(f, rows, "a", "1");
    TRY_GOTO(storage_commit(f->storage, f->batch, NULL, 0, f->arena, NULL), done);
    TRY_GOTO(storage_view_open(f->storage, &view), done);
    TRY_GOTO(storage_get(f->storage, view, rows, BYTES_LITERAL("a"), &value), done);
    TRY_GOTO(storage_scan_open(f->storage, view, rows, &all, &scan), done);
    while (storage_scan_next(scan, &key, &found))
        CHECK_TEXT(found, "1");
    TRY_GOTO(storage_scan_status(scan), done);
    TRY_GOTO(storage_drop_range(f->storage, rows, BYTES_LITERAL("x"), BYTES_NONE), done);
    s = storage_sweep(f->storage, 7, BYTES_NONE, BYTES_NONE);
done:
    storage_scan_close(scan);
    storage_value_release(f->storage, &value);
    storage_view_close(f->storage, view);
    return s;
}

TEST(storage, faulty_visits_every_call_that_can_fail)
{
    struct fixture f;
    uint64_t n = 1;

    fixture_open(&f, FIXTURE_FAULTY);
    for (;; n++) {
        storage_faulty_arm(f.storage, n);
        const status s = scenario(&f);
        if (s.code == OK)
            break;
        CHECK_EQ(s.code, IO_ERROR, "");
        CHECK_EQ(storage_faulty_calls(f.storage), n, "stopped at the failing call");
        storage_faulty_heal(f.storage);
    }
    CHECK_EQ(n, 9, "commit, view, get, scan, next, next, drop, sweep can fail");
    CHECK_EQ(storage_faulty_calls(f.storage), 8, "");
    fixture_close(&f);
}

TEST(storage, faulty_commit_does_nothing_and_fails_until_healed)
{
    struct fixture f;
    size_t conflict;

    fixture_open(&f, FIXTURE_FAULTY);
    fixture_put(&f, fixture_at(SPACE_ROWS), "a", "1");
    storage_faulty_arm(f.storage, 1);
    for (int i = 0; i < 3; i++)
        CHECK_CODE(storage_commit(f.storage, f.batch, NULL, 0, f.arena, &conflict), IO_ERROR);
    CHECK_ROW(&f, NULL, fixture_at(SPACE_ROWS), "a", NULL);
    storage_faulty_arm(f.storage, 0);
    CHECK_CODE(storage_commit(f.storage, f.batch, NULL, 0, f.arena, &conflict), IO_ERROR);
    storage_faulty_heal(f.storage);
    fixture_commit(&f);
    CHECK_ROW(&f, NULL, fixture_at(SPACE_ROWS), "a", "1");
    fixture_close(&f);
}
