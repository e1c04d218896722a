/* The checker is believed by every other test, so it is tested for blindness: whatever single row is
 * taken away or damaged, it must notice. And requests, whose number is bounded. */
#include "engine/row.h"
#include "tests/support/world.h"

#include <stdio.h>

enum { ROWS_MAX = 400, ROW_BYTES_MAX = 512 };

struct kept_row {
    struct row_address where;
    bytes key, value;
};

struct rows {
    struct kept_row items[ROWS_MAX];
    size_t count;
};

static void take_rows(struct world *w, struct storage *storage, struct row_address where,
                      struct rows *rows)
{
    struct storage_scan *scan;
    struct storage_range range = { .start = BYTES_LITERAL("\x01") };
    bytes key, value;
    CHECK_OK(storage_scan_open(storage, NULL, where, &range, &scan));
    while (storage_scan_next(scan, &key, &value)) {
        struct kept_row *row = &rows->items[rows->count++];
        CHECK(rows->count < ROWS_MAX);
        row->where = where;
        CHECK_OK(arena_copy(w->arena, key, &row->key));
        CHECK_OK(arena_copy(w->arena, value, &row->value));
    }
    CHECK_OK(storage_scan_status(scan));
    storage_scan_close(scan);
}

/* A collection with documents in every lane, living and dead, some of them cut off, and its rows; the
 * engine is stopped. */
static void open_and_stop(struct world *w, struct rows *rows)
{
    rows->count = 0;
    world_open(w, ON_MEMORY);
    world_collection(w, "c", 10,
                     "x: x; u: u unique sparse; at: at ttl=10; all: paths +/x/?; "
                     "late: x lazy");
    for (int i = 0; i < 11; i++) {
        const char *kinds[] = { "{'_id':%d,'x':1}", "{'_id':%d,'u':1,'ttl':30}",
                                "{'_id':%d,'x':[1,2],'ttl':-1}", "{'_id':%d,'ttl':-1,'at':@0}" };
        CHECK_WRITTEN(i % 4 == 1 ? world_insert(w, "c", "{'_id':%d,'u':%d,'ttl':30}", i, i)
                                 : world_insert(w, "c", kinds[i % 4], i),
                      OK);
        if (i == 3) {
            world_at(w, 10000);
            world_purge(w);
        }
        if (i == 8)
            CHECK_OK(engine_build_indexes(w->engine));
    }
    struct request request = world_begin(w);
    const partition_id partition = row_partition(world_find(&request, "c")->id);
    world_end(&request);
    world_stop(w);
    struct storage *storage = kept_storage_attach(w->kept);
    for (int space = 0; space < SPACE_COUNT; space++)
        take_rows(w, storage, (struct row_address){ partition, (enum storage_space)space }, rows);
    storage_close(storage);
}

static void write_row(struct world *w, const struct kept_row *row, bytes value)
{
    struct storage *storage = kept_storage_attach(w->kept);
    struct storage_batch *batch = storage_batch_open(storage);
    storage_delete(storage, batch, row->where, row->key);
    if (value.len > 0)
        storage_put(storage, batch, row->where, row->key, value);
    CHECK_OK(storage_commit(storage, batch, NULL, 0, w->arena, NULL));
    storage_batch_close(storage, batch);
    storage_close(storage);
}

static void count(void *context, const char *violation)
{
    CHECK(violation != NULL && violation[0] != '\0');
    ++*(size_t *)context;
}

/* Violations that the checker finds, or 1 if the engine does not even start. */
static size_t violations_of(struct world *w)
{
    struct check_summary summary;
    size_t found = 0;
    const status s = world_start(w);
    if (s.code != OK) {
        CHECK_CODE(s, CORRUPT);
        return 1;
    }
    const status checked = engine_check(w->engine, count, &found, &summary);
    CHECK_THAT(checked.code == OK || checked.code == CORRUPT, "%s", checked.message);
    found += checked.code != OK;
    world_kill(w); /* nothing it does on the way out shall mend anything */
    return found;
}

static const char *describe(const struct kept_row *row, char out[256])
{
    size_t used = (size_t)snprintf(out, 256, "space %d:", row->where.space);
    for (size_t i = 0; i < row->key.len && i < 24; i++)
        used += (size_t)snprintf(out + used, 256 - used, " %02x", row->key.data[i]);
    return out;
}

/* A mark of a cut and a cursor may be missing (they only save looking), and so may locators and index rows of the
 * dead: those written in second 0, and those with a date. */
static bool is_needed(const struct kept_row *row)
{
    struct stamp stamp;
    uint64_t birth;
    size_t values_len;
    if (row->where.space == SPACE_META)
        return row->key.data[0] != ROW_TAG_CUT && row->key.data[0] != ROW_TAG_BUILD;
    if (row->where.space == SPACE_BODIES)
        return true;
    if (row->key.data[0] == ROW_TAG_BACKLOG) /* all are of the living */
        return true;
    const bool is_read = row->key.data[0] == ROW_TAG_LOCATOR
                             ? row_read_locator(row->value, &stamp, &birth)
                             : row_read_index(row->value, &stamp, &values_len);
    CHECK(is_read);
    return stamp.written_at_s > WORLD_START_S && stamp.dates.len == 0;
}

