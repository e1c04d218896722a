/* SQL lexer: from text to tokens, one at a time.
 *
 * Blanks and comments (-- to the end of the line) separate tokens. Words of the language are told from
 * names here; everything behind the first byte that begins no token is the parser's failure to report.
 *
 * Keeps: every step moves forward; nothing is read past the text. Pure apart from the arena. */
#include "front/cosmos/sql_lexer.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <strings.h>

enum { SHOWN_BYTES_MAX = 80, NUMBER_BYTES_MAX = 400 };

/* ---- errors ----------------------------------------------------------------------------------------- */

/* Characters past U+FFFF count twice. */
static size_t utf16_units(bytes text, size_t upto)
{
    size_t units = 0;

    for (size_t i = 0; i < upto && i < text.len; i++)
        units += (text.data[i] & 0xC0) != 0x80 ? (text.data[i] >= 0xF0 ? 2 : 1) : 0;
    return units;
}

struct sql_error sql_error_at(struct sql_lexer *lexer, const char *code, size_t start, size_t end,
                              const char *format, va_list args)
{
    const char *message = arena_format_args(lexer->arena, format, args);

    return (struct sql_error){ .code = code,
                               .start = utf16_units(lexer->text, start),
                               .end = utf16_units(lexer->text, end),
                               .message = message ? message : "The query is not valid." };
}

const char *sql_note_error(struct sql_lexer *lexer, const char *code, size_t start, size_t end,
                           const char *format, ...)
{
    va_list args;

    va_start(args, format);
    *lexer->error = sql_error_at(lexer, code, start, end, format, args);
    va_end(args);
    return lexer->error->message;
}

/* `what` and the text from `start` on, cut to a length that can be shown. */
static status bad_token(struct sql_lexer *lexer, const char *code, const char *what, size_t start,
                        size_t end)
{
    size_t len = end - start < SHOWN_BYTES_MAX ? end - start : SHOWN_BYTES_MAX;

    return sql_fail(lexer, code, start, end, "Syntax error, invalid %s '%.*s'.", what, (int)len,
                    (const char *)lexer->text.data + start);
}

/* ---- characters ------------------------------------------------------------------------------------- */

static uint8_t peek(const struct sql_lexer *lexer, size_t ahead)
{
    size_t at = lexer->at + ahead;

    return at < lexer->text.len ? lexer->text.data[at] : 0;
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_start(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;
}

static bool is_name_part(uint8_t c)
{
    return is_name_start(c) || is_digit(c) || c == '$';
}

static void skip_blanks(struct sql_lexer *lexer)
{
    for (;;) {
        uint8_t c = peek(lexer, 0);
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v') {
            lexer->at++;
        } else if (c == '-' && peek(lexer, 1) == '-') {
            while (lexer->at < lexer->text.len && peek(lexer, 0) != '\n')
                lexer->at++;
        } else {
            return;
        }
    }
}

/* ---- names and numbers ------------------------------------------------------------------------------ */

bool sql_is_word(bytes text, const char *word)
{
    return strlen(word) == text.len && strncasecmp((const char *)text.data, word, text.len) == 0;
}

static enum sql_token_kind word_kind(bytes text)
{
    static const struct {
        const char *word;
        uint8_t len, first;
        enum sql_token_kind kind;
    } words[] = {
#define SQL_WORD(name) { #name, sizeof(#name) - 1, #name[0], TOKEN_##name },
#include "front/cosmos/sql_words.def"
#undef SQL_WORD
    };
    const uint8_t first = text.data[0] & 0xDF; /* as a capital letter */

    for (size_t i = 0; i < ARRAY_COUNT(words); i++) {
        if (words[i].first == first && words[i].len == text.len && sql_is_word(text, words[i].word))
            return words[i].kind;
    }
    return TOKEN_NAME;
}

static void lex_name(struct sql_lexer *lexer, struct sql_token *out)
{
    while (is_name_part(peek(lexer, 0)))
        lexer->at++;
    out->text = bytes_of(lexer->text.data + out->start, lexer->at - out->start);
    out->kind = word_kind(out->text);
}

static void skip_digits(struct sql_lexer *lexer)
{
    while (is_digit(peek(lexer, 0)))
        lexer->at++;
}

