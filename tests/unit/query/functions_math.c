/* Functions of numbers: what they give, and for what they give nothing. */
#include "tests/support/calls.h"

TEST(functions_math, angles_and_powers_are_those_of_the_documentation)
{
    static const struct call_row rows[] = {
        CALL("ACOS(-1)", "3.141592653589793"),
        CALL("ACOS(2)", ""),
        CALL("ASIN(-1)", "-1.5707963267948966"),
        CALL("ASIN('1')", ""),
        CALL("ATAN(-45.01)", "-1.5485826962062663"),
        CALL("ATN2(35.175643, 129.44)", "0.265344532064832"),
        CALL("ATN2(1, null)", ""),
        CALL("COS(0)", "1"),
        CALL("COS(c.s)", ""),
        CALL("COT(124.1332)", "-0.040311998371148884"),
        CALL("COT(0)", ""),
        CALL("DEGREES(PI()/2)", "90"),
        CALL("DEGREES(true)", ""),
        CALL("EXP(0)", "1"),
        CALL("EXP(1000)", ""),
        CALL("EXP(LOG(20))", "19.999999999999996"),
        CALL("LOG(1)", "0"),
        CALL("LOG(0)", ""),
        CALL("LOG(-1)", ""),
        CALL("LOG(8, 2)", "3"),
        CALL("LOG(2, 10)", "0.3010299956639812"),
        CALL("LOG(1, 1)", ""),
        CALL("LOG(2, '10')", ""),
        CALL("LOG10(100)", "2"),
        CALL("LOG10({})", ""),
        CALL("PI()", "3.141592653589793"),
        CALL("POWER(2, 3)", "8"),
        CALL("POWER(2.5, 3)", "15.625"),
        CALL("POWER(-1, 0.5)", ""),
        CALL("POWER(10, 400)", ""),
        CALL("POWER(2, undefined)", ""),
        CALL("RADIANS(180)", "3.141592653589793"),
        CALL("RADIANS([])", ""),
        CALL("SIN(0)", "0"),
        CALL("SIN(c.z)", ""),
        CALL("SQRT(4)", "2"),
        CALL("SQRT(-1)", ""),
        CALL("SQUARE(3)", "9"),
        CALL("SQUARE(-1.5)", "2.25"),
        CALL("SQUARE(3037000500)", "9.22337203700025e+18"),
        CALL("SQUARE('3')", ""),
        CALL("TAN(PI()/4)", "0.9999999999999999"),
        CALL("TAN(false)", ""),
    };
    CHECK_CALLS(rows);
}

TEST(functions_math, rounding_goes_away_from_zero)
{
    static const struct call_row rows[] = {
        CALL("ABS(-1)", "1"),
        CALL("ABS(-2.5)", "2.5"),
        CALL("ABS('x')", ""),
        CALL("CEILING(62.6)", "63"),
        CALL("CEILING(-123.45)", "-123"),
        CALL("FLOOR(62.6)", "62"),
        CALL("FLOOR(-145.12)", "-146"),
        CALL("ROUND(2.5)", "3"),
        CALL("ROUND(-2.5)", "-3"),
        CALL("ROUND(-0.5)", "-1"),
        CALL("ROUND(2.4)", "2"),
        CALL("ROUND(c.missing)", ""),
        CALL("ROUND(3.14159, 2)", "3.14"),
        CALL("ROUND(1234.5, -2)", "1200"),
        CALL("ROUND(1250, -2)", "1300"),
        CALL("ROUND(123.4, -10)", "0"),
        CALL("ROUND(123.4, -400)", "0"),
        CALL("ROUND(1.25, 400)", "1.25"),
        CALL("ROUND(9007199254740993, 2)", "9007199254740993"),
        CALL("ROUND(1.5, 0.5)", ""),
        CALL("ROUND(1.5, '1')", ""),
        CALL("SIGN(-2)", "-1"),
        CALL("SIGN(0)", "0"),
        CALL("SIGN(0.1)", "1"),
        CALL("SIGN('a')", ""),
        CALL("TRUNC(2.7)", "2"),
        CALL("TRUNC(-2.7)", "-2"),
        CALL("TRUNC(9007199254740993)", "9007199254740993"),
        CALL("TRUNC(null)", ""),
        CALL("NUMBERBIN(37.752, -100)", "100"),
        CALL("NUMBERBIN(37.752, 10)", "30"),
        CALL("NUMBERBIN(37.752)", "37"),
        CALL("NUMBERBIN(37.752, 0)", ""),
        CALL("NUMBERBIN(37.752, 0.1)", "37.7"),
        CALL("NUMBERBIN(155.23478, 0.01)", "155.23"),
        CALL("NUMBERBIN('1')", ""),
        CALL("NUMBERBIN(1, undefined)", ""),
    };
    CHECK_CALLS(rows);
}

