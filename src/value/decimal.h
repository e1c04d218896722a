/* Decimal128 as BSON stores it (the binary integer encoding, low word first): taken apart, and cut to
 * a double. Private to this room. */
#ifndef VALUE_DECIMAL_H
#define VALUE_DECIMAL_H

#include "base/base.h"

enum { DECIMAL_DIGITS_MAX = 34, DECIMAL_EXPONENT_MIN = -6176 };

typedef unsigned __int128 decimal_digits;

enum decimal_kind { DECIMAL_FINITE, DECIMAL_INFINITE, DECIMAL_NAN };

/* (-1)^is_negative * coefficient * 10^exponent */
struct decimal {
    enum decimal_kind kind;
    bool is_negative;
    decimal_digits coefficient;
    int exponent;
};

struct decimal decimal_unpack(const uint8_t raw[16]);
struct decimal decimal_of_words(uint64_t low, uint64_t high);

/* Moves factors of ten from the coefficient (not 0) to the exponent until none is left. */
struct decimal decimal_without_zeros(struct decimal decimal);

/* A finite value cut toward zero to a double; the largest double where it is beyond. */
double decimal_truncate(const uint8_t raw[16], bool *is_exact_out);

#endif
