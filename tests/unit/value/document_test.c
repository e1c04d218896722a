/* Documents: what the check lets in, what it says about the rest, and walking what it let in. */
#include "tests/check.h"
#include "tests/unit/value/samples.h"

#include "value/libbson.h"
#include "value/raw.h"

enum { BUDGET = 128 * 1024 * 1024 };

#define ROW(why, literal, message)           \
    {                                        \
        why, BYTES_LITERAL(literal), message \
    }

TEST(document, broken_bytes_are_refused_with_offset_and_field)
{
    /* tidy: long because it is one row per case */
    static const struct {
        const char *why;
        bytes document;
        const char *message;
    } rows[] = {
        ROW("nothing", "", "offset 0: 0 bytes are too few"),
        ROW("four bytes", "\4\0\0\0", "offset 0: 4 bytes are too few"),
        ROW("length too small", "\4\0\0\0\0", "offset 0: document length 4"),
        ROW("length too large", "\6\0\0\0\0", "offset 0: document length 6"),
        ROW("negative length", "\xff\xff\xff\xff\0", "offset 0: document length -1"),
        ROW("bytes behind", "\5\0\0\0\0\0", "offset 5: 1 bytes follow"),
        ROW("no terminator", "\5\0\0\0\1", "does not end with a zero byte"),
        ROW("type 0", "\7\0\0\0\0\0\0", "offset 4: a field has type 0"),
        ROW("unknown type",
            "\x8\0\0\0\x14"
            "a\0\0",
            "field 'a': unknown type 0x14"),
        ROW("type 0x80",
            "\x8\0\0\0\x80"
            "a\0\0",
            "field 'a': unknown type 0x80"),
        ROW("name without end",
            "\7\0\0\0\x0a"
            "a\0",
            "offset 5: the name of a field without"),
        ROW("name not UTF-8", "\x8\0\0\0\x0a\xff\0\0",
            "offset 5: the name of a field is not UTF-8"),
        ROW("boolean 2",
            "\x9\0\0\0\x8"
            "a\0\2\0",
            "offset 7, field 'a': boolean is 2"),
        ROW("boolean missing",
            "\x8\0\0\0\x8"
            "a\0\0",
            "field 'a': value of 1 bytes, but 0"),
        ROW("short int32",
            "\xb\0\0\0\x10"
            "a\0\1\2\3\0",
            "value of 4 bytes, but 3"),
        ROW("short double",
            "\xb\0\0\0\x01"
            "a\0\1\2\3\0",
            "value of 8 bytes, but 3"),
        ROW("short ObjectId",
            "\xb\0\0\0\x07"
            "a\0\1\2\3\0",
            "value of 12 bytes, but 3"),
        ROW("short decimal",
            "\xb\0\0\0\x13"
            "a\0\1\2\3\0",
            "value of 16 bytes, but 3"),
        ROW("short string",
            "\xb\0\0\0\2"
            "a\0\1\0\0\0",
            "3 bytes are too few for a string"),
        ROW("string length 0",
            "\xd\0\0\0\2"
            "a\0\0\0\0\0\0\0",
            "string length 0"),
        ROW("string length -1",
            "\xd\0\0\0\2"
            "a\0\xff\xff\xff\xff\0\0",
            "string length -1"),
        ROW("string too long",
            "\xd\0\0\0\2"
            "a\0\3\0\0\0\0\0",
            "string length 3, but 1"),
        ROW("string no end",
            "\xd\0\0\0\2"
            "a\0\1\0\0\0b\0",
            "does not end with a zero byte"),
        ROW("string not UTF-8",
            "\xe\0\0\0\2"
            "a\0\2\0\0\0\xff\0\0",
            "offset 11, field 'a': string is not"),
        ROW("string overlong NUL",
            "\xf\0\0\0\2"
            "a\0\3\0\0\0\xc0\x80\0\0",
            "string is not UTF-8"),
        ROW("string surrogate",
            "\x10\0\0\0\2"
            "a\0\4\0\0\0\xed\xa0\x80\0\0",
            "string is not UTF-8"),
        ROW("binary too long",
            "\xd\0\0\0\5"
            "a\0\1\0\0\0\0\0",
            "binary length 1, but 0"),
        ROW("binary length -1",
            "\xd\0\0\0\5"
            "a\0\xff\xff\xff\xff\0\0",
            "binary length -1"),
        ROW("short old binary",
            "\xe\0\0\0\5"
            "a\0\1\0\0\0\2\0\0",
            "wrong inner length"),
        ROW("old binary",
            "\x11\0\0\0\5"
            "a\0\4\0\0\0\2\1\0\0\0\0",
            "wrong inner length"),
        ROW("regex without options",
            "\xa\0\0\0\xb"
            "a\0x\0\0",
            "the options of a regular"),
        ROW("regex not UTF-8",
            "\xb\0\0\0\xb"
            "a\0\xff\0\0\0",
            "the pattern of a regular"),
        ROW("nested too long",
            "\xd\0\0\0\3"
            "a\0\6\0\0\0\0\0",
            "field 'a': document length 6"),
        ROW("nested in array",
            "\x15\0\0\0\4"
            "a\0\xd\0\0\0\x8"
            "0\0\5\0\0\0\0\0\0",
            "field 'a.0': boolean is 5"),
        ROW("code length",
            "\x16\0\0\0\xf"
            "a\0\xf\0\0\0\1\0\0\0\0\5\0\0\0\0\0",
            "code with scope has length 15"),
        ROW("code length 2",
            "\x16\0\0\0\xf"
            "a\0\2\0\0\0\1\0\0\0\0\5\0\0\0\0\0",
            "code with scope has length 2"),
        ROW("code too short",
            "\xa\0\0\0\xf"
            "a\0\0\0\0",
            "2 bytes are too few for code with scope"),
    };
    struct arena *arena = arena_open(BUDGET);

    EACH_ROW(rows, r) {
        status s = document_check(arena, r->document);
        CHECK_EQ(s.code, INVALID, "%s", r->why);
        CHECK_THAT(strstr(s.message, r->message), "%s: '%s' does not say '%s'", r->why, s.message,
                   r->message);
    }
    arena_close(arena);
}