TEST(functions_math, integers_have_64_bits_and_wrap_around)
{
    static const struct call_row rows[] = {
        CALL("INTADD(20, 10)", "30"),
        CALL("INTADD(20, 0.10)", ""),
        CALL("INTADD(20.0, 10)", "30"),
        CALL("INTADD(9223372036854775807, 1)", "-9223372036854775808"),
        CALL("INTADD('1', 1)", ""),
        CALL("INTADD(1e300, 1)", ""),
        CALL("INTSUB(-9223372036854775807, 2)", "9223372036854775807"),
        CALL("INTSUB(25, 10)", "15"),
        CALL("INTMUL(5, 2)", "10"),
        CALL("INTMUL(4611686018427387904, 4)", "0"),
        CALL("INTMUL(5, null)", ""),
        CALL("INTDIV(10, -2)", "-5"),
        CALL("INTDIV(-7, 2)", "-3"),
        CALL("INTDIV(10, 0)", ""),
        CALL("INTDIV(10, 0.1)", ""),
        CALL("INTDIV(INTSUB(-9223372036854775807, 1), -1)", "-9223372036854775808"),
        CALL("INTMOD(12, -5)", "2"),
        CALL("INTMOD(-12, -5)", "-2"),
        CALL("INTMOD(12, 0)", ""),
        CALL("INTMOD(INTSUB(-9223372036854775807, 1), -1)", "0"),
        CALL("INTBITAND(15, 25)", "9"),
        CALL("INTBITAND(15, 1.5)", ""),
        CALL("INTBITOR(56, 100)", "124"),
        CALL("INTBITXOR(56, 100)", "92"),
        CALL("INTBITNOT(65)", "-66"),
        CALL("INTBITNOT(65.1)", ""),
        CALL("INTBITLEFTSHIFT(16, 4)", "256"),
        CALL("INTBITLEFTSHIFT(1, 63)", "-9223372036854775808"),
        CALL("INTBITLEFTSHIFT(1, 64)", "1"),
        CALL("INTBITLEFTSHIFT(16, 0.4)", ""),
        CALL("INTBITRIGHTSHIFT(16, 4)", "1"),
        CALL("INTBITRIGHTSHIFT(-16, 2)", "-4"),
        CALL("INTBITRIGHTSHIFT(-1, 63)", "-1"),
        CALL("INTBITRIGHTSHIFT(5, 0)", "5"),
    };
    CHECK_CALLS(rows);
}

TEST(functions_math, chance_lies_between_zero_and_one_and_differs)
{
    double first = call_number("RAND()"), second = call_number("RAND()");

    CHECK(first >= 0 && first < 1);
    CHECK(second >= 0 && second < 1);
    CHECK_THAT(first != second || call_number("RAND()") != first, "%f twice", first);
}

