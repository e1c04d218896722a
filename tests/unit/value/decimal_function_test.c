/* Functions of decimals: known values digit by digit, the ways they are written, and random arguments against
 * MPFR with many more bits. What stands in the tables is what Intel's library gave, where it rounds correctly. */
#include "tests/check.h"
#include "tests/unit/value/samples.h"

#include <pthread.h>
#include <stdio.h>

#include <mpfr.h>

#include "value/libbson.h"
#include "value/raw.h"

enum { BUDGET = 16 * 1024 * 1024, TEXT_BYTES = 128 };

#define DECIMAL(text) sample_decimal(arena, text)

static const char *text_of(struct arena *arena, struct value value)
{
    bson_decimal128_t decimal;
    char text[BSON_DECIMAL128_STRING];

    CHECK_EQ(value.type, VALUE_DECIMAL128, "type");
    decimal.low = raw_u64(value.raw.data);
    decimal.high = raw_u64(value.raw.data + 8);
    bson_decimal128_to_string(&decimal, text);
    return arena_format(arena, "%s", text);
}

static const char *apply(struct arena *arena, enum number_function function, const char *x)
{
    struct value out;

    CHECK_OK(number_apply(arena, function, DECIMAL(x), &out));
    return text_of(arena, out);
}

static void check_function(struct arena *arena, enum number_function function, const char *x,
                           const char *want)
{
    const char *got = apply(arena, function, x);

    CHECK_THAT(strcmp(got, want) == 0, "function %d of %s is %s, want %s", (int)function, x, got,
               want);
}

static void check_pair(struct arena *arena, enum number_pair pair, const char *a, const char *b,
                       const char *want)
{
    struct value out;

    CHECK_OK(number_pair(arena, pair, DECIMAL(a), DECIMAL(b), &out));
    const char *got = text_of(arena, out);
    CHECK_THAT(strcmp(got, want) == 0, "function %d of %s and %s is %s, want %s", (int)pair, a, b,
               got, want);
}

#define ONE_34 "1.000000000000000000000000000000000"
#define PI "3.141592653589793238462643383279503"
#define HALF_PI "1.570796326794896619231321691639751"

TEST(decimal_function, known_values_are_right_to_the_last_of_34_digits)
{
    struct arena *arena = arena_open(BUDGET);
    const struct {
        enum number_function function;
        const char *x, *want;
    } rows[] = {
        {NUMBER_LN,     "2",                                   "0.6931471805599453094172321214581766"     },
        { NUMBER_LN,    "10",                                  "2.302585092994045684017991454684364"      },
        { NUMBER_LN,    "1.000000000000000000000000000000001",
         "9.999999999999999999999999999999995E-34"                                                        },
        { NUMBER_LN,    "1E-6176",                             "-14220.76553433122614449511522413063"     },
        { NUMBER_LOG10, "2",                                   "0.3010299956639811952137388947244930"     },
        { NUMBER_EXP,   "1",                                   "2.718281828459045235360287471352662"      },
        { NUMBER_EXP,   "-1",                                  "0.3678794411714423215955237701614609"     },
        { NUMBER_EXP,   "14149",                               "6.801809260978894125530050851897730E+6144"},
        { NUMBER_SIN,   "1",                                   "0.8414709848078965066525023216302990"     },
        { NUMBER_SIN,   "1E6144",                              "0.9168078385445297016578219657016703"     },
        { NUMBER_COS,   "1",                                   "0.5403023058681397174009366074429766"     },
        { NUMBER_TAN,   "1",                                   "1.557407724654902230506974807458360"      },
        { NUMBER_ASIN,  "0.5",                                 "0.5235987755982988730771072305465838"     },
        { NUMBER_ASIN,  "1",                                   HALF_PI                                    },
        { NUMBER_ACOS,  "-1",                                  PI                                         },
        { NUMBER_ATAN,  "1",                                   "0.7853981633974483096156608458198757"     },
        { NUMBER_SINH,  "1",                                   "1.175201193643801456882381850595601"      },
        { NUMBER_COSH,  "1",                                   "1.543080634815243778477905620757062"      },
        { NUMBER_TANH,  "1",                                   "0.7615941559557648881194582826047936"     },
        { NUMBER_ASINH, "1",                                   "0.8813735870195430252326093249797923"     },
        { NUMBER_ACOSH, "2",                                   "1.316957896924816708625046347307968"      },
        { NUMBER_ATANH, "0.5",                                 "0.5493061443340548456976226184612629"     },
    };

    EACH_ROW(rows, r)
        check_function(arena, r->function, r->x, r->want);
    arena_close(arena);
}

