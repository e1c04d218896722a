/* Aggregate: documents through a pipeline, batch by batch.
 *
 * What the front of the pipeline asks (a condition, an order) is asked of the finder. If only stages follow
 * that look at one document at a time, each batch goes on behind the position of the one before, like a
 * find. Otherwise everything is computed for the first batch, and what does not fit waits with the cursor, and with
 * the document it came from, if it came from one: a row whose document has died meanwhile is not given any more. Where
 * rows are made of other documents too, the first of those deaths is noted. Once it has come, or the catalog has changed,
 * everything is computed anew, and rows that were given are left out by what they are (given.h).
 *
 * Threads: the command's that runs the batch. Start reading at serve_aggregate(). */
#include "front/mongo/aggregate.h"
#include "front/mongo/collating.h"
#include "front/mongo/explain.h"
#include "front/mongo/foreign.h"
#include "front/mongo/given.h"
#include "front/mongo/handlers.h"
#include "front/mongo/hint.h"
#include "front/mongo/origin.h"
#include "front/mongo/output.h"
#include "front/mongo/pipeline.h"
#include "front/mongo/view.h"
#include "front/mongo/waiting.h"

/* In the memory of the stream. */
struct aggregating {
    uint32_t collection_id; /* 0: there is none */
    struct condition *condition;
    const struct pipeline *pipeline;
    struct pipeline_front front;
    struct value hint;
    bool is_resumable; /* every stage behind the front looks at one document at a time */
    bool is_list;      /* the documents come from an origin, one behind the other */
    bytes documents;
    bytes rest;            /* those that were not given yet */
    struct output *output; /* where the rows are written to; NULL: they are given */
    struct buffer position;
    bool is_over, is_later;
    bool may_use_disk;
    struct waiting_rows *waiting;
    struct arena *waiting_memory;
    /* Rows made of documents that their origin does not tell. */
    bool is_mixed, is_source_mixed;
    struct made_of made_of;
    struct given_rows *given; /* what was given before it was computed anew; NULL: it was not */
    uint64_t given_count, kept_count, most;
    /* During a batch. */
    struct command *command;
    struct select *select;
    struct select_row row;
    struct buffer origin;
    struct foreign *foreign;
    struct arena *work;
    struct pipeline_run *run;
    struct formula_run formulas;
};

/* ---- where documents come from ---------------------------------------------------------------------- */

/* Does a stage that needs all rows, in whatever order, come before one that counts them off? */
static bool gathers_all(const struct aggregating *aggregating)
{
    for (size_t i = aggregating->front.stage_count; i < aggregating->pipeline->count; i++) {
        enum stage_kind kind = aggregating->pipeline->stages[i].kind;
        if (kind == STAGE_GROUP || kind == STAGE_SORT || kind == STAGE_COUNT)
            return true;
        if (kind == STAGE_FACET || kind == STAGE_BUCKETS || kind == STAGE_WINDOW ||
            kind == STAGE_DENSIFY)
            return true;
        if (kind == STAGE_SKIP || kind == STAGE_LIMIT || kind == STAGE_SAMPLE)
            return false;
    }
    return false;
}

static status spec_of(struct aggregating *aggregating, const struct collection *collection,
                      struct select_spec *out)
{
    struct hint hint;

    TRY(hint_read(aggregating->command, collection, aggregating->hint, &hint));
    *out = (struct select_spec){
        .collection = collection,
        .condition = aggregating->condition,
        .order = aggregating->front.order,
        .by = hint.by,
        .hint = hint.index,
        .is_reverse = hint.is_reverse,
        .is_one_pass = gathers_all(aggregating),
        .is_many = aggregating->is_resumable && aggregating->command->batch_rows == 0,
        .earliest_death = aggregating->is_source_mixed ? &aggregating->made_of.right_until : NULL,
        .wanted = aggregating->front.wanted,
        .after = bytes_of(aggregating->position.data, aggregating->position.len)
    };
    return STATUS_OK;
}

static status next_found(void *context, bytes *document_out, bool *has_out)
{
    struct aggregating *aggregating = context;

    *has_out = false;
    if (!aggregating->select)
        return STATUS_OK;
    TRY(select_next(aggregating->select, &aggregating->row, has_out));
    if (*has_out)
        *document_out = aggregating->row.document;
    return STATUS_OK;
}

static status gather_found(void *context, const struct gather *gather, bool *is_done_out)
{
    struct aggregating *aggregating = context;

    *is_done_out = false;
    return aggregating->select ? select_gather(aggregating->select, gather, is_done_out)
                               : STATUS_OK;
}

