/* Tokens of the SQL text. Private to this face. */
#ifndef FRONT_COSMOS_SQL_LEXER_H
#define FRONT_COSMOS_SQL_LEXER_H

#include "front/cosmos/sql.h"

#include <stdarg.h>

enum sql_token_kind {
    TOKEN_END,
    TOKEN_NAME,      /* an identifier that is no word of the language */
    TOKEN_PARAMETER, /* @name, the @ included */
    TOKEN_NUMBER,
    TOKEN_STRING,
    TOKEN_SYMBOL, /* an operator or a bracket; `symbol` says which */
#define SQL_WORD(name) TOKEN_##name,
#include "front/cosmos/sql_words.def"
#undef SQL_WORD
};

/* Symbols as the characters they consist of: '=', '<' << 8 | '='. */
#define SYMBOL2(a, b) ((unsigned)(a) << 8 | (unsigned)(b))
#define SYMBOL3(a, b, c) (SYMBOL2(a, b) << 8 | (unsigned)(c))

struct sql_token {
    enum sql_token_kind kind;
    size_t start, end;
    bytes text; /* as written; of a string, without quotes and escapes */
    unsigned symbol;
    struct value number;
};

struct sql_lexer {
    struct arena *arena;
    bytes text;
    size_t at;
    struct sql_error *error;
};

/* INVALID with the error filled for what is no token. */
MUST_USE status sql_lex(struct sql_lexer *lexer, struct sql_token *out);

/* Fills the error, with places in UTF-16 units, and returns INVALID with its message. */
#define sql_fail(...) status_of(INVALID, sql_note_error(__VA_ARGS__))
/* The same for what is correct, but more than a limit allows: TOO_LARGE. */
#define sql_fail_large(...) status_of(TOO_LARGE, sql_note_error(__VA_ARGS__))
const char *sql_note_error(struct sql_lexer *lexer, const char *code, size_t start, size_t end,
                           const char *format, ...) __attribute__((format(printf, 5, 6)));

struct sql_error sql_error_at(struct sql_lexer *lexer, const char *code, size_t start, size_t end,
                              const char *format, va_list args)
    __attribute__((format(printf, 5, 0)));

/* ASCII letters count as equal whatever their case. */
bool sql_is_word(bytes text, const char *word);

#endif
