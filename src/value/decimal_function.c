/* Functions of decimals: exp, logarithms, powers, angles.
 *
 * MPFR computes with as many bits as one asks for and rounds correctly. So an argument becomes a binary number that
 * is near enough, the result is computed with more digits than a decimal has, and rounded once. Only where those
 * digits do not tell on which side of a half the result lies (the second half of them is 5000... or 4999...) is it
 * computed again with twice as many; if they do not tell then, the result is that half, as 15^29 is.
 *
 * A decimal can be written in more ways than one, 2 or 2.000, and clients see which. The choice is that of Intel's
 * library, which computes in 113 bits: results that are exact there come without zeros at their end, all
 * others with 34 digits. It is MongoDB's library, so where it rounds correctly the two agree. Its own quirks are
 * kept for arguments that somebody may use, which are 0 and 1.
 *
 * Callable from every thread. MPFR keeps constants (pi, ln 2) for each thread, without which most functions take
 * three times as long; they are given back when the thread ends. Start reading at decimal_function(). */
#include <pthread.h>
#include <stdlib.h>

#include "value/decimal_library.h"

enum {
    FIRST_BITS = 168,
    FIRST_DIGITS = 48,
    DIGITS_MAX = 90, /* more than it needs to tell how 1 - 5E-35 + 1.25E-69 is rounded */
    /* How far an error in the argument can grow: close to 1 a logarithm loses all 34 digits, and so does a tangent
     * beside its pole. */
    MARGIN_BITS = 160,
    /* Of which the exponential is beyond every decimal, or below. */
    EXPONENTIAL_MAX = 15000,
    BINARY_EXPONENT_MAX = 20600,
    INTEL_BITS = 113,
};

static const BID_UINT128 not_a_number = {
    .w = {0, UINT64_C(0x7c00000000000000)}
};

static BID_UINT128 pack(bool is_negative, decimal_digits coefficient, int exponent)
{
    BID_UINT128 packed;

    packed.w[0] = (uint64_t)coefficient;
    packed.w[1] = (uint64_t)is_negative << 63 | (uint64_t)(exponent - DECIMAL_EXPONENT_MIN) << 49 |
                  (uint64_t)(coefficient >> 64);
    return packed;
}

static BID_UINT128 infinity(bool is_negative)
{
    return (BID_UINT128){
        .w = {0, (uint64_t)is_negative << 63 | UINT64_C(0x7800000000000000)}
    };
}

static struct decimal unpack(BID_UINT128 x)
{
    return decimal_of_words(x.w[0], x.w[1]);
}

static BID_UINT128 multiply(BID_UINT128 x, BID_UINT128 y)
{
    unsigned flags = 0;

    return bid128_mul(x, y, BID_ROUNDING_TO_NEAREST, &flags);
}

/* The same number or NaN, as the library writes it. */
static BID_UINT128 canonical(BID_UINT128 x)
{
    return multiply(x, pack(false, 1, 0));
}

/* ---- the thread ------------------------------------------------------------------------------------- */

/* tidy: global because the end of a thread has no other hook; made once, and never changed. */
static pthread_key_t constants_key;
/* tidy: global because it guards the key */
static pthread_once_t constants_once = PTHREAD_ONCE_INIT;

static void constants_give_back(void *unused)
{
    (void)unused;
    mpfr_free_cache();
}

static void constants_make_key(void)
{
    ASSERT(pthread_key_create(&constants_key, constants_give_back) == 0);
}

/* Without memory for the mark, some hundred bytes of the thread are not given back. */
static void constants_give_back_at_the_end(void)
{
    ASSERT(pthread_once(&constants_once, constants_make_key) == 0);
    if (pthread_getspecific(constants_key) == NULL)
        (void)pthread_setspecific(constants_key, &constants_once);
}

/* ---- computing -------------------------------------------------------------------------------------- */

typedef int unary(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t rounding);

struct question {
    unary *function; /* of x; or one of the two below */
    bool is_angle, is_power;
    struct decimal x, y;
};

static unary *const functions[NUMBER_FUNCTIONS] = {
    [NUMBER_ACOS] = mpfr_acos,   [NUMBER_ACOSH] = mpfr_acosh, [NUMBER_ASIN] = mpfr_asin,
    [NUMBER_ASINH] = mpfr_asinh, [NUMBER_ATAN] = mpfr_atan,   [NUMBER_ATANH] = mpfr_atanh,
    [NUMBER_COS] = mpfr_cos,     [NUMBER_COSH] = mpfr_cosh,   [NUMBER_EXP] = mpfr_exp,
    [NUMBER_LN] = mpfr_log,      [NUMBER_LOG10] = mpfr_log10, [NUMBER_SIN] = mpfr_sin,
    [NUMBER_SINH] = mpfr_sinh,   [NUMBER_TAN] = mpfr_tan,     [NUMBER_TANH] = mpfr_tanh,
};

