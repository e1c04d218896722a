/* Formula named: operators of expressions whose arguments have names.
 *
 * Most are a row of one table: the operator and its names in the order of its arguments, those that must be
 * there first. Those that bind variables or nest deeper have functions of their own.
 *
 * Threads: pure apart from the arena. Start reading at formula_parse_named(). */
#include "front/mongo/formula_parts.h"

enum { NAMES_MAX = 4 };

struct named {
    const char *name;
    enum formula_operator operator;
    size_t least;
    const char *arguments[NAMES_MAX];
};

static const struct named table[] = {
    {"$dateToString", FORMULA_date_to_string, 1, { "date", "format", "onNull" }    },
    { "$ltrim",       FORMULA_trim_left,      1, { "input", "chars" }              },
    { "$regexMatch",  FORMULA_regex_match,    2, { "input", "regex", "options" }   },
    { "$replaceAll",  FORMULA_replace_all,    3, { "input", "find", "replacement" }},
    { "$replaceOne",  FORMULA_replace_one,    3, { "input", "find", "replacement" }},
    { "$rtrim",       FORMULA_trim_right,     1, { "input", "chars" }              },
    { "$setField",    FORMULA_set_field,      3, { "field", "value", "input" }     },
    { "$trim",        FORMULA_trim,           1, { "input", "chars" }              },
    { "$unsetField",  FORMULA_unset_field,    2, { "field", "input" }              },
};

static int say_len(bytes name)
{
    return (int)name.len;
}

static status missing(struct formula_parser *p, bytes name, const char *argument)
{
    return fault_raise(p->arena, p->fault, 40415, "Missing '%s' parameter to %.*s", argument,
                       say_len(name), (const char *)name.data);
}

static status unknown(struct formula_parser *p, bytes name, bytes argument)
{
    return fault_raise(p->arena, p->fault, 40415, "%.*s found an unknown argument: %.*s",
                       say_len(name), (const char *)name.data, say_len(argument),
                       (const char *)argument.data);
}

static status need_object(struct formula_parser *p, struct field call)
{
    if (call.value.type == VALUE_DOCUMENT)
        return STATUS_OK;
    return fault_raise(p->arena, p->fault, ERROR_FailedToParse,
                       "%.*s only supports an object as its argument", say_len(call.name),
                       (const char *)call.name.data);
}

/* No other names than these. */
static status check_names(struct formula_parser *p, struct field call, const char *const *names,
                          size_t count)
{
    struct document_walk walk = document_fields(value_document(call.value));
    struct field field;

    while (document_next(&walk, &field)) {
        size_t i = 0;
        while (i < count && !(names[i] && formula_is_named(field.name, names[i])))
            i++;
        if (i == count)
            return unknown(p, call.name, field.name);
    }
    return STATUS_OK;
}

static status parse_argument(struct formula_parser *p, struct field call, const char *name,
                             bool is_needed, const struct formula **out)
{
    struct value value;

    *out = NULL;
    if (document_find(value_document(call.value), name, &value))
        return formula_parse_value(p, value, out);
    return is_needed ? missing(p, call.name, name) : STATUS_OK;
}

/* Dates are shown as they are in UTC; a zone that would change them is refused, not passed over. */
static status check_zone(struct formula_parser *p, struct field call)
{
    static const char *const utc[] = { "UTC", "GMT", "Etc/UTC", "Z", "+00:00", "+0000", "+00" };
    struct value zone;

    if (!document_find(value_document(call.value), "timezone", &zone))
        return STATUS_OK;
    for (size_t i = 0; zone.type == VALUE_STRING && i < ARRAY_COUNT(utc); i++) {
        if (formula_is_named(value_text(zone), utc[i]))
            return STATUS_OK;
    }
    return fault_raise(
        p->arena, p->fault, 40485,
        "%.*s knows only the time zone \"UTC\" in this version; leave \"timezone\" out",
        say_len(call.name), (const char *)call.name.data);
}

static status parse_row(struct formula_parser *p, struct field call, const struct named *row,
                        const struct formula **out)
{
    const char *const names[] = { row->arguments[0], row->arguments[1], row->arguments[2],
                                  row->arguments[3],
                                  formula_is_named(call.name, "$dateToString") ? "timezone"
                                                                               : NULL };
    const struct formula *args[NAMES_MAX];
    size_t count = 0;

    TRY(need_object(p, call));
    TRY(check_names(p, call, names, ARRAY_COUNT(names)));
    TRY(check_zone(p, call));
    for (; count < NAMES_MAX && row->arguments[count]; count++)
        TRY(parse_argument(p, call, row->arguments[count], count < row->least, &args[count]));
    while (count > row->least && !args[count - 1])
        count--;
    return formula_call(p->arena, row->operator, 0, args, count, out);
}