static status origin_found(void *context, bytes *out)
{
    struct aggregating *aggregating = context;

    return row_origin(&aggregating->origin, aggregating->collection_id, &aggregating->row, out);
}

/* A row that waited somewhere has the score that it had. */
static void recall_found(void *context, bytes origin)
{
    struct aggregating *aggregating = context;

    aggregating->row.score = row_origin_score(origin);
}

static status count_found(void *context, uint64_t *out)
{
    struct aggregating *aggregating = context;
    struct command *command = aggregating->command;
    const struct collection *collection = catalog_find_by_id(&command->request,
                                                             aggregating->collection_id);
    struct select_spec spec;

    *out = 0;
    if (!collection)
        return STATUS_OK;
    TRY(spec_of(aggregating, collection, &spec));
    return select_count(command, &spec, out);
}

static status place_found(void *context, struct arena *arena, bytes *out)
{
    return select_position(((struct aggregating *)context)->select, arena, out);
}

static status check_time(void *context)
{
    return command_check_time(((struct aggregating *)context)->command);
}

static status next_of_list(void *context, bytes *document_out, bool *has_out)
{
    struct aggregating *aggregating = context;

    *has_out = wire_next_document(&aggregating->rest, document_out);
    return STATUS_OK;
}

/* ---- running ---------------------------------------------------------------------------------------- */

static status open_select(struct aggregating *aggregating)
{
    struct command *command = aggregating->command;
    const struct collection *collection = catalog_find_by_id(&command->request,
                                                             aggregating->collection_id);
    struct select_spec spec;

    if (aggregating->collection_id == 0 || aggregating->front.counts_rows)
        return STATUS_OK;
    if (!collection)
        return command_fail(command, ERROR_QueryPlanKilled,
                            "collection dropped between two batches of a cursor");
    if (aggregating->is_source_mixed)
        made_of_add(&aggregating->made_of, collection);
    TRY(spec_of(aggregating, collection, &spec));
    return select_open(command, &spec, &aggregating->select);
}

static status open_run(struct aggregating *aggregating, struct command *command)
{
    bool is_list = aggregating->is_list;
    struct pipeline_source source = { .next = is_list ? next_of_list : next_found,
                                      .gather = is_list ? NULL : gather_found,
                                      .origin = is_list ? NULL : origin_found,
                                      .recall = is_list ? NULL : recall_found,
                                      .check = check_time,
                                      .wanted = UINT64_MAX,
                                      .context = aggregating };

    aggregating->command = command;
    if (aggregating->is_resumable) {
        source.place = place_found;
        if (command->batch_rows > 0)
            source.wanted = (uint64_t)command->batch_rows;
    }
    if (aggregating->may_use_disk)
        source.disk = command->face->directory;
    if (!is_list && aggregating->front.counts_rows)
        source.count = count_found;
    aggregating->work = arena_open(LIMIT_REQUEST_ARENA_BYTES);
    if (!aggregating->work)
        return status_of(OUT_OF_MEMORY, "no memory to aggregate");
    aggregating->origin = buffer_in(aggregating->work);
    aggregating->formulas = condition_run(command, aggregating->condition, aggregating->work);
    aggregating->formulas.score = &aggregating->row.score;
    aggregating->formulas.check = check_time;
    aggregating->formulas.check_context = aggregating;
    TRY(foreign_make(command, aggregating->work, source.disk, &aggregating->made_of,
                     &aggregating->foreign));
    source.foreign = foreign_sources(aggregating->foreign);
    if (!is_list)
        TRY(open_select(aggregating));
    return pipeline_open(aggregating->pipeline, is_list ? 0 : aggregating->front.stage_count,
                         &source, &aggregating->formulas, aggregating->work, &aggregating->run);
}

/* Rows that were taken and not given are looked for again. */
static void keep_position(struct aggregating *aggregating)
{
    struct arena *arena = aggregating->command->arena;
    bytes position;

    if (!aggregating->select)
        return;
    aggregating->is_over = (select_is_over(aggregating->select) &&
                            !pipeline_is_ahead(aggregating->run)) ||
                           pipeline_place(aggregating->run, arena, &position).code != OK;
    if (aggregating->is_over)
        return;
    aggregating->position.len = 0;
    buffer_append(&aggregating->position, position);
    aggregating->is_over = aggregating->position.is_failed;
}