static bool is_periodic(unary *function)
{
    return function == mpfr_sin || function == mpfr_cos || function == mpfr_tan;
}

static bool is_exponential(unary *function)
{
    return function == mpfr_exp || function == mpfr_sinh || function == mpfr_cosh;
}

/* Whole turns are taken off a large angle, so its bits before the point count too: at most 20,500. */
static mpfr_prec_t angle_bits(struct decimal x)
{
    const int digits = x.exponent + DECIMAL_DIGITS_MAX;

    return x.coefficient == 0 || digits <= 0 ? 0 : digits * 10 / 3 + 1;
}

static void widen(struct decimal x, mpfr_prec_t bits, mpfr_ptr out)
{
    mpfr_init2(out, bits);
    if (x.kind == DECIMAL_FINITE)
        decimal_to_mpfr(x, bits, out);
    else if (x.kind == DECIMAL_INFINITE)
        mpfr_set_inf(out, x.is_negative ? -1 : 1);
    else
        mpfr_set_nan(out);
}

static void clamp(mpfr_ptr x)
{
    if (mpfr_number_p(x) && mpfr_cmpabs_ui(x, EXPONENTIAL_MAX) > 0)
        mpfr_set_si(x, mpfr_sgn(x) < 0 ? -EXPONENTIAL_MAX : EXPONENTIAL_MAX, MPFR_RNDZ);
}

static void compute(const struct question *question, mpfr_ptr out)
{
    unary *const function = question->function;
    mpfr_prec_t bits = mpfr_get_prec(out) + MARGIN_BITS;
    mpfr_t x, y;

    if (is_periodic(function))
        bits += angle_bits(question->x);
    widen(question->x, bits, x);
    if (function) {
        if (is_exponential(function))
            clamp(x);
        function(out, x, MPFR_RNDN);
        mpfr_clear(x);
        return;
    }
    widen(question->y, bits, y);
    if (question->is_angle) {
        mpfr_atan2(out, y, x, MPFR_RNDN);
    } else {
        mpfr_log(x, x, MPFR_RNDN);
        mpfr_mul(x, x, y, MPFR_RNDN);
        clamp(x);
        mpfr_exp(out, x, MPFR_RNDN);
    }
    mpfr_clear(y);
    mpfr_clear(x);
}

/* ---- rounding --------------------------------------------------------------------------------------- */

/* 0.digits * 10^point, and so many digits to keep: the rest is as near to a half as can be told. */
static bool is_in_doubt(const char *digits, mpfr_exp_t point)
{
    const mpfr_exp_t room = point - DECIMAL_EXPONENT_MIN;
    const mpfr_exp_t kept = room < DECIMAL_DIGITS_MAX ? room : DECIMAL_DIGITS_MAX;

    if (kept < 0 || (digits[kept] != '4' && digits[kept] != '5'))
        return false;
    const char same = digits[kept] == '4' ? '9' : '0';
    const char *rest = digits + kept + 1;
    size_t count = 0;
    while (rest[count] == same)
        count++;
    return rest[count] == 0 || rest[count + 1] == 0;
}

static BID_UINT128 round_digits(bool is_negative, const char *digits, mpfr_exp_t point)
{
    char text[DIGITS_MAX + 32];
    unsigned flags = 0;

    snprintf(text, sizeof(text), "%s0.%sE%ld", is_negative ? "-" : "", digits, point);
    return bid128_from_string(text, BID_ROUNDING_TO_NEAREST, &flags);
}

/* Without zeros at its end, if the library would have computed just this number: one with at most 48 bits behind the
 * point, to which the result is equal in 113 bits. */
