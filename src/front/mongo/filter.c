/* Filter: from a filter document to a condition.
 *
 *   filter    = { *( "$and" | "$or" | "$nor" : [ 1*filter ] | "$expr" : formula | "$jsonSchema" : schema
 *                   | "$comment" : any | path : operand ) }
 *   operand   = value | regex | { 1*( "$" operator : argument ) }
 *
 * A document whose first name begins with $ is a set of operators, unless it is a reference ($ref, $id, $db);
 * anything else is a value to equal. Operators whose arguments need more than a line are in filter_leaf.c.
 *
 * Keeps: recursion is bounded, because checked documents are.
 * Threads: pure apart from the arena. Start reading at filter_parse(). */
#include "front/mongo/filter_parts.h"

#include <math.h>

#include "front/mongo/formula.h"
#include "front/mongo/reply.h"

/* What a partial index may need to judge one document. */
enum { PREDICATE_BYTES = 64 * 1024 * 1024 };

static bool is_named(bytes name, const char *text)
{
    return bytes_equal(name, bytes_of_text(text));
}

status match_list_add(struct arena *arena, struct match_list *list, const struct match *item)
{
    if (list->count == list->room) {
        const struct match **more;
        size_t room = list->room ? list->room * 2 : 8;
        TRY(ARENA_NEW(arena, room, &more));
        for (size_t i = 0; i < list->count; i++)
            more[i] = list->items[i];
        list->items = more;
        list->room = room;
    }
    list->items[list->count++] = item;
    return STATUS_OK;
}

bool filter_has_operators(struct value value)
{
    struct document_walk walk;
    struct field first;

    if (value.type != VALUE_DOCUMENT)
        return false;
    walk = document_fields(value_document(value));
    return document_next(&walk, &first) && first.name.len && first.name.data[0] == '$' &&
           !is_named(first.name, "$ref") && !is_named(first.name, "$id") &&
           !is_named(first.name, "$db");
}

/* ---- operators of one path -------------------------------------------------------------------------- */

static status parse_compare(struct filter_parser *p, bytes path, struct field operator,
                            enum match_kind kind, const struct match **out)
{
    if (operator.value.type == VALUE_UNDEFINED)
        return fault_raise(p->arena, p->fault, ERROR_BadValue, "cannot compare to undefined");
    if (operator.value.type == VALUE_REGEX && kind != MATCH_EQUAL)
        return fault_raise(p->arena, p->fault, ERROR_BadValue,
                           "Can't have RegEx as arg to predicate over field '%.*s'.", (int)path.len,
                           (const char *)path.data);
    return match_leaf_by(p->arena, formula_scope_collation(p->scope), kind, path, operator.value,
                         out);
}

static status parse_unequal(struct filter_parser *p, bytes path, struct field operator,
                            const struct match ** out)
{
    const struct match *equal;

    if (operator.value.type == VALUE_REGEX)
        return fault_raise(p->arena, p->fault, ERROR_BadValue, "Can't have regex as arg to $ne.");
    TRY(parse_compare(p, path, operator, MATCH_EQUAL, &equal));
    return match_negate(p->arena, equal, out);
}

static status parse_not(struct filter_parser *p, bytes path, struct value argument,
                        const struct match **out)
{
    const struct match *inner;

    if (argument.type == VALUE_REGEX) {
        TRY(filter_parse_operand(p, path, argument, &inner));
        return match_negate(p->arena, inner, out);
    }
    if (argument.type != VALUE_DOCUMENT)
        return fault_raise(p->arena, p->fault, ERROR_BadValue, "$not needs a regex or a document");
    if (document_field_count(value_document(argument)) == 0)
        return fault_raise(p->arena, p->fault, ERROR_BadValue, "$not cannot be empty");
    TRY(filter_parse_operators(p, path, value_document(argument), &inner));
    return match_negate(p->arena, inner, out);
}

static status parse_exists(struct filter_parser *p, bytes path, struct value argument,
                           const struct match **out)
{
    const struct match *exists;

    TRY(match_leaf(p->arena, MATCH_EXISTS, path, argument, &exists));
    if (formula_is_true(argument)) {
        *out = exists;
        return STATUS_OK;
    }
    return match_negate(p->arena, exists, out);
}

