/* Item partition: deletes every item of a partition key.
 *
 * Batch by batch, each in a request of its own, so that neither memory nor the oldest picture of the
 * database that is held depends on how many items there are. Only items that were there when the request
 * came are deleted; the client is answered when all of them are gone.
 *
 * Keeps: the position survives the batch in memory taken before it. Threads: the worker's, which waits. */
#include "front/cosmos/face.h"
#include "front/cosmos/item.h"

struct sweep {
    struct partition_key partition;
    uint64_t last_seq;   /* of the writes that the request covers */
    struct buffer after; /* position of the last item looked at */
    uint64_t deleted;
};

/* Collects the keys of the next batch; `*is_last_out` if nothing comes behind them. */
static status collect(struct call *call, struct sweep *sweep, struct write_op *ops,
                      size_t *count_out, bool *is_last_out)
{
    struct scan_spec spec = { .start = sweep->partition.encoded,
                              .end = sweep->partition.encoded,
                              .is_end_inclusive = true,
                              .after = bytes_of(sweep->after.data, sweep->after.len) };
    struct scan *scan;
    struct scan_row row;
    status s = STATUS_OK;
    size_t looked_at = 0;

    *count_out = 0;
    *is_last_out = true;
    TRY(scan_open(&call->request, call->collection, &spec, &scan));
    while (s.code == OK && looked_at++ < LIMIT_PARTITION_DELETE_BATCH && scan_next(scan, &row)) {
        struct write_op *op = &ops[*count_out];
        sweep->after.len = 0;
        buffer_append(&sweep->after, scan_position(scan));
        *is_last_out = looked_at < LIMIT_PARTITION_DELETE_BATCH;
        if (row.seq > sweep->last_seq)
            continue;
        *op = (struct write_op){ .collection = call->collection,
                                 .kind = WRITE_DELETE,
                                 .own_ttl = TTL_ABSENT,
                                 .key.partition = sweep->partition.encoded };
        s = arena_copy(call->arena, row.key.id, &op->key.id);
        ++*count_out;
    }
    if (s.code == OK)
        s = scan_status(scan);
    scan_close(scan);
    return s;
}

/* An item that was deleted or has died meanwhile is gone as well. */
static status check_outcomes(const struct write_op *ops, size_t count, struct sweep *sweep)
{
    for (size_t i = 0; i < count; i++) {
        if (ops[i].outcome.code != OK && ops[i].outcome.code != NOT_FOUND)
            return ops[i].outcome;
        sweep->deleted += ops[i].outcome.code == OK;
    }
    return STATUS_OK;
}

static status delete_batch(struct call *call, struct sweep *sweep, bool *is_last_out)
{
    struct write_op *ops;
    size_t count;

    TRY(ARENA_NEW(call->arena, LIMIT_PARTITION_DELETE_BATCH, &ops));
    TRY(collect(call, sweep, ops, &count, is_last_out));
    if (count == 0)
        return STATUS_OK;
    TRY(document_write(&call->request, ops, count, WRITE_EACH));
    return check_outcomes(ops, count, sweep);
}

status serve_item_delete_partition(struct call *call)
{
    struct sweep sweep = { .after = buffer_in(call->arena),
                           .last_seq = engine_last_seq(call->face->engine) };
    bool is_last = false;

    TRY(partition_key_required(call, &sweep.partition));
    if (!sweep.partition.is_given)
        return call_fail(call, FAIL_BAD_REQUEST,
                         "PartitionKey value must be supplied for this operation, in the header "
                         "x-ms-documentdb-partitionkey.");
    buffer_reserve(&sweep.after, 2 * LIMIT_KEY_BYTES);
    while (!is_last) {
        arena_position mark = arena_mark(call->arena);
        TRY(delete_batch(call, &sweep, &is_last));
        arena_release(call->arena, mark);
        TRY(call_renew(call));
    }
    call->charge = charge_delete(sweep.deleted ? sweep.deleted : 1);
    return call_reply_empty(call, 200);
}
