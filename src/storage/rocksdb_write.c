/* RocksDB writes: batches, and the one synced write that a commit is.
 *
 * A batch keeps its steps until the commit, which hands them over to RocksDB in the order of keys. It is written with a sync, by one caller at a time.
 *
 * A write that fails: nobody was shown it (RocksDB shows it last, see also rocksdb_sync.c), but it may have reached the log and come
 * back at the next start, so the answer is UNKNOWN_RESULT. From then on nothing more is written, even
 * if RocksDB would: commits are refused (IO_ERROR: surely not written) until the server was reopened.
 *
 * Threads: a batch belongs to one thread at a time; commits take turns (the commit queue's). */
#include "storage/rocksdb_ahead.h"
#include "storage/rocksdb_graves.h"
#include "storage/rocksdb_raw.h"
#include "storage/rocksdb_steps.h"
#include "storage/rocksdb_sync.h"

struct storage_batch {
    struct steps steps;
    rocksdb_writebatch_t *writes; /* the commit's; empty before and after */
    /* What it deletes, in spaces whose files are read without RocksDB. */
    struct buried {
        struct grave *items;
        size_t count, room;
    } buried[SPACE_COUNT];
    size_t rows[SPACE_COUNT]; /* that it writes, or deletes by their keys */
    bool deletes_range;
};

struct storage_batch *rocks_batch_open(struct storage *storage)
{
    struct storage_batch *batch = memory_take_zeroed(1, sizeof(*batch));

    (void)storage;
    ASSERT(batch != NULL);
    batch->writes = rocksdb_writebatch_create();
    return batch;
}

static void forget_buried(struct buried *buried)
{
    for (size_t i = 0; i < buried->count; i++) {
        if (!buried->items[i].hash)
            memory_give((void *)(uintptr_t)buried->items[i].start.data);
    }
    buried->count = 0;
}

static void forget_rows(struct storage_batch *batch)
{
    for (int i = 0; i < SPACE_COUNT; i++) {
        forget_buried(&batch->buried[i]);
        batch->rows[i] = 0;
    }
    batch->deletes_range = false;
}

void rocks_batch_close(struct storage *storage, struct storage_batch *batch)
{
    (void)storage;
    forget_rows(batch);
    for (int i = 0; i < SPACE_COUNT; i++)
        memory_give(batch->buried[i].items);
    steps_release(&batch->steps);
    rocksdb_writebatch_destroy(batch->writes);
    memory_give(batch);
}

void rocks_batch_clear(struct storage *storage, struct storage_batch *batch)
{
    (void)storage;
    forget_rows(batch);
    steps_clear(&batch->steps);
}

size_t rocks_batch_bytes(const struct storage *storage, const struct storage_batch *batch)
{
    (void)storage;
    return steps_bytes(&batch->steps);
}

void rocks_put(struct storage *storage, struct storage_batch *batch, struct row_address where,
               bytes key, bytes value)
{
    struct full_key full;

    (void)storage;
    full_key_make(&full, where.partition, key);
    batch->rows[where.space]++;
    steps_add(&batch->steps, STEP_PUT, where.space, full_key_bytes(&full), value);
    full_key_release(&full);
}

static void bury(struct buried *buried, struct grave grave)
{
    if (buried->count == buried->room) {
        const size_t room = buried->room ? buried->room * 2 : 16;
        struct grave *more = memory_resize(buried->items, room * sizeof(*more));
        ASSERT(more != NULL);
        buried->items = more;
        buried->room = room;
    }
    buried->items[buried->count++] = grave;
}

/* Both ends lie in one piece of memory. */
static void bury_range(struct buried *buried, bytes start, bytes end)
{
    uint8_t *copy = memory_take(start.len + end.len);

    ASSERT(copy != NULL);
    memcpy(copy, start.data, start.len);
    memcpy(copy + start.len, end.data, end.len);
    bury(buried, (struct grave){ .start = bytes_of(copy, start.len),
                                 .end = bytes_of(copy + start.len, end.len) });
}