/* Operators ask the elements themselves; anything else asks the documents among them. */
static bool asks_elements(bytes argument)
{
    struct document_walk walk = document_fields(argument);
    struct value whole = { .type = VALUE_DOCUMENT, .raw = argument };
    struct field first;

    return filter_has_operators(whole) && document_next(&walk, &first) &&
           !is_named(first.name, "$and") && !is_named(first.name, "$or") &&
           !is_named(first.name, "$nor") && !is_named(first.name, "$where") &&
           !is_named(first.name, "$expr");
}

static status parse_element(struct filter_parser *p, bytes path, struct value argument,
                            const struct match **out)
{
    struct match *element;
    const struct match **part;

    if (argument.type != VALUE_DOCUMENT)
        return fault_raise(p->arena, p->fault, ERROR_BadValue, "$elemMatch needs an Object");
    bool is_value = asks_elements(value_document(argument));
    struct filter_parser inner = *p;
    inner.no_text = "$text is not allowed in $elemMatch: it searches whole documents";
    TRY(match_new(p->arena, is_value ? MATCH_ELEMENT_IS : MATCH_ELEMENT_WHERE, path, &element));
    TRY(ARENA_NEW(p->arena, 1, &part));
    if (is_value)
        TRY(filter_parse_operators(p, BYTES_NONE, value_document(argument), part));
    else
        TRY(filter_parse_document(&inner, value_document(argument), part));
    element->parts = part;
    element->count = 1;
    *out = element;
    return STATUS_OK;
}

static status parse_regex(struct filter_parser *p, bytes path, struct value argument,
                          bytes operators, const struct match **out)
{
    struct value options;

    document_find(operators, "$options", &options);
    return filter_parse_pattern(p, path, argument, options, out);
}

enum operator_name {
    OP_EQ,
    OP_NE,
    OP_LT,
    OP_LTE,
    OP_GT,
    OP_GTE,
    OP_IN,
    OP_NIN,
    OP_NOT,
    OP_EXISTS,
    OP_TYPE,
    OP_SIZE,
    OP_MOD,
    OP_ALL,
    OP_ELEM_MATCH,
    OP_REGEX,
    OP_OPTIONS,
    OP_BITS_ALL_SET,
    OP_BITS_ALL_CLEAR,
    OP_BITS_ANY_SET,
    OP_BITS_ANY_CLEAR,
    OP_COMMENT,
    OP_NEAR,
    OP_DISTANCE,
    OP_REGION,
    OP_UNKNOWN,
};

static const struct {
    const char *text;
    enum operator_name name;
    const char *sentence;
} filters[] = {
#define FILTER(text, name, sentence) { text, name, sentence },
#define FILTER_TOP(text, sentence)
#include "front/mongo/filters.def"
#undef FILTER
#undef FILTER_TOP
};

static enum operator_name operator_named(bytes name)
{
    for (size_t i = 0; i < ARRAY_COUNT(filters); i++) {
        if (is_named(name, filters[i].text))
            return filters[i].name;
    }
    return OP_UNKNOWN;
}

void filter_describe(struct buffer *out)
{
    static const struct {
        const char *text, *sentence;
    } tops[] = {
#define FILTER(text, name, sentence)
#define FILTER_TOP(text, sentence) { text, sentence },
#include "front/mongo/filters.def"
#undef FILTER
#undef FILTER_TOP
    };

    for (size_t i = 0; i < ARRAY_COUNT(filters); i++)
        buffer_append_format(out, "| `%s` | field | %s |\n", filters[i].text, filters[i].sentence);
    for (size_t i = 0; i < ARRAY_COUNT(tops); i++)
        buffer_append_format(out, "| `%s` | document | %s |\n", tops[i].text, tops[i].sentence);
}

static status unknown_operator(struct filter_parser *p, bytes name)
{
    return fault_raise(p->arena, p->fault, ERROR_BadValue, "unknown operator: %.*s", (int)name.len,
                       (const char *)name.data);
}

