/* Bulk write: operations of several kinds on several collections, in one command.
 *
 *   { bulkWrite: 1, ops: [ {insert: i, document} | {update: i, filter, updateMods, ...} | {delete: i, filter, ...} ],
 *     nsInfo: [ {ns: "db.collection"} ], ordered, errorsOnly, let, cursor: {batchSize} }
 *
 * All operations are read before the first one is carried out, so that a command that makes no sense changes nothing. An
 * operation is then a statement of the command of its kind, with the names that fields have there; inserts into
 * one collection that follow each other go together. Each operation has a row in the answer, which is a cursor.
 *
 * Keeps: while an operation runs, the database of the command is the one of its collection, and the number of a
 * statement is the place of the operation, over all collections, so that a repeated write is carried out once.
 * Threads: the command's, which waits for its commits. Start reading at serve_bulk_write(). */
#include <stdlib.h>

#include "front/mongo/change.h"
#include "front/mongo/handlers.h"
#include "front/mongo/insert.h"
#include "front/mongo/multi.h"
#include "front/mongo/principal.h"
#include "front/mongo/retry.h"
#include "front/mongo/stream.h"
#include "front/mongo/write_errors.h"

#define CURSOR_NAME "$cmd.bulkWrite"

/* What the rows of an answer may take; more operations are not carried out then. */
enum { ROWS_BYTES_MAX = 32 * 1024 * 1024 };

/* A collection of nsInfo. */
struct bulk_space {
    bytes database, name;
    bool is_allowed; /* whoever asks may write to it */
};

enum kind { KIND_INSERT, KIND_UPDATE, KIND_DELETE };

struct operation_wish {
    enum kind kind;
    struct bulk_space *space;
    bytes document; /* of an insert; otherwise the statement */
};

struct bulk {
    struct command *command;
    struct bulk_space *spaces;
    size_t space_count;
    bool is_ordered, wants_errors_only, is_over;
    bytes database, let;
    struct argument_list *list; /* of the operations, behind the one that is carried out */
    struct buffer rows;         /* documents one behind the other, in the memory of the stream */
    struct fault *faults;       /* of inserts, by number */
    struct write_errors_told told;
    struct insertion *insertion; /* NULL: none is under way */
    arena_position mark;         /* before it, and before all of the same stretch */
    size_t marked_at;            /* number of the operation then */
    const struct bulk_space *into;
    size_t first, count; /* inserts that are under way */
    size_t failed;
    int64_t inserted, matched, modified, upserted, deleted;
};

/* ---- reading ---------------------------------------------------------------------------------------- */

static status read_spaces(struct bulk *bulk)
{
    static const struct argument table[] = {
        {"ns",                     ARGUMENT_TEXT,    true },
        { "collectionUUID",        ARGUMENT_IGNORED, false},
        { "encryptionInformation", ARGUMENT_IGNORED, false},
    };
    struct command *command = bulk->command;
    struct value given[ARRAY_COUNT(table)];
    struct argument_list list;
    bytes document;
    bool has;

    TRY(command_list(command, "nsInfo", &list, &bulk->space_count));
    TRY(ARENA_NEW(command->arena, bulk->space_count, &bulk->spaces));
    for (size_t i = 0; i < bulk->space_count; i++) {
        struct bulk_space *space = &bulk->spaces[i];
        TRY(command_list_next(command, &list, &document, &has));
        TRY(command_fields(command, "bulkWrite.nsInfo", document, table, ARRAY_COUNT(table),
                           given));
        TRY(command_split_namespace(command, value_text(given[0]), &space->database, &space->name));
    }
    return STATUS_OK;
}

static int compare_spaces(const void *a, const void *b)
{
    const struct bulk_space *left = *(const struct bulk_space *const *)a;
    const struct bulk_space *right = *(const struct bulk_space *const *)b;
    int order = bytes_compare(left->database, right->database);

    return order != 0 ? order : bytes_compare(left->name, right->name);
}

