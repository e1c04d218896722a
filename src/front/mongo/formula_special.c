/* Formula special: operators of expressions that are parsed in their own way.
 *
 * Some bind variables, some nest deeper, some check constants; the others are rows of formula.def.
 *
 * Threads: pure apart from the arena. */
#include "front/mongo/formula_parts.h"
#include "front/mongo/projection.h"

/* ---- variables -------------------------------------------------------------------------------------- */

status formula_bind(struct formula_parser *p, bytes name)
{
    struct formula_scope *inner;
    uint32_t number = p->scope ? p->scope->number + 1 : 0;

    if (name.len == 0 || (name.data[0] >= 'A' && name.data[0] <= 'Z') || name.data[0] == '$')
        return fault_raise(p->arena, p->fault, 16867,
                           "'%.*s' starts with an invalid character for a user variable name",
                           (int)name.len, (const char *)name.data);
    if (number >= FORMULA_VARIABLES_MAX)
        return fault_raise(p->arena, p->fault, ERROR_BadValue,
                           "an expression has more than %d variables within each other",
                           FORMULA_VARIABLES_MAX);
    TRY(ARENA_NEW(p->arena, 1, &inner));
    *inner = (struct formula_scope){ .around = p->scope,
                                     .name = name,
                                     .number = number,
                                     .collation = formula_scope_collation(p->scope) };
    p->scope = inner;
    return STATUS_OK;
}

status formula_special_let(struct formula_parser *p, struct field call, const struct formula **out)
{
    const struct formula_scope *outside = p->scope;
    const struct formula *args[FORMULA_VARIABLES_MAX + 1];
    struct value vars, in;
    struct field field;
    size_t count = 1;

    TRY(formula_need_object(p, call));
    TRY(formula_check_names(p, call, (const char *const[]){ "vars", "in" }, 2));
    if (!document_find(value_document(call.value), "vars", &vars) || vars.type != VALUE_DOCUMENT)
        return formula_missing(p, call.name, "vars");
    if (!document_find(value_document(call.value), "in", &in))
        return formula_missing(p, call.name, "in");
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
status formula_special_each(struct formula_parser *p, struct field call, const struct formula **out)
{
    bool is_map = formula_is_named(call.name, "$map");
    enum formula_operator operator= is_map ? FORMULA_array_map : FORMULA_array_filter;
    const char *body = is_map ? "in" : "cond";
    const struct formula_scope *outside = p->scope;
    const struct formula *args[3] = { NULL, NULL, NULL };
    bytes as;

    TRY(formula_need_object(p, call));
    TRY(formula_check_names(
        p, call, (const char *const[]){ "input", "as", body, is_map ? NULL : "limit" }, 4));
    TRY(formula_parse_argument(p, call, "input", true, &args[0]));
    if (!is_map)
        TRY(formula_parse_argument(p, call, "limit", false, &args[2]));
    TRY(take_as(p, call, &as));
    TRY(formula_bind(p, as));
    uint32_t number = p->scope->number;
    TRY(formula_parse_argument(p, call, body, true, &args[1]));
    p->scope = outside;
    return formula_call(p->arena, operator, number, args, args[2] ? 3 : 2, out);
}

status formula_special_reduce(struct formula_parser *p, struct field call,
                              const struct formula **out)
{
    const struct formula_scope *outside = p->scope;
    const struct formula *args[3];

    TRY(formula_need_object(p, call));
    TRY(formula_check_names(p, call, (const char *const[]){ "input", "initialValue", "in" }, 3));
    TRY(formula_parse_argument(p, call, "input", true, &args[0]));
    TRY(formula_parse_argument(p, call, "initialValue", true, &args[1]));
    TRY(formula_bind(p, BYTES_LITERAL("this")));
    uint32_t number = p->scope->number;
    TRY(formula_bind(p, BYTES_LITERAL("value")));
    TRY(formula_parse_argument(p, call, "in", true, &args[2]));
    p->scope = outside;
    return formula_call(p->arena, FORMULA_array_reduce, number, args, 3, out);
}

/* ---- choices ---------------------------------------------------------------------------------------- */

status formula_special_cond(struct formula_parser *p, struct field call, const struct formula **out)
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
    TRY(formula_need_object(p, call));
    TRY(formula_check_names(p, call, (const char *const[]){ "if", "then", "else" }, 3));
    TRY(formula_parse_argument(p, call, "if", true, &args[0]));
    TRY(formula_parse_argument(p, call, "then", true, &args[1]));
    TRY(formula_parse_argument(p, call, "else", true, &args[2]));
    return formula_call(p->arena, FORMULA_cond, 0, args, 3, out);
}

