/* The Intel library for decimal128, and numbers in its form. Private to this room. */
#ifndef VALUE_DECIMAL_LIBRARY_H
#define VALUE_DECIMAL_LIBRARY_H

#include <stdio.h>

#include <bid_conf.h>

#include <bid_functions.h>

#include "value/value.h"

enum { DECIMAL_BYTES = 16 };

BID_UINT128 decimal_of_raw(const uint8_t raw[DECIMAL_BYTES]);
/* A value of its own, in the arena. */
MUST_USE status decimal_give(struct arena *arena, BID_UINT128 packed, struct value *out);

#endif
