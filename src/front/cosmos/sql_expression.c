/* SQL expressions: a Pratt parser with one table of priorities.
 *
 * An operand, then operators as long as they bind at least as strongly as asked; the right side of an
 * operator is parsed with its own strength. AND, OR and || over many operands become one node, so that
 * long lists do not nest. Constant parts are folded as they are built.
 *
 * Keeps: nesting is bounded by LIMIT_QUERY_DEPTH, in the text and in the tree. Pure apart from the arena.
 * Start reading at sql_expression(). */
#include "front/cosmos/sql_parser.h"

const struct query_rules sql_rules = {
    .kind_order = {[KIND_MISSING] = 0,
                   [KIND_NULL] = 1,
                   [KIND_BOOL] = 2,
                   [KIND_NUMBER] = 3,
                   [KIND_STRING] = 4,
                   [KIND_ARRAY] = 5,
                   [KIND_DOCUMENT] = 6,
                   [KIND_OTHER] = 7},
    .is_missing_element_null = false,
};

/* How strongly operators bind, weakest first. */
enum binding {
    BINDS_CHOICE = 1, /* a ? b : c */
    BINDS_COALESCE,   /* ?? */
    BINDS_OR,
    BINDS_AND,
    BINDS_NOT,
    BINDS_COMPARISON, /* = != < ..., IN, BETWEEN, LIKE */
    BINDS_SUM,        /* + - || */
    BINDS_PRODUCT,    /* * / % */
    BINDS_SIGN,       /* - + in front */
};

static const struct operator_row {
    enum sql_token_kind kind;
    unsigned symbol;
    enum binding binding;
    enum function function;
} operators[] = {
    {TOKEN_SYMBOL,        '?',              BINDS_CHOICE,              FUNCTION_choose          },
    { TOKEN_SYMBOL,       SYMBOL2('?',      '?'),                      BINDS_COALESCE,            FUNCTION_coalesce },
    { TOKEN_OR,                  0,                          BINDS_OR,                                 FUNCTION_or                        },
    { TOKEN_AND,                  0,                         BINDS_AND,                                FUNCTION_and},
    { TOKEN_SYMBOL,                  '=',                      BINDS_COMPARISON,                           FUNCTION_equal               },
    { TOKEN_SYMBOL,                  SYMBOL2('!',                      '='),                   BINDS_COMPARISON,     FUNCTION_not_equal },
    { TOKEN_SYMBOL, SYMBOL2('<',                '>'),                             BINDS_COMPARISON,                                       FUNCTION_not_equal },
    { TOKEN_SYMBOL,   '<', BINDS_COMPARISON,FUNCTION_less},
    { TOKEN_SYMBOL,   SYMBOL2('<',      '='),                                  BINDS_COMPARISON,                                                                             FUNCTION_less_equal },
    { TOKEN_SYMBOL,               '>',          BINDS_COMPARISON,FUNCTION_greater},
    { TOKEN_SYMBOL,  SYMBOL2('>','='),                    BINDS_COMPARISON,                                                                                                                   FUNCTION_greater_equal },
    { TOKEN_IN,       0,                           BINDS_COMPARISON,                 FUNCTION_in},
    { TOKEN_BETWEEN,           0,                    BINDS_COMPARISON,   FUNCTION_between},
    { TOKEN_LIKE,      0,           BINDS_COMPARISON, FUNCTION_like       },
    { TOKEN_NOT,         0,                   BINDS_COMPARISON,                  FUNCTION_not                             },
    { TOKEN_SYMBOL,          '+',                 BINDS_SUM,        FUNCTION_add   },
    { TOKEN_SYMBOL,       '-',           BINDS_SUM,           FUNCTION_subtract                },
    { TOKEN_SYMBOL,       SYMBOL2('|',              '|'),                    BINDS_SUM,                  FUNCTION_concat },
    { TOKEN_SYMBOL,       '*',      BINDS_PRODUCT,              FUNCTION_multiply          },
    { TOKEN_SYMBOL,                  '/',                      BINDS_PRODUCT,                                      FUNCTION_divide                                            },
    { TOKEN_SYMBOL,                  '%',                      BINDS_PRODUCT,                           FUNCTION_modulo        },
};

static status parse_binding(struct sql_parser *p, enum binding least,
                            const struct expression **out);

/* ---- building --------------------------------------------------------------------------------------- */

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

static status call(struct sql_parser *p, enum function function, const struct sql_list *args,
                   const struct expression **out)
{
    TRY(expression_call(p->arena, function, args->items, args->count, out));
    return expression_fold(p->arena, &sql_rules, *out, out);
}