static status check_spaces(struct bulk *bulk)
{
    const struct bulk_space **sorted;

    TRY(ARENA_NEW(bulk->command->arena, bulk->space_count, &sorted));
    for (size_t i = 0; i < bulk->space_count; i++)
        sorted[i] = &bulk->spaces[i];
    if (bulk->space_count > 1)
        qsort(sorted, bulk->space_count, sizeof(*sorted), compare_spaces);
    for (size_t i = 1; i < bulk->space_count; i++) {
        if (compare_spaces(&sorted[i - 1], &sorted[i]) == 0)
            return command_fail(bulk->command, ERROR_BadValue,
                                "BulkWrite has the namespace '%.*s.%.*s' in nsInfo twice",
                                (int)sorted[i]->database.len,
                                (const char *)sorted[i]->database.data, (int)sorted[i]->name.len,
                                (const char *)sorted[i]->name.data);
    }
    return STATUS_OK;
}

static status use_space(struct bulk *bulk, size_t number, struct value index,
                        struct bulk_space **out)
{
    struct command *command = bulk->command;
    int64_t place = argument_number(index, -1);

    if (place < 0 || (uint64_t)place >= bulk->space_count)
        return command_fail(command, ERROR_BadValue,
                            "BulkWrite ops entry %zu has an invalid nsInfo index: %lld, but nsInfo "
                            "has %zu entries",
                            number, (long long)place, bulk->space_count);
    *out = &bulk->spaces[place];
    if ((*out)->is_allowed)
        return STATUS_OK;
    TRY(principal_permit_on(command, (*out)->database, ACCESS_WRITE));
    if (command->multi != MULTI_NONE)
        TRY(multi_check_place(command, (*out)->database, (*out)->name));
    (*out)->is_allowed = true;
    return STATUS_OK;
}

/* The fields of an operation under the names that they have in the command of its kind; NULL: not one of its
 * fields. */
struct renamed {
    struct argument argument;
    const char *name;
};

static status read_fields(struct bulk *bulk, bytes document, const struct renamed *table,
                          size_t count, struct value *given)
{
    enum { FIELDS_MAX = 16 };
    struct argument arguments[FIELDS_MAX];

    ASSERT(count <= FIELDS_MAX);
    for (size_t i = 0; i < count; i++)
        arguments[i] = table[i].argument;
    return command_fields(bulk->command, "bulkWrite.ops", document, arguments, count, given);
}

static void append_fields(struct buffer *out, const struct renamed *table, size_t count,
                          const struct value *given)
{
    for (size_t i = 0; i < count; i++) {
        if (table[i].name)
            document_append(out, bytes_of_text(table[i].name), given[i]);
    }
}

static status read_update(struct bulk *bulk, bytes document, struct value *index,
                          struct operation_wish *out)
{
    static const struct renamed table[] = {
        {{ "update", ARGUMENT_NUMBER, true },            NULL          },
        { { "filter", ARGUMENT_DOCUMENT, true },         "q"           },
        { { "updateMods", ARGUMENT_ANY, true },          "u"           },
        { { "multi", ARGUMENT_FLAG, false },             "multi"       },
        { { "upsert", ARGUMENT_FLAG, false },            "upsert"      },
        { { "arrayFilters", ARGUMENT_ARRAY, false },     "arrayFilters"},
        { { "hint", ARGUMENT_DOCUMENT_OR_TEXT, false },  "hint"        },
        { { "constants", ARGUMENT_DOCUMENT, false },     "c"           },
        { { "collation", ARGUMENT_DOCUMENT, false },     "collation"   },
        { { "sort", ARGUMENT_DOCUMENT, false },          "sort"        },
        { { "upsertSupplied", ARGUMENT_IGNORED, false }, NULL          },
    };
    struct buffer statement = buffer_in(bulk->command->arena);
    struct value given[ARRAY_COUNT(table)];

    TRY(read_fields(bulk, document, table, ARRAY_COUNT(table), given));
    *index = given[0];
    size_t begun = document_begin(&statement);
    append_fields(&statement, table, ARRAY_COUNT(table), given);
    document_end(&statement, begun);
    return buffer_finish(&statement, &out->document);
}

