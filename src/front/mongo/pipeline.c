/* Pipeline: from the stages of an aggregation to a pipeline.
 *
 *   pipeline = [ *{ "$" stage : argument } ]
 *
 * Each stage is a row of one table; some are written as others ($sortByCount is a group and a sort).
 *
 * Threads: pure apart from the arena. Start reading at pipeline_parse(). */
#include "front/mongo/accumulator.h"
#include "front/mongo/filter.h"
#include "front/mongo/mongo.h"
#include "front/mongo/origin.h"
#include "front/mongo/pipeline_parts.h"
#include "front/mongo/projection.h"
#include "front/mongo/update.h"

bool pipeline_is_named(bytes name, const char *text)
{
    return bytes_equal(name, bytes_of_text(text));
}

status pipeline_add(struct pipeline_parser *p, enum stage_kind kind, struct stage **out)
{
    if (p->count == p->room) {
        size_t room = p->room ? p->room * 2 : 8;
        struct stage *more;
        TRY(ARENA_NEW(p->arena, room, &more));
        if (p->count)
            memcpy(more, p->stages, p->count * sizeof(*more));
        p->stages = more;
        p->room = room;
    }
    *out = &p->stages[p->count++];
    **out = (struct stage){ .kind = kind };
    return STATUS_OK;
}

/* ---- single stages ---------------------------------------------------------------------------------- */

status pipeline_need_document(struct pipeline_parser *p, struct value argument, int32_t code,
                              const char *name)
{
    if (argument.type == VALUE_DOCUMENT)
        return STATUS_OK;
    return fault_raise(p->arena, p->fault, code, "the %s specification must be an object", name);
}

status stage_match(struct pipeline_parser *p, struct value argument)
{
    struct stage *stage;

    TRY(pipeline_need_document(p, argument, 15959, "$match"));
    TRY(pipeline_add(p, STAGE_MATCH, &stage));
    TRY(filter_parse(p->arena, value_document(argument), p->scope, &stage->match, p->fault));
    if (p->count > 1 && match_wish(stage->match))
        return fault_raise(p->arena, p->fault, 17313,
                           "$match with $text is only allowed as the first pipeline stage");
    return STATUS_OK;
}

status stage_project(struct pipeline_parser *p, struct value argument)
{
    struct stage *stage;

    TRY(pipeline_need_document(p, argument, 15969, "$project"));
    TRY(pipeline_add(p, STAGE_PROJECT, &stage));
    return projection_parse(p->arena, value_document(argument), PROJECTION_OF_STAGE, p->scope,
                            &stage->projection, p->fault);
}

status stage_add_fields(struct pipeline_parser *p, struct value argument)
{
    struct stage *stage;

    TRY(pipeline_need_document(p, argument, 40272, "$addFields"));
    TRY(pipeline_add(p, STAGE_PROJECT, &stage));
    return projection_parse_fields(p->arena, value_document(argument), p->scope, &stage->projection,
                                   p->fault);
}

status stage_unset(struct pipeline_parser *p, struct value argument)
{
    struct stage *stage;

    TRY(pipeline_add(p, STAGE_PROJECT, &stage));
    return projection_parse_unset(p->arena, argument, &stage->projection, p->fault);
}

status stage_replace_with(struct pipeline_parser *p, struct value argument)
{
    struct stage *stage;

    TRY(pipeline_add(p, STAGE_REPLACE_ROOT, &stage));
    return formula_parse(p->arena, argument, p->scope, &stage->formula, p->fault);
}

status stage_replace_root(struct pipeline_parser *p, struct value argument)
{
    struct value root;

    TRY(pipeline_need_document(p, argument, 40229, "$replaceRoot"));
    if (!document_find(value_document(argument), "newRoot", &root))
        return fault_raise(p->arena, p->fault, 40231,
                           "no newRoot specified for the $replaceRoot stage");
    return stage_replace_with(p, root);
}

status stage_sort(struct pipeline_parser *p, struct value argument)
{
    struct sort_wish wish;
    struct stage *stage;

    TRY(pipeline_need_document(p, argument, 15973, "$sort"));
    TRY(sort_parse(p->arena, value_document(argument), formula_scope_collation(p->scope), &wish,
                   p->fault));
    if (!wish.order)
        return fault_raise(p->arena, p->fault, 15976,
                           "$sort stage must have at least one sort key");
    TRY(pipeline_add(p, STAGE_SORT, &stage));
    stage->order = wish.order;
    return STATUS_OK;
}

