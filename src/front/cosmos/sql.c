/* SQL: the clauses of a query, from text to tree.
 *
 * The columns come before FROM in the text but can only be understood with it, so FROM is read first: a
 * look ahead finds it, and the parser then goes back to the columns. Errors name the place and what stands
 * there, in the form that clients of this face know.
 *
 * Keeps: the tree is valid for the query room whatever the text was. Pure apart from the arena.
 * Start reading at sql_parse(). */
#include "front/cosmos/sql_parser.h"
#include "front/cosmos/sql_rewrite.h"

/* ---- tokens ----------------------------------------------------------------------------------------- */

status sql_advance(struct sql_parser *p)
{
    p->taken_end = p->token.end;
    return sql_lex(&p->lexer, &p->token);
}

bool sql_at_symbol(const struct sql_parser *p, unsigned symbol)
{
    return p->token.kind == TOKEN_SYMBOL && p->token.symbol == symbol;
}

status sql_take_symbol(struct sql_parser *p, unsigned symbol, bool *out)
{
    *out = sql_at_symbol(p, symbol);
    return *out ? sql_advance(p) : STATUS_OK;
}

status sql_take_word(struct sql_parser *p, enum sql_token_kind word, bool *out)
{
    *out = p->token.kind == word;
    return *out ? sql_advance(p) : STATUS_OK;
}

status sql_fail_here(struct sql_parser *p)
{
    const struct sql_token *t = &p->token;

    if (t->kind == TOKEN_END)
        return sql_fail(&p->lexer, "SC1002", t->start, t->end,
                        "Syntax error, unexpected end-of-file.");
    bytes shown = bytes_of(p->lexer.text.data + t->start, t->end - t->start);
    return sql_fail(&p->lexer, "SC1001", t->start, t->end,
                    "Syntax error, incorrect syntax near '%.*s'.",
                    (int)(shown.len < 80 ? shown.len : 80), (const char *)shown.data);
}

void sql_mistake(struct sql_parser *p, const char *code, const struct sql_token *at,
                 const char *format, ...)
{
    va_list args;

    va_start(args, format);
    const struct sql_error mistake = sql_error_at(&p->lexer, code, at->start, at->end, format,
                                                  args);
    va_end(args);
    /* One follows from another one at the same place, and some places are looked at twice. */
    for (size_t i = 0; i < p->mistake_count; i++) {
        if (p->mistakes[i].start == mistake.start)
            return;
    }
    if (p->mistake_count == SQL_MISTAKES_MAX)
        return;
    if (p->mistake_count > 0)
        p->mistakes[p->mistake_count - 1].next = &p->mistakes[p->mistake_count];
    p->mistakes[p->mistake_count++] = mistake;
}

status sql_expect_symbol(struct sql_parser *p, unsigned symbol)
{
    return sql_at_symbol(p, symbol) ? sql_advance(p) : sql_fail_here(p);
}

status sql_expect_word(struct sql_parser *p, enum sql_token_kind word)
{
    return p->token.kind == word ? sql_advance(p) : sql_fail_here(p);
}

/* ---- looking for FROM --------------------------------------------------------------------------- */

/* Stands on the FROM of this query, outside of all brackets; at its end if it has none. */
static status find_from(struct sql_parser *p)
{
    bool is_name = false; /* behind a dot or AS, it would be one */
    int depth = 0;

    while (p->token.kind != TOKEN_END && depth >= 0 &&
           !(p->token.kind == TOKEN_FROM && depth == 0 && !is_name)) {
        is_name = sql_at_symbol(p, '.') || p->token.kind == TOKEN_AS;
        if (sql_at_symbol(p, '(') || sql_at_symbol(p, '[') || sql_at_symbol(p, '{'))
            depth++;
        if (sql_at_symbol(p, ')') || sql_at_symbol(p, ']') || sql_at_symbol(p, '}'))
            depth--;
        TRY(sql_advance(p));
    }
    return STATUS_OK;
}

/* A place in the text that the parser can come back to. */
struct place {
    size_t at, taken_end;
    struct sql_token token;
};

static struct place place_of(const struct sql_parser *p)
{
    return (struct place){ p->lexer.at, p->taken_end, p->token };
}