static status call_two(struct sql_parser *p, enum function function, const struct expression *a,
                       const struct expression *b, const struct expression **out)
{
    const struct expression *args[] = { a, b };

    TRY(expression_call(p->arena, function, args, 2, out));
    return expression_fold(p->arena, &sql_rules, *out, out);
}

static status call_not(struct sql_parser *p, const struct expression **x)
{
    TRY(expression_call(p->arena, FUNCTION_not, x, 1, x));
    return expression_fold(p->arena, &sql_rules, *x, x);
}

/* ---- operands --------------------------------------------------------------------------------------- */

/* list = [ expression { ',' expression } ] `end` */
static status parse_list(struct sql_parser *p, unsigned end, struct sql_list *out)
{
    bool is_done, has_comma = true;

    TRY(sql_take_symbol(p, end, &is_done));
    while (!is_done) {
        const struct expression *item;
        TRY(sql_expression(p, &item));
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
    TRY(parse_list(p, ']', &items));
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

static bool find_aggregate(bytes name, enum aggregate_kind *out)
{
    static const struct {
        const char *name;
        enum aggregate_kind kind;
    } rows[] = {
        {"AVG",    AGGREGATE_AVERAGE},
        { "COUNT", AGGREGATE_COUNT  },
        { "MAX",   AGGREGATE_MAX    },
        { "MIN",   AGGREGATE_MIN    },
        { "SUM",   AGGREGATE_SUM    },
    };

    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        if (sql_is_word(name, rows[i].name)) {
            *out = rows[i].kind;
            return true;
        }
    }
    return false;
}

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

    bool is_inside = p->is_in_aggregate;
    if (!p->is_aggregate_allowed || is_inside)
        sql_mistake(p, "SC2104", name,
                    "The aggregate function %.*s may only be used in the SELECT clause, and not "
                    "within another aggregate function.",
                    (int)name->text.len, (const char *)name->text.data);
    p->is_in_aggregate = true;
    TRY(parse_list(p, ')', &args));
    p->is_in_aggregate = is_inside;
    if (!has_right_count(p, name, args.count, (struct function_arity){ 1, 1 }))
        return nothing(p, out);
    if (!p->aggregates)
        TRY(ARENA_NEW(p->arena, LIMIT_QUERY_AGGREGATES, &p->aggregates));
    if (p->aggregate_count == LIMIT_QUERY_AGGREGATES)
        return status_fail(p->arena, TOO_LARGE, "the query has more than %d aggregates, the limit",
                           LIMIT_QUERY_AGGREGATES);
    p->aggregates[p->aggregate_count] = (struct query_aggregate){ .kind = kind,
                                                                  .of = args.items[0] };
    return expression_aggregate(p->arena, (uint32_t)p->aggregate_count++, out);
}

/* call = name '(' list ')' ; behind the '(' */
static status parse_call(struct sql_parser *p, const struct sql_token *name,
                         const struct expression **out)
{
    struct sql_list args = { 0 };
    enum aggregate_kind kind;
    enum function function;

    if (find_aggregate(name->text, &kind))
        return parse_aggregate(p, name, kind, out);
    bool is_known = sql_find_function(name->text, &function);
    if (!is_known)
        sql_mistake(p, "SC2005", name, "'%.*s' is not a recognized built-in function name.",
                    (int)name->text.len, (const char *)name->text.data);
    TRY(parse_list(p, ')', &args));
    if (!is_known || !has_right_count(p, name, args.count, function_arity(function)))
        return nothing(p, out);
    return call(p, function, &args, out);
}

static status parse_name(struct sql_parser *p, const struct expression **out)
{
    struct sql_token name = p->token;
    bool is_call;

    TRY(sql_advance(p));
    TRY(sql_take_symbol(p, '(', &is_call));
    if (is_call)
        return parse_call(p, &name, out);
    if (!p->has_source || !bytes_equal(name.text, p->alias))
        sql_mistake(p, "SC2001", &name, "Identifier '%.*s' could not be resolved.",
                    (int)name.text.len, (const char *)name.text.data);
    if (!p->is_in_aggregate && !p->has_bare_use) {
        p->has_bare_use = true;
        p->bare_use = name;
    }
    return expression_variable(p->arena, 0, out);
}

static status parse_bracketed(struct sql_parser *p, const struct expression **out)
{
    TRY(sql_expect_symbol(p, '('));
    if (p->token.kind == TOKEN_SELECT)
        return sql_not_yet(p, "a subquery");
    TRY(sql_expression(p, out));
    return sql_expect_symbol(p, ')');
}

