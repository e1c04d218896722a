/* Several rows that are got at once are what they are one by one. */
#include <stdio.h>

#include "storage/rocksdb_raw.h"
#include "tests/unit/storage/fixture.h"

enum { KEYS = 600, STEPS = 120, GROUPS = 12, GROUP_MAX = 2 * RAW_GETS_MAX + 3 };

/* ---- asking ------------------------------------------------------------------------------------------- */

struct group {
    char names[GROUP_MAX][16];
    bytes keys[GROUP_MAX];
    size_t count;
};

static void group_add(struct group *group, uint64_t n)
{
    char *name = group->names[group->count];

    snprintf(name, sizeof(group->names[0]), "k%05u", (unsigned)n);
    group->keys[group->count++] = bytes_of_text(name);
}

/* Neighbours upwards or downwards, or some from anywhere; now and then one twice. */
static void group_draw(struct group *group, struct random *random)
{
    const size_t most = 1 + random_below(random, GROUP_MAX);
    const uint64_t first = random_below(random, KEYS), way = random_below(random, 3);

    group->count = 0;
    for (uint64_t i = 0; group->count < most; i++) {
        const uint64_t n = way == 0   ? first + i
                           : way == 1 ? first + KEYS - i
                                      : random_below(random, KEYS);
        group_add(group, n % KEYS);
        if (random_chance(random, 5) && group->count < most)
            group_add(group, n % KEYS);
    }
}

/* Each of them as storage_get() gives it; returns how many there are. */
static size_t compare_group(struct fixture *f, struct storage_view *view, struct row_address where,
                            const struct group *group)
{
    struct storage_value some[GROUP_MAX], one;
    size_t found = 0;

    storage_get_some(f->storage, view, where, group->keys, group->count, some);
    for (size_t i = 0; i < group->count; i++) {
        const status s = storage_get(f->storage, view, where, group->keys[i], &one);
        CHECK_EQ(some[i].pin != NULL, s.code == OK, "%s", group->names[i]);
        if (s.code == OK)
            CHECK_BYTES(some[i].value, one.value, "");
        found += s.code == OK;
        storage_value_release(f->storage, &one);
    }
    /* Not in the order in which they came. */
    for (size_t i = 0; i < group->count; i++)
        storage_value_release(f->storage, &some[(i * 7 + 3) % group->count]);
    for (size_t i = 0; i < group->count; i++)
        storage_value_release(f->storage, &some[i]);
    return found;
}

static size_t compare_groups(struct fixture *f, struct storage_view *view, struct random *random)
{
    const struct row_address bodies = fixture_at(SPACE_BODIES), rows = fixture_at(SPACE_ROWS);
    struct group group;
    size_t found = 0;

    for (int i = 0; i < GROUPS; i++) {
        group_draw(&group, random);
        found += compare_group(f, view, bodies, &group);
        compare_group(f, view, rows, &group);
    }
    return found;
}

/* ---- writing ------------------------------------------------------------------------------------------ */

/* A value of up to some hundred bytes that a block has some of, packed or not. */
static void put_value(struct fixture *f, enum storage_space space, uint64_t n,
                      struct random *random)
{
    static const char *const words[] = { "temperature ", "pressure ", "0123456789abcdef" };
    char key[16], value[600];
    size_t len = (size_t)snprintf(value, sizeof(value), "%llu ",
                                  (unsigned long long)random_next(random));

    for (uint64_t i = random_below(random, 40); i > 0 && len + 20 < sizeof(value); i--)
        len += (size_t)snprintf(value + len, sizeof(value) - len, "%s",
                                words[random_below(random, ARRAY_COUNT(words))]);
    snprintf(key, sizeof(key), "k%05u", (unsigned)n);
    fixture_put(f, fixture_at(space), key, value);
}

static void write_some(struct fixture *f, enum storage_space space, struct random *random)
{
    const uint64_t first = random_below(random, KEYS);
    char key[16], end[16];

    for (uint64_t i = 0; i < 60; i++) {
        const uint64_t n = random_chance(random, 20) ? random_below(random, KEYS)
                                                     : (first + i) % KEYS;
        snprintf(key, sizeof(key), "k%05u", (unsigned)n);
        if (random_chance(random, 85))
            put_value(f, space, n, random);
        else
            fixture_delete(f, fixture_at(space), key);
    }
    if (random_chance(random, 6)) {
        snprintf(key, sizeof(key), "k%05u", (unsigned)first);
        snprintf(end, sizeof(end), "k%05u", (unsigned)(first + 20));
        fixture_delete_range(f, fixture_at(space), key, end);
    }
    fixture_commit(f);
}

