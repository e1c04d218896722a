/* What the files of searching share. Private to this room. */
#ifndef QUERY_SEARCH_PARTS_H
#define QUERY_SEARCH_PARTS_H

#include "query/language.h"
#include "query/search.h"

/* How words are told apart. */
struct search_fold {
    bool keeps_case, keeps_diacritics;
};

/* Walks the words of a text: folded, without stop words, cut to their stems. */
struct search_words {
    const struct language *language;
    struct stemmer *stemmer;
    struct search_fold fold;
    bytes rest;
    struct buffer word, plain; /* the last word, folded; in small letters */
};
void search_words_begin(struct search_words *words, struct arena *arena, bytes text);
/* The next stem; borrowed until the next call. False at the end. */
bool search_words_next(struct search_words *words, bytes *stem_out);
/* The text folded, to look phrases up in it. */
MUST_USE status search_fold_text(struct arena *arena, struct search_fold fold, bytes text,
                                 bytes *out);

/* One text of a document that the index is about. */
struct search_text {
    bytes text;
    double weight;
    const struct language *language;
};
typedef status search_text_reader(void *context, const struct search_text *text);
/* Calls `read` for each text. INVALID for a language that is not known. */
MUST_USE status search_each_text(struct arena *arena, bytes settings, bytes document,
                                 search_text_reader *read, void *context);

#endif
