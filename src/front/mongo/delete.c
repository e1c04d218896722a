/* Delete: the documents that fulfil a filter, one of them or all.
 *
 * Start reading at serve_delete(). */
#include "front/mongo/collating.h"
#include "front/mongo/handlers.h"
#include "front/mongo/modify.h"
#include "front/mongo/retry.h"
#include "front/mongo/write_errors.h"

static status decide(struct command *command, void *context, const struct select_row *row,
                     enum modify_verdict *verdict_out, bytes *after_out)
{
    (void)command;
    (void)context;
    (void)row;
    *verdict_out = MODIFY_DELETE;
    *after_out = BYTES_NONE;
    return STATUS_OK;
}

/* One statement {q, limit}. */
static status run_statement(struct command *command, struct modify *modify, bytes statement,
                            bytes let)
{
    static const struct argument table[] = {
        {"q",          ARGUMENT_DOCUMENT,         true },
        { "limit",     ARGUMENT_NUMBER,           true },
        { "collation", ARGUMENT_DOCUMENT,         false},
        { "hint",      ARGUMENT_DOCUMENT_OR_TEXT, false},
    };
    enum { Q, LIMIT, COLLATION, HINT };
    struct value given[ARRAY_COUNT(table)];
    const struct collation *by;

    TRY(command_fields(command, "delete.deletes", statement, table, ARRAY_COUNT(table), given));
    int64_t limit = argument_number(given[LIMIT], 0);
    if (limit != 0 && limit != 1)
        return command_fail(command, ERROR_FailedToParse,
                            "The limit field in delete objects must be 0 or 1. Got %lld",
                            (long long)limit);
    modify->is_multi = limit == 0;
    TRY(retry_check_single(command, modify->is_multi));
    TRY(collating_read(command, given[COLLATION], modify->collection, &by));
    TRY(condition_make(command, command->arena, value_document(given[Q]), let, by,
                       &modify->condition));
    TRY(modify_choose(command, modify, BYTES_NONE, given[HINT]));
    return modify->collection ? modify_run(command, modify) : STATUS_OK;
}

status delete_statement(struct command *command, bytes name, bytes let, size_t number,
                        bytes statement, int64_t *deleted_out)
{
    struct modify modify = { .name = name, .decide = decide, .statement = number };

    *deleted_out = 0;
    TRY(command_find_stored(command, name, &modify.collection));
    status s = run_statement(command, &modify, statement, let);
    *deleted_out = modify.changed;
    command->work.deleted += modify.changed;
    return s;
}

status serve_delete(struct command *command)
{
    static const struct argument table[] = {
        {"deletes",                   ARGUMENT_LIST,     true },
        { "ordered",                  ARGUMENT_FLAG,     false},
        { "let",                      ARGUMENT_DOCUMENT, false},
        { "bypassDocumentValidation", ARGUMENT_IGNORED,  false},
        { "stmtId",                   ARGUMENT_IGNORED,  false},
        { "stmtIds",                  ARGUMENT_IGNORED,  false},
    };
    enum { DELETES, ORDERED, LET };
    struct value given[ARRAY_COUNT(table)];
    const struct collection *collection;
    struct argument_list list;
    struct write_errors errors;
    int64_t deleted = 0;
    size_t count;
    bytes name, statement;
    bool has;

    TRY(command_arguments(command, table, ARRAY_COUNT(table), given));
    TRY(command_collection_name(command, &name));
    TRY(command_list(command, "deletes", &list, &count));
    TRY(write_errors_check_count(command, count));
    TRY(command_find_stored(command, name, &collection));
    bool is_ordered = argument_flag(given[ORDERED], true);
    write_errors_begin(&errors, command->arena);
    for (size_t i = 0; i < count && (!is_ordered || errors.count == 0); i++) {
        struct modify modify = {
            .collection = collection, .name = name, .decide = decide, .statement = i
        };
        TRY(command_list_next(command, &list, &statement, &has));
        if (retry_is_done(command, i, NULL)) {
            deleted++;
            continue;
        }
        status s = run_statement(command, &modify, statement, argument_document(given[LET]));
        deleted += modify.changed;
        command->work.deleted += modify.changed;
        if (s.code != OK)
            TRY(write_errors_take(&errors, command, i, s));
    }
    reply_int32(&command->reply, "n", (int32_t)deleted);
    write_errors_append(&errors, &command->reply);
    return STATUS_OK;
}
