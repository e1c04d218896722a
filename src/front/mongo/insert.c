/* Insert: new documents, one or many.
 *
 * One document is handed to the commit and the worker goes on. Many go in lots, each a commit of its own that is on
 * its way to the disk while the next lot is taken in; what is under way is waited for after LIMIT_WRITE_COMMAND_COMMIT
 * documents, and when something fails. In order means: up to the first that fails, and nothing behind it. Such a lot is
 * tried as a whole; if it fails, the documents in front of the first failure are written again without it. Without an
 * order every document stands for itself.
 *
 * What fails is told by its number in the command; the command itself succeeds all the same.
 *
 * Keeps: nothing is touched after the commit was queued, until it was waited for. Start reading at serve_insert(). */
#include "front/mongo/insert.h"

#include "front/mongo/handlers.h"
#include "front/mongo/index_build.h"
#include "front/mongo/kept.h"
#include "front/mongo/retry.h"
#include "front/mongo/write_errors.h"

/* Documents that were taken in, waiting for their commit. */
struct insertion {
    bytes name;
    const struct collection *collection;
    bool is_ordered;
    struct write_op *ops;
    struct value *ids;
    size_t *numbers; /* of each operation, in the list */
    size_t count, room;
    size_t sent;               /* of these, to be committed; those behind are the next lot */
    struct write_train *train; /* NULL: everything is one lot */
    int64_t inserted;
    struct write_errors errors;
    struct arena *errors_memory; /* of many documents, whose own is given back with each commit */
    arena_position mark;
};

static status note_outcome(struct command *command, struct insertion *insertion, size_t at)
{
    const struct write_op *op = &insertion->ops[at];

    if (op->outcome.code == OK) {
        insertion->inserted++;
        return STATUS_OK;
    }
    if (op->outcome.code == CONFLICT) /* the transaction has to be run again */
        return op->outcome;
    struct fault fault = fault_of(op->outcome);
    if (op->outcome.code == EXISTS)
        TRY(kept_fault_duplicate_id(command, insertion->name, op->collection, insertion->ids[at],
                                    &fault));
    else if (op->outcome.code == DUPLICATE_KEY || op->outcome.code == INVALID)
        TRY(index_fault_of_write(command, op, &fault));
    return write_errors_add(&insertion->errors, insertion->numbers[at], &fault);
}

static status reply_inserted(struct command *command, struct insertion *insertion)
{
    reply_int32(&command->reply, "n", (int32_t)insertion->inserted);
    write_errors_append(&insertion->errors, &command->reply);
    command->work.inserted = insertion->inserted;
    return STATUS_OK;
}

/* ---- one document ----------------------------------------------------------------------------------- */

/* On the committing thread. */
static status reply_one(struct command *command)
{
    struct insertion *insertion = command->context;

    TRY(command->outcome);
    TRY(note_outcome(command, insertion, 0));
    return reply_inserted(command, insertion);
}

/* ---- many ------------------------------------------------------------------------------------------- */

/* Of many documents the first part is committed while the rest is taken in. Nothing is committed while that part itself is taken in, and
 * committing takes about three times as long: so it is as small as it takes for the rest to be ready when it is committed. Rows that lie
 * near each other are cheaper to write, so there are no more parts, and few documents are not parted. */
enum { PARTED_FROM = 500, FIRST_PERCENT = 26 };

static bool is_first_part(const struct insertion *insertion)
{
    return insertion->train && insertion->room >= PARTED_FROM &&
           insertion->count == insertion->room * FIRST_PERCENT / 100;
}

static bool is_over(const struct insertion *insertion)
{
    return insertion->is_ordered && insertion->errors.count > 0;
}

static size_t lot_count(const struct insertion *insertion)
{
    return insertion->count - insertion->sent;
}

/* In the lot; `count` if there is none. */
static size_t first_failure(const struct insertion *insertion)
{
    size_t at = insertion->sent;

    while (at < insertion->count && insertion->ops[at].outcome.code == OK)
        at++;
    return at;
}

/* Whether the lot is written when this returns, or only on its way. What comes last has nothing to overlap with. */
enum haste { WRITTEN, SENT };

static status send(struct command *command, struct insertion *insertion, enum write_mode mode,
                   enum haste haste)
{
    struct write_op *ops = &insertion->ops[insertion->sent];
    const size_t count = lot_count(insertion);

