/* JSON with objects for what it lacks: everything that is written reads back, older forms too, and slips are told. */
#include "tests/check.h"
#include "tests/unit/value/samples.h"

enum { BUDGET = 64 * 1024 * 1024 };

static bytes written(struct arena *arena, bytes document)
{
    struct buffer out = buffer_in(arena);
    bytes text;

    json_write(&out, document);
    CHECK_OK(buffer_finish(&out, &text));
    return text;
}

TEST(json_extended, every_document_reads_back_as_it_was_written)
{
    struct arena *arena = arena_open(BUDGET);

    EACH_SEED(seed, 20) {
        struct random random = random_seeded(seed);
        for (int i = 0; i < 200; i++, arena_reset(arena)) {
            bytes document = sample_random_document(&random, arena, 3), again;
            bytes text = written(arena, document);
            CHECK_OK(json_read_extended(arena, text, &again));
            CHECK_OK(document_check(arena, again));
            CHECK_THAT(document_compare(document, again) == 0, "%.*s", (int)text.len, text.data);
            CHECK_BYTES(written(arena, again), text, "the same text");
        }
    }
    arena_close(arena);
}

TEST(json_extended, canonical_and_older_forms_are_read_too)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"{\"v\":{\"$numberInt\":\"-7\"}}",                               "{\"v\":-7}"                                  },
        { "{\"v\":{\"$numberLong\":\"9007199254740993\"}}",               "{\"v\":9007199254740993}"                    },
        { "{\"v\":{\"$numberDouble\":\"1.5\"}}",                          "{\"v\":1.5}"                                 },
        { "{\"v\":{\"$numberDouble\":\"-Infinity\"}}",
         "{\"v\":{\"$numberDouble\":\"-Infinity\"}}"                                                                    },
        { "{\"v\":{\"$date\":{\"$numberLong\":\"-1\"}}}",
         "{\"v\":{\"$date\":{\"$numberLong\":\"-1\"}}}"                                                                 },
        { "{\"v\":{\"$date\":1000}}",                                     "{\"v\":{\"$date\":\"1970-01-01T00:00:01Z\"}}"},
        { "{\"v\":{\"$date\":\"2024-02-29T01:00:00.5+01:00\"}}",
         "{\"v\":{\"$date\":\"2024-02-29T00:00:00.500Z\"}}"                                                             },
        { "{\"v\":{\"$binary\":\"AQI=\",\"$type\":\"5\"}}",
         "{\"v\":{\"$binary\":{\"base64\":\"AQI=\",\"subType\":\"05\"}}}"                                               },
        { "{\"v\":{\"$uuid\":\"00010203-0405-0607-0809-0a0b0c0d0e0f\"}}",
         "{\"v\":{\"$binary\":{\"base64\":\"AAECAwQFBgcICQoLDA0ODw==\",\"subType\":\"04\"}}}"                           },
        { "{\"v\":{\"\\u0024oid\":\"0102030405060708090a0b0c\"}}",
         "{\"v\":{\"$oid\":\"0102030405060708090a0b0c\"}}"                                                              },
        { "{\"v\":[{\"$ref\":\"c\",\"$id\":1},{\"$oid\":1,\"a\":2}]}",
         "{\"v\":[{\"$ref\":\"c\",\"$id\":1},{\"$oid\":1,\"a\":2}]}"                                                    },
    };
    struct arena *arena = arena_open(BUDGET);

    EACH_ROW(rows, r) {
        bytes document;
        CHECK_OK(json_read_extended(arena, bytes_of_text(r->text), &document));
        bytes text = written(arena, document);
        CHECK_THAT(bytes_is_text(text, r->want), "%s became %.*s", r->text, (int)text.len,
                   text.data);
    }
    arena_close(arena);
}

TEST(json_extended, what_looks_like_a_value_and_is_none_is_refused)
{
    static const char *const rows[] = {
        "{\"v\":{\"$oid\":\"01\"}}",
        "{\"v\":{\"$oid\":5}}",
        "{\"v\":{\"$date\":\"2023-02-29T00:00:00Z\"}}",
        "{\"v\":{\"$date\":\"yesterday\"}}",
        "{\"v\":{\"$date\":\"2023-01-01T00:00:00\"}}",
        "{\"v\":{\"$numberInt\":\"2147483648\"}}",
        "{\"v\":{\"$numberInt\":7}}",
        "{\"v\":{\"$numberLong\":\"9223372036854775808\"}}",
        "{\"v\":{\"$numberDouble\":\"0x10\"}}",
        "{\"v\":{\"$numberDecimal\":\"ten\"}}",
        "{\"v\":{\"$binary\":{\"base64\":\"A\",\"subType\":\"00\"}}}",
        "{\"v\":{\"$binary\":{\"base64\":\"AA==\"}}}",
        "{\"v\":{\"$binary\":\"AA==\"}}",
        "{\"v\":{\"$uuid\":\"0001\"}}",
        "{\"v\":{\"$uuid\":\"0001020304050607-0809-0a0b0c0d0e0f--\"}}",
        "{\"v\":{\"$uuid\":\"000102030405060708090a0b0c0d0e0f----\"}}",
        "{\"v\":{\"$uuid\":\"00010203-0405-0607-0809-0a0b0c0d0e0-\"}}",
        "{\"v\":{\"$uuid\":\"00010203-0405-0607-08090a-0b0c0d0e0f\"}}",
        "{\"v\":{\"$regularExpression\":{\"pattern\":\"a\\u0000\",\"options\":\"\"}}}",
        "{\"v\":{\"$timestamp\":{\"t\":-1,\"i\":0}}}",
        "{\"v\":{\"$code\":1}}",
        "{\"v\":{\"$code\":\"x\",\"$scope\":1}}",
        "{\"v\":{\"$symbol\":1}}",
        "{\"v\":{\"$dbPointer\":{\"$ref\":\"c\"}}}",
        "{\"v\":{\"$minKey\":2}}",
        "{\"v\":{\"$maxKey\":true}}",
        "{\"v\":{\"$undefined\":false}}",
    };
    struct arena *arena = arena_open(BUDGET);

    EACH_ROW(rows, r) {
        bytes document;
        status s = json_read_extended(arena, bytes_of_text(*r), &document);
        CHECK_THAT(s.code == INVALID && strstr(s.message, "expects"), "%s: %s", *r,
                   s.message ? s.message : "read");
    }
    arena_close(arena);
}
