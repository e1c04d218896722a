/* Pipeline bucket: groups by ranges of a value.
 *
 * $bucket is a group whose id is the lower boundary that a value lies behind, and a sort by it. $bucketAuto
 * chooses the boundaries by itself, when all rows are there.
 *
 * Threads: pure apart from the arena. */
#include "front/mongo/accumulator.h"
#include "front/mongo/pipeline_parts.h"

status pipeline_parse_output(struct pipeline_parser *p, struct value output, struct stage *stage)
{
    struct accumulator *made;
    struct document_walk walk;
    struct field field;

    if (output.type == VALUE_MISSING) {
        TRY(ARENA_NEW(p->arena, 1, &made));
        made->name = BYTES_LITERAL("count");
        stage->accumulators = made;
        stage->accumulator_count = 1;
        return accumulator_count(p->arena, made);
    }
    TRY(ARENA_NEW(p->arena, document_field_count(value_document(output)), &made));
    walk = document_fields(value_document(output));
    while (document_next(&walk, &field))
        TRY(accumulator_parse(p->arena, field, p->scope, &made[stage->accumulator_count++],
                              p->fault));
    stage->accumulators = made;
    return STATUS_OK;
}

static status parse_group_by(struct pipeline_parser *p, struct value value, int32_t code,
                             const struct formula **out)
{
    bool is_path = value.type == VALUE_STRING && value_text(value).len &&
                   value_text(value).data[0] == '$';

    if (!is_path && value.type != VALUE_DOCUMENT)
        return fault_raise(p->arena, p->fault, code,
                           "the 'groupBy' field must be defined as a $-prefixed path or an "
                           "expression");
    return formula_parse(p->arena, value, p->scope, out, p->fault);
}

static status fail_option(struct pipeline_parser *p, bytes name, int32_t code, const char *stage)
{
    return fault_raise(p->arena, p->fault, code, "Unrecognized option to %s: %.*s.", stage,
                       (int)name.len, (const char *)name.data);
}

/* ---- $bucket ---------------------------------------------------------------------------------------- */

struct bucket {
    const struct formula *group_by;
    struct value boundaries, otherwise, output;
};

/* A constant, whether it is written as a value or as an expression. */
static status constant(struct pipeline_parser *p, struct value written, int32_t code,
                       struct value *out)
{
    const struct formula *formula;

    TRY(formula_parse(p->arena, written, p->scope, &formula, p->fault));
    if (formula->kind != FORMULA_IS_LITERAL)
        return fault_raise(p->arena, p->fault, code,
                           "the $bucket 'boundaries' and 'default' must be constant values");
    *out = formula->literal;
    return STATUS_OK;
}

static status take_boundaries(struct pipeline_parser *p, struct value written, struct value **out,
                              size_t *count_out)
{
    const struct collation *by = formula_scope_collation(p->scope);
    struct document_walk walk;
    struct field element;
    size_t count = 0;

    if (written.type != VALUE_ARRAY)
        return fault_raise(p->arena, p->fault, 40200,
                           "The $bucket 'boundaries' field must be an array, but found type: %s",
                           value_type_name(written.type));
    TRY(ARENA_NEW(p->arena, document_field_count(value_document(written)), out));
    walk = document_fields(value_document(written));
    while (document_next(&walk, &element)) {
        TRY(constant(p, element.value, 40191, &(*out)[count]));
        if (count && !match_is_same_kind((*out)[count - 1], (*out)[count]))
            return fault_raise(p->arena, p->fault, 40193,
                               "All values in the the 'boundaries' option to $bucket must have the "
                               "same type");
        if (count && value_compare_by(by, (*out)[count - 1], (*out)[count]) >= 0)
            return fault_raise(p->arena, p->fault, 40194,
                               "The 'boundaries' option to $bucket must be sorted in ascending "
                               "order");
        count++;
    }
    *count_out = count;
    if (count >= 2)
        return STATUS_OK;
    return fault_raise(p->arena, p->fault, 40192,
                       "The $bucket 'boundaries' field must have at least 2 values, but found %zu "
                       "value(s).",
                       count);
}

/* group_by >= low and group_by < high */
static status lies_between(struct pipeline_parser *p, const struct formula *group_by,
                           const struct formula *low, const struct formula *high,
                           const struct formula **out)
{
    const struct formula *above[] = { group_by, low }, *below[] = { group_by, high }, *both[2];

    TRY(formula_call(p->arena, FORMULA_greater_equal, 0, above, 2, &both[0]));
    TRY(formula_call(p->arena, FORMULA_less, 0, below, 2, &both[1]));
    return formula_call(p->arena, FORMULA_and, 0, both, 2, out);
}

