/* JSON out: every type, every escape, and numbers that read back the same. */
#include "tests/check.h"
#include "tests/unit/value/samples.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "value/libbson.h"
#include "value/raw.h"

enum { BUDGET = 64 * 1024 * 1024 };

static bytes write_value(struct arena *arena, struct value value)
{
    struct buffer out = buffer_in(arena);
    bytes text;

    json_write_value(&out, value);
    CHECK_OK(buffer_finish(&out, &text));
    return text;
}

TEST(json_write, numbers_have_their_shortest_form)
{
    static const struct {
        double real;
        const char *want;
    } rows[] = {
        {0,                "0"                      },
        { -0.0,            "-0"                     },
        { 5,               "5"                      },
        { -7,              "-7"                     },
        { 0.1,             "0.1"                    },
        { 0.5,             "0.5"                    },
        { -2.5,            "-2.5"                   },
        { 19.99,           "19.99"                  },
        { 1234567.891,     "1234567.891"            },
        { 0.001,           "0.001"                  },
        { 1e-7,            "1e-07"                  },
        { 999999999999999, "999999999999999"        },
        { 1e15,            "1e+15"                  },
        { 1e300,           "1e+300"                 },
        { 0.1 + 0.2,       "0.30000000000000004"    },
        { 1.0 / 3,         "0.3333333333333333"     },
        { DBL_MAX,         "1.7976931348623157e+308"},
        { 0x1p53,          "9007199254740992"       },
        { 100.25,          "100.25"                 },
    };
    struct arena *arena = arena_open(BUDGET);

    EACH_ROW(rows, r)
        CHECK_TEXT(write_value(arena, sample_double(arena, r->real)), r->want);
    CHECK_TEXT(write_value(arena, sample_int64(arena, INT64_MIN)), "-9223372036854775808");
    CHECK_TEXT(write_value(arena, sample_int32(arena, -42)), "-42");
    arena_close(arena);
}

TEST(json_write, doubles_read_back_the_same)
{
    struct arena *arena = arena_open(BUDGET);

    EACH_SEED(seed, 20) {
        struct random random = random_seeded(seed);
        for (int i = 0; i < 1000; i++) {
            double real = sample_random_double(&random);
            if (random_chance(&random, 50))
                real = (double)random_below(&random, 100000000) / 1000;
            if (!isfinite(real))
                continue;
            bytes text = write_value(arena, sample_double(arena, real));
            const char *copy = arena_format(arena, "%.*s", (int)text.len, text.data);
            struct value back = sample_json_value(arena, copy);
            CHECK_THAT(value_compare(back, sample_double(arena, real)) == 0, "%a as %s", real,
                       copy);
            CHECK_THAT(strtod(copy, NULL) == real, "%a as %s", real, copy);
            arena_reset(arena);
        }
    }
    arena_close(arena);
}

/* No text of fewer significant digits gives the same double. */
TEST(json_write, doubles_have_no_shorter_digits)
{
    struct arena *arena = arena_open(BUDGET);

    EACH_SEED(seed, 5) {
        struct random random = random_seeded(seed);
        for (int i = 0; i < 500; i++) {
            double real = (double)random_below(&random, 1000000000) /
                          (double)(1 + random_below(&random, 10000));
            bytes text = write_value(arena, sample_double(arena, real));
            int digits = 0;
            bool is_leading = true;
            int zeros = 0;
            for (size_t at = 0; at < text.len && text.data[at] != 'e'; at++) {
                is_leading = is_leading && (text.data[at] == '0' || text.data[at] == '.');
                if (is_leading || text.data[at] == '.')
                    continue;
                zeros = text.data[at] == '0' ? zeros + 1 : 0;
                digits++;
            }
            digits -= zeros;
            if (digits > 1)
                CHECK_THAT(strtod(arena_format(arena, "%.*e", digits - 2, real), NULL) != real,
                           "%.*s has %d digits", (int)text.len, text.data, digits);
            arena_reset(arena);
        }
    }
    arena_close(arena);
}

/* Single quotes stand for double ones. */
static const char *with_quotes(struct arena *arena, const char *text)
{
    char *copy = (char *)(uintptr_t)arena_format(arena, "%s", text);

    for (char *at = copy; *at; at++) {
        if (*at == '\'')
            *at = '"';
    }
    return copy;
}

#define CHECK_WRITTEN(value, want) CHECK_TEXT(write_value(arena, value), with_quotes(arena, want))

