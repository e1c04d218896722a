/* The contract of storage: facts that hold for every backend. */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>

#include "tests/unit/storage/fixture.h"

CONTRACT(what_was_put_is_found)
{
    const struct row_address rows = fixture_at(SPACE_ROWS);

    CHECK_ROW(f, NULL, rows, "a", NULL);
    fixture_put(f, rows, "a", "1");
    fixture_put(f, rows, "b", "2");
    CHECK_ROW(f, NULL, rows, "a", NULL);
    fixture_commit(f);
    CHECK_ROW(f, NULL, rows, "a", "1");
    CHECK_ROW(f, NULL, rows, "b", "2");
    CHECK_ROW(f, NULL, rows, "c", NULL);
}

CONTRACT(a_missing_row_is_a_status_with_a_message)
{
    struct storage_value value;
    const status s = storage_get(f->storage, NULL, fixture_at(SPACE_META), BYTES_LITERAL("x"),
                                 &value);

    CHECK_EQ(s.code, NOT_FOUND, "");
    CHECK(s.message != NULL && s.message[0] != '\0');
    CHECK(value.pin == NULL);
    storage_value_release(f->storage, &value);
}

CONTRACT(steps_of_a_batch_act_in_order)
{
    const struct row_address rows = fixture_at(SPACE_ROWS);

    fixture_put(f, rows, "a", "old");
    fixture_put(f, rows, "b", "old");
    fixture_put(f, rows, "c", "old");
    fixture_commit(f);

    fixture_put(f, rows, "a", "1");
    fixture_delete(f, rows, "a");
    fixture_delete(f, rows, "b");
    fixture_put(f, rows, "b", "2");
    fixture_put(f, rows, "c", "3");
    fixture_put(f, rows, "cc", "3");
    fixture_delete_range(f, rows, "c", "d");
    fixture_put(f, rows, "cb", "after");
    fixture_commit(f);
    CHECK_SCAN(f, NULL, rows, "", "", false, "b=2 cb=after");
}

CONTRACT(deleting_what_is_not_there_is_fine)
{
    const struct row_address rows = fixture_at(SPACE_ROWS);

    fixture_delete(f, rows, "a");
    fixture_delete_range(f, rows, "a", "z");
    fixture_delete_range(f, rows, "z", "a");
    fixture_delete_range(f, rows, "a", "a");
    fixture_commit(f);
    CHECK_SCAN(f, NULL, rows, "", "", false, "");
}

CONTRACT(range_deletes_include_the_start_and_not_the_end)
{
    const struct row_address rows = fixture_at(SPACE_ROWS);

    for (const char *c = "a\0b\0c\0d\0e\0"; *c; c += 2)
        fixture_put(f, rows, c, "1");
    fixture_commit(f);
    fixture_delete_range(f, rows, "b", "d");
    fixture_commit(f);
    CHECK_SCAN(f, NULL, rows, "", "", false, "a=1 d=1 e=1");
    fixture_delete_range(f, rows, "d", "");
    fixture_commit(f);
    CHECK_SCAN(f, NULL, rows, "", "", false, "a=1");
}

CONTRACT(a_batch_knows_its_size_and_can_be_cleared)
{
    CHECK_EQ(storage_batch_bytes(f->storage, f->batch), 0, "fresh");
    fixture_put(f, fixture_at(SPACE_ROWS), "key", "value");
    CHECK(storage_batch_bytes(f->storage, f->batch) >= 8);
    storage_batch_clear(f->storage, f->batch);
    CHECK_EQ(storage_batch_bytes(f->storage, f->batch), 0, "cleared");
    fixture_commit(f);
    CHECK_ROW(f, NULL, fixture_at(SPACE_ROWS), "key", NULL);
}

CONTRACT(a_batch_copies_what_it_is_given)
{
    char key[] = "k1";
    char value[] = "v1";

    fixture_put(f, fixture_at(SPACE_ROWS), key, value);
    memcpy(key, "xx", 2);
    memcpy(value, "xx", 2);
    fixture_commit(f);
    CHECK_SCAN(f, NULL, fixture_at(SPACE_ROWS), "", "", false, "k1=v1");
}

