/* Find and modify: changes or removes one document and gives it back, as it was or as it is now.
 *
 * Start reading at serve_find_and_modify(). */
#include "front/mongo/change.h"
#include "front/mongo/collating.h"
#include "front/mongo/handlers.h"
#include "front/mongo/projection.h"
#include "front/mongo/retry.h"

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
enum {
    QUERY,
    SORT,
    REMOVE,
    UPDATE,
    NEW,
    FIELDS,
    UPSERT,
    ARRAY_FILTERS,
    LET,
    HINT,
    COLLATION,
    ARGUMENT_COUNT = 13
};

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

/* The document, or what of it is wanted. */
static status append_value(struct command *command, const struct value *given, bytes document,
                           struct buffer *out)
{
    const struct projection *projection = NULL;
    const struct collection *collection;
    const struct collation *by;
    struct condition *condition;
    bytes name;

    if (document.len == 0) {
        reply_null(out, "value");
        return STATUS_OK;
    }
    TRY(command_collection_name(command, &name));
    TRY(command_find_stored(command, name, &collection));
    TRY(collating_read(command, given[COLLATION], collection, &by));
    TRY(condition_make(command, command->arena, argument_document(given[QUERY]),
                       argument_document(given[LET]), by, &condition));
    if (given[FIELDS].type == VALUE_DOCUMENT)
        TRY(projection_parse(command->arena, value_document(given[FIELDS]), PROJECTION_OF_FIND,
                             condition->scope, &projection, &command->fault));
    if (projection) {
        struct formula_run formulas = condition_run(command, condition, command->arena);
        struct projection_run run = { .arena = command->arena, .formulas = &formulas };
        status s = projection_apply(projection, &run, document, &document);
        if (s.code != OK)
            return projection_fault(command->arena, &run, s, &command->fault);
    }
    reply_document(out, "value", document);
    return STATUS_OK;
}

static void reply_answer(struct command *command, bytes answer)
{
    struct document_walk walk = document_fields(answer);
    struct field field;

    while (document_next(&walk, &field))
        document_append(&command->reply, field.name, field.value);
}

/* ---- removing --------------------------------------------------------------------------------------- */

static status make_removal(struct command *command, const struct value *given, bytes removed,
                           bytes *out)
{
    struct buffer answer = buffer_in(command->arena);
    size_t begun = document_begin(&answer), last = reply_begin(&answer, "lastErrorObject");

    reply_int32(&answer, "n", removed.len > 0);
    document_end(&answer, last);
    TRY(append_value(command, given, removed, &answer));
    document_end(&answer, begun);
    return buffer_finish(&answer, out);
}

static status answer_removal(struct command *command, const struct modify *modify, bytes *out)
{
    return make_removal(command, modify->context, modify->before, out);
}

static status remove_one(struct command *command, bytes name, struct value *given)
{
    struct modify modify = { .name = name,
                             .decide = decide_removal,
                             .context = given,
                             .answer = answer_removal,
                             .wants_documents = true };
    const struct collation *by;
    bytes answer;

    TRY(command_find_stored(command, name, &modify.collection));
    TRY(collating_read(command, given[COLLATION], modify.collection, &by));
    TRY(condition_make(command, command->arena, argument_document(given[QUERY]),
                       argument_document(given[LET]), by, &modify.condition));
    TRY(modify_choose(command, &modify, argument_document(given[SORT]), given[HINT]));
    if (modify.collection)
        TRY(modify_run(command, &modify));
    command->work.deleted = modify.changed;
    TRY(make_removal(command, given, modify.changed ? modify.before : BYTES_NONE, &answer));
    reply_answer(command, answer);
    return STATUS_OK;
}

/* ---- changing --------------------------------------------------------------------------------------- */

static status answer_change(struct command *command, void *context,
                            const struct change_result *result, bytes *out)
{
    const struct value *given = context;
    struct buffer answer = buffer_in(command->arena);
    size_t begun = document_begin(&answer), last = reply_begin(&answer, "lastErrorObject");

    reply_int32(&answer, "n", result->matched || result->is_upserted ? 1 : 0);
    reply_bool(&answer, "updatedExisting", result->matched > 0);
    if (result->is_upserted)
        document_append(&answer, BYTES_LITERAL("upserted"), result->upserted_id);
    document_end(&answer, last);
    TRY(append_value(command, given,
                     argument_flag(given[NEW], false) ? result->after : result->before, &answer));
    document_end(&answer, begun);
    return buffer_finish(&answer, out);
}

static status update_one(struct command *command, bytes name, struct value *given)
{
    struct change_wish wish = { .name = name,
                                .filter = argument_document(given[QUERY]),
                                .let = argument_document(given[LET]),
                                .update = given[UPDATE],
                                .is_upsert = argument_flag(given[UPSERT], false),
                                .sort = argument_document(given[SORT]),
                                .hint = given[HINT],
                                .collation = given[COLLATION],
                                .wants_documents = true,
                                .answer = answer_change,
                                .context = given };
    struct change_result result;
    bytes answer;

    if (given[ARRAY_FILTERS].type == VALUE_ARRAY)
        wish.array_filters = value_document(given[ARRAY_FILTERS]);
    TRY(change_run(command, &wish, &result));
    command->work.matched = result.matched;
    command->work.modified = result.changed;
    command->work.upserted = result.is_upserted;
    if (command->explain)
        return STATUS_OK;
    TRY(answer_change(command, given, &result, &answer));
    reply_answer(command, answer);
    return STATUS_OK;
}

static status check(struct command *command, const struct value *given)
{
    bool is_remove = argument_flag(given[REMOVE], false);
    bool has_update = given[UPDATE].type != VALUE_MISSING;

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
    bytes name, done;

    _Static_assert(ARRAY_COUNT(table) == ARGUMENT_COUNT, "every argument has its place");
    TRY(command_arguments(command, table, ARGUMENT_COUNT, given));
    TRY(command_collection_name(command, &name));
    TRY(check(command, given));
    if (retry_is_done(command, 0, &done) && done.len > 0) {
        reply_answer(command, done);
        return STATUS_OK;
    }
    if (argument_flag(given[REMOVE], false))
        return remove_one(command, name, given);
    return update_one(command, name, given);
}