TEST(check, it_notices_every_single_row_that_is_missing)
{
    struct world w;
    struct rows *rows = memory_take_zeroed(1, sizeof(*rows));
    char shown[256];
    size_t tried = 0;
    open_and_stop(&w, rows);
    CHECK_EQ(violations_of(&w), 0, "before anything is taken away");
    for (size_t i = 0; i < rows->count; i++) {
        if (!is_needed(&rows->items[i]))
            continue;
        write_row(&w, &rows->items[i], BYTES_NONE);
        CHECK_THAT(violations_of(&w) > 0, "not missed: %s", describe(&rows->items[i], shown));
        write_row(&w, &rows->items[i], rows->items[i].value);
        tried++;
    }
    CHECK_EQ(violations_of(&w), 0, "after everything was put back");
    CHECK_THAT(tried > 40, "only %zu rows", tried);
    world_forget(&w);
    memory_give(rows);
}

TEST(check, it_notices_every_single_row_that_is_cut_short)
{
    struct world w;
    struct rows *rows = memory_take_zeroed(1, sizeof(*rows));
    char shown[256];
    open_and_stop(&w, rows);
    for (size_t i = 0; i < rows->count; i++) {
        const struct kept_row *row = &rows->items[i];
        if (!is_needed(row) || row->value.len < 2)
            continue;
        write_row(&w, row, bytes_of(row->value.data, row->value.len - 1));
        CHECK_THAT(violations_of(&w) > 0, "not noticed: %s", describe(row, shown));
        write_row(&w, row, row->value);
    }
    CHECK_EQ(violations_of(&w), 0, "after everything was put back");
    world_forget(&w);
    memory_give(rows);
}

TEST(check, it_notices_a_row_that_belongs_to_nobody)
{
    struct world w;
    struct rows *rows = memory_take_zeroed(1, sizeof(*rows));
    char shown[256];
    open_and_stop(&w, rows);
    for (size_t i = 0; i < rows->count; i++) {
        struct kept_row stray = rows->items[i];
        uint8_t key[ROW_BYTES_MAX];
        if (!is_needed(&stray) || stray.where.space == SPACE_META ||
            stray.key.data[0] == ROW_TAG_BACKLOG)
            continue;
        CHECK(stray.key.len < sizeof(key));
        memcpy(key, stray.key.data, stray.key.len);
        key[stray.key.len - 1] ^= 0x02; /* another id, or another sequence number */
        stray.key = bytes_of(key, stray.key.len);
        bool is_other = true;
        for (size_t k = 0; k < rows->count; k++)
            is_other &= !(rows->items[k].where.space == stray.where.space &&
                          bytes_equal(rows->items[k].key, stray.key));
        if (!is_other)
            continue;
        write_row(&w, &stray, stray.value);
        CHECK_THAT(violations_of(&w) > 0, "not noticed: %s", describe(&stray, shown));
        write_row(&w, &stray, BYTES_NONE);
    }
    CHECK_EQ(violations_of(&w), 0, "after all were taken away");
    world_forget(&w);
    memory_give(rows);
}

TEST(check, it_notices_a_backlog_row_that_nobody_will_work_off)
{
    static const struct {
        const char *why;
        uint32_t index_id;
        uint64_t seq;
    } rows[] = {
        {"of no index",              99, 1     },
        { "of an index that is not", 1,  1     },
        { "before the cursor",       5,  1     },
        { "of a write to come",      5,  999999},
    };
    struct world w;
    struct rows *taken = memory_take_zeroed(1, sizeof(*taken));
    open_and_stop(&w, taken);
    EACH_ROW(rows, r) {
        struct buffer key = buffer_in(w.arena);
        struct kept_row stray = { .where = taken->items[taken->count - 1].where };
        stray.where.space = SPACE_ROWS;
        row_key_backlog_of(&key, r->index_id, BYTES_LITERAL("\x80k"));
        row_set_backlog_seq(key.data, r->seq);
        stray.key = bytes_of(key.data, key.len);
        write_row(&w, &stray, BYTES_LITERAL("q"));
        CHECK_THAT(violations_of(&w) > 0, "not noticed: %s", r->why);
        write_row(&w, &stray, BYTES_NONE);
    }
    CHECK_EQ(violations_of(&w), 0, "after all were taken away");
    world_forget(&w);
    memory_give(taken);
}

TEST(check, its_summary_counts_what_is_there)
{
    EACH_BACKING(backing)
    {
        struct world w;
        struct check_summary summary;
        size_t found = 0;
        world_open(&w, backing);
        world_collection(&w, "c", 10, "x: x; y: y sparse");
        for (int i = 0; i < 5; i++)
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'x':1,'ttl':%d}", i, i < 2 ? 5 : 50),
                          OK);
        world_at(&w, 5000);
        CHECK_OK(engine_check(w.engine, count, &found, &summary));
        CHECK_EQ(found, 0, "");
        CHECK_EQ(summary.collections, 1, "");
        CHECK_EQ(summary.documents, 3, "");
        CHECK_EQ(summary.dead_documents, 2, "");
        CHECK_EQ(summary.index_rows, 5, "");
        world_close(&w);
    }
}

/* ---- requests --------------------------------------------------------------------------------------------- */

TEST(request, one_more_than_the_limit_is_refused_at_once)
{
    struct world w;
    struct request *requests = memory_take_zeroed(LIMIT_RUNNING_REQUESTS, sizeof(*requests));
    struct request one_more;
    world_open(&w, ON_MEMORY);
    for (size_t i = 0; i < LIMIT_RUNNING_REQUESTS; i++)
        CHECK_OK(request_begin(w.engine, w.arena, &requests[i]));
    CHECK_CODE(request_begin(w.engine, w.arena, &one_more), BUSY);
    request_end(&requests[1234]);
    CHECK_OK(request_begin(w.engine, w.arena, &requests[1234]));
    for (size_t i = 0; i < LIMIT_RUNNING_REQUESTS; i++)
        request_end(&requests[i]);
    memory_give(requests);
    world_close(&w);
}
