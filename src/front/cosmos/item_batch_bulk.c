/* Item batch, bulk: every operation for itself, in order, in as few commits as that allows.
 *
 * Writes are gathered and committed together; the engine decides each of them. Gathered writes have to be
 * committed first when an operation needs to see what became of one of them: a read or a patch of an item
 * that was just written, or a write behind a patch. The last commit does not make the worker wait.
 *
 * A request may want to stop at the first operation that fails. Then the gathered writes are committed all
 * or none; if one fails, those in front of it are committed without it and everything behind it is not
 * carried out.
 *
 * What is no fault of an operation (a disk that fails, too many who wait) fails the whole request, but only
 * as long as nothing of it is written: from then on it fails the operations that it hit, so that the client
 * knows which ones are there.
 *
 * Keeps: results are those of carrying the operations out one by one. Start reading at
 * batch_run_bulk(). */
#include "front/cosmos/item_batch.h"

enum { PATCH_TRIES = 32 };

struct bulk {
    struct call *call;
    struct batch *batch;
    size_t first;   /* operation of the first gathered write */
    bool has_patch; /* among the gathered */
    bool is_stopped;
    bool has_written; /* something of the request is durable */
};

/* ---- outcomes --------------------------------------------------------------------------------------- */

/* As batch_settle(), but behind the first write nothing fails the call any more. */
static status settle(struct bulk *bulk, struct batch_op *op, status outcome)
{
    status s = batch_settle(bulk->call, op, outcome);

    if (s.code == OK || !bulk->has_written)
        return s;
    op->failure = failure_of(s);
    return STATUS_OK;
}

static status take_outcome(struct bulk *bulk, struct batch_op *op)
{
    TRY(settle(bulk, op, op->write->outcome));
    if (!batch_op_failed(op))
        batch_take_outcome(op);
    return STATUS_OK;
}

static void note_written(struct bulk *bulk, const struct write_op *writes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        bulk->has_written |= writes[i].outcome.code == OK;
}

/* An operation stays staged until its outcome was taken; `upto` is the first that was not gathered. */
static status take_outcomes(struct bulk *bulk, size_t upto)
{
    for (size_t i = bulk->first; i < upto; i++) {
        struct batch_op *op = &bulk->batch->ops[i];
        if (op->write && !batch_op_failed(op))
            TRY(take_outcome(bulk, op));
    }
    return STATUS_OK;
}

/* Nothing that was gathered has been written. */
static status fail_gathered(struct bulk *bulk, size_t upto, status why)
{
    for (size_t i = bulk->first; i < upto; i++) {
        struct batch_op *op = &bulk->batch->ops[i];
        if (op->write && !batch_op_failed(op))
            TRY(settle(bulk, op, why));
    }
    return STATUS_OK;
}

/* ---- patches ---------------------------------------------------------------------------------------- */

static status stage_patch(struct call *call, struct batch *batch, struct batch_op *op)
{
    struct document document;

    TRY(document_read(&call->request, call->collection, op->place.key, &document));
    uint64_t seq = document.seq;
    status s = op->if_match != 0 && op->if_match != seq
                   ? call_fail(call, FAIL_PRECONDITION, NULL)
                   : item_patch_apply(call, op->patch, &document, &op->item);
    document_release(&call->request, &document);
    TRY(s);
    return batch_stage(call, batch, op, seq);
}

static bool is_raced(const struct batch_op *op)
{
    return op->kind == BATCH_PATCH && op->write && op->write->outcome.code == PRECONDITION;
}

