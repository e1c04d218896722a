/* UTF-8: how far a text is valid, wherever the first byte stands that is not ASCII. */
#include "tests/check.h"

#include "value/utf8.h"

enum { TEXT_MAX = 100 };

/* One character after the other. */
static size_t length_one_by_one(bytes text)
{
    size_t at = 0, len = 1;

    while (at < text.len && len > 0) {
        len = utf8_sequence(text.data + at, text.len - at);
        at += len;
    }
    return at;
}

TEST(utf8, a_text_is_valid_up_to_its_first_wrong_byte_wherever_that_stands)
{
    static const char *const pieces[] = {
        "a",       "\xFF", "\x80", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xED\xA0\x80",
        "\xE2\x82"
    };
    uint8_t text[TEXT_MAX + 4];

    for (size_t len = 0; len <= TEXT_MAX; len++) {
        for (size_t at = 0; at < len; at++) {
            for (size_t i = 0; i < ARRAY_COUNT(pieces); i++) {
                bytes piece = bytes_of_text(pieces[i]);
                memset(text, 'x', sizeof(text));
                memcpy(text + at, piece.data, piece.len);
                bytes all = bytes_of(text, len);
                CHECK_EQ(utf8_valid_length(all), length_one_by_one(all), "%zu at %zu of %zu", i, at,
                         len);
            }
        }
    }
}

TEST(utf8, what_lies_behind_a_text_is_not_looked_at)
{
    uint8_t text[TEXT_MAX + 8];

    for (size_t len = 0; len <= TEXT_MAX; len++) {
        memset(text, 0xFF, sizeof(text));
        memset(text, 'x', len);
        CHECK_EQ(utf8_valid_length(bytes_of(text, len)), len, "");
    }
}