static BID_UINT128 shorten(BID_UINT128 rounded, mpfr_srcptr result)
{
    struct decimal d = unpack(rounded);
    mpfr_t exact, near;

    if (d.exponent >= 0 || d.coefficient == 0 || d.coefficient % 10 != 0)
        return rounded;
    while (d.exponent < 0 && d.coefficient % 10 == 0) {
        d.coefficient /= 10;
        d.exponent++;
    }
    decimal_digits odd = d.coefficient;
    for (int i = d.exponent; i < 0; i++) {
        if (odd % 5 != 0)
            return rounded;
        odd /= 5;
    }
    mpfr_inits2(INTEL_BITS, exact, near, NULL);
    decimal_to_mpfr(d, 2 * INTEL_BITS, exact);
    mpfr_set(near, result, MPFR_RNDN);
    if (mpfr_cmpabs(exact, near) == 0)
        rounded = pack(d.is_negative, d.coefficient, d.exponent);
    mpfr_clears(exact, near, NULL);
    return rounded;
}

static BID_UINT128 answer_finite(const struct question *question, mpfr_ptr result)
{
    const bool is_negative = mpfr_signbit(result);
    char digits[DIGITS_MAX + 2];
    mpfr_exp_t point;

    if (mpfr_get_exp(result) > BINARY_EXPONENT_MAX)
        return infinity(is_negative);
    if (mpfr_get_exp(result) < -BINARY_EXPONENT_MAX)
        return pack(is_negative, 0, DECIMAL_EXPONENT_MIN);
    mpfr_abs(result, result, MPFR_RNDN);
    mpfr_get_str(digits, &point, 10, FIRST_DIGITS, result, MPFR_RNDN);
    if (is_in_doubt(digits, point)) {
        mpfr_set_prec(result, 2 * FIRST_BITS);
        compute(question, result);
        mpfr_abs(result, result, MPFR_RNDN);
        mpfr_get_str(digits, &point, 10, DIGITS_MAX, result, MPFR_RNDN);
    }
    const BID_UINT128 rounded = round_digits(is_negative, digits, point);
    return question->is_power ? rounded : shorten(rounded, result);
}

static BID_UINT128 answer(const struct question *question)
{
    BID_UINT128 packed;
    mpfr_t result;

    constants_give_back_at_the_end();
    mpfr_init2(result, FIRST_BITS);
    compute(question, result);
    if (mpfr_nan_p(result))
        packed = not_a_number;
    else if (mpfr_inf_p(result))
        packed = infinity(mpfr_signbit(result));
    else if (mpfr_zero_p(result))
        packed = pack(mpfr_signbit(result), 0, 0);
    else
        packed = answer_finite(question, result);
    mpfr_clear(result);
    return packed;
}

/* ---- one argument ----------------------------------------------------------------------------------- */

/* Functions that are 0 there keep the sign; what the library makes of the exponent differs. */
static bool answer_of_zero(enum number_function function, BID_UINT128 x, BID_UINT128 *out)
{
    /* Not all of enum number_function is one of ours. */
    if (function == NUMBER_SIN || function == NUMBER_ATAN || function == NUMBER_TANH)
        *out = canonical(x);
    else if (function == NUMBER_TAN || function == NUMBER_ASIN || function == NUMBER_SINH)
        *out = multiply(x, pack(false, 1, -40));
    else if (function == NUMBER_ASINH || function == NUMBER_ATANH)
        *out = pack(x.w[1] >> 63, 0, DECIMAL_EXPONENT_MIN);
    else if (function == NUMBER_COS || function == NUMBER_COSH)
        *out = bid128_quantize(pack(false, 1, 0), pack(false, 1, -33), BID_ROUNDING_TO_NEAREST,
                               &(unsigned){ 0 });
    else
        return false;
    return true;
}

BID_UINT128 decimal_function(enum number_function function, BID_UINT128 x)
{
    const struct question question = { .function = functions[function], .x = unpack(x) };
    BID_UINT128 out;

    ASSERT(question.function != NULL);
    if (question.x.kind == DECIMAL_NAN)
        return canonical(x);
    if (question.x.kind == DECIMAL_FINITE) {
        if (question.x.coefficient == 0 && answer_of_zero(function, x, &out))
            return out;
        if (function == NUMBER_ATANH && question.x.exponent <= -51)
            return x;
    }
    out = answer(&question);
    if (function == NUMBER_ACOS && bid128_isZero(out))
        return pack(false, 0, DECIMAL_EXPONENT_MIN);
    return out;
}

/* ---- two arguments ---------------------------------------------------------------------------------- */

static bool is_zero(struct decimal x)
{
    return x.kind == DECIMAL_FINITE && x.coefficient == 0;
}

