/* Modify: finds documents and changes them.
 *
 * One walk over what fulfils the condition, at one instant; what is to become of each document is decided
 * from what the walk saw, and written only if the document is still that version. Many documents go in
 * commits of LIMIT_WRITE_COMMAND_COMMIT. A document that somebody else has changed in between is read
 * again and decided anew; if it no longer fulfils the condition, or is gone, it is left alone. When one document is wanted
 * and that one is gone, the walk goes on with the next.
 *
 * Keeps: a version is changed at most once; the walk never sees what this command has written, so nothing
 * is changed twice.
 * Threads: the command's, which waits for its commits. Start reading at modify_run(). */
#include "front/mongo/modify.h"

#include "front/mongo/hint.h"
#include "front/mongo/index_build.h"
#include "front/mongo/projection.h"
#include "front/mongo/retry.h"

enum {
    ATTEMPTS_MAX = 1000,
    BATCH_BYTES_MAX = 16 * 1024 * 1024,
    ROUND_BYTES_MAX = 64 * 1024 * 1024,
};

/* Changes on their way to a commit. */
struct batch {
    struct write_op *ops;
    size_t count, room;
    size_t bytes;
};

static status copy_key(struct arena *arena, struct document_key key, struct document_key *out)
{
    TRY(arena_copy(arena, key.partition, &out->partition));
    return arena_copy(arena, key.id, &out->id);
}

/* ---- one decision ----------------------------------------------------------------------------------- */

static status check_same_key(struct command *command, const struct modify *modify,
                             const struct kept *kept, struct document_key key)
{
    if (!bytes_equal(kept->key.id, key.id))
        return command_fail(command, ERROR_ImmutableField,
                            "Performing an update on the path '_id' would modify the immutable "
                            "field '_id'");
    if (!bytes_equal(kept->key.partition, key.partition))
        return command_fail(command, ERROR_ImmutableField,
                            "the update would change the partition key of the document, '%.*s', "
                            "which must stay as it is",
                            (int)modify->collection->definition.partition_paths[0].len,
                            (const char *)modify->collection->definition.partition_paths[0].data);
    return STATUS_OK;
}

/* The operation that comes of a row; *has_out is false if nothing is to be written. */
static status decide(struct command *command, struct modify *modify, const struct select_row *row,
                     struct write_op *op, bool *has_out)
{
    enum modify_verdict verdict;
    struct kept kept;
    bytes after;

    *has_out = false;
    TRY(modify->decide(command, modify->context, row, &verdict, &after));
    if (modify->wants_documents) {
        TRY(arena_copy(command->arena, row->document, &modify->before));
        modify->after = modify->before;
    }
    if (verdict == MODIFY_KEEP)
        return STATUS_OK;
    *has_out = true;
    *op = (struct write_op){ .collection = modify->collection,
                             .kind = verdict == MODIFY_DELETE ? WRITE_DELETE : WRITE_REPLACE,
                             .own_ttl = TTL_ABSENT,
                             .if_seq = row->seq };
    TRY(copy_key(command->arena, row->key, &op->key));
    modify->after = BYTES_NONE;
    if (verdict == MODIFY_DELETE)
        return STATUS_OK;
    TRY(kept_take(command, modify->collection, row->document, after, &kept));
    TRY(check_same_key(command, modify, &kept, row->key));
    op->document = kept.bson;
    op->own_ttl = kept.own_ttl;
    modify->after = kept.bson;
    return STATUS_OK;
}

/* Of one document: what it did is noted with it. */
static status write_one(struct command *command, struct modify *modify, struct write_op *op)
{
    bytes answer = BYTES_NONE;

    if (command->is_retryable && modify->answer)
        TRY(modify->answer(command, modify, &answer));
    TRY(retry_note(command, op, modify->statement, 1, answer));
    return document_write(&command->request, op, 1, WRITE_EACH);
}

/* ---- a document that somebody else has changed ------------------------------------------------------ */

static bool is_overtaken(status outcome)
{
    return outcome.code == PRECONDITION || outcome.code == NOT_FOUND;
}

/* The document as it is now, if it still fulfils the condition. */
static status look_again(struct command *command, struct modify *modify, struct document_key key,
                         struct document *document, struct select_row *row, bool *is_there_out)
{
    struct matching matching = { 0 };

