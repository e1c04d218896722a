/* Functions of integers: arithmetic of 64 bits that wraps around, and bits.
 *
 * There are two sets. int_* take whole numbers of 64 bits and nothing else; what does not fit wraps around
 * as in two's complement. bit_* are the operators & | ^ ~ << >> >>>, which take any number and use the low
 * 32 bits of its whole part, as JavaScript does.
 *
 * Pure apart from the row's arena. */
#include "query/call.h"

#include <math.h>

/* ---- 64 bits ---------------------------------------------------------------------------------------- */

struct pair {
    bool are_whole;
    int64_t a, b;
};

static status take_pair(struct evaluation *e, const struct expression *call, struct pair *out)
{
    struct value v[2];

    *out = (struct pair){ 0 };
    TRY(call_take(e, call, v, 2));
    out->are_whole = value_as_int64(v[0], &out->a) &&
                     (!call_has(call, 1) || value_as_int64(v[1], &out->b));
    return STATUS_OK;
}

typedef uint64_t word_function(uint64_t a, uint64_t b);

static status of_words(struct evaluation *e, const struct expression *call, word_function *function,
                       struct value *out)
{
    struct pair p;

    TRY(take_pair(e, call, &p));
    if (!p.are_whole)
        return STATUS_OK;
    return call_give_whole(e, (int64_t)function((uint64_t)p.a, (uint64_t)p.b), out);
}

static uint64_t word_add(uint64_t a, uint64_t b)
{
    return a + b;
}

static uint64_t word_and(uint64_t a, uint64_t b)
{
    return a & b;
}

static uint64_t word_multiply(uint64_t a, uint64_t b)
{
    return a * b;
}

static uint64_t word_not(uint64_t a, uint64_t b)
{
    (void)b;
    return ~a;
}

static uint64_t word_or(uint64_t a, uint64_t b)
{
    return a | b;
}

static uint64_t word_shift_left(uint64_t a, uint64_t b)
{
    return a << (b & 63);
}

static uint64_t word_shift_right(uint64_t a, uint64_t b)
{
    uint64_t sign = (int64_t)a < 0 ? ~UINT64_C(0) : 0, by = b & 63;

    return by == 0 ? a : a >> by | sign << (64 - by);
}

static uint64_t word_subtract(uint64_t a, uint64_t b)
{
    return a - b;
}

static uint64_t word_xor(uint64_t a, uint64_t b)
{
    return a ^ b;
}

status function_int_add(struct evaluation *e, const struct expression *call, struct value *out)
{
    return of_words(e, call, word_add, out);
}

status function_int_and(struct evaluation *e, const struct expression *call, struct value *out)
{
    return of_words(e, call, word_and, out);
}

status function_int_multiply(struct evaluation *e, const struct expression *call, struct value *out)
{
    return of_words(e, call, word_multiply, out);
}

status function_int_not(struct evaluation *e, const struct expression *call, struct value *out)
{
    return of_words(e, call, word_not, out);
}

status function_int_or(struct evaluation *e, const struct expression *call, struct value *out)
{
    return of_words(e, call, word_or, out);
}

status function_int_shift_left(struct evaluation *e, const struct expression *call,
                               struct value *out)
{
    return of_words(e, call, word_shift_left, out);
}

status function_int_shift_right(struct evaluation *e, const struct expression *call,
                                struct value *out)
{
    return of_words(e, call, word_shift_right, out);
}

status function_int_subtract(struct evaluation *e, const struct expression *call, struct value *out)
{
    return of_words(e, call, word_subtract, out);
}

status function_int_xor(struct evaluation *e, const struct expression *call, struct value *out)
{
    return of_words(e, call, word_xor, out);
}

status function_int_divide(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct pair p;

    TRY(take_pair(e, call, &p));
    if (!p.are_whole || p.b == 0)
        return STATUS_OK;
    /* The one quotient that does not fit is its own dividend, wrapped around. */
    if (p.b == -1)
        return call_give_whole(e, (int64_t)(0 - (uint64_t)p.a), out);
    return call_give_whole(e, p.a / p.b, out);
}

status function_int_modulo(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct pair p;

    TRY(take_pair(e, call, &p));
    if (!p.are_whole || p.b == 0)
        return STATUS_OK;
    return call_give_whole(e, p.b == -1 ? 0 : p.a % p.b, out);
}

/* ---- 32 bits ---------------------------------------------------------------------------------------- */

/* The low bits of the whole part, in two's complement. */
static uint32_t low_bits(struct value value)
{
    int64_t whole;

    if (value_is_whole(value) && value_as_int64(value, &whole))
        return (uint32_t)(uint64_t)whole;
    double real = value_as_double(value);
    double rest = isfinite(real) ? fmod(trunc(real), 0x1p32) : 0;
    return (uint32_t)(int64_t)rest;
}

typedef int64_t bit_function(uint32_t a, uint32_t b);

static status of_bits(struct evaluation *e, const struct expression *call, bit_function *function,
                      struct value *out)
{
    struct value v[2];

    TRY(call_take(e, call, v, 2));
    if (!value_is_number(v[0]) || (call_has(call, 1) && !value_is_number(v[1])))
        return STATUS_OK;
    uint32_t b = call_has(call, 1) ? low_bits(v[1]) : 0;
    return call_give_whole(e, function(low_bits(v[0]), b), out);
}

static int64_t bits_and(uint32_t a, uint32_t b)
{
    return (int32_t)(a & b);
}

static int64_t bits_not(uint32_t a, uint32_t b)
{
    (void)b;
    return (int32_t)~a;
}

static int64_t bits_or(uint32_t a, uint32_t b)
{
    return (int32_t)(a | b);
}

static int64_t bits_shift_left(uint32_t a, uint32_t b)
{
    return (int32_t)(a << (b & 31));
}

static int64_t bits_shift_right(uint32_t a, uint32_t b)
{
    return (int64_t)(int32_t)word_shift_right((uint64_t)(int64_t)(int32_t)a, b & 31);
}

static int64_t bits_shift_right_zero(uint32_t a, uint32_t b)
{
    return a >> (b & 31);
}

static int64_t bits_xor(uint32_t a, uint32_t b)
{
    return (int32_t)(a ^ b);
}

status function_bit_and(struct evaluation *e, const struct expression *call, struct value *out)
{
    return of_bits(e, call, bits_and, out);
}

status function_bit_not(struct evaluation *e, const struct expression *call, struct value *out)
{
    return of_bits(e, call, bits_not, out);
}

status function_bit_or(struct evaluation *e, const struct expression *call, struct value *out)
{
    return of_bits(e, call, bits_or, out);
}

status function_bit_shift_left(struct evaluation *e, const struct expression *call,
                               struct value *out)
{
    return of_bits(e, call, bits_shift_left, out);
}

status function_bit_shift_right(struct evaluation *e, const struct expression *call,
                                struct value *out)
{
    return of_bits(e, call, bits_shift_right, out);
}

status function_bit_shift_right_zero(struct evaluation *e, const struct expression *call,
                                     struct value *out)
{
    return of_bits(e, call, bits_shift_right_zero, out);
}

status function_bit_xor(struct evaluation *e, const struct expression *call, struct value *out)
{
    return of_bits(e, call, bits_xor, out);
}