TEST(json_write, types_that_json_lacks_have_extended_notation)
{
    struct arena *arena = arena_open(BUDGET);
    const uint8_t id[12] = {
        0x50, 0x7f, 0x1f, 0x77, 0xbc, 0xf8, 0x6c, 0xd7, 0x99, 0x43, 0x90, 0x11
    };

    CHECK_WRITTEN(sample_double(arena, NAN), "{'$numberDouble':'NaN'}");
    CHECK_WRITTEN(sample_double(arena, INFINITY), "{'$numberDouble':'Infinity'}");
    CHECK_WRITTEN(sample_double(arena, -INFINITY), "{'$numberDouble':'-Infinity'}");
    CHECK_WRITTEN(sample_decimal(arena, "1.50"), "{'$numberDecimal':'1.50'}");
    CHECK_WRITTEN(sample_decimal(arena, "NaN"), "{'$numberDecimal':'NaN'}");
    CHECK_WRITTEN(sample_decimal(arena, "-1E+6000"), "{'$numberDecimal':'-1E+6000'}");
    CHECK_WRITTEN(sample_raw(arena, VALUE_OBJECT_ID, bytes_of(id, 12)),
                  "{'$oid':'507f1f77bcf86cd799439011'}");
    CHECK_WRITTEN(sample_binary(arena, 0, BYTES_LITERAL("")),
                  "{'$binary':{'base64':'','subType':'00'}}");
    CHECK_WRITTEN(sample_binary(arena, 4, BYTES_LITERAL("f")),
                  "{'$binary':{'base64':'Zg==','subType':'04'}}");
    CHECK_WRITTEN(sample_binary(arena, 0x80, BYTES_LITERAL("fo")),
                  "{'$binary':{'base64':'Zm8=','subType':'80'}}");
    CHECK_WRITTEN(sample_binary(arena, 0, BYTES_LITERAL("foo\xff\xfe")),
                  "{'$binary':{'base64':'Zm9v//4=','subType':'00'}}");
    CHECK_WRITTEN(sample_binary(arena, 2, BYTES_LITERAL("\3\0\0\0foo")),
                  "{'$binary':{'base64':'Zm9v','subType':'02'}}");
    CHECK_WRITTEN(sample_nothing(VALUE_UNDEFINED), "{'$undefined':true}");
    CHECK_WRITTEN(sample_nothing(VALUE_MIN_KEY), "{'$minKey':1}");
    CHECK_WRITTEN(sample_nothing(VALUE_MAX_KEY), "{'$maxKey':1}");
    CHECK_WRITTEN(sample_regex(arena, "a\"b", "i"),
                  "{\"$regularExpression\":{\"pattern\":\"a\\\"b\",\"options\":\"i\"}}");
    CHECK_WRITTEN(sample_db_pointer(arena, BYTES_LITERAL("c"), id),
                  "{'$dbPointer':{'$ref':'c','$id':{'$oid':'507f1f77bcf86cd799439011'}}}");
    CHECK_WRITTEN(sample_text(arena, VALUE_CODE, BYTES_LITERAL("f()")), "{'$code':'f()'}");
    CHECK_WRITTEN(sample_text(arena, VALUE_SYMBOL, BYTES_LITERAL("s")), "{'$symbol':'s'}");
    CHECK_WRITTEN(sample_scoped_code(arena, BYTES_LITERAL("f"), sample_json(arena, "{'x':1}")),
                  "{'$code':'f','$scope':{'x':1}}");
    CHECK_WRITTEN(sample_word(arena, VALUE_TIMESTAMP, UINT64_C(0xFFFFFFFF00000007)),
                  "{'$timestamp':{'t':4294967295,'i':7}}");
    CHECK_WRITTEN(sample_word(arena, VALUE_DATE, 0), "{'$date':'1970-01-01T00:00:00Z'}");
    CHECK_WRITTEN(sample_word(arena, VALUE_DATE, 1356351330501),
                  "{'$date':'2012-12-24T12:15:30.501Z'}");
    CHECK_WRITTEN(sample_word(arena, VALUE_DATE, 951782400000), "{'$date':'2000-02-29T00:00:00Z'}");
    CHECK_WRITTEN(sample_word(arena, VALUE_DATE, 253402300799999),
                  "{'$date':'9999-12-31T23:59:59.999Z'}");
    CHECK_WRITTEN(sample_word(arena, VALUE_DATE, 253402300800000),
                  "{'$date':{'$numberLong':'253402300800000'}}");
    CHECK_WRITTEN(sample_word(arena, VALUE_DATE, (uint64_t)-1), "{'$date':{'$numberLong':'-1'}}");

    arena_close(arena);
}

