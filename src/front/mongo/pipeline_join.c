/* Pipeline join: the stages that look at other collections, or have pipelines inside.
 *
 *   $lookup      = { from, [ localField, foreignField, ] [ let, ] [ pipeline, ] as }
 *   $unionWith   = "collection" | { [ coll, ] [ pipeline ] }
 *   $graphLookup = { from, startWith, connectFromField, connectToField, as, ... }
 *   $facet       = { name: pipeline, ... }
 *
 * Threads: pure apart from the arena. */
#include "front/mongo/filter.h"
#include "front/mongo/formula_parts.h"
#include "front/mongo/pipeline_parts.h"

/* ---- arguments -------------------------------------------------------------------------------------- */

static status need_text(struct pipeline_parser *p, struct field field, const char *stage,
                        int32_t code, bytes *out)
{
    if (field.value.type != VALUE_STRING)
        return fault_raise(
            p->arena, p->fault, code, "%s argument '%.*s' must be a string, is type %s", stage,
            (int)field.name.len, (const char *)field.name.data, value_type_name(field.value.type));
    *out = value_text(field.value);
    return STATUS_OK;
}

static status check_path(struct pipeline_parser *p, bytes path, const char *what)
{
    if (path.len && path.data[0] != '$' && path.data[path.len - 1] != '.' && path.data[0] != '.')
        return STATUS_OK;
    return fault_raise(p->arena, p->fault, path.len && path.data[0] == '$' ? 16410 : 40353,
                       "'%s' must be the path of a field, without $ and without empty parts", what);
}

status pipeline_parse_documents(struct arena *arena, struct value argument, struct formula_run *run,
                                const struct formula_scope *scope, bytes *out, struct fault *fault)
{
    static const uint8_t nothing[] = { 5, 0, 0, 0, 0 };
    struct formula_run own = { .arena = arena };
    const struct formula *formula;
    struct document_walk walk;
    struct field element;
    struct value list;

    if (!run) {
        run = &own;
        TRY(ARENA_NEW(arena, FORMULA_VARIABLES_MAX, &own.variables));
    }
    run->root = run->current = (struct value){ .type = VALUE_DOCUMENT,
                                               .raw = bytes_of(nothing, sizeof(nothing)) };
    TRY(formula_parse(arena, argument, scope, &formula, fault));
    status s = formula_value(formula, run, &list);
    if (s.code != OK)
        return formula_fault(arena, run, s, fault);
    if (list.type != VALUE_ARRAY)
        return fault_raise(arena, fault, 5858203, "$documents takes an array of documents, not %s",
                           value_type_name(list.type));
    walk = document_fields(value_document(list));
    while (document_next(&walk, &element)) {
        if (element.value.type != VALUE_DOCUMENT)
            return fault_raise(arena, fault, ERROR_Location40228,
                               "$documents takes documents, and one of them is %s",
                               value_type_name(element.value.type));
    }
    *out = value_document(list);
    return STATUS_OK;
}

/* A pipeline that begins with $documents needs no collection; `rest_out` is what follows. */
static status take_documents(struct pipeline_parser *p, bytes stages, bytes *documents_out,
                             bytes *rest_out)
{
    struct document_walk walk = document_fields(stages);
    struct buffer rest = buffer_in(p->arena);
    struct field stage, first;
    struct value list;

    *rest_out = stages;
    if (!document_next(&walk, &stage) || stage.value.type != VALUE_DOCUMENT ||
        !document_find(value_document(stage.value), "$documents", &list))
        return STATUS_OK;
    TRY(pipeline_parse_documents(p->arena, list, NULL, p->scope, documents_out, p->fault));
    size_t begun = document_begin(&rest);
    while (document_next(&walk, &first))
        document_append(&rest, first.name, first.value);
    document_end(&rest, begun);
    return buffer_finish(&rest, rest_out);
}

/* ---- $lookup ---------------------------------------------------------------------------------------- */

struct lookup {
    struct value let, stages;
    bool has_from, has_local, has_foreign, has_as;
};

static status take_lookup_field(struct pipeline_parser *p, struct field field, struct stage *stage,
                                struct lookup *l)
{
    const int32_t code = ERROR_FailedToParse;

    if (pipeline_is_named(field.name, "from")) {
        l->has_from = true;
        return need_text(p, field, "$lookup", code, &stage->from);
    }
    if (pipeline_is_named(field.name, "as")) {
        l->has_as = true;
        return need_text(p, field, "$lookup", code, &stage->name);
    }
    if (pipeline_is_named(field.name, "localField")) {
        l->has_local = true;
        return need_text(p, field, "$lookup", code, &stage->local_field);
    }
    if (pipeline_is_named(field.name, "foreignField")) {
        l->has_foreign = true;
        return need_text(p, field, "$lookup", code, &stage->foreign_field);
    }
    if (pipeline_is_named(field.name, "let")) {
        l->let = field.value;
        return pipeline_need_document(p, field.value, code, "let of $lookup");
    }
    if (!pipeline_is_named(field.name, "pipeline"))
        return fault_raise(p->arena, p->fault, code, "unknown argument to $lookup: %.*s",
                           (int)field.name.len, (const char *)field.name.data);
    l->stages = field.value;
    if (field.value.type != VALUE_ARRAY)
        return fault_raise(p->arena, p->fault, ERROR_TypeMismatch,
                           "'pipeline' option must be specified as an array");
    return STATUS_OK;
}

