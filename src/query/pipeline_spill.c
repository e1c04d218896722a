/* Pipeline spill: sorted rows that do not fit into the memory of their stage.
 *
 * What the stage holds is written to disk as one run, in its order, whenever the memory is full; at the end all runs
 * are read side by side, the one with the first row at the top of a heap. A record is the lengths of the key and of
 * the origin, the number of the row, and the three stretches of bytes.
 *
 * Keeps: rows of a run are in order, and the number decides between equal keys, so what comes out is what sorting in
 * memory gives. Threads: a run of the pipeline belongs to its request. Start reading at spill_rows(). */
#include "base/spool.h"
#include "query/pipeline_parts.h"

enum { RUNS_MAX = 1024 };

struct head {
    struct spool_reader *reader;
    struct held_row row;
};

struct spill {
    struct spool *spool;
    struct arena *record;
    size_t run_count;
    uint64_t ends[RUNS_MAX]; /* of each run; it begins where the one before it ends */
    struct head *heads;      /* a heap */
    size_t head_count;
    bool is_given; /* the row of heads[0] */
};

/* ---- writing ---------------------------------------------------------------------------------------- */

static status open_spill(struct pipeline_run *run, struct operator* o)
{
    struct spill *spill = memory_take_zeroed(1, sizeof(*spill));

    if (!spill)
        return status_of(OUT_OF_MEMORY, "there is no memory for a pipeline");
    o->spill = spill;
    spill->record = arena_open(run->share.held_bytes + 4096);
    if (!spill->record)
        return status_of(OUT_OF_MEMORY, "there is no memory for a pipeline");
    return spool_open(run->source.disk, LIMIT_SPOOL_BYTES, &spill->spool);
}

static status write_row(struct spill *spill, const struct held_row *row)
{
    struct buffer record;
    bytes whole;

    arena_reset(spill->record);
    record = buffer_in(spill->record);
    buffer_reserve(&record, 16 + row->key.len + row->origin.len + row->row.len);
    buffer_append_u32(&record, (uint32_t)row->key.len);
    buffer_append_u32(&record, (uint32_t)row->origin.len);
    buffer_append_u64(&record, row->number);
    buffer_append(&record, row->key);
    buffer_append(&record, row->origin);
    buffer_append(&record, row->row);
    TRY(buffer_finish(&record, &whole));
    return spool_append(spill->spool, whole);
}

status spill_rows(struct pipeline_run *run, struct operator* o)
{
    if (!o->spill)
        TRY(open_spill(run, o));
    struct spill *spill = o->spill;
    if (spill->run_count == RUNS_MAX)
        return status_of(TOO_LARGE, "more rows than a sort may keep on disk");
    sorted_order(o->sorted);
    for (size_t i = 0; i < o->sorted->count; i++)
        TRY(write_row(spill, &o->sorted->items[i]));
    spill->ends[spill->run_count++] = spool_end(spill->spool);
    arena_reset(o->held);
    return sorted_begin(run, o, "Sort");
}

bool spill_is_due(const struct pipeline_run *run, const struct operator* o,
                  const struct held_row *next)
{
    const struct sorted_rows *rows = o->sorted;
    size_t needed = next->key.len + next->origin.len + next->row.len + 64;

    if (!run->source.disk || rows->count == 0)
        return false;
    if (rows->count == rows->room)
        needed += 2 * rows->room * sizeof(*rows->items);
    return arena_used_bytes(o->held) + needed > run->share.held_bytes;
}

/* ---- reading ---------------------------------------------------------------------------------------- */

static status read_row(struct head *head, bool *has_out)
{
    struct reader reader;
    bytes record;

    TRY(spool_next(head->reader, &record, has_out));
    if (!*has_out)
        return STATUS_OK;
    reader = reader_of(record);
    uint32_t key = reader_u32(&reader), origin = reader_u32(&reader);
    head->row.number = reader_u64(&reader);
    head->row.key = reader_bytes(&reader, key);
    head->row.origin = reader_bytes(&reader, origin);
    head->row.row = reader.rest;
    return reader.is_failed ? status_of(CORRUPT, "a sorted row that waited on disk is damaged")
                            : STATUS_OK;
}

static void sink(struct spill *spill, size_t at)
{
    struct head *heads = spill->heads;

    for (size_t child; (child = 2 * at + 1) < spill->head_count; at = child) {
        if (child + 1 < spill->head_count &&
            held_row_compare(&heads[child + 1].row, &heads[child].row) < 0)
            child++;
        if (held_row_compare(&heads[at].row, &heads[child].row) <= 0)
            return;
        struct head above = heads[at];
        heads[at] = heads[child];
        heads[child] = above;
    }
}

/* The last rows become a run as well, so that all of them come the same way. */
status spill_merge(struct pipeline_run *run, struct operator* o)
{
    struct spill *spill = o->spill;
    uint64_t from = 0;
    bool has_row;

    if (o->sorted->count)
        TRY(spill_rows(run, o));
    spill->heads = memory_take_zeroed(spill->run_count, sizeof(*spill->heads));
    if (!spill->heads)
        return status_of(OUT_OF_MEMORY, "there is no memory to merge rows");
    for (size_t i = 0; i < spill->run_count; i++) {
        struct head *head = &spill->heads[spill->head_count++];
        TRY(spool_read(spill->spool, from, spill->ends[i], &head->reader));
        TRY(read_row(head, &has_row)); /* no run is empty */
        from = spill->ends[i];
    }
    for (size_t i = spill->head_count / 2; i-- > 0;)
        sink(spill, i);
    return STATUS_OK;
}

status spill_next(struct pipeline_run *run, struct operator* o, bytes *out, bool *has_out)
{
    struct spill *spill = o->spill;
    bool has_more = true;

    if (spill->is_given && spill->head_count) {
        TRY(read_row(&spill->heads[0], &has_more));
        if (!has_more) {
            struct head over = spill->heads[0];
            spill->heads[0] = spill->heads[--spill->head_count];
            spill->heads[spill->head_count] = (struct head){ 0 };
            spool_reader_close(over.reader);
        }
        sink(spill, 0);
    }
    spill->is_given = true;
    *has_out = spill->head_count > 0;
    if (*has_out) {
        *out = spill->heads[0].row.row;
        pipeline_set_origin(run, spill->heads[0].row.origin);
    }
    return STATUS_OK;
}

void spill_close(struct operator* o)
{
    struct spill *spill = o->spill;

    if (!spill)
        return;
    for (size_t i = 0; i < spill->head_count; i++)
        spool_reader_close(spill->heads[i].reader);
    memory_give(spill->heads);
    spool_close(spill->spool);
    if (spill->record)
        arena_close(spill->record);
    memory_give(spill);
    o->spill = NULL;
}