    *is_there_out = false;
    status s = document_read(&command->request, modify->collection, key, document);
    if (s.code == NOT_FOUND)
        return STATUS_OK;
    TRY(s);
    *row = (struct select_row){ .key = key, .seq = document->seq };
    s = kept_show(command->arena, modify->collection, key, document->bson, &row->document);
    if (s.code == OK)
        s = condition_holds(command, modify->condition, command->arena, row->document, &matching,
                            is_there_out);
    row->has_position = matching.has_position;
    row->position = matching.position;
    return s;
}

/* Tries until nobody comes in between. *is_done_out is false if the document is no longer one of those. */
static status settle_one(struct command *command, struct modify *modify, struct document_key key,
                         bool *is_done_out)
{
    for (int attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
        struct document document = { 0 };
        struct select_row row;
        struct write_op op;
        bool has_op = false;
        request_loosen(&command->request);
        status s = look_again(command, modify, key, &document, &row, is_done_out);
        if (s.code == OK && *is_done_out)
            s = decide(command, modify, &row, &op, &has_op);
        if (document.bson.len > 0)
            document_release(&command->request, &document);
        TRY(s);
        if (!*is_done_out || !has_op) {
            modify->matched += *is_done_out;
            return STATUS_OK;
        }
        TRY(write_one(command, modify, &op));
        if (is_overtaken(op.outcome))
            continue;
        TRY(index_outcome(command, &op));
        modify->matched++;
        modify->changed++;
        return STATUS_OK;
    }
    return command_fail(command, ERROR_WriteConflict,
                        "the document was changed by others %d times while it was to be updated",
                        ATTEMPTS_MAX);
}

/* ---- one document ----------------------------------------------------------------------------------- */

/* What the walk found is tried first; true in *is_done_out if it was changed. */
static status change_found(struct command *command, struct modify *modify, struct write_op *op,
                           bool *is_overtaken_out)
{
    *is_overtaken_out = false;
    if (command->explain) {
        modify->matched++;
        modify->changed++;
        return STATUS_OK;
    }
    TRY(write_one(command, modify, op));
    if (is_overtaken(op->outcome)) {
        *is_overtaken_out = true;
        return STATUS_OK;
    }
    TRY(index_outcome(command, op));
    modify->matched++;
    modify->changed++;
    return STATUS_OK;
}

static status run_one(struct command *command, struct modify *modify)
{
    struct select_spec spec = { .collection = modify->collection,
                                .condition = modify->condition,
                                .order = modify->order,
                                .is_reverse = modify->is_reverse,
                                .by = modify->by,
                                .hint = modify->hint,
                                .wanted = 1 };
    bool is_done = false, has_row = true, has_op, is_late;
    struct select *select;
    struct select_row row;
    struct write_op op;

    for (int attempt = 0; attempt < ATTEMPTS_MAX && !is_done && has_row; attempt++) {
        TRY(select_open(command, &spec, &select));
        status s = select_next(select, &row, &has_row);
        if (s.code == OK && has_row)
            s = decide(command, modify, &row, &op, &has_op);
        if (s.code == OK)
            s = select_position(select, command->arena, &spec.after);
        select_close(select);
        request_loosen(&command->request);
        TRY(s);
        if (!has_row)
            return STATUS_OK;
        if (!has_op) {
            modify->matched++;
            return STATUS_OK;
        }
        TRY(change_found(command, modify, &op, &is_late));
        is_done = !is_late;
        if (is_late)
            TRY(settle_one(command, modify, op.key, &is_done));
    }
    return STATUS_OK;
}

/* ---- many ------------------------------------------------------------------------------------------- */

static status commit(struct command *command, struct modify *modify, struct batch *batch,
                     struct buffer *overtaken)
{
    if (command->explain) {
        modify->matched += (int64_t)batch->count;
        modify->changed += (int64_t)batch->count;
        batch->count = batch->bytes = 0;
        return STATUS_OK;
    }
    if (batch->count > 0)
        TRY(document_write(&command->request, batch->ops, batch->count, WRITE_EACH));
    for (size_t i = 0; i < batch->count; i++) {
        const struct write_op *op = &batch->ops[i];
        if (is_overtaken(op->outcome)) {
            buffer_append(overtaken, bytes_of(&op->key, sizeof(op->key)));
            continue;
        }
        TRY(index_outcome(command, op));
        modify->matched++;
        modify->changed++;
    }
    batch->count = batch->bytes = 0;
    return overtaken->is_failed ? arena_exhausted(command->arena) : STATUS_OK;
}