    TRY(haste == SENT ? write_train_add(insertion->train, ops, count, mode)
                      : document_write(&command->request, ops, count, mode));
    insertion->sent = insertion->count;
    return STATUS_OK;
}

/* All or nothing, and one note for all, which only works if they follow each other in the list. */
static status send_whole(struct command *command, struct insertion *insertion, enum haste haste)
{
    const size_t first = insertion->sent;

    TRY(retry_note(command, &insertion->ops[first], insertion->numbers[first], lot_count(insertion),
                   BYTES_NONE));
    return send(command, insertion, WRITE_ALL_OR_NOTHING, haste);
}

/* Each for itself, with a note of its own. */
static status send_each(struct command *command, struct insertion *insertion, enum haste haste)
{
    for (size_t i = insertion->sent; i < insertion->count; i++)
        TRY(retry_note(command, &insertion->ops[i], insertion->numbers[i], 1, BYTES_NONE));
    return send(command, insertion, WRITE_EACH, haste);
}

/* Waits for all that was sent, and counts it; in order, up to the first that has failed. */
static status settle(struct command *command, struct insertion *insertion)
{
    if (insertion->train)
        write_train_wait(insertion->train);
    for (size_t i = 0; i < insertion->sent && !is_over(insertion); i++)
        TRY(note_outcome(command, insertion, i));
    insertion->count = insertion->sent = 0;
    return STATUS_OK;
}

/* Everything in front of the first failure; that one is noted. */
static status send_in_order(struct command *command, struct insertion *insertion, enum haste haste)
{
    status s = send_whole(command, insertion, haste);

    if (s.code == OK)
        return s;
    const size_t failed = first_failure(insertion);
    if (failed == insertion->count)
        return s;
    const status why = insertion->ops[failed].outcome;
    insertion->count = failed;
    /* Each for itself: whoever wrote in between may have taken one of the ids. */
    if (lot_count(insertion) > 0)
        TRY(send_each(command, insertion, WRITTEN));
    TRY(settle(command, insertion));
    if (is_over(insertion))
        return STATUS_OK;
    insertion->ops[failed].outcome = why;
    return note_outcome(command, insertion, failed);
}

/* One note for all is cheaper than many, so that is tried first. */
static status send_in_no_order(struct command *command, struct insertion *insertion,
                               enum haste haste)
{
    const size_t first = insertion->sent, last = insertion->count - 1;
    const bool is_row = insertion->numbers[last] - insertion->numbers[first] == last - first;

    if (command->is_retryable && is_row && send_whole(command, insertion, haste).code == OK)
        return STATUS_OK;
    return send_each(command, insertion, haste);
}

static status send_lot(struct command *command, struct insertion *insertion, enum haste haste)
{
    if (lot_count(insertion) == 0)
        return STATUS_OK;
    return insertion->is_ordered ? send_in_order(command, insertion, haste)
                                 : send_in_no_order(command, insertion, haste);
}

static status commit(struct command *command, struct insertion *insertion)
{
    TRY(send_lot(command, insertion, WRITTEN));
    TRY(settle(command, insertion));
    if (insertion->errors_memory)
        arena_release(command->arena, insertion->mark);
    return STATUS_OK;
}

/* One document more; what cannot be stored is an error of its own. */
static status take(struct command *command, struct insertion *insertion, size_t number,
                   bytes document)
{
    struct kept kept;
    status s = kept_take(command, insertion->collection, BYTES_NONE, document, &kept);

    if (s.code == OK) {
        insertion->ops[insertion->count] = (struct write_op){ .collection = insertion->collection,
                                                              .kind = WRITE_INSERT,
                                                              .key = kept.key,
                                                              .document = kept.bson,
                                                              .own_ttl = kept.own_ttl };
        insertion->ids[insertion->count] = kept.id;
        insertion->numbers[insertion->count++] = number;
        return s;
    }
    struct fault fault = command->fault.code != ERROR_NONE ? command->fault : fault_of(s);
    command->fault = (struct fault){ 0 };
    if (insertion->errors_memory) /* a commit gives back what it lies in */
        fault_keep_text(insertion->errors_memory, &fault);
    if (insertion->is_ordered)
        TRY(commit(command, insertion));
    return is_over(insertion) ? STATUS_OK : write_errors_add(&insertion->errors, number, &fault);
}

