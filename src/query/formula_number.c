/* Operators of formulas on numbers.
 *
 * Null or missing in, null out. Integers stay integers while they fit and become doubles then; decimals stay
 * decimals. Sums pass over what is no number, as the sums over groups do.
 *
 * Pure apart from the run's arena. */
#include "query/formula_body.h"

#include <math.h>

status formula_add_numbers(struct formula_run *run, struct value a, struct value b,
                           struct value *out)
{
    TRY(number_calculate(run->arena, NUMBER_ADD, a, b, out));
    if (out->type != VALUE_MISSING)
        return STATUS_OK;
    return value_of_double(run->arena, value_as_double(a) + value_as_double(b), out);
}

/* The first argument as a number; *is_null_out if there is nothing to compute. */
status formula_take_number(const struct formula *call, struct formula_run *run, size_t at,
                           const char *name, int32_t number, struct value *out, bool *is_null_out)
{
    TRY(formula_argument(call, run, at, out));
    *is_null_out = formula_is_null(*out);
    if (*is_null_out || value_is_number(*out))
        return STATUS_OK;
    return formula_refuse(run, number, "%s only supports numeric types, not %s", name,
                          value_type_name(out->type));
}

/* ---- sums and products ------------------------------------------------------------------------------ */

static status move_date(struct formula_run *run, struct value date, struct value by, int sign,
                        struct value *out)
{
    int64_t at = value_date_ms(date), ms, moved;

    if (!value_as_int64(by, &ms)) {
        double real = rint(value_as_double(by));
        if (!(real > -0x1p63 && real < 0x1p63))
            return formula_refuse(run, 15, "date overflow: a date cannot be moved by %g ms", real);
        ms = (int64_t)real;
    }
    if (sign < 0 ? __builtin_sub_overflow(at, ms, &moved) : __builtin_add_overflow(at, ms, &moved))
        return formula_refuse(run, 15,
                              "date overflow: %lld ms moved by %lld ms is outside of 64 bits",
                              (long long)at, (long long)ms);
    return value_of_integer(run->arena, VALUE_DATE, moved, out);
}

status formula_add(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct value sum, value, date = value_missing();

    TRY(formula_give_int(run, 0, &sum));
    for (size_t i = 0; i < call->count; i++) {
        TRY(formula_argument(call, run, i, &value));
        if (formula_is_null(value))
            return formula_give_null(out);
        if (value.type == VALUE_DATE) {
            if (date.type == VALUE_DATE)
                return formula_refuse(run, 16612, "only one date allowed in an $add expression");
            date = value;
        } else if (value_is_number(value)) {
            TRY(formula_add_numbers(run, sum, value, &sum));
        } else {
            return formula_refuse(run, 14, "$add only supports numeric or date types, not %s",
                                  value_type_name(value.type));
        }
    }
    *out = sum;
    return date.type == VALUE_DATE ? move_date(run, date, sum, 1, out) : STATUS_OK;
}

status formula_subtract(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct value a, b;

    TRY(formula_argument(call, run, 0, &a));
    TRY(formula_argument(call, run, 1, &b));
    if (formula_is_null(a) || formula_is_null(b))
        return formula_give_null(out);
    if (a.type == VALUE_DATE && b.type == VALUE_DATE) {
        int64_t apart;
        if (__builtin_sub_overflow(value_date_ms(a), value_date_ms(b), &apart))
            return formula_refuse(run, 15,
                                  "date overflow in $subtract: %lld and %lld milliseconds are "
                                  "further apart than 64 bits tell",
                                  (long long)value_date_ms(a), (long long)value_date_ms(b));
        return value_of_integer(run->arena, VALUE_INT64, apart, out);
    }
    if (a.type == VALUE_DATE && value_is_number(b))
        return move_date(run, a, b, -1, out);
    if (!value_is_number(a) || !value_is_number(b))
        return formula_refuse(run, 14, "can't $subtract %s from %s", value_type_name(b.type),
                              value_type_name(a.type));
    TRY(number_calculate(run->arena, NUMBER_SUBTRACT, a, b, out));
    if (out->type != VALUE_MISSING)
        return STATUS_OK;
    return value_of_double(run->arena, value_as_double(a) - value_as_double(b), out);
}