void rocks_delete(struct storage *storage, struct storage_batch *batch, struct row_address where,
                  bytes key)
{
    struct full_key full;

    (void)storage;
    full_key_make(&full, where.partition, key);
    batch->rows[where.space]++;
    if (where.space != SPACE_META)
        bury(&batch->buried[where.space],
             (struct grave){ .hash = grave_hash(full_key_bytes(&full)) });
    steps_add(&batch->steps, STEP_DELETE, where.space, full_key_bytes(&full), BYTES_NONE);
    full_key_release(&full);
}

void rocks_delete_range(struct storage *storage, struct storage_batch *batch,
                        struct row_address where, bytes start, bytes end)
{
    struct full_key full_start;
    struct full_key full_end;

    (void)storage;
    full_key_make(&full_start, where.partition, start);
    full_key_make_end(&full_end, where.partition, end);
    batch->deletes_range = true;
    if (where.space != SPACE_META)
        bury_range(&batch->buried[where.space], full_key_bytes(&full_start),
                   full_key_bytes(&full_end));
    steps_add(&batch->steps, STEP_DELETE_RANGE, where.space, full_key_bytes(&full_start),
              full_key_bytes(&full_end));
    full_key_release(&full_start);
    full_key_release(&full_end);
}

void rocks_add(struct storage *storage, struct storage_batch *batch, struct row_address where,
               bytes key, bytes delta)
{
    struct full_key full;

    (void)storage;
    full_key_make(&full, where.partition, key);
    steps_add(&batch->steps, STEP_ADD, where.space, full_key_bytes(&full), delta);
    full_key_release(&full);
}

/* Before anybody can see the commit: see rocksdb_graves.h. */
static void note_rows(struct rocksdb_storage *rocks, const struct storage_batch *batch)
{
    for (int space = SPACE_ROWS; space < SPACE_COUNT; space++) {
        const struct buried *buried = &batch->buried[space];
        if (batch->rows[space] || buried->count)
            raw_shelf_write_begin(&rocks->shelves[space]);
        raw_turn(&rocks->shelves[space], batch->rows[space]);
        for (size_t i = 0; i < buried->count; i++)
            graves_add(rocks->shelves[space].graves, &buried->items[i]);
    }
}

/* When it is done, and in memory; one that failed is never done. */
static void note_done(struct rocksdb_storage *rocks, const struct storage_batch *batch)
{
    for (int space = SPACE_ROWS; space < SPACE_COUNT; space++) {
        if (batch->rows[space] || batch->buried[space].count)
            raw_shelf_write_end(&rocks->shelves[space]);
        raw_shelf_tend(&rocks->shelves[space]);
    }
    if (batch->deletes_range)
        atomic_fetch_add(&rocks->ranges_deleted, 1);
}

status rocksdb_refuse_if_failed(struct rocksdb_storage *rocks)
{
    return atomic_load(&rocks->is_failed)
               ? status_of(IO_ERROR,
                           "an earlier write failed; see to the disk and restart the server")
               : STATUS_OK;
}

status rocksdb_refuse_unless_writable(struct rocksdb_storage *rocks)
{
    return rocks->is_read_only ? status_of(IO_ERROR, "the database was opened for reading only")
                               : rocksdb_refuse_if_failed(rocks);
}

status rocks_commit(struct storage *storage, struct storage_batch *batch, struct arena *arena)
{
    struct rocksdb_storage *rocks = rocksdb_of(storage);
    char *error = NULL;

    TRY(rocksdb_refuse_unless_writable(rocks));
    note_rows(rocks, batch);
    ahead_prepare(rocks, rocks_batch_bytes(storage, batch));
    steps_hand_over(&batch->steps, rocks, batch->writes);
    sync_commit_begin(rocks, rocks_batch_bytes(storage, batch));
    rocksdb_write(rocks->db, rocks->write_synced, batch->writes, &error);
    const int sync_error = sync_commit_end(rocks);
    ahead_committed(rocks);
    rocksdb_writebatch_clear(batch->writes);
    if (error == NULL && sync_error == 0) {
        note_done(rocks, batch);
        return STATUS_OK;
    }
    atomic_store(&rocks->is_failed, true);
    const status s = status_fail(arena, UNKNOWN_RESULT,
                                 "writing to %s failed: %s; free space or mend the disk, then "
                                 "restart the server",
                                 rocks->path, error != NULL ? error : strerror(sync_error));
    rocksdb_free(error);
    return s;
}
