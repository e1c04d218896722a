/* Formula named: the table of operators of expressions, and those that it describes fully.
 *
 * A row says how an operator takes its arguments: as a list, by names, as a date with or without a zone, or in
 * a way of its own (formula_special.c). The table is sorted by name.
 *
 * Threads: pure apart from the arena. Start reading at formula_row_parse(). */
#include "front/mongo/formula_parts.h"

#include <stdlib.h>

enum { NAMES_MAX = 11 };

enum row_shape { ROW_LIST, ROW_DATE, ROW_NAMES, ROW_SPECIAL };

struct formula_row {
    const char *name;
    enum row_shape shape;
    enum formula_operator operator;
    size_t least;
    const char *arguments[NAMES_MAX];
    formula_special *special;
    const char *sentence; /* NULL: that of the operator */
};

#define DATE_NAMES "date", "timezone"

static const struct formula_row table[] = {
#define OPERATOR(name, formula) { name, ROW_LIST, FORMULA_##formula, 0, { NULL }, NULL, NULL },
#define DATED(name, formula) { name, ROW_DATE, FORMULA_##formula, 1, { DATE_NAMES }, NULL, NULL },
#define NAMED(name, formula, least, ...) \
    { name, ROW_NAMES, FORMULA_##formula, least, { __VA_ARGS__ }, NULL, NULL },
#define SPECIAL(name, function, sentence) \
    { name, ROW_SPECIAL, FORMULA_COUNT, 0, { NULL }, formula_special_##function, sentence },
#include "front/mongo/formula.def"
#undef OPERATOR
#undef DATED
#undef NAMED
#undef SPECIAL
};

static int compare_name(const void *name, const void *row)
{
    return bytes_compare(*(const bytes *)name,
                         bytes_of_text(((const struct formula_row *)row)->name));
}

const struct formula_row *formula_row_find(bytes name)
{
    return bsearch(&name, table, ARRAY_COUNT(table), sizeof(table[0]), compare_name);
}

/* ---- names ------------------------------------------------------------------------------------------ */

static int say_len(bytes name)
{
    return (int)name.len;
}

status formula_missing(struct formula_parser *p, bytes name, const char *argument)
{
    return fault_raise(p->arena, p->fault, 40415, "Missing '%s' parameter to %.*s", argument,
                       say_len(name), (const char *)name.data);
}

static status unknown(struct formula_parser *p, bytes name, bytes argument)
{
    return fault_raise(p->arena, p->fault, 40415, "%.*s found an unknown argument: %.*s",
                       say_len(name), (const char *)name.data, say_len(argument),
                       (const char *)argument.data);
}

status formula_need_object(struct formula_parser *p, struct field call)
{
    if (call.value.type == VALUE_DOCUMENT)
        return STATUS_OK;
    return fault_raise(p->arena, p->fault, ERROR_FailedToParse,
                       "%.*s only supports an object as its argument", say_len(call.name),
                       (const char *)call.name.data);
}

/* No other names than these. */
status formula_check_names(struct formula_parser *p, struct field call, const char *const *names,
                           size_t count)
{
    struct document_walk walk = document_fields(value_document(call.value));
    struct field field;

    while (document_next(&walk, &field)) {
        size_t i = 0;
        while (i < count && !(names[i] && formula_is_named(field.name, names[i])))
            i++;
        if (i == count)
            return unknown(p, call.name, field.name);
    }
    return STATUS_OK;
}

status formula_parse_argument(struct formula_parser *p, struct field call, const char *name,
                              bool is_needed, const struct formula **out)
{
    struct value value;

    *out = NULL;
    if (document_find(value_document(call.value), name, &value)) {
        bool is_zone = value.type == VALUE_STRING && value_text(value).len &&
                       value_text(value).data[0] != '$' && strcmp(name, "timezone") == 0;
        return is_zone ? formula_zone(p->arena, value, out) : formula_parse_value(p, value, out);
    }
    return is_needed ? formula_missing(p, call.name, name) : STATUS_OK;
}

static status parse_names(struct formula_parser *p, struct field call,
                          const struct formula_row *row, const struct formula **out)
{
    const struct formula *args[NAMES_MAX];
    size_t count = 0;

    TRY(formula_need_object(p, call));
    TRY(formula_check_names(p, call, row->arguments, NAMES_MAX));
    for (; count < NAMES_MAX && row->arguments[count]; count++)
        TRY(formula_parse_argument(p, call, row->arguments[count], count < row->least,
                                   &args[count]));
    while (count > row->least && !args[count - 1])
        count--;
    return formula_call(p->arena, row->operator, 0, args, count, out);
}

/* ---- lists ------------------------------------------------------------------------------------------ */

static status check_arity(struct formula_parser *p, bytes name, struct formula_arity arity,
                          size_t count)
{
    if (count >= arity.least && count <= arity.most)
        return STATUS_OK;
    if (arity.least == arity.most)
        return fault_raise(p->arena, p->fault, 16020,
                           "Expression %.*s takes exactly %zu arguments. %zu were passed in.",
                           (int)name.len, (const char *)name.data, arity.least, count);
    return fault_raise(
        p->arena, p->fault, 28667,
        "Expression %.*s takes at least %zu arguments, and at most %zu, but %zu were "
        "passed in.",
        (int)name.len, (const char *)name.data, arity.least, arity.most, count);
}

static status parse_list(struct formula_parser *p, struct field call, const struct formula_row *row,
                         const struct formula **out)
{
    struct formula_arity arity = formula_arity(row->operator);
    struct formula_arguments arguments;

    if (row->shape == ROW_DATE)
        arity.most = 1;
    if (call.value.type == VALUE_ARRAY) {
        TRY(formula_parse_list(p, value_document(call.value), &arguments));
    } else {
        arguments.count = 1;
        TRY(ARENA_NEW(p->arena, 1, &arguments.items));
        TRY(formula_parse_value(p, call.value, &arguments.items[0]));
    }
    TRY(check_arity(p, call.name, arity, arguments.count));
    return formula_call(p->arena, row->operator, 0, arguments.items, arguments.count, out);
}

/* Is it a document of names, not one that is an expression? */
static bool has_names(struct value value)
{
    struct document_walk walk;
    struct field first;

    if (value.type != VALUE_DOCUMENT)
        return false;
    walk = document_fields(value_document(value));
    return document_next(&walk, &first) && !(first.name.len && first.name.data[0] == '$');
}

status formula_row_parse(struct formula_parser *p, const struct formula_row *row, struct field call,
                         const struct formula **out)
{
    switch (row->shape) {
    case ROW_SPECIAL:
        return row->special(p, call, out);
    case ROW_NAMES:
        return parse_names(p, call, row, out);
    case ROW_DATE:
        if (has_names(call.value))
            return parse_names(p, call, row, out);
        break;
    case ROW_LIST:
        break;
    }
    return parse_list(p, call, row, out);
}

/* ---- the page --------------------------------------------------------------------------------------- */

static void describe_arguments(const struct formula_row *row, struct buffer *out)
{
    bool is_special = row->shape == ROW_SPECIAL;

    for (size_t i = 0; i < NAMES_MAX && row->arguments[i]; i++)
        buffer_append_format(out, "%s%s%s", i ? ", " : "", row->arguments[i],
                             i < row->least ? "" : "?");
    if (row->shape == ROW_DATE)
        buffer_append_text(out, ", or the date alone");
    if (row->shape != ROW_LIST)
        return;
    struct formula_arity arity = formula_arity(row->operator);
    buffer_append_format(out, is_special ? "" : "%zu", arity.least);
    if (arity.most == LIMIT_QUERY_ARGUMENTS)
        buffer_append_text(out, " or more");
    else if (arity.most != arity.least)
        buffer_append_format(out, " to %zu", arity.most);
}

void formula_describe(struct buffer *out)
{
    for (size_t i = 0; i < ARRAY_COUNT(table); i++) {
        const struct formula_row *row = &table[i];
        buffer_append_format(out, "| `%s` | ", row->name);
        describe_arguments(row, out);
        buffer_append_format(out, " | %s |\n",
                             row->sentence ? row->sentence : formula_sentence(row->operator));
    }
}