CONTRACT(scans_keep_key_order_and_bounds_both_ways)
{
    const struct row_address rows = fixture_at(SPACE_ROWS);
    const struct {
        const char *start, *end, *forward, *backward;
    } cases[] = {
        {"",    "",   "a=1 aa=2 b=3 ba=4 c=5", "c=5 ba=4 b=3 aa=2 a=1"},
        { "a",  "c",  "a=1 aa=2 b=3 ba=4",     "ba=4 b=3 aa=2 a=1"    },
        { "aa", "b",  "aa=2",                  "aa=2"                 },
        { "ab", "bb", "b=3 ba=4",              "ba=4 b=3"             },
        { "b",  "",   "b=3 ba=4 c=5",          "c=5 ba=4 b=3"         },
        { "",   "b",  "a=1 aa=2",              "aa=2 a=1"             },
        { "b",  "b",  "",                      ""                     },
        { "c",  "b",  "",                      ""                     },
        { "d",  "",   "",                      ""                     },
        { "",   "A",  "",                      ""                     },
    };

    fixture_put(f, rows, "b", "3");
    fixture_put(f, rows, "aa", "2");
    fixture_put(f, rows, "c", "5");
    fixture_put(f, rows, "a", "1");
    fixture_put(f, rows, "ba", "4");
    fixture_commit(f);
    EACH_ROW(cases, c) {
        CHECK_SCAN(f, NULL, rows, c->start, c->end, false, c->forward);
        CHECK_SCAN(f, NULL, rows, c->start, c->end, true, c->backward);
    }
}

CONTRACT(seeking_stays_inside_the_range)
{
    const struct row_address rows = fixture_at(SPACE_ROWS);
    const struct {
        bool is_reverse;
        const char *key, *rest;
    } cases[] = {
        {false,  "c",  "c=1 d=1"    },
        { false, "bb", "c=1 d=1"    },
        { false, "a",  "b=1 c=1 d=1"},
        { false, "",   "b=1 c=1 d=1"},
        { false, "e",  ""           },
        { false, "dd", ""           },
        { true,  "c",  "c=1 b=1"    },
        { true,  "cc", "c=1 b=1"    },
        { true,  "z",  "d=1 c=1 b=1"},
        { true,  "e",  "d=1 c=1 b=1"},
        { true,  "a",  ""           },
        { true,  "b",  "b=1"        },
    };

    for (const char *c = "a\0b\0c\0d\0e\0f\0"; *c; c += 2)
        fixture_put(f, rows, c, "1");
    fixture_commit(f);
    EACH_ROW(cases, c) {
        const struct storage_range range = { .start = BYTES_LITERAL("b"),
                                             .end = BYTES_LITERAL("e"),
                                             .is_reverse = c->is_reverse };
        struct storage_scan *scan;
        bytes key, value;
        for (int steps_before = 0; steps_before < 5; steps_before++) {
            CHECK_OK(storage_scan_open(f->storage, NULL, rows, &range, &scan));
            for (int i = 0; i < steps_before; i++)
                (void)storage_scan_next(scan, &key, &value);
            storage_scan_seek(scan, bytes_of_text(c->key));
            CHECK_STRING(fixture_rest_of(f, scan), c->rest);
            CHECK(!storage_scan_next(scan, &key, &value));
            CHECK_OK(storage_scan_status(scan));
            storage_scan_close(scan);
        }
    }
}

