/* The parts of composite values. Private to this room. */
#ifndef VALUE_PARTS_H
#define VALUE_PARTS_H

#include "value/value.h"

struct value_binary {
    uint8_t subtype;
    bytes content; /* for the old subtype 2 with its inner length */
};
struct value_binary value_binary(struct value value);

/* Both without their NULs. */
struct value_regex {
    bytes pattern;
    bytes options;
};
struct value_regex value_regex(struct value value);

struct value_db_pointer {
    bytes collection;
    bytes id; /* 12 bytes */
};
struct value_db_pointer value_db_pointer(struct value value);

struct value_scoped_code {
    bytes code;
    bytes scope; /* a document */
};
struct value_scoped_code value_scoped_code(struct value value);

#endif
