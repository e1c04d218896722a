/* Waiting: a list in memory, then a spool.
 *
 * Keeps: rows in memory are older than all those on disk; once one went to disk, all later ones do.
 * Threads: the command's that runs the batch. */
#include "front/mongo/waiting.h"

#include "base/spool.h"

enum { MEMORY_BYTES = 4 * 1024 * 1024 };

struct listed {
    struct listed *next;
    struct waiting_row row;
};

struct waiting_rows {
    struct arena *arena;
    const char *directory;
    size_t listed_bytes;
    struct listed *all, *first, **last;
    uint64_t added, given;
    struct spool *spool;
    struct spool_reader *reader;
    struct arena *record; /* of the one that is being written */
};

status waiting_open(struct arena *arena, const char *directory, struct waiting_rows **out)
{
    struct waiting_rows *rows;

    TRY(ARENA_NEW(arena, 1, &rows));
    rows->arena = arena;
    rows->directory = directory;
    rows->last = &rows->all;
    *out = rows;
    return STATUS_OK;
}

void waiting_close(struct waiting_rows *rows)
{
    if (!rows)
        return;
    spool_reader_close(rows->reader);
    spool_close(rows->spool);
    if (rows->record)
        arena_close(rows->record);
    rows->reader = NULL;
    rows->spool = NULL;
    rows->record = NULL;
}

/* ---- adding ----------------------------------------------------------------------------------------- */

static status list_row(struct waiting_rows *rows, struct waiting_row row)
{
    struct listed *listed;

    TRY(ARENA_NEW(rows->arena, 1, &listed));
    TRY(arena_copy(rows->arena, row.document, &listed->row.document));
    TRY(arena_copy(rows->arena, row.origin, &listed->row.origin));
    *rows->last = listed;
    rows->last = &listed->next;
    if (!rows->first)
        rows->first = listed;
    rows->listed_bytes += row.document.len + row.origin.len + sizeof(*listed);
    return STATUS_OK;
}

static status open_spool(struct waiting_rows *rows)
{
    TRY(spool_open(rows->directory, LIMIT_SPOOL_BYTES, &rows->spool));
    rows->record = arena_open(LIMIT_REQUEST_ARENA_BYTES);
    return rows->record ? STATUS_OK : status_of(OUT_OF_MEMORY, "there is no memory for a cursor");
}

status waiting_add(struct waiting_rows *rows, struct waiting_row row)
{
    struct buffer record;
    bytes whole;

    rows->added++;
    if (!rows->spool && rows->listed_bytes + row.document.len < MEMORY_BYTES)
        return list_row(rows, row);
    if (!rows->spool)
        TRY(open_spool(rows));
    arena_reset(rows->record);
    record = buffer_in(rows->record);
    buffer_append_u32(&record, (uint32_t)row.origin.len);
    buffer_append(&record, row.origin);
    buffer_append(&record, row.document);
    TRY(buffer_finish(&record, &whole));
    return spool_append(rows->spool, whole);
}

/* ---- giving ----------------------------------------------------------------------------------------- */

bool waiting_is_over(const struct waiting_rows *rows)
{
    return rows->given == rows->added;
}

static status read_row(struct waiting_rows *rows, struct waiting_row *out)
{
    struct reader reader;
    bytes record;
    bool has;

    if (!rows->reader)
        TRY(spool_read(rows->spool, 0, spool_end(rows->spool), &rows->reader));
    TRY(spool_next(rows->reader, &record, &has));
    reader = reader_of(has ? record : BYTES_NONE);
    out->origin = reader_bytes(&reader, reader_u32(&reader));
    out->document = reader.rest;
    return reader.is_failed ? status_of(CORRUPT, "a row that waited on disk is damaged")
                            : STATUS_OK;
}

status waiting_next(struct waiting_rows *rows, struct waiting_row *out, bool *has_out)
{
    *has_out = !waiting_is_over(rows);
    if (!*has_out)
        return STATUS_OK;
    rows->given++;
    if (!rows->first)
        return read_row(rows, out);
    *out = rows->first->row;
    rows->first = rows->first->next;
    return STATUS_OK;
}

void waiting_rewind(struct waiting_rows *rows)
{
    spool_reader_close(rows->reader);
    rows->reader = NULL;
    rows->added = rows->given;
    rows->given = 0;
    rows->first = rows->all;
}
