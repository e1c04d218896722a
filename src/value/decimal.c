/* Decimal: decimal128 taken apart.
 *
 * Layout of the high word: sign, then either two bits that are not 11, 14 bits of exponent together
 * and 49 bits of coefficient; or 11, which is infinity (11110), NaN (11111) or a coefficient beyond 34
 * digits. The standard gives coefficients beyond 10^34 - 1 the value zero. The conversion to binary is
 * left to Intel's library, the variant that takes rounding mode and flags as arguments and so has no
 * global state.
 *
 * Pure; callable from every thread. */
#include "value/decimal.h"

#include <bid_conf.h>

#include <bid_functions.h>

#include "value/raw.h"

static const decimal_digits coefficient_limit = (decimal_digits)UINT64_C(100000000000000000) *
                                                UINT64_C(100000000000000000);

struct decimal decimal_unpack(const uint8_t raw[16])
{
    const uint64_t low = raw_u64(raw);
    const uint64_t high = raw_u64(raw + 8);
    struct decimal d = { .is_negative = high >> 63 };
    const unsigned top_five = (unsigned)(high >> 58) & 0x1F;

    if (top_five >= 0x1E) {
        d.kind = top_five == 0x1F ? DECIMAL_NAN : DECIMAL_INFINITE;
        return d;
    }
    if (top_five >= 0x18) {
        d.exponent = (int)(high >> 47 & 0x3FFF) + DECIMAL_EXPONENT_MIN;
        return d;
    }
    d.exponent = (int)(high >> 49 & 0x3FFF) + DECIMAL_EXPONENT_MIN;
    d.coefficient = (decimal_digits)(high & ((UINT64_C(1) << 49) - 1)) << 64 | low;
    if (d.coefficient >= coefficient_limit)
        d.coefficient = 0;
    return d;
}

struct decimal decimal_without_zeros(struct decimal decimal)
{
    ASSERT(decimal.coefficient != 0);
    while (decimal.coefficient % 10 == 0) {
        decimal.coefficient /= 10;
        decimal.exponent++;
    }
    return decimal;
}

double decimal_truncate(const uint8_t raw[16], bool *is_exact_out)
{
    BID_UINT128 packed = {
        .w = {raw_u64(raw), raw_u64(raw + 8)}
    };
    unsigned flags = 0;
    double cut = bid128_to_binary64(packed, BID_ROUNDING_TO_ZERO, &flags);

    *is_exact_out = (flags & BID_INEXACT_EXCEPTION) == 0;
    return cut;
}