/* Until there is no more, or so much memory is used that it is time to give it back. */
static status walk_round(struct command *command, struct modify *modify, struct select *select,
                         uint64_t last_seq, struct buffer *overtaken)
{
    size_t used = arena_used_bytes(command->arena);
    struct batch batch = { .room = LIMIT_WRITE_COMMAND_COMMIT };
    struct select_row row;
    bool has_row, has_op;

    TRY(ARENA_NEW(command->arena, batch.room, &batch.ops));
    while (arena_used_bytes(command->arena) - used < ROUND_BYTES_MAX) {
        TRY(select_next(select, &row, &has_row));
        if (!has_row)
            break;
        if (row.seq > last_seq)
            continue;
        TRY(decide(command, modify, &row, &batch.ops[batch.count], &has_op));
        if (!has_op) {
            modify->matched++;
            continue;
        }
        batch.bytes += batch.ops[batch.count++].document.len;
        if (batch.count == batch.room || batch.bytes >= BATCH_BYTES_MAX)
            TRY(commit(command, modify, &batch, overtaken));
    }
    return commit(command, modify, &batch, overtaken);
}

/* From a position on, which is moved. A change may move a document on in the index that is walked, so a later
 * round passes over what was written since the first began. */
static status run_round(struct command *command, struct modify *modify, uint64_t start_seq,
                        struct buffer *position, bool *is_over_out)
{
    struct select_spec spec = { .collection = modify->collection,
                                .condition = modify->condition,
                                .by = modify->by,
                                .hint = modify->hint,
                                .after = bytes_of(position->data, position->len) };
    struct buffer overtaken = buffer_in(command->arena);
    struct select *select;
    bool is_done;

    TRY(select_open(command, &spec, &select));
    bool may_meet_again = position->len > 0 && select_explain(select)->access == FIND_ACCESS_INDEX;
    status s = walk_round(command, modify, select, may_meet_again ? start_seq : UINT64_MAX,
                          &overtaken);
    bytes reached = BYTES_NONE;
    if (s.code == OK)
        s = select_position(select, command->arena, &reached);
    position->len = 0;
    buffer_append(position, reached);
    *is_over_out = select_is_over(select);
    select_close(select);
    TRY(s);
    size_t count = overtaken.len / sizeof(struct document_key);
    for (size_t i = 0; i < count; i++) {
        struct document_key key;
        memcpy(&key, overtaken.data + i * sizeof(key), sizeof(key));
        TRY(settle_one(command, modify, key, &is_done));
    }
    request_loosen(&command->request);
    return STATUS_OK;
}

static status run_many(struct command *command, struct modify *modify)
{
    struct buffer position = buffer_in(command->arena);
    uint64_t start_seq = request_last_seq(&command->request);
    bool is_over = false;

    buffer_reserve(&position, 2 * LIMIT_KEY_BYTES);
    while (!is_over) {
        arena_position mark = arena_mark(command->arena);
        TRY(run_round(command, modify, start_seq, &position, &is_over));
        arena_release(command->arena, mark);
    }
    return STATUS_OK;
}

status modify_choose(struct command *command, struct modify *modify, bytes sort, struct value hint)
{
    struct sort_wish wish = { 0 };
    struct hint way;

    if (sort.len > 0 && document_field_count(sort) > 0)
        TRY(sort_parse(command->arena, sort, modify->condition->collation, &wish, &command->fault));
    TRY(hint_read(command, modify->collection, hint, &way));
    modify->order = wish.order;
    modify->by = wish.is_natural ? FIND_NATURAL : way.by;
    modify->hint = way.index;
    modify->is_reverse = wish.is_natural ? wish.is_reverse : way.is_reverse;
    return STATUS_OK;
}

status modify_run(struct command *command, struct modify *modify)
{
    return modify->is_multi ? run_many(command, modify) : run_one(command, modify);
}
