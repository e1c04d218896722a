/* Calls: SQL expressions against what they should give.
 *
 * Threads: the test's thread. */
#include "tests/support/calls.h"

#include <stdlib.h>

enum { BUDGET = 256 * 1024 * 1024 };

static const char document[] =
    "[{'n':7,'f':2.5,'s':'abc','t':true,'z':null,'a':[1,2,3],'o':{'k':1}}]";

static const char *ask_value(struct arena *arena, const char *expression)
{
    const char *sql = arena_format(arena, "SELECT VALUE %s FROM c", expression);

    return ask_list(arena, document, sql, NULL);
}

void check_calls(const struct call_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct arena *arena = arena_open(BUDGET);
        const char *got = ask_value(arena, rows[i].expression);
        bool is_failure = got[0] != '[';
        const char *want = is_failure ? rows[i].want : arena_format(arena, "[%s]", rows[i].want);
        CHECK_THAT(strcmp(got, want) == 0, "%s gives %s, want %s", rows[i].expression, got, want);
        arena_close(arena);
    }
}

double call_number(const char *expression)
{
    struct arena *arena = arena_open(BUDGET);
    const char *got = ask_value(arena, expression);
    char *end;

    CHECK_THAT(got[0] == '[', "%s gives %s", expression, got);
    double number = strtod(got + 1, &end);
    CHECK_THAT(end != got + 1 && strcmp(end, "]") == 0, "%s gives %s", expression, got);
    arena_close(arena);
    return number;
}