static void go_to(struct sql_parser *p, const struct place *place)
{
    p->lexer.at = place->at;
    p->taken_end = place->taken_end;
    p->token = place->token;
}

/* Reads FROM and comes back; `behind_out` is the place right behind it. */
static status look_at_from(struct sql_parser *p, struct place *behind_out)
{
    struct place here = place_of(p);
    arena_position mark = arena_mark(p->arena);
    status s = find_from(p);
    bool is_there = p->token.kind == TOKEN_FROM;

    *behind_out = here;
    /* What is no token further on is said when it is reached. */
    if (s.code == INVALID)
        *p->lexer.error = (struct sql_error){ .code = "", .message = "" };
    else
        TRY(s);
    if (s.code == OK && is_there) {
        TRY(sql_from(p));
        *behind_out = place_of(p);
    } else {
        arena_release(p->arena, mark);
    }
    p->level.end_variable = p->variable_count;
    go_to(p, &here);
    return STATUS_OK;
}

/* ---- SELECT ----------------------------------------------------------------------------------------- */

/* A whole number of rows: a number or a parameter. */
static status parse_row_count(struct sql_parser *p, uint64_t *out)
{
    struct sql_token token = p->token;
    struct value value = token.number;
    size_t mistakes = p->mistake_count;
    int64_t count;

    *out = 0;
    if (token.kind != TOKEN_NUMBER && token.kind != TOKEN_PARAMETER)
        return sql_fail_here(p);
    if (token.kind == TOKEN_PARAMETER)
        TRY(sql_parameter(p, &token, &value));
    if (p->mistake_count > mistakes) /* there is no such parameter, which is told */
        return sql_advance(p);
    if (!value_as_int64(value, &count) || count < 0)
        return sql_fail(&p->lexer, "SC1011", token.start, token.end,
                        "The value '%.*s' is not a whole number of rows from 0 on.",
                        (int)token.text.len, (const char *)token.text.data);
    *out = (uint64_t)count;
    return sql_advance(p);
}

static status check_column(struct sql_parser *p, const struct sql_list *columns,
                           const struct sql_token *name)
{
    TRY(sql_check_name(p, name));
    for (size_t i = 0; i < columns->count; i++) {
        if (bytes_equal(columns->names[i], name->text))
            sql_mistake(p, "SC2022", name,
                        "The property name '%.*s' is used more than once in the SELECT clause.",
                        (int)name->text.len, (const char *)name->text.data);
    }
    return STATUS_OK;
}

/* column = expression [ [ AS ] name ] ; without a name of its own, $1, $2 ... */
static status parse_column(struct sql_parser *p, struct sql_list *columns, unsigned *unnamed)
{
    const struct expression *x;
    struct sql_token name = { .start = p->token.start };
    bool has_as;

    TRY(sql_expression(p, &x));
    name.end = p->taken_end;
    name.text = p->named == x ? p->named_as : BYTES_NONE;
    TRY(sql_finite(p, &x));
    TRY(sql_take_word(p, TOKEN_AS, &has_as));
    if (has_as && !sql_is_name(&p->token, true))
        return sql_fail_here(p);
    if (has_as || p->token.kind == TOKEN_NAME) {
        name = p->token;
        TRY(sql_advance(p));
    }
    if (name.text.len == 0) {
        const char *text = arena_format(p->arena, "$%u", ++*unnamed);
        if (!text)
            return arena_exhausted(p->arena);
        name.text = bytes_of_text(text);
    }
    TRY(check_column(p, columns, &name));
    return sql_list_add(p, columns, name.text, x);
}

static status parse_columns(struct sql_parser *p, const struct expression **out)
{
    struct sql_list columns = { 0 };
    unsigned unnamed = 0;
    bool has_comma = true;

    while (has_comma) {
        TRY(parse_column(p, &columns, &unnamed));
        TRY(sql_take_symbol(p, ',', &has_comma));
    }
    return expression_object(p->arena, columns.names, columns.items, columns.count, out);
}

static status give_star(struct sql_parser *p, const struct sql_token *star,
                        const struct expression **out)
{
    if (!p->level.has_source)
        sql_mistake(p, "SC2030", star, "'SELECT *' is not valid without a FROM clause.");
    if (p->level.source_count > 1)
        sql_mistake(p, "SC2040", star, "'SELECT *' is only valid with a single input set.");
    TRY(expression_variable(p->arena, p->level.first_source ? p->level.first_source->number : 0,
                            out));
    return sql_note_use(p, star, *out);
}