static status make_id(struct pipeline_parser *p, const struct bucket *b, const struct value *bounds,
                      size_t count, const struct formula **out)
{
    const struct collation *by = formula_scope_collation(p->scope);
    const struct formula **limits, **args;
    struct value otherwise;
    size_t at = 0;

    TRY(ARENA_NEW(p->arena, count, &limits));
    TRY(ARENA_NEW(p->arena, 2 * count, &args));
    for (size_t i = 0; i < count; i++)
        TRY(formula_literal(p->arena, bounds[i], &limits[i]));
    for (size_t i = 0; i + 1 < count; i++) {
        TRY(lies_between(p, b->group_by, limits[i], limits[i + 1], &args[at++]));
        args[at++] = limits[i];
    }
    if (b->otherwise.type != VALUE_MISSING) {
        TRY(constant(p, b->otherwise, 40195, &otherwise));
        if (match_is_same_kind(otherwise, bounds[0]) &&
            value_compare_by(by, otherwise, bounds[0]) >= 0 &&
            value_compare_by(by, otherwise, bounds[count - 1]) < 0)
            return fault_raise(p->arena, p->fault, 40199,
                               "The $bucket 'default' field must be less than the lowest boundary "
                               "or greater than or equal to the highest boundary.");
        TRY(formula_literal(p->arena, otherwise, &args[at++]));
    }
    return formula_call(p->arena, FORMULA_switch, 0, args, at, out);
}

static status take_bucket_field(struct pipeline_parser *p, struct field field, struct bucket *b)
{
    if (pipeline_is_named(field.name, "groupBy"))
        return parse_group_by(p, field.value, 40202, &b->group_by);
    if (pipeline_is_named(field.name, "boundaries"))
        b->boundaries = field.value;
    else if (pipeline_is_named(field.name, "default"))
        b->otherwise = field.value;
    else if (pipeline_is_named(field.name, "output"))
        b->output = field.value;
    else
        return fail_option(p, field.name, 40197, "$bucket");
    if (b->output.type == VALUE_MISSING || b->output.type == VALUE_DOCUMENT)
        return STATUS_OK;
    return fault_raise(p->arena, p->fault, 40196,
                       "The $bucket 'output' field must be an object, but found type: %s",
                       value_type_name(b->output.type));
}

status stage_bucket(struct pipeline_parser *p, struct value argument)
{
    struct bucket b = { .boundaries.type = VALUE_MISSING };
    struct document_walk walk;
    struct value *bounds;
    struct stage *stage;
    struct field field;
    size_t count = 0;

    TRY(pipeline_need_document(p, argument, 40201, "$bucket"));
    walk = document_fields(value_document(argument));
    while (document_next(&walk, &field))
        TRY(take_bucket_field(p, field, &b));
    if (!b.group_by || b.boundaries.type == VALUE_MISSING)
        return fault_raise(p->arena, p->fault, 40198,
                           "$bucket requires 'groupBy' and 'boundaries' to be specified.");
    TRY(take_boundaries(p, b.boundaries, &bounds, &count));
    TRY(pipeline_add(p, STAGE_GROUP, &stage));
    TRY(make_id(p, &b, bounds, count, &stage->formula));
    TRY(pipeline_parse_output(p, b.output, stage));
    return pipeline_add_sort(p, BYTES_LITERAL("_id"), false);
}

/* ---- $bucketAuto ------------------------------------------------------------------------------------ */

static status take_count(struct pipeline_parser *p, struct value value, uint64_t *out)
{
    int64_t number;

    if (!value_is_number(value))
        return fault_raise(
            p->arena, p->fault, 40241,
            "The $bucketAuto 'buckets' field must be a numeric value, but found type: "
            "%s",
            value_type_name(value.type));
    if (!value_as_int64(value, &number) || number > INT32_MAX)
        return fault_raise(p->arena, p->fault, 40242,
                           "The $bucketAuto 'buckets' field must be representable as a 32-bit "
                           "integer");
    if (number <= 0)
        return fault_raise(
            p->arena, p->fault, 40243,
            "The $bucketAuto 'buckets' field must be greater than 0, but found: %lld",
            (long long)number);
    *out = (uint64_t)number;
    return STATUS_OK;
}

status stage_bucket_auto(struct pipeline_parser *p, struct value argument)
{
    struct value output = { .type = VALUE_MISSING };
    struct document_walk walk;
    struct stage *stage;
    struct field field;

    TRY(pipeline_need_document(p, argument, 40240, "$bucketAuto"));
    TRY(pipeline_add(p, STAGE_BUCKETS, &stage));
    walk = document_fields(value_document(argument));
    while (document_next(&walk, &field)) {
        if (pipeline_is_named(field.name, "groupBy")) {
            TRY(parse_group_by(p, field.value, 40239, &stage->formula));
        } else if (pipeline_is_named(field.name, "buckets")) {
            TRY(take_count(p, field.value, &stage->count));
        } else if (pipeline_is_named(field.name, "output")) {
            output = field.value;
            TRY(pipeline_need_document(p, output, 40244, "$bucketAuto output"));
        } else if (pipeline_is_named(field.name, "granularity")) {
            return fault_raise(p->arena, p->fault, ERROR_NotImplemented,
                               "$bucketAuto has no 'granularity' in this version; leave it out, or "
                               "use $bucket with boundaries");
        } else {
            return fail_option(p, field.name, 40245, "$bucketAuto");
        }
    }
    if (!stage->formula || stage->count == 0)
        return fault_raise(p->arena, p->fault, 40246,
                           "$bucketAuto requires 'groupBy' and 'buckets' to be specified.");
    return pipeline_parse_output(p, output, stage);
}