static status check_lookup(struct pipeline_parser *p, const struct stage *stage,
                           const struct lookup *l)
{
    const char *wrong = NULL;

    if (!l->has_as)
        wrong = "must specify 'as' field for a $lookup";
    else if (l->has_local != l->has_foreign)
        wrong =
            "$lookup requires both or neither of 'localField' and 'foreignField' to be specified";
    else if (!l->has_local && l->stages.type != VALUE_ARRAY)
        wrong = "$lookup requires either 'pipeline' or both 'localField' and 'foreignField' to be "
                "specified";
    else if (l->let.type == VALUE_DOCUMENT && l->stages.type != VALUE_ARRAY)
        wrong = "$lookup with a 'let' argument must also specify 'pipeline'";
    if (wrong)
        return fault_raise(p->arena, p->fault, ERROR_FailedToParse, "%s", wrong);
    TRY(check_path(p, stage->name, "as"));
    if (!l->has_local)
        return STATUS_OK;
    TRY(check_path(p, stage->local_field, "localField"));
    return check_path(p, stage->foreign_field, "foreignField");
}

/* The variables are computed outside, and known inside. */
static status bind_variables(struct pipeline_parser *p, struct value let, struct stage *stage,
                             const struct formula_scope **scope_out)
{
    struct formula_parser inside = { .arena = p->arena, .fault = p->fault, .scope = p->scope };
    struct stage_variable *variables;
    struct document_walk walk;
    struct field field;

    *scope_out = p->scope;
    if (let.type != VALUE_DOCUMENT)
        return STATUS_OK;
    TRY(ARENA_NEW(p->arena, document_field_count(value_document(let)), &variables));
    walk = document_fields(value_document(let));
    while (document_next(&walk, &field)) {
        struct stage_variable *variable = &variables[stage->variable_count++];
        TRY(formula_parse(p->arena, field.value, p->scope, &variable->formula, p->fault));
        TRY(formula_bind(&inside, field.name));
        variable->number = inside.scope->number;
    }
    stage->variables = variables;
    *scope_out = inside.scope;
    return STATUS_OK;
}

status stage_lookup(struct pipeline_parser *p, struct value argument)
{
    struct lookup l = { .let.type = VALUE_MISSING, .stages.type = VALUE_MISSING };
    const struct formula_scope *scope;
    struct document_walk walk;
    struct stage *stage, made;
    struct field field;
    bytes stages;

    TRY(pipeline_need_document(p, argument, ERROR_FailedToParse, "$lookup"));
    made = (struct stage){ .kind = STAGE_LOOKUP };
    walk = document_fields(value_document(argument));
    while (document_next(&walk, &field))
        TRY(take_lookup_field(p, field, &made, &l));
    TRY(check_lookup(p, &made, &l));
    TRY(bind_variables(p, l.let, &made, &scope));
    if (l.stages.type == VALUE_ARRAY) {
        TRY(take_documents(p, value_document(l.stages), &made.documents, &stages));
        TRY(pipeline_parse_inner(p, stages, scope, "$lookup", &made.inner));
    }
    if (!l.has_from && made.documents.len == 0)
        return fault_raise(p->arena, p->fault, ERROR_FailedToParse,
                           "must specify 'from' field for a $lookup");
    if (made.documents.len)
        made.from = BYTES_NONE;
    if (made.documents.len && l.has_local)
        return fault_raise(p->arena, p->fault, ERROR_FailedToParse,
                           "$lookup with $documents takes no 'localField' and 'foreignField'; "
                           "compare with $match and $expr");
    TRY(pipeline_add(p, STAGE_LOOKUP, &stage));
    *stage = made;
    return STATUS_OK;
}

/* ---- $unionWith ------------------------------------------------------------------------------------- */

status stage_union_with(struct pipeline_parser *p, struct value argument)
{
    struct stage made = { .kind = STAGE_UNION };
    struct document_walk walk;
    struct stage *stage;
    struct field field;
    bytes stages;

    if (argument.type == VALUE_STRING) {
        made.from = value_text(argument);
    } else {
        TRY(pipeline_need_document(p, argument, ERROR_FailedToParse, "$unionWith"));
        walk = document_fields(value_document(argument));
        while (document_next(&walk, &field)) {
            if (pipeline_is_named(field.name, "coll")) {
                TRY(need_text(p, field, "$unionWith", ERROR_TypeMismatch, &made.from));
            } else if (pipeline_is_named(field.name, "pipeline") &&
                       field.value.type == VALUE_ARRAY) {
                TRY(take_documents(p, value_document(field.value), &made.documents, &stages));
                TRY(pipeline_parse_inner(p, stages, p->scope, "$unionWith", &made.inner));
            } else {
                return fault_raise(p->arena, p->fault, ERROR_Location40415,
                                   "BSON field '$unionWith.%.*s' is an unknown field, or no array",
                                   (int)field.name.len, (const char *)field.name.data);
            }
        }
    }
    if (made.from.len == 0 && made.documents.len == 0)
        return fault_raise(p->arena, p->fault, ERROR_FailedToParse,
                           "$unionWith stage without explicit collection must have a pipeline with "
                           "$documents as first stage");
    TRY(pipeline_add(p, STAGE_UNION, &stage));
    *stage = made;
    return STATUS_OK;
}