static bool is_subquery(const struct sql_parser *p)
{
    return p->subquery_depth > 0;
}

/* select = [ DISTINCT ] [ TOP n ] ( '*' | VALUE expression | column { ',' column } ) ; behind SELECT */
static status parse_select(struct sql_parser *p, struct query *query)
{
    struct sql_token star, top;
    bool is_star;

    TRY(sql_take_word(p, TOKEN_DISTINCT, &query->is_distinct));
    top = p->token;
    TRY(sql_take_word(p, TOKEN_TOP, &query->has_top));
    if (query->has_top)
        TRY(parse_row_count(p, &query->limit));
    top.end = p->taken_end;
    if (query->has_top && is_subquery(p))
        sql_mistake(p, "SC2203", &top, "'TOP' is not supported in subqueries.");
    star = p->token;
    TRY(sql_take_symbol(p, '*', &is_star));
    if (is_star)
        return give_star(p, &star, &query->output);
    TRY(sql_take_word(p, TOKEN_VALUE, &query->is_output_bare));
    p->level.is_aggregate_allowed = true;
    if (query->is_output_bare)
        TRY(sql_expression(p, &query->output));
    else
        TRY(parse_columns(p, &query->output));
    p->level.is_aggregate_allowed = false;
    return sql_finite(p, &query->output);
}

/* ---- GROUP BY --------------------------------------------------------------------------------------- */

/* groups = GROUP BY expression { ',' expression } ; at BY */
static status parse_groups(struct sql_parser *p, struct query *query)
{
    const struct expression **groups;
    bool has_comma = true;

    TRY(sql_expect_word(p, TOKEN_BY));
    TRY(ARENA_NEW(p->arena, LIMIT_QUERY_GROUPS, &groups));
    query->groups = groups;
    while (has_comma) {
        struct sql_token whole = { .start = p->token.start };
        if (query->group_count == LIMIT_QUERY_GROUPS)
            return status_fail(p->arena, TOO_LARGE, "GROUP BY has more than %d items, the limit",
                               LIMIT_QUERY_GROUPS);
        size_t subqueries = p->subquery_count;
        TRY(sql_expression(p, &groups[query->group_count++]));
        whole.end = p->taken_end;
        if (p->subquery_count > subqueries)
            sql_mistake(p, "SC2201", &whole, "Subqueries are not supported in 'GROUP BY'.");
        TRY(sql_take_symbol(p, ',', &has_comma));
    }
    return STATUS_OK;
}

/* Columns and orders of groups know nothing but what the rows of a group have in common. */
static status settle_groups(struct sql_parser *p, struct query *query)
{
    struct query_order *orders;

    query->aggregates = p->level.aggregates;
    query->aggregate_count = p->level.aggregate_count;
    TRY(expression_regroup(p->arena, query->output, query->groups, query->group_count,
                           &query->output));
    if (query->group_count || query->aggregate_count)
        sql_check_bare(p, "SC2102", "select list", query->output);
    /* One row needs no order. */
    if (!query->group_count && query->aggregate_count)
        query->order_count = 0;
    if (!query->group_count)
        return STATUS_OK;
    TRY(ARENA_NEW(p->arena, query->order_count, &orders));
    for (size_t i = 0; i < query->order_count; i++) {
        orders[i] = query->orders[i];
        TRY(expression_regroup(p->arena, orders[i].by, query->groups, query->group_count,
                               &orders[i].by));
        sql_check_bare(p, "SC2103", "ORDER BY clause", orders[i].by);
    }
    query->orders = orders;
    return STATUS_OK;
}

/* ---- ORDER BY, OFFSET ------------------------------------------------------------------------------- */

