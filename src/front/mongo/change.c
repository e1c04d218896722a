/* Change: updates of documents, and inserts where an upsert finds none.
 *
 * An upsert looks first, then inserts what the filter and the update say. If somebody else inserts that
 * document in between, it looks again: then it is there to be updated.
 *
 * Keeps: an upsert never makes two documents of one _id. Start reading at serve_update(). */
#include "front/mongo/change.h"

#include "front/mongo/collating.h"
#include "front/mongo/handlers.h"
#include "front/mongo/index_build.h"
#include "front/mongo/retry.h"
#include "front/mongo/series.h"
#include "front/mongo/update.h"
#include "front/mongo/write_errors.h"

enum { UPSERT_ATTEMPTS_MAX = 3 };

struct changing {
    const struct change_wish *wish;
    const struct update *update;
    struct condition *condition;
};

/* ---- existing documents ----------------------------------------------------------------------------- */

static status decide(struct command *command, void *context, const struct select_row *row,
                     enum modify_verdict *verdict_out, bytes *after_out)
{
    struct changing *changing = context;
    struct formula_run formulas = condition_run(command, changing->condition, command->arena);
    struct update_run run = { .arena = command->arena,
                              .now = command->request.now,
                              .has_position = row->has_position,
                              .position = row->position,
                              .formulas = &formulas };
    struct update_result result;

    formulas.root = formulas.current = (struct value){ VALUE_DOCUMENT, row->document };
    *after_out = BYTES_NONE;
    status s = update_apply(changing->update, &run, row->document, &result);
    if (s.code != OK)
        return update_fault(command->arena, &run, s, &command->fault);
    *verdict_out = result.is_changed ? MODIFY_REPLACE : MODIFY_KEEP;
    *after_out = result.document;
    return STATUS_OK;
}

static status answer_existing(struct command *command, const struct modify *modify, bytes *out)
{
    const struct changing *changing = modify->context;
    struct change_result result = {
        .matched = 1, .changed = 1, .before = modify->before, .after = modify->after
    };

    return changing->wish->answer(command, changing->wish->context, &result, out);
}

static status update_existing(struct command *command, struct changing *changing,
                              const struct collection *collection, struct change_result *out)
{
    struct modify modify = { .collection = collection,
                             .name = changing->wish->name,
                             .condition = changing->condition,
                             .is_multi = changing->wish->is_multi,
                             .decide = decide,
                             .context = changing,
                             .statement = changing->wish->statement,
                             .answer = changing->wish->answer ? answer_existing : NULL,
                             .wants_documents = changing->wish->wants_documents };

    TRY(modify_choose(command, &modify, changing->wish->sort, changing->wish->hint));
    status s = modify_run(command, &modify);
    out->matched = modify.matched;
    out->changed = modify.changed;
    out->before = modify.matched ? modify.before : BYTES_NONE;
    out->after = modify.matched ? modify.after : BYTES_NONE;
    return s;
}

/* ---- a new document --------------------------------------------------------------------------------- */

static status make_document(struct command *command, struct changing *changing, bytes *out)
{
    struct formula_run formulas = condition_run(command, changing->condition, command->arena);
    struct update_run run = { .arena = command->arena,
                              .now = command->request.now,
                              .formulas = &formulas };
    uint8_t id[OBJECT_ID_BYTES];

    face_make_object_id(command->face, id);
    status s = update_insert(changing->update, &run, changing->condition->match,
                             (struct value){ VALUE_OBJECT_ID, bytes_of(id, sizeof(id)) }, out);
    if (s.code != OK)
        return update_fault(command->arena, &run, s, &command->fault);
    return STATUS_OK;
}

static status note_new(struct command *command, const struct change_wish *wish,
                       const struct kept *kept, struct write_op *op)
{
    struct change_result result = { .is_upserted = true,
                                    .upserted_id = kept->id,
                                    .after = kept->bson };
    struct buffer id = buffer_in(command->arena);
    bytes answer;

    if (!command->is_retryable)
        return STATUS_OK;
    if (wish->answer) {
        TRY(wish->answer(command, wish->context, &result, &answer));
    } else {
        size_t begun = document_begin(&id);
        document_append(&id, BYTES_LITERAL("_id"), kept->id);
        document_end(&id, begun);
        TRY(buffer_finish(&id, &answer));
    }
    return retry_note(command, op, wish->statement, 1, answer);
}

