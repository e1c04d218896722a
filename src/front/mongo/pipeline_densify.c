/* Pipeline densify: rows for values that are missing between others.
 *
 *   $densify = { field, [ partitionByFields, ] range: { step, bounds, [ unit ] } }
 *   bounds   = "full" | "partition" | [ low, high ]
 *
 * Threads: pure apart from the arena. Start reading at stage_densify(). */
#include "front/mongo/pipeline_parts.h"

static status check_path(struct pipeline_parser *p, struct value value, const char *name,
                         bytes *out)
{
    if (value.type != VALUE_STRING || value_text(value).len == 0 ||
        value_text(value).data[0] == '$')
        return fault_raise(p->arena, p->fault, 5733200,
                           "$densify: '%s' must be the path of a field, without $", name);
    *out = value_text(value);
    return STATUS_OK;
}

static status parse_partitions(struct pipeline_parser *p, struct value names, struct densify *out)
{
    struct densify_partition *partitions;
    struct document_walk walk;
    struct field element;

    if (names.type != VALUE_ARRAY)
        return fault_raise(p->arena, p->fault, ERROR_TypeMismatch,
                           "$densify: 'partitionByFields' must be an array of names");
    TRY(ARENA_NEW(p->arena, document_field_count(value_document(names)), &partitions));
    walk = document_fields(value_document(names));
    while (document_next(&walk, &element)) {
        struct densify_partition *partition = &partitions[out->partition_count++];
        TRY(check_path(p, element.value, "partitionByFields", &partition->path));
        TRY(formula_path(p->arena, NULL, partition->path, &partition->formula));
    }
    out->partitions = partitions;
    return STATUS_OK;
}

static status parse_bounds(struct pipeline_parser *p, struct value bounds, struct densify *out)
{
    struct document_walk walk;
    struct field low, high;

    if (bounds.type == VALUE_STRING && pipeline_is_named(value_text(bounds), "full")) {
        out->bounds = DENSIFY_FULL;
        return STATUS_OK;
    }
    if (bounds.type == VALUE_STRING && pipeline_is_named(value_text(bounds), "partition")) {
        out->bounds = DENSIFY_PARTITION;
        return out->partition_count
                   ? STATUS_OK
                   : fault_raise(p->arena, p->fault, 5733408,
                                 "One may not specify the bounds as 'partition' without "
                                 "specifying a non-empty array of partitionByFields");
    }
    if (bounds.type != VALUE_ARRAY || document_field_count(value_document(bounds)) != 2)
        return fault_raise(p->arena, p->fault, 5733403,
                           "a bounding array in a range statement must have exactly two elements, "
                           "or be \"full\" or \"partition\"");
    walk = document_fields(value_document(bounds));
    bool has_both = document_next(&walk, &low) && document_next(&walk, &high);
    ASSERT(has_both);
    bool is_date = low.value.type == VALUE_DATE;
    if (is_date ? high.value.type != VALUE_DATE
                : !value_is_number(low.value) || !value_is_number(high.value))
        return fault_raise(p->arena, p->fault, 5733406,
                           "the bounds of $densify are two numbers or two dates");
    if (value_compare(low.value, high.value) > 0)
        return fault_raise(p->arena, p->fault, 5733402,
                           "the bounds in a range statement must be the string 'full', "
                           "'partition', or an ascending array of two numbers or two dates");
    if (is_date != (out->unit.len > 0))
        return fault_raise(p->arena, p->fault, is_date ? 5733409 : 5733407,
                           "the bounds of $densify are dates if and only if there is a 'unit'");
    out->bounds = DENSIFY_BETWEEN;
    out->low = low.value;
    out->high = high.value;
    return STATUS_OK;
}

static status parse_range(struct pipeline_parser *p, bytes range, struct densify *out)
{
    struct value unit, bounds;
    int64_t whole;

    if (!document_find(range, "step", &out->step) || !value_is_number(out->step) ||
        !(value_as_double(out->step) > 0))
        return fault_raise(p->arena, p->fault, 5733401,
                           "the step parameter in a range statement must be a strictly positive "
                           "numeric value");
    if (document_find(range, "unit", &unit)) {
        if (unit.type != VALUE_STRING || !formula_is_unit(value_text(unit)))
            return fault_raise(p->arena, p->fault, ERROR_FailedToParse,
                               "'unit' of $densify is no unit of time");
        if (!value_as_int64(out->step, &whole))
            return fault_raise(p->arena, p->fault, 6586400,
                               "the step of $densify over dates must be a whole number");
        out->unit = value_text(unit);
    }
    if (!document_find(range, "bounds", &bounds))
        return fault_raise(p->arena, p->fault, ERROR_Location40414,
                           "BSON field '$densify.range.bounds' is missing but a required field");
    return parse_bounds(p, bounds, out);
}

status stage_densify(struct pipeline_parser *p, struct value argument)
{
    struct value range = { .type = VALUE_MISSING };
    struct document_walk walk;
    struct densify *made;
    struct stage *stage;
    struct field field;

    TRY(pipeline_need_document(p, argument, 5733402, "$densify"));
    TRY(ARENA_NEW(p->arena, 1, &made));
    walk = document_fields(value_document(argument));
    while (document_next(&walk, &field)) {
        if (pipeline_is_named(field.name, "field"))
            TRY(check_path(p, field.value, "field", &made->path));
        else if (pipeline_is_named(field.name, "partitionByFields"))
            TRY(parse_partitions(p, field.value, made));
        else if (pipeline_is_named(field.name, "range"))
            range = field.value;
        else
            return fault_raise(p->arena, p->fault, ERROR_Location40415,
                               "BSON field '$densify.%.*s' is an unknown field.",
                               (int)field.name.len, (const char *)field.name.data);
    }
    if (made->path.len == 0 || range.type != VALUE_DOCUMENT)
        return fault_raise(p->arena, p->fault, ERROR_Location40414,
                           "$densify needs 'field' and 'range'");
    TRY(parse_range(p, value_document(range), made));
    TRY(formula_path(p->arena, NULL, made->path, &made->field));
    TRY(pipeline_add(p, STAGE_DENSIFY, &stage));
    stage->densify = made;
    return STATUS_OK;
}