/* order = ORDER BY expression [ ASC | DESC ] { ',' expression [ ASC | DESC ] } */
static status parse_orders(struct sql_parser *p, struct query *query)
{
    struct query_order *orders;
    bool has_comma = true, is_ascending;

    TRY(sql_expect_word(p, TOKEN_BY));
    if (sql_at_rank(p))
        return sql_rank(p, query);
    TRY(ARENA_NEW(p->arena, LIMIT_QUERY_ORDERS, &orders));
    query->orders = orders;
    while (has_comma) {
        size_t start = p->token.start;
        if (query->order_count == LIMIT_QUERY_ORDERS)
            return status_fail(p->arena, TOO_LARGE, "ORDER BY has more than %d items, the limit",
                               LIMIT_QUERY_ORDERS);
        struct query_order *order = &orders[query->order_count++];
        TRY(sql_expression(p, &order->by));
        order->text = bytes_of(p->lexer.text.data + start, p->taken_end - start);
        TRY(sql_take_word(p, TOKEN_ASC, &is_ascending));
        if (!is_ascending)
            TRY(sql_take_word(p, TOKEN_DESC, &order->is_descending));
        TRY(sql_order_by_nearness(p, start, is_ascending || order->is_descending, query));
        TRY(sql_take_symbol(p, ',', &has_comma));
    }
    return STATUS_OK;
}

static status parse_offset(struct sql_parser *p, struct query *query, const struct sql_token *at)
{
    if (query->has_top)
        sql_mistake(p, "SC2062", at, "The TOP and OFFSET LIMIT clauses cannot be used together.");
    query->has_skip = true;
    TRY(parse_row_count(p, &query->skip));
    TRY(sql_expect_word(p, TOKEN_LIMIT));
    return parse_row_count(p, &query->limit);
}

/* Notes it if a clause that only whole queries have stands in a subquery. */
static void refuse_in_subquery(struct sql_parser *p, const char *code, const char *name,
                               const struct sql_token *clause)
{
    struct sql_token whole = { .start = clause->start, .end = p->taken_end };

    if (is_subquery(p))
        sql_mistake(p, code, &whole, "%s is not supported in subqueries.", name);
}

/* [ ORDER BY ... ] [ OFFSET n LIMIT n ] */
static status parse_order_and_offset(struct sql_parser *p, struct query *query)
{
    struct sql_token order = p->token, offset;
    bool has_order, has_offset;

    TRY(sql_take_word(p, TOKEN_ORDER, &has_order));
    p->level.is_aggregate_allowed = query->group_count > 0;
    if (has_order) {
        TRY(parse_orders(p, query));
        refuse_in_subquery(p, "SC2202", "'ORDER BY'", &order);
    }
    p->level.is_aggregate_allowed = false;
    offset = p->token;
    TRY(sql_take_word(p, TOKEN_OFFSET, &has_offset));
    if (has_offset) {
        TRY(parse_offset(p, query, &offset));
        refuse_in_subquery(p, "SC2204", "'OFFSET LIMIT' clause", &offset);
    }
    return STATUS_OK;
}

/* What a subquery over the container wants of a document, its rows want too: said for the whole query, it can be
 * looked up in an index. */
static status lift_condition(struct sql_parser *p, struct query *query)
{
    const struct query *rows = query->binding_count ? query->bindings[0].query : NULL;
    struct sql_list both = { 0 };

    if (!p->level.is_root || !rows || !rows->where ||
        expression_find_variable(rows->where, 1, UINT32_MAX))
        return STATUS_OK;
    if (!query->where) {
        query->where = rows->where;
        return STATUS_OK;
    }
    TRY(sql_list_add(p, &both, BYTES_NONE, rows->where));
    TRY(sql_list_add(p, &both, BYTES_NONE, query->where));
    return sql_call(p, FUNCTION_and, &both, &query->where);
}

/* tail = [ WHERE expression ] [ GROUP BY ... ] [ ORDER BY ... ] [ OFFSET n LIMIT n ] ( end | ')' ) */
static status parse_tail(struct sql_parser *p, struct query *query)
{
    bool has_where, has_group;

    TRY(sql_take_word(p, TOKEN_WHERE, &has_where));
    if (has_where)
        TRY(sql_expression(p, &query->where));
    TRY(sql_take_word(p, TOKEN_GROUP, &has_group));
    if (has_group)
        TRY(parse_groups(p, query));
    TRY(parse_order_and_offset(p, query));
    if (is_subquery(p))
        TRY(sql_expect_symbol(p, ')'));
    else if (p->token.kind != TOKEN_END)
        return sql_fail_here(p);
    TRY(settle_groups(p, query));
    query->has_source = p->level.has_source;
    query->inner = p->level.inner;
    query->bindings = p->level.bindings;
    query->binding_count = p->level.binding_count;
    query->is_nested = p->is_nested;
    return lift_condition(p, query);
}