/* operand = literal | parameter | name | call | object | array | '(' expression ')' */
static status parse_operand(struct sql_parser *p, const struct expression **out)
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
    case TOKEN_ARRAY:
        return sql_not_yet(p, "a subquery");
    case TOKEN_UDF:
        return sql_not_yet(p, "a user defined function");
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

/* ---- behind an operand: .name [expression] ---------------------------------------------------------- */

static status parse_dot(struct sql_parser *p, const struct expression **x)
{
    struct sql_token name = p->token;

    if (name.kind == TOKEN_END || name.kind == TOKEN_NUMBER || name.kind == TOKEN_STRING ||
        name.kind == TOKEN_SYMBOL || name.kind == TOKEN_PARAMETER)
        return sql_fail_here(p);
    TRY(sql_advance(p));
    return expression_member(p->arena, *x, name.text, x);
}

static status parse_index(struct sql_parser *p, const struct expression **x)
{
    const struct expression *which;

    TRY(sql_expression(p, &which));
    TRY(sql_expect_symbol(p, ']'));
    if (which->kind == EXPRESSION_LITERAL && which->literal.type == VALUE_STRING)
        return expression_member(p->arena, *x, value_text(which->literal), x);
    return call_two(p, FUNCTION_element, *x, which, x);
}

static status parse_postfix(struct sql_parser *p, const struct expression **x)
{
    for (;;) {
        bool is_dot, is_index;
        TRY(sql_take_symbol(p, '.', &is_dot));
        if (is_dot) {
            TRY(parse_dot(p, x));
            continue;
        }
        TRY(sql_take_symbol(p, '[', &is_index));
        if (!is_index)
            return STATUS_OK;
        TRY(parse_index(p, x));
    }
}

/* prefix = ( '-' | '+' | NOT ) prefix | operand { '.' name | '[' expression ']' } */
static status parse_prefix(struct sql_parser *p, const struct expression **out)
{
    bool is_minus = sql_at_symbol(p, '-'), is_plus = sql_at_symbol(p, '+');
    bool is_not = p->token.kind == TOKEN_NOT;
    enum function function = is_not ? FUNCTION_not : is_minus ? FUNCTION_negate : FUNCTION_plus;

    if (is_minus || is_plus || is_not) {
        TRY(sql_advance(p));
        TRY(parse_binding(p, is_not ? BINDS_NOT : BINDS_SIGN, out));
        TRY(expression_call(p->arena, function, out, 1, out));
        return expression_fold(p->arena, &sql_rules, *out, out);
    }
    TRY(parse_operand(p, out));
    return parse_postfix(p, out);
}

/* ---- behind a left side ----------------------------------------------------------------------------- */

/* IN '(' list ')' */
static status parse_in(struct sql_parser *p, const struct expression **x)
{
    struct sql_list args = { 0 };

    TRY(sql_expect_symbol(p, '('));
    TRY(sql_list_add(p, &args, BYTES_NONE, *x));
    if (p->token.kind == TOKEN_SELECT)
        return sql_not_yet(p, "a subquery");
    TRY(parse_list(p, ')', &args));
    if (args.count < 2)
        return sql_fail_here(p);
    return call(p, FUNCTION_in, &args, x);
}

/* BETWEEN low AND high */
static status parse_between(struct sql_parser *p, const struct expression **x)
{
    struct sql_list args = { 0 };
    const struct expression *low, *high;

    TRY(parse_binding(p, BINDS_SUM, &low));
    TRY(sql_expect_word(p, TOKEN_AND));
    TRY(parse_binding(p, BINDS_SUM, &high));
    TRY(sql_list_add(p, &args, BYTES_NONE, *x));
    TRY(sql_list_add(p, &args, BYTES_NONE, low));
    TRY(sql_list_add(p, &args, BYTES_NONE, high));
    return call(p, FUNCTION_between, &args, x);
}

/* LIKE pattern [ ESCAPE character ] */
static status parse_like(struct sql_parser *p, const struct expression **x)
{
    struct sql_list args = { 0 };
    const struct expression *pattern, *escape;
    bool has_escape;

    TRY(parse_binding(p, BINDS_SUM, &pattern));
    TRY(sql_list_add(p, &args, BYTES_NONE, *x));
    TRY(sql_list_add(p, &args, BYTES_NONE, pattern));
    TRY(sql_take_word(p, TOKEN_ESCAPE, &has_escape));
    if (has_escape) {
        TRY(parse_binding(p, BINDS_SUM, &escape));
        TRY(sql_list_add(p, &args, BYTES_NONE, escape));
    }
    return call(p, FUNCTION_like, &args, x);
}

