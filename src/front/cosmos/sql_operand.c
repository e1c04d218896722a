/* SQL operands: literals, parameters, names, calls, objects and arrays.
 *
 * A function is a row of sql_functions.def. What a call says wrongly (an unknown name, too many arguments) is
 * noted as a mistake and parsing goes on, because an error of syntax further on would count more.
 *
 * Pure apart from the arena. Start reading at sql_operand(). */
#include "front/cosmos/sql_parser.h"

#include <math.h>

status sql_list_add(struct sql_parser *p, struct sql_list *list, bytes name,
                    const struct expression *item)
{
    if (list->count == LIMIT_QUERY_ARGUMENTS)
        return status_fail(p->arena, TOO_LARGE,
                           "a list in the query has more than %d items, the limit",
                           LIMIT_QUERY_ARGUMENTS);
    if (list->count == list->room) {
        size_t room = list->room ? list->room * 2 : 8;
        const struct expression **items;
        bytes *names;
        TRY(ARENA_NEW(p->arena, room, &items));
        TRY(ARENA_NEW(p->arena, room, &names));
        for (size_t i = 0; i < list->count; i++) {
            items[i] = list->items[i];
            names[i] = list->names[i];
        }
        *list = (struct sql_list){ items, names, list->count, room };
    }
    list->items[list->count] = item;
    list->names[list->count++] = name;
    return STATUS_OK;
}

status sql_finite(struct sql_parser *p, const struct expression **x)
{
    const struct value missing = { .type = VALUE_MISSING };

    if ((*x)->kind == EXPRESSION_LITERAL && (*x)->literal.type == VALUE_DOUBLE &&
        !isfinite(value_as_double((*x)->literal)))
        return expression_literal(p->arena, missing, x);
    return STATUS_OK;
}

/* arguments = [ expression { ',' expression } ] `end` */
status sql_arguments(struct sql_parser *p, unsigned end, struct sql_list *out)
{
    bool is_done, has_comma = true;

    TRY(sql_take_symbol(p, end, &is_done));
    while (!is_done) {
        const struct expression *item;
        TRY(sql_expression(p, &item));
        if (end == ']')
            TRY(sql_finite(p, &item));
        TRY(sql_list_add(p, out, BYTES_NONE, item));
        TRY(sql_take_symbol(p, ',', &has_comma));
        if (!has_comma) {
            TRY(sql_expect_symbol(p, end));
            is_done = true;
        }
    }
    return STATUS_OK;
}

status sql_check_name(struct sql_parser *p, const struct sql_token *token)
{
    if (token->text.len && memchr(token->text.data, 0, token->text.len))
        return sql_fail(&p->lexer, "SC1001", token->start, token->end,
                        "Syntax error, a property name must not contain the character U+0000.");
    return STATUS_OK;
}

/* object = '{' [ key ':' expression { ',' key ':' expression } ] '}' ; key = string | name */
static status parse_object(struct sql_parser *p, const struct expression **out)
{
    struct sql_list fields = { 0 };
    bool is_done, has_comma;

    TRY(sql_expect_symbol(p, '{'));
    TRY(sql_take_symbol(p, '}', &is_done));
    while (!is_done) {
        const struct expression *item;
        struct sql_token key = p->token;
        if (key.kind == TOKEN_END || key.kind == TOKEN_NUMBER || key.kind == TOKEN_SYMBOL ||
            key.kind == TOKEN_PARAMETER)
            return sql_fail_here(p);
        TRY(sql_check_name(p, &key));
        TRY(sql_advance(p));
        TRY(sql_expect_symbol(p, ':'));
        TRY(sql_expression(p, &item));
        TRY(sql_finite(p, &item));
        TRY(sql_list_add(p, &fields, key.text, item));
        TRY(sql_take_symbol(p, ',', &has_comma));
        is_done = !has_comma;
        if (is_done)
            TRY(sql_expect_symbol(p, '}'));
    }
    TRY(expression_object(p->arena, fields.names, fields.items, fields.count, out));
    return expression_fold(p->arena, &sql_rules, *out, out);
}