/* ---- the whole -------------------------------------------------------------------------------------- */

/* query = select [ from ] tail */
static status parse_query(struct sql_parser *p, struct query *query)
{
    struct place behind;

    query->rules = &sql_rules;
    query->limit = QUERY_UNLIMITED;
    TRY(sql_expect_word(p, TOKEN_SELECT));
    TRY(look_at_from(p, &behind));
    TRY(parse_select(p, query));
    if (p->token.kind == TOKEN_FROM)
        go_to(p, &behind);
    return parse_tail(p, query);
}

status sql_subquery(struct sql_parser *p, bool is_root, const struct query **out)
{
    struct sql_level outside = p->level;
    size_t outside_names = p->name_count;
    struct query *query;

    *out = NULL;
    if (++p->subquery_count > LIMIT_QUERY_SUBQUERIES)
        return status_fail(p->arena, TOO_LARGE, "the query has more than %d subqueries, the limit",
                           LIMIT_QUERY_SUBQUERIES);
    p->level = (struct sql_level){ .is_root = is_root,
                                   .first_name = p->name_count,
                                   .first_variable = p->variable_count };
    p->is_nested = true;
    p->subquery_depth++;
    TRY(ARENA_NEW(p->arena, 1, &query));
    TRY(parse_query(p, query));
    p->subquery_depth--;
    p->level = outside;
    p->name_count = outside_names;
    *out = query;
    return STATUS_OK;
}

/* condition = from [ WHERE expression ] end ; with one source, the document */
static status parse_condition(struct sql_parser *p, struct query *query)
{
    query->rules = &sql_rules;
    query->limit = QUERY_UNLIMITED;
    TRY(sql_from(p));
    TRY(expression_variable(p->arena, 0, &query->output));
    TRY(parse_tail(p, query));
    if (query->order_count || query->has_skip || query->binding_count || query->group_count)
        return sql_fail(&p->lexer, "SC1001", 0, p->lexer.text.len,
                        "Syntax error, a condition is FROM with one name and WHERE alone.");
    return STATUS_OK;
}

static status check_parameters(struct arena *arena, bytes parameters)
{
    size_t count = parameters.len > 0 ? document_field_count(parameters) : 0;

    if (count > LIMIT_QUERY_PARAMETERS)
        return status_fail(arena, TOO_LARGE, "the query has %zu parameters, limit %d", count,
                           LIMIT_QUERY_PARAMETERS);
    return STATUS_OK;
}

/* What of the definitions makes a query what it is. */
static uint64_t hash_properties(const struct sql_properties *properties, uint64_t hash)
{
    for (size_t i = 0; properties && i < properties->count; i++)
        hash = bytes_hash(properties->items[i].text, bytes_hash(properties->items[i].name, hash));
    return hash;
}

/* What is parsed, beyond its text. */
struct setting {
    bytes parameters;
    const struct sql_properties *properties;
    status (*how)(struct sql_parser *, struct query *);
};

static bool is_named(const struct query *query, size_t number, const char *name)
{
    return bytes_equal(query->output->names[number], bytes_of_text(name));
}

/* Rows that clients put in order with those of other ranges, see sql_rewrite.c: they go on behind the last one that
 * they had by its _rid, whose order is that of births. So does the query, whatever condition they add to it. */
static status settle_ties(struct arena *arena, bytes text, struct query *query, uint64_t seed)
{
    bytes common;

    if (query->order_count == 0 || query->is_output_bare || query->rank ||
        query->output->kind != EXPRESSION_OBJECT || query->output->count != 3 ||
        !is_named(query, 0, "_rid") || !is_named(query, 1, "orderByItems") ||
        !is_named(query, 2, "payload"))
        return STATUS_OK;
    query->is_tied_by_age = true;
    TRY(sql_without_filter(arena, text, &common));
    query->fingerprint = bytes_hash(common, seed);
    return STATUS_OK;
}