/* ---- $graphLookup ----------------------------------------------------------------------------------- */

static status take_depth(struct pipeline_parser *p, struct value value, int64_t *out)
{
    if (!value_is_number(value))
        return fault_raise(p->arena, p->fault, 40100, "maxDepth must be numeric, found type: %s",
                           value_type_name(value.type));
    if (!value_as_int64(value, out))
        return fault_raise(p->arena, p->fault, 40102,
                           "maxDepth could not be represented as a long long");
    if (*out < 0)
        return fault_raise(p->arena, p->fault, 40101, "maxDepth requires a nonnegative argument");
    return STATUS_OK;
}

static status take_graph_field(struct pipeline_parser *p, struct field field, struct stage *stage)
{
    const struct {
        const char *name;
        bytes *out;
    } texts[] = {
        {"from",              &stage->from         },
        { "as",               &stage->name         },
        { "connectFromField", &stage->local_field  },
        { "connectToField",   &stage->foreign_field},
        { "depthField",       &stage->depth_field  },
    };

    for (size_t i = 0; i < ARRAY_COUNT(texts); i++) {
        if (!pipeline_is_named(field.name, texts[i].name))
            continue;
        TRY(need_text(p, field, "$graphLookup", 40103, texts[i].out));
        return i == 0 ? STATUS_OK : check_path(p, *texts[i].out, texts[i].name);
    }
    if (pipeline_is_named(field.name, "startWith"))
        return formula_parse(p->arena, field.value, p->scope, &stage->formula, p->fault);
    if (pipeline_is_named(field.name, "maxDepth"))
        return take_depth(p, field.value, &stage->depth_max);
    if (pipeline_is_named(field.name, "restrictSearchWithMatch")) {
        TRY(pipeline_need_document(p, field.value, 40185, "restrictSearchWithMatch"));
        return filter_parse(p->arena, value_document(field.value), p->scope, &stage->match,
                            p->fault);
    }
    return fault_raise(p->arena, p->fault, 40104, "Unknown argument to $graphLookup: %.*s",
                       (int)field.name.len, (const char *)field.name.data);
}

status stage_graph_lookup(struct pipeline_parser *p, struct value argument)
{
    struct stage made = { .kind = STAGE_GRAPH_LOOKUP, .depth_max = -1 };
    struct document_walk walk;
    struct stage *stage;
    struct field field;

    TRY(pipeline_need_document(p, argument, 40327, "$graphLookup"));
    walk = document_fields(value_document(argument));
    while (document_next(&walk, &field))
        TRY(take_graph_field(p, field, &made));
    if (made.from.len == 0 || made.name.len == 0 || made.local_field.len == 0 ||
        made.foreign_field.len == 0 || !made.formula)
        return fault_raise(
            p->arena, p->fault, 40105,
            "$graphLookup requires 'from', 'as', 'startWith', 'connectFromField', and "
            "'connectToField' to be specified.");
    TRY(pipeline_add(p, STAGE_GRAPH_LOOKUP, &stage));
    *stage = made;
    return STATUS_OK;
}

/* ---- $facet ----------------------------------------------------------------------------------------- */

status stage_facet(struct pipeline_parser *p, struct value argument)
{
    struct document_walk walk;
    struct facet *facets;
    struct stage *stage;
    struct field field;
    size_t count = 0;

    if (argument.type != VALUE_DOCUMENT || document_field_count(value_document(argument)) == 0)
        return fault_raise(p->arena, p->fault, 40169,
                           "the $facet specification must be a non-empty object");
    TRY(ARENA_NEW(p->arena, document_field_count(value_document(argument)), &facets));
    walk = document_fields(value_document(argument));
    while (document_next(&walk, &field)) {
        if (field.value.type != VALUE_ARRAY)
            return fault_raise(p->arena, p->fault, 40170,
                               "arguments to $facet must be arrays, %.*s is type %s",
                               (int)field.name.len, (const char *)field.name.data,
                               value_type_name(field.value.type));
        if (field.name.len == 0 || field.name.data[0] == '$' ||
            memchr(field.name.data, '.', field.name.len))
            return fault_raise(p->arena, p->fault, field.name.len ? 16410 : 40353,
                               "a name in $facet may not be empty, begin with '$' or contain '.'");
        facets[count].name = field.name;
        TRY(pipeline_parse_inner(p, value_document(field.value), p->scope, "$facet",
                                 &facets[count].pipeline));
        count++;
    }
    TRY(pipeline_add(p, STAGE_FACET, &stage));
    stage->facets = facets;
    stage->facet_count = count;
    return STATUS_OK;
}
