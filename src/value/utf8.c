/* UTF-8: validation, encoding of one character, and the search for bytes that need no attention.
 *
 * Most text is ASCII, so both searches look at eight bytes at a time, the validation at 32 where it goes on like that,
 * and fall back to single bytes where a word holds anything else. Pure; callable from every thread. */
#include "value/utf8.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif
#include "value/value.h"

#define EACH_BYTE(byte) (UINT64_C(0x0101010101010101) * (byte))

static bool is_continuation(uint8_t byte)
{
    return (byte & 0xC0) == 0x80;
}

static size_t three_bytes(const uint8_t *at, size_t room)
{
    if (room < 3 || !is_continuation(at[1]) || !is_continuation(at[2]))
        return 0;
    if (at[0] == 0xE0 && at[1] < 0xA0)
        return 0;
    if (at[0] == 0xED && at[1] > 0x9F)
        return 0;
    return 3;
}

static size_t four_bytes(const uint8_t *at, size_t room)
{
    if (room < 4 || !is_continuation(at[1]) || !is_continuation(at[2]) || !is_continuation(at[3]))
        return 0;
    if (at[0] == 0xF0 && at[1] < 0x90)
        return 0;
    if (at[0] == 0xF4 && at[1] > 0x8F)
        return 0;
    return 4;
}

size_t utf8_sequence(const uint8_t *at, size_t room)
{
    if (room == 0)
        return 0;
    if (at[0] < 0x80)
        return 1;
    if (at[0] < 0xC2 || at[0] > 0xF4)
        return 0;
    if (at[0] < 0xE0)
        return room >= 2 && is_continuation(at[1]) ? 2 : 0;
    return at[0] < 0xF0 ? three_bytes(at, room) : four_bytes(at, room);
}

static uint64_t high_bits(const uint8_t *at)
{
    uint64_t word;

    memcpy(&word, at, sizeof(word));
    return word & EACH_BYTE(0x80);
}

/* How much of the start is ASCII, in whole words. */
static size_t ascii_length(const uint8_t *at, size_t room)
{
    size_t len = 0;

    if (room < 8 || high_bits(at) != 0)
        return 0;
    while (room - len >= 32 && (high_bits(at + len) | high_bits(at + len + 8) |
                                high_bits(at + len + 16) | high_bits(at + len + 24)) == 0)
        len += 32;
    while (room - len >= 8 && high_bits(at + len) == 0)
        len += 8;
    return len;
}

/* Fewer bytes than a word, and at least one: most names of fields. */
static bool is_short_ascii(const uint8_t *at, size_t len)
{
    uint32_t first, last;

    if (len < sizeof(first))
        return ((at[0] | at[len / 2] | at[len - 1]) & 0x80) == 0;
    memcpy(&first, at, sizeof(first));
    memcpy(&last, at + len - sizeof(last), sizeof(last));
    return ((first | last) & (uint32_t)EACH_BYTE(0x80)) == 0;
}

size_t utf8_valid_length(bytes text)
{
    size_t at = 0;

    if (text.len > 0 && text.len < 8 && is_short_ascii(text.data, text.len))
        return text.len;
    while (at < text.len) {
        at += ascii_length(text.data + at, text.len - at);
        /* The last word, what was looked at before included. */
        if (text.len >= 8 && text.len - at < 8 && high_bits(text.data + text.len - 8) == 0)
            return text.len;
        size_t len = at < text.len ? utf8_sequence(text.data + at, text.len - at) : 0;
        if (len == 0)
            return at;
        at += len;
    }
    return at;
}