static status parse_array(struct sql_parser *p, const struct expression **out)
{
    struct sql_list items = { 0 };

    TRY(sql_expect_symbol(p, '['));
    TRY(sql_arguments(p, ']', &items));
    TRY(expression_array(p->arena, items.items, items.count, out));
    return expression_fold(p->arena, &sql_rules, *out, out);
}

status sql_parameter(struct sql_parser *p, const struct sql_token *token, struct value *out)
{
    struct document_walk walk;
    struct field field;
    struct value name;

    *out = (struct value){ .type = VALUE_MISSING };
    if (p->parameters.len) {
        walk = document_fields(p->parameters);
        while (document_next(&walk, &field)) {
            if (field.value.type == VALUE_DOCUMENT &&
                document_find(value_document(field.value), "name", &name) &&
                name.type == VALUE_STRING && bytes_equal(value_text(name), token->text)) {
                document_find(value_document(field.value), "value", out);
                return STATUS_OK;
            }
        }
    }
    sql_mistake(p, "SC2001", token,
                "Identifier '%.*s' could not be resolved: the query has no such parameter.",
                (int)token->text.len, (const char *)token->text.data);
    return STATUS_OK;
}

status sql_member(struct sql_parser *p, const struct expression *of, bytes name,
                  const struct expression **out)
{
    bool is_document = of->kind == EXPRESSION_VARIABLE && of->number == 0;

    for (size_t i = 0; is_document && p->properties && i < p->properties->count; i++) {
        if (bytes_equal(p->properties->items[i].name, name)) {
            *out = p->properties->items[i].value;
            return STATUS_OK;
        }
    }
    return expression_member(p->arena, of, name, out);
}

static status parse_literal(struct sql_parser *p, const struct expression **out)
{
    static const uint8_t truths[2] = { 0, 1 };
    struct value value = { .type = VALUE_MISSING };
    struct sql_token token = p->token;

    if (token.kind == TOKEN_NUMBER)
        value = token.number;
    else if (token.kind == TOKEN_STRING)
        TRY(value_of_text(p->arena, token.text, &value));
    else if (token.kind == TOKEN_PARAMETER)
        TRY(sql_parameter(p, &token, &value));
    else if (token.kind == TOKEN_NULL)
        value.type = VALUE_NULL;
    else if (token.kind == TOKEN_TRUE || token.kind == TOKEN_FALSE)
        value = (struct value){ .type = VALUE_BOOL,
                                .raw = bytes_of(&truths[token.kind == TOKEN_TRUE], 1) };
    TRY(sql_advance(p));
    return expression_literal(p->arena, value, out);
}

/* ---- names and calls -------------------------------------------------------------------------------- */

/* Notes it if the number of arguments is wrong. */
static bool has_right_count(struct sql_parser *p, const struct sql_token *name, size_t count,
                            struct function_arity arity)
{
    struct sql_token whole = { .start = name->start, .end = p->taken_end };

    if (count >= arity.least && count <= arity.most)
        return true;
    if (arity.least == arity.most)
        sql_mistake(p, "SC2050", &whole, "The %.*s function requires %zu argument(s).",
                    (int)name->text.len, (const char *)name->text.data, arity.least);
    else if (arity.most == LIMIT_QUERY_ARGUMENTS)
        sql_mistake(p, "SC2050", &whole, "The %.*s function requires at least %zu argument(s).",
                    (int)name->text.len, (const char *)name->text.data, arity.least);
    else
        sql_mistake(p, "SC2050", &whole, "The %.*s function requires %zu to %zu argument(s).",
                    (int)name->text.len, (const char *)name->text.data, arity.least, arity.most);
    return false;
}

/* Stands for what was a mistake. */
static status nothing(struct sql_parser *p, const struct expression **out)
{
    return expression_literal(p->arena, (struct value){ .type = VALUE_MISSING }, out);
}

static status parse_aggregate(struct sql_parser *p, const struct sql_token *name,
                              enum aggregate_kind kind, const struct expression **out)
{
    struct sql_list args = { 0 };

