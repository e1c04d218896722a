/* What the files that turn values into other types share. Private to this room. */
#ifndef QUERY_FORMULA_CONVERT_H
#define QUERY_FORMULA_CONVERT_H

#include "query/formula_body.h"

/* The number of a conversion that is not possible: the only refusal that onError catches. */
enum { CONVERSION_FAILURE = 241 };

typedef status formula_conversion(struct formula_run *run, struct value value, struct value *out);

MUST_USE status formula_convert_to(struct formula_run *run, enum value_type type,
                                   struct value value, struct value *out);
/* Refusals: there is no such conversion; a text is not what it should be. */
MUST_USE status formula_no_way(struct formula_run *run, struct value value, const char *type);
MUST_USE status formula_bad_text(struct formula_run *run, bytes text, const char *type);

/* How bytes are written as text. */
enum binary_format {
    BINARY_NONE, /* it was not said */
    BINARY_AUTO, /* an id of 16 bytes as one, everything else as BASE64 */
    BINARY_BASE64,
    BINARY_BASE64_URL,
    BINARY_HEX,
    BINARY_UTF8,
    BINARY_UUID,
};
enum { BINARY_SUBTYPE_UUID = 4, BINARY_UUID_BYTES = 16 };

/* The value of a hexadecimal digit, or -1. */
int binary_digit(uint8_t letter);
MUST_USE status binary_write(struct formula_run *run, struct value value, enum binary_format format,
                             struct value *out);
MUST_USE status binary_read(struct formula_run *run, bytes text, enum binary_format format,
                            uint8_t subtype, struct value *out);
/* Bytes stay what they are; a text needs a format. */
MUST_USE status formula_binary_of(struct formula_run *run, struct value value, struct value *out);

#endif
