/* Functions of search: words in texts, and how near two vectors are.
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
 * Pure apart from the row's arena. */
#include "query/call.h"
#include "query/text.h"

#include <math.h>

/* ---- words ------------------------------------------------------------------------------------------ */

static bool is_ideograph(uint32_t c)
{
    return (c >= 0x3040 && c <= 0x30FF) || (c >= 0x3400 && c <= 0x9FFF) ||
           (c >= 0xAC00 && c <= 0xD7AF) || (c >= 0xF900 && c <= 0xFAFF) ||
           (c >= 0x20000 && c <= 0x3FFFF);
}

static bool is_apostrophe(uint32_t c)
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

/* " one two three " */
static status words_of(struct arena *arena, bytes text, bytes *out)
{
    struct buffer built = buffer_in(arena), word = buffer_in(arena);

    buffer_append_byte(&built, ' ');
    while (text.len) {
        uint32_t c = text_next(&text);
        if (is_apostrophe(c) && word.len && text.len) {
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

/* A phrase without words is nowhere. */
static bool has_phrase(bytes words, bytes phrase)
{
    return phrase.len > 1 && memmem(words.data, words.len, phrase.data, phrase.len) != NULL;
}

/* (text, phrase ...): are all there, or one of them? */
static status contains_phrases(struct evaluation *e, const struct expression *call, bool is_any,
                               struct value *out)
{
    struct value value;
    bytes words, phrase;
    bool has = !is_any;

    TRY(evaluate(e, call->args[0], &value));
    if (!value_is_text(value))
        return STATUS_OK;
    TRY(words_of(e->arena, value_text(value), &words));
    for (size_t i = 1; i < call->count; i++) {
        TRY(evaluate(e, call->args[i], &value));
        if (!value_is_text(value))
            return STATUS_OK;
        TRY(words_of(e->arena, value_text(value), &phrase));
        has = is_any ? has || has_phrase(words, phrase) : has && has_phrase(words, phrase);
    }
    *out = value_bool(has);
    return STATUS_OK;
}

status function_words_contain(struct evaluation *e, const struct expression *call,
                              struct value *out)
{
    return contains_phrases(e, call, false, out);
}

status function_words_contain_all(struct evaluation *e, const struct expression *call,
                                  struct value *out)
{
    return contains_phrases(e, call, false, out);
}

status function_words_contain_any(struct evaluation *e, const struct expression *call,
                                  struct value *out)
{
    return contains_phrases(e, call, true, out);
}

/* ---- vectors ---------------------------------------------------------------------------------------- */

/* What all ways to compare two vectors are made of. */
struct products {
    double ab, aa, bb, difference;
    size_t count;
};

/* False unless both are arrays of as many numbers, at least one. */
static bool multiply(struct value a, struct value b, struct products *out)
{
    struct field x, y;

    *out = (struct products){ 0 };
    if (a.type != VALUE_ARRAY || b.type != VALUE_ARRAY)
        return false;
    struct document_walk left = document_fields(value_document(a));
    struct document_walk right = document_fields(value_document(b));
    for (;;) {
        bool has_left = document_next(&left, &x), has_right = document_next(&right, &y);
        if (has_left != has_right)
            return false;
        if (!has_left)
            return out->count > 0;
        if (!value_is_number(x.value) || !value_is_number(y.value))
            return false;
        double p = value_as_double(x.value), q = value_as_double(y.value);
        out->ab += p * q;
        out->aa += p * p;
        out->bb += q * q;
        out->difference += (p - q) * (p - q);
        out->count++;
    }
}

/* The score by the name of the way; NAN for a name that there is not. */
static double score_of(const struct products *p, bytes way)
{
    if (bytes_equal(way, BYTES_LITERAL("cosine")))
        return p->ab / (sqrt(p->aa) * sqrt(p->bb));
    if (bytes_equal(way, BYTES_LITERAL("dotproduct")))
        return p->ab;
    return bytes_equal(way, BYTES_LITERAL("euclidean")) ? sqrt(p->difference) : NAN;
}

/* (vector, vector [, whether to do without an index [, options]]) */
status function_vector_distance(struct evaluation *e, const struct expression *call,
                                struct value *out)
{
    struct value v[4], way;
    struct products products;
    bytes name = BYTES_LITERAL("cosine");

    TRY(call_take(e, call, v, 4));
    if (!multiply(v[0], v[1], &products) || (call_has(call, 2) && v[2].type != VALUE_BOOL) ||
        (call_has(call, 3) && v[3].type != VALUE_DOCUMENT))
        return STATUS_OK;
    if (call_has(call, 3) && document_find(value_document(v[3]), "distanceFunction", &way)) {
        if (!value_is_text(way))
            return STATUS_OK;
        TRY(text_fold(e->arena, value_text(way), &name));
    }
    return call_give_real(e, score_of(&products, name), out);
}
