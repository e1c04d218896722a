/* The operator of formulas that gives the key which a hashed index would hold.
 *
 * Pure apart from the run's arena. */
#include "query/formula_body.h"

status formula_hashed_key(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct value value;
    int64_t key;

    TRY(formula_argument(call, run, 0, &value));
    TRY(value_digest(run->arena, value, &key));
    return value_of_integer(run->arena, VALUE_INT64, key, out);
}