/* For who asks how it is done. */
static status tell_lookups(const struct aggregating *aggregating)
{
    struct explain *explain = aggregating->command->explain;
    const struct pipeline *pipeline = aggregating->pipeline;
    size_t skipped = aggregating->is_list ? 0 : aggregating->front.stage_count;

    explain->lookup_count = 0;
    TRY(ARENA_NEW(explain->arena, pipeline->count, &explain->lookups));
    for (size_t i = skipped; i < pipeline->count; i++) {
        if (pipeline->stages[i].kind == STAGE_LOOKUP)
            TRY(pipeline_lookup(aggregating->run, i - skipped,
                                &explain->lookups[explain->lookup_count++]));
    }
    return STATUS_OK;
}

static void close_run(struct aggregating *aggregating, bool keeps_position)
{
    if (aggregating->run && keeps_position)
        keep_position(aggregating);
    if (aggregating->run && aggregating->command->explain && tell_lookups(aggregating).code != OK)
        aggregating->command->explain->lookup_count = 0;
    if (aggregating->run)
        pipeline_close(aggregating->run);
    if (aggregating->foreign)
        foreign_close(aggregating->foreign);
    select_close(aggregating->select);
    arena_close(aggregating->work);
    aggregating->run = NULL;
    aggregating->foreign = NULL;
    aggregating->select = NULL;
    aggregating->work = NULL;
}

static status next_row(struct aggregating *aggregating, bytes *document_out, bool *has_out)
{
    struct command *command = aggregating->command;
    status s = pipeline_next(aggregating->run, document_out, has_out);

    if (s.code != OK && command->fault.code == ERROR_NONE)
        return pipeline_fault(command->arena, aggregating->run, s, &command->fault);
    return s;
}

/* ---- batches that go on behind a position ------------------------------------------------------------ */

static status begin_resumed(void *state, struct command *command)
{
    struct aggregating *aggregating = state;

    return aggregating->is_over ? STATUS_OK : open_run(aggregating, command);
}

static status next_resumed(void *state, struct command *command, bytes *document_out, bool *has_out)
{
    struct aggregating *aggregating = state;

    (void)command;
    *has_out = false;
    return aggregating->is_over ? STATUS_OK : next_row(aggregating, document_out, has_out);
}

static void end_resumed(void *state, struct command *command)
{
    struct aggregating *aggregating = state;

    (void)command;
    if (aggregating->work)
        close_run(aggregating, true);
}

static bool is_resumed_over(void *state)
{
    return ((struct aggregating *)state)->is_over;
}

/* ---- rows that wait --------------------------------------------------------------------------------- */

static status keep_row(struct aggregating *aggregating, bytes document)
{
    struct waiting_row row = { .document = document };
    bool was_given = false;

    TRY(pipeline_origin(aggregating->run, &row.origin));
    if (aggregating->given)
        TRY(given_comes_again(aggregating->given, &row, &was_given));
    if (was_given)
        return STATUS_OK;
    aggregating->kept_count++;
    return waiting_add(aggregating->waiting, row);
}

/* With a limit there are never more than that, though others take the place of those that died. */
static bool is_enough(const struct aggregating *aggregating)
{
    return aggregating->given && aggregating->most > 0 &&
           aggregating->given_count + aggregating->kept_count >= aggregating->most;
}

static status compute_all(struct command *command, struct aggregating *aggregating)
{
    bytes document;
    bool has = true;
    status s;

    made_of_nothing(&aggregating->made_of);
    aggregating->kept_count = 0;
    aggregating->rest = aggregating->documents;
    aggregating->waiting_memory = arena_open(LIMIT_CURSOR_BYTES);
    if (!aggregating->waiting_memory)
        return status_of(OUT_OF_MEMORY, "there is no memory for a cursor");
    TRY(waiting_open(aggregating->waiting_memory, command->face->directory, &aggregating->waiting));
    TRY_GOTO(open_run(aggregating, command), done);
    while (has && !is_enough(aggregating)) {
        TRY_GOTO(next_row(aggregating, &document, &has), done);
        if (has)
            TRY_GOTO(keep_row(aggregating, document), done);
    }
done:
    s = fault_keep(command->arena, &command->fault, s);
    close_run(aggregating, false);
    return s;
}

static void forget_waiting(struct aggregating *aggregating)
{
    waiting_close(aggregating->waiting);
    if (aggregating->waiting_memory)
        arena_close(aggregating->waiting_memory);
    aggregating->waiting = NULL;
    aggregating->waiting_memory = NULL;
}