TEST(document, good_bytes_of_every_type_are_accepted)
{
    struct arena *arena = arena_open(BUDGET);

    EACH_SEED(seed, 50) {
        struct random random = random_seeded(seed);
        for (int i = 0; i < 50; i++) {
            bytes document = sample_random_document(&random, arena, 4);
            CHECK_OK(document_check(arena, document));
            arena_reset(arena);
        }
    }
    arena_close(arena);
}

/* What libbson's full validation refuses, the check refuses as well. */
TEST(document, nothing_is_accepted_that_libbson_refuses)
{
    struct arena *arena = arena_open(BUDGET);
    size_t accepted = 0;

    EACH_SEED(seed, 50) {
        struct random random = random_seeded(seed);
        for (int i = 0; i < 400; i++) {
            bson_t view;
            bytes good = sample_random_document(&random, arena, 3);
            struct buffer damaged = buffer_in(arena);
            buffer_append(&damaged, good);
            for (uint64_t hits = 1 + random_below(&random, 3); hits > 0; hits--) {
                size_t at = (size_t)random_below(&random, good.len);
                damaged.data[at] = (uint8_t)random_below(&random,
                                                         random_chance(&random, 50) ? 256 : 20);
            }
            bytes document = bytes_of(damaged.data, damaged.len);
            if (document_check(arena, document).code == OK) {
                accepted++;
                CHECK(bson_init_static(&view, document.data, document.len));
                CHECK(
                    bson_validate(&view, BSON_VALIDATE_UTF8 | BSON_VALIDATE_UTF8_ALLOW_NULL, NULL));
            }
            arena_reset(arena);
        }
    }
    CHECK_THAT(accepted > 100, "only %zu damaged documents were still good", accepted);
    arena_close(arena);
}