status formula_special_switch(struct formula_parser *p, struct field call,
                              const struct formula **out)
{
    const struct formula **args;
    struct value branches;
    struct field branch;
    size_t count = 0;

    TRY(formula_need_object(p, call));
    TRY(formula_check_names(p, call, (const char *const[]){ "branches", "default" }, 2));
    if (!document_find(value_document(call.value), "branches", &branches) ||
        branches.type != VALUE_ARRAY || document_field_count(value_document(branches)) == 0)
        return fault_raise(p->arena, p->fault, 40068,
                           "$switch requires at least one branch in an array 'branches'.");
    TRY(ARENA_NEW(p->arena, 2 * document_field_count(value_document(branches)) + 1, &args));
    struct document_walk walk = document_fields(value_document(branches));
    while (document_next(&walk, &branch)) {
        branch.name = call.name;
        TRY(formula_need_object(p, branch));
        TRY(formula_check_names(p, branch, (const char *const[]){ "case", "then" }, 2));
        TRY(formula_parse_argument(p, branch, "case", true, &args[count++]));
        TRY(formula_parse_argument(p, branch, "then", true, &args[count++]));
    }
    TRY(formula_parse_argument(p, call, "default", false, &args[count]));
    return formula_call(p->arena, FORMULA_switch, 0, args, count + 1, out);
}

/* $getField: a name, or { field, input } */
status formula_special_get_field(struct formula_parser *p, struct field call,
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
    TRY(formula_check_names(p, call, (const char *const[]){ "field", "input" }, 2));
    TRY(formula_parse_argument(p, call, "field", true, &args[0]));
    TRY(formula_parse_argument(p, call, "input", false, &args[1]));
    return formula_call(p->arena, FORMULA_get_field, 0, args, args[1] ? 2 : 1, out);
}

/* ---- plain values ----------------------------------------------------------------------------------- */

status formula_special_literal(struct formula_parser *p, struct field call,
                               const struct formula **out)
{
    return formula_literal(p->arena, call.value, out);
}

status formula_special_rand(struct formula_parser *p, struct field call, const struct formula **out)
{
    if ((call.value.type != VALUE_DOCUMENT && call.value.type != VALUE_ARRAY) ||
        document_field_count(value_document(call.value)) > 0)
        return fault_raise(p->arena, p->fault, 3040501,
                           "$rand does not currently accept arguments");
    return formula_call(p->arena, FORMULA_rand, 0, NULL, 0, out);
}

status formula_special_script(struct formula_parser *p, struct field call,
                              const struct formula **out)
{
    *out = NULL;
    return fault_raise(p->arena, p->fault, ERROR_NotImplemented,
                       "%.*s is not supported: this server runs no JavaScript; write it with the "
                       "other operators, or compute it in the client",
                       (int)call.name.len, (const char *)call.name.data);
}

status formula_special_meta(struct formula_parser *p, struct field call, const struct formula **out)
{
    static const char *const absent[] = { "indexKey",          "sortKey",
                                          "recordId",          "searchScore",
                                          "searchHighlights",  "geoNearDistance",
                                          "geoNearPoint",      "searchScoreDetails",
                                          "vectorSearchScore", "searchSequenceToken" };
    const struct formula *name;

    if (call.value.type != VALUE_STRING)
        return fault_raise(p->arena, p->fault, 17307, "$meta only supports string arguments");
    for (size_t i = 0; i < ARRAY_COUNT(absent); i++) {
        if (formula_is_named(value_text(call.value), absent[i]))
            return fault_raise(p->arena, p->fault, ERROR_NotImplemented,
                               "{$meta: \"%s\"} is not supported; textScore is, and $geoNear puts "
                               "distances into a field",
                               absent[i]);
    }
    if (!formula_is_named(value_text(call.value), "textScore"))
        return fault_raise(p->arena, p->fault, 17308, "Unsupported argument to $meta: %.*s",
                           (int)value_text(call.value).len,
                           (const char *)value_text(call.value).data);
    TRY(formula_literal(p->arena, call.value, &name));
    return formula_call(p->arena, FORMULA_metadata, 0, &name, 1, out);
}