static status read_delete(struct bulk *bulk, bytes document, struct value *index,
                          struct operation_wish *out)
{
    static const struct renamed table[] = {
        {{ "delete", ARGUMENT_NUMBER, true },           NULL       },
        { { "filter", ARGUMENT_DOCUMENT, true },        "q"        },
        { { "hint", ARGUMENT_DOCUMENT_OR_TEXT, false }, "hint"     },
        { { "collation", ARGUMENT_DOCUMENT, false },    "collation"},
        { { "multi", ARGUMENT_FLAG, false },            NULL       },
    };
    enum { INDEX, MULTI = 4 };
    struct buffer statement = buffer_in(bulk->command->arena);
    struct value given[ARRAY_COUNT(table)];

    TRY(read_fields(bulk, document, table, ARRAY_COUNT(table), given));
    *index = given[INDEX];
    size_t begun = document_begin(&statement);
    append_fields(&statement, table, ARRAY_COUNT(table), given);
    reply_int32(&statement, "limit", argument_flag(given[MULTI], false) ? 0 : 1);
    document_end(&statement, begun);
    return buffer_finish(&statement, &out->document);
}

static status read_insert(struct bulk *bulk, bytes document, struct value *index,
                          struct operation_wish *out)
{
    static const struct argument table[] = {
        {"insert",    ARGUMENT_NUMBER,   true},
        { "document", ARGUMENT_DOCUMENT, true},
    };
    struct value given[ARRAY_COUNT(table)];

    TRY(command_fields(bulk->command, "bulkWrite.ops", document, table, ARRAY_COUNT(table), given));
    *index = given[0];
    out->document = value_document(given[1]);
    return STATUS_OK;
}

/* The first name says what it is. */
static status read_operation(struct bulk *bulk, size_t number, bytes document,
                             struct operation_wish *out)
{
    struct document_walk walk = document_fields(document);
    struct field first = { 0 };
    struct value index;

    document_next(&walk, &first);
    if (bytes_is_text(first.name, "insert")) {
        out->kind = KIND_INSERT;
        TRY(read_insert(bulk, document, &index, out));
    } else if (bytes_is_text(first.name, "update")) {
        out->kind = KIND_UPDATE;
        TRY(read_update(bulk, document, &index, out));
    } else if (bytes_is_text(first.name, "delete")) {
        out->kind = KIND_DELETE;
        TRY(read_delete(bulk, document, &index, out));
    } else {
        return command_fail(bulk->command, ERROR_FailedToParse,
                            "Unrecognized bulkWrite op type: '%.*s' in ops entry %zu; it begins "
                            "with insert, update or delete",
                            (int)first.name.len, (const char *)first.name.data, number);
    }
    return use_space(bulk, number, index, &out->space);
}

/* Everything is read once before anything is done. */
static status check_operations(struct bulk *bulk, struct argument_list list)
{
    struct operation_wish operation;
    bytes document;
    bool has = true;

    for (size_t i = 0; has; i++) {
        arena_position mark = arena_mark(bulk->command->arena);
        TRY(command_list_next(bulk->command, &list, &document, &has));
        if (has)
            TRY(read_operation(bulk, i, document, &operation));
        arena_release(bulk->command->arena, mark);
    }
    return STATUS_OK;
}

/* ---- rows ------------------------------------------------------------------------------------------- */

static size_t begin_row(struct bulk *bulk, bool is_done, size_t number)
{
    size_t begun = document_begin(&bulk->rows);

    reply_double(&bulk->rows, "ok", is_done ? 1 : 0);
    reply_int32(&bulk->rows, "idx", (int32_t)number);
    return begun;
}

static void tell_done(struct bulk *bulk, size_t number, int64_t count)
{
    if (bulk->wants_errors_only)
        return;
    size_t begun = begin_row(bulk, true, number);
    reply_int32(&bulk->rows, "n", (int32_t)count);
    document_end(&bulk->rows, begun);
}

