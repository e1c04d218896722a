/* Overlays: one instant, and changes over it that nobody else sees. */
#include "tests/unit/storage/fixture.h"

static void put(struct storage *over, struct storage_batch *batch, const char *key,
                const char *value)
{
    storage_put(over, batch, fixture_at(SPACE_ROWS), bytes_of_text(key), bytes_of_text(value));
}

static void commit(struct fixture *f, struct storage *over, struct storage_batch *batch)
{
    CHECK_OK(storage_commit(over, batch, NULL, 0, f->arena, NULL));
    storage_batch_clear(over, batch);
}

static const char *scan_of(struct fixture *f, struct storage *over, struct storage_view *view,
                           bool is_reverse, const char *seek)
{
    struct storage_range all = { .start = BYTES_LITERAL("\x01"), .is_reverse = is_reverse };
    struct storage_scan *scan;

    CHECK_OK(storage_scan_open(over, view, fixture_at(SPACE_ROWS), &all, &scan));
    if (seek)
        storage_scan_seek(scan, bytes_of_text(seek));
    const char *rest = fixture_rest_of(f, scan);
    storage_scan_close(scan);
    return rest;
}

static bool has(struct storage *over, struct storage_view *view, const char *key, const char *want)
{
    struct storage_value value;
    status s = storage_get(over, view, fixture_at(SPACE_ROWS), bytes_of_text(key), &value);
    bool is_so = want ? s.code == OK && bytes_equal(value.value, bytes_of_text(want))
                      : s.code == NOT_FOUND;

    storage_value_release(over, &value);
    return is_so;
}

CONTRACT(an_overlay_shows_its_own_rows_over_those_of_one_instant)
{
    const struct row_address rows = fixture_at(SPACE_ROWS);
    struct storage *over;

    fixture_put(f, rows, "a", "1");
    fixture_put(f, rows, "c", "3");
    fixture_put(f, rows, "e", "5");
    fixture_commit(f);
    CHECK_OK(storage_open_overlay(f->storage, &over));
    fixture_put(f, rows, "a", "later");
    fixture_delete(f, rows, "e");
    fixture_put(f, rows, "g", "later");
    fixture_commit(f);
    CHECK_STRING(scan_of(f, over, NULL, false, NULL), "a=1 c=3 e=5");

    struct storage_batch *batch = storage_batch_open(over);
    put(over, batch, "b", "2");
    put(over, batch, "c", "33");
    storage_delete(over, batch, rows, BYTES_LITERAL("e"));
    storage_delete(over, batch, rows, BYTES_LITERAL("x"));
    CHECK_STRING(scan_of(f, over, NULL, false, NULL), "a=1 c=3 e=5");
    commit(f, over, batch);
    CHECK_STRING(scan_of(f, over, NULL, false, NULL), "a=1 b=2 c=33");
    CHECK_STRING(scan_of(f, over, NULL, true, NULL), "c=33 b=2 a=1");
    CHECK_STRING(scan_of(f, over, NULL, false, "b"), "b=2 c=33");
    CHECK_STRING(scan_of(f, over, NULL, true, "b"), "b=2 a=1");
    CHECK(has(over, NULL, "a", "1") && has(over, NULL, "c", "33") && has(over, NULL, "e", NULL));

    struct storage_view *view;
    CHECK_OK(storage_view_open(over, &view));
    put(over, batch, "e", "again");
    storage_delete(over, batch, rows, BYTES_LITERAL("b"));
    commit(f, over, batch);
    CHECK_STRING(scan_of(f, over, view, false, NULL), "a=1 b=2 c=33");
    CHECK_STRING(scan_of(f, over, NULL, false, NULL), "a=1 c=33 e=again");
    CHECK(has(over, view, "e", NULL) && has(over, NULL, "e", "again"));
    storage_view_close(over, view);
    storage_batch_close(over, batch);
    storage_close(over);
    CHECK_SCAN(f, NULL, rows, "", "", false, "a=later c=3 g=later");
}

TEST(storage, an_overlay_tells_that_the_storage_below_has_failed)
{
    struct fixture f;
    struct storage *over;
    struct storage_range all = { .start = BYTES_LITERAL("\x01") };
    struct storage_scan *scan;
    bytes key, value;

    fixture_open(&f, FIXTURE_FAULTY);
    fixture_put(&f, fixture_at(SPACE_ROWS), "a", "1");
    fixture_commit(&f);
    CHECK_OK(storage_open_overlay(f.storage, &over));
    struct storage_batch *batch = storage_batch_open(over);
    put(over, batch, "b", "2");
    commit(&f, over, batch);
    CHECK_OK(storage_scan_open(over, NULL, fixture_at(SPACE_ROWS), &all, &scan));
    storage_faulty_arm(f.storage, 1);
    CHECK(!storage_scan_next(scan, &key, &value));
    CHECK_CODE(storage_scan_status(scan), IO_ERROR);
    storage_scan_close(scan);
    storage_faulty_arm(f.storage, 1);
    struct storage *other;
    CHECK_CODE(storage_open_overlay(f.storage, &other), IO_ERROR);
    storage_faulty_arm(f.storage, 0);
    storage_batch_close(over, batch);
    storage_close(over);
    fixture_close(&f);
}