/* Documents in documents, `depth` of them with the outermost one. */
static bytes nested(struct arena *arena, int depth, enum value_type type)
{
    struct value value = { .type = type, .raw = sample_json(arena, "{}") };

    for (int i = 1; i < depth; i++) {
        struct sample_writer writer = sample_begin(arena);
        sample_field(&writer, BYTES_LITERAL("0"), value);
        value.raw = sample_end(&writer);
    }
    return value.raw;
}

TEST(document, nesting_is_bounded)
{
    struct arena *arena = arena_open(BUDGET);

    CHECK_OK(document_check(arena, nested(arena, LIMIT_NESTING_DEPTH, VALUE_DOCUMENT)));
    CHECK_OK(document_check(arena, nested(arena, LIMIT_NESTING_DEPTH, VALUE_ARRAY)));
    status s = document_check(arena, nested(arena, LIMIT_NESTING_DEPTH + 1, VALUE_DOCUMENT));
    CHECK_EQ(s.code, TOO_LARGE, "");
    CHECK_THAT(strstr(s.message, "deeper than 128"), "%s", s.message);
    CHECK_CODE(document_check(arena, nested(arena, 1000, VALUE_ARRAY)), TOO_LARGE);
    arena_close(arena);
}

TEST(document, what_was_built_is_as_deep_and_large_as_others)
{
    struct arena *arena = arena_open(BUDGET);
    const enum value_type types[] = { VALUE_DOCUMENT, VALUE_ARRAY };

    for (size_t i = 0; i < ARRAY_COUNT(types); i++) {
        for (int depth = LIMIT_NESTING_DEPTH - 2; depth < LIMIT_NESTING_DEPTH + 3; depth++) {
            bytes document = nested(arena, depth, types[i]);
            CHECK_EQ(document_check_built(arena, document).code,
                     document_check(arena, document).code, "%d levels", depth);
        }
    }
    struct sample_writer writer = sample_begin(arena);
    sample_field(&writer, BYTES_LITERAL("c"),
                 sample_scoped_code(arena, BYTES_LITERAL("f"),
                                    nested(arena, LIMIT_NESTING_DEPTH, VALUE_DOCUMENT)));
    CHECK_CODE(document_check_built(arena, sample_end(&writer)), TOO_LARGE);
    arena_close(arena);
}

TEST(document, size_is_bounded)
{
    struct arena *arena = arena_open(BUDGET);
    const size_t around = 4 + 1 + 2 + 5 + 1; /* length, type, name, binary, end */
    void *content;

    CHECK_OK(arena_take(arena, LIMIT_DOCUMENT_BYTES, &content));
    memset(content, 'x', LIMIT_DOCUMENT_BYTES);
    for (size_t more = 0; more < 2; more++) {
        struct sample_writer writer = sample_begin(arena);
        bytes inner = bytes_of(content, LIMIT_DOCUMENT_BYTES - around + more);
        sample_field(&writer, BYTES_LITERAL("a"), sample_binary(arena, 0, inner));
        bytes document = sample_end(&writer);
        CHECK_CODE(document_check(arena, document), more ? TOO_LARGE : OK);
        CHECK_CODE(document_check_built(arena, document), more ? TOO_LARGE : OK);
    }
    arena_close(arena);
}

TEST(document, strings_may_hold_a_zero_byte)
{
    struct arena *arena = arena_open(BUDGET);
    struct sample_writer writer = sample_begin(arena);
    struct value found;

    sample_field(&writer, BYTES_LITERAL("a"),
                 sample_text(arena, VALUE_STRING, BYTES_LITERAL("x\0y")));
    bytes document = sample_end(&writer);
    CHECK_OK(document_check(arena, document));
    CHECK(document_find(document, "a", &found));
    CHECK_BYTES(value_text(found), BYTES_LITERAL("x\0y"), "");
    arena_close(arena);
}

