/* Update: from the `u` of a command to steps.
 *
 *   u        = replacement | { *( "$" operator : { *( path : argument ) } ) } | [ *stage ]
 *
 * The first name decides which of the two it is. Every operator is a row of one table; operators on arrays
 * are in update_array.c.
 *
 * Threads: pure apart from the arena. Start reading at update_parse(). */
#include "front/mongo/update_parts.h"

#include "front/mongo/filter.h"
#include "front/mongo/pipeline.h"

static bool is_named(bytes name, const char *text)
{
    return bytes_equal(name, bytes_of_text(text));
}

status update_add_step(struct update_parser *p, enum update_kind kind, bytes path,
                       struct update_step **out)
{
    if (p->count == p->room) {
        size_t room = p->room ? p->room * 2 : 16;
        struct update_step *more;
        TRY(ARENA_NEW(p->arena, room, &more));
        if (p->count)
            memcpy(more, p->steps, p->count * sizeof(*more));
        p->steps = more;
        p->room = room;
    }
    *out = &p->steps[p->count++];
    **out = (struct update_step){ .kind = kind, .path = path };
    return STATUS_OK;
}

/* ---- paths ------------------------------------------------------------------------------------------ */

static bool is_positional(bytes part)
{
    return is_named(part, "$") ||
           (part.len >= 3 && part.data[1] == '[' && part.data[part.len - 1] == ']');
}

static status check_part(struct update_parser *p, bytes path, bytes part, bool is_first)
{
    if (part.len == 0)
        return fault_raise(p->arena, p->fault, ERROR_EmptyFieldName,
                           "The update path '%.*s' contains an empty field name, which is not "
                           "allowed.",
                           (int)path.len, (const char *)path.data);
    if (part.data[0] != '$')
        return STATUS_OK;
    if (is_positional(part)) {
        if (!is_first)
            return STATUS_OK;
        return fault_raise(p->arena, p->fault, ERROR_BadValue,
                           "Cannot have positional (i.e. '$') element in the first position in "
                           "path '%.*s'",
                           (int)path.len, (const char *)path.data);
    }
    return fault_raise(p->arena, p->fault, ERROR_DollarPrefixedFieldName,
                       "The dollar ($) prefixed field '%.*s' in '%.*s' is not valid for storage.",
                       (int)part.len, (const char *)part.data, (int)path.len,
                       (const char *)path.data);
}

static status check_path(struct update_parser *p, bytes path)
{
    size_t start = 0, parts = 0;

    if (path.len == 0)
        return fault_raise(p->arena, p->fault, ERROR_EmptyFieldName,
                           "An empty update path is not valid.");
    for (size_t i = 0; i <= path.len; i++) {
        if (i < path.len && path.data[i] != '.')
            continue;
        TRY(check_part(p, path, bytes_of(path.data + start, i - start), start == 0));
        start = i + 1;
        parts++;
    }
    if (parts > LIMIT_PATH_COMPONENTS)
        return fault_raise(p->arena, p->fault, ERROR_BadValue,
                           "an update path has %zu parts, the limit is %d", parts,
                           LIMIT_PATH_COMPONENTS);
    return STATUS_OK;
}

/* ---- operators -------------------------------------------------------------------------------------- */

typedef status parse_operator(struct update_parser *p, struct field field);

static status add_with_value(struct update_parser *p, struct field field, enum update_kind kind)
{
    struct update_step *step;

    TRY(update_add_step(p, kind, field.name, &step));
    step->value = field.value;
    return STATUS_OK;
}

static status parse_set(struct update_parser *p, struct field field)
{
    return add_with_value(p, field, UPDATE_SET);
}

static status parse_set_on_insert(struct update_parser *p, struct field field)
{
    return add_with_value(p, field, UPDATE_SET_ON_INSERT);
}

static status parse_unset(struct update_parser *p, struct field field)
{
    struct update_step *step;

    return update_add_step(p, UPDATE_UNSET, field.name, &step);
}