/* The rows that were given from the ones that wait are known from now on. */
static status remember_given(struct aggregating *aggregating)
{
    struct waiting_row row;
    bool has = true;

    if (!aggregating->given)
        TRY(given_open(&aggregating->given));
    waiting_rewind(aggregating->waiting);
    while (has) {
        TRY(waiting_next(aggregating->waiting, &row, &has));
        if (has)
            TRY(given_add(aggregating->given, &row));
    }
    given_begin(aggregating->given);
    return STATUS_OK;
}

/* Each batch has its own now: what was made of documents that are dead by then is made without them. */
static status begin_waiting(void *state, struct command *command)
{
    struct aggregating *aggregating = state;
    const struct request *request = &command->request;

    if (!aggregating->is_later || !aggregating->is_mixed || request->transaction ||
        made_of_living(&aggregating->made_of, request))
        return STATUS_OK;
    status s = remember_given(aggregating);
    if (s.code != OK) /* its words belong to the cursor */
        return status_fail(command->arena, s.code, "%s", s.message);
    forget_waiting(aggregating);
    return compute_all(command, aggregating);
}

static status next_waiting(void *state, struct command *command, bytes *document_out, bool *has_out)
{
    struct aggregating *aggregating = state;

    for (bool is_living = false; !is_living;) {
        struct waiting_row row;
        TRY(waiting_next(aggregating->waiting, &row, has_out));
        if (!*has_out)
            return STATUS_OK;
        is_living = true;
        aggregating->given_count++;
        if (aggregating->is_later)
            TRY(row_origin_lives(command, row.origin, &is_living));
        *document_out = row.document;
    }
    return STATUS_OK;
}

/* For output_write: nothing is left to give. */
static status take_row(void *context, bytes *row_out, bool *has_out)
{
    struct aggregating *aggregating = context;
    struct waiting_row row = { 0 };

    TRY(waiting_next(aggregating->waiting, &row, has_out));
    *row_out = row.document;
    return STATUS_OK;
}

static void end_waiting(void *state, struct command *command)
{
    (void)command;
    ((struct aggregating *)state)->is_later = true;
}

static bool is_waiting_over(void *state)
{
    const struct aggregating *aggregating = state;

    return !aggregating->waiting || waiting_is_over(aggregating->waiting);
}

static void drop_waiting(void *state)
{
    struct aggregating *aggregating = state;

    forget_waiting(aggregating);
    given_close(aggregating->given);
}

/* ---- opening ---------------------------------------------------------------------------------------- */

/* Can it go on behind a position, without anything that it has done before? */
static bool is_by_document(enum stage_kind kind)
{
    switch (kind) {
    case STAGE_MATCH:
    case STAGE_PROJECT:
    case STAGE_REPLACE_ROOT:
    case STAGE_NEAR:
    case STAGE_REDACT:
    case STAGE_LOOKUP:
    case STAGE_GRAPH_LOOKUP:
        return true;
    case STAGE_SKIP:
    case STAGE_LIMIT:
    case STAGE_UNWIND:
    case STAGE_UNION:
    case STAGE_SORT:
    case STAGE_GROUP:
    case STAGE_COUNT:
    case STAGE_SAMPLE:
    case STAGE_FACET:
    case STAGE_BUCKETS:
    case STAGE_WINDOW:
    case STAGE_DENSIFY:
        break;
    }
    return false;
}

static status run_first_stage(struct command *command, struct arena *arena, bytes name,
                              bytes *stages, struct aggregating *aggregating)
{
    struct document_walk walk = document_fields(*stages);
    struct buffer list = buffer_in(arena), others = buffer_in(arena);
    struct field stage, first;
    char room[REPLY_INDEX_BYTES];
    size_t count = 0;

    if (!document_next(&walk, &stage) || stage.value.type != VALUE_DOCUMENT)
        return STATUS_OK;
    struct document_walk inside = document_fields(value_document(stage.value));
    const struct origin *origin = NULL;
    if (document_next(&inside, &first))
        origin = origin_find(first.name);
    /* Watching a database or all of them is refused for what it is. */
    if (!origin && name.len == 0 && !bytes_equal(first.name, BYTES_LITERAL("$changeStream")))
        return command_fail(command, ERROR_InvalidNamespace,
                            "{aggregate: 1} is not valid for a pipeline that begins with %.*s; it "
                            "needs a collection",
                            (int)first.name.len, (const char *)first.name.data);
    if (!origin)
        return STATUS_OK;
    if (origin->is_of_collection != (name.len > 0) ||
        (origin->is_of_admin && !bytes_equal(command->database, BYTES_LITERAL("admin"))))
        return command_fail(command, ERROR_InvalidNamespace, "%s is run on %s%s", origin->stage,
                            origin->is_of_collection ? "a collection" : "{aggregate: 1}",
                            origin->is_of_admin ? " of the database admin" : "");
    TRY(origin->list(command, name, first.value, &list));
    TRY(buffer_finish(&list, &aggregating->documents));
    aggregating->is_list = true;
    aggregating->rest = aggregating->documents;
    size_t begun = document_begin(&others);
    while (document_next(&walk, &stage))
        document_append(&others, bytes_of_text(reply_index(count++, room)), stage.value);
    document_end(&others, begun);
    return buffer_finish(&others, stages);
}

