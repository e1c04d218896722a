/* Item batch: reads the operations of a batch or a bulk request, checks each by itself, and has them run.
 *
 * A batch is atomic or it is not; that decides everything else, so the two ways of running are files of
 * their own (item_batch_atomic.c, item_batch_bulk.c). What is wrong with one operation is kept with it and
 * told in its result; only what is wrong with the request as a whole fails the call.
 *
 * Threads: the worker's; the reply may be written by the thread that committed. Start reading at
 * serve_item_batch(). */
#include "front/cosmos/item_batch.h"

#include <strings.h>

/* ---- failures of one operation ---------------------------------------------------------------------- */

bool batch_op_failed(const struct batch_op *op)
{
    return op->failure.kind != FAIL_NONE;
}

void batch_op_fail(struct batch_op *op, enum failure_kind kind)
{
    op->failure = (struct failure){ .kind = kind };
}

static bool is_fault_of_operation(status_code code)
{
    return code == INVALID || code == NOT_FOUND || code == EXISTS || code == DUPLICATE_KEY ||
           code == PRECONDITION || code == TOO_LARGE || code == CONFLICT;
}

status batch_settle(struct call *call, struct batch_op *op, status outcome)
{
    if (outcome.code == OK)
        return STATUS_OK;
    if (call->failure.kind != FAIL_NONE)
        op->failure = call->failure;
    else if (is_fault_of_operation(outcome.code))
        op->failure = failure_of(outcome);
    else
        return outcome;
    if (op->failure.kind == FAIL_NOT_FOUND)
        op->failure.kind = FAIL_NO_ITEM;
    call->failure = (struct failure){ .kind = FAIL_NONE };
    return STATUS_OK;
}

/* ---- reading operations ----------------------------------------------------------------------------- */

static bool find_kind(struct value name, enum batch_kind *out)
{
    static const struct {
        const char *name;
        enum batch_kind kind;
    } kinds[] = {
        {"Create",   BATCH_CREATE },
        { "Upsert",  BATCH_UPSERT },
        { "Read",    BATCH_READ   },
        { "Replace", BATCH_REPLACE},
        { "Delete",  BATCH_DELETE },
        { "Patch",   BATCH_PATCH  },
    };

    for (size_t i = 0; name.type == VALUE_STRING && i < ARRAY_COUNT(kinds); i++) {
        if (bytes_equal(value_text(name), bytes_of_text(kinds[i].name))) {
            *out = kinds[i].kind;
            return true;
        }
    }
    return false;
}

static bytes text_of(bytes fields, const char *name)
{
    struct value value;

    if (!document_find(fields, name, &value) || value.type != VALUE_STRING)
        return BYTES_NONE;
    return value_text(value);
}

/* The partition key of one operation, a string that holds a JSON array; or that of the header. */
static status read_partition(struct call *call, const struct batch *batch, bytes fields,
                             struct partition_key *out)
{
    bytes text = text_of(fields, "partitionKey");

    *out = batch->partition;
    if (text.len == 0)
        return STATUS_OK;
    TRY(partition_key_parse(call, text, out));
    TRY(partition_key_check_whole(call, out));
    if (batch->partition.is_given && !bytes_equal(out->encoded, batch->partition.encoded))
        return call_fail(call, FAIL_PARTITION_KEY,
                         "The partition key of the operation is not the one of the batch.");
    return STATUS_OK;
}

static status read_named(struct call *call, bytes fields, struct batch_op *op,
                         const struct partition_key *given)
{
    op->id = text_of(fields, "id");
    op->partition = given->encoded;
    if (op->id.len == 0)
        return call_fail(call, FAIL_BAD_REQUEST,
                         "The operation must have the 'id' of an item, a string.");
    if (!given->is_given && call->collection->definition.partition_path_count > 0)
        return call_fail(call, FAIL_BAD_REQUEST,
                         "PartitionKey value must be supplied for this operation.");
    return STATUS_OK;
}

