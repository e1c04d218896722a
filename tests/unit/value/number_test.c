/* Numbers: exact comparison over all types, against an oracle that works on decimal text. */
#include "tests/check.h"
#include "tests/unit/value/samples.h"

#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "value/decimal.h"
#include "value/libbson.h"
#include "value/raw.h"

enum { BUDGET = 16 * 1024 * 1024, DIGITS_MAX = 1200 };

/* Sign, place of the first digit and digits without zeros at either end: exact for every double. */
struct oracle {
    int rank; /* NaN, -inf, negative, zero, positive, +inf */
    long place;
    char digits[DIGITS_MAX];
};

/* From "[-]d.ddde[+-]n", "[-]dddd", "[-]d.dddE+n" and the names of the special values. */
static struct oracle oracle_parse(const char *text)
{
    struct oracle o = { .rank = 4 };
    size_t count = 0;
    long before_point = 0;
    bool is_after_point = false;

    if (strstr(text, "an") || strstr(text, "aN")) {
        o.rank = 0;
        return o;
    }
    if (*text == '-') {
        o.rank = 2;
        text++;
    }
    if (*text == 'i' || *text == 'I') {
        o.rank = o.rank == 2 ? 1 : 5;
        return o;
    }
    for (; *text && *text != 'e' && *text != 'E'; text++) {
        if (*text == '.') {
            is_after_point = true;
            continue;
        }
        if (count == 0 && *text == '0') {
            before_point -= is_after_point;
            continue;
        }
        before_point += !is_after_point;
        o.digits[count++] = *text;
    }
    while (count > 0 && o.digits[count - 1] == '0')
        count--;
    o.digits[count] = 0;
    o.place = before_point + (*text ? strtol(text + 1, NULL, 10) : 0);
    if (count == 0)
        o.rank = 3;
    return o;
}

static struct oracle oracle_of(struct value value)
{
    char text[DIGITS_MAX];
    bson_decimal128_t decimal;

    if (value.type == VALUE_DOUBLE) {
        snprintf(text, sizeof(text), "%.1100e", raw_double(value.raw.data));
    } else if (value.type == VALUE_DECIMAL128) {
        decimal.low = raw_u64(value.raw.data);
        decimal.high = raw_u64(value.raw.data + 8);
        bson_decimal128_to_string(&decimal, text);
    } else {
        long long integer = value.type == VALUE_INT32 ? raw_int32(value.raw.data)
                                                      : (long long)raw_int64(value.raw.data);
        snprintf(text, sizeof(text), "%lld", integer);
    }
    return oracle_parse(text);
}

static int oracle_compare(const struct oracle *a, const struct oracle *b)
{
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->rank != 2 && a->rank != 4)
        return 0;
    int order = a->place != b->place ? (a->place < b->place ? -1 : 1)
                                     : strcmp(a->digits, b->digits);
    return a->rank == 2 ? -order : order;
}

/* Short, because clang-format 14 cannot lay out a table whose rows take two lines. */
#define REAL(real) sample_double(arena, real)
#define WHOLE(integer) sample_int64(arena, integer)
#define DECIMAL(text) sample_decimal(arena, text)
#define JSON(text) sample_json_value(arena, text)
#define DIGITS_33 "100000000000000000000000000000000"

static int sign(int order)
{
    return (order > 0) - (order < 0);
}

TEST(number, comparison_is_exact_for_random_pairs_of_all_types)
{
    struct arena *arena = arena_open(BUDGET);

    EACH_SEED(seed, 20) {
        struct random random = random_seeded(seed);
        for (int i = 0; i < 500; i++) {
            struct value a = sample_random_number(&random, arena);
            struct value b = sample_random_number(&random, arena);
            struct oracle left = oracle_of(a);
            struct oracle right = oracle_of(b);
            int want = sign(oracle_compare(&left, &right));
            if (sign(value_compare(a, b)) != want)
                check_fail(__FILE__, __LINE__, "exact order", "%s and %s", sample_show(arena, a),
                           sample_show(arena, b));
            arena_reset(arena);
        }
    }
    arena_close(arena);
}