/* A distance belongs to the $near beside it. */
static status check_distance(struct filter_parser *p, bytes name, bytes operators)
{
    struct value near;

    if (document_find(operators, "$near", &near) ||
        document_find(operators, "$nearSphere", &near) ||
        document_find(operators, "$geoNear", &near))
        return STATUS_OK;
    return unknown_operator(p, name);
}

/* *out stays NULL where the operator belongs to another one. */
static status parse_operator(struct filter_parser *p, bytes path, struct field operator,
                             bytes operators, const struct match **out)
{
    const struct match *inner;

    *out = NULL;
    switch (operator_named(operator.name)) {
    case OP_EQ:
        return parse_compare(p, path, operator, MATCH_EQUAL, out);
    case OP_NE:
        return parse_unequal(p, path, operator, out);
    case OP_LT:
        return parse_compare(p, path, operator, MATCH_LESS, out);
    case OP_LTE:
        return parse_compare(p, path, operator, MATCH_LESS_EQUAL, out);
    case OP_GT:
        return parse_compare(p, path, operator, MATCH_GREATER, out);
    case OP_GTE:
        return parse_compare(p, path, operator, MATCH_GREATER_EQUAL, out);
    case OP_IN:
        return filter_parse_in(p, path, operator.value, "$in", out);
    case OP_NIN:
        TRY(filter_parse_in(p, path, operator.value, "$nin", &inner));
        return match_negate(p->arena, inner, out);
    case OP_NOT:
        return parse_not(p, path, operator.value, out);
    case OP_EXISTS:
        return parse_exists(p, path, operator.value, out);
    case OP_TYPE:
        return filter_parse_type(p, path, operator.value, out);
    case OP_SIZE:
        return filter_parse_size(p, path, operator.value, out);
    case OP_MOD:
        return filter_parse_modulo(p, path, operator.value, out);
    case OP_ALL:
        return filter_parse_all(p, path, operator.value, out);
    case OP_ELEM_MATCH:
        return parse_element(p, path, operator.value, out);
    case OP_REGEX:
        return parse_regex(p, path, operator.value, operators, out);
    case OP_OPTIONS:
        if (!document_find(operators, "$regex", &operator.value))
            return fault_raise(p->arena, p->fault, ERROR_BadValue, "$options needs a $regex");
        return STATUS_OK;
    case OP_BITS_ALL_SET:
        return filter_parse_bits(p, path, operator.value, BITS_ALL_SET, out);
    case OP_BITS_ALL_CLEAR:
        return filter_parse_bits(p, path, operator.value, BITS_ALL_CLEAR, out);
    case OP_BITS_ANY_SET:
        return filter_parse_bits(p, path, operator.value, BITS_ANY_SET, out);
    case OP_BITS_ANY_CLEAR:
        return filter_parse_bits(p, path, operator.value, BITS_ANY_CLEAR, out);
    case OP_COMMENT:
        return STATUS_OK;
    case OP_NEAR:
        return filter_parse_near(p, path, operator, operators, out);
    case OP_DISTANCE:
        return check_distance(p, operator.name, operators);
    case OP_REGION:
        return filter_parse_region(p, path, operator, operators, out);
    case OP_UNKNOWN:
        return unknown_operator(p, operator.name);
    }
    return STATUS_OK;
}

status filter_parse_operators(struct filter_parser *p, bytes path, bytes operators,
                              const struct match **out)
{
    struct document_walk walk = document_fields(operators);
    struct match_list list = { 0 };
    struct field operator;

    while (document_next(&walk, &operator)) {
        const struct match *item;
        TRY(parse_operator(p, path, operator, operators, &item));
        if (item)
            TRY(match_list_add(p->arena, &list, item));
    }
    return match_join(p->arena, MATCH_AND, list.items, list.count, out);
}

status filter_parse_operand(struct filter_parser *p, bytes path, struct value operand,
                            const struct match **out)
{
    if (filter_has_operators(operand))
        return filter_parse_operators(p, path, value_document(operand), out);
    if (operand.type == VALUE_REGEX)
        return filter_parse_pattern(p, path, operand, (struct value){ 0 }, out);
    return parse_compare(p, path, (struct field){ .value = operand }, MATCH_EQUAL, out);
}