/* Behind the left side and NOT: IN, BETWEEN, LIKE. */
static status parse_not(struct sql_parser *p, const struct expression **x)
{
    bool is_in, is_between, is_like;

    TRY(sql_take_word(p, TOKEN_IN, &is_in));
    TRY(sql_take_word(p, TOKEN_BETWEEN, &is_between));
    TRY(sql_take_word(p, TOKEN_LIKE, &is_like));
    if (is_in)
        TRY(parse_in(p, x));
    else if (is_between)
        TRY(parse_between(p, x));
    else if (is_like)
        TRY(parse_like(p, x));
    else
        return sql_fail_here(p);
    return call_not(p, x);
}

/* condition '?' expression ':' expression, the last one again with a choice if there is one */
static status parse_choice(struct sql_parser *p, const struct expression **x)
{
    struct sql_list args = { 0 };
    const struct expression *yes, *no;

    TRY(sql_expression(p, &yes));
    TRY(sql_expect_symbol(p, ':'));
    TRY(parse_binding(p, BINDS_CHOICE, &no));
    TRY(sql_list_add(p, &args, BYTES_NONE, *x));
    TRY(sql_list_add(p, &args, BYTES_NONE, yes));
    TRY(sql_list_add(p, &args, BYTES_NONE, no));
    return call(p, FUNCTION_choose, &args, x);
}

/* All operands of a row of equal operators in one node: a AND b AND c. */
static status parse_row(struct sql_parser *p, const struct operator_row *operator,
                        const struct expression ** x)
{
    struct sql_list args = { 0 };
    bool has_more = true;

    TRY(sql_list_add(p, &args, BYTES_NONE, *x));
    while (has_more) {
        const struct expression *right;
        TRY(parse_binding(p, operator->binding + 1, &right));
        TRY(sql_list_add(p, &args, BYTES_NONE, right));
        if (operator->kind == TOKEN_SYMBOL)
            TRY(sql_take_symbol(p, operator->symbol, &has_more));
        else
            TRY(sql_take_word(p, operator->kind, &has_more));
    }
    return call(p, operator->function, &args, x);
}

static status parse_right(struct sql_parser *p, const struct operator_row *operator,
                          const struct sql_token * token, const struct expression **x)
{
    const struct expression *right;

    TRY(parse_binding(p, operator->binding + 1, &right));
    bool is_division = operator->function == FUNCTION_divide || operator->function ==
                       FUNCTION_modulo;
    if (is_division && right->kind == EXPRESSION_LITERAL && value_is_number(right->literal) &&
        value_as_double(right->literal) == 0)
        sql_mistake(p, "4001", token, "Division by zero.");
    return call_two(p, operator->function, *x, right, x);
}

static status parse_operator(struct sql_parser *p, const struct operator_row *operator,
                             const struct expression ** x)
{
    struct sql_token token = p->token;

    TRY(sql_advance(p));
    switch ((int)operator->function) {
    case FUNCTION_choose:
        return parse_choice(p, x);
    case FUNCTION_in:
        return parse_in(p, x);
    case FUNCTION_between:
        return parse_between(p, x);
    case FUNCTION_like:
        return parse_like(p, x);
    case FUNCTION_not:
        return parse_not(p, x);
    case FUNCTION_and:
    case FUNCTION_or:
    case FUNCTION_concat:
        return parse_row(p, operator, x);
    default:
        return parse_right(p, operator, & token, x);
    }
}

static const struct operator_row *operator_here(const struct sql_parser *p)
{
    for (size_t i = 0; i < ARRAY_COUNT(operators); i++) {
        if (operators[i].kind == p->token.kind && operators[i].symbol == p->token.symbol)
            return &operators[i];
    }
    return NULL;
}

/* prefix { operator right }, as far as operators bind at least as strongly as `least` */
static status parse_binding(struct sql_parser *p, enum binding least, const struct expression **out)
{
    const struct operator_row *operator;

    if (++p->depth > LIMIT_QUERY_DEPTH)
        return status_fail(p->arena, TOO_LARGE, "the query is nested more than %d deep, the limit",
                           LIMIT_QUERY_DEPTH);
    TRY(parse_prefix(p, out));
    while ((operator= operator_here(p)) != NULL && operator->binding >= least)
        TRY(parse_operator(p, operator, out));
    p->depth--;
    return STATUS_OK;
}

status sql_expression(struct sql_parser *p, const struct expression **out)
{
    return parse_binding(p, BINDS_CHOICE, out);
}