CONTRACT(partitions_and_spaces_do_not_see_each_other)
{
    const partition_id partitions[] = { 0, 6, 7, 8, 255, 256, 65535, UINT64_MAX - 1 };
    char value[32];

    for (size_t p = 0; p < ARRAY_COUNT(partitions); p++) {
        for (int space = 0; space < SPACE_COUNT; space++) {
            const struct row_address where = { partitions[p], (enum storage_space)space };
            snprintf(value, sizeof(value), "%zu.%d", p, space);
            fixture_put(f, where, "k", value);
            fixture_put(f, where, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", value);
        }
    }
    fixture_commit(f);
    fixture_delete_range(f, fixture_at(SPACE_ROWS), "", "");
    fixture_commit(f);
    for (size_t p = 0; p < ARRAY_COUNT(partitions); p++) {
        for (int space = 0; space < SPACE_COUNT; space++) {
            const struct row_address where = { partitions[p], (enum storage_space)space };
            const bool is_gone = partitions[p] == 7 && space == SPACE_ROWS;
            char want[64] = "";
            if (!is_gone)
                snprintf(want, sizeof(want), "k=%zu.%d \xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF=%zu.%d",
                         p, space, p, space);
            CHECK_SCAN(f, NULL, where, "", "", false, want);
            snprintf(value, sizeof(value), "%zu.%d", p, space);
            CHECK_ROW(f, NULL, where, "k", is_gone ? NULL : value);
        }
    }
}

CONTRACT(keys_of_high_bytes_and_great_length_are_kept_in_order)
{
    const struct row_address bodies = fixture_at(SPACE_BODIES);
    char longest[LIMIT_KEY_BYTES + 1];
    char longer[LIMIT_KEY_BYTES + 2];

    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    fixture_put(f, bodies, "\xFF", "1");
    fixture_put(f, bodies, "\xFF\xFF", "2");
    fixture_put(f, bodies, "\x01", "3");
    fixture_put(f, bodies, "\xFE\xFF\xFF", "4");
    fixture_put(f, bodies, longest, "5");
    fixture_put(f, bodies, longer, "6");
    fixture_commit(f);
    CHECK_ROW(f, NULL, bodies, longest, "5");
    CHECK_ROW(f, NULL, bodies, longer, "6");
    fixture_delete_range(f, bodies, longest, longer);
    fixture_commit(f);
    CHECK_ROW(f, NULL, bodies, longest, NULL);
    fixture_delete(f, bodies, longer);
    fixture_commit(f);
    CHECK_SCAN(f, NULL, bodies, "", "", false, "\x01=3 \xFE\xFF\xFF=4 \xFF=1 \xFF\xFF=2");
    CHECK_SCAN(f, NULL, bodies, "\xFF", "", true, "\xFF\xFF=2 \xFF=1");
    fixture_delete_range(f, bodies, "\xFF", "");
    fixture_commit(f);
    CHECK_SCAN(f, NULL, bodies, "", "", false, "\x01=3 \xFE\xFF\xFF=4");
}

CONTRACT(a_view_is_one_instant)
{
    const struct row_address rows = fixture_at(SPACE_ROWS);
    const struct row_address bodies = fixture_at(SPACE_BODIES);
    struct storage_view *view;
    struct storage_view *later;

    CHECK(storage_capabilities(f->storage) & STORAGE_HAS_SNAPSHOTS);
    fixture_put(f, rows, "a", "1");
    fixture_put(f, bodies, "b", "1");
    fixture_commit(f);
    CHECK_OK(storage_view_open(f->storage, &view));
    fixture_put(f, rows, "a", "2");
    fixture_delete(f, bodies, "b");
    fixture_put(f, bodies, "c", "2");
    fixture_commit(f);
    CHECK_OK(storage_view_open(f->storage, &later));
    fixture_delete_range(f, rows, "", "");
    fixture_delete_range(f, bodies, "", "");
    fixture_commit(f);

    CHECK_ROW(f, view, rows, "a", "1");
    CHECK_ROW(f, view, bodies, "b", "1");
    CHECK_SCAN(f, view, bodies, "", "", false, "b=1");
    CHECK_ROW(f, later, rows, "a", "2");
    CHECK_SCAN(f, later, bodies, "", "", true, "c=2");
    CHECK_ROW(f, NULL, rows, "a", NULL);
    CHECK_SCAN(f, NULL, bodies, "", "", false, "");
    storage_view_close(f->storage, view);
    CHECK_SCAN(f, later, bodies, "", "", false, "c=2");
    storage_view_close(f->storage, later);
}

CONTRACT(an_open_scan_does_not_notice_commits)
{
    const struct row_address rows = fixture_at(SPACE_ROWS);
    const struct storage_range all = { 0 };
    struct storage_scan *scan;
    bytes key, value;

    for (const char *c = "a\0b\0c\0d\0"; *c; c += 2)
        fixture_put(f, rows, c, "1");
    fixture_commit(f);
    CHECK_OK(storage_scan_open(f->storage, NULL, rows, &all, &scan));
    CHECK(storage_scan_next(scan, &key, &value));
    fixture_delete_range(f, rows, "", "");
    fixture_put(f, rows, "cc", "2");
    fixture_commit(f);
    CHECK_TEXT(key, "a");
    CHECK_STRING(fixture_rest_of(f, scan), "b=1 c=1 d=1");
    storage_scan_close(scan);
    CHECK_SCAN(f, NULL, rows, "", "", false, "cc=2");
}

CONTRACT(a_value_stays_until_it_is_released)
{
    const struct row_address rows = fixture_at(SPACE_ROWS);
    struct storage_value value;

    fixture_put(f, rows, "a", "first");
    fixture_commit(f);
    CHECK_OK(storage_get(f->storage, NULL, rows, BYTES_LITERAL("a"), &value));
    for (int i = 0; i < 100; i++) {
        fixture_put(f, rows, "a", "other");
        fixture_delete_range(f, rows, "", "");
        fixture_commit(f);
    }
    CHECK_TEXT(value.value, "first");
    storage_value_release(f->storage, &value);
    storage_value_release(f->storage, &value);
}

static struct storage_counters read_counters(struct fixture *f, const char *key)
{
    struct storage_counters counters = { 0 };
    struct storage_value value;
    const status s = storage_get(f->storage, NULL, fixture_at(SPACE_META), bytes_of_text(key),
                                 &value);

    if (s.code == NOT_FOUND)
        return counters;
    CHECK_OK(s);
    CHECK(storage_counters_decode(value.value, &counters));
    storage_value_release(f->storage, &value);
    return counters;
}

CONTRACT(counters_add_up)
{
    fixture_add(f, "n", 1, -10);
    fixture_add(f, "n", 2, 5);
    fixture_commit(f);
    CHECK_EQ(read_counters(f, "n").first, 3, "");
    CHECK_EQ(read_counters(f, "n").second, -5, "");
    for (int i = 0; i < 200; i++) {
        fixture_add(f, "n", 1, 1000000000000);
        fixture_add(f, "m", -1, 0);
        fixture_commit(f);
    }
    CHECK_EQ(read_counters(f, "n").first, 203, "");
    CHECK_EQ(read_counters(f, "n").second, 200 * 1000000000000 - 5, "");
    CHECK_EQ(read_counters(f, "m").first, -200, "");
    fixture_delete(f, fixture_at(SPACE_META), "n");
    fixture_add(f, "n", 7, 0);
    fixture_commit(f);
    CHECK_EQ(read_counters(f, "n").first, 7, "starts again at nothing");
    fixture_add(f, "n", -7, 0);
    fixture_commit(f);
    CHECK_EQ(read_counters(f, "n").first, 0, "");
}

CONTRACT(counters_may_be_set_and_read_by_view)
{
    uint8_t set[16] = { [7] = 5, [15] = 6 };
    struct storage_view *view;
    struct storage_value value;
    struct storage_counters counters;

    storage_put(f->storage, f->batch, fixture_at(SPACE_META), BYTES_LITERAL("n"),
                bytes_of(set, sizeof(set)));
    fixture_add(f, "n", 1, 1);
    fixture_commit(f);
    CHECK_OK(storage_view_open(f->storage, &view));
    fixture_add(f, "n", 100, 100);
    fixture_commit(f);
    CHECK_OK(storage_get(f->storage, view, fixture_at(SPACE_META), BYTES_LITERAL("n"), &value));
    CHECK(storage_counters_decode(value.value, &counters));
    CHECK_EQ(counters.first, 6, "");
    CHECK_EQ(counters.second, 7, "");
    storage_value_release(f->storage, &value);
    storage_view_close(f->storage, view);
    CHECK_EQ(read_counters(f, "n").second, 107, "");
    CHECK(!storage_counters_decode(BYTES_LITERAL("short"), &counters));
}

CONTRACT(guards_must_all_hold)
{
    const struct row_address rows = fixture_at(SPACE_ROWS);
    const struct storage_guard holding[] = {
        {rows,  BYTES_LITERAL("a"),    BYTES_LITERAL("1")},
        { rows, BYTES_LITERAL("none"), BYTES_NONE        },
    };
    const struct storage_guard failing[] = {
        {rows,  BYTES_LITERAL("a"),    BYTES_LITERAL("1")        },
        { rows, BYTES_LITERAL("none"), BYTES_LITERAL("something")},
        { rows, BYTES_LITERAL("a"),    BYTES_NONE                },
    };
    size_t conflict;

    fixture_put(f, rows, "a", "1");
    fixture_commit(f);
    fixture_put(f, rows, "b", "2");
    CHECK_CODE(storage_commit(f->storage, f->batch, failing, 3, f->arena, &conflict), CONFLICT);
    CHECK_EQ(conflict, 1, "");
    CHECK_CODE(storage_commit(f->storage, f->batch, failing + 2, 1, f->arena, &conflict), CONFLICT);
    CHECK_EQ(conflict, 0, "");
    CHECK_ROW(f, NULL, rows, "b", NULL);
    CHECK_OK(storage_commit(f->storage, f->batch, holding, 2, f->arena, &conflict));
    CHECK_ROW(f, NULL, rows, "b", "2");
}

CONTRACT(dropping_a_deleted_range_takes_nothing_else)
{
    const struct row_address bodies = fixture_at(SPACE_BODIES);

    for (const char *c = "a\0b\0c\0d\0e\0"; *c; c += 2)
        fixture_put(f, bodies, c, "1");
    fixture_commit(f);
    fixture_delete_range(f, bodies, "a", "c");
    fixture_commit(f);
    CHECK_OK(storage_drop_range(f->storage, bodies, BYTES_LITERAL("a"), BYTES_LITERAL("c")));
    CHECK_SCAN(f, NULL, bodies, "", "", false, "c=1 d=1 e=1");
    CHECK_OK(storage_drop_range(f->storage, bodies, BYTES_LITERAL("c"), BYTES_LITERAL("a")));
    CHECK_SCAN(f, NULL, bodies, "", "", false, "c=1 d=1 e=1");
    fixture_delete_range(f, bodies, "", "");
    fixture_commit(f);
    CHECK_OK(storage_drop_range(f->storage, bodies, BYTES_NONE, BYTES_NONE));
    CHECK_SCAN(f, NULL, bodies, "", "", false, "");
}

CONTRACT(a_sweep_removes_only_garbage)
{
    const struct row_address rows = fixture_at(SPACE_ROWS);
    const struct row_address others = { 8, SPACE_ROWS };
    const struct row_address bodies = fixture_at(SPACE_BODIES);

    CHECK(storage_capabilities(f->storage) & STORAGE_HAS_SWEEPER);
    fixture_put(f, rows, "a", "dead");
    fixture_put(f, rows, "b", "live");
    fixture_put(f, rows, "c", "dead");
    fixture_put(f, rows, "d", "live");
    fixture_put(f, others, "b", "live");
    fixture_put(f, bodies, "a", "dead");
    fixture_commit(f);
    CHECK_OK(storage_sweep(f->storage, 7, BYTES_NONE, BYTES_NONE));
    CHECK_SCAN(f, NULL, rows, "", "", false, "a=dead b=live c=dead d=live");

    atomic_store(&f->garbage_byte, 'd');
    CHECK_OK(storage_sweep(f->storage, 7, BYTES_NONE, BYTES_NONE));
    CHECK(atomic_load(&f->sweeps_begun) > 0);
    CHECK(atomic_load(&f->rows_judged) >= 4);
    CHECK_SCAN(f, NULL, rows, "", "", false, "b=live d=live");
    CHECK_SCAN(f, NULL, others, "", "", false, "b=live");
    CHECK_SCAN(f, NULL, bodies, "", "", false, "a=dead");
    CHECK_EQ(atomic_load(&f->sweeps_begun), atomic_load(&f->sweeps_ended), "");
}

CONTRACT(a_swept_row_does_not_uncover_an_older_one)
{
    const struct row_address rows = fixture_at(SPACE_ROWS);

    fixture_put(f, rows, "a", "live");
    fixture_commit(f);
    CHECK_OK(storage_sweep(f->storage, 7, BYTES_NONE, BYTES_NONE));
    fixture_put(f, rows, "a", "dead");
    fixture_commit(f);
    atomic_store(&f->garbage_byte, 'd');
    CHECK_OK(storage_sweep(f->storage, 7, BYTES_NONE, BYTES_NONE));
    CHECK_ROW(f, NULL, rows, "a", NULL);
}

CONTRACT(one_commit_may_touch_several_partitions_and_spaces)
{
    CHECK(storage_capabilities(f->storage) & STORAGE_HAS_MULTI_PARTITION);
    for (partition_id p = 0; p < 20; p++)
        for (int space = 0; space < SPACE_COUNT; space++)
            fixture_put(f, (struct row_address){ p, (enum storage_space)space }, "k", "v");
    fixture_commit(f);
    for (partition_id p = 0; p < 20; p++)
        for (int space = 0; space < SPACE_COUNT; space++)
            CHECK_ROW(f, NULL, ((struct row_address){ p, (enum storage_space)space }), "k", "v");
}

/* Rows of about a kilobyte; where files matter, several of them. */
static void put_many(struct fixture *f)
{
    char key[16], value[1024];

    memset(value, 'v', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    for (int i = 0; i < 90; i++) {
        snprintf(key, sizeof(key), "k%02d", i);
        fixture_put(f, fixture_at(SPACE_BODIES), key, value);
        fixture_put(f, (struct row_address){ 8, SPACE_BODIES }, key, value);
        fixture_commit(f);
        if (i % 30 == 29 && f->kind == FIXTURE_ROCKSDB)
            fixture_reopen(f);
    }
}

/* Keys of different lengths that share their beginnings, as rows do. */
static void name_key(char out[24], uint64_t n)
{
    snprintf(out, 24, "%.*s%" PRIu64, (int)(n % 7), "shared-", n);
}

CONTRACT(steps_on_one_key_take_effect_in_their_order_in_a_commit_of_thousands)
{
    enum { KEYS = 300, STEPS = 4000 };
    static char want[KEYS][16];
    struct random random = random_seeded(5);
    char key[24], value[16];

    memset(want, 0, sizeof(want));
    for (int i = 0; i < STEPS; i++) {
        const uint64_t n = random_below(&random, KEYS);
        const bool is_put = random_below(&random, 4) > 0;
        name_key(key, n);
        snprintf(value, sizeof(value), "%d", i);
        if (is_put)
            fixture_put(f, fixture_at(SPACE_ROWS), key, value);
        else
            fixture_delete(f, fixture_at(SPACE_ROWS), key);
        snprintf(want[n], sizeof(want[n]), "%s", is_put ? value : "");
        if (i == STEPS / 2) {
            fixture_delete_range(f, fixture_at(SPACE_ROWS), "", "");
            memset(want, 0, sizeof(want));
        }
    }
    fixture_commit(f);
    for (uint64_t n = 0; n < KEYS; n++) {
        name_key(key, n);
        CHECK_ROW(f, NULL, fixture_at(SPACE_ROWS), key, want[n][0] ? want[n] : NULL);
    }
}

CONTRACT(a_range_is_parted_at_keys_within_it)
{
    const struct storage_range whole = { .is_bulk = true }, some = { .start = BYTES_LITERAL("k20"),
                                                                     .end = BYTES_LITERAL("k70") };
    struct storage_parting parting;

    put_many(f);
    for (size_t most = 0; most < 20; most++) {
        CHECK_OK(
            storage_part(f->storage, fixture_at(SPACE_BODIES), &some, most, f->arena, &parting));
        CHECK(parting.count <= most);
        CHECK(most == 0 || parting.count > 0);
        for (size_t i = 0; i < parting.count; i++) {
            CHECK(bytes_compare(parting.keys[i], some.start) > 0);
            CHECK(bytes_compare(parting.keys[i], some.end) < 0);
            CHECK(i == 0 || bytes_compare(parting.keys[i - 1], parting.keys[i]) < 0);
        }
    }
    CHECK_OK(storage_part(f->storage, fixture_at(SPACE_BODIES), &whole, 100, f->arena, &parting));
    CHECK(parting.count > 1);
    CHECK_OK(storage_part(f->storage, fixture_at(SPACE_META), &whole, 100, f->arena, &parting));
    CHECK_EQ(parting.count, 0, "nothing is there");
}

/* Keys in no order; every third is there, some were and are not. */
static void check_missing(struct fixture *f, struct row_address where)
{
    enum { KEYS = 300 };
    static char names[KEYS][32];
    bytes keys[KEYS];
    bool are_missing[KEYS];

    for (size_t i = 0; i < KEYS; i++) {
        snprintf(names[i], sizeof(names[i]), "k%03zu%s", i * 7 % KEYS, i % 2 ? "" : "longer");
        keys[i] = bytes_of(names[i], strlen(names[i]));
    }
    storage_find_missing(f->storage, where, keys, KEYS, f->arena, are_missing);
    for (size_t i = 0; i < KEYS; i++) {
        struct storage_value value;
        const status s = storage_get(f->storage, NULL, where, keys[i], &value);
        CHECK_THAT(!are_missing[i] || s.code == NOT_FOUND, "%s is there", names[i]);
        CHECK_THAT(are_missing[i] || s.code == OK || f->kind != FIXTURE_ROCKSDB, "%s is not there",
                   names[i]);
        storage_value_release(f->storage, &value);
    }
}

CONTRACT(what_is_told_to_be_missing_among_many_rows_is_not_there)
{
    const struct row_address rows = fixture_at(SPACE_ROWS);
    char key[32];

    storage_find_missing(f->storage, rows, NULL, 0, f->arena, NULL);
    check_missing(f, rows);
    for (int i = 0; i < 300; i++) {
        snprintf(key, sizeof(key), "k%03d%s", i, i % 4 < 2 ? "" : "longer");
        if (i % 3 == 0)
            fixture_put(f, rows, key, "v");
    }
    fixture_commit(f);
    check_missing(f, rows);
    fixture_delete_range(f, rows, "k1", "k12");
    fixture_delete(f, rows, "k003");
    fixture_commit(f);
    check_missing(f, rows);
    CHECK_OK(storage_settle(f->storage, rows.partition));
    check_missing(f, rows);
    check_missing(f, (struct row_address){ rows.partition + 1, SPACE_ROWS });
}

static void put_empty_value(void *data)
{
    struct fixture *f = data;

    fixture_put(f, fixture_at(SPACE_ROWS), "k", "");
}

static void put_empty_key(void *data)
{
    struct fixture *f = data;

    fixture_put(f, fixture_at(SPACE_ROWS), "", "v");
}

static void add_outside_meta(void *data)
{
    struct fixture *f = data;

    storage_add(f->storage, f->batch, fixture_at(SPACE_ROWS), BYTES_LITERAL("k"),
                (struct storage_counters){ 1, 1 });
}

TEST(storage, mistakes_of_callers_end_the_process)
{
    struct fixture f;

    fixture_open(&f, FIXTURE_MEMORY);
    CHECK(check_aborts(put_empty_value, &f));
    CHECK(check_aborts(put_empty_key, &f));
    CHECK(check_aborts(add_outside_meta, &f));
    fixture_close(&f);
}
