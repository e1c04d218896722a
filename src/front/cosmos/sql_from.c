/* SQL sources: FROM and JOIN, and the names they give.
 *
 * The first source of a query is the container, by whatever name; every other one, and all of a subquery,
 * begins at a name that was given before. Sources become bindings: a value, the elements of an array, or the
 * rows of a subquery, each with a variable of its own. The container alone needs none: it is variable 0.
 *
 * Keeps: names of one FROM are unique; those of outer levels are seen unless a nearer one has the name.
 * Pure apart from the arena. Start reading at sql_from(). */
#include "front/cosmos/sql_parser.h"

/* ---- names ------------------------------------------------------------------------------------------ */

bool sql_is_name(const struct sql_token *token, bool with_words)
{
    return token->kind == TOKEN_NAME ||
           (with_words && token->kind != TOKEN_END && token->kind != TOKEN_SYMBOL &&
            token->kind != TOKEN_NUMBER && token->kind != TOKEN_STRING &&
            token->kind != TOKEN_PARAMETER);
}

const struct expression *sql_find_name(const struct sql_parser *p, bytes name)
{
    for (size_t i = p->name_count; i > 0; i--) {
        if (bytes_equal(p->names[i - 1].name, name))
            return p->names[i - 1].value;
    }
    return NULL;
}

/* Gives a name; nothing happens for an empty one, which cannot be said. */
static void give_name(struct sql_parser *p, const struct sql_token *token,
                      const struct expression *value)
{
    if (token->text.len == 0)
        return;
    for (size_t i = p->level.first_name; i < p->name_count; i++) {
        if (bytes_equal(p->names[i].name, token->text))
            sql_mistake(p, "SC2011", token,
                        "The input alias '%.*s' is specified more than once in the FROM clause.",
                        (int)token->text.len, (const char *)token->text.data);
    }
    ASSERT(p->name_count < LIMIT_QUERY_VARIABLES);
    p->names[p->name_count++] = (struct sql_name){ token->text, value };
}

void sql_check_bare(struct sql_parser *p, const char *code, const char *where,
                    const struct expression *output)
{
    const struct sql_level *level = &p->level;
    uint32_t first = level->is_root && p->subquery_depth == 0 ? 0 : level->first_variable;
    const struct expression *bare = expression_find_variable(output, first, level->end_variable);
    struct sql_token at = { 0 };

    for (size_t i = 0; i < p->use_count && bare; i++) {
        if (p->uses[i].variable == bare)
            at = (struct sql_token){ .start = p->uses[i].start, .end = p->uses[i].end };
    }
    if (bare)
        sql_mistake(p, code, &at,
                    "Property reference '%.*s' is invalid in the %s because it is not "
                    "contained in either an aggregate function or the GROUP BY clause.",
                    (int)(at.end - at.start), (const char *)p->lexer.text.data + at.start, where);
}

/* ---- bindings --------------------------------------------------------------------------------------- */

static status too_many(struct sql_parser *p)
{
    return status_fail(p->arena, TOO_LARGE, "FROM binds more than %d sources, the limit",
                       LIMIT_QUERY_BINDINGS);
}

/* A variable for the rows of a source. */
static status bind(struct sql_parser *p, struct query_binding binding,
                   const struct expression **variable_out)
{
    struct sql_level *level = &p->level;

    if (!level->bindings)
        TRY(ARENA_NEW(p->arena, LIMIT_QUERY_BINDINGS, &level->bindings));
    if (level->binding_count == LIMIT_QUERY_BINDINGS || p->variable_count == LIMIT_QUERY_VARIABLES)
        return too_many(p);
    p->is_nested = true;
    binding.variable = p->variable_count++;
    level->bindings[level->binding_count++] = binding;
    return expression_variable(p->arena, binding.variable, variable_out);
}

/* What a source is made of, before it is bound. */
struct origin {
    const struct expression *of; /* a path ... */
    const struct query *query;   /* ... or a subquery */
    bool is_document;            /* the container, and no path behind it */
    struct sql_token name;       /* the last name in it; empty text if it has none */
};

/* path = { '.' name | '[' ( number | string ) ']' } */
static status parse_path(struct sql_parser *p, struct origin *c)
{
    for (;;) {
        bool is_dot, is_bracket;
        TRY(sql_take_symbol(p, '.', &is_dot));
        if (!is_dot)
            TRY(sql_take_symbol(p, '[', &is_bracket));
        if (!is_dot && !is_bracket)
            return STATUS_OK;
        struct sql_token part = p->token;
        if (is_dot ? !sql_is_name(&part, true)
                   : part.kind != TOKEN_STRING && part.kind != TOKEN_NUMBER)
            return sql_fail_here(p);
        TRY(sql_check_name(p, &part));
        TRY(sql_advance(p));
        c->is_document = false;
        c->name = part;
        if (part.kind == TOKEN_NUMBER) {
            const struct expression *args[2] = { c->of, NULL };
            c->name.text = BYTES_NONE;
            TRY(expression_literal(p->arena, part.number, &args[1]));
            TRY(expression_call(p->arena, FUNCTION_element, args, 2, &c->of));
        } else {
            TRY(sql_member(p, c->of, part.text, &c->of));
        }
        if (!is_dot)
            TRY(sql_expect_symbol(p, ']'));
    }
}

