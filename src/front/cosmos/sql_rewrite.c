/* SQL rewrite: a query as it is asked of each of several ranges, so that the answers can be put together.
 *
 * Rows then carry what that takes:
 *
 *     ORDER BY      {"_rid", "orderByItems": [{"item": key}, ...], "payload": row}
 *     GROUP BY      {"groupByItems": [{"item": key}, ...], "payload": {name: value | partial, ...}}
 *     aggregates    {"payload": {name: partial, ...}}, or with VALUE [partial]
 *     partial       {"item": value}, {"item": {"sum", "count"}} of AVG, and of MIN and MAX also
 *                   {"item2": {"min" | "max", "count"}}
 *
 * Where rows are put together by groups or told apart, it is too early to skip or to stop: those clauses are
 * left out. Elsewhere a range has to give what might be skipped in another one.
 *
 * Pure apart from the arena of the buffer. Start reading at sql_rewrite(). */
#include "front/cosmos/sql_rewrite.h"

#include <inttypes.h>

#include "front/cosmos/sql_lexer.h"
#include "front/front.h"

struct writer {
    const struct query *query;
    const struct sql_layout *layout;
    const char *filter;
    struct buffer *out;
};

/* ---- aggregates ------------------------------------------------------------------------------------- */

enum partial { PARTIAL_PLAIN, PARTIAL_AVERAGE, PARTIAL_EXTREME };

struct aggregate_form {
    const char *name;
    const char *plan_name; /* as plans call it */
    enum partial partial;
    const char *key; /* of PARTIAL_EXTREME */
};

static const struct aggregate_form aggregate_forms[] = {
    {"AVG",       "Average",  PARTIAL_AVERAGE, ""   },
    { "COUNT",    "Count",    PARTIAL_PLAIN,   ""   },
    { "COUNTIF",  "CountIf",  PARTIAL_PLAIN,   ""   },
    { "MAKELIST", "MakeList", PARTIAL_PLAIN,   ""   },
    { "MAKESET",  "MakeSet",  PARTIAL_PLAIN,   ""   },
    { "MAX",      "Max",      PARTIAL_EXTREME, "max"},
    { "MIN",      "Min",      PARTIAL_EXTREME, "min"},
    { "SUM",      "Sum",      PARTIAL_PLAIN,   ""   },
};

bool sql_has_aggregate(const struct expression *x)
{
    if (x->kind == EXPRESSION_AGGREGATE)
        return true;
    for (size_t i = 0; i < x->count; i++) {
        if (sql_has_aggregate(x->args[i]))
            return true;
    }
    return false;
}

/* What an expression that is an aggregate and nothing else calls; NULL if its text begins otherwise. */
static const struct aggregate_form *form_of(bytes text)
{
    size_t len = 0;

    while (len < text.len && ((text.data[len] | 0x20) >= 'a' && (text.data[len] | 0x20) <= 'z'))
        len++;
    for (size_t i = 0; i < ARRAY_COUNT(aggregate_forms); i++) {
        if (sql_is_word(bytes_of(text.data, len), aggregate_forms[i].name))
            return &aggregate_forms[i];
    }
    return NULL;
}

/* "f(x)" without "f(" and ")". */
static bytes argument_of(bytes text)
{
    const uint8_t *open = memchr(text.data, '(', text.len);

    if (!open || text.data[text.len - 1] != ')')
        return BYTES_NONE;
    return bytes_of(open + 1, (size_t)(text.data + text.len - 1 - (open + 1)));
}

const char *sql_aggregate_name(bytes text)
{
    const struct aggregate_form *form = form_of(text);

    return form && argument_of(text).len ? form->plan_name : NULL;
}

static void write_bytes(struct writer *w, bytes text)
{
    buffer_append(w->out, text);
}

static void write_text(struct writer *w, const char *text)
{
    buffer_append_text(w->out, text);
}

/* NAME(argument) */
static void write_call(struct writer *w, const char *name, bytes argument)
{
    write_text(w, name);
    write_text(w, "(");
    write_bytes(w, argument);
    write_text(w, ")");
}

