/* Keys: their order is the order of values, and they can be taken apart. */
#include "tests/check.h"
#include "tests/unit/value/samples.h"

#include <float.h>
#include <math.h>

enum { BUDGET = 64 * 1024 * 1024 };

static bytes encode(struct arena *arena, struct value value, enum key_order order)
{
    struct buffer out = buffer_in(arena);
    bytes key;

    key_append_value(&out, value, order);
    CHECK_OK(buffer_finish(&out, &key));
    return key;
}

static int sign(int order)
{
    return (order > 0) - (order < 0);
}

static bool has_nul(bytes key)
{
    return memchr(key.data, 0, key.len) != NULL;
}

/* The claim of all of this: comparison and both key orders agree, and no key is a prefix. */
static bool is_agreed(struct arena *arena, struct value a, struct value b)
{
    int order = sign(value_compare(a, b));
    bytes up_a = encode(arena, a, KEY_ASCENDING);
    bytes up_b = encode(arena, b, KEY_ASCENDING);
    bytes down_a = encode(arena, a, KEY_DESCENDING);
    bytes down_b = encode(arena, b, KEY_DESCENDING);

    return sign(value_compare(b, a)) == -order && sign(bytes_compare(up_a, up_b)) == order &&
           sign(bytes_compare(down_a, down_b)) == -order &&
           bytes_starts_with(up_b, up_a) == (order == 0) &&
           bytes_starts_with(down_b, down_a) == (order == 0);
}

static void check_pair(struct arena *arena, struct value a, struct value b)
{
    if (!is_agreed(arena, a, b))
        check_fail(__FILE__, __LINE__, "comparison and keys agree", "%s and %s",
                   sample_show(arena, a), sample_show(arena, b));
}

static bool has_true_length(struct arena *arena, struct value value, enum key_order order)
{
    struct buffer twice = buffer_in(arena);
    bytes key = encode(arena, value, order);

    for (size_t len = 0; len < key.len; len++) {
        if (key_value_length(bytes_of(key.data, len), order) != 0)
            return false;
    }
    buffer_append(&twice, key);
    buffer_append(&twice, key);
    return !has_nul(key) && key_value_length(key, order) == key.len &&
           key_value_length(bytes_of(twice.data, twice.len), order) == key.len;
}

static void check_length(struct arena *arena, struct value value, enum key_order order)
{
    if (!has_true_length(arena, value, order))
        check_fail(__FILE__, __LINE__, "a key has no NUL and its length is found", "%s",
                   sample_show(arena, value));
}

TEST(key, order_of_bytes_is_order_of_values_for_random_pairs)
{
    struct arena *arena = arena_open(BUDGET);

    EACH_SEED(seed, 40) {
        struct random random = random_seeded(seed);
        for (int i = 0; i < 500; i++) {
            struct value a = sample_random(&random, arena, 3);
            struct value b = sample_random(&random, arena, 3);
            check_pair(arena, a, b);
            check_pair(arena, a, a);
            check_length(arena, a, KEY_ASCENDING);
            check_length(arena, a, KEY_DESCENDING);
            arena_reset(arena);
        }
    }
    arena_close(arena);
}

TEST(key, order_of_bytes_is_order_of_numbers_for_random_pairs)
{
    struct arena *arena = arena_open(BUDGET);

    EACH_SEED(seed, 40) {
        struct random random = random_seeded(seed);
        for (int i = 0; i < 1000; i++) {
            check_pair(arena, sample_random_number(&random, arena),
                       sample_random_number(&random, arena));
            arena_reset(arena);
        }
    }
    arena_close(arena);
}

TEST(key, order_of_bytes_is_order_of_documents_that_differ_in_one_field)
{
    struct arena *arena = arena_open(BUDGET);

    EACH_SEED(seed, 20) {
        struct random random = random_seeded(seed);
        for (int i = 0; i < 200; i++) {
            struct value both = sample_random(&random, arena, 2);
            struct value values[2];
            for (int side = 0; side < 2; side++) {
                struct sample_writer writer = sample_begin(arena);
                sample_field(&writer, BYTES_LITERAL("same"), both);
                sample_field(&writer, bytes_of_text(random_chance(&random, 50) ? "x" : "y"),
                             sample_random(&random, arena, 1));
                values[side] = (struct value){ VALUE_DOCUMENT, sample_end(&writer) };
            }
            check_pair(arena, values[0], values[1]);
            values[0].type = VALUE_ARRAY;
            values[1].type = VALUE_ARRAY;
            check_pair(arena, values[0], values[1]);
            arena_reset(arena);
        }
    }
    arena_close(arena);
}

