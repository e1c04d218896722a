/* Decimal: decimal128 taken apart.
 *
 * Layout of the high word: sign, then either two bits that are not 11, 14 bits of exponent together
 * and 49 bits of coefficient; or 11, which is infinity (11110), NaN (11111) or a coefficient beyond 34
 * digits. The standard gives coefficients beyond 10^34 - 1 the value zero.
 *
 * To binary with two integers: 10^n is 5^n times a power of two, so what is left is a product or a quotient. Only
 * exponents from -48 to 22 can be exact, and nearly all in use are among them; the others go by way of MPFR.
 *
 * Pure; callable from every thread. */
#include "value/decimal.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "value/decimal_library.h"
#include "value/raw.h"

enum { FIVES = 28, DOUBLE_BITS = 53 };

static const decimal_digits coefficient_limit = (decimal_digits)UINT64_C(100000000000000000) *
                                                UINT64_C(100000000000000000);

struct decimal decimal_unpack(const uint8_t raw[16])
{
    return decimal_of_words(raw_u64(raw), raw_u64(raw + 8));
}

struct decimal decimal_of_words(uint64_t low, uint64_t high)
{
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

/* ---- to binary -------------------------------------------------------------------------------------- */

static unsigned bit_count(decimal_digits digits)
{
    const uint64_t high = (uint64_t)(digits >> 64), low = (uint64_t)digits;

    return high  ? 128 - (unsigned)__builtin_clzll(high)
           : low ? 64 - (unsigned)__builtin_clzll(low)
                 : 0;
}

/* digits * 2^scale and, if is_more, something below. digits has at least 53 bits then. */
static double cut(decimal_digits digits, bool is_more, int scale, bool *is_exact_out)
{
    const unsigned bits = bit_count(digits);
    const unsigned surplus = bits > DOUBLE_BITS ? bits - DOUBLE_BITS : 0;
    const uint64_t kept = (uint64_t)(digits >> surplus);

    *is_exact_out = !is_more && (decimal_digits)kept << surplus == digits;
    return ldexp((double)kept, scale + (int)surplus);
}

/* 5^0 to 5^27, the last one that fits. */
static const uint64_t fives[FIVES] = {
    1,
    5,
    25,
    125,
    625,
    3125,
    15625,
    78125,
    390625,
    1953125,
    9765625,
    48828125,
    244140625,
    1220703125,
    6103515625,
    30517578125,
    152587890625,
    762939453125,
    3814697265625,
    19073486328125,
    95367431640625,
    476837158203125,
    2384185791015625,
    11920928955078125,
    59604644775390625,
    298023223876953125,
    1490116119384765625,
    7450580596923828125,
};

static double cut_product(decimal_digits digits, int exponent, bool *is_exact_out)
{
    const uint64_t factor = fives[exponent];
    const decimal_digits low = (decimal_digits)(uint64_t)digits * factor;
    const decimal_digits high = (digits >> 64) * factor + (low >> 64);

    if (high >> 64 == 0)
        return cut(high << 64 | (uint64_t)low, false, exponent, is_exact_out);
    return cut(high, (uint64_t)low != 0, exponent + 64, is_exact_out);
}

/* Long division, until there are as many bits as a double has. */
static double cut_quotient(decimal_digits digits, int exponent, bool *is_exact_out)
{
    const decimal_digits divisor = exponent < FIVES ? fives[exponent]
                                                    : (decimal_digits)fives[FIVES - 1] *
                                                          fives[exponent - (FIVES - 1)];
    const unsigned free_bits = 128 - bit_count(divisor);
    const unsigned step = free_bits < 64 ? free_bits : 64;
    decimal_digits quotient = digits / divisor, rest = digits % divisor;
    int scale = -exponent;

    while (rest != 0 && quotient >> (DOUBLE_BITS - 1) == 0) {
        rest <<= step;
        quotient = quotient << step | rest / divisor;
        rest %= divisor;
        scale -= (int)step;
    }
    return cut(quotient, rest != 0, scale, is_exact_out);
}

void decimal_to_mpfr(struct decimal decimal, mpfr_prec_t power_bits, mpfr_ptr out)
{
    mpfr_t coefficient, power;

    ASSERT(decimal.kind == DECIMAL_FINITE);
    mpfr_init2(coefficient, 128);
    mpfr_init2(power, power_bits);
    mpfr_set_ui_2exp(coefficient, (uint64_t)(decimal.coefficient >> 64), 64, MPFR_RNDZ);
    mpfr_add_ui(coefficient, coefficient, (uint64_t)decimal.coefficient, MPFR_RNDZ);
    mpfr_ui_pow_ui(power, 10, (unsigned)abs(decimal.exponent), MPFR_RNDZ);
    if (decimal.exponent < 0)
        mpfr_div(out, coefficient, power, MPFR_RNDZ);
    else
        mpfr_mul(out, coefficient, power, MPFR_RNDZ);
    mpfr_setsign(out, out, decimal.is_negative, MPFR_RNDZ);
    mpfr_clear(power);
    mpfr_clear(coefficient);
}

/* Beyond the exponents that can be exact; of a decimal that is not negative. */
static double cut_far(struct decimal decimal)
{
    enum { POWER_BITS = 896 }; /* 10^359 has 834, not counting the zeros at its end */
    mpfr_t number;

    if (decimal.exponent > DBL_MAX_10_EXP)
        return DBL_MAX;
    if (decimal.exponent < -359)
        return 0;
    mpfr_init2(number, DOUBLE_BITS);
    decimal_to_mpfr(decimal, POWER_BITS, number);
    const double result = mpfr_get_d(number, MPFR_RNDZ);
    mpfr_clear(number);
    return result;
}

double decimal_truncate(const uint8_t raw[16], bool *is_exact_out)
{
    struct decimal d = decimal_unpack(raw);
    const bool is_negative = d.is_negative;
    double magnitude = 0;

    ASSERT(d.kind == DECIMAL_FINITE);
    d.is_negative = false;
    *is_exact_out = d.coefficient == 0;
    if (d.coefficient == 0)
        magnitude = 0;
    else if (d.exponent >= 0 && d.exponent < FIVES)
        magnitude = cut_product(d.coefficient, d.exponent, is_exact_out);
    else if (d.exponent < 0 && d.exponent >= -48)
        magnitude = cut_quotient(d.coefficient, -d.exponent, is_exact_out);
    else
        magnitude = cut_far(d);
    return is_negative ? -magnitude : magnitude;
}
