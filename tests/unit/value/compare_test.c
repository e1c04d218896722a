/* Order: one list of values in order, and the claims every order makes. */
#include "tests/check.h"
#include "tests/unit/value/samples.h"

#include <math.h>

enum { BUDGET = 16 * 1024 * 1024 };

static int sign(int order)
{
    return (order > 0) - (order < 0);
}

static struct value text(struct arena *arena, const char *content)
{
    return sample_text(arena, VALUE_STRING, bytes_of_text(content));
}

static struct value code(struct arena *arena, const char *content)
{
    return sample_text(arena, VALUE_CODE, bytes_of_text(content));
}

TEST(compare, one_list_over_all_types_is_in_order)
{
    struct arena *arena = arena_open(BUDGET);
    const uint8_t id_low[12] = { 1 };
    const uint8_t id_high[12] = { 1, 1 };
    const struct value list[] = {
        sample_nothing(VALUE_MIN_KEY),
        sample_nothing(VALUE_UNDEFINED),
        sample_nothing(VALUE_NULL),
        sample_double(arena, NAN),
        sample_decimal(arena, "-1E6000"),
        sample_int64(arena, INT64_MIN),
        sample_int32(arena, -1),
        sample_double(arena, 0),
        sample_decimal(arena, "0.5"),
        sample_int32(arena, 1),
        sample_double(arena, INFINITY),
        text(arena, ""),
        text(arena, "A"),
        sample_text(arena, VALUE_STRING, BYTES_LITERAL("A\0")),
        sample_text(arena, VALUE_SYMBOL, BYTES_LITERAL("Aa")),
        text(arena, "B"),
        text(arena, "a"),
        text(arena, "\xc3\xa9"),
        sample_json_value(arena, "{}"),
        sample_json_value(arena, "{'a':1}"),
        sample_json_value(arena, "{'a':1,'b':1}"),
        sample_json_value(arena, "{'b':1}"),
        sample_json_value(arena, "{'a':'x'}"),
        sample_json_value(arena, "{'a':{}}"),
        sample_json_value(arena, "[]"),
        sample_json_value(arena, "[1]"),
        sample_json_value(arena, "[1,null]"),
        sample_json_value(arena, "[2]"),
        sample_json_value(arena, "['']"),
        sample_binary(arena, 0, BYTES_LITERAL("")),
        sample_binary(arena, 0, BYTES_LITERAL("b")),
        sample_binary(arena, 5, BYTES_LITERAL("a")),
        sample_binary(arena, 0, BYTES_LITERAL("aa")),
        sample_raw(arena, VALUE_OBJECT_ID, bytes_of(id_low, 12)),
        sample_raw(arena, VALUE_OBJECT_ID, bytes_of(id_high, 12)),
        sample_bool(arena, false),
        sample_bool(arena, true),
        sample_word(arena, VALUE_DATE, (uint64_t)INT64_MIN),
        sample_word(arena, VALUE_DATE, (uint64_t)-1),
        sample_word(arena, VALUE_DATE, 0),
        sample_word(arena, VALUE_DATE, INT64_MAX),
        sample_word(arena, VALUE_TIMESTAMP, 1),
        sample_word(arena, VALUE_TIMESTAMP, UINT64_MAX),
        sample_regex(arena, "a", ""),
        sample_regex(arena, "a", "i"),
        sample_regex(arena, "ab", ""),
        sample_db_pointer(arena, BYTES_LITERAL("b"), id_low),
        sample_db_pointer(arena, BYTES_LITERAL("b"), id_high),
        sample_db_pointer(arena, BYTES_LITERAL("aa"), id_low),
        code(arena, "a"),
        code(arena, "b"),
        sample_scoped_code(arena, BYTES_LITERAL("a"), sample_json(arena, "{}")),
        sample_scoped_code(arena, BYTES_LITERAL("a"), sample_json(arena, "{'x':1}")),
        sample_scoped_code(arena, BYTES_LITERAL("b"), sample_json(arena, "{}")),
        sample_nothing(VALUE_MAX_KEY),
    };

    for (size_t i = 0; i < ARRAY_COUNT(list); i++) {
        for (size_t j = 0; j < ARRAY_COUNT(list); j++)
            CHECK_EQ(sign(value_compare(list[i], list[j])), (i > j) - (i < j), "%s and %s",
                     sample_show(arena, list[i]), sample_show(arena, list[j]));
    }
    arena_close(arena);
}

TEST(compare, different_types_of_one_class_can_be_equal)
{
    struct arena *arena = arena_open(BUDGET);

    CHECK_EQ(value_compare(sample_nothing(VALUE_MISSING), sample_nothing(VALUE_UNDEFINED)), 0, "");
    CHECK_EQ(value_compare(text(arena, "x"), sample_text(arena, VALUE_SYMBOL, BYTES_LITERAL("x"))),
             0, "string and symbol");
    CHECK_EQ(
        document_compare(sample_json(arena, "{'a':[1,2.0]}"), sample_json(arena, "{'a':[1.0,2]}")),
        0, "number types inside a document");
    arena_close(arena);
}

TEST(compare, documents_compare_by_class_then_name_then_value)
{
    struct arena *arena = arena_open(BUDGET);
    static const struct {
        const char *why;
        const char *less;
        const char *more;
    } rows[] = {
        {"class before name",         "{'z':1}",             "{'a':'x'}"          },
        { "name before value",        "{'a':9}",             "{'b':1}"            },
        { "value last",               "{'a':1}",             "{'a':2}"            },
        { "shorter first",            "{'a':1}",             "{'a':1,'a':null}"   },
        { "order of fields matters",  "{'a':1,'b':1}",       "{'b':1,'a':1}"      },
        { "first difference decides", "{'a':1,'b':9}",       "{'a':2,'b':1}"      },
        { "inside nested documents",  "{'a':{'b':{'c':1}}}", "{'a':{'b':{'c':2}}}"},
    };

    EACH_ROW(rows, r) {
        bytes less = sample_json(arena, r->less);
        bytes more = sample_json(arena, r->more);
        CHECK_EQ(sign(document_compare(less, more)), -1, "%s", r->why);
        CHECK_EQ(sign(document_compare(more, less)), 1, "%s", r->why);
        CHECK_EQ(document_compare(less, less), 0, "%s", r->why);
    }
    arena_close(arena);
}

TEST(compare, order_is_transitive_for_random_values)
{
    struct arena *arena = arena_open(BUDGET);

    EACH_SEED(seed, 20) {
        struct random random = random_seeded(seed);
        struct value v[12];
        for (size_t i = 0; i < ARRAY_COUNT(v); i++)
            v[i] = sample_random(&random, arena, 2);
        for (size_t i = 0; i < ARRAY_COUNT(v) * ARRAY_COUNT(v) * ARRAY_COUNT(v); i++) {
            struct value a = v[i % 12];
            struct value b = v[i / 12 % 12];
            struct value c = v[i / 144];
            if (value_compare(a, b) <= 0 && value_compare(b, c) <= 0 && value_compare(a, c) > 0)
                check_fail(__FILE__, __LINE__, "transitive", "%s, %s, %s", sample_show(arena, a),
                           sample_show(arena, b), sample_show(arena, c));
        }
        arena_reset(arena);
    }
    arena_close(arena);
}