static void tell_changed(struct bulk *bulk, size_t number, const struct change_result *result)
{
    bulk->matched += result->matched;
    bulk->modified += result->changed;
    bulk->upserted += result->is_upserted;
    if (bulk->wants_errors_only)
        return;
    size_t begun = begin_row(bulk, true, number);
    reply_int32(&bulk->rows, "n", (int32_t)result->matched + result->is_upserted);
    reply_int32(&bulk->rows, "nModified", (int32_t)result->changed);
    if (result->is_upserted) {
        size_t upserted = reply_begin(&bulk->rows, "upserted");
        document_append(&bulk->rows, BYTES_LITERAL("_id"), result->upserted_id);
        document_end(&bulk->rows, upserted);
    }
    document_end(&bulk->rows, begun);
}

static void tell_failed(struct bulk *bulk, size_t number, enum kind kind, const struct fault *fault)
{
    size_t begun = begin_row(bulk, false, number);

    write_errors_append_fault(&bulk->rows, fault, &bulk->told);
    reply_int32(&bulk->rows, "n", 0);
    if (kind == KIND_UPDATE)
        reply_int32(&bulk->rows, "nModified", 0);
    document_end(&bulk->rows, begun);
    bulk->failed++;
    bulk->is_over = bulk->is_ordered;
}

/* A failure of the operation alone becomes its row; any other one is that of the command. */
static status take_failure(struct bulk *bulk, size_t number, enum kind kind, status failed)
{
    struct fault fault;

    if (failed.code == OK)
        return STATUS_OK;
    TRY(write_errors_fault(bulk->command, failed, &fault));
    tell_failed(bulk, number, kind, &fault);
    return STATUS_OK;
}

/* ---- inserts ---------------------------------------------------------------------------------------- */

/* What is under way is committed, and told. */
static status end_inserts(struct bulk *bulk)
{
    if (!bulk->insertion)
        return STATUS_OK;
    bulk->command->database = bulk->into->database;
    TRY(insertion_end(bulk->command, bulk->insertion));
    bulk->insertion = NULL;
    for (size_t i = 0; i < bulk->count && !bulk->is_over; i++) {
        const struct fault *fault = &bulk->faults[bulk->first + i];
        if (fault->code != ERROR_NONE) {
            tell_failed(bulk, bulk->first + i, KIND_INSERT, fault);
            continue;
        }
        bulk->inserted++;
        tell_done(bulk, bulk->first + i, 1);
    }
    return STATUS_OK;
}

/* How many inserts into the same collection follow. */
static size_t count_ahead(struct bulk *bulk, const struct bulk_space *into)
{
    struct argument_list list = *bulk->list;
    size_t count = 0;
    bytes document;
    bool has = true;

    while (count < LIMIT_WRITE_COMMAND_COMMIT &&
           command_list_next(bulk->command, &list, &document, &has).code == OK && has) {
        struct document_walk walk = document_fields(document);
        struct field first = { 0 };
        document_next(&walk, &first);
        if (!bytes_is_text(first.name, "insert") ||
            argument_number(first.value, -1) != into - bulk->spaces)
            break;
        count++;
    }
    return count;
}

static status begin_inserts(struct bulk *bulk, size_t number, const struct bulk_space *into)
{
    struct insertion_wish wish = { .name = into->name,
                                   .is_ordered = bulk->is_ordered,
                                   .room = 1 + count_ahead(bulk, into),
                                   .faults = bulk->faults };

    bulk->into = into;
    bulk->first = number;
    bulk->count = 0;
    bulk->command->database = into->database;
    return insertion_begin(bulk->command, &wish, &bulk->insertion);
}

static status run_insert(struct bulk *bulk, size_t number, const struct operation_wish *operation)
{
    if (!bulk->insertion || bulk->into != operation->space ||
        bulk->count >= LIMIT_WRITE_COMMAND_COMMIT) {
        TRY(end_inserts(bulk));
        if (bulk->is_over)
            return STATUS_OK;
        status s = begin_inserts(bulk, number, operation->space);
        if (s.code != OK) {
            bulk->insertion = NULL;
            return take_failure(bulk, number, KIND_INSERT, s);
        }
    }
    bulk->count++;
    bulk->command->database = operation->space->database;
    return insertion_add(bulk->command, bulk->insertion, number, operation->document);
}

/* ---- updates and deletes ---------------------------------------------------------------------------- */

