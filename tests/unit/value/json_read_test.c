/* JSON in: the grammar case by case, numbers without loss, and errors one can act on. */
#include "tests/check.h"
#include "tests/unit/value/samples.h"

#include <math.h>
#include <stdlib.h>

#include "value/libbson.h"
#include "value/raw.h"

enum { BUDGET = 256 * 1024 * 1024 };

/* Values are put behind {"v": and before }, so that each row shows only what it is about. */
static status read_value(struct arena *arena, bytes text, struct value *out)
{
    struct buffer whole = buffer_in(arena);
    bytes document;

    *out = (struct value){ .type = VALUE_MISSING };
    buffer_append_text(&whole, "{\"v\":");
    buffer_append(&whole, text);
    buffer_append_text(&whole, "}");
    TRY(json_read(arena, bytes_of(whole.data, whole.len), &document));
    CHECK_OK(document_check(arena, document));
    document_find(document, "v", out);
    return STATUS_OK;
}

TEST(json_read, values_of_the_grammar_are_accepted)
{
    static const struct {
        bytes text;
        enum value_type type;
    } rows[] = {
        {BYTES_LITERAL("null"),                            VALUE_NULL    },
        { BYTES_LITERAL("true"),                           VALUE_BOOL    },
        { BYTES_LITERAL("false"),                          VALUE_BOOL    },
        { BYTES_LITERAL("0"),                              VALUE_INT32   },
        { BYTES_LITERAL("-0"),                             VALUE_DOUBLE  },
        { BYTES_LITERAL("1"),                              VALUE_INT32   },
        { BYTES_LITERAL("-1"),                             VALUE_INT32   },
        { BYTES_LITERAL("123"),                            VALUE_INT32   },
        { BYTES_LITERAL("2147483648"),                     VALUE_INT64   },
        { BYTES_LITERAL("0.0"),                            VALUE_DOUBLE  },
        { BYTES_LITERAL("1.0"),                            VALUE_DOUBLE  },
        { BYTES_LITERAL("-1.5"),                           VALUE_DOUBLE  },
        { BYTES_LITERAL("1e3"),                            VALUE_DOUBLE  },
        { BYTES_LITERAL("1E3"),                            VALUE_DOUBLE  },
        { BYTES_LITERAL("1e+3"),                           VALUE_DOUBLE  },
        { BYTES_LITERAL("1e-3"),                           VALUE_DOUBLE  },
        { BYTES_LITERAL("0e0"),                            VALUE_DOUBLE  },
        { BYTES_LITERAL("0e+1"),                           VALUE_DOUBLE  },
        { BYTES_LITERAL("1.25e02"),                        VALUE_DOUBLE  },
        { BYTES_LITERAL("1e-999"),                         VALUE_DOUBLE  },
        { BYTES_LITERAL("1e-99999999999999999999"),        VALUE_DOUBLE  },
        { BYTES_LITERAL("0e99999999999999999999"),         VALUE_DOUBLE  },
        { BYTES_LITERAL("100000000000000000000"),          VALUE_DOUBLE  },
        { BYTES_LITERAL("\"\""),                           VALUE_STRING  },
        { BYTES_LITERAL("\"a\""),                          VALUE_STRING  },
        { BYTES_LITERAL("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), VALUE_STRING  },
        { BYTES_LITERAL("\"\\u0041\""),                    VALUE_STRING  },
        { BYTES_LITERAL("\"\\u0000\""),                    VALUE_STRING  },
        { BYTES_LITERAL("\"\\uFFFF\""),                    VALUE_STRING  },
        { BYTES_LITERAL("\"\\uffff\\u0123\""),             VALUE_STRING  },
        { BYTES_LITERAL("\"\\uD834\\uDD1E\""),             VALUE_STRING  },
        { BYTES_LITERAL("\"\\ud800\\udc00\""),             VALUE_STRING  },
        { BYTES_LITERAL("\"\\uDBFF\\uDFFF\""),             VALUE_STRING  },
        { BYTES_LITERAL("\"\x7f\""),                       VALUE_STRING  },
        { BYTES_LITERAL("\"\xc2\x80\""),                   VALUE_STRING  },
        { BYTES_LITERAL("\"\xe2\x82\xac\""),               VALUE_STRING  },
        { BYTES_LITERAL("\"\xef\xbf\xbf\""),               VALUE_STRING  },
        { BYTES_LITERAL("\"\xf4\x8f\xbf\xbf\""),           VALUE_STRING  },
        { BYTES_LITERAL("\"\xe2\x80\xa8\""),               VALUE_STRING  },
        { BYTES_LITERAL("[]"),                             VALUE_ARRAY   },
        { BYTES_LITERAL("[ ]"),                            VALUE_ARRAY   },
        { BYTES_LITERAL("[1]"),                            VALUE_ARRAY   },
        { BYTES_LITERAL("[1,\"a\",null,[],{}]"),           VALUE_ARRAY   },
        { BYTES_LITERAL("[[[[]]]]"),                       VALUE_ARRAY   },
        { BYTES_LITERAL("{}"),                             VALUE_DOCUMENT},
        { BYTES_LITERAL("{ }"),                            VALUE_DOCUMENT},
        { BYTES_LITERAL("{\"\":0}"),                       VALUE_DOCUMENT},
        { BYTES_LITERAL("{\"a\":1,\"a\":2}"),              VALUE_DOCUMENT},
        { BYTES_LITERAL("{\"a\\n\\u00e9\":1}"),            VALUE_DOCUMENT},
        { BYTES_LITERAL("{\"a\" : { \"b\":[ ] } }"),       VALUE_DOCUMENT},
        { BYTES_LITERAL(" \t\r\n1 \t\r\n"),                VALUE_INT32   },
        { BYTES_LITERAL("[\n1\r,\t2 ]"),                   VALUE_ARRAY   },
    };
    struct arena *arena = arena_open(BUDGET);

    EACH_ROW(rows, r) {
        struct value value;
        status s = read_value(arena, r->text, &value);
        CHECK_THAT(s.code == OK, "%.*s: %s", (int)r->text.len, r->text.data, s.message);
        CHECK_EQ(value.type, r->type, "%.*s", (int)r->text.len, r->text.data);
    }
    arena_close(arena);
}

TEST(json_read, values_outside_the_grammar_are_refused)
{
    /* tidy: long because it is one row per case */
    static const bytes rows[] = {
        BYTES_LITERAL(""),
        BYTES_LITERAL(" "),
        BYTES_LITERAL("nul"),
        BYTES_LITERAL("nulls"),
        BYTES_LITERAL("True"),
        BYTES_LITERAL("tru"),
        BYTES_LITERAL("fals"),
        BYTES_LITERAL("NULL"),
        BYTES_LITERAL("undefined"),
        BYTES_LITERAL("NaN"),
        BYTES_LITERAL("-NaN"),
        BYTES_LITERAL("Infinity"),
        BYTES_LITERAL("-Infinity"),
        BYTES_LITERAL("+1"),
        BYTES_LITERAL("++1"),
        BYTES_LITERAL("-"),
        BYTES_LITERAL("--1"),
        BYTES_LITERAL("-a"),
        BYTES_LITERAL("- 1"),
        BYTES_LITERAL("00"),
        BYTES_LITERAL("01"),
        BYTES_LITERAL("-01"),
        BYTES_LITERAL("-00"),
        BYTES_LITERAL("1."),
        BYTES_LITERAL("-1."),
        BYTES_LITERAL(".5"),
        BYTES_LITERAL("-.5"),
        BYTES_LITERAL("1.e1"),
        BYTES_LITERAL("1e"),
        BYTES_LITERAL("1e+"),
        BYTES_LITERAL("1E-"),
        BYTES_LITERAL("1ee1"),
        BYTES_LITERAL("1e1.5"),
        BYTES_LITERAL("1.2.3"),
        BYTES_LITERAL("0x1F"),
        BYTES_LITERAL("0b1"),
        BYTES_LITERAL("1_000"),
        BYTES_LITERAL("1 000"),
        BYTES_LITERAL("1e999"),
        BYTES_LITERAL("-1e999"),
        BYTES_LITERAL("1e99999999999999999999"),
        BYTES_LITERAL("\xef\xbc\x91"),
        BYTES_LITERAL("'a'"),
        BYTES_LITERAL("a"),
        BYTES_LITERAL("\""),
        BYTES_LITERAL("\"a"),
        BYTES_LITERAL("\"\\"),
        BYTES_LITERAL("\"\\\""),
        BYTES_LITERAL("\"\\x00\""),
        BYTES_LITERAL("\"\\a\""),
        BYTES_LITERAL("\"\\'\""),
        BYTES_LITERAL("\"\\0\""),
        BYTES_LITERAL("\"\\U0041\""),
        BYTES_LITERAL("\"\\u\""),
        BYTES_LITERAL("\"\\u004\""),
        BYTES_LITERAL("\"\\u00g0\""),
        BYTES_LITERAL("\"\\u+041\""),
        BYTES_LITERAL("\"\\ud800\""),
        BYTES_LITERAL("\"\\ud800x\""),
        BYTES_LITERAL("\"\\ud800\\n\""),
        BYTES_LITERAL("\"\\ud800\\u\""),
        BYTES_LITERAL("\"\\ud800\\u0041\""),
        BYTES_LITERAL("\"\\ud800\\u0000\""),
        BYTES_LITERAL("\"\\ud800\\ud800\""),
        BYTES_LITERAL("\"\\udc00\""),
        BYTES_LITERAL("\"\\udc00\\ud800\""),
        BYTES_LITERAL("\"\\udfff\""),
        BYTES_LITERAL("\"\n\""),
        BYTES_LITERAL("\"\t\""),
        BYTES_LITERAL("\"\x1f\""),
        BYTES_LITERAL("\"\0\""),
        BYTES_LITERAL("\"\x80\""),
        BYTES_LITERAL("\"\xff\""),
        BYTES_LITERAL("\"\xc0\x80\""),
        BYTES_LITERAL("\"\xc1\xbf\""),
        BYTES_LITERAL("\"\xc3\""),
        BYTES_LITERAL("\"\xe0\x80\x80\""),
        BYTES_LITERAL("\"\xe2\x82\""),
        BYTES_LITERAL("\"\xed\xa0\x80\""),
        BYTES_LITERAL("\"\xf0\x80\x80\x80\""),
        BYTES_LITERAL("\"\xf4\x90\x80\x80\""),
        BYTES_LITERAL("\"\xf5\x80\x80\x80\""),
        BYTES_LITERAL("["),
        BYTES_LITERAL("]"),
        BYTES_LITERAL("[1"),
        BYTES_LITERAL("[1,"),
        BYTES_LITERAL("[1,]"),
        BYTES_LITERAL("[,1]"),
        BYTES_LITERAL("[1,,2]"),
        BYTES_LITERAL("[,]"),
        BYTES_LITERAL("[1 2]"),
        BYTES_LITERAL("[1;2]"),
        BYTES_LITERAL("[1]]"),
        BYTES_LITERAL("[}"),
        BYTES_LITERAL("[\"a\":1]"),
        BYTES_LITERAL("[1}"),
        BYTES_LITERAL("{"),
        BYTES_LITERAL("{]"),
        BYTES_LITERAL("{,}"),
        BYTES_LITERAL("{\"a\"}"),
        BYTES_LITERAL("{\"a\":}"),
        BYTES_LITERAL("{\"a\",1}"),
        BYTES_LITERAL("{\"a\" 1}"),
        BYTES_LITERAL("{\"a\"::1}"),
        BYTES_LITERAL("{\"a\":1,}"),
        BYTES_LITERAL("{\"a\":1,,\"b\":2}"),
        BYTES_LITERAL("{a:1}"),
        BYTES_LITERAL("{'a':1}"),
        BYTES_LITERAL("{1:1}"),
        BYTES_LITERAL("{null:1}"),
        BYTES_LITERAL("{\"a\":1 \"b\":2}"),
        BYTES_LITERAL("{\"a\\u0000b\":1}"),
        BYTES_LITERAL("1 // comment"),
        BYTES_LITERAL("/* comment */ 1"),
        BYTES_LITERAL("1 # comment"),
        BYTES_LITERAL("\v1"),
        BYTES_LITERAL("\f1"),
        BYTES_LITERAL("\xc2\xa0"
                      "1"),
        BYTES_LITERAL("\0"),
        BYTES_LITERAL("1\0"),
        BYTES_LITERAL("1,"),
        BYTES_LITERAL("1}"),
    };
    struct arena *arena = arena_open(BUDGET);

    EACH_ROW(rows, r) {
        struct value value;
        status s = read_value(arena, *r, &value);
        CHECK_THAT(s.code == INVALID, "%.*s is accepted", (int)r->len, r->data);
        CHECK_THAT(strstr(s.message, "JSON offset "), "%s", s.message);
    }
    arena_close(arena);
}

TEST(json_read, top_level_is_one_object_and_nothing_else)
{
    static const struct {
        bytes text;
        status_code code;
    } rows[] = {
        {BYTES_LITERAL("{}"),                OK     },
        { BYTES_LITERAL(" \r\n\t{} \r\n\t"), OK     },
        { BYTES_LITERAL(""),                 INVALID},
        { BYTES_LITERAL("  "),               INVALID},
        { BYTES_LITERAL("[]"),               INVALID},
        { BYTES_LITERAL("1"),                INVALID},
        { BYTES_LITERAL("\"a\""),            INVALID},
        { BYTES_LITERAL("null"),             INVALID},
        { BYTES_LITERAL("{}{}"),             INVALID},
        { BYTES_LITERAL("{},"),              INVALID},
        { BYTES_LITERAL("{}x"),              INVALID},
        { BYTES_LITERAL("{}\0"),             INVALID},
        { BYTES_LITERAL("\xef\xbb\xbf{}"),   INVALID},
        { BYTES_LITERAL("{\0}"),             INVALID},
        { BYTES_LITERAL("\xff\xfe{\0}\0"),   INVALID},
    };
    struct arena *arena = arena_open(BUDGET);
    bytes document;

    EACH_ROW(rows, r)
        CHECK_CODE(json_read(arena, r->text, &document), r->code);
    arena_close(arena);
}

TEST(json_read, every_prefix_of_a_text_is_refused)
{
    static const char text[] = "{\"a\":[1,-2.5e3,\"x\\u00e9\\n\"],\"b\":{\"c\":true,\"d\":null}}";
    struct arena *arena = arena_open(BUDGET);
    bytes document;

    for (size_t len = 0; len < sizeof(text) - 1; len++)
        CHECK_CODE(json_read(arena, bytes_of(text, len), &document), INVALID);
    CHECK_OK(json_read(arena, bytes_of_text(text), &document));
    arena_close(arena);
}

TEST(json_read, whole_numbers_are_kept_exactly)
{
    static const struct {
        const char *text;
        enum value_type type;
        int64_t want;
    } rows[] = {
        {"0",                     VALUE_INT32, 0                 },
        { "2147483647",           VALUE_INT32, INT32_MAX         },
        { "-2147483648",          VALUE_INT32, INT32_MIN         },
        { "2147483648",           VALUE_INT64, 2147483648LL      },
        { "-2147483649",          VALUE_INT64, -2147483649LL     },
        { "9007199254740993",     VALUE_INT64, 9007199254740993LL},
        { "9223372036854775807",  VALUE_INT64, INT64_MAX         },
        { "-9223372036854775808", VALUE_INT64, INT64_MIN         },
    };
    struct arena *arena = arena_open(BUDGET);

    EACH_ROW(rows, r) {
        int64_t integer;
        struct value value = sample_json_value(arena, r->text);
        CHECK_EQ(value.type, r->type, "%s", r->text);
        CHECK(value_as_int64(value, &integer));
        CHECK_EQ(integer, r->want, "%s", r->text);
    }
    arena_close(arena);
}

TEST(json_read, other_numbers_are_correctly_rounded_doubles)
{
    static const struct {
        const char *text;
        double want;
    } rows[] = {
        {"-0",                                         -0.0                            },
        { "-0.0",                                      -0.0                            },
        { "-0e5",                                      -0.0                            },
        { "0.1",                                       0.1                             },
        { "19.99",                                     19.99                           },
        { "9223372036854775808",                       0x1p63                          },
        { "-9223372036854775809",                      -0x1p63                         },
        { "18446744073709551616",                      0x1p64                          },
        { "1e22",                                      1e22                            },
        { "1e23",                                      1e23                            },
        { "123456789012345678901234567890",            123456789012345678901234567890.0},
        { "1.7976931348623157e308",                    1.7976931348623157e308          },
        { "4.9e-324",                                  4.9e-324                        },
        { "2.4703282292062327e-324",                   0                               },
        { "2.4703282292062328e-324",                   4.9e-324                        },
        { "2.2250738585072011e-308",                   2.2250738585072011e-308         },
        { "9007199254740993.0",                        9007199254740992.0              },
        { "9007199254740993.00000000000000000001",     9007199254740994.0              },
        { "0.000000000000000000000000000000000001e36", 1                               },
        { "1000000000000000000000000000000000000e-36", 1                               },
    };
    struct arena *arena = arena_open(BUDGET);

    EACH_ROW(rows, r) {
        struct value value = sample_json_value(arena, r->text);
        CHECK_EQ(value.type, VALUE_DOUBLE, "%s", r->text);
        double got = raw_double(value.raw.data);
        CHECK_THAT(memcmp(&got, &r->want, sizeof(got)) == 0, "%s is %a, want %a", r->text, got,
                   r->want);
    }
    arena_close(arena);
}

TEST(json_read, random_numbers_are_what_strtod_says)
{
    struct arena *arena = arena_open(BUDGET);

    EACH_SEED(seed, 10) {
        struct random random = random_seeded(seed);
        for (int i = 0; i < 1000; i++) {
            uint64_t digits = random_next(&random) >> random_below(&random, 64);
            const char *text = arena_format(arena, "%llu.%lluE%d", (unsigned long long)digits,
                                            (unsigned long long)random_below(&random, 1000),
                                            (int)random_below(&random, 60) - 30);
            double got = raw_double(sample_json_value(arena, text).raw.data);
            CHECK_THAT(got == strtod(text, NULL), "%s is %a, want %a", text, got,
                       strtod(text, NULL));
            arena_reset(arena);
        }
    }
    arena_close(arena);
}

TEST(json_read, very_long_numbers_are_read_in_time)
{
    struct arena *arena = arena_open(BUDGET);
    struct buffer text = buffer_in(arena);
    bytes document;

    buffer_append_text(&text, "{\"v\":0.");
    for (int i = 0; i < 4000000; i++)
        buffer_append_byte(&text, '3');
    buffer_append_text(&text, "}");
    CHECK_OK(json_read(arena, bytes_of(text.data, text.len), &document));
    CHECK(raw_double(document.data + 7) == 1.0 / 3);
    arena_close(arena);
}

TEST(json_read, strings_are_unescaped)
{
    static const struct {
        const char *text;
        bytes want;
    } rows[] = {
        {"\"\\u0041\\u00e9\\u20AC\"",                            BYTES_LITERAL("A\xc3\xa9\xe2\x82\xac")},
        { "\"\\uD83D\\uDE00!\"",                                 BYTES_LITERAL("\xf0\x9f\x98\x80!")    },
        { "\"a\\u0000b\"",                                       BYTES_LITERAL("a\0b")                 },
        { "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",                      BYTES_LITERAL("\"\\/\b\f\n\r\t")      },
        { "\"0123456789abcdef\\n0123456789abcdef\"",
         BYTES_LITERAL("0123456789abcdef\n0123456789abcdef")                                           },
        { "\"\xf0\x9f\x98\x80 \xc3\xa9 plain and long enough\"",
         BYTES_LITERAL("\xf0\x9f\x98\x80 \xc3\xa9 plain and long enough")                              },
    };
    struct arena *arena = arena_open(BUDGET);

    EACH_ROW(rows, r)
        CHECK_BYTES(value_text(sample_json_value(arena, r->text)), r->want, r->text);
    arena_close(arena);
}

TEST(json_read, order_and_duplicates_stay_as_written)
{
    struct arena *arena = arena_open(BUDGET);
    struct buffer out = buffer_in(arena);

    json_write(&out, sample_json(arena, "{'b':1,'a':2,'b':3,'':[0,[1],{}]}"));
    CHECK_TEXT(bytes_of(out.data, out.len), "{\"b\":1,\"a\":2,\"b\":3,\"\":[0,[1],{}]}");
    arena_close(arena);
}

TEST(json_read, errors_say_where_and_what)
{
    static const struct {
        const char *text;
        const char *message;
    } rows[] = {
        {"",                     "JSON offset 0: expected '{', found the end of the text"          },
        { "[]",                  "JSON offset 0: expected '{', found '['"                          },
        { "{\"a\":1,}",          "JSON offset 7: expected a name in quotes, found '}'"             },
        { "{\"a\" 1}",           "JSON offset 5: expected ':', found '1'"                          },
        { "{\"a\":x}",           "JSON offset 5: expected a value, found 'x'"                      },
        { "{\"a\":trux}",        "JSON offset 8: expected a value, found 'x'"                      },
        { "{\"a\":1",            "JSON offset 6: expected ',' or '}', found the end of the text"   },
        { "{\"a\":[1",           "JSON offset 7: expected ',' or ']', found the end of the text"   },
        { "{\"a\":1}\x01",       "JSON offset 7: expected the end of the text, found byte 0x01"    },
        { "{\"a\":-}",           "JSON offset 6: expected a digit, found '}'"                      },
        { "{\"a\":01}",          "JSON offset 6: expected no digit after a leading zero, found '1'"},
        { "{\"a\":1e999}",       "JSON offset 5: number 1e999 is too large for a double"           },
        { "{\"a\":\"\xff\"}",    "JSON offset 6: expected UTF-8, found byte 0xff"                  },
        { "{\"a\":\"\n\"}",
         "JSON offset 6: expected an escaped control character, found byte 0x0a"                   },
        { "{\"a\":\"b",          "JSON offset 7: expected '\"', found the end of the text"         },
        { "{\"a\":\"\\q\"}",
         "JSON offset 7: expected one of \"\\/bfnrtu after a backslash, found 'q'"                 },
        { "{\"a\":\"\\u12x4\"}", "JSON offset 10: expected a hexadecimal digit, found 'x'"         },
        { "{\"a\":\"\\ud800\"}",
         "JSON offset 12: expected the second half of a surrogate pair, found '\"'"                },
        { "{\"a\":\"\\udc00\"}", "JSON offset 6: half of a surrogate pair"                         },
        { "{\"\\u0000\":1}",     "JSON offset 2: a name cannot hold the character U+0000"          },
    };
    struct arena *arena = arena_open(BUDGET);
    bytes document;

    EACH_ROW(rows, r) {
        CHECK_STRING(json_read(arena, bytes_of_text(r->text), &document).message, r->message);
        CHECK(document.data == NULL);
    }
    arena_close(arena);
}

TEST(json_read, nesting_is_bounded)
{
    struct arena *arena = arena_open(BUDGET);

    for (int more = 0; more < 2; more++) {
        struct buffer text = buffer_in(arena);
        bytes document;
        int depth = LIMIT_NESTING_DEPTH - 1 + more;
        buffer_append_text(&text, "{\"a\":");
        for (int i = 0; i < depth; i++)
            buffer_append_byte(&text, '[');
        for (int i = 0; i < depth; i++)
            buffer_append_byte(&text, ']');
        buffer_append_text(&text, "}");
        status s = json_read(arena, bytes_of(text.data, text.len), &document);
        CHECK_EQ(s.code, more ? TOO_LARGE : OK, "%s", s.message);
        if (!more)
            CHECK_OK(document_check(arena, document));
    }
    arena_close(arena);
}

TEST(json_read, size_as_bson_is_bounded)
{
    LONG_ON_ONE_THREAD();
    struct arena *arena = arena_open(BUDGET);
    struct buffer text = buffer_in(arena);
    bytes document;

    buffer_append_text(&text, "{\"a\":[0");
    for (int i = 0; i < 2000000; i++)
        buffer_append_text(&text, ",0");
    buffer_append_text(&text, "]}");
    CHECK_CODE(json_read(arena, bytes_of(text.data, text.len), &document), TOO_LARGE);
    arena_close(arena);
}

TEST(json_read, reports_when_the_arena_is_used_up)
{
    struct arena *arena = arena_open(BUDGET);
    bytes text =
        BYTES_LITERAL("{\"a\":[1,2,3,\"some text that needs room\",{\"b\":null}],\"c\":0.5}");
    bytes document;
    size_t budget = 0;

    for (; budget < 4096; budget += 16) {
        struct arena *small = arena_open(budget);
        status s = json_read(small, text, &document);
        arena_close(small);
        if (s.code == OK)
            break;
        CHECK_EQ(s.code, OUT_OF_MEMORY, "budget %zu", budget);
    }
    CHECK_THAT(budget > 64 && budget < 4096, "%zu", budget);
    arena_close(arena);
}

TEST(json_read, written_documents_read_back_as_written)
{
    struct arena *arena = arena_open(BUDGET);

    EACH_SEED(seed, 20) {
        struct random random = random_seeded(seed);
        for (int i = 0; i < 50; i++) {
            struct buffer text = buffer_in(arena);
            bytes document;
            json_write(&text, sample_random_document(&random, arena, 3));
            CHECK_OK(json_read(arena, bytes_of(text.data, text.len), &document));
            CHECK_OK(document_check(arena, document));
            struct buffer again = buffer_in(arena);
            json_write(&again, document);
            CHECK_BYTES(bytes_of(again.data, again.len), bytes_of(text.data, text.len), "");
            arena_reset(arena);
        }
    }
    arena_close(arena);
}

/* Where a text holds no extended notation, which libbson reads as values, and no escaped NUL, where
 * libbson's strings end. */
TEST(json_read, plain_texts_mean_the_same_to_libbson)
{
    struct arena *arena = arena_open(BUDGET);
    size_t count = 0;

    EACH_SEED(seed, 20) {
        struct random random = random_seeded(seed);
        for (int i = 0; i < 400; i++, arena_reset(arena)) {
            struct buffer text = buffer_in(arena);
            bson_error_t error;
            bytes ours;
            json_write(&text, sample_random_document(&random, arena, 3));
            bytes json = bytes_of(text.data, text.len);
            if (memchr(json.data, '$', json.len) || memmem(json.data, json.len, "u0000", 5))
                continue;
            CHECK_OK(json_read(arena, json, &ours));
            bson_t *theirs = bson_new_from_json(json.data, (ssize_t)json.len, &error);
            CHECK_THAT(theirs != NULL, "%s in %.*s", error.message, (int)json.len, json.data);
            CHECK_THAT(document_compare(ours, bytes_of(bson_get_data(theirs), theirs->len)) == 0,
                       "%.*s", (int)json.len, json.data);
            bson_destroy(theirs);
            count++;
        }
    }
    CHECK_THAT(count > 20, "%zu texts", count);
    arena_close(arena);
}