/* ---- variables -------------------------------------------------------------------------------------- */

status formula_bind(struct formula_parser *p, bytes name)
{
    struct formula_scope *inner;
    uint32_t number = p->scope ? p->scope->number + 1 : 0;

    if (name.len == 0 || (name.data[0] >= 'A' && name.data[0] <= 'Z') || name.data[0] == '$')
        return fault_raise(p->arena, p->fault, 16867,
                           "'%.*s' starts with an invalid character for a user variable name",
                           say_len(name), (const char *)name.data);
    if (number >= FORMULA_VARIABLES_MAX)
        return fault_raise(p->arena, p->fault, ERROR_BadValue,
                           "an expression has more than %d variables within each other",
                           FORMULA_VARIABLES_MAX);
    TRY(ARENA_NEW(p->arena, 1, &inner));
    *inner = (struct formula_scope){ .around = p->scope, .name = name, .number = number };
    p->scope = inner;
    return STATUS_OK;
}

static status parse_let(struct formula_parser *p, struct field call, const struct formula **out)
{
    const struct formula_scope *outside = p->scope;
    const struct formula *args[FORMULA_VARIABLES_MAX + 1];
    struct value vars, in;
    struct field field;
    size_t count = 1;

    TRY(need_object(p, call));
    TRY(check_names(p, call, (const char *const[]){ "vars", "in" }, 2));
    if (!document_find(value_document(call.value), "vars", &vars) || vars.type != VALUE_DOCUMENT)
        return missing(p, call.name, "vars");
    if (!document_find(value_document(call.value), "in", &in))
        return missing(p, call.name, "in");
    struct document_walk walk = document_fields(value_document(vars));
    while (document_next(&walk, &field)) {
        const struct formula_scope *inside = p->scope;
        if (count > FORMULA_VARIABLES_MAX)
            return fault_raise(p->arena, p->fault, ERROR_BadValue,
                               "$let has more than %d variables", FORMULA_VARIABLES_MAX);
        p->scope = outside;
        TRY(formula_parse_value(p, field.value, &args[count++]));
        p->scope = inside;
        TRY(formula_bind(p, field.name));
    }
    uint32_t first = outside ? outside->number + 1 : 0;
    TRY(formula_parse_value(p, in, &args[0]));
    p->scope = outside;
    return formula_call(p->arena, FORMULA_let, first, args, count, out);
}

static status take_as(struct formula_parser *p, struct field call, bytes *out)
{
    struct value as;

    *out = BYTES_LITERAL("this");
    if (!document_find(value_document(call.value), "as", &as))
        return STATUS_OK;
    if (as.type != VALUE_STRING)
        return fault_raise(p->arena, p->fault, ERROR_FailedToParse, "'as' must be a string");
    *out = value_text(as);
    return STATUS_OK;
}

/* $map { input, as, in } and $filter { input, as, cond, limit } */
static status parse_each(struct formula_parser *p, struct field call,
                         enum formula_operator operator, const struct formula ** out)
{
    bool is_map = operator== FORMULA_array_map;
    const char *body = is_map ? "in" : "cond";
    const struct formula_scope *outside = p->scope;
    const struct formula *args[3] = { NULL, NULL, NULL };
    bytes as;

    TRY(need_object(p, call));
    TRY(check_names(p, call, (const char *const[]){ "input", "as", body, is_map ? NULL : "limit" },
                    4));
    TRY(parse_argument(p, call, "input", true, &args[0]));
    if (!is_map)
        TRY(parse_argument(p, call, "limit", false, &args[2]));
    TRY(take_as(p, call, &as));
    TRY(formula_bind(p, as));
    uint32_t number = p->scope->number;
    TRY(parse_argument(p, call, body, true, &args[1]));
    p->scope = outside;
    return formula_call(p->arena, operator, number, args, args[2] ? 3 : 2, out);
}

static status parse_reduce(struct formula_parser *p, struct field call, const struct formula **out)
{
    const struct formula_scope *outside = p->scope;
    const struct formula *args[3];

    TRY(need_object(p, call));
    TRY(check_names(p, call, (const char *const[]){ "input", "initialValue", "in" }, 3));
    TRY(parse_argument(p, call, "input", true, &args[0]));
    TRY(parse_argument(p, call, "initialValue", true, &args[1]));
    TRY(formula_bind(p, BYTES_LITERAL("this")));
    uint32_t number = p->scope->number;
    TRY(formula_bind(p, BYTES_LITERAL("value")));
    TRY(parse_argument(p, call, "in", true, &args[2]));
    p->scope = outside;
    return formula_call(p->arena, FORMULA_array_reduce, number, args, 3, out);
}

