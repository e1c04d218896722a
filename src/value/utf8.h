/* UTF-8 as the standard has it: shortest forms only, no surrogates, nothing past U+10FFFF. Private to
 * this room. */
#ifndef VALUE_UTF8_H
#define VALUE_UTF8_H

#include "base/base.h"

/* Length of the one character that starts at `at` (1 to 4), 0 if the bytes are not one. */
size_t utf8_sequence(const uint8_t *at, size_t room);
/* How many bytes from the front are valid; equal to text.len if all are. */
size_t utf8_valid_length(bytes text);
/* Writes the character (not a surrogate, at most 0x10FFFF) and returns its length. */
size_t utf8_put(uint8_t out[4], uint32_t character);
/* How many bytes from the front are printable ASCII other than the quote and the backslash, that is,
 * the same inside and outside a JSON string. */
size_t utf8_plain_run(const uint8_t *at, size_t room);

#endif
