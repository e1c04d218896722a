/* Find: the command. What the client wants becomes a cursor (finding.c), whose first batch is the reply.
 *
 * Start reading at serve_find(). */
#include "front/mongo/capped.h"
#include "front/mongo/collating.h"
#include "front/mongo/finding.h"
#include "front/mongo/handlers.h"
#include "front/mongo/point.h"
#include "front/mongo/view.h"

struct find_wish {
    struct finding_wish finding;
    struct stream_wish stream;
    struct value collation;
};

/* A first batch that reaches the limit is the last. */
static void shape_batch(struct find_wish *wish)
{
    struct stream_wish *stream = &wish->stream;
    int64_t batch = stream->batch_size < 0 ? LIMIT_CURSOR_FIRST_BATCH : stream->batch_size;

    if (wish->finding.limit > 0 && batch > 0 && wish->finding.limit <= batch) {
        stream->batch_size = wish->finding.limit;
        stream->is_single = true;
    }
}

static const struct argument find_table[] = {
    {"filter",               ARGUMENT_DOCUMENT,         false},
    { "sort",                ARGUMENT_DOCUMENT,         false},
    { "projection",          ARGUMENT_DOCUMENT,         false},
    { "hint",                ARGUMENT_DOCUMENT_OR_TEXT, false},
    { "skip",                ARGUMENT_NUMBER,           false},
    { "limit",               ARGUMENT_NUMBER,           false},
    { "batchSize",           ARGUMENT_NUMBER,           false},
    { "singleBatch",         ARGUMENT_FLAG,             false},
    { "noCursorTimeout",     ARGUMENT_FLAG,             false},
    { "max",                 ARGUMENT_DOCUMENT,         false},
    { "min",                 ARGUMENT_DOCUMENT,         false},
    { "returnKey",           ARGUMENT_FLAG,             false},
    { "showRecordId",        ARGUMENT_FLAG,             false},
    { "tailable",            ARGUMENT_FLAG,             false},
    { "awaitData",           ARGUMENT_FLAG,             false},
    { "allowPartialResults", ARGUMENT_IGNORED,          false},
    { "oplogReplay",         ARGUMENT_IGNORED,          false},
    { "allowDiskUse",        ARGUMENT_IGNORED,          false},
    { "collation",           ARGUMENT_DOCUMENT,         false},
    { "let",                 ARGUMENT_DOCUMENT,         false},
};
enum {
    FILTER,
    SORT,
    PROJECTION,
    HINT,
    SKIP,
    LIMIT,
    BATCH_SIZE,
    SINGLE_BATCH,
    NO_TIMEOUT,
    MAX,
    MIN,
    RETURN_KEY,
    SHOW_RECORD_ID,
    TAILABLE,
    AWAIT_DATA,
    PARTIAL,
    OPLOG,
    DISK,
    COLLATION,
    LET
};

/* Wishes that this server cannot fulfil are refused, never ignored. */
static status refuse_unsupported(struct command *command, const struct value *given)
{
    if (argument_flag(given[AWAIT_DATA], false) && !argument_flag(given[TAILABLE], false))
        return command_fail(command, ERROR_FailedToParse,
                            "Cannot set 'awaitData' without also setting 'tailable'");
    for (size_t i = RETURN_KEY; i <= SHOW_RECORD_ID; i++) {
        if (argument_flag(given[i], false))
            return command_fail(command, ERROR_CommandNotSupported,
                                "'%s' of find is not supported by mayfly", find_table[i].name);
    }
    return STATUS_OK;
}

static bytes document_or_none(struct value value)
{
    return value.type == VALUE_DOCUMENT && document_field_count(value_document(value)) > 0
               ? value_document(value)
               : BYTES_NONE;
}

/* A cursor that waits for more stands at the end of a capped collection, in the order in which documents came. */
static status check_tailable(struct command *command, const struct collection *collection,
                             const struct find_wish *wish)
{
    struct value natural;

    if (!wish->finding.is_tailable || !collection)
        return STATUS_OK;
    if (!capped_is(collection))
        return command_fail(command, ERROR_BadValue,
                            "error processing query: tailable cursor requested on non capped "
                            "collection");
    if (wish->stream.is_single)
        return command_fail(command, ERROR_FailedToParse,
                            "'tailable' does not go with 'singleBatch' nor a negative limit");
    if (wish->finding.sort.len > 0 && (!document_find(wish->finding.sort, "$natural", &natural) ||
                                       argument_number(natural, 0) != 1))
        return command_fail(command, ERROR_BadValue,
                            "cannot use tailable option with a sort other than {$natural: 1}");
    return STATUS_OK;
}

static status read_wish(struct command *command, struct find_wish *out)
{
    struct value given[ARRAY_COUNT(find_table)];
    struct finding_wish *finding = &out->finding;

    *out = (struct find_wish){ 0 };
    TRY(command_arguments(command, find_table, ARRAY_COUNT(find_table), given));
    TRY(command_collection_name(command, &out->stream.name));
    TRY(refuse_unsupported(command, given));
    *finding = (struct finding_wish){ .filter = argument_document(given[FILTER]),
                                      .let = document_or_none(given[LET]),
                                      .sort = document_or_none(given[SORT]),
                                      .projection = document_or_none(given[PROJECTION]),
                                      .hint = given[HINT],
                                      .min = document_or_none(given[MIN]),
                                      .max = document_or_none(given[MAX]),
                                      .skip = argument_number(given[SKIP], 0),
                                      .limit = argument_number(given[LIMIT], 0),
                                      .is_tailable = argument_flag(given[TAILABLE], false) };
    out->collation = given[COLLATION];
    out->stream.is_tailable = finding->is_tailable;
    out->stream.awaits = argument_flag(given[AWAIT_DATA], false);
    out->stream.batch_size = argument_number(given[BATCH_SIZE], -1);
    out->stream.is_single = argument_flag(given[SINGLE_BATCH], false);
    out->stream.never_idles = argument_flag(given[NO_TIMEOUT], false);
    if (finding->skip < 0 ||
        (given[BATCH_SIZE].type != VALUE_MISSING && out->stream.batch_size < 0))
        return command_fail(command, ERROR_BadValue, "%s must not be negative",
                            finding->skip < 0 ? "skip" : "batchSize");
    if (finding->limit < 0) {
        finding->limit = finding->limit == INT64_MIN ? INT64_MAX : -finding->limit;
        out->stream.is_single = true;
    } else if (finding->limit == 0) {
        finding->limit = -1;
    }
    return STATUS_OK;
}

status serve_find(struct command *command)
{
    const struct collection *collection;
    struct find_wish wish;
    struct stream *stream;
    struct value id;

    TRY(read_wish(command, &wish));
    TRY(command_find(command, wish.stream.name, &collection));
    TRY(collating_read(command, wish.collation, collection, &wish.finding.collation));
    TRY(check_tailable(command, collection, &wish));
    if (collection && !command->explain && wish.stream.batch_size != 0 &&
        !wish.stream.is_tailable && point_is(collection, &wish.finding, &id))
        return point_reply(command, collection, wish.stream.name, id);
    if (!collection)
        wish.stream.is_tailable = wish.finding.is_tailable = false;
    shape_batch(&wish);
    if (view_is_needed(wish.stream.name, collection))
        return view_find(command, &wish.finding, &wish.stream);
    TRY(stream_make(command, &stream));
    status s = finding_open(command, collection, &wish.finding, stream);
    if (s.code != OK) {
        s = fault_keep(command->arena, &command->fault, s);
        stream_drop(stream);
        return s;
    }
    return stream_reply(command, stream, &wish.stream);
}
