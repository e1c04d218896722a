/* Record: documents of the face's own.
 *
 * One collection for each kind, both parted by the number of the owner, so that what belongs to one owner is
 * one stretch of keys. Changes come one at a time (resource_change), so what was found is still there when it
 * is written, and the number of the last write of the engine is good as a number of a new record: the next
 * one sees a later write.
 *
 * Keeps: renaming is one commit, old id and new one. Threads: as the call. */
#include "front/cosmos/record.h"

#include "front/cosmos/face.h"

static bytes collection_name(enum record_kind kind)
{
    return kind == RECORD_USER ? BYTES_LITERAL("users") : BYTES_LITERAL("permissions");
}

/* NULL: nothing was ever written. */
static status find_collection(struct call *call, enum record_kind kind,
                              const struct collection **out)
{
    status s = catalog_find(&call->request, BYTES_LITERAL(SYSTEM_DATABASE), collection_name(kind),
                            out);

    if (s.code != NOT_FOUND)
        return s;
    *out = NULL;
    return STATUS_OK;
}

static status owner_key(struct call *call, struct record_owner owner, bytes *out)
{
    struct buffer key = buffer_in(call->arena);
    struct value number;

    TRY(value_of_int64(call->arena, (int64_t)owner.number, &number));
    key_append_value(&key, number, KEY_ASCENDING);
    return buffer_finish(&key, out);
}

static status record_key(struct call *call, struct record_owner owner, bytes id,
                         struct document_key *out)
{
    struct buffer key = buffer_in(call->arena);
    struct value text;

    TRY(owner_key(call, owner, &out->partition));
    TRY(value_of_text(call->arena, id, &text));
    key_append_value(&key, text, KEY_ASCENDING);
    return buffer_finish(&key, &out->id);
}

static status read_record(struct call *call, const struct document *stored, struct record *out)
{
    struct value id, number;
    int64_t plain;

    *out = (struct record){ .seq = stored->seq, .ts = stored->written_at_s };
    TRY(arena_copy(call->arena, stored->bson, &out->document));
    if (!document_find(out->document, "id", &id) || id.type != VALUE_STRING ||
        !document_find(out->document, "number", &number) || !value_as_int64(number, &plain))
        return status_of(CORRUPT, "a user or permission is not stored as it should be");
    out->id = value_text(id);
    out->number = (uint64_t)plain;
    return STATUS_OK;
}

/* ---- reading ---------------------------------------------------------------------------------------- */

status record_find(struct call *call, struct record_owner owner, bytes id, struct record *out,
                   bool *is_there_out)
{
    const struct collection *collection;
    struct document_key key;
    struct document stored;

    *is_there_out = false;
    *out = (struct record){ 0 };
    TRY(find_collection(call, owner.kind, &collection));
    if (!collection)
        return STATUS_OK;
    TRY(record_key(call, owner, id, &key));
    status s = document_read(&call->request, collection, key, &stored);
    if (s.code == NOT_FOUND)
        return STATUS_OK;
    TRY(s);
    s = read_record(call, &stored, out);
    document_release(&call->request, &stored);
    *is_there_out = s.code == OK;
    return s;
}

static status visit_row(struct call *call, struct scan *scan, record_visit *visit, void *context)
{
    struct document stored;
    struct record record;

    TRY(scan_document(scan, &stored));
    status s = read_record(call, &stored, &record);
    document_release(&call->request, &stored);
    TRY(s);
    return visit(call, &record, context);
}

status record_each(struct call *call, struct record_owner owner, record_visit *visit, void *context)
{
    const struct collection *collection;
    struct scan_spec spec = { .is_end_inclusive = true };
    struct scan_row row;
    struct scan *scan;

    TRY(find_collection(call, owner.kind, &collection));
    if (!collection)
        return STATUS_OK;
    TRY(owner_key(call, owner, &spec.start));
    spec.end = spec.start;
    TRY(scan_open(&call->request, collection, &spec, &scan));
    status s = STATUS_OK;
    while (s.code == OK && scan_next(scan, &row))
        s = visit_row(call, scan, visit, context);
    if (s.code == OK)
        s = scan_status(scan);
    scan_close(scan);
    return s;
}

/* ---- changing --------------------------------------------------------------------------------------- */