/* Beside the positive half of the axis the angle is y / x, and the library stops there. */
static bool answer_of_small_angle(BID_UINT128 y, BID_UINT128 x, BID_UINT128 *out)
{
    unsigned flags = 0;

    *out = bid128_div(y, x, BID_ROUNDING_TO_NEAREST, &flags);
    return bid128_quiet_less(bid128_abs(*out), pack(false, 1, -36), &flags);
}

BID_UINT128 decimal_angle(BID_UINT128 y, BID_UINT128 x)
{
    const struct question question = { .is_angle = true, .x = unpack(x), .y = unpack(y) };
    const bool is_finite = question.x.kind == DECIMAL_FINITE && question.y.kind == DECIMAL_FINITE;
    BID_UINT128 out;

    if (question.y.kind == DECIMAL_NAN)
        return canonical(y);
    if (question.x.kind == DECIMAL_NAN)
        return canonical(x);
    if (is_finite && !is_zero(question.y) && !is_zero(question.x) && !question.x.is_negative &&
        answer_of_small_angle(y, x, &out))
        return out;
    out = answer(&question);
    if (bid128_isZero(out))
        return pack(question.y.is_negative, 0, DECIMAL_EXPONENT_MIN);
    /* An eighth of a turn, between two infinities, has one digit less. */
    if (!is_finite && question.x.kind == question.y.kind && !question.x.is_negative)
        return bid128_quantize(out, pack(false, 1, -33), BID_ROUNDING_TO_NEAREST, &(unsigned){ 0 });
    return out;
}

/* x^count by squaring, as long as nothing is lost. */
static bool power_is_exact(BID_UINT128 x, uint64_t count, BID_UINT128 *out)
{
    unsigned flags = 0;

    *out = pack(false, 1, 0);
    for (; flags == 0 && count != 0; count >>= 1) {
        if (count & 1)
            *out = bid128_mul(*out, x, BID_ROUNDING_TO_NEAREST, &flags);
        if (count > 1)
            x = bid128_mul(x, x, BID_ROUNDING_TO_NEAREST, &flags);
    }
    return flags == 0;
}

enum parity { PARITY_NONE, PARITY_EVEN, PARITY_ODD };

/* None: not whole. */
static enum parity parity_of(struct decimal y)
{
    y = decimal_without_zeros(y);
    if (y.exponent < 0)
        return PARITY_NONE;
    return y.exponent == 0 && y.coefficient % 2 == 1 ? PARITY_ODD : PARITY_EVEN;
}

/* One of the two is 0 or not finite, or x is 1: the rules of pow() in C, which MPFR knows. */
static BID_UINT128 power_by_rule(BID_UINT128 x, BID_UINT128 y)
{
    const struct decimal base = unpack(x), exponent = unpack(y);
    BID_UINT128 out = pack(false, 1, 0);
    mpfr_t a, b;

    widen(base, MARGIN_BITS, a);
    widen(exponent, MARGIN_BITS, b);
    mpfr_pow(a, a, b, MPFR_RNDN);
    if (mpfr_nan_p(a))
        out = canonical(base.kind == DECIMAL_NAN ? x : y);
    else if (mpfr_inf_p(a))
        out = infinity(mpfr_signbit(a));
    else if (mpfr_zero_p(a))
        out = pack(mpfr_signbit(a), 0, 0);
    mpfr_clear(b);
    mpfr_clear(a);
    return out;
}

BID_UINT128 decimal_power(BID_UINT128 x, BID_UINT128 y)
{
    struct question question = { .is_power = true, .x = unpack(x), .y = unpack(y) };
    const bool is_finite = question.x.kind == DECIMAL_FINITE && question.y.kind == DECIMAL_FINITE;
    const BID_UINT128 one = pack(false, 1, 0);
    unsigned flags = 0;
    BID_UINT128 out;
    int count;

    if (!is_finite || is_zero(question.x) || is_zero(question.y) ||
        bid128_quiet_equal(x, one, &flags))
        return power_by_rule(x, y);
    const enum parity parity = parity_of(question.y);
    if (question.x.is_negative && parity == PARITY_NONE)
        return not_a_number;
    if (parity != PARITY_NONE) {
        flags = 0;
        count = bid128_to_int32_xint(y, &flags);
        if (flags == 0 && power_is_exact(x, (uint64_t)llabs(count), &out))
            return count < 0 ? bid128_div(one, out, BID_ROUNDING_TO_NEAREST, &flags) : out;
    }
    question.x.is_negative = false;
    out = answer(&question);
    return parity == PARITY_ODD && x.w[1] >> 63 ? bid128_negate(out) : out;
}
