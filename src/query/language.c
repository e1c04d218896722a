/* Language: stems of words by the Snowball library, and the frequent words of English.
 *
 * Words of one stem are one word to a search. Frequent words that say nothing (the, and, of) are left out of texts and
 * of searches; they are known for English alone, other languages keep all of theirs.
 *
 * Pure, apart from stemmers, each of which belongs to whoever has opened it. */
#include "query/language.h"

#include <libstemmer.h>
#include <stdlib.h>

static const struct language {
    const char *name, *code;
} languages[] = {
    {"none",        ""  },
    { "danish",     "da"},
    { "dutch",      "nl"},
    { "english",    "en"},
    { "finnish",    "fi"},
    { "french",     "fr"},
    { "german",     "de"},
    { "hungarian",  "hu"},
    { "italian",    "it"},
    { "norwegian",  "nb"},
    { "portuguese", "pt"},
    { "romanian",   "ro"},
    { "russian",    "ru"},
    { "spanish",    "es"},
    { "swedish",    "sv"},
    { "turkish",    "tr"},
};

/* Sorted. */
static const char *const english_stop_words[] = {
    "a",          "about",   "above",     "after",   "again",    "against",    "all",    "am",
    "an",         "and",     "any",       "are",     "aren't",   "as",         "at",     "be",
    "because",    "been",    "before",    "being",   "below",    "between",    "both",   "but",
    "by",         "can't",   "cannot",    "could",   "couldn't", "did",        "didn't", "do",
    "does",       "doesn't", "doing",     "don't",   "down",     "during",     "each",   "few",
    "for",        "from",    "further",   "had",     "hadn't",   "has",        "hasn't", "have",
    "haven't",    "having",  "he",        "he'd",    "he'll",    "he's",       "her",    "here",
    "here's",     "hers",    "herself",   "him",     "himself",  "his",        "how",    "how's",
    "i",          "i'd",     "i'll",      "i'm",     "i've",     "if",         "in",     "into",
    "is",         "isn't",   "it",        "it's",    "its",      "itself",     "let's",  "me",
    "more",       "most",    "mustn't",   "my",      "myself",   "no",         "nor",    "not",
    "of",         "off",     "on",        "once",    "only",     "or",         "other",  "ought",
    "our",        "ours",    "ourselves", "out",     "over",     "own",        "same",   "shan't",
    "she",        "she'd",   "she'll",    "she's",   "should",   "shouldn't",  "so",     "some",
    "such",       "than",    "that",      "that's",  "the",      "their",      "theirs", "them",
    "themselves", "then",    "there",     "there's", "these",    "they",       "they'd", "they'll",
    "they're",    "they've", "this",      "those",   "through",  "to",         "too",    "under",
    "until",      "up",      "very",      "was",     "wasn't",   "we",         "we'd",   "we'll",
    "we're",      "we've",   "were",      "weren't", "what",     "what's",     "when",   "when's",
    "where",      "where's", "which",     "while",   "who",      "who's",      "whom",   "why",
    "why's",      "with",    "won't",     "would",   "wouldn't", "you",        "you'd",  "you'll",
    "you're",     "you've",  "your",      "yours",   "yourself", "yourselves",
};

static bool is_same_word(bytes word, const char *name)
{
    size_t len = strlen(name);

    if (word.len != len || len == 0)
        return false;
    for (size_t i = 0; i < len; i++) {
        if ((word.data[i] | 0x20) != (uint8_t)name[i])
            return false;
    }
    return true;
}

const struct language *language_find(bytes name)
{
    for (size_t i = 0; i < ARRAY_COUNT(languages); i++) {
        if (is_same_word(name, languages[i].name) || is_same_word(name, languages[i].code))
            return &languages[i];
    }
    return NULL;
}

bool language_has_apostrophes(const struct language *language)
{
    return is_same_word(bytes_of_text(language->name), "english");
}

static int compare_stop_words(const void *word, const void *item)
{
    const bytes *wanted = word;
    const char *const *stop = item;

    return bytes_compare(*wanted, bytes_of_text(*stop));
}

bool language_is_stop_word(const struct language *language, bytes word)
{
    return language_has_apostrophes(language) &&
           bsearch(&word, english_stop_words, ARRAY_COUNT(english_stop_words),
                   sizeof(english_stop_words[0]), compare_stop_words) != NULL;
}

/* ---- stems ------------------------------------------------------------------------------------------- */

struct stemmer *stemmer_open(const struct language *language)
{
    return (struct stemmer *)sb_stemmer_new(language->name, NULL);
}

bytes stemmer_stem(struct stemmer *stemmer, bytes word)
{
    struct sb_stemmer *own = (struct sb_stemmer *)stemmer;
    const sb_symbol *stem = own && word.len < INT32_MAX
                                ? sb_stemmer_stem(own, word.data, (int)word.len)
                                : NULL;

    return stem ? bytes_of(stem, (size_t)sb_stemmer_length(own)) : word;
}

void stemmer_close(struct stemmer *stemmer)
{
    sb_stemmer_delete((struct sb_stemmer *)stemmer);
}