TEST(json_write, text_is_escaped_only_where_it_must)
{
    static const struct {
        bytes text;
        const char *want;
    } rows[] = {
        {BYTES_LITERAL(""),                                "\"\""                              },
        { BYTES_LITERAL("plain text, longer than a word"), "\"plain text, longer than a word\""},
        { BYTES_LITERAL("\"\\/"),                          "\"\\\"\\\\/\""                     },
        { BYTES_LITERAL("\b\f\n\r\t"),                     "\"\\b\\f\\n\\r\\t\""               },
        { BYTES_LITERAL("\0\x01\x1f\x7f"),                 "\"\\u0000\\u0001\\u001f\x7f\""     },
        { BYTES_LITERAL("\xc3\xa9\xf0\x9f\x98\x80"),       "\"\xc3\xa9\xf0\x9f\x98\x80\""      },
        { BYTES_LITERAL("caf\xc3\xa9 and more text\n"),    "\"caf\xc3\xa9 and more text\\n\""  },
    };
    struct arena *arena = arena_open(BUDGET);

    EACH_ROW(rows, r)
        CHECK_TEXT(write_value(arena, sample_text(arena, VALUE_STRING, r->text)), r->want);
    arena_close(arena);
}

TEST(json_write, a_byte_that_is_escaped_is_found_at_every_place_of_a_text)
{
    static const struct {
        uint8_t byte;
        const char *shown;
    } rows[] = {
        {'"',   "\\\""   },
        { '\\', "\\\\"   },
        { 0x1f, "\\u001f"},
        { 0,    "\\u0000"},
        { '\n', "\\n"    },
        { ' ',  " "      },
        { '~',  "~"      },
        { 0x7f, "\x7f"   },
        { '#',  "#"      },
        { '[',  "["      },
    };
    enum { LEN_MAX = 50 };
    static const char filling[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    struct arena *arena = arena_open(BUDGET);

    EACH_ROW(rows, r) {
        for (size_t len = 1; len <= LEN_MAX; len++) {
            for (size_t at = 0; at < len; at++) {
                char text[LEN_MAX], want[3 * LEN_MAX];
                memset(text, 'a', sizeof(text));
                text[at] = (char)r->byte;
                snprintf(want, sizeof(want), "\"%.*s%s%.*s\"", (int)at, filling, r->shown,
                         (int)(len - at - 1), filling);
                CHECK_TEXT(
                    write_value(arena, sample_text(arena, VALUE_STRING, bytes_of(text, len))),
                    want);
                arena_reset(arena);
            }
        }
    }
    arena_close(arena);
}

TEST(json_write, every_date_of_four_centuries_is_what_gmtime_says)
{
    struct arena *arena = arena_open(BUDGET);

    for (int64_t day = 0; day < 146097; day++) {
        time_t seconds = (time_t)(day * 86400 + 3661);
        struct tm parts;
        gmtime_r(&seconds, &parts);
        bytes text = write_value(arena, sample_word(arena, VALUE_DATE, (uint64_t)seconds * 1000));
        CHECK_TEXT(text, arena_format(arena, "{\"$date\":\"%04d-%02d-%02dT01:01:01Z\"}",
                                      parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday));
        arena_reset(arena);
    }
    arena_close(arena);
}

/* Extended notation is libbson's own: it reads back the same value, whatever the type. Not compared
 * are texts that it cannot read: strings end at a NUL, and code or a DBPointer inside an array gets a
 * name from uninitialised memory. */
static bool is_readable_by_libbson(bytes text)
{
    return !memmem(text.data, text.len, "u0000", 5) && !memmem(text.data, text.len, "$code", 5) &&
           !memmem(text.data, text.len, "$dbPointer", 10);
}

TEST(json_write, random_documents_are_the_same_after_libbson_read_them)
{
    struct arena *arena = arena_open(BUDGET);

    EACH_SEED(seed, 20) {
        struct random random = random_seeded(seed);
        for (int i = 0; i < 100; i++, arena_reset(arena)) {
            bytes document = sample_random_document(&random, arena, 2);
            struct buffer text = buffer_in(arena);
            bson_error_t error;
            json_write(&text, document);
            if (!is_readable_by_libbson(bytes_of(text.data, text.len)))
                continue;
            bson_t *back = bson_new_from_json(text.data, (ssize_t)text.len, &error);
            CHECK_THAT(back != NULL, "%s in %.*s", error.message, (int)text.len, text.data);
            bytes read = bytes_of(bson_get_data(back), back->len);
            CHECK_THAT(document_check(arena, read).code == OK, "%.*s", (int)text.len, text.data);
            CHECK_THAT(document_compare(read, document) == 0, "%.*s", (int)text.len, text.data);
            bson_destroy(back);
        }
    }
    arena_close(arena);
}

TEST(json_write, without_memory_the_buffer_reports_it)
{
    struct arena *arena = arena_open(BUDGET);
    struct arena *small = arena_open(64);
    struct buffer out = buffer_in(small);
    bytes text;

    json_write(&out, sample_json(arena, "{'a':[1,2,3,4,5,6,7,8,9],'b':'more than 64 bytes of text"
                                        " are not going to fit into this one, to be sure'}"));
    CHECK_CODE(buffer_finish(&out, &text), OUT_OF_MEMORY);
    arena_close(small);
    arena_close(arena);
}
