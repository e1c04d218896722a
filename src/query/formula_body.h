/* What the operators of formulas share. Private to this room. */
#ifndef QUERY_FORMULA_BODY_H
#define QUERY_FORMULA_BODY_H

#include "query/call.h"
#include "query/formula.h"

typedef status formula_body(const struct formula *call, struct formula_run *run, struct value *out);

#define FORMULA(name, least, most, what) formula_body formula_##name;
#include "query/formula.def"
#undef FORMULA

/* The value of an argument; missing if it was not given. */
MUST_USE status formula_argument(const struct formula *call, struct formula_run *run, size_t at,
                                 struct value *out);
/* Null, undefined or missing. */
bool formula_is_null(struct value value);
/* INVALID with the number that tells why. */
#define formula_refuse(...) status_of(INVALID, formula_note_refusal(__VA_ARGS__))
const char *formula_note_refusal(struct formula_run *run, int32_t number, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

MUST_USE status formula_give_null(struct value *out);
MUST_USE status formula_give_int(struct formula_run *run, int64_t number, struct value *out);
MUST_USE status formula_give_text(struct formula_run *run, bytes text, struct value *out);

/* An array that grows; TOO_LARGE past LIMIT_QUERY_VALUE_BYTES. */
struct formula_list {
    struct formula_run *run;
    struct buffer built;
    size_t begun;
    size_t count;
};
struct formula_list formula_list_begin(struct formula_run *run);
void formula_list_add(struct formula_list *list, struct value value);
MUST_USE status formula_list_end(struct formula_list *list, struct value *out);

/* In `arena`: the values of an array, as a plain list. */
struct formula_values {
    struct value *items;
    size_t count;
};
MUST_USE status formula_values_of(struct formula_run *run, struct value array,
                                  struct formula_values *out);
/* The elements of the array that an argument is; *is_null_out if there are none because it is null. What is no
 * array is refused with the number. */
MUST_USE status formula_take_array(const struct formula *call, struct formula_run *run, size_t at,
                                   const char *what, int32_t number, struct formula_values *out,
                                   bool *is_null_out);
/* [ items[from], ... ], at most so many. */
MUST_USE status formula_give_range(struct formula_run *run, const struct formula_values *values,
                                   size_t from, size_t count, struct value *out);
/* The arguments, or the elements if there is one that is an array. */
MUST_USE status formula_take_all(const struct formula *call, struct formula_run *run,
                                 struct formula_values *out);
/* An argument that is a number or null; refused with the number otherwise. */
MUST_USE status formula_take_number(const struct formula *call, struct formula_run *run, size_t at,
                                    const char *name, int32_t number, struct value *out,
                                    bool *is_null_out);
/* A string or null; refused with the number otherwise. */
bool formula_is_text(struct value value);
MUST_USE status formula_take_text(const struct formula *call, struct formula_run *run, size_t at,
                                  const char *what, int32_t number, bytes *out, bool *is_null_out);

/* a + b with integers that overflow as doubles; both are numbers. */
MUST_USE status formula_add_numbers(struct formula_run *run, struct value a, struct value b,
                                    struct value *out);
/* The date in a value that has one: date, ObjectId, timestamp. */
bool formula_as_date(struct value value, int64_t *ms_out);
/* A value as $toString sees it. */
MUST_USE status formula_text_of(struct formula_run *run, struct value value, struct value *out);

#endif
