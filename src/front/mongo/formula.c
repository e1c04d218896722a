/* Formula: from an expression in BSON to a tree of the query room.
 *
 *   expression = "$path" | "$$variable[.path]" | { "$operator": arguments } | { *( name: expression ) }
 *              | [ *expression ] | any other value
 *   arguments  = expression | [ *expression ] | { *( name: expression ) } for those with named arguments
 *
 * Operators are one table (formula.def, formula_named.c). Variables are numbered by their depth, so that a formula needs
 * no more room than it nests.
 *
 * Threads: pure apart from the arena. Start reading at formula_parse(). */
#include "front/mongo/formula.h"

#include "front/mongo/formula_parts.h"

bool formula_is_named(bytes name, const char *text)
{
    return bytes_equal(name, bytes_of_text(text));
}

/* ---- paths and variables ---------------------------------------------------------------------------- */

static status check_path(struct formula_parser *p, bytes path)
{
    size_t part_len = 0;

    for (size_t i = 0; i <= path.len; i++) {
        if (i < path.len && path.data[i] != '.') {
            if (path.data[i] == 0)
                return fault_raise(p->arena, p->fault, 16411,
                                   "FieldPath field names may not contain '\\0'.");
            if (part_len == 0 && path.data[i] == '$')
                return fault_raise(p->arena, p->fault, 16410,
                                   "FieldPath field names may not start with '$'. Consider using "
                                   "$getField or $setField.");
            part_len++;
            continue;
        }
        if (part_len == 0)
            return fault_raise(p->arena, p->fault, i == path.len ? 40353 : 15998,
                               "FieldPath must not have empty parts: '%.*s'", (int)path.len,
                               (const char *)path.data);
        part_len = 0;
    }
    return STATUS_OK;
}

status formula_scope_of(struct arena *arena, const struct collation *by,
                        const struct formula_scope **out)
{
    struct formula_scope *scope;

    *out = NULL;
    if (!by)
        return STATUS_OK;
    TRY(ARENA_NEW(arena, 1, &scope));
    /* The number behind it is that of the first variable. */
    *scope = (struct formula_scope){ .number = UINT32_MAX, .collation = by };
    *out = scope;
    return STATUS_OK;
}

const struct collation *formula_scope_collation(const struct formula_scope *scope)
{
    return scope ? scope->collation : NULL;
}

static bool find_variable(const struct formula_scope *scope, bytes name, uint32_t *out)
{
    for (; scope; scope = scope->around) {
        if (scope->name.len > 0 && bytes_equal(scope->name, name)) {
            *out = scope->number;
            return true;
        }
    }
    return false;
}

static status parse_verdict(struct formula_parser *p, bytes name, const struct formula **out)
{
    enum redact_verdict verdict = name.data[0] == 'D'   ? REDACT_DESCEND
                                  : name.data[0] == 'P' ? REDACT_PRUNE
                                                        : REDACT_KEEP;

    return formula_literal(p->arena, redact_value(verdict), out);
}

static status parse_variable_name(struct formula_parser *p, bytes name, const struct formula **out)
{
    uint32_t number;

    if (formula_is_named(name, "ROOT"))
        return formula_leaf(p->arena, FORMULA_IS_ROOT, 0, out);
    if (formula_is_named(name, "CURRENT"))
        return formula_leaf(p->arena, FORMULA_IS_CURRENT, 0, out);
    if (formula_is_named(name, "NOW"))
        return formula_leaf(p->arena, FORMULA_IS_NOW, 0, out);
    if (formula_is_named(name, "CLUSTER_TIME"))
        return formula_leaf(p->arena, FORMULA_IS_CLUSTER_TIME, 0, out);
    if (formula_is_named(name, "REMOVE"))
        return formula_leaf(p->arena, FORMULA_IS_REMOVED, 0, out);
    if (p->is_redact && (formula_is_named(name, "DESCEND") || formula_is_named(name, "PRUNE") ||
                         formula_is_named(name, "KEEP")))
        return parse_verdict(p, name, out);
    if (find_variable(p->scope, name, &number))
        return formula_leaf(p->arena, FORMULA_IS_VARIABLE, number, out);
    return fault_raise(p->arena, p->fault, 17276, "Use of undefined variable: %.*s", (int)name.len,
                       (const char *)name.data);
}

static status parse_variable(struct formula_parser *p, bytes text, const struct formula **out)
{
    const uint8_t *dot = text.len ? memchr(text.data, '.', text.len) : NULL;
    bytes name = bytes_of(text.data, dot ? (size_t)(dot - text.data) : text.len);
    const struct formula *variable;

    if (name.len == 0)
        return fault_raise(p->arena, p->fault, ERROR_FailedToParse,
                           "empty variable names are not allowed");
    TRY(parse_variable_name(p, name, &variable));
    *out = variable;
    if (!dot)
        return STATUS_OK;
    bytes path = bytes_from(text, name.len + 1);
    TRY(check_path(p, path));
    return formula_path(p->arena, variable, path, out);
}

static status parse_text(struct formula_parser *p, struct value text, const struct formula **out)
{
    bytes rest = value_text(text);

    if (rest.len == 0 || rest.data[0] != '$')
        return formula_literal(p->arena, text, out);
    rest = bytes_from(rest, 1);
    if (rest.len && rest.data[0] == '$')
        return parse_variable(p, bytes_from(rest, 1), out);
    if (rest.len == 0)
        return fault_raise(p->arena, p->fault, 16872, "'$' by itself is not a valid FieldPath");
    TRY(check_path(p, rest));
    return formula_path(p->arena, NULL, rest, out);
}

