/* Select: walks documents.
 *
 * A condition that asks for certain _ids reads these documents, in the order of their keys; everything else
 * walks the collection by key. Both can be resumed behind any document. Each document is put into the form
 * that clients see before the condition is asked, so that a condition on _id holds for documents of other
 * faces too. In a collection with a partition key the same _id may be there under several of them, so the
 * walk goes over all keys, but looks only at documents whose key ends in one of the _ids.
 *
 * Keeps: a row is valid until the next call; the memory of a row is given back then.
 * Threads: the command's. */
#include "front/mongo/select.h"

#include <stdlib.h>

enum { ROW_BYTES_MAX = 128 * 1024 * 1024, ROWS_BETWEEN_CHECKS = 256 };

struct select {
    struct command *command;
    const struct collection *collection;
    struct condition *condition;
    struct arena *scratch; /* of one row */
    struct document document;
    bool has_document;
    bool is_over;
    struct matching matching;
    struct select_figures figures;
    bool has_ids; /* only these, ascending */
    bytes *ids;
    size_t id_count;
    bool is_by_point;
    size_t next_id;
    struct scan *scan;
};

/* ---- opening ---------------------------------------------------------------------------------------- */

static int compare_keys(const void *a, const void *b)
{
    return bytes_compare(*(const bytes *)a, *(const bytes *)b);
}

/* The keys of the _ids that are asked for, ascending and without doubles. */
static status take_ids(struct select *select)
{
    struct arena *arena = select->command->arena;
    struct value *ids;
    size_t count, kept = 0;

    select->has_ids = condition_ids(select->condition, arena, &ids, &count);
    if (!select->has_ids)
        return STATUS_OK;
    TRY(ARENA_NEW(arena, count + 1, &select->ids));
    for (size_t i = 0; i < count; i++)
        TRY(kept_id_key(arena, ids[i], &select->ids[i]));
    qsort(select->ids, count, sizeof(select->ids[0]), compare_keys);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || !bytes_equal(select->ids[kept - 1], select->ids[i]))
            select->ids[kept++] = select->ids[i];
    }
    select->id_count = kept;
    return STATUS_OK;
}

static status begin_walk(struct select *select, bytes after)
{
    struct scan_spec scan = { .after = after };

    TRY(take_ids(select));
    select->is_by_point = select->has_ids && kept_is_keyed_by_id(select->collection);
    select->figures.stage = select->is_by_point ? "IDHACK" : "COLLSCAN";
    if (!select->is_by_point)
        return scan_open(&select->command->request, select->collection, &scan, &select->scan);
    while (after.len > 0 && select->next_id < select->id_count &&
           bytes_compare(select->ids[select->next_id], after) <= 0)
        select->next_id++;
    return STATUS_OK;
}

status select_open(struct command *command, const struct select_spec *spec, struct select **out)
{
    struct select *select;

    *out = NULL;
    TRY(ARENA_NEW(command->arena, 1, &select));
    select->command = command;
    select->collection = spec->collection;
    select->condition = spec->condition;
    select->scratch = arena_open(ROW_BYTES_MAX);
    if (!select->scratch)
        return status_of(OUT_OF_MEMORY, "no memory to read documents");
    status s = begin_walk(select, spec->after);
    if (s.code != OK)
        select_close(select);
    else
        *out = select;
    return s;
}

static void let_go(struct select *select)
{
    if (select->has_document)
        document_release(&select->command->request, &select->document);
    select->has_document = false;
    arena_reset(select->scratch);
}

void select_close(struct select *select)
{
    if (!select)
        return;
    let_go(select);
    if (select->scan)
        scan_close(select->scan);
    arena_close(select->scratch);
}

/* ---- walking ---------------------------------------------------------------------------------------- */

static status read_point(struct select *select)
{
    while (select->next_id < select->id_count) {
        struct document_key key = { .id = select->ids[select->next_id++] };
        select->figures.keys_examined++;
        status s = document_read(&select->command->request, select->collection, key,
                                 &select->document);
        if (s.code == NOT_FOUND)
            continue;
        select->has_document = s.code == OK;
        return s;
    }
    select->is_over = true;
    return STATUS_OK;
}

static bool is_among(const struct select *select, bytes id)
{
    return bsearch(&id, select->ids, select->id_count, sizeof(select->ids[0]), compare_keys);
}

static status read_row(struct select *select)
{
    struct scan_row row;

    while (scan_next(select->scan, &row)) {
        if (++select->figures.keys_examined % ROWS_BETWEEN_CHECKS == 0)
            TRY(command_check_time(select->command));
        if (select->has_ids && !is_among(select, row.key.id))
            continue;
        TRY(scan_document(select->scan, &select->document));
        select->has_document = true;
        return STATUS_OK;
    }
    select->is_over = true;
    return scan_status(select->scan);
}

status select_next(struct select *select, struct select_row *out, bool *has_out)
{
    *has_out = false;
    for (;;) {
        let_go(select);
        TRY(select->is_by_point ? read_point(select) : read_row(select));
        if (!select->has_document)
            return STATUS_OK;
        select->figures.documents_examined++;
        *out = (struct select_row){ .key = select->document.key,
                                    .seq = select->document.seq,
                                    .matching = &select->matching };
        TRY(kept_show(select->scratch, out->key, select->document.bson, &out->document));
        TRY(condition_holds(select->command, select->condition, select->scratch, out->document,
                            &select->matching, has_out));
        if (*has_out)
            return STATUS_OK;
    }
}

bytes select_position(const struct select *select)
{
    if (select->scan)
        return scan_position(select->scan);
    return select->next_id > 0 ? select->ids[select->next_id - 1] : BYTES_NONE;
}

bool select_is_over(const struct select *select)
{
    return select->is_over;
}

struct select_figures select_figures(const struct select *select)
{
    return select->figures;
}