/* The first stage, if it has documents of its own; NULL otherwise. */
static const struct origin *begins_with_origin(bytes stages)
{
    struct document_walk walk = document_fields(stages), inside;
    struct field stage, first;

    if (!document_next(&walk, &stage) || stage.value.type != VALUE_DOCUMENT)
        return NULL;
    inside = document_fields(value_document(stage.value));
    return document_next(&inside, &first) ? origin_find(first.name) : NULL;
}

/* A view has nothing of its own that a stage could read. */
static status check_view_stages(struct command *command, bytes stages)
{
    const struct origin *origin = begins_with_origin(stages);

    if (!origin)
        return STATUS_OK;
    return command_fail(command, ERROR_CommandNotSupportedOnView, "%s is not for views",
                        origin->stage);
}

/* The list of views has its documents with it, too. */
static status take_view(struct command *command, struct arena *arena, const struct view *view,
                        bytes own, bytes *stages_out, struct aggregating *aggregating)
{
    if (view->is_view)
        TRY(check_view_stages(command, own));
    aggregating->collection_id = view->collection ? view->collection->id : 0;
    TRY(arena_copy(arena, view->documents, &aggregating->documents));
    aggregating->is_list = view->documents.len > 0 && !begins_with_origin(own);
    aggregating->rest = aggregating->documents;
    return view->is_view ? view_join(arena, view, own, stages_out)
                         : arena_copy(arena, own, stages_out);
}

static status parse(struct command *command, struct arena *arena, const struct aggregate_wish *wish,
                    const struct view *view, struct aggregating *aggregating)
{
    static const uint8_t empty[5] = { 5, 0, 0, 0, 0 };
    bytes stages;

    aggregating->position = buffer_in(arena);
    aggregating->may_use_disk = !wish->is_disk_refused;
    aggregating->hint.type = wish->hint.type;
    TRY(arena_copy(arena, wish->hint.raw, &aggregating->hint.raw));
    TRY(take_view(command, arena, view, wish->stages, &stages, aggregating));
    TRY(condition_make(command, arena, bytes_of(empty, sizeof(empty)), wish->let, wish->collation,
                       &aggregating->condition));
    if (!aggregating->is_list)
        TRY(run_first_stage(command, arena, wish->stream.name, &stages, aggregating));
    if (!aggregating->is_list)
        TRY(pipeline_complete_near(command, arena, view->collection, &stages));
    TRY(output_take(command, arena, aggregating->condition->scope, &stages, &aggregating->output));
    TRY(pipeline_parse(arena, stages, aggregating->condition->scope, &aggregating->pipeline,
                       &command->fault));
    TRY(pipeline_front(aggregating->pipeline, arena, &aggregating->front));
    if (aggregating->front.match)
        aggregating->condition->match = aggregating->front.match;
    aggregating->is_resumable = !aggregating->is_list && aggregating->front.wanted == 0;
    for (size_t i = aggregating->front.stage_count; i < aggregating->pipeline->count; i++)
        aggregating->is_resumable &= is_by_document(aggregating->pipeline->stages[i].kind);
    aggregating->is_source_mixed = pipeline_mixes(aggregating->pipeline);
    aggregating->is_mixed = aggregating->is_source_mixed || pipeline_joins(aggregating->pipeline);
    aggregating->most = pipeline_most(aggregating->pipeline);
    if (command->explain) {
        TRY(arena_copy(command->explain->arena, stages, &command->explain->stages));
        command->explain->found_stages = aggregating->front.stage_count;
    }
    return STATUS_OK;
}

status aggregate_open(struct command *command, const struct aggregate_wish *wish,
                      struct stream *stream)
{
    struct stream_source source = {
        .begin = begin_resumed, .next = next_resumed, .end = end_resumed, .is_over = is_resumed_over
    };
    struct aggregating *aggregating;
    struct view view = { 0 };