TEST(decimal_function, exact_results_come_without_zeros_and_others_with_34_digits)
{
    struct arena *arena = arena_open(BUDGET);
    const struct {
        enum number_function function;
        const char *x, *want;
    } rows[] = {
        {NUMBER_LN,     "1.00",     "0"                                      },
        { NUMBER_LOG10, "1000.00",  "3"                                      },
        { NUMBER_LOG10, "1E-5",     "-5"                                     },
        { NUMBER_LOG10, "1E6000",   "6000"                                   },
        { NUMBER_EXP,   "0E+5",     "1"                                      },
        { NUMBER_EXP,   "1E-35",    "1"                                      },
        { NUMBER_EXP,   "1E-34",    ONE_34                                   },
        { NUMBER_EXP,   "1E-17",    "1.000000000000000010000000000000000"    },
        { NUMBER_SIN,   "0",        "0"                                      },
        { NUMBER_SIN,   "-0E-7",    "-0E-7"                                  },
        { NUMBER_SIN,   "1E-50",    "1.000000000000000000000000000000000E-50"},
        { NUMBER_COS,   "0",        ONE_34                                   },
        { NUMBER_COSH,  "-0",       ONE_34                                   },
        { NUMBER_COSH,  "1E-18",    "1"                                      },
        { NUMBER_TAN,   "0",        "0E-40"                                  },
        { NUMBER_ASIN,  "0E+5",     "0E-35"                                  },
        { NUMBER_SINH,  "-0E-6170", "-0E-6176"                               },
        { NUMBER_ATAN,  "0E+5",     "0E+5"                                   },
        { NUMBER_TANH,  "-0",       "-0"                                     },
        { NUMBER_TANH,  "-80",      "-1"                                     },
        { NUMBER_ASINH, "-0",       "-0E-6176"                               },
        { NUMBER_ATANH, "0",        "0E-6176"                                },
        { NUMBER_ATANH, "123E-52",  "1.23E-50"                               },
        { NUMBER_ACOS,  "1.0",      "0E-6176"                                },
        { NUMBER_ACOSH, "1",        "0"                                      },
    };

    EACH_ROW(rows, r)
        check_function(arena, r->function, r->x, r->want);
    arena_close(arena);
}

TEST(decimal_function, outside_of_what_is_defined_is_nan_or_an_infinity)
{
    struct arena *arena = arena_open(BUDGET);
    const struct {
        enum number_function function;
        const char *x, *want;
    } rows[] = {
        {NUMBER_LN,     "0",         "-Infinity"                                },
        { NUMBER_LN,    "-1",        "NaN"                                      },
        { NUMBER_LN,    "Infinity",  "Infinity"                                 },
        { NUMBER_LOG10, "-0",        "-Infinity"                                },
        { NUMBER_EXP,   "NaN",       "NaN"                                      },
        { NUMBER_EXP,   "Infinity",  "Infinity"                                 },
        { NUMBER_EXP,   "-Infinity", "0"                                        },
        { NUMBER_EXP,   "14150",     "Infinity"                                 },
        { NUMBER_EXP,   "1E6144",    "Infinity"                                 },
        { NUMBER_EXP,   "-1E6144",   "0E-6176"                                  },
        { NUMBER_EXP,   "-14210",    "4.7360E-6172"                             },
        { NUMBER_EXP,   "-14221",    "1E-6176"                                  },
        { NUMBER_EXP,   "-14222",    "0E-6176"                                  },
        { NUMBER_SIN,   "Infinity",  "NaN"                                      },
        { NUMBER_COS,   "-Infinity", "NaN"                                      },
        { NUMBER_TAN,   "Infinity",  "NaN"                                      },
        { NUMBER_SIN,   "-1E-6176",  "-1E-6176"                                 },
        { NUMBER_ASIN,  "1.1",       "NaN"                                      },
        { NUMBER_ACOS,  "-1E6144",   "NaN"                                      },
        { NUMBER_ATAN,  "-Infinity", "-" HALF_PI                                },
        { NUMBER_SINH,  "-1E6144",   "-Infinity"                                },
        { NUMBER_SINH,  "14150",     "9.244617257381687763023063770892394E+6144"},
        { NUMBER_COSH,  "-Infinity", "Infinity"                                 },
        { NUMBER_TANH,  "1E6144",    "1"                                        },
        { NUMBER_ACOSH, "0.9",       "NaN"                                      },
        { NUMBER_ATANH, "-1",        "-Infinity"                                },
        { NUMBER_ATANH, "1.5",       "NaN"                                      },
    };

    EACH_ROW(rows, r)
        check_function(arena, r->function, r->x, r->want);
    arena_close(arena);
}

