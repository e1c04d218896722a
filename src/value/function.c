/* Functions of numbers: roots, logarithms, angles, rounding.
 *
 * Integers and doubles are computed as doubles, decimals by libraries that know more digits, so that a decimal never
 * loses any on the way. Arguments outside of what a function is defined for give NaN or an infinity;
 * whoever has to refuse them looks before.
 *
 * Pure apart from the arena; callable from every thread. Start reading at number_apply(). */
#include <math.h>

#include "value/decimal_library.h"
#include "value/value.h"

static double to_radians(double x)
{
    return x * (M_PI / 180);
}

static double to_degrees(double x)
{
    return x * (180 / M_PI);
}

static double (*const functions[NUMBER_FUNCTIONS])(double) = {
    [NUMBER_ACOS] = acos,
    [NUMBER_ACOSH] = acosh,
    [NUMBER_ASIN] = asin,
    [NUMBER_ASINH] = asinh,
    [NUMBER_ATAN] = atan,
    [NUMBER_ATANH] = atanh,
    [NUMBER_CEILING] = ceil,
    [NUMBER_COS] = cos,
    [NUMBER_COSH] = cosh,
    [NUMBER_DEGREES] = to_degrees,
    [NUMBER_EXP] = exp,
    [NUMBER_FLOOR] = floor,
    [NUMBER_LN] = log,
    [NUMBER_LOG10] = log10,
    [NUMBER_RADIANS] = to_radians,
    [NUMBER_SIN] = sin,
    [NUMBER_SINH] = sinh,
    [NUMBER_SQRT] = sqrt,
    [NUMBER_TAN] = tan,
    [NUMBER_TANH] = tanh,
};

static BID_UINT128 decimal_of_text(const char *text)
{
    char room[64];
    unsigned flags = 0;

    snprintf(room, sizeof(room), "%s", text);
    return bid128_from_string(room, BID_ROUNDING_TO_NEAREST, &flags);
}

/* Degrees of radians and back: multiplied by one half turn of the one and divided by that of the other. */
static BID_UINT128 turn(BID_UINT128 x, bool is_to_radians)
{
    BID_UINT128 pi = decimal_of_text("3.141592653589793238462643383279503");
    BID_UINT128 half_turn = decimal_of_text("180");
    unsigned flags = 0;

    x = bid128_mul(x, is_to_radians ? pi : half_turn, BID_ROUNDING_TO_NEAREST, &flags);
    return bid128_div(x, is_to_radians ? half_turn : pi, BID_ROUNDING_TO_NEAREST, &flags);
}

static BID_UINT128 apply_to_decimal(enum number_function function, BID_UINT128 x)
{
    unsigned flags = 0;

    if (function == NUMBER_CEILING)
        return bid128_round_integral_positive(x, &flags);
    if (function == NUMBER_FLOOR)
        return bid128_round_integral_negative(x, &flags);
    if (function == NUMBER_SQRT)
        return bid128_sqrt(x, BID_ROUNDING_TO_NEAREST, &flags);
    if (function == NUMBER_RADIANS || function == NUMBER_DEGREES)
        return turn(x, function == NUMBER_RADIANS);
    return decimal_function(function, x);
}

status number_apply(struct arena *arena, enum number_function function, struct value number,
                    struct value *out)
{
    ASSERT(value_is_number(number));
    if (number.type != VALUE_DECIMAL128)
        return value_of_double(arena, functions[function](value_as_double(number)), out);
    return decimal_give(arena, apply_to_decimal(function, decimal_of_raw(number.raw.data)), out);
}

static status as_decimal(struct arena *arena, struct value number, BID_UINT128 *out)
{
    struct value decimal;

    TRY(number_to_decimal(arena, number, &decimal));
    *out = decimal_of_raw(decimal.raw.data);
    return STATUS_OK;
}

status number_pair(struct arena *arena, enum number_pair pair, struct value a, struct value b,
                   struct value *out)
{
    BID_UINT128 x, y;
    unsigned flags = 0;

    ASSERT(value_is_number(a));
    ASSERT(value_is_number(b));
    if (a.type != VALUE_DECIMAL128 && b.type != VALUE_DECIMAL128) {
        double p = value_as_double(a), q = value_as_double(b);
        return value_of_double(arena,
                               pair == NUMBER_ATAN2 ? atan2(p, q)
                               : pair == NUMBER_POW ? pow(p, q)
                                                    : log(p) / log(q),
                               out);
    }
    TRY(as_decimal(arena, a, &x));
    TRY(as_decimal(arena, b, &y));
    switch (pair) {
    case NUMBER_ATAN2:
        x = decimal_angle(x, y);
        break;
    case NUMBER_POW:
        x = decimal_power(x, y);
        break;
    case NUMBER_LOG:
        x = bid128_div(decimal_function(NUMBER_LN, x), decimal_function(NUMBER_LN, y),
                       BID_ROUNDING_TO_NEAREST, &flags);
        break;
    }
    return decimal_give(arena, x, out);
}

status number_round_decimal(struct arena *arena, struct value number, int places, bool is_cut,
                            struct value *out)
{
    char text[16];
    unsigned flags = 0;

    ASSERT(number.type == VALUE_DECIMAL128);
    snprintf(text, sizeof(text), "1e%d", -places);
    BID_UINT128 x = decimal_of_raw(number.raw.data), rounded;
    rounded = bid128_quantize(x, decimal_of_text(text),
                              is_cut ? BID_ROUNDING_TO_ZERO : BID_ROUNDING_TO_NEAREST, &flags);
    /* More places than a decimal has: it is as exact as it can be already. */
    if (bid128_isNaN(rounded))
        rounded = x;
    return decimal_give(arena, rounded, out);
}
