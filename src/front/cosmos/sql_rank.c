/* SQL rank: orders by how well something fits a search.
 *
 * ORDER BY RANK is followed by one score: FullTextScore, VectorDistance, or RRF of several of them. ORDER BY
 * VectorDistance says the same as ORDER BY RANK VectorDistance. The best come first; nobody says ASC or DESC.
 *
 * Pure apart from the arena. */
#include "front/cosmos/sql_parser.h"

bool sql_at_rank(const struct sql_parser *p)
{
    return p->token.kind == TOKEN_NAME && sql_is_word(p->token.text, "RANK") &&
           !sql_find_name(p, p->token.text);
}

/* What is gathered for the tree. */
struct ranking {
    struct sql_parser *parser;
    struct sql_token whole; /* where it stands, for mistakes */
    const struct expression *searches[LIMIT_QUERY_SCORES];
    struct query_rank_part parts[LIMIT_QUERY_SCORES];
    struct query_rank rank;
};

static bool is_call(const struct expression *x, enum function function)
{
    return x->kind == EXPRESSION_CALL && x->function == function;
}

/* The other way round where less is better. */
static status nearness(struct sql_parser *p, const struct expression *distance,
                       const struct expression **out)
{
    return expression_call(p->arena, FUNCTION_vector_nearness, distance->args, distance->count,
                           out);
}

/* score = FULLTEXTSCORE '(' ... ')' | VECTORDISTANCE '(' ... ')' */
static status take_score(struct ranking *r, const struct expression *x,
                         const struct expression **out)
{
    struct sql_parser *p = r->parser;

    *out = x;
    if (is_call(x, FUNCTION_vector_distance))
        return nearness(p, x, out);
    if (!is_call(x, FUNCTION_words_score)) {
        sql_mistake(p, "SC2241", &r->whole,
                    "ORDER BY RANK takes FullTextScore, VectorDistance or RRF, and RRF takes the "
                    "first two of them.");
        return STATUS_OK;
    }
    for (size_t i = 1; i < x->count; i++) {
        if (x->args[i]->kind != EXPRESSION_LITERAL)
            sql_mistake(
                p, "SC2242", &r->whole,
                "What FullTextScore looks for must be strings that do not depend on items.");
    }
    r->searches[r->rank.search_count++] = x;
    return STATUS_OK;
}

/* The weights of the scores, in an array behind them. */
static void take_weights(struct ranking *r, struct value weights)
{
    struct document_walk walk = document_fields(value_document(weights));
    struct field field;
    size_t count = 0;
    bool are_numbers = true;

    for (; document_next(&walk, &field); count++) {
        are_numbers &= value_is_number(field.value);
        if (are_numbers && count < r->rank.part_count)
            r->parts[count].weight = value_as_double(field.value);
    }
    if (!are_numbers || count != r->rank.part_count)
        sql_mistake(r->parser, "SC2243", &r->whole,
                    "The weights of RRF must be as many numbers as it has scores, %zu.",
                    r->rank.part_count);
}

/* fusion = RRF '(' score ',' score { ',' score } [ ',' weights ] ')' */
static status take_fusion(struct ranking *r, const struct expression *x)
{
    const struct expression *last = x->args[x->count - 1];
    bool has_weights = last->kind == EXPRESSION_LITERAL && last->literal.type == VALUE_ARRAY;
    size_t count = x->count - has_weights;

    if (count > LIMIT_QUERY_SCORES || count < 2) {
        sql_mistake(r->parser, "SC2244", &r->whole, "RRF takes from 2 to %d scores.",
                    LIMIT_QUERY_SCORES);
        return STATUS_OK;
    }
    for (size_t i = 0; i < count; i++) {
        TRY(take_score(r, x->args[i], &r->parts[i].by));
        r->parts[i].weight = 1;
    }
    r->rank.part_count = count;
    if (has_weights)
        take_weights(r, last->literal);
    return STATUS_OK;
}

/* Into the tree, as the only order. */
static status give_rank(struct ranking *r, const struct expression *by, struct query *query)
{
    struct arena *arena = r->parser->arena;
    struct query_order *order;
    struct query_rank *rank;
    const struct expression **searches;
    struct query_rank_part *parts;

    if (query->group_count || query->is_distinct)
        sql_mistake(r->parser, "SC2245", &r->whole,
                    "An order by RANK or VectorDistance cannot be combined with %s.",
                    query->is_distinct ? "DISTINCT" : "GROUP BY");
    TRY(ARENA_NEW(arena, 1, &order));
    TRY(ARENA_NEW(arena, 1, &rank));
    TRY(ARENA_NEW(arena, LIMIT_QUERY_SCORES, &searches));
    TRY(ARENA_NEW(arena, LIMIT_QUERY_SCORES, &parts));
    memcpy(searches, r->searches, sizeof(r->searches));
    memcpy(parts, r->parts, sizeof(r->parts));
    *rank = r->rank;
    rank->searches = searches;
    rank->parts = parts;
    *order = (struct query_order){ .by = by,
                                   .is_descending = true,
                                   .text = bytes_of(r->parser->lexer.text.data + r->whole.start,
                                                    r->whole.end - r->whole.start) };
    query->rank = rank;
    query->orders = order;
    query->order_count = 1;
    return STATUS_OK;
}

status sql_rank(struct sql_parser *p, struct query *query)
{
    struct ranking r = { .parser = p, .whole = p->token };
    const struct expression *x;

    TRY(sql_advance(p));
    r.whole.start = p->token.start;
    p->is_ranking = true;
    TRY(sql_expression(p, &x));
    p->is_ranking = false;
    r.whole.end = p->taken_end;
    if (is_call(x, FUNCTION_fuse))
        TRY(take_fusion(&r, x));
    else
        TRY(take_score(&r, x, &x));
    return give_rank(&r, x, query);
}

status sql_order_by_nearness(struct sql_parser *p, size_t start, bool has_direction,
                             struct query *query)
{
    struct ranking r = {
        .parser = p, .whole = {.start = start, .end = p->taken_end}
    };

    /* The rank is the only order that there is. */
    if (query->rank)
        query->order_count = 1;
    const struct expression *by = query->orders[query->order_count - 1].by;
    bool is_nearness = is_call(by, FUNCTION_vector_distance);
    if (query->rank || (is_nearness && query->order_count > 1))
        sql_mistake(p, "SC2246", &r.whole,
                    "An order by VectorDistance cannot be combined with another one.");
    if (!is_nearness)
        return STATUS_OK;
    if (has_direction)
        sql_mistake(p, "SC2247", &r.whole,
                    "Specifying a sort order (ASC or DESC) in the ORDER BY clause is not allowed "
                    "with VectorDistance: what is nearest comes first.");
    TRY(nearness(p, by, &by));
    return give_rank(&r, by, query);
}