status pipeline_add_sort(struct pipeline_parser *p, bytes path, bool is_descending)
{
    const struct order_part part = { .path = path, .is_descending = is_descending };
    struct stage *stage;

    TRY(pipeline_add(p, STAGE_SORT, &stage));
    return order_make(p->arena, formula_scope_collation(p->scope), &part, 1, &stage->order);
}

static status parse_count_of(struct pipeline_parser *p, struct value argument, const char *name,
                             int64_t least, int32_t code, uint64_t *out)
{
    int64_t number;

    if (!value_is_number(argument) || !value_as_int64(argument, &number))
        return fault_raise(p->arena, p->fault, code,
                           "invalid argument to %s stage: expected a whole number", name);
    if (number < least)
        return fault_raise(p->arena, p->fault, code,
                           "invalid argument to %s stage: %lld, it must be at least %lld", name,
                           (long long)number, (long long)least);
    *out = (uint64_t)number;
    return STATUS_OK;
}

status stage_skip(struct pipeline_parser *p, struct value argument)
{
    struct stage *stage;

    TRY(pipeline_add(p, STAGE_SKIP, &stage));
    return parse_count_of(p, argument, "$skip", 0, 5107200, &stage->count);
}

status stage_limit(struct pipeline_parser *p, struct value argument)
{
    struct stage *stage;

    TRY(pipeline_add(p, STAGE_LIMIT, &stage));
    return parse_count_of(p, argument, "$limit", 1, 15958, &stage->count);
}

status stage_sample(struct pipeline_parser *p, struct value argument)
{
    struct stage *stage;
    struct value size;

    TRY(pipeline_need_document(p, argument, 28745, "$sample"));
    if (!document_find(value_document(argument), "size", &size))
        return fault_raise(p->arena, p->fault, 28749, "$sample stage must specify a size");
    TRY(pipeline_add(p, STAGE_SAMPLE, &stage));
    return parse_count_of(p, size, "$sample", 0, 28747, &stage->count);
}

status stage_count(struct pipeline_parser *p, struct value argument)
{
    struct stage *stage;

    if (argument.type != VALUE_STRING || value_text(argument).len == 0)
        return fault_raise(p->arena, p->fault, argument.type == VALUE_STRING ? 40157 : 40156,
                           "the count field must be a non-empty string");
    bytes name = value_text(argument);
    if (name.data[0] == '$' || memchr(name.data, '.', name.len) || memchr(name.data, 0, name.len))
        return fault_raise(p->arena, p->fault, name.data[0] == '$' ? 40158 : 40160,
                           "the count field cannot be a $-prefixed path nor contain '.'");
    TRY(pipeline_add(p, STAGE_COUNT, &stage));
    stage->name = name;
    return STATUS_OK;
}

/* ---- $unwind ---------------------------------------------------------------------------------------- */

static status parse_unwind_options(struct pipeline_parser *p, bytes options, struct stage *stage,
                                   struct value *path)
{
    struct document_walk walk = document_fields(options);
    struct field field;

    *path = (struct value){ .type = VALUE_MISSING };
    while (document_next(&walk, &field)) {
        if (pipeline_is_named(field.name, "path")) {
            *path = field.value;
        } else if (pipeline_is_named(field.name, "preserveNullAndEmptyArrays")) {
            if (field.value.type != VALUE_BOOL)
                return fault_raise(p->arena, p->fault, 28809,
                                   "expected a boolean for the preserveNullAndEmptyArrays option "
                                   "to $unwind stage");
            stage->keeps_empty = formula_is_true(field.value);
        } else if (pipeline_is_named(field.name, "includeArrayIndex")) {
            if (field.value.type != VALUE_STRING || value_text(field.value).len == 0 ||
                value_text(field.value).data[0] == '$')
                return fault_raise(p->arena, p->fault, 28810,
                                   "expected a non-empty string without $ for the "
                                   "includeArrayIndex option to $unwind stage");
            stage->position_name = value_text(field.value);
        } else {
            return fault_raise(p->arena, p->fault, 28811,
                               "unrecognized option to $unwind stage: %.*s", (int)field.name.len,
                               (const char *)field.name.data);
        }
    }
    return STATUS_OK;
}

