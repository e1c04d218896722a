/* Words: a text as the words it consists of, for looking words up in it.
 *
 * A text is compared by its words, in small letters. Words are runs of letters, digits and underscores; an
 * apostrophe within one is left out; each character of Chinese, Japanese and Korean is a word of its own,
 * because those scripts do not part their words. Of English plurals the ending is cut off: 's and s' are
 * dropped, -ies becomes -y, -es goes behind ss, x, z, ch and sh, and a single -s goes unless the word ends in
 * -ss, -us or -is or has fewer than four letters. No words are left out for being frequent.
 *
 * A text becomes its words with a space around each, and so does what is looked for: then one is within the
 * other exactly if its words are there in a row, which takes linear time to find out.
 *
 * Pure apart from the arena. */
#include "query/words.h"

#include "query/text.h"

static bool is_ideograph(uint32_t c)
{
    return (c >= 0x3040 && c <= 0x30FF) || (c >= 0x3400 && c <= 0x9FFF) ||
           (c >= 0xAC00 && c <= 0xD7AF) || (c >= 0xF900 && c <= 0xFAFF) ||
           (c >= 0x20000 && c <= 0x3FFFF);
}

bool words_is_apostrophe(uint32_t c)
{
    return c == '\'' || c == 0x2019;
}

static bool is_word_letter(uint32_t c)
{
    if (c < 0x80)
        return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
               c == '_';
    /* What is neither a letter nor a digit beyond ASCII: signs of Latin-1, punctuation, symbols. */
    if (c < 0xC0)
        return c == 0xAA || c == 0xB5 || c == 0xBA;
    return c != 0xD7 && c != 0xF7 && !text_is_space(c) && !(c >= 0x2000 && c <= 0x2BFF) &&
           !(c >= 0x3000 && c <= 0x303F) && !(c >= 0xFE30 && c <= 0xFE6F) &&
           !(c >= 0xFF00 && c <= 0xFF0F) && c != 0xFEFF && !is_ideograph(c);
}

bool words_is_letter(uint32_t c)
{
    return is_word_letter(c) || is_ideograph(c);
}

static bool ends_with(bytes word, const char *end)
{
    size_t len = strlen(end);

    return word.len >= len && memcmp(word.data + word.len - len, end, len) == 0;
}

/* How long the word is without the ending of a plural; -ies becomes -y, for which `y_out` is set. */
static size_t stem_length(bytes word, bool *y_out)
{
    *y_out = false;
    if (word.len < 4 || !ends_with(word, "s") || ends_with(word, "ss") || ends_with(word, "us") ||
        ends_with(word, "is"))
        return word.len;
    if (ends_with(word, "ies") && word.len > 4) {
        *y_out = true;
        return word.len - 3;
    }
    if (ends_with(word, "sses") || ends_with(word, "xes") || ends_with(word, "zes") ||
        ends_with(word, "ches") || ends_with(word, "shes"))
        return word.len - 2;
    return word.len - 1;
}

static void append_word(struct buffer *out, struct buffer *word)
{
    bool has_y;
    bytes letters = bytes_of(word->data, word->len);

    if (letters.len == 0)
        return;
    size_t len = stem_length(letters, &has_y);
    buffer_append(out, bytes_of(letters.data, len));
    if (has_y)
        buffer_append_byte(out, 'y');
    buffer_append_byte(out, ' ');
    word->len = 0;
}

/* Behind the apostrophe: is it the s of a possessive, and nothing else? */
static bool is_possessive(bytes rest)
{
    if (rest.len == 0 || (rest.data[0] | 0x20) != 's')
        return false;
    rest = bytes_from(rest, 1);
    return rest.len == 0 || !is_word_letter(text_next(&rest));
}

status words_of(struct arena *arena, bytes text, bytes *out)
{
    struct buffer built = buffer_in(arena), word = buffer_in(arena);

    buffer_append_byte(&built, ' ');
    while (text.len) {
        uint32_t c = text_next(&text);
        if (words_is_apostrophe(c) && word.len && text.len) {
            if (is_possessive(text))
                text = bytes_from(text, 1);
            continue;
        }
        if (is_word_letter(c)) {
            text_append(&word, text_lower(c));
            continue;
        }
        append_word(&built, &word);
        if (is_ideograph(c)) {
            text_append(&built, c);
            buffer_append_byte(&built, ' ');
        }
    }
    append_word(&built, &word);
    if (word.is_failed)
        return arena_exhausted(arena);
    return buffer_finish(&built, out);
}

size_t words_count(bytes words)
{
    size_t count = 0;

    for (size_t i = 1; i < words.len; i++)
        count += words.data[i] == ' ';
    return count;
}

size_t words_find(bytes words, bytes phrase)
{
    size_t count = 0;

    if (phrase.len < 2)
        return 0;
    for (;;) {
        const uint8_t *at = memmem(words.data, words.len, phrase.data, phrase.len);
        if (!at)
            return count;
        count++;
        words = bytes_from(words, (size_t)(at - words.data) + 1);
    }
}

/* ---- nearly the same -------------------------------------------------------------------------------- */

/* Where they first differ, one of the three edits has to be made. */
static bool is_near(bytes a, bytes b, unsigned edits)
{
    bytes rest_a = a, rest_b = b;
    uint32_t first_a = a.len ? text_next(&rest_a) : 0, first_b = b.len ? text_next(&rest_b) : 0;

    while (a.len && b.len && first_a == first_b) {
        a = rest_a;
        b = rest_b;
        first_a = a.len ? text_next(&rest_a) : 0;
        first_b = b.len ? text_next(&rest_b) : 0;
    }
    if (a.len == 0 && b.len == 0)
        return true;
    if (edits == 0)
        return false;
    return (a.len && b.len && is_near(rest_a, rest_b, edits - 1)) ||
           (a.len && is_near(rest_a, b, edits - 1)) || (b.len && is_near(a, rest_b, edits - 1));
}

/* The next word, without the spaces around it; false if there is none. */
static bool next_word(bytes *words, bytes *out)
{
    if (words->len < 2)
        return false;
    bytes rest = bytes_from(*words, 1);
    const uint8_t *end = memchr(rest.data, ' ', rest.len);
    size_t len = end ? (size_t)(end - rest.data) : rest.len;
    *out = bytes_of(rest.data, len);
    *words = bytes_from(rest, len);
    return true;
}

bool words_has_near(bytes words, bytes term, unsigned edits)
{
    bytes wanted, word;

    if (!next_word(&term, &wanted) || words_count(term) > 0)
        return false;
    while (next_word(&words, &word)) {
        if (is_near(word, wanted, edits))
            return true;
    }
    return false;
}