TEST(key, equal_numbers_of_all_types_give_equal_bytes)
{
    static const struct {
        int64_t integer;
        const char *decimal;
    } rows[] = {
        {0,          "0E+20"               },
        { 0,         "-0.00"               },
        { 1,         "1.000"               },
        { -1,        "-1"                  },
        { 1000,      "1E+3"                },
        { 1LL << 53, "9007199254740992"    },
        { INT64_MIN, "-9223372036854775808"},
    };
    struct arena *arena = arena_open(BUDGET);

    EACH_ROW(rows, r) {
        bytes key = encode(arena, sample_int64(arena, r->integer), KEY_ASCENDING);
        CHECK_BYTES(encode(arena, sample_double(arena, (double)r->integer), KEY_ASCENDING), key,
                    r->decimal);
        CHECK_BYTES(encode(arena, sample_decimal(arena, r->decimal), KEY_ASCENDING), key,
                    r->decimal);
    }
    arena_close(arena);
}

TEST(key, missing_and_undefined_are_one_and_below_null)
{
    struct arena *arena = arena_open(BUDGET);
    bytes missing = encode(arena, sample_nothing(VALUE_MISSING), KEY_ASCENDING);

    CHECK_BYTES(missing, encode(arena, sample_nothing(VALUE_UNDEFINED), KEY_ASCENDING), "");
    CHECK(bytes_compare(missing, encode(arena, sample_nothing(VALUE_NULL), KEY_ASCENDING)) < 0);
    CHECK(bytes_compare(missing, encode(arena, sample_nothing(VALUE_MIN_KEY), KEY_ASCENDING)) > 0);
    arena_close(arena);
}

TEST(key, common_values_are_short)
{
    static const struct {
        const char *json;
        size_t len_max;
    } rows[] = {
        {"0",          1},
        { "1",         4},
        { "-7",        4},
        { "1000",      5},
        { "1000000",   6},
        { "true",      2},
        { "null",      1},
        { "'abc'",     5},
        { "''",        2},
        { "0.5",       4},
        { "[]",        2},
        { "{}",        2},
        { "123456789", 8},
    };
    struct arena *arena = arena_open(BUDGET);

    EACH_ROW(rows, r) {
        bytes key = encode(arena, sample_json_value(arena, r->json), KEY_ASCENDING);
        CHECK_THAT(key.len <= r->len_max, "%s takes %zu bytes", r->json, key.len);
    }
    bytes date = encode(arena, sample_word(arena, VALUE_DATE, 1700000000000), KEY_ASCENDING);
    CHECK_THAT(date.len <= 8, "a date takes %zu bytes", date.len);
    arena_close(arena);
}

TEST(key, layout_of_stored_bytes_does_not_change)
{
    static const struct {
        const char *json;
        enum key_order order;
        const char *want;
    } rows[] = {
        {"1",                          KEY_ASCENDING,  "\x18\x41\x7a\x01"                        },
        { "1",                         KEY_DESCENDING, "\xe7\xbe\x85\xfe"                        },
        { "-1",                        KEY_ASCENDING,  "\x16\xbe\x85\xfe"                        },
        { "9007199254740993",          KEY_ASCENDING,
         "\x18\x45\x22\x02\x02\x02\x02\x02\x02\x02\x02\x32\x31\x5c\x09\x15\x5e\x38\x4c\x0b\x5f"
          "\x01"                                                                                 },
        { "'a\\u0000\\u0001\\u0002b'", KEY_ASCENDING,  "\x1e\x61\x02\x01\x02\x02\x02\x03\x62\x01"},
        { "[null,true]",               KEY_ASCENDING,  "\x28\x0f\x37\x03\x01"                    },
        { "{'a':false}",               KEY_ASCENDING,  "\x23\x37\x61\x01\x37\x02\x01"            },
        { "null",                      KEY_DESCENDING, "\xf0"                                    },
    };
    struct arena *arena = arena_open(BUDGET);

    EACH_ROW(rows, r)
        CHECK_TEXT(encode(arena, sample_json_value(arena, r->json), r->order), r->want);
    CHECK_TEXT(encode(arena, sample_word(arena, VALUE_DATE, 200), KEY_ASCENDING),
               "\x3c\x82\x03\x4a");
    CHECK_TEXT(encode(arena, sample_word(arena, VALUE_DATE, UINT64_MAX), KEY_ASCENDING),
               "\x3c\x7f");
    CHECK_TEXT(encode(arena, sample_binary(arena, 0, BYTES_LITERAL("\xfe\xff")), KEY_ASCENDING),
               "\x2d\x81\x04\x80\xfe\x01\xfe\x02\x01");
    arena_close(arena);
}

TEST(key, plain_bytes_come_back_and_keep_their_order)
{
    struct arena *arena = arena_open(BUDGET);

    EACH_SEED(seed, 20) {
        struct random random = random_seeded(seed);
        for (int i = 0; i < 300; i++) {
            struct buffer out = buffer_in(arena);
            uint8_t plain[2][6];
            bytes pair[2];
            bytes key;
            bytes back;
            for (int side = 0; side < 2; side++) {
                size_t len = (size_t)random_below(&random, sizeof(plain[0]) + 1);
                for (size_t at = 0; at < len; at++)
                    plain[side][at] = (uint8_t)(random_below(&random, 8) - 4);
                pair[side] = bytes_of(plain[side], len);
                key_append_bytes(&out, pair[side]);
            }
            CHECK_OK(buffer_finish(&out, &key));
            CHECK(!has_nul(key));
            bytes first = key;
            CHECK_OK(key_take_bytes(arena, &key, &back));
            CHECK_BYTES(back, pair[0], "first");
            first.len -= key.len;
            CHECK_EQ(sign(bytes_compare(first, key)), sign(bytes_compare(pair[0], pair[1])),
                     "order of keys");
            CHECK_OK(key_take_bytes(arena, &key, &back));
            CHECK_BYTES(back, pair[1], "second");
            CHECK_EQ(key.len, 0, "nothing is left");
            arena_reset(arena);
        }
    }
    arena_close(arena);
}