    struct sql_level *level = &p->level;
    bool is_inside = level->is_in_aggregate;
    if (!level->is_aggregate_allowed || is_inside)
        sql_mistake(p, "SC2104", name,
                    "The aggregate function %.*s may only be used in the SELECT clause, and not "
                    "within another aggregate function.",
                    (int)name->text.len, (const char *)name->text.data);
    level->is_in_aggregate = true;
    TRY(sql_arguments(p, ')', &args));
    level->is_in_aggregate = is_inside;
    if (!has_right_count(p, name, args.count, (struct function_arity){ 1, 1 }))
        return nothing(p, out);
    TRY(sql_finite(p, &args.items[0]));
    if (!level->aggregates)
        TRY(ARENA_NEW(p->arena, LIMIT_QUERY_AGGREGATES, &level->aggregates));
    if (level->aggregate_count == LIMIT_QUERY_AGGREGATES)
        return status_fail(p->arena, TOO_LARGE, "the query has more than %d aggregates, the limit",
                           LIMIT_QUERY_AGGREGATES);
    level->aggregates[level->aggregate_count] = (struct query_aggregate){ .kind = kind,
                                                                          .of = args.items[0] };
    return expression_aggregate(p->arena, (uint32_t)level->aggregate_count++, out);
}

/* call = name '(' list ')' ; behind the '(' */
static status parse_call(struct sql_parser *p, const struct sql_token *name,
                         const struct expression **out)
{
    struct sql_list args = { 0 };
    enum aggregate_kind kind;
    enum function function;

    if (sql_find_aggregate(name->text, &kind))
        return parse_aggregate(p, name, kind, out);
    bool is_known = sql_find_function(name->text, &function);
    if (!is_known)
        sql_mistake(p, "SC2005", name, "'%.*s' is not a recognized built-in function name.",
                    (int)name->text.len, (const char *)name->text.data);
    TRY(sql_arguments(p, ')', &args));
    if (is_known && !p->is_ranking &&
        (function == FUNCTION_words_score || function == FUNCTION_fuse))
        sql_mistake(p, "SC2240", name, "The %.*s function may only be used in ORDER BY RANK.",
                    (int)name->text.len, (const char *)name->text.data);
    if (!is_known || !has_right_count(p, name, args.count, function_arity(function)))
        return nothing(p, out);
    return sql_call(p, function, &args, out);
}

status sql_note_use(struct sql_parser *p, const struct sql_token *where,
                    const struct expression *variable)
{
    if (p->use_count == p->use_room) {
        size_t room = p->use_room ? p->use_room * 2 : 16;
        struct sql_use *uses;
        TRY(ARENA_NEW(p->arena, room, &uses));
        if (p->use_count)
            memcpy(uses, p->uses, p->use_count * sizeof(*uses));
        p->uses = uses;
        p->use_room = room;
    }
    p->uses[p->use_count++] = (struct sql_use){ variable, where->start, where->end };
    return STATUS_OK;
}

/* At SELECT, behind the bracket. */
static status parse_subquery(struct sql_parser *p, enum subquery_kind kind,
                             const struct expression **out)
{
    const struct query *query;

    TRY(sql_subquery(p, false, &query));
    return expression_subquery(p->arena, kind, query, out);
}

/* Names that are no words of the language, but mean something in front of a subquery. */
static bool find_subquery_kind(bytes name, enum subquery_kind *out)
{
    static const struct {
        const char *name;
        enum subquery_kind kind;
    } rows[] = {
        {"ALL",    SUBQUERY_ALL  },
        { "FIRST", SUBQUERY_FIRST},
        { "LAST",  SUBQUERY_LAST },
    };

    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        *out = rows[i].kind;
        if (sql_is_word(name, rows[i].name))
            return true;
    }
    return false;
}

/* Numbers that have a name because they cannot be written. */
static bool find_constant(bytes name, double *out)
{
    *out = bytes_equal(name, BYTES_LITERAL("NaN")) ? NAN : INFINITY;
    return isnan(*out) || bytes_equal(name, BYTES_LITERAL("Infinity"));
}

