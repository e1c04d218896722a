/* View: from the name of a view to a collection and stages.
 *
 * The definition of a view is an entry of the catalog with the options viewOn and pipeline, and no documents. A
 * view may look at another one; the stages of the one below come first. What is wrong is refused when a view is
 * made, but two views may be made at once, and what they look at may come later; so whoever follows views
 * counts its steps.
 *
 * The list of views is no collection either: its documents are made of the catalog.
 *
 * Threads: the command's. Start reading at view_resolve(). */
#include "front/mongo/view.h"

#include "front/mongo/keep.h"
#include "front/mongo/origin.h"
#include "front/mongo/pipeline.h"
#include "front/mongo/profiler.h"

static bool is_list(bytes name)
{
    return bytes_equal(name, BYTES_LITERAL(VIEW_LIST));
}

bool view_is_needed(bytes name, const struct collection *collection)
{
    return collection ? keep_is_view(collection) : is_list(name) || profiler_is_list(name);
}

static bytes view_on(const struct collection *view)
{
    return value_text(keep_option(view, "viewOn"));
}

static bytes pipeline_of(const struct collection *view)
{
    struct value pipeline = keep_option(view, "pipeline");

    return pipeline.type == VALUE_ARRAY ? value_document(pipeline) : BYTES_NONE;
}

/* ---- lists of stages -------------------------------------------------------------------------------- */

static void append_stages(struct buffer *out, bytes stages, size_t *count)
{
    struct document_walk walk;
    char room[REPLY_INDEX_BYTES];
    struct field stage;

    if (stages.len == 0)
        return;
    walk = document_fields(stages);
    while (document_next(&walk, &stage))
        document_append(out, bytes_of_text(reply_index((*count)++, room)), stage.value);
}

static status join(struct arena *arena, bytes first, bytes second, bytes *out)
{
    struct buffer joined = buffer_in(arena);
    size_t begun = document_begin(&joined), count = 0;

    append_stages(&joined, first, &count);
    append_stages(&joined, second, &count);
    document_end(&joined, begun);
    return buffer_finish(&joined, out);
}

status view_join(struct arena *arena, const struct view *view, bytes stages, bytes *out)
{
    return join(arena, view->stages, stages, out);
}

/* ---- following -------------------------------------------------------------------------------------- */

static status fail_depth(struct command *command, bytes name)
{
    return command_fail(command, ERROR_ViewDepthLimitExceeded,
                        "View depth too deep or view cycle detected at '%.*s'; a view may have %d "
                        "views below it",
                        (int)name.len, (const char *)name.data, LIMIT_VIEW_DEPTH);
}

static status list_views(struct command *command, bytes *out)
{
    struct request *request = &command->request;
    struct buffer rows = buffer_in(command->arena);

    for (size_t i = 0; i < catalog_collection_count(request); i++) {
        const struct collection *view = catalog_collection(request, i);
        if (!bytes_equal(view->definition.database, command->database) || !keep_is_view(view))
            continue;
        size_t row = document_begin(&rows);
        reply_bytes(&rows, "_id", command_namespace(command, view->definition.name));
        reply_bytes(&rows, "viewOn", view_on(view));
        document_append(&rows, BYTES_LITERAL("pipeline"), keep_option(view, "pipeline"));
        if (view->definition.collation)
            reply_document(&rows, "collation", collation_document(view->definition.collation));
        document_end(&rows, row);
    }
    return buffer_finish(&rows, out);
}

status view_resolve(struct command *command, bytes name, struct view *out)
{
    *out = (struct view){ 0 };
    TRY(command_find(command, name, &out->collection));
    if (out->collection)
        out->collation = out->collection->definition.collation;
    if (!out->collection && is_list(name) && !namespace_is_hidden(command->database))
        return list_views(command, &out->documents);
    if (!out->collection && profiler_is_list(name))
        return profiler_rows(command, &out->documents);
    for (int depth = 0; out->collection && keep_is_view(out->collection); depth++) {
        if (depth > LIMIT_VIEW_DEPTH)
            return fail_depth(command, name);
        out->is_view = true;
        TRY(join(command->arena, pipeline_of(out->collection), out->stages, &out->stages));
        if (out->stages.len > LIMIT_DOCUMENT_BYTES)
            return command_fail(command, ERROR_ViewPipelineMaxSizeExceeded,
                                "the pipelines of the view '%.*s' and of those below it have %zu "
                                "bytes together, the limit is %d",
                                (int)name.len, (const char *)name.data, out->stages.len,
                                LIMIT_DOCUMENT_BYTES);
        TRY(command_find(command, view_on(out->collection), &out->collection));
    }
    return STATUS_OK;
}