TEST(decimal_function, powers_follow_the_rules_of_pow_and_are_exact_where_they_can_be)
{
    struct arena *arena = arena_open(BUDGET);
    const struct {
        const char *x, *y, *want;
    } rows[] = {
        {"2",          "10",         "1024"                                   },
        { "2.00",      "3",          "8.000000"                               },
        { "10",        "34",         "1.000000000000000000000000000000000E+34"},
        { "10",        "-3",         "0.001"                                  },
        { "10",        "-6170",      "1.000000E-6170"                         },
        { "1E-3000",   "2",          "1E-6000"                                },
        { "1E4000",    "2",          "Infinity"                               },
        { "-10",       "3000000001", "-Infinity"                              },
        { "-0.1",      "3000000001", "-0E-6176"                               },
        { "5",         "50",         "8.881784197001252323389053344726562E+34"},
        { "225",       "14.5",       "1.278340394885893911123275756835938E+34"},
        { "4",         "0.5",        "2.000000000000000000000000000000000"    },
        { "100",       "0.5",        "10.00000000000000000000000000000000"    },
        { "2",         "0.5",        "1.414213562373095048801688724209698"    },
        { "-8",        "3",          "-512"                                   },
        { "-8",        "0.5",        "NaN"                                    },
        { "3",         "-2",         "0.1111111111111111111111111111111111"   },
        { "1.00",      "NaN",        "1"                                      },
        { "NaN",       "-0",         "1"                                      },
        { "NaN",       "1",          "NaN"                                    },
        { "-0",        "3",          "-0"                                     },
        { "-0",        "-3",         "-Infinity"                              },
        { "0",         "2.5",        "0"                                      },
        { "-1",        "Infinity",   "1"                                      },
        { "0.5",       "-Infinity",  "Infinity"                               },
        { "-Infinity", "3",          "-Infinity"                              },
        { "-Infinity", "-3",         "-0"                                     },
    };

    EACH_ROW(rows, r)
        check_pair(arena, NUMBER_POW, r->x, r->y, r->want);
    arena_close(arena);
}

TEST(decimal_function, the_angle_of_a_point_is_right_on_every_axis)
{
    struct arena *arena = arena_open(BUDGET);
    const struct {
        const char *y, *x, *want;
    } rows[] = {
        {"1",          "2",         "0.4636476090008061162142562314612144"},
        { "1",         "-1",        "2.356194490192344928846982537459627" },
        { "-1",        "-1",        "-2.356194490192344928846982537459627"},
        { "-0",        "1",         "-0E-6176"                            },
        { "0",         "-0",        PI                                    },
        { "-1",        "0",         "-" HALF_PI                           },
        { "1",         "-Infinity", PI                                    },
        { "-1",        "Infinity",  "-0E-6176"                            },
        { "Infinity",  "Infinity",  "0.785398163397448309615660845819876" },
        { "-Infinity", "-Infinity", "-2.356194490192344928846982537459627"},
        { "NaN",       "1",         "NaN"                                 },
        { "1",         "NaN",       "NaN"                                 },
        { "1E-40",     "1",         "1E-40"                               },
        { "1E-40",     "-1",        PI                                    },
        { "-1E-6000",  "1E6000",    "-0E-6176"                            },
        { "1E6000",    "1E-6000",   HALF_PI                               },
    };

    EACH_ROW(rows, r)
        check_pair(arena, NUMBER_ATAN2, r->y, r->x, r->want);
    arena_close(arena);
}

/* ---- random arguments ------------------------------------------------------------------------------- */

typedef int unary(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t rounding);