static status make_collection(struct call *call, enum record_kind kind)
{
    static const bytes path = { .data = (const uint8_t *)"owner", .len = 5 };
    struct collection_definition definition = { .database = BYTES_LITERAL(SYSTEM_DATABASE),
                                                .name = collection_name(kind),
                                                .default_ttl = TTL_OFF,
                                                .partition_path_count = 1,
                                                .partition_paths = &path };

    return collection_create(call->face->engine, call->arena, &definition, NULL, 0);
}

status record_prepare(struct call *call)
{
    bool is_new = false;

    if (!catalog_has_database(&call->request, BYTES_LITERAL(SYSTEM_DATABASE))) {
        TRY(database_create(call->face->engine, call->arena, BYTES_LITERAL(SYSTEM_DATABASE),
                            BYTES_NONE));
        is_new = true;
    }
    for (enum record_kind kind = RECORD_USER; kind <= RECORD_PERMISSION; kind++) {
        const struct collection *collection;
        TRY(find_collection(call, kind, &collection));
        if (collection)
            continue;
        TRY(make_collection(call, kind));
        is_new = true;
    }
    return is_new ? call_renew(call) : STATUS_OK;
}

uint64_t record_next_number(struct call *call)
{
    return engine_last_seq(call->face->engine) + 1;
}

size_t record_begin(struct buffer *out, struct record_owner owner, bytes id, uint64_t number)
{
    size_t begun = document_begin(out);

    document_append_int64(out, "owner", (int64_t)owner.number);
    document_append_text(out, "id", id);
    document_append_int64(out, "number", (int64_t)number);
    return begun;
}

status record_put(struct call *call, struct record_owner owner, bytes old_id, struct record *record)
{
    const struct collection *collection;
    struct write_op ops[2] = { { .kind = WRITE_DELETE }, { .kind = WRITE_INSERT } };
    bool is_renamed = old_id.len > 0 && !bytes_equal(old_id, record->id);

    TRY(catalog_find(&call->request, BYTES_LITERAL(SYSTEM_DATABASE), collection_name(owner.kind),
                     &collection));
    if (old_id.len > 0 && !is_renamed)
        ops[1].kind = WRITE_REPLACE;
    TRY(record_key(call, owner, old_id, &ops[0].key));
    TRY(record_key(call, owner, record->id, &ops[1].key));
    ops[0].collection = ops[1].collection = collection;
    ops[0].own_ttl = ops[1].own_ttl = TTL_ABSENT;
    ops[1].document = record->document;
    TRY(document_write(&call->request, is_renamed ? ops : ops + 1, is_renamed ? 2 : 1,
                       WRITE_ALL_OR_NOTHING));
    record->seq = ops[1].seq;
    record->ts = ops[1].written_at_s;
    return STATUS_OK;
}

status record_delete(struct call *call, struct record_owner owner, bytes id)
{
    struct write_op op = { .kind = WRITE_DELETE, .own_ttl = TTL_ABSENT };

    TRY(catalog_find(&call->request, BYTES_LITERAL(SYSTEM_DATABASE), collection_name(owner.kind),
                     &op.collection));
    TRY(record_key(call, owner, id, &op.key));
    return document_write(&call->request, &op, 1, WRITE_ALL_OR_NOTHING);
}

/* Deletes that are written together when there are enough of them. */
struct sweep {
    struct record_owner owner;
    const struct collection *collection;
    struct write_op *ops;
    size_t count;
};

static status sweep_out(struct call *call, struct sweep *sweep)
{
    size_t count = sweep->count;

    sweep->count = 0;
    return count ? document_write(&call->request, sweep->ops, count, WRITE_EACH) : STATUS_OK;
}

static status sweep_one(struct call *call, const struct record *record, void *context)
{
    struct sweep *sweep = context;
    struct write_op *op = &sweep->ops[sweep->count];

    *op = (struct write_op){ .collection = sweep->collection,
                             .kind = WRITE_DELETE,
                             .own_ttl = TTL_ABSENT };
    TRY(record_key(call, sweep->owner, record->id, &op->key));
    sweep->count++;
    return sweep->count < LIMIT_BACKGROUND_BATCH ? STATUS_OK : sweep_out(call, sweep);
}

status record_delete_all(struct call *call, struct record_owner owner)
{
    struct sweep sweep = { .owner = owner };

    TRY(find_collection(call, owner.kind, &sweep.collection));
    if (!sweep.collection)
        return STATUS_OK;
    TRY(ARENA_NEW(call->arena, LIMIT_BACKGROUND_BATCH, &sweep.ops));
    TRY(record_each(call, owner, sweep_one, &sweep));
    return sweep_out(call, &sweep);
}
