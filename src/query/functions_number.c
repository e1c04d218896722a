/* Functions of numbers: arithmetic and rounding.
 *
 * Whole numbers stay whole and exact as long as the result fits into 64 bits; everything else is a
 * double. A result that is not a finite number is missing, because no document of ours can say it.
 *
 * Pure apart from the row's arena. */
#include "query/call.h"

#include <math.h>

struct operands {
    bool are_numbers;
    bool are_whole;
    int64_t whole[2];
    double real[2];
};

static status take_operands(struct evaluation *e, const struct expression *call,
                            struct operands *out)
{
    *out = (struct operands){ .are_numbers = true, .are_whole = true };
    for (size_t i = 0; i < call->count && i < 2; i++) {
        struct value value;
        TRY(evaluate(e, call->args[i], &value));
        if (!value_is_number(value)) {
            out->are_numbers = false;
            return STATUS_OK;
        }
        out->are_whole &= value_is_whole(value) && value_as_int64(value, &out->whole[i]);
        out->real[i] = value_as_double(value);
    }
    return STATUS_OK;
}

status function_add(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct operands o;
    int64_t sum;

    TRY(take_operands(e, call, &o));
    if (!o.are_numbers)
        return STATUS_OK;
    if (o.are_whole && !__builtin_add_overflow(o.whole[0], o.whole[1], &sum))
        return value_of_int64(e->arena, sum, out);
    return call_give_real(e, o.real[0] + o.real[1], out);
}

status function_subtract(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct operands o;
    int64_t difference;

    TRY(take_operands(e, call, &o));
    if (!o.are_numbers)
        return STATUS_OK;
    if (o.are_whole && !__builtin_sub_overflow(o.whole[0], o.whole[1], &difference))
        return value_of_int64(e->arena, difference, out);
    return call_give_real(e, o.real[0] - o.real[1], out);
}

status function_multiply(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct operands o;
    int64_t product;

    TRY(take_operands(e, call, &o));
    if (!o.are_numbers)
        return STATUS_OK;
    if (o.are_whole && !__builtin_mul_overflow(o.whole[0], o.whole[1], &product))
        return value_of_int64(e->arena, product, out);
    return call_give_real(e, o.real[0] * o.real[1], out);
}

status function_divide(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct operands o;

    TRY(take_operands(e, call, &o));
    if (!o.are_numbers || o.real[1] == 0)
        return STATUS_OK;
    if (o.are_whole && o.whole[1] != 0 && o.whole[1] != -1 && o.whole[0] % o.whole[1] == 0)
        return value_of_int64(e->arena, o.whole[0] / o.whole[1], out);
    return call_give_real(e, o.real[0] / o.real[1], out);
}

status function_modulo(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct operands o;

    TRY(take_operands(e, call, &o));
    if (!o.are_numbers || o.real[1] == 0)
        return STATUS_OK;
    if (o.are_whole && o.whole[1] != 0)
        return value_of_int64(e->arena, o.whole[1] == -1 ? 0 : o.whole[0] % o.whole[1], out);
    return call_give_real(e, fmod(o.real[0], o.real[1]), out);
}

status function_negate(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct operands o;

    TRY(take_operands(e, call, &o));
    if (!o.are_numbers)
        return STATUS_OK;
    if (o.are_whole && o.whole[0] != INT64_MIN)
        return value_of_int64(e->arena, -o.whole[0], out);
    return call_give_real(e, -o.real[0], out);
}

status function_plus(struct evaluation *e, const struct expression *call, struct value *out)
{
    TRY(evaluate(e, call->args[0], out));
    if (!value_is_number(*out))
        *out = value_missing();
    return STATUS_OK;
}

status function_abs(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct operands o;

    TRY(take_operands(e, call, &o));
    if (!o.are_numbers)
        return STATUS_OK;
    if (o.are_whole && o.whole[0] != INT64_MIN)
        return value_of_int64(e->arena, o.whole[0] < 0 ? -o.whole[0] : o.whole[0], out);
    return call_give_real(e, fabs(o.real[0]), out);
}

/* ---- rounding --------------------------------------------------------------------------------------- */

static status rounded(struct evaluation *e, const struct expression *call, double (*how)(double),
                      struct value *out)
{
    struct operands o;

    TRY(take_operands(e, call, &o));
    if (!o.are_numbers)
        return STATUS_OK;
    if (o.are_whole)
        return value_of_int64(e->arena, o.whole[0], out);
    return call_give_real(e, how(o.real[0]), out);
}

status function_floor(struct evaluation *e, const struct expression *call, struct value *out)
{
    return rounded(e, call, floor, out);
}

status function_ceiling(struct evaluation *e, const struct expression *call, struct value *out)
{
    return rounded(e, call, ceil, out);
}

status function_truncate(struct evaluation *e, const struct expression *call, struct value *out)
{
    return rounded(e, call, trunc, out);
}

/* Halves go away from zero. Where the number has no digits behind the last one asked for, or none before
 * it, there is nothing to compute. */
static double round_digits(double real, double digits)
{
    double scale = pow(10, fabs(digits));

    if (digits < 0)
        return isfinite(scale) ? round(real / scale) * scale : 0;
    double moved = real * scale;
    return fabs(moved) < 0x1p52 ? round(moved) / scale : real;
}

status function_round(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct operands o;

    if (call->count == 1)
        return rounded(e, call, round, out);
    TRY(take_operands(e, call, &o));
    if (!o.are_numbers || trunc(o.real[1]) != o.real[1])
        return STATUS_OK;
    if (o.are_whole && o.whole[1] >= 0)
        return call_give_whole(e, o.whole[0], out);
    return call_give_real(e, round_digits(o.real[0], o.real[1]), out);
}