static status read_item(struct call *call, bytes fields, struct value body, struct batch_op *op,
                        const struct partition_key *given)
{
    bytes named = text_of(fields, "id");

    if (body.type != VALUE_DOCUMENT)
        return call_fail(call, FAIL_BAD_REQUEST,
                         "The operation must have an item as its 'resourceBody'.");
    TRY(item_take(call, value_document(body), given, &op->item));
    op->id = op->item.id;
    op->partition = op->item.key.partition;
    if (op->kind == BATCH_REPLACE && named.len > 0 && !bytes_equal(named, op->id))
        return call_fail(call, FAIL_BAD_REQUEST,
                         "The id of the operation does not match the one in its 'resourceBody'; "
                         "the id of an item cannot be changed.");
    return STATUS_OK;
}

static status read_operation(struct call *call, const struct batch *batch, bytes fields,
                             struct batch_op *op)
{
    struct partition_key given;
    struct value kind, body;

    document_find(fields, "operationType", &kind);
    document_find(fields, "resourceBody", &body);
    if (!find_kind(kind, &op->kind))
        return call_fail(call, FAIL_BAD_REQUEST,
                         "The 'operationType' must be one of Create, Upsert, Read, Replace, "
                         "Delete, Patch.");
    op->if_match = item_if_match(text_of(fields, "ifMatch"));
    op->if_none_match = text_of(fields, "ifNoneMatch");
    TRY(read_partition(call, batch, fields, &given));
    if (op->kind == BATCH_CREATE || op->kind == BATCH_UPSERT || op->kind == BATCH_REPLACE)
        return read_item(call, fields, body, op, &given);
    TRY(read_named(call, fields, op, &given));
    return op->kind == BATCH_PATCH ? item_patch_read(call, body, &op->patch) : STATUS_OK;
}

static status read_operations(struct call *call, struct batch *batch, bytes array)
{
    struct document_walk walk = document_fields(array);
    struct field field;

    for (struct document_walk all = walk; document_next(&all, &field);)
        batch->count++;
    if (batch->count == 0 || batch->count > LIMIT_BATCH_OPERATIONS)
        return call_fail(call, FAIL_BAD_REQUEST,
                         "Batch request has %zu operations; it must have 1 to %d.", batch->count,
                         LIMIT_BATCH_OPERATIONS);
    TRY(ARENA_NEW(call->arena, batch->count, &batch->ops));
    TRY(ARENA_NEW(call->arena, batch->count, &batch->writes));
    for (size_t i = 0; document_next(&walk, &field); i++) {
        if (field.value.type != VALUE_DOCUMENT)
            return call_fail(call, FAIL_BAD_REQUEST, "Operation %zu of the batch is not an object.",
                             i);
        status s = read_operation(call, batch, value_document(field.value), &batch->ops[i]);
        TRY(batch_settle(call, &batch->ops[i], s));
    }
    return STATUS_OK;
}

/* ---- the request ------------------------------------------------------------------------------------ */

static status read_body(struct call *call, bytes *array_out)
{
    enum { HYBRID_ROW_VERSION = 0x81 };
    bytes body = call->http->body;

    *array_out = BYTES_NONE;
    if (body.len > LIMIT_ITEM_BYTES)
        return call_fail(call, FAIL_TOO_LARGE, NULL);
    if (body.len > 0 && body.data[0] == HYBRID_ROW_VERSION)
        return call_fail(call, FAIL_BAD_REQUEST,
                         "The batch is encoded as HybridRow, which mayfly does not read; send the "
                         "operations as a JSON array.");
    status s = json_read_array(call->arena, body, array_out);
    if (s.code == INVALID || s.code == TOO_LARGE)
        return call_fail(call, FAIL_BAD_REQUEST,
                         "The request body is not a JSON array of operations: %s.", s.message);
    return s;
}

status serve_item_batch(struct call *call)
{
    struct batch *batch;
    bytes array;

    TRY(ARENA_NEW(call->arena, 1, &batch));
    batch->is_atomic = route_header_is_true(call->http, "x-ms-cosmos-batch-atomic");
    batch->continues = route_header_is_true(call->http, "x-ms-cosmos-batch-continue-on-error");
    batch->is_minimal = item_is_minimal(call);
    TRY(read_body(call, &array));
    if (batch->is_atomic)
        TRY(partition_key_required(call, &batch->partition));
    else
        TRY(partition_key_of_header(call, &batch->partition));
    TRY(read_operations(call, batch, array));
    call->context = batch;
    return batch->is_atomic ? batch_run_atomic(call, batch) : batch_run_bulk(call, batch);
}