static void write_partial(struct writer *w, bytes text)
{
    const struct aggregate_form *form = form_of(text);
    bytes argument = argument_of(text);

    switch (form->partial) {
    case PARTIAL_PLAIN:
        write_text(w, "{\"item\": ");
        write_call(w, form->name, argument);
        write_text(w, "}");
        return;
    case PARTIAL_AVERAGE:
        write_text(w, "{\"item\": {\"sum\": ");
        write_call(w, "SUM", argument);
        write_text(w, ", \"count\": ");
        write_call(w, "COUNT", argument);
        write_text(w, "}}");
        return;
    case PARTIAL_EXTREME:
        write_text(w, "{\"item\": ");
        write_call(w, form->name, argument);
        buffer_append_format(w->out, ", \"item2\": {\"%s\": ", form->key);
        write_call(w, form->name, argument);
        write_text(w, ", \"count\": ");
        write_call(w, "COUNT", argument);
        write_text(w, "}}");
        return;
    }
}

/* ---- the other query -------------------------------------------------------------------------------- */

const struct expression *sql_column(const struct query *query, size_t i)
{
    return query->is_output_bare ? query->output : query->output->args[i];
}

/* A row as the original query gives it, with partial aggregates in their places. */
static void write_payload(struct writer *w)
{
    const struct sql_pieces *columns = &w->layout->columns;

    if (w->layout->is_star) {
        write_bytes(w, w->layout->root);
        return;
    }
    bool is_bare = w->query->is_output_bare;
    write_text(w, is_bare ? "" : "{");
    for (size_t i = 0; i < columns->count; i++) {
        bool is_partial = sql_has_aggregate(sql_column(w->query, i));
        write_text(w, i ? ", " : "");
        if (!is_bare) {
            http_append_json_text(w->out, w->query->output->names[i]);
            write_text(w, ": ");
        }
        write_text(w, is_partial && is_bare ? "[" : "");
        if (is_partial)
            write_partial(w, columns->texts[i]);
        else
            write_bytes(w, columns->texts[i]);
        write_text(w, is_partial && is_bare ? "]" : "");
    }
    write_text(w, is_bare ? "" : "}");
}

/* [{"item": key}, ...] AS name */
static void write_items(struct writer *w, const struct sql_pieces *keys, const char *name)
{
    write_text(w, "[");
    for (size_t i = 0; i < keys->count; i++) {
        write_text(w, i ? ", {\"item\": " : "{\"item\": ");
        write_bytes(w, keys->texts[i]);
        write_text(w, "}");
    }
    buffer_append_format(w->out, "] AS %s", name);
}

static void write_clause(struct writer *w, const char *words, bytes text)
{
    if (text.len == 0)
        return;
    write_text(w, words);
    write_bytes(w, text);
}

static void write_where(struct writer *w)
{
    if (w->layout->where.len == 0)
        return;
    write_clause(w, "\nWHERE (", w->layout->where);
    write_text(w, ")");
}

static void write_ordered(struct writer *w)
{
    const struct query *query = w->query;
    bytes where = w->layout->where;

    write_text(w, "SELECT ");
    if (query->has_top && !query->is_distinct)
        buffer_append_format(w->out, "TOP %" PRIu64 " ", query->limit);
    write_bytes(w, w->layout->root);
    write_text(w, "._rid, ");
    write_items(w, &w->layout->orders, "orderByItems");
    write_text(w, ", ");
    write_payload(w);
    write_text(w, " AS payload");
    write_clause(w, "\nFROM ", w->layout->from);
    buffer_append_format(w->out, "\nWHERE ((%s)", w->filter);
    if (where.len) {
        write_text(w, " AND (");
        write_bytes(w, where);
        write_text(w, ")");
    }
    if (query->is_output_bare) {
        write_text(w, " AND IS_DEFINED(");
        write_payload(w);
        write_text(w, ")");
    }
    write_text(w, ")");
    write_clause(w, "\nORDER BY ", w->layout->order);
    if (query->has_skip && !query->is_distinct)
        buffer_append_format(w->out, "\nOFFSET 0 LIMIT %" PRIu64, query->skip + query->limit);
}

