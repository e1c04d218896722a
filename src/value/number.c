/* Number: int32, int64, double and decimal128 compared by their exact value.
 *
 * Idea: every finite number lies at or beyond some double and before the next one (looking away from
 * zero). Comparing those doubles decides nearly always; only two numbers that share the double and are
 * not equal to it, which are large int64 and decimal128 alone, are compared digit by digit. Keys use
 * the same form, so comparison and key order cannot disagree.
 *
 * Pure; callable from every thread. Start reading at number_of(). */
#include "value/number.h"

#include <math.h>

#include "value/raw.h"

enum { DOUBLE_PRECISION_BITS = 53 };

static struct number from_int64(int64_t integer);
static struct number from_double(double real);
static struct number from_decimal(const uint8_t *raw);
static int compare_digits(const struct number *a, const struct number *b);

struct number number_of(struct value value)
{
    ASSERT(value_is_number(value));
    if (value.type == VALUE_INT32)
        return from_int64(raw_int32(value.raw.data));
    if (value.type == VALUE_INT64)
        return from_int64(raw_int64(value.raw.data));
    if (value.type == VALUE_DOUBLE)
        return from_double(raw_double(value.raw.data));
    return from_decimal(value.raw.data);
}

static int order_of(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static bool is_integer(struct value value)
{
    return value.type == VALUE_INT32 || value.type == VALUE_INT64;
}

static int64_t integer_of(struct value value)
{
    return value.type == VALUE_INT32 ? raw_int32(value.raw.data) : raw_int64(value.raw.data);
}

int number_compare(struct value a, struct value b)
{
    if (is_integer(a) && is_integer(b)) {
        int64_t left = integer_of(a);
        int64_t right = integer_of(b);
        return (left > right) - (left < right);
    }
    struct number x = number_of(a);
    struct number y = number_of(b);
    if (x.class != y.class)
        return x.class < y.class ? -1 : 1;
    if (x.class != NUMBER_NEGATIVE && x.class != NUMBER_POSITIVE)
        return 0;
    int order = order_of(x.image, y.image);
    if (order == 0 && (!x.is_exact || !y.is_exact))
        order = x.is_exact ? -1 : y.is_exact ? 1 : compare_digits(&x, &y);
    return x.class == NUMBER_NEGATIVE ? -order : order;
}

double value_as_double(struct value value)
{
    if (value.type == VALUE_DOUBLE)
        return raw_double(value.raw.data);
    if (is_integer(value))
        return (double)integer_of(value);
    struct number number = number_of(value);
    double magnitude;
    memcpy(&magnitude, &number.image, sizeof(magnitude));
    switch (number.class) {
    case NUMBER_NAN:
        return NAN;
    case NUMBER_MINUS_INFINITY:
        return -INFINITY;
    case NUMBER_NEGATIVE:
        return -magnitude;
    case NUMBER_ZERO:
        return 0;
    case NUMBER_POSITIVE:
        return magnitude;
    case NUMBER_PLUS_INFINITY:
        return INFINITY;
    }
    return NAN;
}

static uint64_t image_of(double real)
{
    uint64_t image;

    memcpy(&image, &real, sizeof(image));
    return image;
}

static struct number from_int64(int64_t integer)
{
    if (integer == 0)
        return (struct number){ .class = NUMBER_ZERO, .is_exact = true };
    uint64_t magnitude = integer < 0 ? -(uint64_t)integer : (uint64_t)integer;
    int bits = 64 - __builtin_clzll(magnitude);
    int excess = bits > DOUBLE_PRECISION_BITS ? bits - DOUBLE_PRECISION_BITS : 0;
    uint64_t cut = magnitude >> excess << excess;
    struct number number = {
        .class = integer < 0 ? NUMBER_NEGATIVE : NUMBER_POSITIVE,
        .is_exact = cut == magnitude,
        .image = image_of((double)cut),
    };
    if (!number.is_exact) {
        struct decimal digits = decimal_without_zeros((struct decimal){ .coefficient = magnitude });
        number.coefficient = digits.coefficient;
        number.exponent = digits.exponent;
    }
    return number;
}

static struct number from_double(double real)
{
    if (isnan(real))
        return (struct number){ .class = NUMBER_NAN, .is_exact = true };
    if (real == 0)
        return (struct number){ .class = NUMBER_ZERO, .is_exact = true };
    struct number number = { .is_exact = true, .image = image_of(fabs(real)) };
    if (isinf(real))
        number.class = real < 0 ? NUMBER_MINUS_INFINITY : NUMBER_PLUS_INFINITY;
    else
        number.class = real < 0 ? NUMBER_NEGATIVE : NUMBER_POSITIVE;
    return number;
}

static struct number from_decimal(const uint8_t *raw)
{
    struct decimal decimal = decimal_unpack(raw);
    struct number number = { .is_exact = true };

    if (decimal.kind == DECIMAL_NAN) {
        number.class = NUMBER_NAN;
        return number;
    }
    if (decimal.kind == DECIMAL_INFINITE) {
        number.class = decimal.is_negative ? NUMBER_MINUS_INFINITY : NUMBER_PLUS_INFINITY;
        return number;
    }
    if (decimal.coefficient == 0) {
        number.class = NUMBER_ZERO;
        return number;
    }
    number.class = decimal.is_negative ? NUMBER_NEGATIVE : NUMBER_POSITIVE;
    number.image = image_of(fabs(decimal_truncate(raw, &number.is_exact)));
    if (!number.is_exact) {
        decimal = decimal_without_zeros(decimal);
        number.coefficient = decimal.coefficient;
        number.exponent = decimal.exponent;
    }
    return number;
}

int number_digit_count(decimal_digits coefficient)
{
    int count = 0;

    for (; coefficient != 0; coefficient /= 10)
        count++;
    return count;
}

/* Both are not exact: first by the place of the leading digit, then digit by digit, which is by
 * coefficients brought to the same length. At most 34 digits, so the products fit. */
static int compare_digits(const struct number *a, const struct number *b)
{
    int count_a = number_digit_count(a->coefficient);
    int count_b = number_digit_count(b->coefficient);
    int place_a = a->exponent + count_a;
    int place_b = b->exponent + count_b;
    decimal_digits left = a->coefficient;
    decimal_digits right = b->coefficient;

    if (place_a != place_b)
        return place_a < place_b ? -1 : 1;
    for (; count_a < count_b; count_a++)
        left *= 10;
    for (; count_b < count_a; count_b++)
        right *= 10;
    return (left > right) - (left < right);
}

/* coefficient * 10^exponent, if that is whole and its magnitude is at most 2^63. */
static bool decimal_as_magnitude(struct decimal decimal, uint64_t *out)
{
    const uint64_t magnitude_max = UINT64_C(1) << 63;

    if (decimal.coefficient == 0) {
        *out = 0;
        return true;
    }
    decimal = decimal_without_zeros(decimal);
    if (decimal.exponent < 0)
        return false;
    for (; decimal.exponent > 0 && decimal.coefficient <= magnitude_max; decimal.exponent--)
        decimal.coefficient *= 10;
    if (decimal.coefficient > magnitude_max)
        return false;
    *out = (uint64_t)decimal.coefficient;
    return true;
}

static bool decimal_as_int64(struct decimal decimal, int64_t *out)
{
    uint64_t magnitude;

    if (decimal.kind != DECIMAL_FINITE || !decimal_as_magnitude(decimal, &magnitude))
        return false;
    if (magnitude > INT64_MAX && !decimal.is_negative)
        return false;
    *out = decimal.is_negative ? (int64_t)-magnitude : (int64_t)magnitude;
    return true;
}

static bool double_as_int64(double real, int64_t *out)
{
    /* -2^63 and 2^63 are doubles; the second is the first one that does not fit. */
    if (!(real >= -0x1p63 && real < 0x1p63) || real != trunc(real))
        return false;
    *out = (int64_t)real;
    return true;
}

bool number_as_int64(struct value value, int64_t *out)
{
    if (value.type == VALUE_DOUBLE)
        return double_as_int64(raw_double(value.raw.data), out);
    if (value.type == VALUE_DECIMAL128)
        return decimal_as_int64(decimal_unpack(value.raw.data), out);
    *out = integer_of(value);
    return true;
}