static status parse_min(struct update_parser *p, struct field field)
{
    return add_with_value(p, field, UPDATE_MIN);
}

static status parse_max(struct update_parser *p, struct field field)
{
    return add_with_value(p, field, UPDATE_MAX);
}

static status parse_number(struct update_parser *p, struct field field, enum update_kind kind,
                           const char *verb)
{
    if (!value_is_number(field.value))
        return fault_raise(p->arena, p->fault, ERROR_TypeMismatch,
                           "Cannot %s with non-numeric argument for '%.*s'", verb,
                           (int)field.name.len, (const char *)field.name.data);
    return add_with_value(p, field, kind);
}

static status parse_inc(struct update_parser *p, struct field field)
{
    return parse_number(p, field, UPDATE_INCREMENT, "increment");
}

static status parse_mul(struct update_parser *p, struct field field)
{
    return parse_number(p, field, UPDATE_MULTIPLY, "multiply");
}

static bool has_positional_part(bytes path)
{
    return memchr(path.data, '$', path.len) != NULL;
}

static status parse_rename(struct update_parser *p, struct field field)
{
    struct update_step *step;

    if (field.value.type != VALUE_STRING)
        return fault_raise(p->arena, p->fault, ERROR_BadValue,
                           "The 'to' field for $rename must be a string: '%.*s'",
                           (int)field.name.len, (const char *)field.name.data);
    bytes to = value_text(field.value);
    if (memchr(to.data, 0, to.len))
        return fault_raise(p->arena, p->fault, ERROR_BadValue,
                           "The 'to' field for $rename cannot contain an embedded null byte");
    if (bytes_equal(to, field.name))
        return fault_raise(p->arena, p->fault, ERROR_BadValue,
                           "The source and target field for $rename must differ: '%.*s'",
                           (int)field.name.len, (const char *)field.name.data);
    TRY(check_path(p, to));
    if (has_positional_part(field.name) || has_positional_part(to))
        return fault_raise(p->arena, p->fault, ERROR_BadValue,
                           "The source and target field for $rename may not be dynamic: '%.*s'",
                           (int)field.name.len, (const char *)field.name.data);
    TRY(update_add_step(p, UPDATE_RENAME_FROM, field.name, &step));
    TRY(update_add_step(p, UPDATE_RENAME_TO, to, &step));
    step->from = field.name;
    return STATUS_OK;
}

static status parse_current_date(struct update_parser *p, struct field field)
{
    enum update_kind kind = UPDATE_CURRENT_DATE;
    struct update_step *step;
    struct value type;

    if (field.value.type == VALUE_DOCUMENT) {
        if (!document_find(value_document(field.value), "$type", &type) ||
            document_field_count(value_document(field.value)) != 1 || type.type != VALUE_STRING ||
            (!is_named(value_text(type), "date") && !is_named(value_text(type), "timestamp")))
            return fault_raise(p->arena, p->fault, ERROR_BadValue,
                               "The '$type' string field is required to be 'date' or 'timestamp': "
                               "{$currentDate: {field : {$type: 'date'}}}");
        if (is_named(value_text(type), "timestamp"))
            kind = UPDATE_CURRENT_TIMESTAMP;
    } else if (field.value.type != VALUE_BOOL) {
        return fault_raise(p->arena, p->fault, ERROR_BadValue,
                           "%.*s is not valid type for $currentDate. Please use a boolean ('true') "
                           "or a $type expression ({$type: 'timestamp/date'}).",
                           (int)field.name.len, (const char *)field.name.data);
    }
    return update_add_step(p, kind, field.name, &step);
}

