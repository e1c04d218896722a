/* View, commands: find, count and distinct on a view, as pipelines.
 *
 * What the client asks becomes stages behind those of the view. What no stage can say is refused.
 *
 * Threads: the command's. */
#include "front/mongo/view.h"

#include "front/mongo/aggregate.h"
#include "front/mongo/profiler.h"

struct stages {
    struct buffer list;
    size_t begun;
    size_t count;
};

static struct stages stages_in(struct arena *arena)
{
    struct stages stages = { .list = buffer_in(arena) };

    stages.begun = document_begin(&stages.list);
    return stages;
}

static size_t begin_stage(struct stages *stages)
{
    char room[REPLY_INDEX_BYTES];

    return reply_begin(&stages->list, reply_index(stages->count++, room));
}

static void add_document(struct stages *stages, const char *name, bytes document)
{
    if (document.len == 0)
        return;
    size_t stage = begin_stage(stages);
    reply_document(&stages->list, name, document);
    document_end(&stages->list, stage);
}

static void add_number(struct stages *stages, const char *name, int64_t number)
{
    if (number <= 0)
        return;
    size_t stage = begin_stage(stages);
    reply_int64(&stages->list, name, number);
    document_end(&stages->list, stage);
}

static status finish(struct stages *stages, bytes *out)
{
    document_end(&stages->list, stages->begun);
    return buffer_finish(&stages->list, out);
}

/* ---- find ------------------------------------------------------------------------------------------- */

static status check_find(struct command *command, const struct finding_wish *finding,
                         bool is_numbered)
{
    struct value natural;
    const char *option = finding->min.len > 0 ? "min" : NULL;

    if (finding->max.len > 0)
        option = "max";
    if (finding->sort.len > 0 && document_find(finding->sort, "$natural", &natural) && !is_numbered)
        option = "sort by $natural";
    if (option)
        return command_fail(command, ERROR_OptionNotSupportedOnView,
                            "'%s' of find is not supported on a view", option);
    return STATUS_OK;
}

/* Rows of the profiler are numbered as they come, by their _id. */
static status sort_by_number(struct command *command, bytes *sort)
{
    struct buffer order = buffer_in(command->arena);
    struct value natural;

    if (sort->len == 0 || !document_find(*sort, "$natural", &natural))
        return STATUS_OK;
    size_t begun = document_begin(&order);
    document_append(&order, BYTES_LITERAL("_id"), natural);
    document_end(&order, begun);
    return buffer_finish(&order, sort);
}

status view_find(struct command *command, const struct finding_wish *finding,
                 const struct stream_wish *wanted)
{
    struct stages stages = stages_in(command->arena);
    struct aggregate_wish wish = { .let = finding->let,
                                   .hint = finding->hint,
                                   .collation = finding->collation,
                                   .stream = *wanted };
    struct stream *stream;

    bool is_numbered = profiler_is_list(wanted->name);
    bytes sort = finding->sort;
    TRY(check_find(command, finding, is_numbered));
    if (is_numbered)
        TRY(sort_by_number(command, &sort));
    add_document(&stages, "$match", finding->filter);
    add_document(&stages, "$sort", sort);
    add_number(&stages, "$skip", finding->skip);
    add_number(&stages, "$limit", finding->limit);
    add_document(&stages, "$project", finding->projection);
    TRY(finish(&stages, &wish.stages));
    TRY(stream_make(command, &stream));
    status s = aggregate_open(command, &wish, stream);
    if (s.code == OK)
        return stream_reply(command, stream, &wish.stream);
    s = fault_keep(command->arena, &command->fault, s);
    stream_drop(stream);
    return s;
}

/* ---- count and distinct ------------------------------------------------------------------------------ */

static status run(struct command *command, bytes name, struct stages *stages, struct value hint,
                  const struct collation *by, stream_row *each, void *context)
{
    struct aggregate_wish wish = { .stream.name = name, .hint = hint, .collation = by };
    struct stream *stream;

    TRY(finish(stages, &wish.stages));
    TRY(stream_make(command, &stream));
    status s = aggregate_open(command, &wish, stream);
    if (s.code == OK)
        s = stream_each(command, stream, each, context);
    s = fault_keep(command->arena, &command->fault, s);
    stream_drop(stream);
    return s;
}

static status take_count(void *context, bytes document)
{
    uint64_t *out = context;
    struct value count;
    int64_t whole = 0;

    if (document_find(document, "n", &count) && value_as_int64(count, &whole))
        *out = (uint64_t)whole;
    return STATUS_OK;
}

status view_count(struct command *command, bytes name, bytes filter, const struct collation *by,
                  int64_t skip, int64_t limit, uint64_t *out)
{
    struct stages stages = stages_in(command->arena);

    *out = 0;
    add_document(&stages, "$match", filter);
    add_number(&stages, "$skip", skip);
    add_number(&stages, "$limit", limit);
    size_t stage = begin_stage(&stages);
    reply_text(&stages.list, "$count", "n");
    document_end(&stages.list, stage);
    return run(command, name, &stages, (struct value){ 0 }, by, take_count, out);
}

status view_each(struct command *command, bytes name, bytes filter, struct value hint,
                 const struct collation *by, stream_row *each, void *context)
{
    struct stages stages = stages_in(command->arena);

    add_document(&stages, "$match", filter);
    return run(command, name, &stages, hint, by, each, context);
}