/* Somebody else wrote the item between the look and the commit. */
static status patch_again(struct bulk *bulk, struct batch_op *op)
{
    struct call *call = bulk->call;
    struct batch alone = { .writes = op->write, .is_minimal = bulk->batch->is_minimal };

    for (int i = 0; i < PATCH_TRIES && is_raced(op); i++) {
        alone.write_count = 0;
        TRY(settle(bulk, op, stage_patch(call, &alone, op)));
        if (batch_op_failed(op))
            return STATUS_OK;
        status s = document_write(&call->request, op->write, 1, WRITE_ALL_OR_NOTHING);
        if (s.code != OK && op->write->outcome.code == OK)
            return settle(bulk, op, s);
        note_written(bulk, op->write, 1);
    }
    if (is_raced(op))
        batch_op_fail(op, FAIL_RETRY);
    return STATUS_OK;
}

static status patch_raced(struct bulk *bulk, size_t upto)
{
    for (size_t i = bulk->first; i < upto; i++) {
        struct batch_op *op = &bulk->batch->ops[i];
        if (!batch_op_failed(op) && is_raced(op))
            TRY(patch_again(bulk, op));
    }
    return STATUS_OK;
}

/* ---- commits ---------------------------------------------------------------------------------------- */

static status commit_each(struct bulk *bulk, size_t upto)
{
    struct batch *batch = bulk->batch;
    status s = document_write(&bulk->call->request, batch->writes, batch->write_count, WRITE_EACH);

    if (s.code != OK)
        return bulk->has_written ? fail_gathered(bulk, upto, s) : s;
    note_written(bulk, batch->writes, batch->write_count);
    TRY(patch_raced(bulk, upto));
    return take_outcomes(bulk, upto);
}

static void stop_behind(struct bulk *bulk, const struct batch_op *failed)
{
    struct batch *batch = bulk->batch;

    bulk->is_stopped = true;
    for (size_t i = (size_t)(failed - batch->ops) + 1; i < batch->count; i++) {
        batch_op_fail(&batch->ops[i], FAIL_DEPENDENCY);
        batch->ops[i].write = NULL;
    }
}

static struct batch_op *op_of_write(const struct bulk *bulk, size_t write)
{
    struct batch *batch = bulk->batch;
    size_t at = bulk->first;

    while (batch->ops[at].write != &batch->writes[write])
        at++;
    return &batch->ops[at];
}

/* The longest row of writes from `from` on that can be committed; `*end_out` is the one it ends at. */
static status commit_row(struct bulk *bulk, size_t from, size_t *end_out)
{
    struct batch *batch = bulk->batch;

    *end_out = batch->write_count;
    while (*end_out > from) {
        status s = document_write(&bulk->call->request, batch->writes + from, *end_out - from,
                                  WRITE_ALL_OR_NOTHING);
        if (s.code == OK) {
            note_written(bulk, batch->writes + from, *end_out - from);
            return s;
        }
        size_t refused = from;
        while (refused < *end_out && batch->writes[refused].outcome.code == OK)
            refused++;
        if (refused == *end_out)
            return s;
        *end_out = refused;
    }
    return STATUS_OK;
}

static status commit_until_failure(struct bulk *bulk, size_t upto)
{
    struct batch *batch = bulk->batch;
    size_t from = 0, end;

    while (from < batch->write_count && !bulk->is_stopped) {
        status s = commit_row(bulk, from, &end);
        if (s.code == OK && end == batch->write_count)
            break;
        struct batch_op *op = op_of_write(bulk, s.code == OK ? end : from);
        if (s.code == OK && is_raced(op))
            TRY(patch_again(bulk, op));
        else
            TRY(settle(bulk, op, s.code == OK ? op->write->outcome : s));
        if (batch_op_failed(op))
            stop_behind(bulk, op);
        from = end + 1;
    }
    return take_outcomes(bulk, upto);
}

static status flush(struct bulk *bulk, size_t upto)
{
    struct batch *batch = bulk->batch;
    status s = STATUS_OK;

    if (batch->write_count > 0)
        s = batch->continues ? commit_each(bulk, upto) : commit_until_failure(bulk, upto);
    batch->writes += batch->write_count;
    batch->write_count = 0;
    bulk->first = upto;
    bulk->has_patch = false;
    return s;
}