static const struct known {
    enum number_function function;
    unary *truth;
    int place_min, place_max; /* of the first digit of an argument */
    bool is_signed;
} known[] = {
    {NUMBER_ACOS,   mpfr_acos,  -20,   -1,   true },
    { NUMBER_ACOSH, mpfr_acosh, 0,     200,  false},
    { NUMBER_ASIN,  mpfr_asin,  -20,   -1,   true },
    { NUMBER_ASINH, mpfr_asinh, -100,  200,  true },
    { NUMBER_ATAN,  mpfr_atan,  -6100, 6100, true },
    { NUMBER_ATANH, mpfr_atanh, -20,   -1,   true },
    { NUMBER_COS,   mpfr_cos,   -20,   40,   true },
    { NUMBER_COSH,  mpfr_cosh,  -20,   3,    true },
    { NUMBER_EXP,   mpfr_exp,   -40,   3,    true },
    { NUMBER_LN,    mpfr_log,   -6100, 6100, false},
    { NUMBER_LOG10, mpfr_log10, -20,   20,   false},
    { NUMBER_SIN,   mpfr_sin,   -20,   40,   true },
    { NUMBER_SINH,  mpfr_sinh,  -20,   3,    true },
    { NUMBER_TAN,   mpfr_tan,   -20,   40,   true },
    { NUMBER_TANH,  mpfr_tanh,  -20,   2,    true },
};

static const char *random_decimal(struct random *random, struct arena *arena,
                                  const struct known *one)
{
    const unsigned places = (unsigned)(one->place_max - one->place_min + 1);
    char digits[35];
    size_t count = 1 + random_below(random, 34);

    for (size_t i = 0; i < count; i++)
        digits[i] = (char)('0' + random_below(random, 10));
    digits[0] = (char)('1' + random_below(random, 9));
    digits[count] = 0;
    if (one->place_min <= 0 && random_chance(random, 10))
        return arena_format(arena, "1.%s", digits + (count > 33));
    return arena_format(arena, "%s%sE%d", one->is_signed && random_chance(random, 50) ? "-" : "",
                        digits,
                        one->place_min + (int)random_below(random, places) - (int)count + 1);
}

/* 1,000 bits are 266 digits behind the last one, so that a result near a half is still told from it. */
static const char *truth(struct arena *arena, unary *function, const char *x)
{
    mpfr_t in, out;
    mpfr_exp_t point;
    char digits[64], raw[TEXT_BYTES];

    mpfr_inits2(1000, in, out, NULL);
    mpfr_set_str(in, x, 10, MPFR_RNDN);
    function(out, in, MPFR_RNDN);
    if (!mpfr_regular_p(out)) {
        snprintf(raw, sizeof(raw), "%s",
                 mpfr_nan_p(out)    ? "NaN"
                 : mpfr_zero_p(out) ? "0"
                                    : "Infinity");
    } else {
        mpfr_get_str(digits, &point, 10, 34, out, MPFR_RNDN);
        const bool is_negative = digits[0] == '-';
        snprintf(raw, sizeof(raw), "%s%sE%ld", is_negative ? "-" : "", digits + is_negative,
                 (long)point - 34);
    }
    mpfr_clears(in, out, NULL);
    return arena_format(arena, "%s", raw);
}

TEST(decimal_function, random_arguments_give_the_nearest_decimal)
{
    struct arena *arena = arena_open(BUDGET);

    EACH_SEED(seed, 5) {
        struct random random = random_seeded(seed);
        for (int i = 0; i < 20; i++) {
            EACH_ROW(known, one) {
                const char *x = random_decimal(&random, arena, one);
                const char *want = truth(arena, one->truth, x);
                const char *got = apply(arena, one->function, x);
                CHECK_EQ(value_compare(DECIMAL(got), DECIMAL(want)), 0,
                         "function %d of %s is %s, want %s", (int)one->function, x, got, want);
                arena_reset(arena);
            }
        }
    }
    mpfr_free_cache();
    arena_close(arena);
}

static void *compute_on_a_thread(void *unused)
{
    struct arena *arena = arena_open(BUDGET);

    check_function(arena, NUMBER_EXP, "1", "2.718281828459045235360287471352662");
    check_function(arena, NUMBER_ACOS, "-1", PI);
    arena_close(arena);
    return unused;
}

/* The sanitizers see whether constants are shared, or left behind. */
TEST(decimal_function, threads_compute_beside_each_other_and_leave_nothing_behind)
{
    pthread_t threads[4];

    for (size_t i = 0; i < 4; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, compute_on_a_thread, NULL), 0, "create");
    for (size_t i = 0; i < 4; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0, "join");
}