/* Computed while the text is parsed, it would be the same number for all rows. */
TEST(functions_math, chance_is_another_one_for_each_row)
{
    struct arena *arena = arena_open(64 << 20);
    const char *got = ask_list(arena, "[{},{},{},{},{},{},{},{}]",
                               "SELECT DISTINCT VALUE RAND() FROM c", NULL);
    size_t commas = 0;

    for (const char *at = got; *at; at++)
        commas += *at == ',';
    CHECK_EQ(commas, 7, "%s", got);
    arena_close(arena);
}

TEST(functions_math, a_wrong_number_of_arguments_is_an_error_of_the_text)
{
    static const struct call_row rows[] = {
        CALL("PI(1)", "SC2050 13-18: The PI function requires 0 argument(s)."),
        CALL("SIN()", "SC2050 13-18: The SIN function requires 1 argument(s)."),
        CALL("POWER(1)", "SC2050 13-21: The POWER function requires 2 argument(s)."),
        CALL("LOG(1,2,3)", "SC2050 13-23: The LOG function requires 1 to 2 argument(s)."),
        CALL("INTADD(1,2,3)", "SC2050 13-26: The INTADD function requires 2 argument(s)."),
        CALL("CONCAT('a')", "SC2050 13-24: The CONCAT function requires at least 2 argument(s)."),
    };
    CHECK_CALLS(rows);
}

/* The operators' functions, straight: { function, a, b, want }. */
static int64_t bits(enum function function, double a, double b)
{
    static const struct query_rules rules = { 0 };
    struct arena *arena = arena_open(1 << 20);
    const struct expression *args[2], *call;
    struct value value;
    int64_t whole;

    CHECK_OK(value_of_double(arena, a, &value));
    CHECK_OK(expression_literal(arena, value, &args[0]));
    CHECK_OK(value_of_double(arena, b, &value));
    CHECK_OK(expression_literal(arena, value, &args[1]));
    size_t count = function == FUNCTION_bit_not ? 1 : 2;
    CHECK_OK(expression_call(arena, function, args, count, &call));
    CHECK_OK(expression_fold(arena, &rules, call, &call));
    CHECK(call->kind == EXPRESSION_LITERAL && value_as_int64(call->literal, &whole));
    arena_close(arena);
    return whole;
}

TEST(functions_math, bit_operators_use_the_low_32_bits_as_javascript_does)
{
    static const struct {
        enum function function;
        double a, b;
        int64_t want;
    } rows[] = {
        {FUNCTION_bit_and,               100,            1000, 96         },
        { FUNCTION_bit_or,               100,            1000, 1004       },
        { FUNCTION_bit_xor,              100,            1000, 908        },
        { FUNCTION_bit_not,              100,            0,    -101       },
        { FUNCTION_bit_shift_left,       100,            2,    400        },
        { FUNCTION_bit_shift_left,       1,              31,   INT32_MIN  },
        { FUNCTION_bit_shift_left,       1,              32,   1          },
        { FUNCTION_bit_shift_left,       1,              -1,   INT32_MIN  },
        { FUNCTION_bit_shift_right,      100,            2,    25         },
        { FUNCTION_bit_shift_right,      -100,           2,    -25        },
        { FUNCTION_bit_shift_right_zero, -1,             0,    UINT32_MAX },
        { FUNCTION_bit_shift_right_zero, 100,            2,    25         },
        { FUNCTION_bit_or,               2147483648.0,   0,    INT32_MIN  },
        { FUNCTION_bit_or,               6442450944.0,   0,    INT32_MIN  },
        { FUNCTION_bit_or,               -2147483647.98, 0,    -2147483647},
        { FUNCTION_bit_or,               -4294967297.0,  0,    -1         },
        { FUNCTION_bit_or,               1e300,          1,    1          },
        { FUNCTION_bit_and,              3.9,            7.9,  3          },
    };
    EACH_ROW(rows, r)
        CHECK_EQ(bits(r->function, r->a, r->b), r->want, "%d of %f and %f", (int)r->function, r->a,
                 r->b);
}
