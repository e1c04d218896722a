/* Buffers, readers, bytes: what goes in comes out, and the first failure sticks. */
#include "base/base.h"
#include "tests/check.h"

TEST(buffer, appends_come_back_through_a_reader)
{
    struct arena *arena = arena_open(1 << 20);
    struct buffer out = buffer_in(arena);
    bytes all;

    buffer_append_byte(&out, 0xAB);
    buffer_append_u16(&out, 0x0102);
    buffer_append_u32(&out, 0x03040506);
    buffer_append_u64(&out, UINT64_C(0x0708090A0B0C0D0E));
    buffer_append_text(&out, "text");
    buffer_append_format(&out, "%d-%s", 7, "x");
    buffer_append(&out, BYTES_NONE);
    CHECK_OK(buffer_finish(&out, &all));
    CHECK_BYTES(all,
                BYTES_LITERAL("\xab\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e"
                              "text7-x"),
                "most significant byte first");

    struct reader reader = reader_of(all);
    CHECK_EQ(reader_byte(&reader), 0xAB, "");
    CHECK_EQ(reader_u16(&reader), 0x0102, "");
    CHECK_EQ(reader_u32(&reader), 0x03040506, "");
    CHECK_EQ(reader_u64(&reader), UINT64_C(0x0708090A0B0C0D0E), "");
    CHECK(!reader_is_done(&reader));
    CHECK_TEXT(reader_bytes(&reader, 7), "text7-x");
    CHECK(reader_is_done(&reader));
    arena_close(arena);
}

TEST(buffer, numbers_are_appended_in_decimal_digits)
{
    const struct {
        uint64_t number;
        size_t width;
        const char *text;
    } rows[] = {
        {0,           1, "0"                   },
        { 0,          0, "0"                   },
        { 7,          2, "07"                  },
        { 1234,       2, "1234"                },
        { 5,          6, "000005"              },
        { UINT64_MAX, 1, "18446744073709551615"},
    };
    struct arena *arena = arena_open(1 << 20);

    EACH_ROW(rows, r) {
        struct buffer out = buffer_in(arena);
        bytes all;
        buffer_append_decimal(&out, r->number, r->width);
        CHECK_OK(buffer_finish(&out, &all));
        CHECK_TEXT(all, r->text);
    }
    arena_close(arena);
}

TEST(buffer, grows_past_other_pieces_of_the_arena)
{
    struct arena *arena = arena_open(1 << 24);
    struct buffer out = buffer_in(arena);
    bytes all;
    void *between;

    for (unsigned i = 0; i < 10000; i++) {
        buffer_append_u32(&out, i);
        if (i % 500 == 0)
            CHECK_OK(arena_take(arena, 10, &between));
    }
    CHECK_OK(buffer_finish(&out, &all));
    CHECK_EQ(all.len, 40000, "");
    struct reader reader = reader_of(all);
    for (unsigned i = 0; i < 10000; i++)
        CHECK_EQ(reader_u32(&reader), i, "");
    arena_close(arena);
}

TEST(buffer, first_failure_sticks_until_the_end)
{
    struct arena *arena = arena_open(256);
    struct buffer out = buffer_in(arena);
    uint8_t much[512] = { 0 };
    bytes all;

    buffer_append_text(&out, "fits");
    buffer_append(&out, bytes_of(much, sizeof(much)));
    CHECK(out.is_failed);
    buffer_append_text(&out, "would fit");
    CHECK(buffer_reserve(&out, 1) == NULL);
    CHECK_EQ(out.len, 4, "nothing is appended after a failure");
    CHECK_CODE(buffer_finish(&out, &all), OUT_OF_MEMORY);
    CHECK(all.data == NULL);
    arena_close(arena);
}