size_t utf8_put(uint8_t out[4], uint32_t character)
{
    ASSERT(character <= 0x10FFFF);
    if (character < 0x80) {
        out[0] = (uint8_t)character;
        return 1;
    }
    if (character < 0x800) {
        out[0] = (uint8_t)(0xC0 | character >> 6);
        out[1] = (uint8_t)(0x80 | (character & 0x3F));
        return 2;
    }
    if (character < 0x10000) {
        out[0] = (uint8_t)(0xE0 | character >> 12);
        out[1] = (uint8_t)(0x80 | (character >> 6 & 0x3F));
        out[2] = (uint8_t)(0x80 | (character & 0x3F));
        return 3;
    }
    out[0] = (uint8_t)(0xF0 | character >> 18);
    out[1] = (uint8_t)(0x80 | (character >> 12 & 0x3F));
    out[2] = (uint8_t)(0x80 | (character >> 6 & 0x3F));
    out[3] = (uint8_t)(0x80 | (character & 0x3F));
    return 4;
}

/* True if none of the eight bytes is a control character, quote, backslash or beyond ASCII. May say
 * false for a plain word that follows a special byte, never true for a special one. */
static bool is_plain_word(uint64_t word)
{
    uint64_t below_space = word - EACH_BYTE(0x20);
    uint64_t quote = (word ^ EACH_BYTE('"')) - EACH_BYTE(1);
    uint64_t backslash = (word ^ EACH_BYTE('\\')) - EACH_BYTE(1);

    return ((word | below_space | quote | backslash) & EACH_BYTE(0x80)) == 0;
}

/* 1 to 7 bytes as a word: each of them is in it, some twice, and a letter where none is left. */
static uint64_t short_word(const uint8_t *at, size_t len)
{
    uint32_t front, back;

    if (len < sizeof(front))
        return (EACH_BYTE('a') & ~UINT64_C(0xFFFFFF)) | at[0] | (uint64_t)at[len / 2] << 8 |
               (uint64_t)at[len - 1] << 16;
    memcpy(&front, at, sizeof(front));
    memcpy(&back, at + len - sizeof(back), sizeof(back));
    return front | (uint64_t)back << 32;
}

/* How many of the bytes in front are plain for sure, by sixteen at a time where that is one instruction. */
#if defined(__SSE2__)
static size_t plain_steps(const uint8_t *at, size_t room)
{
    enum { STEP = 16 };
    size_t len = 0;

    for (; room - len >= STEP; len += STEP) {
        const __m128i some = _mm_loadu_si128((const __m128i *)(const void *)(at + len));
        /* As signed numbers those beyond ASCII are below the space, too. */
        const __m128i special =
            _mm_or_si128(_mm_cmplt_epi8(some, _mm_set1_epi8(0x20)),
                         _mm_or_si128(_mm_cmpeq_epi8(some, _mm_set1_epi8('"')),
                                      _mm_cmpeq_epi8(some, _mm_set1_epi8('\\'))));
        if (_mm_movemask_epi8(special) != 0)
            break;
    }
    return len;
}
#else
static size_t plain_steps(const uint8_t *at, size_t room)
{
    (void)at;
    (void)room;
    return 0;
}
#endif

size_t utf8_plain_run(const uint8_t *at, size_t room)
{
    size_t len = plain_steps(at, room);
    uint64_t word;

    /* Names are short, and so are most texts. */
    if (room < sizeof(word)) {
        if (room == 0 || is_plain_word(short_word(at, room)))
            return room;
    }
    for (; room - len >= sizeof(word); len += sizeof(word)) {
        memcpy(&word, at + len, sizeof(word));
        if (!is_plain_word(word))
            break;
    }
    /* The end once more together with what stands in front of it, which is plain. */
    if (room - len < sizeof(word) && len > 0) {
        memcpy(&word, at + room - sizeof(word), sizeof(word));
        if (is_plain_word(word))
            return room;
    }
    while (len < room && at[len] >= 0x20 && at[len] < 0x80 && at[len] != '"' && at[len] != '\\')
        len++;
    return len;
}

bool text_is_utf8(bytes text)
{
    return utf8_valid_length(text) == text.len;
}

size_t text_character_count(bytes text)
{
    size_t count = 0;

    for (size_t i = 0; i < text.len; i++)
        count += (text.data[i] & 0xC0) != 0x80; /* not the inside of a sequence */
    return count;
}
