/* View reach: which collections a view looks at, by itself and through others.
 *
 * Beside the one that it stands on, a view may name others in $lookup, $graphLookup and $unionWith, also inside
 * of pipelines of these stages and of $facet. From name to name this is a graph; the way is a list of names, each
 * looked at once, so it ends whatever the graph looks like.
 *
 * Threads: the command's. Start reading at view_reaches(). */
#include "front/mongo/keep.h"
#include "front/mongo/view.h"

/* Names that were met, in the arena of the command; those before `at` were followed. */
struct reach {
    struct command *command;
    bytes *names;
    size_t count, room, at;
};

static status meet(struct reach *reach, bytes name)
{
    for (size_t i = 0; i < reach->count; i++) {
        if (bytes_equal(reach->names[i], name))
            return STATUS_OK;
    }
    if (reach->count == reach->room) {
        bytes *more;
        TRY(ARENA_NEW(reach->command->arena, 2 * reach->room + 16, &more));
        for (size_t i = 0; i < reach->count; i++)
            more[i] = reach->names[i];
        reach->names = more;
        reach->room = 2 * reach->room + 16;
    }
    reach->names[reach->count++] = name;
    return STATUS_OK;
}

static status meet_stages(struct reach *reach, struct value stages, int depth);

/* { from | coll, pipeline } of a stage that looks elsewhere. */
static status meet_elsewhere(struct reach *reach, struct value argument, int depth)
{
    static const char *const fields[] = { "from", "coll" };
    struct value value;

    if (argument.type == VALUE_STRING)
        return meet(reach, value_text(argument));
    if (argument.type != VALUE_DOCUMENT)
        return STATUS_OK;
    for (size_t i = 0; i < ARRAY_COUNT(fields); i++) {
        if (document_find(value_document(argument), fields[i], &value) &&
            value.type == VALUE_STRING)
            TRY(meet(reach, value_text(value)));
    }
    return document_find(value_document(argument), "pipeline", &value)
               ? meet_stages(reach, value, depth)
               : STATUS_OK;
}

static status meet_facets(struct reach *reach, struct value argument, int depth)
{
    struct field facet;

    if (argument.type != VALUE_DOCUMENT)
        return STATUS_OK;
    struct document_walk walk = document_fields(value_document(argument));
    while (document_next(&walk, &facet))
        TRY(meet_stages(reach, facet.value, depth));
    return STATUS_OK;
}

/* What is nested deeper than a view may be was refused when it was parsed. */
static status meet_stages(struct reach *reach, struct value stages, int depth)
{
    struct field stage, first;

    if (stages.type != VALUE_ARRAY || depth > LIMIT_VIEW_DEPTH)
        return STATUS_OK;
    struct document_walk walk = document_fields(value_document(stages));
    while (document_next(&walk, &stage)) {
        if (stage.value.type != VALUE_DOCUMENT)
            continue;
        struct document_walk inside = document_fields(value_document(stage.value));
        if (!document_next(&inside, &first))
            continue;
        if (bytes_is_text(first.name, "$facet"))
            TRY(meet_facets(reach, first.value, depth + 1));
        else if (bytes_is_text(first.name, "$lookup") ||
                 bytes_is_text(first.name, "$graphLookup") ||
                 bytes_is_text(first.name, "$unionWith"))
            TRY(meet_elsewhere(reach, first.value, depth + 1));
    }
    return STATUS_OK;
}

static status follow(struct reach *reach)
{
    const struct collection *collection;

    TRY(command_find(reach->command, reach->names[reach->at++], &collection));
    if (!collection || !keep_is_view(collection))
        return STATUS_OK;
    TRY(meet(reach, value_text(keep_option(collection, "viewOn"))));
    return meet_stages(reach, keep_option(collection, "pipeline"), 0);
}

status view_reaches(struct command *command, bytes on, bytes pipeline, bytes wanted, bool *out)
{
    struct reach reach = { .command = command };

    *out = false;
    TRY(meet(&reach, on));
    TRY(meet_stages(&reach, (struct value){ VALUE_ARRAY, pipeline }, 0));
    while (!*out && reach.at < reach.count) {
        *out = bytes_equal(reach.names[reach.at], wanted);
        TRY(follow(&reach));
    }
    return STATUS_OK;
}
