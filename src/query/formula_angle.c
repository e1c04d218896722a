/* Operators of formulas on angles and on bits.
 *
 * Null or missing in, null out. Angles are in radians; arguments outside of what a function is defined for are
 * refused. Bits are those of whole numbers.
 *
 * Pure apart from the run's arena. */
#include <math.h>

#include "query/formula_body.h"

/* ---- angles ----------------------------------------------------------------------------------------- */

enum domain { DOMAIN_ALL, DOMAIN_FINITE, DOMAIN_UNIT, DOMAIN_FROM_ONE };

static bool is_inside(enum domain domain, double x)
{
    switch (domain) {
    case DOMAIN_ALL:
        return true;
    case DOMAIN_FINITE:
        return !isinf(x);
    case DOMAIN_UNIT:
        return isnan(x) || (x >= -1 && x <= 1);
    case DOMAIN_FROM_ONE:
        return isnan(x) || x >= 1;
    }
    return false;
}

static status angle_of(const struct formula *call, struct formula_run *run, const char *name,
                       enum domain domain, enum number_function function, struct value *out)
{
    static const char *const bounds[] = { "", "(-inf,inf)", "[-1,1]", "[1,inf]" };
    struct value value;
    bool is_null;

    TRY(formula_take_number(call, run, 0, name, 28765, &value, &is_null));
    if (is_null)
        return formula_give_null(out);
    if (!is_inside(domain, value_as_double(value)))
        return formula_refuse(run, 50989, "cannot apply %s to %g, value must be in %s", name,
                              value_as_double(value), bounds[domain]);
    return number_apply(run->arena, function, value, out);
}

#define ANGLE(name, text, domain, function)                                                       \
    status formula_##name(const struct formula *call, struct formula_run *run, struct value *out) \
    {                                                                                             \
        return angle_of(call, run, text, domain, function, out);                                  \
    }

ANGLE(acos, "$acos", DOMAIN_UNIT, NUMBER_ACOS)
ANGLE(acosh, "$acosh", DOMAIN_FROM_ONE, NUMBER_ACOSH)
ANGLE(asin, "$asin", DOMAIN_UNIT, NUMBER_ASIN)
ANGLE(asinh, "$asinh", DOMAIN_ALL, NUMBER_ASINH)
ANGLE(atan, "$atan", DOMAIN_ALL, NUMBER_ATAN)
ANGLE(atanh, "$atanh", DOMAIN_UNIT, NUMBER_ATANH)
ANGLE(cos, "$cos", DOMAIN_FINITE, NUMBER_COS)
ANGLE(cosh, "$cosh", DOMAIN_ALL, NUMBER_COSH)
ANGLE(degrees, "$radiansToDegrees", DOMAIN_ALL, NUMBER_DEGREES)
ANGLE(radians, "$degreesToRadians", DOMAIN_ALL, NUMBER_RADIANS)
ANGLE(sin, "$sin", DOMAIN_FINITE, NUMBER_SIN)
ANGLE(sinh, "$sinh", DOMAIN_ALL, NUMBER_SINH)
ANGLE(tan, "$tan", DOMAIN_FINITE, NUMBER_TAN)
ANGLE(tanh, "$tanh", DOMAIN_ALL, NUMBER_TANH)

status formula_atan2(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct value a, b;
    bool is_null_a, is_null_b;

    TRY(formula_take_number(call, run, 0, "$atan2", 51044, &a, &is_null_a));
    TRY(formula_take_number(call, run, 1, "$atan2", 51045, &b, &is_null_b));
    if (is_null_a || is_null_b)
        return formula_give_null(out);
    return number_pair(run->arena, NUMBER_ATAN2, a, b, out);
}

/* ---- bits ------------------------------------------------------------------------------------------- */

static bool is_integer(struct value value)
{
    return value.type == VALUE_INT32 || value.type == VALUE_INT64;
}

static status take_bits(const struct formula *call, struct formula_run *run, size_t at,
                        const char *name, struct value *out, bool *is_null_out)
{
    TRY(formula_argument(call, run, at, out));
    *is_null_out = formula_is_null(*out);
    if (*is_null_out || is_integer(*out))
        return STATUS_OK;
    return formula_refuse(run, 14, "%s only supports int and long operands, not %s", name,
                          value_type_name(out->type));
}

static status join_bits(const struct formula *call, struct formula_run *run, const char *name,
                        char operation, struct value *out)
{
    int64_t all = operation == '&' ? -1 : 0, bits = 0;
    bool is_long = false, has_null = false, is_null;
    struct value value;

    for (size_t i = 0; i < call->count; i++) {
        TRY(take_bits(call, run, i, name, &value, &is_null));
        has_null |= is_null;
        if (is_null || !value_as_int64(value, &bits))
            continue;
        is_long |= value.type == VALUE_INT64;
        all = operation == '&' ? all & bits : operation == '|' ? all | bits : all ^ bits;
    }
    if (has_null)
        return formula_give_null(out);
    return value_of_integer(run->arena, is_long ? VALUE_INT64 : VALUE_INT32, all, out);
}

status formula_bit_and(const struct formula *call, struct formula_run *run, struct value *out)
{
    return join_bits(call, run, "$bitAnd", '&', out);
}

status formula_bit_or(const struct formula *call, struct formula_run *run, struct value *out)
{
    return join_bits(call, run, "$bitOr", '|', out);
}

status formula_bit_xor(const struct formula *call, struct formula_run *run, struct value *out)
{
    return join_bits(call, run, "$bitXor", '^', out);
}

status formula_bit_not(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct value value;
    bool is_null;
    int64_t bits = 0;

    TRY(take_bits(call, run, 0, "$bitNot", &value, &is_null));
    if (is_null || !value_as_int64(value, &bits))
        return formula_give_null(out);
    return value_of_integer(run->arena, value.type, ~bits, out);
}