static status run_update(struct bulk *bulk, size_t number, const struct operation_wish *operation)
{
    struct command *command = bulk->command;
    struct change_result result = { 0 };
    bytes done;

    if (retry_is_done(command, number, &done)) {
        change_result_of_done(done, &result);
        tell_changed(bulk, number, &result);
        return STATUS_OK;
    }
    status s = change_statement(command, operation->space->name, bulk->let, number,
                                operation->document, &result);
    if (s.code == OK)
        tell_changed(bulk, number, &result);
    else
        bulk->modified += result.changed; /* of those before the document that failed */
    return take_failure(bulk, number, KIND_UPDATE, s);
}

static status run_delete(struct bulk *bulk, size_t number, const struct operation_wish *operation)
{
    struct command *command = bulk->command;
    int64_t deleted = 1;
    status s = STATUS_OK;

    if (!retry_is_done(command, number, NULL))
        s = delete_statement(command, operation->space->name, bulk->let, number,
                             operation->document, &deleted);
    bulk->deleted += deleted;
    if (s.code == OK)
        tell_done(bulk, number, deleted);
    return take_failure(bulk, number, KIND_DELETE, s);
}

/* ---- the whole -------------------------------------------------------------------------------------- */

static status run_operation(struct bulk *bulk, size_t number,
                            const struct operation_wish *operation)
{
    if (operation->kind == KIND_INSERT)
        return run_insert(bulk, number, operation);
    TRY(end_inserts(bulk));
    if (bulk->is_over)
        return STATUS_OK;
    bulk->command->database = operation->space->database;
    return operation->kind == KIND_UPDATE ? run_update(bulk, number, operation)
                                          : run_delete(bulk, number, operation);
}

static void stop_for_size(struct bulk *bulk, size_t number)
{
    const struct fault fault = {
        .code = ERROR_ExceededMemoryLimit,
        .message = "BulkWrite response size exceeded its limit of 32 MiB: this operation and those "
                   "behind it were not carried out; ask for errorsOnly, or for fewer at a time"
    };

    bulk->is_ordered = true;
    tell_failed(bulk, number, KIND_DELETE, &fault);
}

/* What inserts that are under way have taken is given back when they are committed, and that is now and then. */
static status settle_inserts(struct bulk *bulk, size_t number)
{
    if (bulk->insertion && number - bulk->marked_at >= LIMIT_WRITE_COMMAND_COMMIT) {
        TRY(end_inserts(bulk));
        arena_release(bulk->command->arena, bulk->mark);
    }
    if (!bulk->insertion) {
        bulk->mark = arena_mark(bulk->command->arena);
        bulk->marked_at = number;
    }
    return STATUS_OK;
}

static status run_next(struct bulk *bulk, size_t number, bytes document)
{
    struct operation_wish operation;

    TRY(read_operation(bulk, number, document, &operation));
    TRY(run_operation(bulk, number, &operation));
    if (!bulk->insertion)
        arena_release(bulk->command->arena, bulk->mark);
    return STATUS_OK;
}

static status run_operations(struct bulk *bulk)
{
    bytes document;
    bool has = true;

    for (size_t i = 0; has && !bulk->is_over; i++) {
        TRY(command_check_time(bulk->command));
        TRY(command_list_next(bulk->command, bulk->list, &document, &has));
        TRY(settle_inserts(bulk, i));
        if (has && !bulk->is_over && bulk->rows.len > ROWS_BYTES_MAX) {
            TRY(end_inserts(bulk));
            if (!bulk->is_over)
                stop_for_size(bulk, i);
        } else if (has && !bulk->is_over) {
            TRY(run_next(bulk, i, document));
        }
        bulk->command->database = bulk->database;
    }
    TRY(end_inserts(bulk));
    bulk->command->database = bulk->database;
    return bulk->rows.is_failed ? arena_exhausted(bulk->rows.arena) : STATUS_OK;
}

/* ---- the answer ------------------------------------------------------------------------------------- */

static status next_row(void *state, struct command *command, bytes *document_out, bool *has_out)
{
    bytes *rest = state;

    (void)command;
    *has_out = wire_next_document(rest, document_out);
    return STATUS_OK;
}

static bool is_told(void *state)
{
    return ((const bytes *)state)->len == 0;
}

