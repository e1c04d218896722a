/* SQL layout: the clauses of a query as pieces of its text.
 *
 * The parser keeps no places: a tree has none. Here the tokens of a text that is known to be right are read
 * once more, and only what stands outside of all brackets is looked at: there, a word of the language begins
 * a clause unless it is a name, which it is behind a dot or AS, and a comma ends a piece.
 *
 * Pure apart from the arena. Start reading at sql_layout(). */
#include "front/cosmos/sql_layout.h"

#include "front/cosmos/sql_lexer.h"

enum clause { IN_SELECT, IN_FROM, IN_WHERE, IN_GROUP, IN_ORDER, IN_OFFSET };

/* As much of a token as matters once it is behind. */
struct trace {
    enum sql_token_kind kind;
    unsigned symbol;
    bool is_member; /* a name behind a dot */
    size_t end;
    bytes text;
};

struct layout_reader {
    struct arena *arena;
    struct sql_lexer lexer;
    struct sql_token token;
    struct sql_layout *out;
    enum clause clause;
    int depth;
    bool is_source_read; /* the first one of FROM */
    size_t clause_start;
    /* The piece that is being read: where it starts, how many tokens it has, the last three of them. */
    size_t start, count;
    struct trace last[3];
};

static bool is_symbol(const struct trace *t, unsigned symbol)
{
    return t->kind == TOKEN_SYMBOL && t->symbol == symbol;
}

static bool is_word(const struct trace *t, enum sql_token_kind word)
{
    return t->kind == word && !t->is_member;
}

static bool ends_operand(const struct trace *t)
{
    return t->is_member || t->kind == TOKEN_NAME || t->kind == TOKEN_NUMBER ||
           t->kind == TOKEN_STRING || t->kind == TOKEN_PARAMETER || t->kind == TOKEN_TRUE ||
           t->kind == TOKEN_FALSE || t->kind == TOKEN_NULL || t->kind == TOKEN_UNDEFINED ||
           is_symbol(t, ')') || is_symbol(t, ']') || is_symbol(t, '}');
}

/* ---- pieces ----------------------------------------------------------------------------------------- */

static bytes text_between(const struct layout_reader *r, size_t start, size_t end)
{
    return end > start ? bytes_of(r->lexer.text.data + start, end - start) : BYTES_NONE;
}

static status add_piece(struct layout_reader *r, struct sql_pieces *pieces, size_t end)
{
    if (pieces->count == pieces->room) {
        size_t room = pieces->room ? pieces->room * 2 : 8;
        bytes *texts;
        TRY(ARENA_NEW(r->arena, room, &texts));
        for (size_t i = 0; i < pieces->count; i++)
            texts[i] = pieces->texts[i];
        pieces->texts = texts;
        pieces->room = room;
    }
    pieces->texts[pieces->count++] = text_between(r, r->start, end);
    return STATUS_OK;
}

/* Where the expression of a column ends: in front of its [AS] name. */
static size_t column_end(const struct layout_reader *r)
{
    const struct trace *last = r->last;

    if (r->count >= 3 && is_word(&last[1], TOKEN_AS))
        return last[2].end;
    if (r->count >= 2 && is_word(&last[0], TOKEN_NAME) && ends_operand(&last[1]))
        return last[1].end;
    return last[0].end;
}

static size_t order_end(const struct layout_reader *r)
{
    const struct trace *last = r->last;

    return is_word(&last[0], TOKEN_ASC) || is_word(&last[0], TOKEN_DESC) ? last[1].end
                                                                         : last[0].end;
}

/* The first source of FROM is the items themselves if it is: name [ [ AS ] name ] */
static void end_source(struct layout_reader *r)
{
    const struct trace *last = r->last;
    bool is_plain = r->count == 1 || (r->count == 2 && last[1].kind == TOKEN_NAME) ||
                    (r->count == 3 && is_word(&last[1], TOKEN_AS) && last[2].kind == TOKEN_NAME);

    if (is_plain && !r->is_source_read)
        r->out->root = last[0].text;
    r->is_source_read = true;
}

static status end_piece(struct layout_reader *r)
{
    if (r->count == 0)
        return STATUS_OK;
    switch (r->clause) {
    case IN_SELECT:
        r->out->is_star = r->count == 1 && is_symbol(&r->last[0], '*');
        return add_piece(r, &r->out->columns, column_end(r));
    case IN_FROM:
        end_source(r);
        return STATUS_OK;
    case IN_GROUP:
        return add_piece(r, &r->out->groups, r->last[0].end);
    case IN_ORDER:
        return add_piece(r, &r->out->orders, order_end(r));
    case IN_WHERE:
    case IN_OFFSET:
        return STATUS_OK;
    }
    return STATUS_OK;
}

