/* Item batch, atomic: every operation or none, in one commit.
 *
 * The operations are played through first, in order, on what is stored and on what the operations before
 * them would have made of it: that answers reads, applies patches and finds the first operation that has to
 * fail. Then all writes go into one commit, where the engine decides again under its latches. A patch is
 * guarded by the version it was made from, and so is what was found by an id that can change; if somebody else
 * was faster, the whole batch is played again on a new picture, a limited number of times.
 *
 * Keeps: if one operation fails, it has its status, every other one 424, and nothing is written.
 * Start reading at batch_run_atomic(). */
#include "front/cosmos/item_batch.h"

enum { BATCH_TRIES = 32 };

/* What an operation finds at its place. */
struct seen {
    bool is_there;
    bool is_stored; /* `document` has to be released */
    struct document document;
    const struct batch_op *writer; /* the operation before it that wrote it; NULL: it is stored */
};

/* ---- playing through -------------------------------------------------------------------------------- */

static const struct batch_op *last_writer(const struct batch *batch, size_t before,
                                          const struct document_key *key)
{
    for (size_t i = before; i > 0; i--) {
        const struct batch_op *op = &batch->ops[i - 1];
        if (op->write && bytes_equal(op->write->key.id, key->id))
            return op;
    }
    return NULL;
}

static status look(struct call *call, const struct batch *batch, size_t at, struct seen *out)
{
    struct document_key key = batch->ops[at].place.key;

    *out = (struct seen){ .writer = last_writer(batch, at, &key) };
    if (out->writer) {
        out->is_there = out->writer->kind != BATCH_DELETE;
        out->document = (struct document){ .key = key, .bson = out->writer->item.bson };
        return STATUS_OK;
    }
    status s = document_read(&call->request, call->collection, key, &out->document);
    out->is_there = out->is_stored = s.code == OK;
    return s.code == NOT_FOUND ? STATUS_OK : s;
}

static status check(struct call *call, const struct batch_op *op, const struct seen *seen)
{
    bool needs_one = op->kind != BATCH_CREATE && op->kind != BATCH_UPSERT;

    if (op->place.is_taken && !seen->writer)
        return item_check_free(call, &op->place);
    if (op->kind == BATCH_CREATE && seen->is_there)
        return call_fail(call, FAIL_CONFLICT, NULL);
    if (needs_one && !seen->is_there)
        return call_fail(call, FAIL_NO_ITEM, NULL);
    if (op->kind == BATCH_CREATE || op->if_match == 0)
        return STATUS_OK;
    if (!seen->is_there || seen->document.seq != op->if_match)
        return call_fail(call, FAIL_PRECONDITION, NULL);
    return STATUS_OK;
}

/* What was found by an id that can change is replaced or deleted in the version that had it. */
static uint64_t version_to_write(const struct batch_op *op, const struct seen *seen)
{
    bool is_bound = (op->kind == BATCH_REPLACE || op->kind == BATCH_DELETE) && !seen->writer;

    return op->if_match == 0 && is_bound ? op->place.seq : op->if_match;
}

static status play_seen(struct call *call, struct batch *batch, struct batch_op *op,
                        const struct seen *seen)
{
    TRY(check(call, op, seen));
    if (op->kind == BATCH_READ) {
        op->shown = seen->writer;
        return batch_show(call, op, &seen->document);
    }
    if (op->kind != BATCH_PATCH)
        return batch_stage(call, batch, op, version_to_write(op, seen));
    TRY(item_patch_apply(call, op->patch, &seen->document, &op->item));
    return batch_stage(call, batch, op, seen->document.seq);
}

/* What an operation has done to an item counts for those behind it, so they find it where that one did. */
static status place(struct call *call, const struct batch *batch, size_t at)
{
    struct batch_op *op = &batch->ops[at];

    for (size_t i = at; i > 0; i--) {
        const struct batch_op *before = &batch->ops[i - 1];
        if (before->write && bytes_equal(before->id, op->id)) {
            op->place = before->place;
            return STATUS_OK;
        }
    }
    return batch_place(call, op);
}

static status play(struct call *call, struct batch *batch, size_t at)
{
    struct batch_op *op = &batch->ops[at];
    struct seen seen;

    op->write = NULL;
    op->shown = NULL;
    TRY(place(call, batch, at));
    TRY(look(call, batch, at, &seen));
    status s = play_seen(call, batch, op, &seen);
    if (seen.is_stored)
        document_release(&call->request, &seen.document);
    return s;
}