/* *is_there_out: somebody else was faster. */
static status insert_new(struct command *command, struct changing *changing,
                         const struct collection *collection, bool is_last_attempt,
                         struct change_result *out, bool *is_there_out)
{
    struct kept kept;
    bytes document;

    *is_there_out = false;
    TRY(make_document(command, changing, &document));
    TRY(kept_take(command, collection, BYTES_NONE, document, &kept));
    struct write_op op = { .collection = collection,
                           .kind = WRITE_INSERT,
                           .key = kept.key,
                           .document = kept.bson,
                           .own_ttl = kept.own_ttl };
    TRY(note_new(command, changing->wish, &kept, &op));
    TRY(document_write(&command->request, &op, 1, WRITE_EACH));
    if (op.outcome.code == EXISTS && !is_last_attempt) {
        *is_there_out = true;
        return STATUS_OK;
    }
    if (op.outcome.code == EXISTS) {
        TRY(kept_fault_duplicate_id(command, changing->wish->name, collection, kept.id,
                                    &command->fault));
        return op.outcome;
    }
    TRY(index_outcome(command, &op));
    out->is_upserted = true;
    out->upserted_id = kept.id;
    out->after = kept.bson;
    return STATUS_OK;
}

/* The document that is in the way may be one that does not fulfil the filter; then looking again does not
 * help, and after a few times it is a duplicate. */
static status upsert(struct command *command, struct changing *changing,
                     const struct collection *collection, struct change_result *out)
{
    bool is_there = true;

    for (int attempt = 1; is_there; attempt++) {
        if (collection)
            TRY(update_existing(command, changing, collection, out));
        if (out->matched > 0)
            return STATUS_OK;
        if (command->explain) {
            out->is_upserted = true;
            return STATUS_OK;
        }
        TRY(command_need(command, changing->wish->name, &collection));
        TRY(insert_new(command, changing, collection, attempt >= UPSERT_ATTEMPTS_MAX, out,
                       &is_there));
    }
    return STATUS_OK;
}

status change_run(struct command *command, const struct change_wish *wish,
                  struct change_result *out)
{
    struct changing changing = { .wish = wish };
    const struct collection *collection;
    const struct collation *by;

    *out = (struct change_result){ 0 };
    TRY(command_find_stored(command, wish->name, &collection));
    if (wish->sets_collation)
        by = wish->by;
    else
        TRY(collating_read(command, wish->collation, collection, &by));
    TRY(condition_make(command, command->arena, wish->filter, wish->let, by, &changing.condition));
    if (wish->update.type == VALUE_ARRAY && wish->array_filters.len == 0)
        TRY(update_parse_pipeline(command->arena, value_document(wish->update),
                                  changing.condition->scope, &changing.update, &command->fault));
    else
        TRY(update_parse(command->arena, wish->update, wish->array_filters,
                         changing.condition->scope, &changing.update, &command->fault));
    if (wish->is_multi && changing.update->is_replacement)
        return command_fail(command, ERROR_FailedToParse,
                            "multi update is not supported for replacement-style update");
    if (collection)
        TRY(series_check_update(command, collection, wish));
    if (wish->is_upsert)
        return upsert(command, &changing, collection, out);
    return collection ? update_existing(command, &changing, collection, out) : STATUS_OK;
}

/* ---- the command ------------------------------------------------------------------------------------ */

struct updating {
    bytes name, let;
    int64_t matched, changed;
    struct buffer upserted; /* an array that was begun */
    size_t upserted_begun, upserted_count;
};

static void note_upserted(struct updating *updating, size_t number, struct value id)
{
    struct buffer *out = &updating->upserted;
    char room[REPLY_INDEX_BYTES];
    size_t row = reply_begin(out, reply_index(updating->upserted_count++, room));

    reply_int32(out, "index", (int32_t)number);
    document_append(out, BYTES_LITERAL("_id"), id);
    document_end(out, row);
}

/* It has inserted a document, or changed one. */
void change_result_of_done(bytes noted, struct change_result *out)
{
    *out = (struct change_result){ 0 };
    if (noted.len > 0 && document_find(noted, "_id", &out->upserted_id))
        out->is_upserted = true;
    else
        out->matched = out->changed = 1;
}

static void take_result(struct command *command, struct updating *updating, size_t number,
                        const struct change_result *result)
{
    updating->matched += result->matched + result->is_upserted;
    updating->changed += result->changed;
    if (result->is_upserted && !command->explain)
        note_upserted(updating, number, result->upserted_id);
}