status stage_unwind(struct pipeline_parser *p, struct value argument)
{
    struct stage *stage;
    struct value path = argument;

    TRY(pipeline_add(p, STAGE_UNWIND, &stage));
    if (argument.type == VALUE_DOCUMENT)
        TRY(parse_unwind_options(p, value_document(argument), stage, &path));
    if (path.type == VALUE_MISSING)
        return fault_raise(p->arena, p->fault, 28812, "no path specified to $unwind stage");
    if (path.type != VALUE_STRING)
        return fault_raise(p->arena, p->fault, 28808,
                           "expected a string as the path for $unwind stage");
    bytes text = value_text(path);
    if (text.len < 2 || text.data[0] != '$' || text.data[1] == '$')
        return fault_raise(p->arena, p->fault, 28818,
                           "path option to $unwind stage should be prefixed with a '$': %.*s",
                           (int)text.len, (const char *)text.data);
    stage->name = bytes_from(text, 1);
    return STATUS_OK;
}

/* ---- $group ----------------------------------------------------------------------------------------- */

status stage_group(struct pipeline_parser *p, struct value argument)
{
    struct accumulator *made;
    struct document_walk walk;
    struct stage *stage;
    struct field field;

    TRY(pipeline_need_document(p, argument, 15947, "$group"));
    TRY(pipeline_add(p, STAGE_GROUP, &stage));
    TRY(ARENA_NEW(p->arena, document_field_count(value_document(argument)), &made));
    walk = document_fields(value_document(argument));
    while (document_next(&walk, &field)) {
        if (pipeline_is_named(field.name, "_id"))
            TRY(formula_parse(p->arena, field.value, p->scope, &stage->formula, p->fault));
        else
            TRY(accumulator_parse(p->arena, field, p->scope, &made[stage->accumulator_count++],
                                  p->fault));
    }
    if (!stage->formula)
        return fault_raise(p->arena, p->fault, 15955, "a group specification must include an _id");
    stage->accumulators = made;
    return STATUS_OK;
}

status stage_sort_by_count(struct pipeline_parser *p, struct value argument)
{
    struct accumulator *count;
    struct stage *stage;

    if (argument.type != VALUE_STRING && argument.type != VALUE_DOCUMENT)
        return fault_raise(p->arena, p->fault, 40149,
                           "the sortByCount field must be specified as a string or as an object");
    TRY(pipeline_add(p, STAGE_GROUP, &stage));
    TRY(ARENA_NEW(p->arena, 1, &count));
    *count = (struct accumulator){ .name = BYTES_LITERAL("count") };
    TRY(accumulator_count(p->arena, count));
    TRY(formula_parse(p->arena, argument, p->scope, &stage->formula, p->fault));
    stage->accumulators = count;
    stage->accumulator_count = 1;
    return pipeline_add_sort(p, BYTES_LITERAL("count"), true);
}

status stage_redact(struct pipeline_parser *p, struct value argument)
{
    struct stage *stage;

    TRY(pipeline_add(p, STAGE_REDACT, &stage));
    return formula_parse_redact(p->arena, argument, p->scope, &stage->formula, p->fault);
}

/* ---- the whole -------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    pipeline_stage *parse;
    const char *sentence;
} stages[] = {
#define STAGE(name, function, what) { name, stage_##function, what },
#include "front/mongo/stages.def"
#undef STAGE
};

status stage_change_stream(struct pipeline_parser *p, struct value argument)
{
    (void)argument;
    return fault_raise(p->arena, p->fault, ERROR_NotImplemented,
                       "$changeStream: this version of mayfly has no change streams; a tailable "
                       "cursor on a capped collection follows what is inserted there");
}

status stage_search(struct pipeline_parser *p, struct value argument)
{
    (void)argument;
    return fault_raise(p->arena, p->fault, ERROR_NotImplemented,
                       "$search, $searchMeta, $vectorSearch and $listSearchIndexes belong to "
                       "MongoDB's hosted service; "
                       "use $match with $text and a text index");
}

/* Where they may stand, they were taken off before. */
status stage_output(struct pipeline_parser *p, struct value argument)
{
    (void)argument;
    if (p->outer)
        return fault_raise(p->arena, p->fault, 51047, "$out and $merge are not allowed within a %s",
                           p->outer);
    return fault_raise(p->arena, p->fault, 40601,
                       "$out and $merge can only be the final stage in the pipeline");
}

/* Stages that $facet has no use for. */
static status check_facet(struct pipeline_parser *p, bytes name)
{
    static const char *const refused[] = { "$collStats",      "$facet",     "$geoNear",
                                           "$indexStats",     "$out",       "$merge",
                                           "$planCacheStats", "$documents", "$currentOp",
                                           "$changeStream" };

    for (size_t i = 0; i < ARRAY_COUNT(refused); i++) {
        if (pipeline_is_named(name, refused[i]))
            return fault_raise(p->arena, p->fault, 40600,
                               "%s is not allowed to be used within a $facet stage", refused[i]);
    }
    return STATUS_OK;
}

