/* Functions of numbers: roots, logarithms, angles, rounding.
 *
 * Integers and doubles are computed as doubles, decimals by the library made for them, so that a decimal never
 * loses digits on the way. Arguments outside of what a function is defined for give NaN or an infinity;
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

static const struct {
    double (*real)(double);
    BID_UINT128 (*rounded)(BID_UINT128, unsigned, unsigned *); /* one of the two, or neither */
    BID_UINT128 (*plain)(BID_UINT128, unsigned *);
} functions[NUMBER_FUNCTIONS] = {
    [NUMBER_ACOS] = {acos,        bid128_acos,  NULL                          },
    [NUMBER_ACOSH] = { acosh,      bid128_acosh, NULL                          },
    [NUMBER_ASIN] = { asin,       bid128_asin,  NULL                          },
    [NUMBER_ASINH] = { asinh,      bid128_asinh, NULL                          },
    [NUMBER_ATAN] = { atan,       bid128_atan,  NULL                          },
    [NUMBER_ATANH] = { atanh,      bid128_atanh, NULL                          },
    [NUMBER_CEILING] = { ceil,       NULL,         bid128_round_integral_positive},
    [NUMBER_COS] = { cos,        bid128_cos,   NULL                          },
    [NUMBER_COSH] = { cosh,       bid128_cosh,  NULL                          },
    [NUMBER_DEGREES] = { to_degrees, NULL,         NULL                          },
    [NUMBER_EXP] = { exp,        bid128_exp,   NULL                          },
    [NUMBER_FLOOR] = { floor,      NULL,         bid128_round_integral_negative},
    [NUMBER_LN] = { log,        bid128_log,   NULL                          },
    [NUMBER_LOG10] = { log10,      bid128_log10, NULL                          },
    [NUMBER_RADIANS] = { to_radians, NULL,         NULL                          },
    [NUMBER_SIN] = { sin,        bid128_sin,   NULL                          },
    [NUMBER_SINH] = { sinh,       bid128_sinh,  NULL                          },
    [NUMBER_SQRT] = { sqrt,       bid128_sqrt,  NULL                          },
    [NUMBER_TAN] = { tan,        bid128_tan,   NULL                          },
    [NUMBER_TANH] = { tanh,       bid128_tanh,  NULL                          },
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

status number_apply(struct arena *arena, enum number_function function, struct value number,
                    struct value *out)
{
    unsigned flags = 0;

    ASSERT(value_is_number(number));
    if (number.type != VALUE_DECIMAL128)
        return value_of_double(arena, functions[function].real(value_as_double(number)), out);
    BID_UINT128 x = decimal_of_raw(number.raw.data);
    if (functions[function].rounded)
        x = functions[function].rounded(x, BID_ROUNDING_TO_NEAREST, &flags);
    else if (functions[function].plain)
        x = functions[function].plain(x, &flags);
    else
        x = turn(x, function == NUMBER_RADIANS);
    return decimal_give(arena, x, out);
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
        x = bid128_atan2(x, y, BID_ROUNDING_TO_NEAREST, &flags);
        break;
    case NUMBER_POW:
        x = bid128_pow(x, y, BID_ROUNDING_TO_NEAREST, &flags);
        break;
    case NUMBER_LOG:
        x = bid128_div(bid128_log(x, BID_ROUNDING_TO_NEAREST, &flags),
                       bid128_log(y, BID_ROUNDING_TO_NEAREST, &flags), BID_ROUNDING_TO_NEAREST,
                       &flags);
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