TEST(buffer, reservation_beyond_all_memory_fails)
{
    struct arena *arena = arena_open(SIZE_MAX);
    struct buffer out = buffer_in(arena);

    buffer_append_byte(&out, 1);
    CHECK(buffer_reserve(&out, SIZE_MAX) == NULL);
    CHECK(out.is_failed);
    arena_close(arena);
}

TEST(reader, stops_at_the_end_and_stays_failed)
{
    struct reader reader = reader_of(BYTES_LITERAL("\x01\x02\x03"));

    CHECK_EQ(reader_u16(&reader), 0x0102, "");
    CHECK_EQ(reader_u16(&reader), 0, "only one byte is left");
    CHECK(reader.is_failed);
    CHECK_EQ(reader_byte(&reader), 0, "failure sticks");
    CHECK_EQ(reader_bytes(&reader, 0).len, 0, "");
    CHECK(!reader_is_done(&reader));
}

TEST(bytes, compare_is_unsigned_and_shorter_first)
{
    static const struct {
        bytes less;
        bytes more;
    } rows[] = {
        {BYTES_LITERAL(""),          BYTES_LITERAL("\0")  },
        { BYTES_LITERAL("a"),        BYTES_LITERAL("ab")  },
        { BYTES_LITERAL("a"),        BYTES_LITERAL("b")   },
        { BYTES_LITERAL("\x7f"),     BYTES_LITERAL("\x80")},
        { BYTES_LITERAL("\x01\xff"), BYTES_LITERAL("\x02")},
    };

    EACH_ROW(rows, r) {
        CHECK(bytes_compare(r->less, r->more) < 0);
        CHECK(bytes_compare(r->more, r->less) > 0);
        CHECK_EQ(bytes_compare(r->less, r->less), 0, "");
        CHECK(!bytes_equal(r->less, r->more));
        CHECK(bytes_equal(r->more, r->more));
    }
    CHECK(bytes_equal(BYTES_NONE, BYTES_LITERAL("")));
}

TEST(bytes, prefixes_and_tails_are_found)
{
    bytes text = BYTES_LITERAL("abc");

    CHECK(bytes_starts_with(text, BYTES_NONE));
    CHECK(bytes_is_text(BYTES_LITERAL("abc"), "abc"));
    CHECK(!bytes_is_text(BYTES_LITERAL("abc"), "ab"));
    CHECK(!bytes_is_text(BYTES_LITERAL("ab"), "abc"));
    CHECK(!bytes_is_text(BYTES_LITERAL("b"), "abc"));
    CHECK(bytes_is_text(BYTES_NONE, ""));
    CHECK(!bytes_is_text(BYTES_NONE, "a"));
    CHECK(bytes_starts_with(text, BYTES_LITERAL("ab")));
    CHECK(bytes_starts_with(text, text));
    CHECK(!bytes_starts_with(text, BYTES_LITERAL("abcd")));
    CHECK(!bytes_starts_with(text, BYTES_LITERAL("b")));
    CHECK_TEXT(bytes_from(text, 1), "bc");
    CHECK_EQ(bytes_from(text, 3).len, 0, "");
    CHECK_EQ(bytes_from(text, 100).len, 0, "");
    CHECK(bytes_is_empty(bytes_from(text, 100)));
}

TEST(bytes, hash_depends_on_every_byte_the_length_and_the_seed)
{
    uint8_t data[40] = { 0 };

    for (size_t len = 0; len < sizeof(data); len++) {
        uint64_t plain = bytes_hash(bytes_of(data, len), 1);
        CHECK_EQ(bytes_hash(bytes_of(data, len), 1), plain, "");
        CHECK(bytes_hash(bytes_of(data, len), 2) != plain);
        CHECK(bytes_hash(bytes_of(data, len + 1), 1) != plain);
        for (size_t at = 0; at < len; at++) {
            data[at] = 1;
            CHECK_THAT(bytes_hash(bytes_of(data, len), 1) != plain, "byte %zu of %zu", at, len);
            data[at] = 0;
        }
    }
}