static void step(struct fixture *f, struct random *random)
{
    const uint64_t dice = random_below(random, 100);

    if (dice < 15 && f->kind == FIXTURE_ROCKSDB)
        fixture_flush(f, SPACE_BODIES);
    else if (dice < 20 && f->kind == FIXTURE_ROCKSDB)
        fixture_compact(f, SPACE_BODIES);
    else
        write_some(f, dice < 80 ? SPACE_BODIES : SPACE_ROWS, random);
}

static void walk_at_random(struct fixture *f, uint64_t seed)
{
    struct random random = random_seeded(seed);
    struct storage_view *view, *old = NULL;
    size_t found = 0;

    for (int i = 0; i < STEPS; i++) {
        step(f, &random);
        CHECK_OK(storage_view_open(f->storage, &view));
        found += compare_groups(f, view, &random);
        compare_groups(f, NULL, &random);
        if (old)
            compare_groups(f, old, &random);
        storage_view_close(f->storage, i % 10 == 3 ? old : view);
        if (i % 10 == 3)
            old = view;
    }
    storage_view_close(f->storage, old);
    CHECK(found > 1000);
}

CONTRACT(rows_that_are_got_at_once_are_those_that_are_got_one_by_one)
{
    walk_at_random(f, 1);
}

TEST(storage, rocksdb_rows_that_are_got_at_once_are_those_that_are_got_one_by_one_on_many_walks)
{
    EACH_SEED(seed, 3) {
        struct fixture f;

        fixture_open(&f, FIXTURE_ROCKSDB);
        walk_at_random(&f, seed);
        fixture_close(&f);
    }
}

/* ---- files -------------------------------------------------------------------------------------------- */

/* Enough gets for the files to be listed. */
static void ask_for_files(struct fixture *f, struct storage_view *view)
{
    enum { ENOUGH = 100 };
    struct storage_value value;

    for (int i = 0; i < ENOUGH; i++) {
        CHECK_OK(storage_get(f->storage, view, fixture_at(SPACE_BODIES), BYTES_LITERAL("k00000"),
                             &value));
        storage_value_release(f->storage, &value);
    }
}

/* How many of the group are found in files. */
static size_t find_in_files(struct fixture *f, struct storage_view *view, const struct group *group)
{
    struct storage_value some[RAW_GETS_MAX] = { 0 };
    struct full_key full[RAW_GETS_MAX];
    bytes keys[RAW_GETS_MAX];
    size_t found = 0;

    CHECK(group->count <= RAW_GETS_MAX);
    for (size_t i = 0; i < group->count; i++) {
        full_key_make(&full[i], fixture_at(SPACE_BODIES).partition, group->keys[i]);
        keys[i] = full_key_bytes(&full[i]);
    }
    raw_get_some(rocksdb_of(f->storage), (struct raw_view *)view, keys, group->count, some);
    for (size_t i = 0; i < group->count; i++) {
        found += some[i].pin != NULL;
        storage_value_release(f->storage, &some[i]);
        full_key_release(&full[i]);
    }
    return found;
}

TEST(storage, rocksdb_rows_beside_each_other_are_all_found_in_the_file_that_has_them)
{
    struct random random = random_seeded(5);
    struct group group;
    struct storage_view *view;
    struct fixture f;

    fixture_open(&f, FIXTURE_ROCKSDB);
    for (uint64_t n = 0; n < KEYS; n++)
        put_value(&f, SPACE_BODIES, n, &random);
    fixture_commit(&f);
    fixture_flush(&f, SPACE_BODIES);
    CHECK_OK(storage_view_open(f.storage, &view));
    ask_for_files(&f, view);
    for (uint64_t first = 0; first + RAW_GETS_MAX < KEYS; first += 7) {
        group.count = 0;
        for (uint64_t i = 0; i < RAW_GETS_MAX; i++)
            group_add(&group, first % 2 ? first + i : first + RAW_GETS_MAX - i);
        CHECK_EQ(find_in_files(&f, view, &group), RAW_GETS_MAX, "from %u on", (unsigned)first);
        CHECK_EQ(compare_group(&f, view, fixture_at(SPACE_BODIES), &group), RAW_GETS_MAX, "");
    }
    storage_view_close(f.storage, view);
    fixture_close(&f);
}
