/* A filter of a command, ready to be asked. Inside the face only. */
#ifndef FRONT_MONGO_CONDITION_H
#define FRONT_MONGO_CONDITION_H

#include "front/mongo/command.h"
#include "front/mongo/formula.h"

/* In the arena that it was made in; immutable, but for what it says about the last document. */
struct condition {
    bytes filter;
    const struct match *match;
    const struct formula_scope *scope; /* of `let`, and of texts */
    struct value variables[FORMULA_VARIABLES_MAX];
    struct random random;        /* of $rand */
    const struct search *search; /* of $text, bound by condition_bind; NULL: nothing is searched */
    const struct collation *collation; /* how texts compare; NULL: by their bytes */
};

/* `let` may be empty. Both are copied. Raises a fault for what is not acceptable. */
MUST_USE status condition_make(struct command *command, struct arena *arena, bytes filter,
                               bytes let, const struct collation *by, struct condition **out);
/* For this command, a condition that searches texts needs the text index of the collection. Raises 27 if there is
 * none. */
MUST_USE status condition_bind(struct command *command, struct condition *condition,
                               const struct collection *collection);
/* Does the document, as clients see it, fulfil the condition? `scratch` is used and given back. */
MUST_USE status condition_holds(struct command *command, struct condition *condition,
                                struct arena *scratch, bytes document, struct matching *matching,
                                bool *out);
/* How formulas are computed in this command; results go to `arena`. */
struct formula_run condition_run(struct command *command, struct condition *condition,
                                 struct arena *arena);

#endif
