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
    .is_field_order_free = true,
};

/* How strongly operators bind, weakest first. These are the levels of the service's own grammar, which differ
 * from those of other languages: NOT binds as a sign does, bits as sums do, shifts as comparisons do. */
enum binding {
    BINDS_CHOICE = 1, /* a ? b : c */
    BINDS_COALESCE,   /* ?? */
    BINDS_OR,
    BINDS_AND,
    BINDS_MEMBERSHIP, /* IN, BETWEEN, LIKE */
    BINDS_COMPARISON, /* = != <> < <= > >= << >> >>> */
    BINDS_CONCAT,     /* || */
    BINDS_SUM,        /* + - & ^ | */
    BINDS_PRODUCT,    /* * / % */
    BINDS_SIGN,       /* - + ~ NOT in front */
};

/* A table reads better in columns. */
/* clang-format off */
static const struct operator_row {
    enum sql_token_kind kind;
    unsigned symbol;
    enum binding binding;
    enum function function;
} operators[] = {
    { TOKEN_SYMBOL,  '?',                    BINDS_CHOICE,     FUNCTION_choose },
    { TOKEN_SYMBOL,  SYMBOL2('?', '?'),      BINDS_COALESCE,   FUNCTION_coalesce },
    { TOKEN_OR,      0,                      BINDS_OR,         FUNCTION_or },
    { TOKEN_AND,     0,                      BINDS_AND,        FUNCTION_and },
    { TOKEN_IN,      0,                      BINDS_MEMBERSHIP, FUNCTION_in },
    { TOKEN_BETWEEN, 0,                      BINDS_MEMBERSHIP, FUNCTION_between },
    { TOKEN_LIKE,    0,                      BINDS_MEMBERSHIP, FUNCTION_like },
    { TOKEN_NOT,     0,                      BINDS_MEMBERSHIP, FUNCTION_not },
    { TOKEN_SYMBOL,  '|',                    BINDS_SUM,        FUNCTION_bit_or },
    { TOKEN_SYMBOL,  '^',                    BINDS_SUM,        FUNCTION_bit_xor },
    { TOKEN_SYMBOL,  '&',                    BINDS_SUM,        FUNCTION_bit_and },
    { TOKEN_SYMBOL,  '=',                    BINDS_COMPARISON, FUNCTION_equal },
    { TOKEN_SYMBOL,  SYMBOL2('!', '='),      BINDS_COMPARISON, FUNCTION_not_equal },
    { TOKEN_SYMBOL,  SYMBOL2('<', '>'),      BINDS_COMPARISON, FUNCTION_not_equal },
    { TOKEN_SYMBOL,  '<',                    BINDS_COMPARISON, FUNCTION_less },
    { TOKEN_SYMBOL,  SYMBOL2('<', '='),      BINDS_COMPARISON, FUNCTION_less_equal },
    { TOKEN_SYMBOL,  '>',                    BINDS_COMPARISON, FUNCTION_greater },
    { TOKEN_SYMBOL,  SYMBOL2('>', '='),      BINDS_COMPARISON, FUNCTION_greater_equal },
    { TOKEN_SYMBOL,  SYMBOL2('<', '<'),      BINDS_COMPARISON, FUNCTION_bit_shift_left },
    { TOKEN_SYMBOL,  SYMBOL2('>', '>'),      BINDS_COMPARISON, FUNCTION_bit_shift_right },
    { TOKEN_SYMBOL,  SYMBOL3('>', '>', '>'), BINDS_COMPARISON, FUNCTION_bit_shift_right_zero },
    { TOKEN_SYMBOL,  '+',                    BINDS_SUM,        FUNCTION_add },
    { TOKEN_SYMBOL,  '-',                    BINDS_SUM,        FUNCTION_subtract },
    { TOKEN_SYMBOL,  SYMBOL2('|', '|'),      BINDS_CONCAT,     FUNCTION_concat },
    { TOKEN_SYMBOL,  '*',                    BINDS_PRODUCT,    FUNCTION_multiply },
    { TOKEN_SYMBOL,  '/',                    BINDS_PRODUCT,    FUNCTION_divide },
    { TOKEN_SYMBOL,  '%',                    BINDS_PRODUCT,    FUNCTION_modulo },
};
/* clang-format on */