status formula_multiply(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct value product, value, next;
    bool is_null;

    TRY(formula_give_int(run, 1, &product));
    for (size_t i = 0; i < call->count; i++) {
        TRY(formula_take_number(call, run, i, "$multiply", 14, &value, &is_null));
        if (is_null)
            return formula_give_null(out);
        TRY(number_calculate(run->arena, NUMBER_MULTIPLY, product, value, &next));
        if (next.type == VALUE_MISSING)
            TRY(value_of_double(run->arena, value_as_double(product) * value_as_double(value),
                                &next));
        product = next;
    }
    *out = product;
    return STATUS_OK;
}

status formula_divide(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct value a, b;
    bool is_null_a, is_null_b;

    TRY(formula_take_number(call, run, 0, "$divide", 14, &a, &is_null_a));
    TRY(formula_take_number(call, run, 1, "$divide", 14, &b, &is_null_b));
    if (is_null_a || is_null_b)
        return formula_give_null(out);
    if (value_as_double(b) == 0)
        return formula_refuse(run, 2, "can't $divide by zero");
    if (a.type != VALUE_DECIMAL128)
        TRY(value_of_double(run->arena, value_as_double(a), &a));
    return number_calculate(run->arena, NUMBER_DIVIDE, a, b, out);
}

status formula_mod(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct value a, b;
    bool is_null_a, is_null_b;

    TRY(formula_take_number(call, run, 0, "$mod", 16611, &a, &is_null_a));
    TRY(formula_take_number(call, run, 1, "$mod", 16611, &b, &is_null_b));
    if (is_null_a || is_null_b)
        return formula_give_null(out);
    if (value_as_double(b) == 0)
        return formula_refuse(run, 16610, "can't $mod by zero");
    return number_calculate(run->arena, NUMBER_MODULO, a, b, out);
}

/* ---- functions of one number ------------------------------------------------------------------------ */

static bool is_integer(struct value value)
{
    return value.type == VALUE_INT32 || value.type == VALUE_INT64;
}

status formula_abs(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct value value, zero;
    bool is_null;

    TRY(formula_take_number(call, run, 0, "$abs", 28765, &value, &is_null));
    if (is_null)
        return formula_give_null(out);
    TRY(formula_give_int(run, 0, &zero));
    *out = value;
    if (value_compare(value, zero) >= 0 || isnan(value_as_double(value)))
        return STATUS_OK;
    TRY(number_calculate(run->arena, NUMBER_SUBTRACT, zero, value, out));
    if (out->type == VALUE_MISSING)
        return formula_refuse(run, 28680, "can't take $abs of long long min");
    return STATUS_OK;
}

static status function_of(const struct formula *call, struct formula_run *run, const char *name,
                          enum number_function function, struct value *out)
{
    struct value value;
    bool is_null;

    TRY(formula_take_number(call, run, 0, name, 28765, &value, &is_null));
    if (is_null)
        return formula_give_null(out);
    return number_apply(run->arena, function, value, out);
}

/* Integers are whole already. */
static status whole_of(const struct formula *call, struct formula_run *run, const char *name,
                       enum number_function function, struct value *out)
{
    TRY(formula_argument(call, run, 0, out));
    return is_integer(*out) ? STATUS_OK : function_of(call, run, name, function, out);
}

status formula_ceiling(const struct formula *call, struct formula_run *run, struct value *out)
{
    return whole_of(call, run, "$ceil", NUMBER_CEILING, out);
}

status formula_floor(const struct formula *call, struct formula_run *run, struct value *out)
{
    return whole_of(call, run, "$floor", NUMBER_FLOOR, out);
}

status formula_exp(const struct formula *call, struct formula_run *run, struct value *out)
{
    return function_of(call, run, "$exp", NUMBER_EXP, out);
}

/* The argument must be positive. */
static status positive_of(const struct formula *call, struct formula_run *run, const char *name,
                          int32_t number, enum number_function function, struct value *out)
{
    struct value value;
    bool is_null;

    TRY(formula_take_number(call, run, 0, name, 28765, &value, &is_null));
    if (!is_null && value_as_double(value) <= 0)
        return formula_refuse(run, number, "%s's argument must be a positive number, but is %g",
                              name, value_as_double(value));
    return function_of(call, run, name, function, out);
}