TEST(number, comparison_is_exact_at_the_borders)
{
    struct arena *arena = arena_open(BUDGET);
    const struct {
        const char *why;
        struct value less;
        struct value more;
    } rows[] = {
        {"2^53 + 1 as int64 beyond 2^53 as double", REAL(0x1p53),           WHOLE((1LL << 53) + 1)},
        { "2^53 + 1 before the next double",        WHOLE((1LL << 53) + 1), REAL(0x1p53 + 2)      },
        { "INT64_MAX below 2^63",                   WHOLE(INT64_MAX),       REAL(0x1p63)          },
        { "decimal 0.1 below double 0.1",           DECIMAL("0.1"),         REAL(0.1)             },
        { "decimal 0.3 above double 0.3",           REAL(0.3),              DECIMAL("0.3")        },
        { "negative 0.1 mirrored",                  REAL(-0.1),             DECIMAL("-0.1")       },
        { "tiny decimal above zero",                REAL(0.0),              DECIMAL("1E-6000")    },
        { "tiny decimal below denormals",           DECIMAL("1E-6000"),     REAL(0x1p-1074)       },
        { "tiny negative decimal below zero",       DECIMAL("-1E-6000"),    REAL(-0.0)            },
        { "huge decimal above DBL_MAX",             REAL(DBL_MAX),          DECIMAL("1E6000")     },
        { "huge decimals among themselves",         DECIMAL("9E5999"),      DECIMAL("1E6000")     },
        { "infinity above huge decimals",           DECIMAL("1E6144"),      REAL(INFINITY)        },
        { "NaN below infinity",                     REAL(NAN),              DECIMAL("-Infinity")  },
        { "the last of 34 digits",                  DECIMAL(DIGITS_33 "1"), DECIMAL(DIGITS_33 "2")},
    };

    EACH_ROW(rows, r) {
        CHECK_EQ(sign(value_compare(r->less, r->more)), -1, "%s", r->why);
        CHECK_EQ(sign(value_compare(r->more, r->less)), 1, "%s", r->why);
    }
    arena_close(arena);
}

TEST(number, equal_across_types_is_equal)
{
    struct arena *arena = arena_open(BUDGET);
    const struct {
        struct value a;
        struct value b;
    } rows[] = {
        {sample_int32(arena, 0),  REAL(-0.0) },
        { DECIMAL("-0E-100"),                 REAL(0.0) },
        { sample_int32(arena,                 5),  WHOLE(5) },
        { DECIMAL("5.000"),          REAL(5)          },
        { DECIMAL("0.5"),  REAL(0.5)},
        { DECIMAL("NaN"),        REAL(-NAN)                },
        { DECIMAL("Infinity"), REAL(INFINITY)},
        { DECIMAL("9223372036854775807"),    WHOLE(INT64_MAX)                   },
        { WHOLE(INT64_MIN),REAL(-0x1p63)},
        { DECIMAL("0.000030517578125"),       REAL(0x1p-15)                           },
    };

    EACH_ROW(rows, r)
        CHECK_EQ(value_compare(r->a, r->b), 0, "%s and %s", sample_show(arena, r->a),
                 sample_show(arena, r->b));
    arena_close(arena);
}

TEST(number, decimal_without_a_value_by_the_standard_is_zero)
{
    struct arena *arena = arena_open(BUDGET);
    uint8_t raw[16];

    raw_put_u64(raw, UINT64_C(0x378d8e6400000000));
    raw_put_u64(raw + 8, UINT64_C(0x3041ed09bead87c0));
    struct value too_many_digits = sample_raw(arena, VALUE_DECIMAL128, bytes_of(raw, 16));
    raw_put_u64(raw + 8, UINT64_C(0x6c10000000000000));
    struct value large_form = sample_raw(arena, VALUE_DECIMAL128, bytes_of(raw, 16));
    CHECK_EQ(value_compare(too_many_digits, sample_int32(arena, 0)), 0, "10^34 as coefficient");
    CHECK_EQ(value_compare(large_form, sample_int32(arena, 0)), 0, "large form");
    raw_put_u64(raw, UINT64_C(0x378d8e63ffffffff));
    raw_put_u64(raw + 8, UINT64_C(0x3041ed09bead87c0));
    struct value most_digits = sample_raw(arena, VALUE_DECIMAL128, bytes_of(raw, 16));
    CHECK_EQ(value_compare(most_digits, DECIMAL("9999999999999999999999999999999999")), 0,
             "34 nines");
    raw_put_u64(raw + 8, UINT64_C(0x7e00000000000000));
    struct value signaling = sample_raw(arena, VALUE_DECIMAL128, bytes_of(raw, 16));
    CHECK_EQ(value_compare(signaling, REAL(NAN)), 0, "signaling NaN");
    arena_close(arena);
}