/* ---- order ------------------------------------------------------------------------------------------ */

status formula_special_sort_array(struct formula_parser *p, struct field call,
                                  const struct formula **out)
{
    const struct formula *input;
    struct sort_wish wish;
    struct value by;
    int64_t direction = 0;

    TRY(formula_need_object(p, call));
    TRY(formula_check_names(p, call, (const char *const[]){ "input", "sortBy" }, 2));
    TRY(formula_parse_argument(p, call, "input", true, &input));
    if (!document_find(value_document(call.value), "sortBy", &by))
        return fault_raise(p->arena, p->fault, 2942503, "$sortArray requires 'sortBy'");
    if (by.type == VALUE_DOCUMENT) {
        TRY(sort_parse(p->arena, value_document(by), formula_scope_collation(p->scope), &wish,
                       p->fault));
        return formula_sorted(p->arena, input, wish.order, false, out);
    }
    if (!value_as_int64(by, &direction) || (direction != 1 && direction != -1))
        return fault_raise(p->arena, p->fault, 2942507,
                           "$sortArray: 'sortBy' is 1, -1, or a document of fields with 1 or -1");
    return formula_sorted(p->arena, input, NULL, direction < 0, out);
}

/* ---- percentiles ------------------------------------------------------------------------------------ */

static status check_shares(struct formula_parser *p, struct value shares)
{
    struct document_walk walk;
    struct field share;
    size_t count = 0;

    if (shares.type == VALUE_ARRAY) {
        walk = document_fields(value_document(shares));
        while (document_next(&walk, &share)) {
            double number = value_is_number(share.value) ? value_as_double(share.value) : -1;
            if (!(number >= 0 && number <= 1))
                return fault_raise(p->arena, p->fault, 7750303,
                                   "'p' must be an array of numbers from 0 to 1");
            count++;
        }
    }
    if (count == 0)
        return fault_raise(p->arena, p->fault, 7750301,
                           "'p' must be a non-empty array of constant numbers from 0 to 1");
    return STATUS_OK;
}

status formula_parse_percentile(struct arena *arena, struct field call,
                                const struct formula_scope *scope, const struct formula **input_out,
                                struct value *shares_out, struct fault *fault)
{
    struct formula_parser p = { .arena = arena, .fault = fault, .scope = scope };
    bool is_median = formula_is_named(call.name, "$median");
    struct value method;

    *shares_out = (struct value){ .type = VALUE_MISSING };
    TRY(formula_need_object(&p, call));
    TRY(formula_check_names(&p, call,
                            (const char *const[]){ "input", "method", is_median ? NULL : "p" }, 3));
    TRY(formula_parse_argument(&p, call, "input", true, input_out));
    if (!document_find(value_document(call.value), "method", &method))
        return formula_missing(&p, call.name, "method");
    if (method.type != VALUE_STRING || !formula_is_named(value_text(method), "approximate"))
        return fault_raise(arena, fault, ERROR_BadValue, "%.*s: 'method' must be \"approximate\"",
                           (int)call.name.len, (const char *)call.name.data);
    if (is_median)
        return value_of_double(arena, 0.5, shares_out);
    if (!document_find(value_document(call.value), "p", shares_out))
        return formula_missing(&p, call.name, "p");
    return check_shares(&p, *shares_out);
}

status formula_special_percentile(struct formula_parser *p, struct field call,
                                  const struct formula **out)
{
    const struct formula *args[2];
    struct value shares;

    TRY(formula_parse_percentile(p->arena, call, p->scope, &args[0], &shares, p->fault));
    TRY(formula_literal(p->arena, shares, &args[1]));
    return formula_call(p->arena, FORMULA_percentile, 0, args, 2, out);
}