status formula_ln(const struct formula *call, struct formula_run *run, struct value *out)
{
    return positive_of(call, run, "$ln", 28766, NUMBER_LN, out);
}

status formula_log10(const struct formula *call, struct formula_run *run, struct value *out)
{
    return positive_of(call, run, "$log10", 28761, NUMBER_LOG10, out);
}

status formula_log(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct value a, b;
    bool is_null_a, is_null_b;

    TRY(formula_take_number(call, run, 0, "$log", 28756, &a, &is_null_a));
    TRY(formula_take_number(call, run, 1, "$log", 28757, &b, &is_null_b));
    if (is_null_a || is_null_b)
        return formula_give_null(out);
    if (value_as_double(a) <= 0)
        return formula_refuse(run, 28758, "$log's argument must be a positive number, but is %g",
                              value_as_double(a));
    if (value_as_double(b) <= 0 || value_as_double(b) == 1)
        return formula_refuse(run, 28759,
                              "$log's base must be a positive number not equal to 1, but is %g",
                              value_as_double(b));
    return number_pair(run->arena, NUMBER_LOG, a, b, out);
}

status formula_sqrt(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct value value;
    bool is_null;

    TRY(formula_take_number(call, run, 0, "$sqrt", 28765, &value, &is_null));
    if (!is_null && value_as_double(value) < 0)
        return formula_refuse(run, 28714, "$sqrt's argument must be greater than or equal to 0");
    return function_of(call, run, "$sqrt", NUMBER_SQRT, out);
}

/* base to the power of exponent, which is not negative; false if it does not fit. */
static bool integer_power(int64_t base, int64_t exponent, int64_t *out)
{
    *out = 1;
    while (exponent) {
        if ((exponent & 1) && __builtin_mul_overflow(*out, base, out))
            return false;
        exponent >>= 1;
        if (exponent && __builtin_mul_overflow(base, base, &base))
            return false;
    }
    return true;
}

status formula_pow(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct value a, b;
    bool is_null_a, is_null_b;
    int64_t base, exponent, power;

    TRY(formula_take_number(call, run, 0, "$pow's base", 28762, &a, &is_null_a));
    TRY(formula_take_number(call, run, 1, "$pow's exponent", 28763, &b, &is_null_b));
    if (is_null_a || is_null_b)
        return formula_give_null(out);
    if (value_as_double(a) == 0 && value_as_double(b) < 0)
        return formula_refuse(run, 28764, "$pow cannot take a base of 0 and a negative exponent");
    if (is_integer(a) && is_integer(b) && value_as_int64(a, &base) &&
        value_as_int64(b, &exponent) && exponent >= 0 && integer_power(base, exponent, &power)) {
        if (a.type == VALUE_INT64 || b.type == VALUE_INT64)
            return value_of_integer(run->arena, VALUE_INT64, power, out);
        return formula_give_int(run, power, out);
    }
    return number_pair(run->arena, NUMBER_POW, a, b, out);
}

typedef double real_function(double);

/* ---- rounding --------------------------------------------------------------------------------------- */

static double round_real(double number, int64_t places, real_function *function)
{
    double scale = pow(10, (double)(places < 0 ? -places : places));

    if (places == 0)
        return function(number);
    if (places < 0)
        return function(number / scale) * scale;
    double scaled = number * scale;
    return isfinite(scaled) ? function(scaled) / scale : number;
}