/* ---- the whole -------------------------------------------------------------------------------------- */

static status parse_list(struct filter_parser *p, struct field list, enum match_kind kind,
                         const struct match **out)
{
    struct match_list parts = { 0 };
    struct document_walk walk;
    struct field element;

    if (list.value.type != VALUE_ARRAY)
        return fault_raise(p->arena, p->fault, ERROR_BadValue, "%.*s must be an array",
                           (int)list.name.len, (const char *)list.name.data);
    walk = document_fields(value_document(list.value));
    while (document_next(&walk, &element)) {
        const struct match *part;
        if (element.value.type != VALUE_DOCUMENT)
            return fault_raise(p->arena, p->fault, ERROR_BadValue,
                               "$or/$and/$nor entries need to be full objects");
        TRY(filter_parse_document(p, value_document(element.value), &part));
        TRY(match_list_add(p->arena, &parts, part));
    }
    if (parts.count == 0)
        return fault_raise(p->arena, p->fault, ERROR_BadValue,
                           "$and/$or/$nor must be a nonempty array");
    return match_join(p->arena, kind, parts.items, parts.count, out);
}

static status parse_expr(struct filter_parser *p, struct value argument, const struct match **out)
{
    struct match *match;

    TRY(match_new(p->arena, MATCH_FORMULA, BYTES_NONE, &match));
    TRY(formula_parse(p->arena, argument, p->scope, &match->formula, p->fault));
    *out = match;
    return STATUS_OK;
}

/* { $expr: { $lt: [{ $rand: {} }, rate] } } */
static status parse_sample_rate(struct filter_parser *p, struct value rate,
                                const struct match **out)
{
    struct buffer text = buffer_in(p->arena);
    struct value formula = { .type = VALUE_DOCUMENT };
    double number = value_is_number(rate) ? value_as_double(rate) : NAN;

    if (!value_is_number(rate))
        return fault_raise(p->arena, p->fault, ERROR_BadValue,
                           "argument to $sampleRate must be a numeric type, not %s",
                           value_type_name(rate.type));
    if (!(number >= 0 && number <= 1))
        return fault_raise(p->arena, p->fault, ERROR_BadValue,
                           "numeric argument to $sampleRate must be in [0, 1], it is %g", number);
    size_t whole = document_begin(&text), list = reply_begin_array(&text, "$lt"),
           first = reply_begin(&text, "0");
    document_end(&text, reply_begin(&text, "$rand"));
    document_end(&text, first);
    reply_double(&text, "1", number);
    document_end(&text, list);
    document_end(&text, whole);
    TRY(buffer_finish(&text, &formula.raw));
    return parse_expr(p, formula, out);
}

static status parse_constant(struct filter_parser *p, enum match_kind kind,
                             const struct match **out)
{
    struct match *match;

    TRY(match_new(p->arena, kind, BYTES_NONE, &match));
    *out = match;
    return STATUS_OK;
}

static status parse_top_operator(struct filter_parser *p, struct field field,
                                 const struct match **out)
{
    *out = NULL;
    if (is_named(field.name, "$and"))
        return parse_list(p, field, MATCH_AND, out);
    if (is_named(field.name, "$or"))
        return parse_list(p, field, MATCH_OR, out);
    if (is_named(field.name, "$nor")) {
        struct filter_parser inner = *p;
        inner.no_text =
            "$text is not allowed in $nor: it can only find documents, not rule them out";
        return parse_list(&inner, field, MATCH_NOR, out);
    }
    if (is_named(field.name, "$expr"))
        return parse_expr(p, field.value, out);
    if (is_named(field.name, "$comment"))
        return STATUS_OK;
    if (is_named(field.name, "$alwaysTrue"))
        return parse_constant(p, MATCH_ALWAYS, out);
    if (is_named(field.name, "$alwaysFalse"))
        return parse_constant(p, MATCH_NEVER, out);
    if (is_named(field.name, "$where"))
        return fault_raise(p->arena, p->fault, ERROR_NotImplemented,
                           "$where is not supported: this server runs no JavaScript; use $expr");
    if (is_named(field.name, "$jsonSchema"))
        return filter_parse_schema(p, field.value, out);
    if (is_named(field.name, "$text"))
        return filter_parse_text(p, field.value, out);
    if (is_named(field.name, "$sampleRate"))
        return parse_sample_rate(p, field.value, out);
    return fault_raise(
        p->arena, p->fault, ERROR_BadValue,
        "unknown top level operator: %.*s. If you have a field name that starts with "
        "a '$' symbol, consider using $getField or $setField.",
        (int)field.name.len, (const char *)field.name.data);
}