/* A limit is told with a place too: that of the token at which the query has become too much. */
static status note_limit(struct sql_parser *p, status s)
{
    if (s.code != TOO_LARGE || p->lexer.error->code[0])
        return s;
    return sql_fail_large(&p->lexer, "SC3000", p->token.start, p->token.end,
                          "The query cannot be run: %s.", s.message);
}

static status parse(struct arena *arena, bytes text, const struct setting *setting,
                    const struct query **out, struct sql_error *error_out)
{
    struct sql_parser *parser;
    struct query *query;

    *out = NULL;
    *error_out = (struct sql_error){ .code = "", .message = "" };
    if (text.len > LIMIT_QUERY_TEXT_BYTES)
        return sql_fail_large(
            &(struct sql_lexer){ arena, text, 0, error_out }, "SC3020", 0, text.len,
            "The SQL query text exceeded the maximum limit of %d bytes.", LIMIT_QUERY_TEXT_BYTES);
    TRY(check_parameters(arena, setting->parameters));
    TRY(ARENA_NEW(arena, 1, &query));
    TRY(arena_take(arena, sizeof(*parser), (void **)&parser));
    *parser = (struct sql_parser){
        .lexer = {.arena = arena, .text = text, .error = error_out},
        .arena = arena,
        .parameters = setting->parameters,
        .properties = setting->properties,
        .variable_count = 1,
        .level.is_root = true,
    };
    uint64_t seed = hash_properties(setting->properties, bytes_hash(setting->parameters, 1));
    query->fingerprint = bytes_hash(text, seed);
    TRY(sql_advance(parser));
    TRY(note_limit(parser, setting->how(parser, query)));
    if (parser->mistake_count > 0) {
        *error_out = parser->mistakes[0];
        return status_of(INVALID, error_out->message);
    }
    *out = query;
    return settle_ties(arena, text, query, seed);
}

status sql_parse(struct arena *arena, bytes text, bytes parameters, const struct query **out,
                 struct sql_error *error_out)
{
    return sql_parse_with(arena, text, parameters, NULL, out, error_out);
}

status sql_parse_with(struct arena *arena, bytes text, bytes parameters,
                      const struct sql_properties *properties, const struct query **out,
                      struct sql_error *error_out)
{
    const struct setting setting = { parameters, properties, parse_query };

    return parse(arena, text, &setting, out, error_out);
}

status sql_parse_condition(struct arena *arena, bytes text, const struct query **out,
                           struct sql_error *error_out)
{
    return parse(arena, text, &(struct setting){ .how = parse_condition }, out, error_out);
}

/* ---- computed properties ------------------------------------------------------------------------ */

static bool is_volatile(const struct expression *x)
{
    if (x->kind == EXPRESSION_CALL && function_is_volatile(x->function))
        return true;
    for (size_t i = 0; i < x->count; i++) {
        if (is_volatile(x->args[i]))
            return true;
    }
    return false;
}

/* property = SELECT VALUE expression FROM name */
static status parse_property(struct sql_parser *p, struct query *query)
{
    struct sql_token whole = { .end = p->lexer.text.len };

    TRY(parse_query(p, query));
    if (!query->is_output_bare || !query->has_source)
        sql_mistake(p, "SC2301", &whole,
                    "The query of a computed property must be SELECT VALUE ... FROM a name.");
    if (query->binding_count || query->inner || p->subquery_count)
        sql_mistake(p, "SC2302", &whole,
                    "The query of a computed property must not contain JOIN, subqueries, EXISTS or "
                    "ARRAY, nor any other source than the item.");
    if (query->where || query->group_count || query->order_count || query->has_top ||
        query->has_skip || query->is_distinct)
        sql_mistake(p, "SC2303", &whole,
                    "The query of a computed property must not contain WHERE, GROUP BY, ORDER BY, "
                    "TOP, DISTINCT or OFFSET LIMIT.");
    if (query->aggregate_count || is_volatile(query->output))
        sql_mistake(p, "SC2304", &whole,
                    "The query of a computed property must not contain aggregates, nor functions "
                    "that give something else each time.");
    return STATUS_OK;
}

status sql_parse_property(struct arena *arena, bytes text, const struct expression **out,
                          struct sql_error *error_out)
{
    const struct query *query;

    *out = NULL;
    TRY(parse(arena, text, &(struct setting){ .how = parse_property }, &query, error_out));
    *out = query->output;
    return STATUS_OK;
}