static status round_to(const struct formula *call, struct formula_run *run, const char *name,
                       real_function *function, struct value *out)
{
    struct value value, wanted;
    bool is_null, is_null_places;
    int64_t places = 0, whole;

    TRY(formula_take_number(call, run, 0, name, 51081, &value, &is_null));
    TRY(formula_take_number(call, run, 1, name, 51082, &wanted, &is_null_places));
    if (is_null || (call->count > 1 && is_null_places))
        return formula_give_null(out);
    if (!is_null_places && !value_as_int64(wanted, &places))
        return formula_refuse(run, 51082, "precision argument to %s must be a integral value",
                              name);
    if (places < -20 || places > 100)
        return formula_refuse(run, 51083,
                              "cannot apply %s with precision value %lld value must be "
                              "in [-20, 100]",
                              name, (long long)places);
    bool is_long = value.type == VALUE_INT64;
    *out = value;
    if (is_integer(value) && places >= 0)
        return STATUS_OK;
    if (value.type == VALUE_DECIMAL128)
        return number_round_decimal(run->arena, value, (int)places, function == trunc, out);
    if (value.type == VALUE_DOUBLE)
        return value_of_double(run->arena, round_real(value_as_double(value), places, function),
                               out);
    /* Integers exactly, which doubles cannot all be. */
    TRY(number_to_decimal(run->arena, value, &value));
    TRY(number_round_decimal(run->arena, value, (int)places, function == trunc, &value));
    if (!value_as_int64(value, &whole))
        return formula_refuse(run, 51080, "invalid conversion from Decimal128 result in %s", name);
    return is_long ? value_of_integer(run->arena, VALUE_INT64, whole, out)
                   : formula_give_int(run, whole, out);
}

status formula_round(const struct formula *call, struct formula_run *run, struct value *out)
{
    return round_to(call, run, "$round", rint, out);
}

status formula_trunc(const struct formula *call, struct formula_run *run, struct value *out)
{
    return round_to(call, run, "$trunc", trunc, out);
}

status formula_rand(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct random fallback = { 0 };
    struct random *random = run->random ? run->random : &fallback;

    (void)call;
    random_begin(random);
    return value_of_double(run->arena, (double)(random_next(random) >> 11) * 0x1p-53, out);
}

/* ---- sums over arguments ---------------------------------------------------------------------------- */

/* The arguments, or the elements if there is one array. */
status formula_take_all(const struct formula *call, struct formula_run *run,
                        struct formula_values *out)
{
    out->count = call->count;
    TRY(ARENA_NEW(run->arena, call->count, &out->items));
    for (size_t i = 0; i < call->count; i++)
        TRY(formula_argument(call, run, i, &out->items[i]));
    if (call->count == 1 && out->items[0].type == VALUE_ARRAY)
        return formula_values_of(run, out->items[0], out);
    return STATUS_OK;
}

static status sum_up(const struct formula *call, struct formula_run *run, struct value *sum_out,
                     size_t *count_out)
{
    struct formula_values values;

    TRY(formula_take_all(call, run, &values));
    TRY(formula_give_int(run, 0, sum_out));
    *count_out = 0;
    for (size_t i = 0; i < values.count; i++) {
        if (!value_is_number(values.items[i]))
            continue;
        ++*count_out;
        TRY(formula_add_numbers(run, *sum_out, values.items[i], sum_out));
    }
    return STATUS_OK;
}

status formula_sum(const struct formula *call, struct formula_run *run, struct value *out)
{
    size_t count;

    return sum_up(call, run, out, &count);
}

status formula_average(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct value sum, divisor;
    size_t count;

    TRY(sum_up(call, run, &sum, &count));
    if (count == 0)
        return formula_give_null(out);
    TRY(value_of_double(run->arena, (double)count, &divisor));
    return number_calculate(run->arena, NUMBER_DIVIDE, sum, divisor, out);
}

static status find_edge(const struct formula *call, struct formula_run *run, int sign,
                        struct value *out)
{
    struct formula_values values;

    TRY(formula_take_all(call, run, &values));
    *out = value_null();
    for (size_t i = 0; i < values.count; i++) {
        if (formula_is_null(values.items[i]))
            continue;
        if (out->type == VALUE_NULL ||
            sign * value_compare_by(run->collation, values.items[i], *out) > 0)
            *out = values.items[i];
    }
    return STATUS_OK;
}

status formula_max(const struct formula *call, struct formula_run *run, struct value *out)
{
    return find_edge(call, run, 1, out);
}

status formula_min(const struct formula *call, struct formula_run *run, struct value *out)
{
    return find_edge(call, run, -1, out);
}