/* ---- operations ------------------------------------------------------------------------------------- */

/* Does the operation have to know what becomes of a gathered write? */
static bool needs_flush(const struct bulk *bulk, const struct batch_op *op)
{
    const struct batch *batch = bulk->batch;

    for (const struct batch_op *before = batch->ops + bulk->first; before < op; before++) {
        if (!before->write || batch_op_failed(before) ||
            !bytes_equal(before->write->key.id, op->place.key.id) ||
            !bytes_equal(before->write->key.partition, op->place.key.partition))
            continue;
        if (op->kind == BATCH_READ || op->kind == BATCH_PATCH || before->kind == BATCH_PATCH)
            return true;
    }
    return false;
}

static status read_op(struct call *call, struct batch_op *op)
{
    struct document document;

    TRY(document_read(&call->request, call->collection, op->place.key, &document));
    status s = batch_show(call, op, &document);
    document_release(&call->request, &document);
    return s;
}

static status run_op(struct bulk *bulk, struct batch_op *op)
{
    struct call *call = bulk->call;

    switch (op->kind) {
    case BATCH_READ:
        return read_op(call, op);
    case BATCH_PATCH:
        bulk->has_patch = true;
        return stage_patch(call, bulk->batch, op);
    case BATCH_CREATE:
        TRY(item_check_free(call, &op->place));
        return batch_stage(call, bulk->batch, op, 0);
    case BATCH_UPSERT:
        if (op->place.is_taken)
            TRY(item_check_free(call, &op->place));
        return batch_stage(call, bulk->batch, op, op->if_match);
    case BATCH_REPLACE:
    case BATCH_DELETE:
        return batch_stage(call, bulk->batch, op, op->if_match);
    }
    return STATUS_OK;
}

static status run_next(struct bulk *bulk, size_t at)
{
    struct batch_op *op = &bulk->batch->ops[at];

    /* Where ids are not all keys, what was gathered decides where the item lies. */
    if (foreign_is_own_marked(bulk->call->collection))
        TRY(flush(bulk, at));
    if (bulk->is_stopped)
        return STATUS_OK;
    if (!batch_op_failed(op)) {
        TRY(settle(bulk, op, batch_place(bulk->call, op)));
        if (needs_flush(bulk, op))
            TRY(flush(bulk, at));
        if (bulk->is_stopped)
            return STATUS_OK;
        if (!batch_op_failed(op))
            TRY(settle(bulk, op, run_op(bulk, op)));
    }
    if (!batch_op_failed(op) || bulk->batch->continues)
        return STATUS_OK;
    /* What was gathered in front of it counts; if that fails, it is the one to stop at. */
    TRY(flush(bulk, at));
    if (!bulk->is_stopped)
        stop_behind(bulk, op);
    return STATUS_OK;
}

/* On the committing thread; a commit that failed comes here only behind another one. */
static status reply_committed(struct call *call)
{
    struct bulk *bulk = call->context;

    TRY(take_outcomes(bulk, bulk->batch->count));
    return batch_reply(call, bulk->batch);
}

status batch_run_bulk(struct call *call, struct batch *batch)
{
    struct bulk *bulk;

    TRY(ARENA_NEW(call->arena, 1, &bulk));
    *bulk = (struct bulk){ .call = call, .batch = batch };
    for (size_t i = 0; i < batch->count && !bulk->is_stopped; i++)
        TRY(run_next(bulk, i));
    call->context = bulk;
    if (batch->write_count == 0 || !batch->continues || bulk->has_patch) {
        TRY(flush(bulk, batch->count));
        return batch_reply(call, batch);
    }
    call->hears_failure = bulk->has_written;
    status s = call_commit(call, batch->writes, batch->write_count, WRITE_EACH, reply_committed);
    if (s.code == OK || !bulk->has_written)
        return s;
    TRY(fail_gathered(bulk, batch->count, s));
    return batch_reply(call, batch);
}
