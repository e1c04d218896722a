/* Characters of UTF-8 texts that were checked before, and their letter case. Private to this room. */
#ifndef QUERY_TEXT_H
#define QUERY_TEXT_H

#include "base/base.h"

/* The first character of a text that is not empty; `text` moves behind it. */
uint32_t text_next(bytes *text);
void text_append(struct buffer *out, uint32_t character);
/* How many units of UTF-16 the text would have. */
size_t text_units(bytes text);
/* The units [start, start + units) of a text. A character of two units that would be cut in two is left
 * out; what lies behind the end is empty. */
bytes text_slice(bytes text, uint64_t start, uint64_t units);
bool text_is_space(uint32_t character);
/* Every character in small letters; may be `text` itself. */
MUST_USE status text_fold(struct arena *arena, bytes text, bytes *out);
/* The same letter in the other case, for the scripts listed in text.c; anything else is itself. */
uint32_t text_lower(uint32_t character);
uint32_t text_upper(uint32_t character);

/* A Latin, Greek or Cyrillic letter without its accent; anything else is itself. */
uint32_t text_without_accent(uint32_t character);
/* An accent by itself, which belongs to the character before it. */
bool text_is_combining(uint32_t character);

#endif