/* ---- clauses ---------------------------------------------------------------------------------------- */

static status end_clause(struct layout_reader *r)
{
    bytes all = text_between(r, r->clause_start, r->last[0].end);

    TRY(end_piece(r));
    if (r->clause == IN_SELECT)
        r->out->select = all;
    if (r->clause == IN_FROM)
        r->out->from = all;
    if (r->clause == IN_WHERE)
        r->out->where = all;
    if (r->clause == IN_GROUP)
        r->out->group = all;
    if (r->clause == IN_ORDER)
        r->out->order = all;
    return STATUS_OK;
}

/* Behind the words that begin it. */
static void begin_clause(struct layout_reader *r, enum clause clause)
{
    r->clause = clause;
    r->clause_start = r->token.start;
    r->count = 0;
}

static bool begins_clause(const struct layout_reader *r, enum clause *out)
{
    bool is_name = r->count > 0 && (is_symbol(&r->last[0], '.') || is_word(&r->last[0], TOKEN_AS));

    *out = r->token.kind == TOKEN_FROM     ? IN_FROM
           : r->token.kind == TOKEN_WHERE  ? IN_WHERE
           : r->token.kind == TOKEN_GROUP  ? IN_GROUP
           : r->token.kind == TOKEN_ORDER  ? IN_ORDER
           : r->token.kind == TOKEN_OFFSET ? IN_OFFSET
                                           : IN_SELECT;
    return r->depth == 0 && *out != IN_SELECT && !is_name;
}

static status next(struct layout_reader *r)
{
    return sql_lex(&r->lexer, &r->token);
}

static status skip_word(struct layout_reader *r, enum sql_token_kind word)
{
    return r->token.kind == word ? next(r) : STATUS_OK;
}

static status change_clause(struct layout_reader *r, enum clause clause)
{
    TRY(end_clause(r));
    TRY(next(r));
    TRY(skip_word(r, TOKEN_BY));
    begin_clause(r, clause);
    return STATUS_OK;
}

/* ---- tokens ----------------------------------------------------------------------------------------- */

static void take(struct layout_reader *r)
{
    const struct sql_token *t = &r->token;
    bool is_member = r->count > 0 && is_symbol(&r->last[0], '.');

    if (t->kind == TOKEN_SYMBOL && (t->symbol == '(' || t->symbol == '[' || t->symbol == '{'))
        r->depth++;
    if (t->kind == TOKEN_SYMBOL && (t->symbol == ')' || t->symbol == ']' || t->symbol == '}'))
        r->depth--;
    if (r->count++ == 0)
        r->start = t->start;
    r->last[2] = r->last[1];
    r->last[1] = r->last[0];
    r->last[0] = (struct trace){ t->kind, t->symbol, is_member, t->end, t->text };
}

static bool ends_piece(const struct layout_reader *r)
{
    return r->depth == 0 && ((r->token.kind == TOKEN_SYMBOL && r->token.symbol == ',') ||
                             (r->clause == IN_FROM && r->token.kind == TOKEN_JOIN));
}

/* SELECT [ DISTINCT ] [ TOP n ] [ VALUE ] */
static status skip_select(struct layout_reader *r)
{
    TRY(next(r));
    TRY(skip_word(r, TOKEN_SELECT));
    TRY(skip_word(r, TOKEN_DISTINCT));
    if (r->token.kind == TOKEN_TOP) {
        TRY(next(r));
        TRY(next(r));
    }
    TRY(skip_word(r, TOKEN_VALUE));
    begin_clause(r, IN_SELECT);
    return STATUS_OK;
}

status sql_layout(struct arena *arena, bytes text, struct sql_layout *out)
{
    struct sql_error error;
    struct layout_reader r = {
        .arena = arena, .lexer = {.arena = arena, .text = text, .error = &error},
             .out = out
    };
    enum clause clause;

    *out = (struct sql_layout){ 0 };
    TRY(skip_select(&r));
    while (r.token.kind != TOKEN_END) {
        if (begins_clause(&r, &clause)) {
            TRY(change_clause(&r, clause));
            continue;
        }
        if (ends_piece(&r)) {
            TRY(end_piece(&r));
            r.last[0].end = r.token.end;
            r.count = 0;
        } else {
            take(&r);
        }
        TRY(next(&r));
    }
    return end_clause(&r);
}

bool sql_layout_fits(const struct sql_layout *layout, const struct query *query)
{
    bool has_names = !query->is_output_bare && !layout->is_star;
    size_t columns = has_names ? query->output->count : 1;

    return layout->columns.count == columns && layout->orders.count == query->order_count &&
           (!has_names || query->output->kind == EXPRESSION_OBJECT);
}
