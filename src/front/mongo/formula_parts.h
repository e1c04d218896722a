/* What the files of the expression parser share. Private to it. */
#ifndef FRONT_MONGO_FORMULA_PARTS_H
#define FRONT_MONGO_FORMULA_PARTS_H

#include "front/mongo/formula.h"

struct formula_parser {
    struct arena *arena;
    struct fault *fault;
    const struct formula_scope *scope;
    bool is_redact; /* $$DESCEND, $$PRUNE and $$KEEP are known */
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

/* formula_named.c */
struct formula_row;
/* The operator of that name, or NULL. */
const struct formula_row *formula_row_find(bytes name);
MUST_USE status formula_row_parse(struct formula_parser *p, const struct formula_row *row,
                                  struct field call, const struct formula **out);
/* An argument that must be an object, with no other names than these; some may be NULL. */
MUST_USE status formula_need_object(struct formula_parser *p, struct field call);
MUST_USE status formula_check_names(struct formula_parser *p, struct field call,
                                    const char *const *names, size_t count);
/* The argument of that name; NULL if it is not there and need not be. */
MUST_USE status formula_parse_argument(struct formula_parser *p, struct field call,
                                       const char *name, bool is_needed,
                                       const struct formula **out);
MUST_USE status formula_missing(struct formula_parser *p, bytes name, const char *argument);

/* formula_special.c: operators that are parsed in their own way. */
typedef status formula_special(struct formula_parser *p, struct field call,
                               const struct formula **out);
#define OPERATOR(name, formula)
#define DATED(name, formula)
#define NAMED(name, formula, least, ...)
#define SPECIAL(name, function, sentence) formula_special formula_special_##function;
#include "front/mongo/formula.def"
#undef OPERATOR
#undef DATED
#undef NAMED
#undef SPECIAL

#endif
