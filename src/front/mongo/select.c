/* Select: walks documents.
 *
 * A filter that asks for one _id reads one document; everything else walks the collection by key, which can
 * be resumed anywhere. Each document is put into the form that clients see before the filter is asked, so
 * that a filter on _id holds for documents of other faces too.
 *
 * Keeps: a row is valid until the next call; the memory of a row is given back then.
 * Threads: the command's. */
#include "front/mongo/select.h"

enum { ROW_BYTES_MAX = 64 * 1024 * 1024 };

struct select {
    struct command *command;
    const struct collection *collection;
    struct arena *scratch; /* of one row */
    struct document document;
    bool has_document;
    bool is_over;
    /* One _id, or all. */
    bool is_point;
    bytes id_key;
    struct scan *scan;
};

/* ---- what the filter asks for ----------------------------------------------------------------------- */

static bool is_operator(struct value value)
{
    struct field field;

    if (value.type == VALUE_REGEX)
        return true;
    if (value.type != VALUE_DOCUMENT)
        return false;
    struct document_walk walk = document_fields(value_document(value));
    return document_next(&walk, &field) && field.name.len > 0 && field.name.data[0] == '$';
}

/* {_id: value}, or {_id: {$eq: value}}. */
static bool asks_for_id(bytes filter, struct value *out)
{
    struct document_walk walk = document_fields(filter);
    struct field field;

    if (!document_next(&walk, &field) || !bytes_equal(field.name, BYTES_LITERAL("_id")))
        return false;
    *out = field.value;
    if (field.value.type == VALUE_DOCUMENT && is_operator(field.value) &&
        (document_field_count(value_document(field.value)) != 1 ||
         !document_find(value_document(field.value), "$eq", out)))
        return false;
    return !is_operator(*out) && out->type != VALUE_ARRAY && out->type != VALUE_NULL;
}

status select_check(struct command *command, bytes filter)
{
    struct value id;

    if (document_field_count(filter) == 0 ||
        (document_field_count(filter) == 1 && asks_for_id(filter, &id)))
        return STATUS_OK;
    return command_fail(command, ERROR_CommandNotSupported,
                        "this version of mayfly knows only filters that are empty or name one _id");
}

/* ---- walking ---------------------------------------------------------------------------------------- */

status select_open(struct command *command, const struct select_spec *spec, struct select **out)
{
    struct scan_spec scan = { .after = spec->after };
    struct select *select;
    struct value id;
    status s;

    *out = NULL;
    TRY(select_check(command, spec->filter));
    TRY(ARENA_NEW(command->arena, 1, &select));
    select->command = command;
    select->collection = spec->collection;
    select->scratch = arena_open(ROW_BYTES_MAX);
    if (!select->scratch)
        return status_of(OUT_OF_MEMORY, "no memory to read documents");
    if (asks_for_id(spec->filter, &id))
        TRY_GOTO(kept_id_key(command->arena, id, &select->id_key), done);
    select->is_point = select->id_key.len > 0 && kept_is_keyed_by_id(spec->collection);
    if (!select->is_point)
        TRY_GOTO(scan_open(&command->request, spec->collection, &scan, &select->scan), done);
    *out = select;
    return STATUS_OK;
done:
    select_close(select);
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

static status read_point(struct select *select, bool *has_out)
{
    struct document_key key = { .id = select->id_key };

    *has_out = false;
    if (select->is_over)
        return STATUS_OK;
    select->is_over = true;
    status s = document_read(&select->command->request, select->collection, key, &select->document);
    if (s.code == NOT_FOUND)
        return STATUS_OK;
    TRY(s);
    *has_out = select->has_document = true;
    return STATUS_OK;
}

static status read_next(struct select *select, bool *has_out)
{
    struct scan_row row;

    *has_out = false;
    for (unsigned looked_at = 0; scan_next(select->scan, &row); looked_at++) {
        if (looked_at % 256 == 255)
            TRY(command_check_time(select->command));
        if (select->id_key.len > 0 && !bytes_equal(row.key.id, select->id_key))
            continue;
        TRY(scan_document(select->scan, &select->document));
        *has_out = select->has_document = true;
        return STATUS_OK;
    }
    select->is_over = true;
    return scan_status(select->scan);
}

status select_next(struct select *select, struct select_row *out, bool *has_out)
{
    let_go(select);
    if (select->is_point)
        TRY(read_point(select, has_out));
    else
        TRY(read_next(select, has_out));
    if (!*has_out)
        return STATUS_OK;
    *out = (struct select_row){ .key = select->document.key,
                                .bson = select->document.bson,
                                .seq = select->document.seq };
    return kept_show(select->scratch, out->key, out->bson, &out->document);
}

bytes select_position(const struct select *select)
{
    return select->scan ? scan_position(select->scan) : BYTES_NONE;
}

bool select_is_over(const struct select *select)
{
    return select->is_over;
}
