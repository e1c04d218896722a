/* Find: documents that fulfil a filter, batch by batch.
 *
 * Between batches the cursor keeps the filter and a position; each batch looks the collection up again and
 * goes on behind the position at its own time. A collection that was dropped meanwhile ends the cursor.
 *
 * Start reading at serve_find(). */
#include "front/mongo/handlers.h"
#include "front/mongo/select.h"
#include "front/mongo/stream.h"

/* In the memory of the stream. */
struct finding {
    uint32_t collection_id;
    struct condition *condition;
    int64_t skip;  /* still to be passed over */
    int64_t limit; /* still to be given; negative: no limit */
    struct buffer position;
    bool is_over;
    struct select *select; /* during a batch */
};

static status begin(void *state, struct command *command)
{
    struct finding *finding = state;
    const struct collection *collection = catalog_find_by_id(&command->request,
                                                             finding->collection_id);

    if (finding->is_over)
        return STATUS_OK;
    if (!collection)
        return command_fail(command, ERROR_QueryPlanKilled,
                            "collection dropped between two batches of a cursor");
    struct select_spec spec = { .collection = collection,
                                .condition = finding->condition,
                                .after = bytes_of(finding->position.data, finding->position.len) };
    return select_open(command, &spec, &finding->select);
}

static status next(void *state, struct command *command, bytes *document_out, bool *has_out)
{
    struct finding *finding = state;
    struct select_row row;

    (void)command;
    *has_out = false;
    if (finding->is_over || finding->limit == 0)
        return STATUS_OK;
    do {
        TRY(select_next(finding->select, &row, has_out));
        if (!*has_out)
            return STATUS_OK;
    } while (finding->skip-- > 0);
    finding->skip = 0;
    *document_out = row.document;
    if (finding->limit > 0)
        finding->limit--;
    return STATUS_OK;
}

static void end(void *state, struct command *command)
{
    struct finding *finding = state;

    if (!finding->select)
        return;
    bytes position = BYTES_NONE;
    finding->is_over = select_is_over(finding->select) ||
                       select_position(finding->select, command->arena, &position).code != OK;
    finding->position.len = 0;
    buffer_append(&finding->position, position);
    if (finding->position.is_failed)
        finding->is_over = true;
    select_close(finding->select);
    finding->select = NULL;
}

/* A stream that has nothing to give, for collections that are not there. */
static status next_of_nothing(void *state, struct command *command, bytes *document_out,
                              bool *has_out)
{
    (void)state;
    (void)command;
    (void)document_out;
    *has_out = false;
    return STATUS_OK;
}

struct find_wish {
    bytes filter;
    bytes let;
    int64_t skip, limit;
    struct stream_wish stream;
};

static status open_stream(struct command *command, const struct collection *collection,
                          const struct find_wish *wish, struct stream *stream)
{
    struct stream_source source = { .next = next_of_nothing };
    struct condition *condition;
    struct finding *finding;

    TRY(condition_make(command, stream_arena(stream), wish->filter, wish->let, &condition));
    if (collection) {
        TRY(ARENA_NEW(stream_arena(stream), 1, &finding));
        *finding = (struct finding){ .collection_id = collection->id,
                                     .condition = condition,
                                     .skip = wish->skip,
                                     .limit = wish->limit,
                                     .position = buffer_in(stream_arena(stream)) };
        source =
            (struct stream_source){ .begin = begin, .next = next, .end = end, .state = finding };
    }
    stream_set_source(stream, &source);
    return STATUS_OK;
}

/* A first batch that reaches the limit is the last. */
static void shape_batch(struct find_wish *wish)
{
    struct stream_wish *stream = &wish->stream;
    int64_t batch = stream->batch_size < 0 ? LIMIT_CURSOR_FIRST_BATCH : stream->batch_size;

    if (wish->limit > 0 && batch > 0 && wish->limit <= batch) {
        stream->batch_size = wish->limit;
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

static status read_wish(struct command *command, struct find_wish *out)
{
    struct value given[ARRAY_COUNT(find_table)];

    *out = (struct find_wish){ 0 };
    TRY(command_arguments(command, find_table, ARRAY_COUNT(find_table), given));
    TRY(command_collection_name(command, &out->stream.name));
    out->filter = argument_document(given[FILTER]);
    out->let = argument_document(given[LET]);
    out->skip = argument_number(given[SKIP], 0);
    out->limit = argument_number(given[LIMIT], 0);
    out->stream.batch_size = argument_number(given[BATCH_SIZE], -1);
    out->stream.is_single = argument_flag(given[SINGLE_BATCH], false);
    out->stream.never_idles = argument_flag(given[NO_TIMEOUT], false);
    for (size_t i = SORT; i <= PROJECTION; i++) {
        if (document_field_count(argument_document(given[i])) > 0)
            return command_fail(command, ERROR_CommandNotSupported,
                                "'%s' of find is not in this version of mayfly yet",
                                find_table[i].name);
    }
    if (out->skip < 0 || (given[BATCH_SIZE].type != VALUE_MISSING && out->stream.batch_size < 0))
        return command_fail(command, ERROR_BadValue, "%s must not be negative",
                            out->skip < 0 ? "skip" : "batchSize");
    if (out->limit < 0) {
        out->limit = out->limit == INT64_MIN ? INT64_MAX : -out->limit;
        out->stream.is_single = true;
    } else if (out->limit == 0) {
        out->limit = -1;
    }
    return STATUS_OK;
}

status serve_find(struct command *command)
{
    const struct collection *collection;
    struct find_wish wish;
    struct stream *stream;

    TRY(read_wish(command, &wish));
    TRY(command_find(command, wish.stream.name, &collection));
    shape_batch(&wish);
    TRY(stream_make(command, &stream));
    status s = open_stream(command, collection, &wish, stream);
    if (s.code != OK) {
        stream_drop(stream);
        return s;
    }
    return stream_reply(command, stream, &wish.stream);
}