/* ---- choices ---------------------------------------------------------------------------------------- */

static status parse_cond(struct formula_parser *p, struct field call, const struct formula **out)
{
    const struct formula *args[3];
    struct formula_arguments list;

    if (call.value.type == VALUE_ARRAY) {
        TRY(formula_parse_list(p, value_document(call.value), &list));
        if (list.count != 3)
            return fault_raise(p->arena, p->fault, 16020,
                               "Expression $cond takes exactly 3 arguments. %zu were passed in.",
                               list.count);
        return formula_call(p->arena, FORMULA_cond, 0, list.items, 3, out);
    }
    TRY(need_object(p, call));
    TRY(check_names(p, call, (const char *const[]){ "if", "then", "else" }, 3));
    TRY(parse_argument(p, call, "if", true, &args[0]));
    TRY(parse_argument(p, call, "then", true, &args[1]));
    TRY(parse_argument(p, call, "else", true, &args[2]));
    return formula_call(p->arena, FORMULA_cond, 0, args, 3, out);
}

static status parse_switch(struct formula_parser *p, struct field call, const struct formula **out)
{
    const struct formula **args;
    struct value branches;
    struct field branch;
    size_t count = 0;

    TRY(need_object(p, call));
    TRY(check_names(p, call, (const char *const[]){ "branches", "default" }, 2));
    if (!document_find(value_document(call.value), "branches", &branches) ||
        branches.type != VALUE_ARRAY || document_field_count(value_document(branches)) == 0)
        return fault_raise(p->arena, p->fault, 40068,
                           "$switch requires at least one branch in an array 'branches'.");
    TRY(ARENA_NEW(p->arena, 2 * document_field_count(value_document(branches)) + 1, &args));
    struct document_walk walk = document_fields(value_document(branches));
    while (document_next(&walk, &branch)) {
        branch.name = call.name;
        TRY(need_object(p, branch));
        TRY(check_names(p, branch, (const char *const[]){ "case", "then" }, 2));
        TRY(parse_argument(p, branch, "case", true, &args[count++]));
        TRY(parse_argument(p, branch, "then", true, &args[count++]));
    }
    TRY(parse_argument(p, call, "default", false, &args[count]));
    return formula_call(p->arena, FORMULA_switch, 0, args, count + 1, out);
}

/* $getField: a name, or { field, input } */
static status parse_get_field(struct formula_parser *p, struct field call,
                              const struct formula **out)
{
    const struct formula *args[2] = { NULL, NULL };
    struct value field;
    bool is_whole = call.value.type == VALUE_DOCUMENT &&
                    document_find(value_document(call.value), "field", &field);

    if (!is_whole) {
        if (call.value.type == VALUE_STRING)
            TRY(formula_literal(p->arena, call.value, &args[0]));
        else
            TRY(formula_parse_value(p, call.value, &args[0]));
        return formula_call(p->arena, FORMULA_get_field, 0, args, 1, out);
    }
    TRY(check_names(p, call, (const char *const[]){ "field", "input" }, 2));
    TRY(parse_argument(p, call, "field", true, &args[0]));
    TRY(parse_argument(p, call, "input", false, &args[1]));
    return formula_call(p->arena, FORMULA_get_field, 0, args, args[1] ? 2 : 1, out);
}

status formula_parse_named(struct formula_parser *p, struct field call, const struct formula **out,
                           bool *is_done_out)
{
    *is_done_out = true;
    if (formula_is_named(call.name, "$cond"))
        return parse_cond(p, call, out);
    if (formula_is_named(call.name, "$switch"))
        return parse_switch(p, call, out);
    if (formula_is_named(call.name, "$let"))
        return parse_let(p, call, out);
    if (formula_is_named(call.name, "$map"))
        return parse_each(p, call, FORMULA_array_map, out);
    if (formula_is_named(call.name, "$filter"))
        return parse_each(p, call, FORMULA_array_filter, out);
    if (formula_is_named(call.name, "$reduce"))
        return parse_reduce(p, call, out);
    if (formula_is_named(call.name, "$getField"))
        return parse_get_field(p, call, out);
    if (formula_is_named(call.name, "$rand"))
        return formula_call(p->arena, FORMULA_rand, 0, NULL, 0, out);
    for (size_t i = 0; i < ARRAY_COUNT(table); i++) {
        if (formula_is_named(call.name, table[i].name))
            return parse_row(p, call, &table[i], out);
    }
    *is_done_out = false;
    return STATUS_OK;
}
