/* What the files of the expression parser share. Private to it. */
#ifndef FRONT_MONGO_FORMULA_PARTS_H
#define FRONT_MONGO_FORMULA_PARTS_H

#include "front/mongo/formula.h"

struct formula_parser {
    struct arena *arena;
    struct fault *fault;
    const struct formula_scope *scope;
};

struct formula_arguments {
    const struct formula **items;
    size_t count;
};

bool formula_is_named(bytes name, const char *text);
MUST_USE status formula_parse_value(struct formula_parser *p, struct value expression,
                                    const struct formula **out);
MUST_USE status formula_parse_list(struct formula_parser *p, bytes array,
                                   struct formula_arguments *out);
/* One more variable, inside of those that are there; p->scope has it first. */
MUST_USE status formula_bind(struct formula_parser *p, bytes name);

/* formula_named.c: operators with named arguments; *is_done_out is false if it is none of them. */
MUST_USE status formula_parse_named(struct formula_parser *p, struct field call,
                                    const struct formula **out, bool *is_done_out);

#endif
