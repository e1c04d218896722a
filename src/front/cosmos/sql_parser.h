/* The state of parsing one SQL text, shared by the files that do it. Private to this face. */
#ifndef FRONT_COSMOS_SQL_PARSER_H
#define FRONT_COSMOS_SQL_PARSER_H

#include "front/cosmos/sql_lexer.h"

/* A name that FROM has given, and what it stands for. */
struct sql_name {
    bytes name;
    const struct expression *value;
};

/* One SELECT of the text while it is read; a subquery has its own. */
struct sql_level {
    bool is_root;    /* its first source is the container */
    bool has_source; /* it has a FROM */
    /* Its own names and variables begin here; both end where FROM has been read. */
    size_t first_name;
    uint32_t first_variable, end_variable;
    size_t source_count;       /* of FROM */
    const struct query *inner; /* whose rows are the documents */
    const struct expression *first_source;
    struct query_binding *bindings;
    size_t binding_count;
    /* Aggregates are allowed in the columns, and not within each other. */
    bool is_aggregate_allowed;
    bool is_in_aggregate;
    struct query_aggregate *aggregates;
    size_t aggregate_count;
};

/* Where a variable stands in the text, for errors that are found later. */
struct sql_use {
    const struct expression *variable;
    size_t start, end;
};

enum { SQL_MISTAKES_MAX = 10 };

struct sql_parser {
    struct sql_lexer lexer;
    struct sql_token token; /* the next one, not yet taken */
    size_t taken_end;       /* where the last one taken ended */
    struct arena *arena;
    bytes parameters;                        /* a BSON array, or empty */
    const struct sql_properties *properties; /* NULL: none are computed */
    unsigned depth;
    struct sql_level level;
    struct sql_name names[LIMIT_QUERY_VARIABLES]; /* all that can be seen, outer levels first */
    size_t name_count;
    uint32_t variable_count; /* number 0 is the document */
    size_t join_count, subquery_count;
    unsigned subquery_depth; /* how many subqueries are open */
    bool is_nested;          /* there was a binding or a subquery */
    bool is_ranking;         /* behind ORDER BY RANK */
    struct sql_use *uses;
    size_t use_count, use_room;
    /* The last expression that has a name of its own, and that name. */
    const struct expression *named;
    bytes named_as;
    /* What the text says is not possible, though it is said correctly: it only counts if no error of
     * syntax follows. The first ones, in the order in which they were noticed. */
    struct sql_error mistakes[SQL_MISTAKES_MAX];
    size_t mistake_count;
};

extern const struct query_rules sql_rules;

/* ---- tokens ------------------------------------------------------------------------------------------ */

MUST_USE status sql_advance(struct sql_parser *parser);
bool sql_at_symbol(const struct sql_parser *parser, unsigned symbol);
/* Takes the token if it is the one; says whether it was. */
MUST_USE status sql_take_symbol(struct sql_parser *parser, unsigned symbol, bool *out);
MUST_USE status sql_take_word(struct sql_parser *parser, enum sql_token_kind word, bool *out);
/* Or fails with "incorrect syntax near". */
MUST_USE status sql_expect_symbol(struct sql_parser *parser, unsigned symbol);
MUST_USE status sql_expect_word(struct sql_parser *parser, enum sql_token_kind word);
status sql_fail_here(struct sql_parser *parser);
/* Notes a mistake that is not one of syntax; parsing goes on. */
void sql_mistake(struct sql_parser *parser, const char *code, const struct sql_token *at,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));

/* ---- expressions ------------------------------------------------------------------------------------- */

MUST_USE status sql_expression(struct sql_parser *parser, const struct expression **out);
/* A function of the language by its name, whatever its letter case. */
bool sql_find_function(bytes name, enum function *out);
bool sql_find_aggregate(bytes name, enum aggregate_kind *out);
/* operand = literal | parameter | name | call | object | array | '(' expression ')' | '(' subquery |
 *           ( EXISTS | ARRAY | FIRST | LAST | ALL ) '(' subquery */
MUST_USE status sql_operand(struct sql_parser *parser, const struct expression **out);
/* subquery = select [ from ] tail, at SELECT; the ')' behind it is taken too. */
MUST_USE status sql_subquery(struct sql_parser *parser, bool is_root, const struct query **out);
/* from = FROM source { JOIN source } */
MUST_USE status sql_from(struct sql_parser *parser);
/* rank = RANK score ; behind ORDER BY, which is the only one then */
bool sql_at_rank(const struct sql_parser *parser);
MUST_USE status sql_rank(struct sql_parser *parser, struct query *query);
/* An order by the distance of vectors is one by nearness; `start` is where it begins. */
MUST_USE status sql_order_by_nearness(struct sql_parser *parser, size_t start, bool has_direction,
                                      struct query *query);
/* Is it a name? With `with_words`, also one that is a word of the language. */
bool sql_is_name(const struct sql_token *token, bool with_words);
/* What a name stands for; NULL if nobody has given it. */
const struct expression *sql_find_name(const struct sql_parser *parser, bytes name);
/* Notes what is neither within an aggregate nor the same for all rows of a group; `where` is the place for the
 * message. */
void sql_check_bare(struct sql_parser *parser, const char *code, const char *where,
                    const struct expression *output);
/* Notes where a variable stands, or a path that begins with it, for errors that are found later. */
MUST_USE status sql_note_use(struct sql_parser *parser, const struct sql_token *where,
                             const struct expression *variable);
/* The value of a parameter. */
MUST_USE status sql_parameter(struct sql_parser *parser, const struct sql_token *token,
                              struct value *out);
/* The field of a value, or what is computed instead of it. */
MUST_USE status sql_member(struct sql_parser *parser, const struct expression *of, bytes name,
                           const struct expression **out);
/* NaN and Infinity are there to ask functions about; in a row, an object, an array, and where one of several values is
 * taken as it is, they are as good as not there, for no JSON can say them. */
MUST_USE status sql_finite(struct sql_parser *parser, const struct expression **x);
/* Names become fields of documents, which cannot hold a NUL. */
MUST_USE status sql_check_name(struct sql_parser *parser, const struct sql_token *token);

/* ---- lists that grow --------------------------------------------------------------------------------- */

struct sql_list {
    const struct expression **items;
    bytes *names;
    size_t count, room;
};
MUST_USE status sql_list_add(struct sql_parser *parser, struct sql_list *list, bytes name,
                             const struct expression *item);
/* arguments = [ expression { ',' expression } ] `end` */
MUST_USE status sql_arguments(struct sql_parser *parser, unsigned end, struct sql_list *out);
/* A call, or the literal that it is if all its arguments are. */
MUST_USE status sql_call(struct sql_parser *parser, enum function function,
                         const struct sql_list *args, const struct expression **out);

#endif
