/* The words of a text, and how often a phrase is among them. Private to this room. */
#ifndef QUERY_WORDS_H
#define QUERY_WORDS_H

#include "base/base.h"

/* What words consist of; ideographs are words of their own to words_of alone. */
bool words_is_letter(uint32_t character);
bool words_is_apostrophe(uint32_t character);
/* " one two three ": the words in their plain form, a space around each. */
MUST_USE status words_of(struct arena *arena, bytes text, bytes *out);
/* Both are what words_of gives. */
size_t words_count(bytes words);
/* How often the words of the phrase are there in a row; a phrase without words is nowhere. */
size_t words_find(bytes words, bytes phrase);
/* Is there a word that becomes the only word of `term` by so many edits at most? An edit puts in, takes out
 * or changes one character. */
bool words_has_near(bytes words, bytes term, unsigned edits);

#endif