static status parse_binding(struct sql_parser *p, enum binding least,
                            const struct expression **out);

/* ---- building --------------------------------------------------------------------------------------- */

/* Functions whose result is one of their arguments as it is. */
static bool passes_on(enum function function)
{
    return function == FUNCTION_choose || function == FUNCTION_pick ||
           function == FUNCTION_coalesce;
}

status sql_call(struct sql_parser *p, enum function function, const struct sql_list *args,
                const struct expression **out)
{
    for (size_t i = 0; passes_on(function) && i < args->count; i++)
        TRY(sql_finite(p, &args->items[i]));
    TRY(expression_call(p->arena, function, args->items, args->count, out));
    return expression_fold(p->arena, &sql_rules, *out, out);
}

static status call_two(struct sql_parser *p, enum function function, const struct expression *a,
                       const struct expression *b, const struct expression **out)
{
    const struct expression *args[] = { a, b };

    if (passes_on(function)) {
        TRY(sql_finite(p, &args[0]));
        TRY(sql_finite(p, &args[1]));
    }
    TRY(expression_call(p->arena, function, args, 2, out));
    return expression_fold(p->arena, &sql_rules, *out, out);
}

static status call_not(struct sql_parser *p, const struct expression **x)
{
    TRY(expression_call(p->arena, FUNCTION_not, x, 1, x));
    return expression_fold(p->arena, &sql_rules, *x, x);
}

/* ---- behind an operand: .name [expression] ---------------------------------------------------------- */

/* A member has the name of its own last part. */
static status name_member(struct sql_parser *p, bytes name, const struct expression **x)
{
    TRY(sql_member(p, *x, name, x));
    p->named = *x;
    p->named_as = name;
    return STATUS_OK;
}

static status parse_dot(struct sql_parser *p, const struct expression **x)
{
    struct sql_token name = p->token;

    if (name.kind == TOKEN_END || name.kind == TOKEN_NUMBER || name.kind == TOKEN_STRING ||
        name.kind == TOKEN_SYMBOL || name.kind == TOKEN_PARAMETER)
        return sql_fail_here(p);
    TRY(sql_advance(p));
    return name_member(p, name.text, x);
}

static status parse_index(struct sql_parser *p, const struct expression **x)
{
    const struct expression *which;

    TRY(sql_expression(p, &which));
    TRY(sql_expect_symbol(p, ']'));
    if (which->kind == EXPRESSION_LITERAL && which->literal.type == VALUE_STRING) {
        return name_member(p, value_text(which->literal), x);
    }
    return call_two(p, FUNCTION_element, *x, which, x);
}

/* An error about the variable that a path begins with shows the whole path; so does one about the variable
 * within what is computed instead. */
static status note_path(struct sql_parser *p, const struct expression *begin,
                        const struct expression *path)
{
    const struct expression *variable = p->properties ? expression_find_variable(path, 0, 1)
                                                      : begin;
    size_t i = p->use_count;

    while (i > 0 && p->uses[i - 1].variable != begin)
        i--;
    if (i == 0)
        return STATUS_OK;
    p->uses[i - 1].end = p->taken_end;
    struct sql_token whole = { .start = p->uses[i - 1].start, .end = p->taken_end };
    return variable && variable != begin ? sql_note_use(p, &whole, variable) : STATUS_OK;
}

static status parse_postfix(struct sql_parser *p, const struct expression **x)
{
    const struct expression *begin = *x;

    for (;;) {
        bool is_dot, is_index;
        TRY(sql_take_symbol(p, '.', &is_dot));
        if (is_dot) {
            TRY(parse_dot(p, x));
            continue;
        }
        TRY(sql_take_symbol(p, '[', &is_index));
        if (!is_index)
            break;
        TRY(parse_index(p, x));
    }
    return *x != begin && begin->kind == EXPRESSION_VARIABLE ? note_path(p, begin, *x) : STATUS_OK;
}