/* The container for the first source of the outermost query, otherwise what the name stands for. */
static status resolve(struct sql_parser *p, bool is_root, const struct sql_token *name,
                      const struct expression **out)
{
    *out = is_root ? NULL : sql_find_name(p, name->text);
    if (!*out && !is_root)
        sql_mistake(p, "SC2001", name, "Identifier '%.*s' could not be resolved.",
                    (int)name->text.len, (const char *)name->text.data);
    return *out ? STATUS_OK : expression_variable(p->arena, 0, out);
}

/* Do its rows depend on more than one document at a time? */
static bool is_whole(const struct query *query)
{
    return query->is_distinct || query->aggregate_count || query->group_count || query->inner ||
           !query->has_source;
}

/* The rows of a subquery over the container, which are those of each document, or else take the place of the
 * documents. */
static status take_rows(struct sql_parser *p, struct origin *c)
{
    if (!is_whole(c->query))
        return STATUS_OK;
    p->level.inner = c->query;
    c->query = NULL;
    TRY(expression_variable(p->arena, 0, &c->of));
    return expression_member(p->arena, c->of, BYTES_LITERAL(QUERY_INNER_NAME), &c->of);
}

/* collection = name path | '(' subquery */
static status parse_collection(struct sql_parser *p, bool is_root, struct origin *out)
{
    bool is_bracket;

    *out = (struct origin){ .is_document = false };
    TRY(sql_take_symbol(p, '(', &is_bracket));
    if (is_bracket && p->token.kind != TOKEN_SELECT)
        return sql_fail_here(p);
    if (is_bracket)
        TRY(sql_subquery(p, is_root, &out->query));
    if (is_bracket)
        return is_root ? take_rows(p, out) : STATUS_OK;
    if (p->token.kind != TOKEN_NAME)
        return sql_fail_here(p);
    out->name = p->token;
    out->is_document = is_root;
    TRY(resolve(p, is_root, &p->token, &out->of));
    TRY(sql_advance(p));
    return parse_path(p, out);
}

static status bind_collection(struct sql_parser *p, const struct origin *c,
                              const struct expression **out)
{
    struct query_binding binding = { .kind = c->query ? BINDING_ROWS : BINDING_VALUE,
                                     .of = c->of,
                                     .query = c->query };

    if (c->is_document)
        return expression_variable(p->arena, 0, out);
    return bind(p, binding, out);
}

/* ---- sources ---------------------------------------------------------------------------------------- */

/* name IN collection ; behind IN. The rows of a subquery are bound first, then their elements. */
static status parse_elements(struct sql_parser *p, bool is_root, const struct sql_token *name,
                             const struct expression **out)
{
    struct query_binding binding = { .kind = BINDING_ELEMENTS };
    struct origin c;

    TRY(parse_collection(p, is_root, &c));
    binding.of = c.of;
    if (c.query)
        TRY(bind_collection(p, &c, &binding.of));
    TRY(bind(p, binding, out));
    give_name(p, name, *out);
    return STATUS_OK;
}

/* collection [ [ AS ] name ] */
static status parse_named(struct sql_parser *p, bool is_root, const struct expression **out)
{
    struct origin c;
    bool has_as;

    TRY(parse_collection(p, is_root, &c));
    TRY(bind_collection(p, &c, out));
    TRY(sql_take_word(p, TOKEN_AS, &has_as));
    if (has_as && !sql_is_name(&p->token, true))
        return sql_fail_here(p);
    if (has_as || p->token.kind == TOKEN_NAME) {
        c.name = p->token;
        TRY(sql_advance(p));
    }
    give_name(p, &c.name, *out);
    return STATUS_OK;
}

/* source = name IN collection | collection [ [ AS ] name ] */
static status parse_source(struct sql_parser *p, bool is_root)
{
    struct sql_token name = p->token;
    size_t at = p->lexer.at, taken_end = p->taken_end;
    const struct expression *source;
    bool is_elements = false;

    if (name.kind == TOKEN_NAME) {
        TRY(sql_advance(p));
        TRY(sql_take_word(p, TOKEN_IN, &is_elements));
    }
    if (is_elements) {
        TRY(parse_elements(p, is_root, &name, &source));
    } else {
        p->lexer.at = at;
        p->taken_end = taken_end;
        p->token = name;
        TRY(parse_named(p, is_root, &source));
    }
    if (p->level.source_count++ == 0)
        p->level.first_source = source;
    return STATUS_OK;
}

status sql_from(struct sql_parser *p)
{
    bool has_join = true;

    TRY(sql_expect_word(p, TOKEN_FROM));
    p->level.has_source = true;
    TRY(parse_source(p, p->level.is_root));
    for (;;) {
        TRY(sql_take_word(p, TOKEN_JOIN, &has_join));
        if (!has_join)
            return STATUS_OK;
        if (++p->join_count > LIMIT_QUERY_JOINS)
            return sql_fail_large(
                &p->lexer, "SC3002", 0, p->lexer.text.len,
                "The SQL query exceeded the maximum number of joins. The allowed limit is %d.",
                LIMIT_QUERY_JOINS);
        TRY(parse_source(p, false));
    }
}