/* Of all sizes, or what people write, which is often exact. */
static const char *random_decimal_text(struct random *random, struct arena *arena)
{
    const char *minus = random_chance(random, 50) ? "-" : "";

    if (random_chance(random, 50))
        return arena_format(arena, "%s%lluE%d", minus,
                            (unsigned long long)random_below(random, 1000000) * 15625,
                            (int)random_below(random, 90) - 55);
    return arena_format(arena, "%s%llu%016lluE%d", minus,
                        (unsigned long long)random_below(random, 1000000000000000000),
                        (unsigned long long)random_below(random, 10000000000000000),
                        (int)random_below(random, 760) - 400);
}

/* strtod() follows the rounding mode, and says the same thing in a wholly different way. */
TEST(number, decimal_is_cut_toward_zero_and_knows_if_something_is_lost)
{
    struct arena *arena = arena_open(BUDGET);

    EACH_SEED(seed, 10) {
        struct random random = random_seeded(seed);
        for (int i = 0; i < 1000; i++) {
            const char *text = random_decimal_text(&random, arena);
            struct value value = DECIMAL(text);
            bool is_exact;
            double cut = decimal_truncate(value.raw.data, &is_exact);
            fesetround(FE_TOWARDZERO);
            double want = strtod(text, NULL);
            fesetround(FE_TONEAREST);
            CHECK_THAT(cut == want, "%s is cut to %a, want %a", text, cut, want);
            struct oracle exact = oracle_of(value);
            struct oracle kept = oracle_of(REAL(cut));
            CHECK_EQ(is_exact, oracle_compare(&exact, &kept) == 0, "%s", text);
            arena_reset(arena);
        }
    }
    arena_close(arena);
}

TEST(number, whole_numbers_of_all_types_are_read_as_int64)
{
    struct arena *arena = arena_open(BUDGET);
    const struct {
        struct value value;
        bool is_whole;
        int64_t want;
    } rows[] = {
        {WHOLE(-7),                        true,  -7       },
        { WHOLE(INT64_MIN),                true,  INT64_MIN},
        { REAL(3.0),                       true,  3        },
        { REAL(-0.0),                      true,  0        },
        { REAL(-0x1p63),                   true,  INT64_MIN},
        { REAL(0x1p63),                    false, 0        },
        { REAL(2.5),                       false, 0        },
        { REAL(NAN),                       false, 0        },
        { REAL(INFINITY),                  false, 0        },
        { REAL(1e300),                     false, 0        },
        { DECIMAL("12.00"),                true,  12       },
        { DECIMAL("1.2E1"),                true,  12       },
        { DECIMAL("0E6000"),               true,  0        },
        { DECIMAL("9223372036854775807"),  true,  INT64_MAX},
        { DECIMAL("9223372036854775808"),  false, 0        },
        { DECIMAL("-9223372036854775808"), true,  INT64_MIN},
        { DECIMAL("-9223372036854775809"), false, 0        },
        { DECIMAL("1E6000"),               false, 0        },
        { DECIMAL("0.5"),                  false, 0        },
        { DECIMAL("NaN"),                  false, 0        },
        { DECIMAL("-Infinity"),            false, 0        },
        { JSON("'1'"),                     false, 0        },
        { JSON("true"),                    false, 0        },
    };

    EACH_ROW(rows, r) {
        int64_t integer = 0;
        CHECK_EQ(value_as_int64(r->value, &integer), r->is_whole, "%s",
                 sample_show(arena, r->value));
        CHECK_EQ(integer, r->want, "%s", sample_show(arena, r->value));
    }
    arena_close(arena);
}