/* What the sign in front means, if it is one. */
static bool find_sign(const struct sql_parser *p, enum function *out)
{
    static const struct {
        unsigned symbol;
        enum function function;
    } signs[] = {
        {'-',  FUNCTION_negate },
        { '+', FUNCTION_plus   },
        { '~', FUNCTION_bit_not},
    };

    for (size_t i = 0; i < ARRAY_COUNT(signs); i++) {
        *out = signs[i].function;
        if (sql_at_symbol(p, signs[i].symbol))
            return true;
    }
    *out = FUNCTION_not;
    return p->token.kind == TOKEN_NOT;
}

/* prefix = ( '-' | '+' | '~' | NOT ) prefix | operand { '.' name | '[' expression ']' } */
static status parse_prefix(struct sql_parser *p, const struct expression **out)
{
    enum function function;

    if (find_sign(p, &function)) {
        TRY(sql_advance(p));
        TRY(parse_binding(p, BINDS_SIGN, out));
        TRY(expression_call(p->arena, function, out, 1, out));
        return expression_fold(p->arena, &sql_rules, *out, out);
    }
    TRY(sql_operand(p, out));
    return parse_postfix(p, out);
}

/* ---- behind a left side ----------------------------------------------------------------------------- */

/* IN '(' list ')' */
static status parse_in(struct sql_parser *p, const struct expression **x)
{
    struct sql_list args = { 0 };

    TRY(sql_expect_symbol(p, '('));
    if (sql_at_symbol(p, ')'))
        return sql_fail_here(p);
    TRY(sql_list_add(p, &args, BYTES_NONE, *x));
    TRY(sql_arguments(p, ')', &args));
    return sql_call(p, FUNCTION_in, &args, x);
}

/* BETWEEN low AND high */
static status parse_between(struct sql_parser *p, const struct expression **x)
{
    struct sql_list args = { 0 };
    const struct expression *low, *high;

    TRY(parse_binding(p, BINDS_MEMBERSHIP + 1, &low));
    TRY(sql_expect_word(p, TOKEN_AND));
    TRY(parse_binding(p, BINDS_MEMBERSHIP + 1, &high));
    TRY(sql_list_add(p, &args, BYTES_NONE, *x));
    TRY(sql_list_add(p, &args, BYTES_NONE, low));
    TRY(sql_list_add(p, &args, BYTES_NONE, high));
    return sql_call(p, FUNCTION_between, &args, x);
}

/* LIKE pattern [ ESCAPE character ] */
static status parse_like(struct sql_parser *p, const struct expression **x)
{
    struct sql_list args = { 0 };
    const struct expression *pattern, *escape;
    bool has_escape;

    TRY(parse_binding(p, BINDS_MEMBERSHIP + 1, &pattern));
    TRY(sql_list_add(p, &args, BYTES_NONE, *x));
    TRY(sql_list_add(p, &args, BYTES_NONE, pattern));
    TRY(sql_take_word(p, TOKEN_ESCAPE, &has_escape));
    if (has_escape) {
        TRY(parse_binding(p, BINDS_MEMBERSHIP + 1, &escape));
        TRY(sql_list_add(p, &args, BYTES_NONE, escape));
    }
    return sql_call(p, FUNCTION_like, &args, x);
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
    return sql_call(p, FUNCTION_choose, &args, x);
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
    return sql_call(p, operator->function, &args, x);
}

static status parse_right(struct sql_parser *p, const struct operator_row *operator,
                          const struct sql_token * token, const struct expression **x)
{
    const struct expression *right;

    TRY(parse_binding(p, operator->binding + 1, &right));
    bool is_division = operator->function == FUNCTION_divide || operator->function ==
                       FUNCTION_modulo;
    /* A fraction that is 0 is divided by like one that comes from an item. */
    if (is_division && right->kind == EXPRESSION_LITERAL && value_is_number(right->literal) &&
        right->literal.type != VALUE_DOUBLE && value_as_double(right->literal) == 0)
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
