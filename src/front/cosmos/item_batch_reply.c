/* Item batch reply: one operation as a write, and the results of all as JSON.
 *
 * Threads: staging on the worker; the reply also on the thread that committed, where it only appends. */
#include "front/cosmos/item_batch.h"

/* ---- staging ---------------------------------------------------------------------------------------- */

status batch_place(struct call *call, struct batch_op *op)
{
    if (op->kind == BATCH_CREATE || op->kind == BATCH_UPSERT)
        return item_find_place(call, &op->item, &op->place);
    if (op->kind == BATCH_REPLACE) {
        TRY(item_find_place(call, &op->item, &op->place));
        return op->place.is_taken ? call_fail(call, FAIL_NO_ITEM, NULL) : STATUS_OK;
    }
    return item_find(call, op->partition, op->id, &op->place);
}

static enum write_kind write_kind_of(enum batch_kind kind)
{
    switch (kind) {
    case BATCH_CREATE:
        return WRITE_INSERT;
    case BATCH_UPSERT:
        return WRITE_UPSERT;
    case BATCH_DELETE:
        return WRITE_DELETE;
    case BATCH_REPLACE:
    case BATCH_PATCH:
    case BATCH_READ: /* never staged */
        return WRITE_REPLACE;
    }
    return WRITE_REPLACE;
}

static status stage_delete(struct call *call, struct batch_op *op, struct write_op *write)
{
    *write = (struct write_op){ .collection = call->collection,
                                .kind = WRITE_DELETE,
                                .key = op->place.key,
                                .own_ttl = TTL_ABSENT };
    op->charge = charge_delete(1);
    return STATUS_OK;
}

static status stage_item(struct call *call, const struct batch *batch, struct batch_op *op,
                         struct write_op *write)
{
    struct item_change change;

    TRY(item_put_in_place(call, &op->place, &op->item));
    TRY(item_change_prepare(call, write_kind_of(op->kind), &op->item, &change));
    *write = change.op;
    op->charge = item_charge(call, &op->item, change.json.len);
    op->json = change.json;
    if (batch->is_minimal)
        op->json.len = 0;
    return STATUS_OK;
}

status batch_stage(struct call *call, struct batch *batch, struct batch_op *op, uint64_t if_seq)
{
    struct write_op *write = &batch->writes[batch->write_count];

    TRY(op->kind == BATCH_DELETE ? stage_delete(call, op, write)
                                 : stage_item(call, batch, op, write));
    write->if_seq = if_seq;
    op->write = write;
    batch->write_count++;
    return STATUS_OK;
}

static unsigned status_of_write(const struct batch_op *op)
{
    if (op->kind == BATCH_DELETE)
        return 204;
    return op->write->was_there ? 200 : 201;
}

void batch_take_outcome(struct batch_op *op)
{
    op->version = item_version_written(op->write);
    op->http_status = status_of_write(op);
}

status batch_show(struct call *call, struct batch_op *op, const struct document *document)
{
    op->version = item_version_of(document);
    op->http_status = 200;
    if (op->if_none_match.len > 0 && etag_parse(op->if_none_match) == document->seq)
        op->http_status = 304;
    op->json = buffer_in(call->arena);
    if (op->http_status == 200)
        item_show_begin(&op->json, document->bson);
    op->charge = charge_point_read(op->json.len);
    return op->json.is_failed ? arena_exhausted(call->arena) : STATUS_OK;
}

/* ---- results ---------------------------------------------------------------------------------------- */

static void append_failure(struct buffer *out, const struct batch_op *op)
{
    buffer_append_format(out, "{\"statusCode\":%u,\"subStatusCode\":%u,\"requestCharge\":0",
                         failure_status(op->failure.kind), failure_substatus(op->failure.kind));
    if (op->failure.retry_after_ms > 0)
        buffer_append_format(out, ",\"retryAfterMilliseconds\":%u", op->failure.retry_after_ms);
    buffer_append_text(out, ",\"message\":");
    http_append_json_text(out, bytes_of_text(failure_sentence(&op->failure)));
    buffer_append_text(out, "}");
}

static void append_success(struct call *call, struct buffer *out, struct batch_op *op)
{
    struct item_version version = op->shown ? op->shown->version : op->version;
    char etag[ETAG_TEXT_BYTES];

    buffer_append_format(out, "{\"statusCode\":%u,\"requestCharge\":%u.%02u", op->http_status,
                         op->charge / 100, op->charge % 100);
    if (op->http_status != 204) {
        etag_format(version.seq, etag);
        buffer_append_text(out, ",\"eTag\":");
        http_append_json_text(out, bytes_of_text(etag));
    }
    if (op->json.len > 0) {
        buffer_append_text(out, ",\"resourceBody\":");
        buffer_append(out, bytes_of(op->json.data, op->json.len));
        const struct item_home home = item_home_of(call_container_rid(call));
        item_show_end(out, &home, &version);
    }
    buffer_append_text(out, "}");
}

status batch_reply(struct call *call, struct batch *batch)
{
    struct buffer body = buffer_in(call->arena);
    bool has_failed = false;

    call->charge = 0;
    buffer_append_text(&body, "[");
    for (size_t i = 0; i < batch->count; i++) {
        struct batch_op *op = &batch->ops[i];
        if (i > 0)
            buffer_append_text(&body, ",");
        has_failed |= batch_op_failed(op);
        if (batch_op_failed(op)) {
            append_failure(&body, op);
            continue;
        }
        append_success(call, &body, op);
        call->charge = charge_add(call->charge, op->charge);
        if (op->write && op->write->seq > call->lsn)
            call->lsn = op->write->seq;
    }
    buffer_append_text(&body, "]");
    if (call->charge == 0)
        call->charge = CHARGE_METADATA_READ;
    return call_reply(call, has_failed ? 207 : 200, &body);
}