/* ---- construction ----------------------------------------------------------------------------------- */

static status parse_array(struct formula_parser *p, bytes array, const struct formula **out)
{
    struct formula_arguments arguments;

    TRY(formula_parse_list(p, array, &arguments));
    return formula_array(p->arena, arguments.items, arguments.count, out);
}

static status parse_object(struct formula_parser *p, bytes object, const struct formula **out)
{
    struct document_walk walk = document_fields(object);
    size_t count = 0, room = document_field_count(object);
    const struct formula **args;
    struct field field;
    bytes *names;

    TRY(ARENA_NEW(p->arena, room, &args));
    TRY(ARENA_NEW(p->arena, room, &names));
    while (document_next(&walk, &field)) {
        if (field.name.len && field.name.data[0] == '$')
            return fault_raise(p->arena, p->fault, ERROR_InvalidPipelineOperator,
                               "an expression has several fields, one of them an operator: '%.*s'",
                               (int)field.name.len, (const char *)field.name.data);
        if (memchr(field.name.data, '.', field.name.len))
            return fault_raise(p->arena, p->fault, 16412,
                               "FieldPath field names may not contain '.'. Consider using "
                               "$getField or $setField.");
        names[count] = field.name;
        TRY(formula_parse_value(p, field.value, &args[count++]));
    }
    return formula_object(p->arena, names, args, count, out);
}

/* ---- operators -------------------------------------------------------------------------------------- */

status formula_parse_list(struct formula_parser *p, bytes array, struct formula_arguments *out)
{
    struct document_walk walk = document_fields(array);
    struct field element;

    out->count = 0;
    TRY(ARENA_NEW(p->arena, document_field_count(array), &out->items));
    while (document_next(&walk, &element))
        TRY(formula_parse_value(p, element.value, &out->items[out->count++]));
    return STATUS_OK;
}

static status parse_call(struct formula_parser *p, struct field call, const struct formula **out)
{
    const struct formula_row *row = formula_row_find(call.name);

    if (row)
        return formula_row_parse(p, row, call, out);
    return fault_raise(p->arena, p->fault, ERROR_InvalidPipelineOperator,
                       "Unrecognized expression '%.*s'", (int)call.name.len,
                       (const char *)call.name.data);
}

static status parse_document(struct formula_parser *p, bytes document, const struct formula **out)
{
    struct document_walk walk = document_fields(document);
    struct field first, more;

    if (!document_next(&walk, &first) || first.name.len == 0 || first.name.data[0] != '$')
        return parse_object(p, document, out);
    if (document_next(&walk, &more))
        return fault_raise(p->arena, p->fault, 15983,
                           "An object representing an expression must have exactly one field: it "
                           "has '%.*s' and '%.*s'",
                           (int)first.name.len, (const char *)first.name.data, (int)more.name.len,
                           (const char *)more.name.data);
    return parse_call(p, first, out);
}

status formula_parse_value(struct formula_parser *p, struct value expression,
                           const struct formula **out)
{
    *out = NULL;
    if (expression.type == VALUE_STRING)
        return parse_text(p, expression, out);
    if (expression.type == VALUE_DOCUMENT)
        return parse_document(p, value_document(expression), out);
    if (expression.type == VALUE_ARRAY)
        return parse_array(p, value_document(expression), out);
    return formula_literal(p->arena, expression, out);
}

status formula_parse(struct arena *arena, struct value expression,
                     const struct formula_scope *scope, const struct formula **out,
                     struct fault *fault)
{
    struct formula_parser parser = { .arena = arena, .fault = fault, .scope = scope };

    return formula_parse_value(&parser, expression, out);
}

status formula_parse_redact(struct arena *arena, struct value expression,
                            const struct formula_scope *scope, const struct formula **out,
                            struct fault *fault)
{
    struct formula_parser parser = {
        .arena = arena, .fault = fault, .scope = scope, .is_redact = true
    };

    return formula_parse_value(&parser, expression, out);
}

status formula_parse_let(struct arena *arena, bytes let, struct formula_run *run,
                         const struct formula_scope **out, struct fault *fault)
{
    struct formula_parser parser = { .arena = arena, .fault = fault };
    struct document_walk walk;
    struct field field;

    TRY(formula_scope_of(arena, run->collation, out));
    parser.scope = *out;
    if (!run->variables)
        TRY(ARENA_NEW(arena, FORMULA_VARIABLES_MAX, &run->variables));
    if (let.len == 0)
        return STATUS_OK;
    walk = document_fields(let);
    while (document_next(&walk, &field)) {
        const struct formula *formula;
        struct value value;
        TRY(formula_parse_value(&parser, field.value, &formula));
        status s = formula_value(formula, run, &value);
        if (s.code != OK)
            return formula_fault(arena, run, s, fault);
        TRY(formula_bind(&parser, field.name));
        run->variables[parser.scope->number] = value;
    }
    *out = parser.scope;
    return STATUS_OK;
}

status formula_fault(struct arena *arena, const struct formula_run *run, status failed,
                     struct fault *fault)
{
    if (failed.code != INVALID || !run->refusal)
        return failed;
    return fault_raise(arena, fault, run->refusal, "%s", failed.message);
}
