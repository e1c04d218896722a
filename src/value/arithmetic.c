/* Arithmetic: two numbers of any of the four types.
 *
 * The result has the widest type of the two. Integers are computed exactly; what leaves int32 becomes
 * int64, and what leaves int64 is left to the caller, because languages differ in what it means. Decimals
 * are computed by the library made for them, rounding half to even.
 *
 * Pure apart from the arena; callable from every thread. Start reading at number_calculate(). */
#include <math.h>
#include <stdio.h>
#include <strings.h>

#include "value/decimal_library.h"
#include "value/raw.h"

enum { TEXT_BYTES = 64 };

/* ---- decimals --------------------------------------------------------------------------------------- */

BID_UINT128 decimal_of_raw(const uint8_t raw[DECIMAL_BYTES])
{
    BID_UINT128 packed;

    packed.w[0] = raw_u64(raw);
    packed.w[1] = raw_u64(raw + 8);
    return packed;
}

static void decimal_to_raw(BID_UINT128 packed, uint8_t raw[DECIMAL_BYTES])
{
    raw_put_u64(raw, packed.w[0]);
    raw_put_u64(raw + 8, packed.w[1]);
}

static bool is_number_text(const char *text)
{
    int digits = 0, dots = 0;

    if (*text == '+' || *text == '-')
        text++;
    if (strcasecmp(text, "inf") == 0 || strcasecmp(text, "infinity") == 0 ||
        strcasecmp(text, "nan") == 0)
        return true;
    for (; (*text >= '0' && *text <= '9') || *text == '.'; text++) {
        digits += *text != '.';
        dots += *text == '.';
    }
    if (digits == 0 || dots > 1)
        return false;
    if (*text != 'e' && *text != 'E')
        return *text == 0;
    text++;
    if (*text == '+' || *text == '-')
        text++;
    for (digits = 0; *text >= '0' && *text <= '9'; text++)
        digits++;
    return digits > 0 && *text == 0;
}

bool number_decimal_of_text(bytes text, uint8_t raw_out[DECIMAL_BYTES])
{
    char room[TEXT_BYTES];
    unsigned flags = 0;

    if (text.len == 0 || text.len >= sizeof(room) || memchr(text.data, 0, text.len))
        return false;
    memcpy(room, text.data, text.len);
    room[text.len] = 0;
    if (!is_number_text(room))
        return false;
    decimal_to_raw(bid128_from_string(room, BID_ROUNDING_TO_NEAREST, &flags), raw_out);
    return true;
}

static BID_UINT128 to_decimal(struct value number)
{
    char text[TEXT_BYTES];
    unsigned flags = 0;
    int64_t whole;

    if (number.type == VALUE_DECIMAL128)
        return decimal_of_raw(number.raw.data);
    if (number.type != VALUE_DOUBLE && value_as_int64(number, &whole))
        return bid128_from_int64(whole);
    snprintf(text, sizeof(text), "%.15g", value_as_double(number));
    return bid128_from_string(text, BID_ROUNDING_TO_NEAREST, &flags);
}

status decimal_give(struct arena *arena, BID_UINT128 packed, struct value *out)
{
    uint8_t raw[DECIMAL_BYTES];

    decimal_to_raw(packed, raw);
    *out = (struct value){ .type = VALUE_DECIMAL128 };
    return arena_copy(arena, bytes_of(raw, sizeof(raw)), &out->raw);
}

status number_to_decimal(struct arena *arena, struct value number, struct value *out)
{
    return decimal_give(arena, to_decimal(number), out);
}

static status calculate_decimal(struct arena *arena, enum number_operation operation,
                                struct value a, struct value b, struct value *out)
{
    BID_UINT128 x = to_decimal(a), y = to_decimal(b), result;
    unsigned flags = 0;

    switch (operation) {
    case NUMBER_ADD:
        result = bid128_add(x, y, BID_ROUNDING_TO_NEAREST, &flags);
        break;
    case NUMBER_SUBTRACT:
        result = bid128_sub(x, y, BID_ROUNDING_TO_NEAREST, &flags);
        break;
    case NUMBER_MULTIPLY:
        result = bid128_mul(x, y, BID_ROUNDING_TO_NEAREST, &flags);
        break;
    case NUMBER_DIVIDE:
        result = bid128_div(x, y, BID_ROUNDING_TO_NEAREST, &flags);
        break;
    case NUMBER_MODULO:
        result = bid128_fmod(x, y, &flags);
        break;
    }
    return decimal_give(arena, result, out);
}

/* ---- the others ------------------------------------------------------------------------------------- */

static status calculate_double(struct arena *arena, enum number_operation operation, double x,
                               double y, struct value *out)
{
    double result = 0;

    switch (operation) {
    case NUMBER_ADD:
        result = x + y;
        break;
    case NUMBER_SUBTRACT:
        result = x - y;
        break;
    case NUMBER_MULTIPLY:
        result = x * y;
        break;
    case NUMBER_DIVIDE:
        result = x / y;
        break;
    case NUMBER_MODULO:
        result = fmod(x, y);
        break;
    }
    return value_of_double(arena, result, out);
}

static bool calculate_integer(enum number_operation operation, int64_t x, int64_t y, int64_t *out)
{
    switch (operation) {
    case NUMBER_ADD:
        return !__builtin_add_overflow(x, y, out);
    case NUMBER_SUBTRACT:
        return !__builtin_sub_overflow(x, y, out);
    case NUMBER_MULTIPLY:
        return !__builtin_mul_overflow(x, y, out);
    case NUMBER_MODULO:
        if (y == 0)
            return false;
        *out = y == -1 ? 0 : x % y;
        return true;
    case NUMBER_DIVIDE:
        break;
    }
    return false;
}

status number_calculate(struct arena *arena, enum number_operation operation, struct value a,
                        struct value b, struct value *out)
{
    int64_t x, y, result;

    ASSERT(value_is_number(a));
    ASSERT(value_is_number(b));
    *out = (struct value){ .type = VALUE_MISSING };
    if (a.type == VALUE_DECIMAL128 || b.type == VALUE_DECIMAL128)
        return calculate_decimal(arena, operation, a, b, out);
    if (a.type == VALUE_DOUBLE || b.type == VALUE_DOUBLE)
        return calculate_double(arena, operation, value_as_double(a), value_as_double(b), out);
    if (!value_as_int64(a, &x) || !value_as_int64(b, &y) ||
        !calculate_integer(operation, x, y, &result))
        return STATUS_OK;
    bool is_small = a.type == VALUE_INT32 && b.type == VALUE_INT32 && result >= INT32_MIN &&
                    result <= INT32_MAX;
    return value_of_integer(arena, is_small ? VALUE_INT32 : VALUE_INT64, result, out);
}
