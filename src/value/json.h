/* Numbers and errors of JSON texts, shared by the files that read and write them. Private to this
 * room. */
#ifndef VALUE_JSON_H
#define VALUE_JSON_H

#include "value/value.h"

/* INVALID: "JSON offset N: expected <what>, found <what is there>". */
status json_expected(struct arena *arena, bytes text, size_t at, const char *what);

struct json_number {
    bool is_integer;
    int64_t integer;
    double real;
};

/* The number that starts at `*at` of the text, which is moved behind it. */
MUST_USE status json_number_read(struct arena *arena, bytes text, size_t *at,
                                 struct json_number *out);
void json_integer_write(struct buffer *out, int64_t integer);
/* A finite double, the shortest way that reads back the same value. */
void json_number_write(struct buffer *out, double real);

#endif