static status parse_bit(struct update_parser *p, struct field field)
{
    struct document_walk walk;
    struct update_step *step;
    struct field change, more;

    if (field.value.type != VALUE_DOCUMENT)
        return fault_raise(p->arena, p->fault, ERROR_BadValue,
                           "The $bit modifier is not compatible with a non-object argument; use "
                           "{$bit: {field: {and/or/xor: #}}}");
    walk = document_fields(value_document(field.value));
    if (!document_next(&walk, &change) || document_next(&walk, &more))
        return fault_raise(p->arena, p->fault, ERROR_BadValue,
                           "You must pass in exactly one bitwise operation: and, or, xor");
    if (change.value.type != VALUE_INT32 && change.value.type != VALUE_INT64)
        return fault_raise(p->arena, p->fault, ERROR_BadValue,
                           "The $bit modifier field must be an Integer(32/64 bit)");
    TRY(update_add_step(p, UPDATE_BITS, field.name, &step));
    step->value = change.value;
    if (is_named(change.name, "and"))
        step->bits = UPDATE_BITS_AND;
    else if (is_named(change.name, "or"))
        step->bits = UPDATE_BITS_OR;
    else if (is_named(change.name, "xor"))
        step->bits = UPDATE_BITS_XOR;
    else
        return fault_raise(p->arena, p->fault, ERROR_BadValue,
                           "The $bit modifier only supports 'and', 'or', and 'xor', not '%.*s' "
                           "which is an unknown operator",
                           (int)change.name.len, (const char *)change.name.data);
    return STATUS_OK;
}

static const struct {
    const char *name;
    parse_operator *parse;
    const char *sentence;
} operators[] = {
#define UPDATE(name, parse, sentence) { name, parse, sentence },
#include "front/mongo/updates.def"
#undef UPDATE
};

void update_describe(struct buffer *out)
{
    for (size_t i = 0; i < ARRAY_COUNT(operators); i++)
        buffer_append_format(out, "| `%s` | %s |\n", operators[i].name, operators[i].sentence);
}

static status parse_fields(struct update_parser *p, struct field operator, parse_operator * parse)
{
    struct document_walk walk;
    struct field field;

    if (operator.value.type != VALUE_DOCUMENT)
        return fault_raise(p->arena, p->fault, ERROR_FailedToParse,
                           "Modifiers operate on fields but we found another type instead. For "
                           "example: {$mod: {<field>: ...}} not {%.*s: <value>}",
                           (int)operator.name.len, (const char *)operator.name.data);
    walk = document_fields(value_document(operator.value));
    while (document_next(&walk, &field)) {
        TRY(check_path(p, field.name));
        TRY(parse(p, field));
    }
    return STATUS_OK;
}

static status parse_operators(struct update_parser *p, bytes u)
{
    struct document_walk walk = document_fields(u);
    struct field operator;

    while (document_next(&walk, &operator)) {
        size_t i = 0;
        while (i < ARRAY_COUNT(operators) && !is_named(operator.name, operators[i].name))
            i++;
        if (i == ARRAY_COUNT(operators))
            return fault_raise(p->arena, p->fault, ERROR_FailedToParse,
                               "Unknown modifier: %.*s. Expected a valid update modifier or "
                               "pipeline-style update specified as an array",
                               (int)operator.name.len, (const char *)operator.name.data);
        TRY(parse_fields(p, operator, operators[i].parse));
    }
    return STATUS_OK;
}

/* ---- filters of array elements ---------------------------------------------------------------------- */

static bytes first_part(bytes path)
{
    const uint8_t *dot = path.len ? memchr(path.data, '.', path.len) : NULL;

    return bytes_of(path.data, dot ? (size_t)(dot - path.data) : path.len);
}

/* The name that all fields of a filter begin with; fields inside $and, $or and $nor too. */
static status find_filter_name(struct update_parser *p, bytes filter, bytes *name)
{
    struct document_walk walk = document_fields(filter), list;
    struct field field, part;

    while (document_next(&walk, &field)) {
        if (field.name.len && field.name.data[0] == '$' && field.value.type == VALUE_ARRAY) {
            list = document_fields(value_document(field.value));
            while (document_next(&list, &part)) {
                if (part.value.type == VALUE_DOCUMENT)
                    TRY(find_filter_name(p, value_document(part.value), name));
            }
            continue;
        }
        bytes first = first_part(field.name);
        if (name->len && !bytes_equal(*name, first))
            return fault_raise(
                p->arena, p->fault, ERROR_FailedToParse,
                "Error parsing array filter: Expected a single top-level field name, "
                "found '%.*s' and '%.*s'",
                (int)name->len, (const char *)name->data, (int)first.len, (const char *)first.data);
        *name = first;
    }
    return STATUS_OK;
}