TEST(key, damaged_bytes_are_corrupt_and_stay_where_they_are)
{
    static const struct {
        const char *why;
        bytes key;
    } rows[] = {
        {"empty",                BYTES_LITERAL("")             },
        { "no end",              BYTES_LITERAL("abc")          },
        { "cut escape",          BYTES_LITERAL("ab\x02")       },
        { "unknown low escape",  BYTES_LITERAL("a\x02\x04\x01")},
        { "unknown high escape", BYTES_LITERAL("a\xfe\x03\x01")},
        { "NUL",                 BYTES_LITERAL("a\0b\x01")     },
        { "FF",                  BYTES_LITERAL("a\xff\x01")    },
    };
    struct arena *arena = arena_open(BUDGET);
    bytes plain;

    EACH_ROW(rows, r) {
        bytes key = r->key;
        CHECK_CODE(key_take_bytes(arena, &key, &plain), CORRUPT);
        CHECK_EQ(key.len, r->key.len, "%s", r->why);
    }
    arena_close(arena);
}

TEST(key, length_of_damaged_keys_is_zero)
{
    static const struct {
        const char *why;
        bytes key;
    } rows[] = {
        {"empty",                      BYTES_LITERAL("")                        },
        { "unknown class",             BYTES_LITERAL("\x70\x01")                },
        { "NUL",                       BYTES_LITERAL("\0")                      },
        { "FF",                        BYTES_LITERAL("\xff")                    },
        { "number without end",        BYTES_LITERAL("\x18\x41\x7a")            },
        { "number group out of range", BYTES_LITERAL("\x18\x90\x01")            },
        { "number with 10 groups",
         BYTES_LITERAL("\x18\x41\x41\x41\x41\x41\x41\x41\x41\x41\x41\x01")      },
        { "boolean that is neither",   BYTES_LITERAL("\x37\x04")                },
        { "integer with 11 groups",
         BYTES_LITERAL("\x3c\x8b\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02")  },
        { "document without end",      BYTES_LITERAL("\x23\x37\x61\x01\x37\x02")},
        { "field without value",       BYTES_LITERAL("\x23\x37\x61\x01\x01")    },
    };

    EACH_ROW(rows, r)
        CHECK_EQ(key_value_length(r->key, KEY_ASCENDING), 0, "%s", r->why);
}

TEST(key, nesting_of_damaged_keys_is_bounded)
{
    struct arena *arena = arena_open(BUDGET);
    struct buffer out = buffer_in(arena);

    for (int i = 0; i < 1000000; i++)
        buffer_append_byte(&out, 0x28);
    CHECK_EQ(key_value_length(bytes_of(out.data, out.len), KEY_ASCENDING), 0, "");
    arena_close(arena);
}

TEST(key, without_memory_the_buffer_reports_it)
{
    struct arena *arena = arena_open(BUDGET);
    struct arena *small = arena_open(64);
    struct buffer out = buffer_in(small);
    bytes key;
    uint8_t content[500] = { 0 };

    key_append_value(&out, sample_binary(arena, 0, bytes_of(content, sizeof(content))),
                     KEY_DESCENDING);
    CHECK_CODE(buffer_finish(&out, &key), OUT_OF_MEMORY);
    arena_close(small);
    arena_close(arena);
}

TEST(key, a_bound_is_shown_as_people_read_it)
{
    struct arena *arena = arena_open(BUDGET);
    const struct {
        const char *json, *want;
    } rows[] = {
        {"5",            "5"          },
        { "-2.5",        "-2.5"       },
        { "0",           "0"          },
        { "123456789.5", "123456789.5"},
        { "\"a b\"",     "\"a b\""    },
        { "true",        "true"       },
        { "null",        "null"       },
        { "[1]",         "[ ... ]"    },
    };

    EACH_ROW(rows, r) {
        for (int order = KEY_ASCENDING; order <= KEY_DESCENDING; order++) {
            struct buffer text = buffer_in(arena);
            struct value value = sample_json_value(arena, r->json);
            struct key_bound bound = { .key = encode(arena, value, (enum key_order)order),
                                       .is_point = true };
            key_write_bound(&text, &bound, (enum key_order)order);
            CHECK_TEXT(bytes_of(text.data, text.len), r->want);
        }
    }
    struct buffer text = buffer_in(arena);
    key_write_bound(&text, &(struct key_bound){ .is_end = true }, KEY_ASCENDING);
    CHECK_TEXT(bytes_of(text.data, text.len), "MaxKey");
    arena_close(arena);
}
