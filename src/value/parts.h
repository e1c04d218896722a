/* The parts of composite values that only this room takes apart. Private to this room. */
#ifndef VALUE_PARTS_H
#define VALUE_PARTS_H

#include "value/value.h"

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