bool view_are_any(struct command *command)
{
    struct request *request = &command->request;

    for (size_t i = 0; i < catalog_collection_count(request); i++) {
        const struct collection *collection = catalog_collection(request, i);
        if (bytes_equal(collection->definition.database, command->database) &&
            keep_is_view(collection))
            return true;
    }
    return false;
}

/* ---- checking --------------------------------------------------------------------------------------- */

/* Stages that write, or that have documents of their own. */
static bool is_forbidden(bytes stage)
{
    static const char *const names[] = { "$out",       "$merge",      "$changeStream",
                                         "$currentOp", "$indexStats", "$listLocalSessions" };

    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        if (bytes_equal(stage, bytes_of_text(names[i])))
            return true;
    }
    return origin_find(stage) != NULL;
}

static status check_stages(struct command *command, bytes name, bytes pipeline)
{
    struct document_walk walk = document_fields(pipeline);
    const struct pipeline *parsed;
    struct field stage, first;

    while (document_next(&walk, &stage)) {
        if (stage.value.type != VALUE_DOCUMENT)
            continue;
        struct document_walk inside = document_fields(value_document(stage.value));
        if (document_next(&inside, &first) && is_forbidden(first.name))
            return command_fail(command, ERROR_OptionNotSupportedOnView,
                                "the stage %.*s, number %.*s of the pipeline, cannot be used in "
                                "the definition of the view '%.*s'",
                                (int)first.name.len, (const char *)first.name.data,
                                (int)stage.name.len, (const char *)stage.name.data, (int)name.len,
                                (const char *)name.data);
    }
    return pipeline_parse(command->arena, pipeline, NULL, &parsed, &command->fault);
}

/* Steps from a name down to `wanted`, or to the end if it is not met: then *is_met_out is false. */
static status count_steps(struct command *command, bytes from, bytes wanted, bool *is_met_out,
                          int *out)
{
    const struct collection *at;

    *out = 0;
    *is_met_out = bytes_equal(from, wanted);
    TRY(command_find(command, from, &at));
    while (!*is_met_out && at && keep_is_view(at) && *out <= LIMIT_VIEW_DEPTH) {
        ++*out;
        *is_met_out = bytes_equal(view_on(at), wanted);
        TRY(command_find(command, view_on(at), &at));
    }
    return STATUS_OK;
}

/* The longest way from a view that is there already down to this one. */
static status count_above(struct command *command, bytes name, int *out)
{
    struct request *request = &command->request;
    bool is_met;
    int steps;

    *out = 0;
    for (size_t i = 0; i < catalog_collection_count(request); i++) {
        const struct collection *view = catalog_collection(request, i);
        if (!bytes_equal(view->definition.database, command->database) || !keep_is_view(view) ||
            bytes_equal(view->definition.name, name))
            continue;
        TRY(count_steps(command, view->definition.name, name, &is_met, &steps));
        if (is_met && steps > *out)
            *out = steps;
    }
    return STATUS_OK;
}

static status check_collation(struct command *command, bytes name, bytes on,
                              const struct collation *by)
{
    const struct collection *below;

    TRY(command_find(command, on, &below));
    if (!below || !keep_is_view(below) || below->definition.collation == by)
        return STATUS_OK;
    return command_fail(command, ERROR_OptionNotSupportedOnView,
                        "View '%.*s' has conflicting collation with view '%.*s'; both must have "
                        "the same",
                        (int)name.len, (const char *)name.data, (int)on.len, (const char *)on.data);
}

status view_check(struct command *command, bytes name, bytes on, bytes pipeline,
                  const struct collation *by)
{
    bool is_met;
    int below, above;

    TRY(check_collation(command, name, on, by));
    TRY(check_stages(command, name, pipeline));
    TRY(view_reaches(command, on, pipeline, name, &is_met));
    if (is_met)
        return command_fail(command, ERROR_GraphContainsCycle,
                            "View cycle detected: '%.*s' on '%.*s' would look at itself, by its "
                            "pipeline or through other views",
                            (int)name.len, (const char *)name.data, (int)on.len,
                            (const char *)on.data);
    TRY(count_steps(command, on, name, &is_met, &below));
    TRY(count_above(command, name, &above));
    return above + below >= LIMIT_VIEW_DEPTH ? fail_depth(command, name) : STATUS_OK;
}