/* -1 if it is none. */
static int hex_digit(uint8_t c)
{
    uint8_t low = c | 0x20;

    return is_digit(c) ? c - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

/* A whole number by its base; 0 is for those that are not. What does not fit into 64 bits is a double. */
static status make_number(struct sql_lexer *lexer, bytes text, int base, struct value *out)
{
    char copy[NUMBER_BYTES_MAX + 1];

    memcpy(copy, text.data, text.len);
    copy[text.len] = 0;
    errno = 0;
    long long whole = base ? strtoll(copy, NULL, base) : 0;
    if (base && errno == 0)
        return value_of_int64(lexer->arena, whole, out);
    return value_of_double(lexer->arena, strtod(copy, NULL), out);
}

static status finish_number(struct sql_lexer *lexer, int base, struct sql_token *out)
{
    out->kind = TOKEN_NUMBER;
    out->text = bytes_of(lexer->text.data + out->start, lexer->at - out->start);
    if (out->text.len > NUMBER_BYTES_MAX || is_name_start(peek(lexer, 0)))
        return bad_token(lexer, "SC1011", "numeric value token", out->start, lexer->at + 1);
    TRY(make_number(lexer, out->text, base, &out->number));
    if (!isfinite(value_as_double(out->number)))
        return bad_token(lexer, "SC1011", "numeric value token", out->start, lexer->at);
    return STATUS_OK;
}

/* 0x hex-digits | digits [ '.' digits ] [ e [+-] digits ] | '.' digits ... */
static status lex_number(struct sql_lexer *lexer, struct sql_token *out)
{
    bool is_whole = true;

    if (peek(lexer, 0) == '0' && (peek(lexer, 1) | 0x20) == 'x' && hex_digit(peek(lexer, 2)) >= 0) {
        lexer->at += 2;
        while (hex_digit(peek(lexer, 0)) >= 0)
            lexer->at++;
        return finish_number(lexer, 16, out);
    }
    skip_digits(lexer);
    if (peek(lexer, 0) == '.' && (is_digit(peek(lexer, 1)) || lexer->at > out->start)) {
        is_whole = false;
        lexer->at++;
        skip_digits(lexer);
    }
    if ((peek(lexer, 0) | 0x20) == 'e') {
        is_whole = false;
        lexer->at += peek(lexer, 1) == '+' || peek(lexer, 1) == '-' ? 2 : 1;
        if (!is_digit(peek(lexer, 0)))
            return bad_token(lexer, "SC1011", "numeric value token", out->start, lexer->at);
        skip_digits(lexer);
    }
    return finish_number(lexer, is_whole ? 10 : 0, out);
}

/* ---- strings ---------------------------------------------------------------------------------------- */

/* Four hex digits; false if they are not. */
static bool lex_hex(struct sql_lexer *lexer, uint32_t *out)
{
    *out = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(peek(lexer, 0));
        if (digit < 0)
            return false;
        *out = *out << 4 | (uint32_t)digit;
        lexer->at++;
    }
    return true;
}

static void append_character(struct buffer *out, uint32_t c)
{
    if (c < 0x80) {
        buffer_append_byte(out, (uint8_t)c);
    } else if (c < 0x800) {
        buffer_append_byte(out, (uint8_t)(0xC0 | c >> 6));
        buffer_append_byte(out, (uint8_t)(0x80 | (c & 0x3F)));
    } else if (c < 0x10000) {
        buffer_append_byte(out, (uint8_t)(0xE0 | c >> 12));
        buffer_append_byte(out, (uint8_t)(0x80 | (c >> 6 & 0x3F)));
        buffer_append_byte(out, (uint8_t)(0x80 | (c & 0x3F)));
    } else {
        buffer_append_byte(out, (uint8_t)(0xF0 | c >> 18));
        buffer_append_byte(out, (uint8_t)(0x80 | (c >> 12 & 0x3F)));
        buffer_append_byte(out, (uint8_t)(0x80 | (c >> 6 & 0x3F)));
        buffer_append_byte(out, (uint8_t)(0x80 | (c & 0x3F)));
    }
}

/* Behind \u: one unit, or two that make a character; a lone half is no character. */
static bool lex_unicode(struct sql_lexer *lexer, struct buffer *out)
{
    uint32_t unit, low;

    if (!lex_hex(lexer, &unit) || (unit >= 0xDC00 && unit <= 0xDFFF))
        return false;
    if (unit >= 0xD800 && unit <= 0xDBFF) {
        if (peek(lexer, 0) != '\\' || peek(lexer, 1) != 'u')
            return false;
        lexer->at += 2;
        if (!lex_hex(lexer, &low) || low < 0xDC00 || low > 0xDFFF)
            return false;
        unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
    }
    append_character(out, unit);
    return true;
}

