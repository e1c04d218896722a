/* Update array: the operators of updates that add elements to arrays or take some away.
 *
 *   $push     path : value | { $each : [..], $slice : n, $sort : 1 | -1 | {..}, $position : n }
 *   $addToSet path : value | { $each : [..] }
 *   $pop      path : 1 | -1
 *   $pull     path : value | condition
 *   $pullAll  path : [..]
 *
 * Threads: pure apart from the arena. */
#include "front/mongo/filter.h"
#include "front/mongo/update_parts.h"

static bool is_named(bytes name, const char *text)
{
    return bytes_equal(name, bytes_of_text(text));
}

/* An array of one element. */
static status wrap(struct update_parser *p, struct value value, bytes *out)
{
    struct buffer built = buffer_in(p->arena);
    size_t begun = document_begin(&built);

    document_append(&built, BYTES_LITERAL("0"), value);
    document_end(&built, begun);
    return buffer_finish(&built, out);
}

static bool has_each(struct value value, struct value *out)
{
    return value.type == VALUE_DOCUMENT && document_find(value_document(value), "$each", out);
}

static status bad(struct update_parser *p, const char *what)
{
    return fault_raise(p->arena, p->fault, ERROR_BadValue, "%s", what);
}

/* ---- $push ------------------------------------------------------------------------------------------ */

static status parse_direction(struct update_parser *p, struct value value, bool *out)
{
    int64_t direction;

    if (!value_is_number(value) || !value_as_int64(value, &direction) ||
        (direction != 1 && direction != -1))
        return bad(p, "The $sort element value must be either 1 or -1");
    *out = direction < 0;
    return STATUS_OK;
}

static status check_sort_path(struct update_parser *p, bytes path)
{
    for (size_t i = 0; i < path.len; i++) {
        bool is_end = i + 1 == path.len || path.data[i + 1] == '.';
        if (path.data[i] == '.' && (i == 0 || is_end))
            return bad(p, "The $sort field must not have an empty part");
    }
    if (path.len == 0)
        return bad(p, "The $sort field cannot be empty");
    if (path.data[0] == '$')
        return bad(p, "The $sort field must not begin with a dollar");
    return STATUS_OK;
}

static status parse_sort(struct update_parser *p, struct value sort, struct update_step *step)
{
    struct update_order *orders;
    struct document_walk walk;
    struct field field;

    if (sort.type != VALUE_DOCUMENT) {
        TRY(ARENA_NEW(p->arena, 1, &orders));
        TRY(parse_direction(p, sort, &orders[0].is_descending));
        step->orders = orders;
        step->order_count = 1;
        return STATUS_OK;
    }
    size_t count = document_field_count(value_document(sort));
    if (count == 0 || count > LIMIT_INDEX_FIELDS)
        return bad(p, "The $sort pattern must have between 1 and 32 fields");
    TRY(ARENA_NEW(p->arena, count, &orders));
    walk = document_fields(value_document(sort));
    for (size_t i = 0; document_next(&walk, &field); i++) {
        TRY(check_sort_path(p, field.name));
        orders[i].path = field.name;
        TRY(parse_direction(p, field.value, &orders[i].is_descending));
    }
    step->orders = orders;
    step->order_count = count;
    return STATUS_OK;
}

static status parse_clause(struct update_parser *p, struct field clause, struct update_step *step)
{
    if (is_named(clause.name, "$each"))
        return STATUS_OK;
    if (is_named(clause.name, "$slice")) {
        step->has_slice = true;
        if (value_is_number(clause.value) && value_as_int64(clause.value, &step->slice))
            return STATUS_OK;
        return bad(p, "The value for $slice must be an integer value");
    }
    if (is_named(clause.name, "$position")) {
        step->has_position = true;
        if (value_is_number(clause.value) && value_as_int64(clause.value, &step->position))
            return STATUS_OK;
        return bad(p, "The value for $position must be an integer value");
    }
    if (is_named(clause.name, "$sort"))
        return parse_sort(p, clause.value, step);
    return fault_raise(p->arena, p->fault, ERROR_BadValue, "Unrecognized clause in $push: %.*s",
                       (int)clause.name.len, (const char *)clause.name.data);
}

status update_parse_push(struct update_parser *p, struct field field)
{
    struct update_step *step;
    struct document_walk walk;
    struct field clause;
    struct value each;

    TRY(update_add_step(p, UPDATE_PUSH, field.name, &step));
    if (!has_each(field.value, &each))
        return wrap(p, field.value, &step->elements);
    if (each.type != VALUE_ARRAY)
        return bad(p, "The argument to $each in $push must be an array");
    step->elements = value_document(each);
    walk = document_fields(value_document(field.value));
    while (document_next(&walk, &clause))
        TRY(parse_clause(p, clause, step));
    return STATUS_OK;
}

/* ---- the others ------------------------------------------------------------------------------------- */

status update_parse_add_to_set(struct update_parser *p, struct field field)
{
    struct update_step *step;
    struct value each;

    TRY(update_add_step(p, UPDATE_ADD_TO_SET, field.name, &step));
    if (!has_each(field.value, &each))
        return wrap(p, field.value, &step->elements);
    if (each.type != VALUE_ARRAY)
        return fault_raise(p->arena, p->fault, ERROR_TypeMismatch,
                           "The argument to $each in $addToSet must be an array");
    if (document_field_count(value_document(field.value)) != 1)
        return bad(p, "Found unexpected fields after $each in $addToSet");
    step->elements = value_document(each);
    return STATUS_OK;
}

status update_parse_pop(struct update_parser *p, struct field field)
{
    struct update_step *step;
    int64_t direction;

    if (!value_is_number(field.value))
        return fault_raise(p->arena, p->fault, ERROR_FailedToParse,
                           "Expected a number in $pop: '%.*s'", (int)field.name.len,
                           (const char *)field.name.data);
    if (!value_as_int64(field.value, &direction) || (direction != 1 && direction != -1))
        return fault_raise(p->arena, p->fault, ERROR_FailedToParse,
                           "$pop expects 1 or -1, found: %g", value_as_double(field.value));
    TRY(update_add_step(p, UPDATE_POP, field.name, &step));
    step->is_at_front = direction < 0;
    return STATUS_OK;
}

/* A document without operators is a filter of its own on the elements that are documents. */
status update_parse_pull(struct update_parser *p, struct field field)
{
    struct update_step *step;

    TRY(update_add_step(p, UPDATE_PULL, field.name, &step));
    if (field.value.type == VALUE_DOCUMENT && !filter_has_operators(field.value)) {
        step->is_where = true;
        return filter_parse(p->arena, value_document(field.value), p->scope, &step->match,
                            p->fault);
    }
    return filter_parse_field(p->arena, BYTES_NONE, field.value, p->scope, &step->match, p->fault);
}

status update_parse_pull_all(struct update_parser *p, struct field field)
{
    struct update_step *step;

    if (field.value.type != VALUE_ARRAY)
        return fault_raise(p->arena, p->fault, ERROR_BadValue,
                           "$pullAll requires an array argument: '%.*s'", (int)field.name.len,
                           (const char *)field.name.data);
    TRY(update_add_step(p, UPDATE_PULL_ALL, field.name, &step));
    step->elements = value_document(field.value);
    return STATUS_OK;
}
