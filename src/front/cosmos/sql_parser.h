/* The state of parsing one SQL text, shared by the files that do it. Private to this face. */
#ifndef FRONT_COSMOS_SQL_PARSER_H
#define FRONT_COSMOS_SQL_PARSER_H

#include "front/cosmos/sql_lexer.h"

struct sql_parser {
    struct sql_lexer lexer;
    struct sql_token token; /* the next one, not yet taken */
    size_t taken_end;       /* where the last one taken ended */
    struct arena *arena;
    bytes parameters; /* a BSON array, or empty */
    unsigned depth;
    /* FROM: what the document of the row is called. */
    bool has_source;
    bytes alias;
    /* Aggregates are allowed in the columns, and not within each other. */
    bool is_aggregate_allowed;
    bool is_in_aggregate;
    struct query_aggregate *aggregates;
    size_t aggregate_count;
    /* What the text says is not possible, though it is said correctly: it only counts if no error of
     * syntax follows. The first one. */
    bool has_mistake;
    struct sql_error mistake;
    /* The first use of the document outside aggregates, in the columns. */
    bool has_bare_use;
    struct sql_token bare_use;
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
/* A feature of the language that is not there yet. */
status sql_not_yet(struct sql_parser *parser, const char *what);

/* ---- expressions ------------------------------------------------------------------------------------- */

MUST_USE status sql_expression(struct sql_parser *parser, const struct expression **out);
/* A function of the language by its name, whatever its letter case. */
bool sql_find_function(bytes name, enum function *out);
/* operand = literal | parameter | name | call | object | array | '(' expression ')' */
MUST_USE status sql_operand(struct sql_parser *parser, const struct expression **out);
/* The value of a parameter. */
MUST_USE status sql_parameter(struct sql_parser *parser, const struct sql_token *token,
                              struct value *out);
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
