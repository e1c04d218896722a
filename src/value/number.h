/* Numbers of all four types in one form that compares exactly and encodes as a key. Private to this
 * room. */
#ifndef VALUE_NUMBER_H
#define VALUE_NUMBER_H

#include "value/decimal.h"
#include "value/value.h"

/* In order. */
enum number_class {
    NUMBER_NAN,
    NUMBER_MINUS_INFINITY,
    NUMBER_NEGATIVE,
    NUMBER_ZERO,
    NUMBER_POSITIVE,
    NUMBER_PLUS_INFINITY,
};

/* The magnitude cut toward zero to a double, as its bit image (whose order is the order of positive
 * doubles); if that lost something, the exact magnitude as decimal digits without trailing zeros. */
struct number {
    enum number_class class;
    bool is_exact;
    uint64_t image;
    decimal_digits coefficient;
    int exponent;
};

struct number number_of(struct value value);
int number_compare(struct value a, struct value b);

/* Decimal digits of a coefficient that is not 0. */
int number_digit_count(decimal_digits coefficient);
/* False if the number is not whole or beyond int64. */
bool number_as_int64(struct value value, int64_t *out);

#endif
