/* What the functions of expressions share: taking arguments, and giving results that stay within bounds.
 * Private to this room. */
#ifndef QUERY_CALL_H
#define QUERY_CALL_H

#include "query/evaluate.h"

/* The values of the arguments, in order; those that were not given are missing. `room` is at least what
 * the function may be given. */
MUST_USE status call_take(struct evaluation *evaluation, const struct expression *call,
                          struct value *values, size_t room);
/* Was the argument given at all? */
bool call_has(const struct expression *call, size_t argument);
bool value_is_text(struct value value);
bool value_is_whole(struct value value); /* of an integer type, whatever its size */

/* What was kept of a literal argument, or NULL. */
const void *call_kept(const struct evaluation *evaluation, const struct expression *argument);
/* Where to make something of the argument: if it will be kept, it outlives the row. */
struct arena *call_home(const struct evaluation *evaluation, const struct expression *argument);
/* Keeps what was made there, if the argument is a literal and there is room. */
void call_keep(struct evaluation *evaluation, const struct expression *argument, const void *thing);

/* Missing if the number is not finite. */
MUST_USE status call_give_real(struct evaluation *evaluation, double real, struct value *out);
MUST_USE status call_give_whole(struct evaluation *evaluation, int64_t whole, struct value *out);
/* TOO_LARGE past LIMIT_QUERY_VALUE_BYTES. */
MUST_USE status call_give_text(struct evaluation *evaluation, bytes text, struct value *out);
/* TOO_LARGE if a value of so many bytes would be: for loops that build one. */
MUST_USE status call_check_size(struct evaluation *evaluation, size_t len);

/* An array that grows. Missing values are left out. */
struct call_list {
    struct evaluation *evaluation;
    struct buffer built;
    size_t begun;
    size_t count;
};
struct call_list call_list_begin(struct evaluation *evaluation);
void call_list_add(struct call_list *list, struct value value);
MUST_USE status call_list_end(struct call_list *list, struct value *out);

#endif
