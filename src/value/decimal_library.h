/* The libraries for decimal128: Intel's for arithmetic, MPFR for the functions, and numbers in their forms.
 * Private to this room. */
#ifndef VALUE_DECIMAL_LIBRARY_H
#define VALUE_DECIMAL_LIBRARY_H

#include <stdio.h>

#include <mpfr.h>

#include <bid_conf.h>

#include <bid_functions.h>

#include "value/decimal.h"
#include "value/value.h"

enum { DECIMAL_BYTES = 16 };

BID_UINT128 decimal_of_raw(const uint8_t raw[DECIMAL_BYTES]);
/* A value of its own, in the arena. */
MUST_USE status decimal_give(struct arena *arena, BID_UINT128 packed, struct value *out);

/* A finite one, cut toward zero to the precision of out, by way of a power of ten with so many bits. */
void decimal_to_mpfr(struct decimal decimal, mpfr_prec_t power_bits, mpfr_ptr out);

/* The nearest decimal to what one of exp, logarithms, angles and hyperbolic functions gives, half to even. Which of
 * the ways to write it (2, 2.00) is what Intel's library chooses. NaN or an infinity outside of what it is
 * defined for. */
BID_UINT128 decimal_function(enum number_function function, BID_UINT128 x);
/* The angle of the point (x, y). */
BID_UINT128 decimal_angle(BID_UINT128 y, BID_UINT128 x);
BID_UINT128 decimal_power(BID_UINT128 x, BID_UINT128 y);

#endif
