/* Search text: the words of texts, and which texts of a document count.
 *
 * A word is a run of letters and digits (words.h), in English with the apostrophes in it. It is folded, which means in
 * small letters and without accents, left out if it says nothing, and cut to its stem.
 *
 * Threads: pure apart from arenas and the stemmer that is handed in. */
#include "query/search_parts.h"
#include "query/text.h"
#include "query/words.h"

/* ---- words ------------------------------------------------------------------------------------------- */

static void append_folded(struct buffer *out, struct search_fold fold, uint32_t c)
{
    if (!fold.keeps_diacritics) {
        c = text_without_accent(c);
        if (text_is_combining(c))
            return;
    }
    text_append(out, fold.keeps_case ? c : text_lower(c));
}

void search_words_begin(struct search_words *words, struct arena *arena, bytes text)
{
    words->rest = text;
    words->word = buffer_in(arena);
    words->plain = buffer_in(arena);
}

static bool is_of_word(const struct search_words *words, uint32_t c)
{
    return words_is_letter(c) ||
           (words_is_apostrophe(c) && language_has_apostrophes(words->language));
}

/* Takes the next run of letters; false if there is none. */
static bool take_run(struct search_words *words)
{
    words->word.len = words->plain.len = 0;
    while (words->rest.len) {
        uint32_t c = text_next(&words->rest);
        if (!is_of_word(words, c)) {
            if (words->word.len)
                break;
            continue;
        }
        if (words_is_apostrophe(c))
            c = '\'';
        append_folded(&words->word, words->fold, c);
        text_append(&words->plain, text_lower(c));
    }
    return words->word.len > 0;
}

bool search_words_next(struct search_words *words, bytes *stem_out)
{
    while (take_run(words)) {
        bytes plain = bytes_of(words->plain.data, words->plain.len);
        if (language_is_stop_word(words->language, plain))
            continue;
        *stem_out = stemmer_stem(words->stemmer, bytes_of(words->word.data, words->word.len));
        if (stem_out->len)
            return true;
    }
    return false;
}

status search_fold_text(struct arena *arena, struct search_fold fold, bytes text, bytes *out)
{
    struct buffer built = buffer_in(arena);

    while (text.len)
        append_folded(&built, fold, text_next(&text));
    return buffer_finish(&built, out);
}

/* ---- texts of a document ----------------------------------------------------------------------------- */

struct walk {
    struct arena *arena;
    bytes weights, override;
    double every; /* the weight of texts that have none of their own; 0: they do not count */
    search_text_reader *read;
    void *context;
};

/* 0: it does not count. */
static double weight_of(const struct walk *walk, bytes path)
{
    struct value weight;

    if (document_find_bytes(walk->weights, path, &weight))
        return value_as_double(weight);
    return walk->every;
}

/* May something at the path or below it count? */
static bool is_entered(const struct walk *walk, bytes path)
{
    struct document_walk weights = document_fields(walk->weights);
    struct field field;

    if (walk->every > 0)
        return true;
    while (document_next(&weights, &field)) {
        if (bytes_starts_with(field.name, path) &&
            (field.name.len == path.len || field.name.data[path.len] == '.'))
            return true;
    }
    return false;
}

static status language_of(const struct walk *walk, bytes document, const struct language *inherited,
                          const struct language **out)
{
    struct value said;

    *out = inherited;
    if (!document_find_bytes(document, walk->override, &said))
        return STATUS_OK;
    if (said.type != VALUE_STRING)
        return status_fail(walk->arena, INVALID,
                           "the field '%.*s' says the language of a text, and is no string",
                           (int)walk->override.len, (const char *)walk->override.data);
    *out = language_find(value_text(said));
    if (!*out)
        return status_fail(walk->arena, INVALID, "language override unsupported: %.*s",
                           (int)value_text(said).len, (const char *)value_text(said).data);
    return STATUS_OK;
}

static status walk_document(struct walk *walk, bytes path, bytes document,
                            const struct language *inherited, unsigned depth);

static status walk_value(struct walk *walk, bytes path, struct value value,
                         const struct language *language, unsigned depth)
{
    struct field element;

    if (value.type == VALUE_STRING) {
        struct search_text text = { value_text(value), weight_of(walk, path), language };
        return text.weight > 0 ? walk->read(walk->context, &text) : STATUS_OK;
    }
    if (value.type == VALUE_DOCUMENT)
        return walk_document(walk, path, value_document(value), language, depth + 1);
    if (value.type != VALUE_ARRAY || depth > LIMIT_NESTING_DEPTH)
        return STATUS_OK;
    struct document_walk elements = document_fields(value_document(value));
    while (document_next(&elements, &element))
        TRY(walk_value(walk, path, element.value, language, depth + 1));
    return STATUS_OK;
}

static status walk_document(struct walk *walk, bytes path, bytes document,
                            const struct language *inherited, unsigned depth)
{
    struct document_walk fields = document_fields(document);
    const struct language *language;
    struct field field;

    if (depth > LIMIT_NESTING_DEPTH)
        return STATUS_OK;
    TRY(language_of(walk, document, inherited, &language));
    while (document_next(&fields, &field)) {
        struct buffer joined = buffer_in(walk->arena);
        bytes inner;
        if (walk->every > 0 && bytes_equal(field.name, walk->override))
            continue;
        buffer_append(&joined, path);
        if (path.len)
            buffer_append_byte(&joined, '.');
        buffer_append(&joined, field.name);
        TRY(buffer_finish(&joined, &inner));
        if (is_entered(walk, inner))
            TRY(walk_value(walk, inner, field.value, language, depth));
    }
    return STATUS_OK;
}

static bytes text_of(bytes settings, const char *name, const char *otherwise)
{
    struct value value;

    return document_find(settings, name, &value) && value.type == VALUE_STRING
               ? value_text(value)
               : bytes_of_text(otherwise);
}

status search_each_text(struct arena *arena, bytes settings, bytes document,
                        search_text_reader *read, void *context)
{
    const struct language *language = language_find(text_of(settings, "language", "english"));
    struct walk walk = { .arena = arena,
                         .override = text_of(settings, "override", "language"),
                         .read = read,
                         .context = context };
    struct value weights, every;

    if (!language || !document_find(settings, "weights", &weights) ||
        weights.type != VALUE_DOCUMENT)
        return status_of(INVALID, "the settings of a text index are damaged");
    walk.weights = value_document(weights);
    if (document_find(walk.weights, "$**", &every))
        walk.every = value_as_double(every);
    return walk_document(&walk, BYTES_NONE, document, language, 0);
}