static status parse_one(struct pipeline_parser *p, struct value stage)
{
    struct document_walk walk;
    struct field field, more;

    if (stage.type != VALUE_DOCUMENT)
        return fault_raise(p->arena, p->fault, ERROR_TypeMismatch,
                           "Each element of the 'pipeline' array must be an object");
    walk = document_fields(value_document(stage));
    if (!document_next(&walk, &field) || document_next(&walk, &more))
        return fault_raise(p->arena, p->fault, 40323,
                           "A pipeline stage specification object must contain exactly one field.");
    if (p->outer && strcmp(p->outer, "$facet") == 0)
        TRY(check_facet(p, field.name));
    for (size_t i = 0; i < ARRAY_COUNT(stages); i++) {
        if (pipeline_is_named(field.name, stages[i].name))
            return stages[i].parse(p, field.value);
    }
    return fault_raise(p->arena, p->fault, 40324, "Unrecognized pipeline stage name: '%.*s'",
                       (int)field.name.len, (const char *)field.name.data);
}

static status parse_all(struct pipeline_parser *p, bytes array, const struct pipeline **out)
{
    struct document_walk walk = document_fields(array);
    struct pipeline *pipeline;
    struct field element;

    *out = NULL;
    while (document_next(&walk, &element)) {
        if (p->count >= LIMIT_PIPELINE_STAGES)
            return fault_raise(p->arena, p->fault, 7749501,
                               "Pipeline length must be no longer than %d stages",
                               LIMIT_PIPELINE_STAGES);
        TRY(parse_one(p, element.value));
    }
    TRY(ARENA_NEW(p->arena, 1, &pipeline));
    *pipeline = (struct pipeline){ .stages = p->stages, .count = p->count };
    *out = pipeline;
    return STATUS_OK;
}

status pipeline_parse_inner(struct pipeline_parser *p, bytes array,
                            const struct formula_scope *scope, const char *outer,
                            const struct pipeline **out)
{
    struct pipeline_parser inner = {
        .arena = p->arena, .fault = p->fault, .scope = scope, .outer = outer, .depth = p->depth + 1
    };

    if (inner.depth > LIMIT_PIPELINE_DEPTH)
        return fault_raise(p->arena, p->fault, ERROR_MaxSubPipelineDepthExceeded,
                           "Maximum number of nested sub-pipelines exceeded. Limit is %d",
                           LIMIT_PIPELINE_DEPTH);
    return parse_all(&inner, array, out);
}

status pipeline_parse(struct arena *arena, bytes array, const struct formula_scope *scope,
                      const struct pipeline **out, struct fault *fault)
{
    struct pipeline_parser p = { .arena = arena, .fault = fault, .scope = scope };

    return parse_all(&p, array, out);
}

void mongo_describe_operators(struct buffer *out)
{
    buffer_append_text(out,
                       "## Filters\n\n| operator | asked of a | fulfilled by |\n|---|---|---|\n");
    filter_describe(out);
    buffer_append_text(out,
                       "\n## Updates\n\nAn array of stages is an update, too: `$addFields $set "
                       "$project $unset $replaceRoot $replaceWith`. Paths may hold `$`, `$[]` and "
                       "`$[name]`.\n\n| operator | what it does |\n|---|---|\n");
    update_describe(out);
    buffer_append_text(out, "\n");
    buffer_append_text(out, "## Stages\n\n| stage | what it does |\n|---|---|\n");
    origin_describe(out);
    pipeline_describe(out);
    buffer_append_text(out, "\n## Accumulators\n\n| accumulator | takes | what it gives |\n"
                            "|---|---|---|\n");
    accumulator_describe(out);
    buffer_append_text(out, "\n## Functions of windows\n\n$setWindowFields knows all accumulators, "
                            "and these:\n\n| function | takes a window | what it gives |\n"
                            "|---|---|---|\n");
    pipeline_describe_windows(out);
    buffer_append_text(out, "\n## Expressions\n\nArguments with `?` may be left out.\n\n"
                            "| operator | arguments | what it gives |\n|---|---|---|\n");
    formula_describe(out);
}

void pipeline_describe(struct buffer *out)
{
    for (size_t i = 0; i < ARRAY_COUNT(stages); i++)
        buffer_append_format(out, "| `%s` | %s |\n", stages[i].name, stages[i].sentence);
}

status pipeline_fault(struct arena *arena, const struct pipeline_run *run, status failed,
                      struct fault *fault)
{
    if (!pipeline_refusal(run))
        return failed;
    return fault_raise(arena, fault, pipeline_refusal(run), "%s", failed.message);
}