TEST(document, long_paths_are_cut_in_messages)
{
    struct arena *arena = arena_open(BUDGET);
    uint8_t two = 2;
    struct value value = { .type = VALUE_BOOL, .raw = bytes_of(&two, 1) };

    for (int i = 0; i < 20; i++) {
        struct sample_writer writer = sample_begin(arena);
        sample_field(&writer, BYTES_LITERAL("a_rather_long_name_of_a_field"), value);
        value = (struct value){ VALUE_DOCUMENT, sample_end(&writer) };
    }
    status s = document_check(arena, value.raw);
    CHECK_EQ(s.code, INVALID, "");
    CHECK_THAT(strlen(s.message) < 300, "%zu bytes", strlen(s.message));
    CHECK_THAT(strstr(s.message, "name_of_a_field': boolean is 2"), "%s", s.message);
    arena_close(arena);
}

TEST(document, fields_come_in_stored_order_with_their_values)
{
    struct arena *arena = arena_open(BUDGET);
    bytes document = sample_json(arena, "{'b':1,'a':'text','':null,'b':[true]}");
    struct document_walk walk = document_fields(document);
    struct field field;
    static const struct {
        const char *name;
        enum value_type type;
        size_t len;
    } rows[] = {
        {"b",  VALUE_INT32,  4},
        { "a", VALUE_STRING, 9},
        { "",  VALUE_NULL,   0},
        { "b", VALUE_ARRAY,  9},
    };

    EACH_ROW(rows, r) {
        CHECK(document_next(&walk, &field));
        CHECK_TEXT(field.name, r->name);
        CHECK_EQ(field.value.type, r->type, "%s", r->name);
        CHECK_EQ(field.value.raw.len, r->len, "%s", r->name);
    }
    CHECK(!document_next(&walk, &field));
    CHECK(!document_next(&walk, &field));
    arena_close(arena);
}

TEST(document, walk_agrees_with_libbson)
{
    struct arena *arena = arena_open(BUDGET);

    EACH_SEED(seed, 20) {
        struct random random = random_seeded(seed);
        for (int i = 0; i < 100; i++) {
            bytes document = sample_random_document(&random, arena, 3);
            struct document_walk walk = document_fields(document);
            struct field field;
            bson_iter_t iter;
            bson_t view;
            CHECK(bson_init_static(&view, document.data, document.len));
            CHECK(bson_iter_init(&iter, &view));
            while (bson_iter_next(&iter)) {
                CHECK(document_next(&walk, &field));
                CHECK_TEXT(field.name, bson_iter_key(&iter));
                CHECK_EQ((int)field.value.type, (int)bson_iter_type(&iter) & 0xFF, "");
            }
            CHECK(!document_next(&walk, &field));
            arena_reset(arena);
        }
    }
    arena_close(arena);
}

TEST(document, find_gives_the_first_field_of_exactly_that_name)
{
    struct arena *arena = arena_open(BUDGET);
    bytes document = sample_json(arena, "{'ab':1,'a':2,'a':3,'c':{'d':4}}");
    struct value value;

    CHECK(document_find(document, "a", &value));
    CHECK_EQ(raw_int32(value.raw.data), 2, "");
    CHECK(!document_find(document, "d", &value));
    CHECK_EQ(value.type, VALUE_MISSING, "");
    CHECK(document_find(document, "c", &value));
    CHECK(document_find(value_document(value), "d", &value));
    CHECK_EQ(raw_int32(value.raw.data), 4, "");
    CHECK_EQ(value_date_ms(sample_word(arena, VALUE_DATE, (uint64_t)-5)), -5, "");
    arena_close(arena);
}

static void walk_a_lie(void *data)
{
    struct document_walk walk = document_fields(BYTES_LITERAL("\xb\0\0\0\2"
                                                              "a\0\x7f\0\0\0"));
    struct field field;

    (void)data;
    while (document_next(&walk, &field))
        continue;
}

TEST(document, walking_bytes_that_were_not_checked_ends_the_process)
{
    CHECK(check_aborts(walk_a_lie, NULL));
}
