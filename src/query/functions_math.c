/* Functions of mathematics: angles, powers, logarithms, chance.
 *
 * They compute with doubles. Where the result is not a finite number (the root of a negative number, the
 * logarithm of 0) it is missing.
 *
 * Pure apart from the row's arena; function_random asks the system. */
#include "query/call.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

typedef double real_function(double x);

static status of_one(struct evaluation *e, const struct expression *call, real_function *function,
                     struct value *out)
{
    struct value x;

    TRY(call_take(e, call, &x, 1));
    return value_is_number(x) ? call_give_real(e, function(value_as_double(x)), out) : STATUS_OK;
}

static status of_two(struct evaluation *e, const struct expression *call,
                     double (*function)(double, double), struct value *out)
{
    struct value v[2];

    TRY(call_take(e, call, v, 2));
    if (!value_is_number(v[0]) || !value_is_number(v[1]))
        return STATUS_OK;
    return call_give_real(e, function(value_as_double(v[0]), value_as_double(v[1])), out);
}

/* ---- angles ----------------------------------------------------------------------------------------- */

static double cot(double x)
{
    return 1 / tan(x);
}

static double degrees(double x)
{
    return x * (180 / pi);
}

static double radians(double x)
{
    return x * pi / 180;
}

status function_acos(struct evaluation *e, const struct expression *call, struct value *out)
{
    return of_one(e, call, acos, out);
}

status function_asin(struct evaluation *e, const struct expression *call, struct value *out)
{
    return of_one(e, call, asin, out);
}

status function_atan(struct evaluation *e, const struct expression *call, struct value *out)
{
    return of_one(e, call, atan, out);
}

status function_atan2(struct evaluation *e, const struct expression *call, struct value *out)
{
    return of_two(e, call, atan2, out);
}

status function_cos(struct evaluation *e, const struct expression *call, struct value *out)
{
    return of_one(e, call, cos, out);
}

status function_cot(struct evaluation *e, const struct expression *call, struct value *out)
{
    return of_one(e, call, cot, out);
}

status function_degrees(struct evaluation *e, const struct expression *call, struct value *out)
{
    return of_one(e, call, degrees, out);
}

status function_pi(struct evaluation *e, const struct expression *call, struct value *out)
{
    (void)call;
    return call_give_real(e, pi, out);
}

status function_radians(struct evaluation *e, const struct expression *call, struct value *out)
{
    return of_one(e, call, radians, out);
}

status function_sin(struct evaluation *e, const struct expression *call, struct value *out)
{
    return of_one(e, call, sin, out);
}

status function_tan(struct evaluation *e, const struct expression *call, struct value *out)
{
    return of_one(e, call, tan, out);
}

/* ---- powers and logarithms -------------------------------------------------------------------------- */

status function_exp(struct evaluation *e, const struct expression *call, struct value *out)
{
    return of_one(e, call, exp, out);
}

/* With the logarithms that C has for the bases it has them for, so that LOG(8, 2) is 3. */
static double log_base(double x, double base)
{
    if (base == 2)
        return log2(x);
    return base == 10 ? log10(x) : log(x) / log(base);
}

status function_log(struct evaluation *e, const struct expression *call, struct value *out)
{
    return call_has(call, 1) ? of_two(e, call, log_base, out) : of_one(e, call, log, out);
}

status function_log10(struct evaluation *e, const struct expression *call, struct value *out)
{
    return of_one(e, call, log10, out);
}

status function_power(struct evaluation *e, const struct expression *call, struct value *out)
{
    return of_two(e, call, pow, out);
}

status function_sqrt(struct evaluation *e, const struct expression *call, struct value *out)
{
    return of_one(e, call, sqrt, out);
}

status function_square(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct value x;
    int64_t whole, square;

    TRY(call_take(e, call, &x, 1));
    if (!value_is_number(x))
        return STATUS_OK;
    if (value_is_whole(x) && value_as_int64(x, &whole) &&
        !__builtin_mul_overflow(whole, whole, &square))
        return call_give_whole(e, square, out);
    return call_give_real(e, value_as_double(x) * value_as_double(x), out);
}

/* ---- signs, steps, chance --------------------------------------------------------------------------- */

status function_sign(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct value x;

    TRY(call_take(e, call, &x, 1));
    double real = value_is_number(x) ? value_as_double(x) : NAN;
    return isnan(real) ? STATUS_OK : call_give_whole(e, (real > 0) - (real < 0), out);
}

status function_number_bin(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct value v[2];

    TRY(call_take(e, call, v, 2));
    if (!value_is_number(v[0]) || (call_has(call, 1) && !value_is_number(v[1])))
        return STATUS_OK;
    double size = call_has(call, 1) ? value_as_double(v[1]) : 1;
    return call_give_real(e, size == 0 ? NAN : floor(value_as_double(v[0]) / size) * size, out);
}

status function_random(struct evaluation *e, const struct expression *call, struct value *out)
{
    uint64_t bits;

    (void)call;
    random_secret(&bits, sizeof(bits));
    /* As many bits as a double holds: every result is exact, and 1 is none of them. */
    return call_give_real(e, (double)(bits >> 11) * 0x1p-53, out);
}
