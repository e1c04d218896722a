/* Find and modify: changes or removes one document and gives it back, as it was or as it is now.
 *
 * Start reading at serve_find_and_modify(). */
#include "front/mongo/change.h"
#include "front/mongo/handlers.h"

static const struct argument table[] = {
    {"query",                     ARGUMENT_DOCUMENT,         false},
    { "sort",                     ARGUMENT_DOCUMENT,         false},
    { "remove",                   ARGUMENT_FLAG,             false},
    { "update",                   ARGUMENT_ANY,              false},
    { "new",                      ARGUMENT_FLAG,             false},
    { "fields",                   ARGUMENT_DOCUMENT,         false},
    { "upsert",                   ARGUMENT_FLAG,             false},
    { "arrayFilters",             ARGUMENT_ARRAY,            false},
    { "let",                      ARGUMENT_DOCUMENT,         false},
    { "hint",                     ARGUMENT_DOCUMENT_OR_TEXT, false},
    { "collation",                ARGUMENT_DOCUMENT,         false},
    { "bypassDocumentValidation", ARGUMENT_IGNORED,          false},
    { "stmtId",                   ARGUMENT_IGNORED,          false},
};
enum { QUERY, SORT, REMOVE, UPDATE, NEW, FIELDS, UPSERT, ARRAY_FILTERS, LET, ARGUMENT_COUNT = 13 };

static status decide_removal(struct command *command, void *context, const struct select_row *row,
                             enum modify_verdict *verdict_out, bytes *after_out)
{
    (void)command;
    (void)context;
    (void)row;
    *verdict_out = MODIFY_DELETE;
    *after_out = BYTES_NONE;
    return STATUS_OK;
}

static void reply_value(struct command *command, bytes document)
{
    if (document.len > 0)
        reply_document(&command->reply, "value", document);
    else
        reply_null(&command->reply, "value");
}

static status remove_one(struct command *command, bytes name, const struct value *given)
{
    struct modify modify = { .name = name, .decide = decide_removal, .wants_documents = true };

    TRY(condition_make(command, command->arena, argument_document(given[QUERY]),
                       argument_document(given[LET]), &modify.condition));
    TRY(command_find(command, name, &modify.collection));
    if (modify.collection)
        TRY(modify_run(command, &modify));
    size_t last = reply_begin(&command->reply, "lastErrorObject");
    reply_int32(&command->reply, "n", (int32_t)modify.changed);
    document_end(&command->reply, last);
    reply_value(command, modify.changed ? modify.before : BYTES_NONE);
    return STATUS_OK;
}

static status update_one(struct command *command, bytes name, const struct value *given)
{
    struct change_wish wish = { .name = name,
                                .filter = argument_document(given[QUERY]),
                                .let = argument_document(given[LET]),
                                .update = given[UPDATE],
                                .is_upsert = argument_flag(given[UPSERT], false),
                                .wants_documents = true };
    struct buffer *out = &command->reply;
    struct change_result result;

    if (given[ARRAY_FILTERS].type == VALUE_ARRAY)
        wish.array_filters = value_document(given[ARRAY_FILTERS]);
    TRY(change_run(command, &wish, &result));
    size_t last = reply_begin(out, "lastErrorObject");
    reply_int32(out, "n", result.matched || result.is_upserted ? 1 : 0);
    reply_bool(out, "updatedExisting", result.matched > 0);
    if (result.is_upserted)
        document_append(out, BYTES_LITERAL("upserted"), result.upserted_id);
    document_end(out, last);
    reply_value(command, argument_flag(given[NEW], false) ? result.after : result.before);
    return STATUS_OK;
}

static status check(struct command *command, const struct value *given)
{
    bool is_remove = argument_flag(given[REMOVE], false);
    bool has_update = given[UPDATE].type != VALUE_MISSING;

    for (size_t i = SORT; i <= FIELDS; i += FIELDS - SORT) {
        if (document_field_count(argument_document(given[i])) > 0)
            return command_fail(command, ERROR_CommandNotSupported,
                                "'%s' of findAndModify is not in this version of mayfly yet",
                                table[i].name);
    }
    if (is_remove && has_update)
        return command_fail(command, ERROR_FailedToParse,
                            "Cannot specify both an 'update' and 'remove'=true");
    if (!is_remove && !has_update)
        return command_fail(command, ERROR_FailedToParse,
                            "Either an update or remove=true must be specified");
    if (is_remove && argument_flag(given[UPSERT], false))
        return command_fail(command, ERROR_FailedToParse,
                            "Cannot specify both 'upsert'=true and 'remove'=true");
    if (is_remove && argument_flag(given[NEW], false))
        return command_fail(command, ERROR_FailedToParse,
                            "Cannot specify both 'new'=true and 'remove'=true; 'remove' always "
                            "returns the deleted document");
    return STATUS_OK;
}

status serve_find_and_modify(struct command *command)
{
    struct value given[ARGUMENT_COUNT];
    bytes name;

    _Static_assert(ARRAY_COUNT(table) == ARGUMENT_COUNT, "every argument has its place");
    TRY(command_arguments(command, table, ARGUMENT_COUNT, given));
    TRY(command_collection_name(command, &name));
    TRY(check(command, given));
    if (argument_flag(given[REMOVE], false))
        return remove_one(command, name, given);
    return update_one(command, name, given);
}
