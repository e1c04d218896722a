/* Tables of SQL expressions and what they give, for tests of functions. */
#ifndef TESTS_SUPPORT_CALLS_H
#define TESTS_SUPPORT_CALLS_H

#include "tests/support/ask.h"

struct call_row {
    const char *expression;
    const char *want; /* as JSON; "" for a missing value; or the failure, as ask_list() says it */
};

#define CALL(text, answer) \
    {                      \
        text, answer       \
    }

/* Each expression as SELECT VALUE expression FROM c over one document:
 * { n: 7, f: 2.5, s: 'abc', t: true, z: null, a: [1,2,3], o: { k: 1 } }. */
void check_calls(const struct call_row *rows, size_t count);
#define CHECK_CALLS(rows) check_calls(rows, sizeof(rows) / sizeof((rows)[0]))

/* The number that an expression gives; ends the test if it is none. */
double call_number(const char *expression);

#endif