status change_statement(struct command *command, bytes name, bytes let, size_t number,
                        bytes statement, struct change_result *out)
{
    static const struct argument table[] = {
        {"q",               ARGUMENT_DOCUMENT,         true },
        { "u",              ARGUMENT_ANY,              true },
        { "c",              ARGUMENT_DOCUMENT,         false},
        { "multi",          ARGUMENT_FLAG,             false},
        { "upsert",         ARGUMENT_FLAG,             false},
        { "arrayFilters",   ARGUMENT_ARRAY,            false},
        { "hint",           ARGUMENT_DOCUMENT_OR_TEXT, false},
        { "collation",      ARGUMENT_DOCUMENT,         false},
        { "sort",           ARGUMENT_DOCUMENT,         false},
        { "upsertSupplied", ARGUMENT_IGNORED,          false},
    };
    enum { Q, U, C, MULTI, UPSERT, ARRAY_FILTERS, HINT, COLLATION, SORT };
    struct value given[ARRAY_COUNT(table)];

    *out = (struct change_result){ 0 };
    TRY(command_fields(command, "update.updates", statement, table, ARRAY_COUNT(table), given));
    struct change_wish wish = { .name = name,
                                .filter = value_document(given[Q]),
                                .let = let,
                                .update = given[U],
                                .is_multi = argument_flag(given[MULTI], false),
                                .is_upsert = argument_flag(given[UPSERT], false),
                                .sort = argument_document(given[SORT]),
                                .hint = given[HINT],
                                .collation = given[COLLATION],
                                .statement = number };
    if (given[ARRAY_FILTERS].type == VALUE_ARRAY)
        wish.array_filters = value_document(given[ARRAY_FILTERS]);
    TRY(retry_check_single(command, wish.is_multi));
    status s = change_run(command, &wish, out);
    command->work.matched += out->matched;
    command->work.modified += out->changed;
    command->work.upserted += out->is_upserted;
    return s;
}

static void reply_updated(struct command *command, struct updating *updating)
{
    reply_int32(&command->reply, "n", (int32_t)updating->matched);
    document_end(&updating->upserted, updating->upserted_begun);
    if (updating->upserted_count > 0)
        document_append(&command->reply, BYTES_LITERAL("upserted"),
                        (struct value){ VALUE_ARRAY, bytes_of(updating->upserted.data,
                                                              updating->upserted.len) });
    reply_int32(&command->reply, "nModified", (int32_t)updating->changed);
}

status serve_update(struct command *command)
{
    static const struct argument table[] = {
        {"updates",                   ARGUMENT_LIST,     true },
        { "ordered",                  ARGUMENT_FLAG,     false},
        { "let",                      ARGUMENT_DOCUMENT, false},
        { "bypassDocumentValidation", ARGUMENT_IGNORED,  false},
        { "stmtId",                   ARGUMENT_IGNORED,  false},
        { "stmtIds",                  ARGUMENT_IGNORED,  false},
    };
    enum { UPDATES, ORDERED, LET };
    struct value given[ARRAY_COUNT(table)];
    struct updating updating = { .upserted = buffer_in(command->arena) };
    struct argument_list list;
    struct write_errors errors;
    bytes statement, done;
    size_t count;
    bool has;

    TRY(command_arguments(command, table, ARRAY_COUNT(table), given));
    TRY(command_collection_name(command, &updating.name));
    TRY(command_list(command, "updates", &list, &count));
    TRY(write_errors_check_count(command, count));
    updating.let = argument_document(given[LET]);
    updating.upserted_begun = document_begin(&updating.upserted);
    bool is_ordered = argument_flag(given[ORDERED], true);
    write_errors_begin(&errors, command->arena);
    for (size_t i = 0; i < count && (!is_ordered || errors.count == 0); i++) {
        TRY(command_list_next(command, &list, &statement, &has));
        struct change_result result;
        status s = STATUS_OK;
        if (retry_is_done(command, i, &done))
            change_result_of_done(done, &result);
        else
            s = change_statement(command, updating.name, updating.let, i, statement, &result);
        take_result(command, &updating, i, &result);
        if (s.code != OK)
            TRY(write_errors_take(&errors, command, i, s));
    }
    reply_updated(command, &updating);
    write_errors_append(&errors, &command->reply);
    return updating.upserted.is_failed ? arena_exhausted(command->arena) : STATUS_OK;
}