    TRY(ARENA_NEW(stream_arena(stream), 1, &aggregating));
    if (wish->stream.name.len > 0)
        TRY(view_resolve(command, wish->stream.name, &view));
    TRY(parse(command, stream_arena(stream), wish, &view, aggregating));
    if (!aggregating->is_resumable || aggregating->collection_id == 0 || aggregating->output) {
        source = (struct stream_source){ .begin = begin_waiting,
                                         .next = next_waiting,
                                         .end = end_waiting,
                                         .is_over = is_waiting_over,
                                         .drop = drop_waiting,
                                         .state = aggregating };
        stream_set_source(stream, &source);
        TRY(compute_all(command, aggregating));
        aggregating->is_later = wish->stream.batch_size == 0; /* the first batch is not one */
        if (aggregating->output && !command->explain)
            TRY(output_write(command, aggregating->output, take_row, aggregating));
        return STATUS_OK;
    }
    source.state = aggregating;
    stream_set_source(stream, &source);
    return STATUS_OK;
}

/* ---- the command ------------------------------------------------------------------------------------ */

static const struct argument table[] = {
    {"pipeline",                  ARGUMENT_ARRAY,            true },
    { "cursor",                   ARGUMENT_DOCUMENT,         false},
    { "let",                      ARGUMENT_DOCUMENT,         false},
    { "hint",                     ARGUMENT_DOCUMENT_OR_TEXT, false},
    { "explain",                  ARGUMENT_FLAG,             false},
    { "collation",                ARGUMENT_DOCUMENT,         false},
    { "allowDiskUse",             ARGUMENT_FLAG,             false},
    { "bypassDocumentValidation", ARGUMENT_IGNORED,          false},
    { "exchange",                 ARGUMENT_IGNORED,          false},
    { "isMapReduceCommand",       ARGUMENT_IGNORED,          false},
};
enum { PIPELINE, CURSOR, LET, HINT, EXPLAIN, COLLATION, DISK };

static status read_wish(struct command *command, struct aggregate_wish *out)
{
    struct value given[ARRAY_COUNT(table)], batch = { .type = VALUE_MISSING };

    *out = (struct aggregate_wish){ .stream.batch_size = -1 };
    TRY(command_arguments(command, table, ARRAY_COUNT(table), given));
    if (command->target.type == VALUE_STRING)
        TRY(command_collection_name(command, &out->stream.name));
    else if (!value_is_number(command->target) || value_as_double(command->target) != 1)
        return command_fail(command, ERROR_FailedToParse,
                            "aggregate takes the name of a collection, or 1");
    if (given[CURSOR].type == VALUE_MISSING && command->explain)
        given[CURSOR] = (struct value){ VALUE_DOCUMENT, argument_document(given[CURSOR]) };
    if (given[CURSOR].type == VALUE_MISSING)
        return command_fail(
            command, ERROR_FailedToParse,
            "The 'cursor' option is required, except for aggregate with the explain "
            "argument");
    if (document_find(value_document(given[CURSOR]), "batchSize", &batch)) {
        out->stream.batch_size = argument_number(batch, -1);
        if (!value_is_number(batch) || out->stream.batch_size < 0)
            return command_fail(command, ERROR_BadValue,
                                "cursor.batchSize must be a number and not negative");
    }
    out->stages = value_document(given[PIPELINE]);
    out->let = argument_document(given[LET]);
    out->hint = given[HINT];
    out->is_disk_refused = !argument_flag(given[DISK], true);
    const struct collection *collection = NULL;
    if (out->stream.name.len > 0)
        TRY(command_find(command, out->stream.name, &collection));
    return collating_read(command, given[COLLATION], collection, &out->collation);
}

status serve_aggregate(struct command *command)
{
    struct aggregate_wish wish;
    struct stream *stream;
    struct value explains;

    if (!command->explain && document_find(command->message->body, "explain", &explains) &&
        argument_flag(explains, false))
        return explain_run(command, command->message->body, EXPLAIN_PLAN);
    TRY(read_wish(command, &wish));
    TRY(stream_make(command, &stream));
    status s = aggregate_open(command, &wish, stream);
    if (s.code != OK) {
        s = fault_keep(command->arena, &command->fault, s);
        stream_drop(stream);
        return s;
    }
    if (wish.stream.name.len == 0)
        wish.stream.name = BYTES_LITERAL("$cmd.aggregate");
    return stream_reply(command, stream, &wish.stream);
}