static void write_grouped(struct writer *w)
{
    bool is_value = w->query->is_output_bare && w->layout->groups.count == 0;

    write_text(w, is_value ? "SELECT VALUE " : "SELECT ");
    if (w->layout->groups.count) {
        write_items(w, &w->layout->groups, "groupByItems");
        write_text(w, ", ");
    }
    write_payload(w);
    write_text(w, is_value ? "" : " AS payload");
    write_clause(w, "\nFROM ", w->layout->from);
    write_where(w);
    write_clause(w, "\nGROUP BY ", w->layout->group);
}

static void write_rows(struct writer *w)
{
    const struct query *query = w->query;

    write_text(w, query->is_distinct ? "SELECT DISTINCT " : "SELECT ");
    if (query->has_top && !query->is_distinct)
        buffer_append_format(w->out, "TOP %" PRIu64 " ", query->limit);
    write_text(w, query->is_output_bare ? "VALUE " : "");
    write_bytes(w, w->layout->select);
    write_clause(w, "\nFROM ", w->layout->from);
    write_where(w);
    if (query->has_skip && !query->is_distinct)
        buffer_append_format(w->out, "\nOFFSET 0 LIMIT %" PRIu64, query->skip + query->limit);
}

void sql_rewrite(struct buffer *out, enum sql_form form, const struct query *query,
                 const struct sql_layout *layout, const char *filter)
{
    struct writer w = { query, layout, filter, out };

    switch (form) {
    case SQL_FORM_ROWS:
        write_rows(&w);
        return;
    case SQL_FORM_ORDERED:
        write_ordered(&w);
        return;
    case SQL_FORM_GROUPED:
        write_grouped(&w);
        return;
    }
}

/* ---- what a client has put into it ------------------------------------------------------------------ */

/* Is the condition on a line of its own, as write_ordered() has it? Somebody who writes a query of the same shape by
 * hand means what he writes. */
static bool has_own_line(bytes text, bytes where)
{
    static const char line[] = "\nWHERE ";
    size_t at = (size_t)(where.data - text.data);

    return at >= strlen(line) && memcmp(where.data - strlen(line), line, strlen(line)) == 0;
}

/* Has the text the columns that write_ordered() gives, and does its condition begin with one of the client's? */
static bool is_ordered_form(bytes text, const struct sql_layout *layout)
{
    const struct sql_pieces *columns = &layout->columns;

    return layout->where.len > 0 && has_own_line(text, layout->where) && columns->count == 3 &&
           layout->root.len > 0 && layout->orders.count > 0 &&
           columns->texts[0].len == layout->root.len + strlen("._rid") &&
           bytes_starts_with(columns->texts[0], layout->root) &&
           bytes_starts_with(columns->texts[1], BYTES_LITERAL("[{\"item\": ")) &&
           bytes_starts_with(layout->where, BYTES_LITERAL("(("));
}

/* Finds where the bracket is closed that was opened in front of `at`. */
static status find_bracket_end(struct sql_lexer *lexer, size_t *out)
{
    struct sql_token token;

    for (int depth = 1; depth > 0;) {
        TRY(sql_lex(lexer, &token));
        if (token.kind == TOKEN_END)
            break;
        if (token.kind == TOKEN_SYMBOL && token.symbol == '(')
            depth++;
        if (token.kind == TOKEN_SYMBOL && token.symbol == ')')
            depth--;
        *out = token.start;
    }
    return STATUS_OK;
}

status sql_without_filter(struct arena *arena, bytes text, bytes *out)
{
    struct buffer built = buffer_in(arena);
    struct sql_layout layout;
    struct sql_error error;

    *out = text;
    TRY(sql_layout(arena, text, &layout));
    if (!is_ordered_form(text, &layout))
        return STATUS_OK;
    size_t start = (size_t)(layout.where.data - text.data) + strlen("(("), end = start;
    struct sql_lexer lexer = { .arena = arena, .text = text, .at = start, .error = &error };
    TRY(find_bracket_end(&lexer, &end));
    buffer_append(&built, bytes_of(text.data, start));
    buffer_append_text(&built, "true");
    buffer_append(&built, bytes_from(text, end));
    return buffer_finish(&built, out);
}