static bool is_top_operator(bytes name)
{
    return name.len && name.data[0] == '$' && !is_named(name, "$ref") && !is_named(name, "$id") &&
           !is_named(name, "$db");
}

status filter_parse_document(struct filter_parser *p, bytes filter, const struct match **out)
{
    struct document_walk walk = document_fields(filter);
    struct match_list list = { 0 };
    struct field field;

    while (document_next(&walk, &field)) {
        const struct match *item;
        if (is_top_operator(field.name))
            TRY(parse_top_operator(p, field, &item));
        else
            TRY(filter_parse_operand(p, field.name, field.value, &item));
        if (item)
            TRY(match_list_add(p->arena, &list, item));
    }
    return match_join(p->arena, MATCH_AND, list.items, list.count, out);
}

status filter_parse(struct arena *arena, bytes filter, const struct formula_scope *scope,
                    const struct match **out, struct fault *fault)
{
    TRY(filter_parse_sorting(arena, filter, scope, out, fault));
    return filter_refuse_near(arena, *out, fault);
}

status filter_parse_sorting(struct arena *arena, bytes filter, const struct formula_scope *scope,
                            const struct match **out, struct fault *fault)
{
    struct filter_parser parser = { .arena = arena, .fault = fault, .scope = scope };

    *out = NULL;
    TRY(filter_parse_document(&parser, filter, out));
    return filter_check_near(arena, *out, fault);
}

status filter_parse_field(struct arena *arena, bytes path, struct value operand,
                          const struct formula_scope *scope, const struct match **out,
                          struct fault *fault)
{
    struct filter_parser parser = { .arena = arena, .fault = fault, .scope = scope };

    *out = NULL;
    TRY(filter_parse_operand(&parser, path, operand, out));
    return filter_refuse_near(arena, *out, fault);
}

/* ---- partial indexes -------------------------------------------------------------------------------- */

bool filter_predicate(void *context, bytes predicate, bytes document)
{
    struct arena *arena = arena_open(PREDICATE_BYTES);
    struct matching matching = { .scratch = arena };
    struct fault fault = { 0 };
    const struct match *match;
    bool is_match = false;

    (void)context;
    if (!arena)
        return false;
    status s = filter_parse(arena, predicate, NULL, &match, &fault);
    if (s.code == OK)
        s = match_document(match, &matching, document, &is_match);
    arena_close(arena);
    return s.code == OK && is_match;
}

status filter_check_partial(struct arena *arena, const struct match *match, struct fault *fault)
{
    switch ((int)match->kind) {
    case MATCH_AND:
    case MATCH_OR:
        for (size_t i = 0; i < match->count; i++)
            TRY(filter_check_partial(arena, match->parts[i], fault));
        return STATUS_OK;
    case MATCH_ALWAYS:
    case MATCH_EQUAL:
    case MATCH_LESS:
    case MATCH_LESS_EQUAL:
    case MATCH_GREATER:
    case MATCH_GREATER_EQUAL:
    case MATCH_IN:
    case MATCH_EXISTS:
    case MATCH_TYPE:
        return STATUS_OK;
    default:
        return fault_raise(arena, fault, ERROR_CannotCreateIndex,
                           "unsupported expression in partial index: only equality, $in, $exists: "
                           "true, $gt, $gte, $lt, $lte, $type, $and and $or are allowed");
    }
}
