/* Natural languages: the stem of a word, and words that say nothing. Private to this room, but for language_find. */
#ifndef QUERY_LANGUAGE_H
#define QUERY_LANGUAGE_H

#include "base/base.h"

struct language;

/* By its English name or its two letters, in any case; "none" is one without stems. NULL: not known. */
const struct language *language_find(bytes name);
/* Is the word, in small letters, one that is left out? */
bool language_is_stop_word(const struct language *language, bytes word);
/* Does an apostrophe belong to a word? */
bool language_has_apostrophes(const struct language *language);

/* Cuts words to their stems; not for several threads at once. */
struct stemmer;
/* NULL for a language without stems. */
struct stemmer *stemmer_open(const struct language *language);
/* Borrowed until the next call; the word itself without a stemmer, or if there is no memory. */
bytes stemmer_stem(struct stemmer *stemmer, bytes word);
void stemmer_close(struct stemmer *stemmer);

#endif
