/* SQL functions: the names of the functions, and what they mean.
 *
 * One table, sql_functions.def, says which function of the query room a name stands for. How many arguments
 * it takes and what it does is said there, in query/functions.def. Aggregates are a table of their own,
 * sql_aggregates.def.
 *
 * Pure; callable from every thread. */
#include "front/cosmos/cosmos.h"
#include "front/cosmos/sql_parser.h"

static const struct {
    const char *name;
    enum function function;
    const char *tests;
} table[] = {
#define SQL_FUNCTION(name, function, tests) { #name, FUNCTION_##function, tests },
#include "front/cosmos/sql_functions.def"
#undef SQL_FUNCTION
};

bool sql_find_function(bytes name, enum function *out)
{
    for (size_t i = 0; i < ARRAY_COUNT(table); i++) {
        if (sql_is_word(name, table[i].name)) {
            *out = table[i].function;
            return true;
        }
    }
    return false;
}

static const struct {
    const char *name;
    enum aggregate_kind kind;
    const char *what;
    const char *tests;
} aggregates[] = {
#define SQL_AGGREGATE(name, kind, what, tests) { #name, AGGREGATE_##kind, what, tests },
#include "front/cosmos/sql_aggregates.def"
#undef SQL_AGGREGATE
};

bool sql_find_aggregate(bytes name, enum aggregate_kind *out)
{
    for (size_t i = 0; i < ARRAY_COUNT(aggregates); i++) {
        if (sql_is_word(name, aggregates[i].name)) {
            *out = aggregates[i].kind;
            return true;
        }
    }
    return false;
}

static void append_arity(struct buffer *out, struct function_arity arity)
{
    if (arity.most == LIMIT_QUERY_ARGUMENTS)
        buffer_append_format(out, "%zu or more", arity.least);
    else if (arity.least == arity.most)
        buffer_append_format(out, "%zu", arity.least);
    else
        buffer_append_format(out, "%zu to %zu", arity.least, arity.most);
}

void cosmos_describe_functions(struct buffer *out)
{
    buffer_append_text(out,
                       "| function | arguments | what it gives | tests |\n|---|---|---|---|\n");
    for (size_t i = 0; i < ARRAY_COUNT(table); i++) {
        buffer_append_format(out, "| `%s` | ", table[i].name);
        append_arity(out, function_arity(table[i].function));
        buffer_append_format(out, " | %s | %s |\n", function_sentence(table[i].function),
                             table[i].tests);
    }
    buffer_append_text(out, "\nOver many rows, in the columns, and in the ORDER BY of groups:\n\n"
                            "| aggregate | what it gives | tests |\n|---|---|---|\n");
    for (size_t i = 0; i < ARRAY_COUNT(aggregates); i++)
        buffer_append_format(out, "| `%s` | %s | %s |\n", aggregates[i].name, aggregates[i].what,
                             aggregates[i].tests);
}