static status check_filter_name(struct update_parser *p, bytes name,
                                const struct update_filter *filter)
{
    if (name.len == 0)
        return fault_raise(p->arena, p->fault, ERROR_FailedToParse,
                           "Cannot use an expression without a top-level field name in "
                           "arrayFilters");
    bool is_good = name.data[0] >= 'a' && name.data[0] <= 'z';
    for (size_t i = 0; is_good && i < name.len; i++)
        is_good = (name.data[i] >= 'a' && name.data[i] <= 'z') ||
                  (name.data[i] >= 'A' && name.data[i] <= 'Z') ||
                  (name.data[i] >= '0' && name.data[i] <= '9');
    if (!is_good)
        return fault_raise(p->arena, p->fault, ERROR_BadValue,
                           "Error parsing array filter: The top-level field name must be an "
                           "alphanumeric string beginning with a lowercase letter, found '%.*s'",
                           (int)name.len, (const char *)name.data);
    if (filter && filter->match)
        return fault_raise(p->arena, p->fault, ERROR_FailedToParse,
                           "Found multiple array filters with the same top-level field name %.*s",
                           (int)name.len, (const char *)name.data);
    return STATUS_OK;
}

static status parse_filters(struct update_parser *p, bytes array, const struct update *update)
{
    struct document_walk walk = document_fields(array);
    struct field element;

    while (document_next(&walk, &element)) {
        bytes name = BYTES_NONE;
        if (element.value.type != VALUE_DOCUMENT)
            return fault_raise(p->arena, p->fault, ERROR_TypeMismatch,
                               "arrayFilters must be an array of objects");
        TRY(find_filter_name(p, value_document(element.value), &name));
        struct update_filter *filter = update_filter_of(update, name);
        const struct match *match;
        TRY(check_filter_name(p, name, filter));
        TRY(filter_parse(p->arena, value_document(element.value), p->scope, &match, p->fault));
        if (!filter)
            return fault_raise(p->arena, p->fault, ERROR_FailedToParse,
                               "The array filter for identifier '%.*s' was not used in the update",
                               (int)name.len, (const char *)name.data);
        filter->match = match;
    }
    return STATUS_OK;
}

/* Every $[name] needs its filter. */
static status check_filters_of(struct update_parser *p, const struct update *update, bytes path)
{
    size_t start = 0;

    for (size_t i = 0; i <= path.len; i++) {
        if (i < path.len && path.data[i] != '.')
            continue;
        bytes part = bytes_of(path.data + start, i - start);
        start = i + 1;
        if (part.len <= 3 || part.data[0] != '$')
            continue;
        bytes name = bytes_of(part.data + 2, part.len - 3);
        const struct update_filter *filter = update_filter_of(update, name);
        if (!filter || !filter->match)
            return fault_raise(p->arena, p->fault, ERROR_BadValue,
                               "No array filter found for identifier '%.*s' in path '%.*s'",
                               (int)name.len, (const char *)name.data, (int)path.len,
                               (const char *)path.data);
    }
    return STATUS_OK;
}

/* ---- the whole -------------------------------------------------------------------------------------- */

static status join_steps(struct update_parser *p, bytes array_filters, struct update *update)
{
    int32_t refusal;

    status s = update_join(p->arena, p->steps, p->count, update, &refusal);
    if (s.code != OK && refusal)
        return fault_raise(p->arena, p->fault, refusal, "%s", s.message);
    TRY(s);
    if (array_filters.len)
        TRY(parse_filters(p, array_filters, update));
    for (size_t i = 0; i < p->count; i++)
        TRY(check_filters_of(p, update, p->steps[i].path));
    return STATUS_OK;
}