static status reply(struct bulk *bulk, struct stream *stream, const struct stream_wish *wish)
{
    struct stream_source source = { .next = next_row, .is_over = is_told };
    struct buffer *out = &bulk->command->reply;
    struct command_work *work = &bulk->command->work;
    bytes *rest;

    status s = ARENA_NEW(stream_arena(stream), 1, &rest);
    if (s.code != OK) {
        stream_drop(stream);
        return s;
    }
    *rest = bytes_of(bulk->rows.data, bulk->rows.len);
    source.state = rest;
    stream_set_source(stream, &source);
    TRY(stream_reply(bulk->command, stream, wish));
    work->inserted = bulk->inserted;
    work->returned = 0;
    reply_int32(out, "nErrors", (int32_t)bulk->failed);
    reply_int32(out, "nInserted", (int32_t)bulk->inserted);
    reply_int32(out, "nMatched", (int32_t)bulk->matched);
    reply_int32(out, "nModified", (int32_t)bulk->modified);
    reply_int32(out, "nUpserted", (int32_t)bulk->upserted);
    reply_int32(out, "nDeleted", (int32_t)bulk->deleted);
    return STATUS_OK;
}

static status read_batch_size(struct command *command, struct value cursor, int64_t *out)
{
    static const struct argument table[] = {
        {"batchSize", ARGUMENT_NUMBER, false},
    };
    struct value given[1];

    TRY(command_fields(command, "bulkWrite.cursor", argument_document(cursor), table, 1, given));
    *out = argument_number(given[0], INT64_MAX);
    if (*out < 0)
        return command_fail(command, ERROR_BadValue, "batchSize is %lld and must not be negative",
                            (long long)*out);
    return STATUS_OK;
}

status serve_bulk_write(struct command *command)
{
    static const struct argument table[] = {
        {"ops",                       ARGUMENT_LIST,     true },
        { "nsInfo",                   ARGUMENT_LIST,     true },
        { "ordered",                  ARGUMENT_FLAG,     false},
        { "errorsOnly",               ARGUMENT_FLAG,     false},
        { "let",                      ARGUMENT_DOCUMENT, false},
        { "cursor",                   ARGUMENT_DOCUMENT, false},
        { "bypassDocumentValidation", ARGUMENT_IGNORED,  false},
        { "bypassEmptyTsReplacement", ARGUMENT_IGNORED,  false},
        { "stmtId",                   ARGUMENT_IGNORED,  false},
        { "stmtIds",                  ARGUMENT_IGNORED,  false},
    };
    enum { OPS, NS_INFO, ORDERED, ERRORS_ONLY, LET, CURSOR };
    struct bulk bulk = { .command = command, .database = command->database };
    struct value given[ARRAY_COUNT(table)];
    struct argument_list list;
    struct stream_wish wish = { .name = BYTES_LITERAL(CURSOR_NAME) };
    struct stream *stream;
    size_t count;

    TRY(command_arguments(command, table, ARRAY_COUNT(table), given));
    TRY(command_list(command, "ops", &list, &count));
    TRY(write_errors_check_count(command, count));
    bulk.is_ordered = argument_flag(given[ORDERED], true);
    bulk.wants_errors_only = argument_flag(given[ERRORS_ONLY], false);
    bulk.let = argument_document(given[LET]);
    TRY(read_batch_size(command, given[CURSOR], &wish.batch_size));
    TRY(read_spaces(&bulk));
    TRY(check_spaces(&bulk));
    TRY(check_operations(&bulk, list));
    TRY(ARENA_NEW(command->arena, count, &bulk.faults));
    TRY(stream_make(command, &stream));
    bulk.list = &list;
    bulk.rows = buffer_in(stream_arena(stream));
    /* What is written must be told, so there has to be a cursor for it before. */
    status s = stream_enlist(command, stream, &wish);
    if (s.code == OK)
        s = run_operations(&bulk);
    command->database = bulk.database;
    if (s.code != OK) {
        s = fault_keep(command->arena, &command->fault, s);
        stream_drop(stream);
        return s;
    }
    return reply(&bulk, stream, &wish);
}