static bool lex_escape(struct sql_lexer *lexer, struct buffer *out)
{
    static const char from[] = "bfnrt\"'\\/", to[] = "\b\f\n\r\t\"'\\/";
    uint8_t c = peek(lexer, 1);

    lexer->at += 2;
    if (c == 'u')
        return lex_unicode(lexer, out);
    const char *found = c ? strchr(from, c) : NULL;
    if (found)
        buffer_append_byte(out, (uint8_t)to[found - from]);
    return found != NULL;
}

static status lex_string(struct sql_lexer *lexer, struct sql_token *out)
{
    uint8_t quote = peek(lexer, 0);
    struct buffer text = buffer_in(lexer->arena);

    out->kind = TOKEN_STRING;
    lexer->at++;
    for (;;) {
        size_t from = lexer->at;
        while (lexer->at < lexer->text.len && peek(lexer, 0) != quote && peek(lexer, 0) != '\\')
            lexer->at++;
        buffer_append(&text, bytes_of(lexer->text.data + from, lexer->at - from));
        if (lexer->at >= lexer->text.len)
            return bad_token(lexer, "SC1012", "string literal token", out->start, lexer->text.len);
        if (peek(lexer, 0) == quote)
            break;
        if (!lex_escape(lexer, &text)) {
            size_t end = lexer->at < lexer->text.len ? lexer->at : lexer->text.len;
            return bad_token(lexer, "SC1012", "string literal token", out->start, end);
        }
    }
    lexer->at++;
    return buffer_finish(&text, &out->text);
}

/* ---- symbols ---------------------------------------------------------------------------------------- */

static status lex_symbol(struct sql_lexer *lexer, struct sql_token *out)
{
    /* The longest first; the second character of each is one of those below. */
    static const char *const several[] = { ">>>", "<<", ">>", "!=", "<>", "<=", ">=", "||", "??" };
    uint8_t c = peek(lexer, 0);
    const size_t count = strchr("<>=|?", peek(lexer, 1)) ? ARRAY_COUNT(several) : 0;

    out->kind = TOKEN_SYMBOL;
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(several[i]), same = 0;
        while (same < len && peek(lexer, same) == (uint8_t)several[i][same])
            same++;
        if (same < len)
            continue;
        for (size_t j = 0; j < len; j++)
            out->symbol = out->symbol << 8 | (uint8_t)several[i][j];
        lexer->at += len;
        return STATUS_OK;
    }
    if (c == 0 || !strchr("=<>+-*/%&|^~(),.[]{}:?", c))
        return bad_token(lexer, "SC1010", "token", out->start, out->start + 1);
    out->symbol = c;
    lexer->at++;
    return STATUS_OK;
}

static status lex_parameter(struct sql_lexer *lexer, struct sql_token *out)
{
    lexer->at++;
    while (is_name_part(peek(lexer, 0)))
        lexer->at++;
    out->kind = TOKEN_PARAMETER;
    if (lexer->at == out->start + 1)
        return bad_token(lexer, "SC1010", "token", out->start, lexer->at);
    return STATUS_OK;
}

status sql_lex(struct sql_lexer *lexer, struct sql_token *out)
{
    status s = STATUS_OK;

    skip_blanks(lexer);
    *out = (struct sql_token){ .kind = TOKEN_END, .start = lexer->at };
    uint8_t c = peek(lexer, 0);
    if (lexer->at < lexer->text.len) {
        if (is_name_start(c))
            lex_name(lexer, out);
        else if (is_digit(c) || (c == '.' && is_digit(peek(lexer, 1))))
            s = lex_number(lexer, out);
        else if (c == '"' || c == '\'')
            s = lex_string(lexer, out);
        else if (c == '@')
            s = lex_parameter(lexer, out);
        else
            s = lex_symbol(lexer, out);
    }
    out->end = lexer->at;
    if (out->kind != TOKEN_STRING && s.code == OK)
        out->text = bytes_of(lexer->text.data + out->start, out->end - out->start);
    return s;
}