static status parse_replacement(struct update_parser *p, bytes u, bytes array_filters,
                                struct update *update)
{
    struct document_walk walk = document_fields(u);
    struct field field;

    while (document_next(&walk, &field)) {
        if (field.name.len && field.name.data[0] == '$')
            return fault_raise(p->arena, p->fault, ERROR_DollarPrefixedFieldName,
                               "The dollar ($) prefixed field '%.*s' in '%.*s' is not allowed in "
                               "the context of an update's replacement document. Consider using an "
                               "aggregation pipeline with $replaceWith.",
                               (int)field.name.len, (const char *)field.name.data,
                               (int)field.name.len, (const char *)field.name.data);
    }
    if (array_filters.len && document_field_count(array_filters))
        return fault_raise(p->arena, p->fault, ERROR_FailedToParse,
                           "arrayFilters may not be specified for a replacement");
    *update = (struct update){ .is_replacement = true, .replacement = u };
    return STATUS_OK;
}

/* Only stages that make one document of one. */
static status check_stage(struct arena *arena, struct value stage, struct fault *fault)
{
    static const char *const allowed[] = { "$addFields", "$set",         "$project",
                                           "$unset",     "$replaceRoot", "$replaceWith" };
    struct document_walk walk;
    struct field field;

    if (stage.type != VALUE_DOCUMENT)
        return STATUS_OK;
    walk = document_fields(value_document(stage));
    if (!document_next(&walk, &field))
        return STATUS_OK;
    for (size_t i = 0; i < ARRAY_COUNT(allowed); i++) {
        if (is_named(field.name, allowed[i]))
            return STATUS_OK;
    }
    return fault_raise(arena, fault, ERROR_InvalidOptions,
                       "%.*s is not allowed to be used within an update", (int)field.name.len,
                       (const char *)field.name.data);
}

status update_parse_pipeline(struct arena *arena, bytes stages, const struct formula_scope *scope,
                             const struct update **out, struct fault *fault)
{
    struct document_walk walk = document_fields(stages);
    struct update *update;
    struct field stage;

    while (document_next(&walk, &stage))
        TRY(check_stage(arena, stage.value, fault));
    TRY(ARENA_NEW(arena, 1, &update));
    *out = update;
    return pipeline_parse(arena, stages, scope, &update->pipeline, fault);
}

status update_parse(struct arena *arena, struct value u, bytes array_filters,
                    const struct formula_scope *scope, const struct update **out,
                    struct fault *fault)
{
    struct update_parser parser = { .arena = arena, .fault = fault, .scope = scope };
    struct update *update;
    struct document_walk walk;
    struct field first;

    TRY(ARENA_NEW(arena, 1, &update));
    *out = update;
    if (u.type == VALUE_ARRAY && array_filters.len && document_field_count(array_filters))
        return fault_raise(arena, fault, ERROR_FailedToParse,
                           "arrayFilters may not be specified for pipeline-syle updates");
    if (u.type == VALUE_ARRAY)
        return update_parse_pipeline(arena, value_document(u), scope, out, fault);
    if (u.type != VALUE_DOCUMENT)
        return fault_raise(arena, fault, ERROR_FailedToParse,
                           "Update argument must be either an object or an array");
    walk = document_fields(value_document(u));
    if (!document_next(&walk, &first) || first.name.len == 0 || first.name.data[0] != '$')
        return parse_replacement(&parser, value_document(u), array_filters, update);
    TRY(parse_operators(&parser, value_document(u)));
    return join_steps(&parser, array_filters, update);
}

status update_fault(struct arena *arena, const struct update_run *run, status failed,
                    struct fault *fault)
{
    if (!run->refusal)
        return failed;
    return fault_raise(arena, fault, run->refusal, "%s", failed.message);
}
