/* Random histories against the simplest storage there is: a sorted array. Every backend must give the
 * same answers, now and at each instant that a view has kept. */
#include <stdatomic.h>
#include <stdio.h>

#include "tests/unit/storage/fixture.h"

enum {
    PARTITIONS = 3,
    ROWS_MAX = 4000,
    KEY_MAX = 8,
    VALUE_MAX = 16,
    VIEWS = 4,
    STEPS_PER_COMMIT = 8,
};

struct model_row {
    uint8_t place; /* partition * SPACE_COUNT + space */
    uint8_t key_len;
    uint8_t value_len;
    uint8_t key[KEY_MAX];
    uint8_t value[VALUE_MAX];
};

struct model {
    size_t count;
    struct model_row rows[ROWS_MAX]; /* by place and key */
};

struct run {
    struct fixture f;
    struct random random;
    struct model now;
    struct storage_view *views[VIEWS];
    struct model instants[VIEWS];
};

/* ---- the model ------------------------------------------------------------------------------------ */

static bytes row_key(const struct model_row *row)
{
    return bytes_of(row->key, row->key_len);
}

static int row_order(const struct model_row *row, uint8_t place, bytes key)
{
    return row->place != place ? row->place - place : bytes_compare(row_key(row), key);
}

static size_t model_find(const struct model *model, uint8_t place, bytes key)
{
    size_t low = 0;
    size_t high = model->count;

    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (row_order(&model->rows[middle], place, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* First row of the place that is not below an end bound; an empty one is the end of the place. */
static size_t model_find_end(const struct model *model, uint8_t place, bytes end)
{
    return bytes_is_empty(end) ? model_find(model, (uint8_t)(place + 1), BYTES_NONE)
                               : model_find(model, place, end);
}

static bool model_has(const struct model *model, size_t at, uint8_t place, bytes key)
{
    return at < model->count && row_order(&model->rows[at], place, key) == 0;
}

static void model_remove(struct model *model, size_t from, size_t to)
{
    if (to <= from)
        return;
    memmove(&model->rows[from], &model->rows[to], (model->count - to) * sizeof(model->rows[0]));
    model->count -= to - from;
}

static void model_put(struct model *model, uint8_t place, bytes key, bytes value)
{
    const size_t at = model_find(model, place, key);
    struct model_row row = { place, (uint8_t)key.len, (uint8_t)value.len, { 0 }, { 0 } };

    memcpy(row.key, key.data, key.len);
    memcpy(row.value, value.data, value.len);
    if (!model_has(model, at, place, key)) {
        CHECK(model->count < ROWS_MAX);
        memmove(&model->rows[at + 1], &model->rows[at],
                (model->count - at) * sizeof(model->rows[0]));
        model->count++;
    }
    model->rows[at] = row;
}

static void model_add(struct model *model, uint8_t place, bytes key, struct storage_counters delta)
{
    const size_t at = model_find(model, place, key);
    uint8_t encoded[VALUE_MAX];

    if (model_has(model, at, place, key)) {
        struct storage_counters old;
        CHECK(storage_counters_decode(bytes_of(model->rows[at].value, VALUE_MAX), &old));
        delta.first += old.first;
        delta.second += old.second;
    }
    for (int i = 0; i < 8; i++) {
        encoded[i] = (uint8_t)((uint64_t)delta.first >> (56 - 8 * i));
        encoded[8 + i] = (uint8_t)((uint64_t)delta.second >> (56 - 8 * i));
    }
    model_put(model, place, key, bytes_of(encoded, sizeof(encoded)));
}

/* Rows of two zeros may or may not be there: neither side counts them. */
static bool is_void(uint8_t place, bytes value)
{
    static const uint8_t zeros[VALUE_MAX] = { 0 };

    return place % SPACE_COUNT == SPACE_META && value.len == VALUE_MAX &&
           memcmp(value.data, zeros, VALUE_MAX) == 0;
}

/* ---- random steps --------------------------------------------------------------------------------- */

static struct row_address address_of(uint8_t place)
{
    return (struct row_address){ .partition = 254 + place / SPACE_COUNT,
                                 .space = (enum storage_space)(place % SPACE_COUNT) };
}

/* Few letters, so that keys meet again; the ends of the byte range among them. */
static bytes random_key(struct run *run, uint8_t room[KEY_MAX], size_t len_min)
{
    static const uint8_t letters[] = { 0x01, 'a', 'b', 'c', 0xFE, 0xFF };
    const size_t len = len_min + random_below(&run->random, 4);

    for (size_t i = 0; i < len; i++)
        room[i] = letters[random_below(&run->random, sizeof(letters))];
    return bytes_of(room, len);
}

static void random_range(struct run *run, struct storage_range *range, uint8_t room[2][KEY_MAX])
{
    range->start = random_key(run, room[0], 0);
    range->end = random_key(run, room[1], 0);
    range->is_reverse = random_chance(&run->random, 50);
}

static void step_delete_range(struct run *run, uint8_t place)
{
    struct storage_range range = { 0 };
    uint8_t room[2][KEY_MAX];

    random_range(run, &range, room);
    range.is_bulk = random_chance(&run->random, 50);
    storage_delete_range(run->f.storage, run->f.batch, address_of(place), range.start, range.end);
    model_remove(&run->now, model_find(&run->now, place, range.start),
                 model_find_end(&run->now, place, range.end));
}

static void step_write(struct run *run)
{
    const uint8_t place = (uint8_t)random_below(&run->random, PARTITIONS * SPACE_COUNT);
    const struct row_address where = address_of(place);
    const uint64_t dice = random_below(&run->random, 100);
    uint8_t room[KEY_MAX];
    const bytes key = random_key(run, room, 1);

    if (dice < 4) {
        step_delete_range(run, place);
    } else if (dice < 30) {
        const size_t at = model_find(&run->now, place, key);
        storage_delete(run->f.storage, run->f.batch, where, key);
        model_remove(&run->now, at, at + model_has(&run->now, at, place, key));
    } else if (where.space == SPACE_META) {
        const struct storage_counters delta = { (int64_t)random_below(&run->random, 5) - 2,
                                                (int64_t)random_below(&run->random, 3) - 1 };
        storage_add(run->f.storage, run->f.batch, where, key, delta);
        model_add(&run->now, place, key, delta);
    } else {
        char value[VALUE_MAX];
        const int len = snprintf(value, sizeof(value), "%llu",
                                 (unsigned long long)random_below(&run->random, 1000000));
        if (where.space == SPACE_BODIES)
            storage_delete(run->f.storage, run->f.batch, where, key);
        storage_put(run->f.storage, run->f.batch, where, key, bytes_of(value, (size_t)len));
        model_put(&run->now, place, key, bytes_of(value, (size_t)len));
    }
}

static void step_commit(struct run *run)
{
    const uint64_t count = random_below(&run->random, STEPS_PER_COMMIT);

    for (uint64_t i = 0; i < count; i++)
        step_write(run);
    fixture_commit(&run->f);
}

/* ---- comparing ------------------------------------------------------------------------------------ */

static void check_get(struct run *run, struct storage_view *view, const struct model *model)
{
    const uint8_t place = (uint8_t)random_below(&run->random, PARTITIONS * SPACE_COUNT);
    uint8_t room[KEY_MAX];
    const bytes key = random_key(run, room, 1);
    const size_t at = model_find(model, place, key);
    struct storage_value found;
    const status s = storage_get(run->f.storage, view, address_of(place), key, &found);

    CHECK_THAT(s.code == OK || s.code == NOT_FOUND, "%s", s.message);
    bool is_there = s.code == OK && !is_void(place, found.value);
    bool is_wanted = model_has(model, at, place, key) &&
                     !is_void(place, bytes_of(model->rows[at].value, model->rows[at].value_len));
    CHECK_EQ(is_there, is_wanted, "a row");
    if (is_wanted)
        CHECK_BYTES(found.value, bytes_of(model->rows[at].value, model->rows[at].value_len), "");
    storage_value_release(run->f.storage, &found);
}

static bool next_counting(struct storage_scan *scan, uint8_t place, bytes *key, bytes *value)
{
    while (storage_scan_next(scan, key, value))
        if (!is_void(place, *value))
            return true;
    return false;
}

static void check_scan(struct run *run, struct storage_view *view, const struct model *model)
{
    const uint8_t place = (uint8_t)random_below(&run->random, PARTITIONS * SPACE_COUNT);
    struct storage_range range = { 0 };
    uint8_t room[2][KEY_MAX];
    struct storage_scan *scan;
    bytes key, value;

    random_range(run, &range, room);
    range.is_bulk = random_chance(&run->random, 50);
    size_t low = model_find(model, place, range.start);
    size_t high = model_find_end(model, place, range.end);
    CHECK_OK(storage_scan_open(run->f.storage, view, address_of(place), &range, &scan));
    if (random_chance(&run->random, 30)) {
        uint8_t target_room[KEY_MAX];
        const bytes target = random_key(run, target_room, 1);
        const size_t at = model_find(model, place, target);
        storage_scan_seek(scan, target);
        if (range.is_reverse && at + model_has(model, at, place, target) < high)
            high = at + model_has(model, at, place, target);
        if (!range.is_reverse && at > low)
            low = at;
    }
    while (low < high) {
        const struct model_row *row = &model->rows[range.is_reverse ? --high : low++];
        if (is_void(place, bytes_of(row->value, row->value_len)))
            continue;
        CHECK(next_counting(scan, place, &key, &value));
        CHECK_BYTES(key, row_key(row), "");
        CHECK_BYTES(value, bytes_of(row->value, row->value_len), "");
    }
    CHECK(!next_counting(scan, place, &key, &value));
    CHECK_OK(storage_scan_status(scan));
    storage_scan_close(scan);
}

static void check_somewhere(struct run *run)
{
    const size_t i = random_below(&run->random, VIEWS + 2);
    const bool is_newest = i >= VIEWS || run->views[i] == NULL;
    struct storage_view *view = is_newest ? NULL : run->views[i];
    const struct model *model = is_newest ? &run->now : &run->instants[i];

    check_get(run, view, model);
    check_scan(run, view, model);
}

static void step_view(struct run *run)
{
    const size_t i = random_below(&run->random, VIEWS);

    storage_view_close(run->f.storage, run->views[i]);
    run->views[i] = NULL;
    if (random_chance(&run->random, 70)) {
        CHECK_OK(storage_view_open(run->f.storage, &run->views[i]));
        run->instants[i] = run->now;
    }
}

static void close_views(struct run *run)
{
    for (size_t i = 0; i < VIEWS; i++) {
        storage_view_close(run->f.storage, run->views[i]);
        run->views[i] = NULL;
    }
}

/* ---- runs ----------------------------------------------------------------------------------------- */

static void run_history(enum fixture_kind kind, uint64_t seed, size_t steps)
{
    struct run *run = memory_take_zeroed(1, sizeof(*run));

    CHECK(run != NULL);
    fixture_open(&run->f, kind);
    run->random = random_seeded(seed);
    for (size_t i = 0; i < steps; i++) {
        const uint64_t dice = random_below(&run->random, 1000);
        if (dice < 400) {
            step_commit(run);
        } else if (dice < 450) {
            step_view(run);
        } else if (dice < 453) {
            const partition_id partition = 254 + random_below(&run->random, PARTITIONS);
            CHECK_OK(storage_sweep(run->f.storage, partition, BYTES_NONE, BYTES_NONE));
        } else if (dice < 456 && kind == FIXTURE_ROCKSDB) {
            close_views(run);
            fixture_reopen(&run->f);
        } else {
            check_somewhere(run);
        }
    }
    close_views(run);
    fixture_close(&run->f);
    memory_give(run);
}

TEST(storage, memory_agrees_with_a_sorted_array)
{
    EACH_SEED(seed, 5)
        run_history(FIXTURE_MEMORY, seed, 5000);
}

TEST(storage, rocksdb_agrees_with_a_sorted_array)
{
    EACH_SEED(seed, 2)
        run_history(FIXTURE_ROCKSDB, seed, 3000);
}