/* Several reads have to see one instant, which is that of the first scan of a request. */
static status fix_instant(struct call *call, const struct batch *batch)
{
    struct scan_spec spec = { .start = batch->partition.encoded,
                              .end = batch->partition.encoded,
                              .is_end_inclusive = true };
    struct scan *scan;
    size_t reads = 0;

    for (size_t i = 0; i < batch->count; i++)
        reads += batch->ops[i].kind == BATCH_READ;
    if (reads < 2)
        return STATUS_OK;
    TRY(scan_open(&call->request, call->collection, &spec, &scan));
    scan_close(scan);
    return STATUS_OK;
}

/* ---- failing ---------------------------------------------------------------------------------------- */

static bool has_failed(const struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        if (batch_op_failed(&batch->ops[i]))
            return true;
    }
    return false;
}

/* The first operation that failed keeps its status; all others were not carried out. */
static status reply_failed(struct call *call, struct batch *batch)
{
    bool is_behind = false;

    for (size_t i = 0; i < batch->count; i++) {
        struct batch_op *op = &batch->ops[i];
        bool is_the_one = batch_op_failed(op) && !is_behind;
        is_behind |= is_the_one;
        if (!is_the_one)
            batch_op_fail(op, FAIL_DEPENDENCY);
        op->write = NULL;
    }
    return batch_reply(call, batch);
}

/* The engine refused the commit because of one operation. */
static status take_refusal(struct call *call, struct batch *batch, status refusal,
                           bool *is_raced_out)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct batch_op *op = &batch->ops[i];
        if (!op->write || op->write->outcome.code == OK)
            continue;
        if (op->write->outcome.code == PRECONDITION && op->if_match == 0) {
            *is_raced_out = true;
            return STATUS_OK;
        }
        TRY(batch_settle(call, op, op->write->outcome));
        return reply_failed(call, batch);
    }
    return refusal;
}

static bool has_unique_key(const struct collection *collection)
{
    for (size_t i = 0; i < collection->index_count; i++) {
        if (collection->indexes[i].definition.is_unique)
            return true;
    }
    return false;
}

/* Playing through does not know unique keys; so an operation in front of the one that failed may have had
 * to fail first. The engine is asked, with a last write that it has to refuse. */
static status fail_at(struct call *call, struct batch *batch, struct batch_op *failed,
                      bool *is_raced_out)
{
    if (batch->write_count == 0 || !has_unique_key(call->collection))
        return reply_failed(call, batch);
    batch->writes[batch->write_count] = (struct write_op){ .collection = call->collection,
                                                           .kind = WRITE_DELETE,
                                                           .key = batch->writes[0].key,
                                                           .own_ttl = TTL_ABSENT,
                                                           .if_seq = UINT64_MAX };
    status s = document_write(&call->request, batch->writes, batch->write_count + 1,
                              WRITE_ALL_OR_NOTHING);
    ASSERT(s.code != OK);
    if (batch->writes[batch->write_count].outcome.code != OK)
        return reply_failed(call, batch);
    batch_op_fail(failed, FAIL_NONE); /* not the first one; it may be played again */
    return take_refusal(call, batch, s, is_raced_out);
}

/* ---- committing ------------------------------------------------------------------------------------- */

/* On the committing thread. An item may have expired since the batch was played through: then the engine
 * has refused the commit because of the operation on it. */
static status reply_committed(struct call *call)
{
    struct batch *batch = call->context;
    bool is_raced;

    if (call->outcome.code != OK)
        return take_refusal(call, batch, call->outcome, &is_raced);
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->ops[i].write)
            batch_take_outcome(&batch->ops[i]);
    }
    return batch_reply(call, batch);
}

static status run_once(struct call *call, struct batch *batch, bool *is_raced_out)
{
    *is_raced_out = false;
    batch->write_count = 0;
    TRY(fix_instant(call, batch));
    for (size_t i = 0; i < batch->count; i++) {
        TRY(batch_settle(call, &batch->ops[i], play(call, batch, i)));
        if (batch_op_failed(&batch->ops[i]))
            return fail_at(call, batch, &batch->ops[i], is_raced_out);
    }
    if (batch->write_count == 0)
        return batch_reply(call, batch);
    call->hears_failure = true;
    status s = call_commit(call, batch->writes, batch->write_count, WRITE_ALL_OR_NOTHING,
                           reply_committed);
    return s.code == OK ? s : take_refusal(call, batch, s, is_raced_out);
}

status batch_run_atomic(struct call *call, struct batch *batch)
{
    bool is_raced;

    if (has_failed(batch))
        return reply_failed(call, batch);
    for (int i = 0; i < BATCH_TRIES; i++) {
        TRY(run_once(call, batch, &is_raced));
        if (!is_raced)
            return STATUS_OK;
        TRY(call_renew(call));
    }
    return call_fail(call, FAIL_RETRY, NULL);
}