status insertion_add(struct command *command, struct insertion *insertion, size_t number,
                     bytes document)
{
    if (is_over(insertion))
        return STATUS_OK;
    if (retry_is_done(command, number, NULL)) {
        TRY(commit(command, insertion)); /* what one note tells of follows each other */
        insertion->inserted += !is_over(insertion);
        return STATUS_OK;
    }
    TRY(take(command, insertion, number, document));
    if (insertion->count == insertion->room)
        return commit(command, insertion);
    return is_first_part(insertion) ? send_lot(command, insertion, SENT) : STATUS_OK;
}

status insertion_end(struct command *command, struct insertion *insertion)
{
    return is_over(insertion) ? STATUS_OK : commit(command, insertion);
}

static status insert_all(struct command *command, struct insertion *insertion,
                         struct argument_list *list)
{
    bytes document;
    bool has;

    for (size_t number = 0; !is_over(insertion); number++) {
        TRY(command_list_next(command, list, &document, &has));
        if (!has)
            break;
        TRY(insertion_add(command, insertion, number, document));
    }
    TRY(insertion_end(command, insertion));
    return reply_inserted(command, insertion);
}

status insertion_begin(struct command *command, const struct insertion_wish *wish,
                       struct insertion **out)
{
    struct insertion *insertion;
    size_t room = wish->room < LIMIT_WRITE_COMMAND_COMMIT ? wish->room : LIMIT_WRITE_COMMAND_COMMIT;

    TRY(ARENA_NEW(command->arena, 1, &insertion));
    *insertion =
        (struct insertion){ .name = wish->name, .is_ordered = wish->is_ordered, .room = room };
    TRY(ARENA_NEW(command->arena, room, &insertion->ops));
    TRY(ARENA_NEW(command->arena, room, &insertion->ids));
    TRY(ARENA_NEW(command->arena, room, &insertion->numbers));
    write_errors_begin(&insertion->errors, command->arena);
    insertion->errors.faults = wish->faults;
    *out = insertion;
    return command_need(command, insertion->name, &insertion->collection);
}

/* From here on only the errors and what comes up to the next commit take memory. */
static status part_memory(struct command *command, struct insertion *insertion)
{
    insertion->errors_memory = arena_open(LIMIT_REQUEST_ARENA_BYTES);
    if (!insertion->errors_memory)
        return status_of(OUT_OF_MEMORY, "no memory for the errors of a write");
    write_errors_begin(&insertion->errors, insertion->errors_memory);
    insertion->mark = arena_mark(command->arena);
    return STATUS_OK;
}

static status insert_many(struct command *command, struct insertion *insertion,
                          struct argument_list *list)
{
    struct write_train train;

    TRY(part_memory(command, insertion));
    write_train_open(&train, &command->request);
    insertion->train = &train;
    status s = insert_all(command, insertion, list);
    write_train_close(&train);
    insertion->train = NULL;
    arena_close(insertion->errors_memory);
    return s;
}

status serve_insert(struct command *command)
{
    static const struct argument table[] = {
        {"documents",                 ARGUMENT_LIST,    true },
        { "ordered",                  ARGUMENT_FLAG,    false},
        { "bypassDocumentValidation", ARGUMENT_IGNORED, false},
        { "stmtId",                   ARGUMENT_IGNORED, false},
        { "stmtIds",                  ARGUMENT_IGNORED, false},
    };
    enum { DOCUMENTS, ORDERED };
    struct value given[ARRAY_COUNT(table)];
    struct insertion_wish wish = { 0 };
    struct insertion *insertion;
    struct argument_list list;

    TRY(command_arguments(command, table, ARRAY_COUNT(table), given));
    TRY(command_collection_name(command, &wish.name));
    TRY(command_list(command, "documents", &list, &wish.room));
    TRY(write_errors_check_count(command, wish.room));
    wish.is_ordered = argument_flag(given[ORDERED], true);
    TRY(insertion_begin(command, &wish, &insertion));
    if (wish.room > 1)
        return insert_many(command, insertion, &list);
    bytes document;
    bool has;
    TRY(command_list_next(command, &list, &document, &has));
    insertion->inserted = retry_is_done(command, 0, NULL);
    if (insertion->inserted == 0)
        TRY(take(command, insertion, 0, document));
    if (insertion->count == 0)
        return reply_inserted(command, insertion);
    TRY(retry_note(command, insertion->ops, 0, 1, BYTES_NONE));
    command->context = insertion;
    return command_commit(command, insertion->ops, 1, WRITE_EACH, reply_one);
}