static status parse_name(struct sql_parser *p, const struct expression **out)
{
    struct sql_token name = p->token;
    enum subquery_kind kind;
    double number;
    bool is_call;

    TRY(sql_advance(p));
    TRY(sql_take_symbol(p, '(', &is_call));
    if (is_call && p->token.kind == TOKEN_SELECT && find_subquery_kind(name.text, &kind))
        return parse_subquery(p, kind, out);
    if (is_call)
        return parse_call(p, &name, out);
    const struct expression *value = sql_find_name(p, name.text);
    if (!value && find_constant(name.text, &number)) {
        struct value constant;
        TRY(value_of_double(p->arena, number, &constant));
        return expression_literal(p->arena, constant, out);
    }
    if (!value) {
        sql_mistake(p, "SC2001", &name, "Identifier '%.*s' could not be resolved.",
                    (int)name.text.len, (const char *)name.text.data);
        return nothing(p, out);
    }
    /* A node of its own, so that errors can say where it stands. */
    if (value->kind == EXPRESSION_VARIABLE) {
        TRY(expression_variable(p->arena, value->number, &value));
        TRY(sql_note_use(p, &name, value));
    }
    *out = value;
    p->named = value;
    p->named_as = name.text;
    return STATUS_OK;
}

static status parse_bracketed(struct sql_parser *p, const struct expression **out)
{
    TRY(sql_expect_symbol(p, '('));
    if (p->token.kind == TOKEN_SELECT)
        return parse_subquery(p, SUBQUERY_VALUE, out);
    TRY(sql_expression(p, out));
    return sql_expect_symbol(p, ')');
}

/* EXISTS '(' subquery | ARRAY '(' subquery */
static status parse_collected(struct sql_parser *p, enum subquery_kind kind,
                              const struct expression **out)
{
    TRY(sql_advance(p));
    TRY(sql_expect_symbol(p, '('));
    return parse_subquery(p, kind, out);
}

/* UDF '.' name ; JavaScript is not run here */
static status refuse_user_function(struct sql_parser *p)
{
    size_t start = p->token.start;
    bool has_dot;

    TRY(sql_advance(p));
    TRY(sql_take_symbol(p, '.', &has_dot));
    if (!has_dot || !sql_is_name(&p->token, true))
        return sql_fail_here(p);
    return status_fail(p->arena, UNSUPPORTED,
                       "The query calls '%.*s' at %zu, but user-defined functions are not "
                       "supported: the server runs no JavaScript. Use built-in functions, or "
                       "compute it in the client.",
                       (int)(p->token.end - start), (const char *)p->lexer.text.data + start,
                       start);
}

/* operand = literal | parameter | name | call | object | array | '(' expression ')' | '(' subquery |
 *           ( EXISTS | ARRAY | FIRST | LAST | ALL ) '(' subquery */
status sql_operand(struct sql_parser *p, const struct expression **out)
{
    switch ((int)p->token.kind) {
    case TOKEN_NUMBER:
    case TOKEN_STRING:
    case TOKEN_PARAMETER:
    case TOKEN_NULL:
    case TOKEN_TRUE:
    case TOKEN_FALSE:
    case TOKEN_UNDEFINED:
        return parse_literal(p, out);
    case TOKEN_NAME:
        return parse_name(p, out);
    case TOKEN_EXISTS:
        return parse_collected(p, SUBQUERY_EXISTS, out);
    case TOKEN_ARRAY:
        return parse_collected(p, SUBQUERY_ARRAY, out);
    case TOKEN_UDF:
        return refuse_user_function(p);
    case TOKEN_SYMBOL:
        if (p->token.symbol == '(')
            return parse_bracketed(p, out);
        if (p->token.symbol == '{')
            return parse_object(p, out);
        if (p->token.symbol == '[')
            return parse_array(p, out);
        break;
    default:
        break;
    }
    return sql_fail_here(p);
}
