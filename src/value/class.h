/* The classes that BSON order knows, in order. The values are the first bytes of stored keys and so
 * must never change. Private to this room. */
#ifndef VALUE_CLASS_H
#define VALUE_CLASS_H

#include "value/value.h"

/* All between 0x02 and 0xFD: 0x01 ends things, and descending keys are the complement. A number's
 * first byte is CLASS_NUMBER plus its enum number_class. */
enum value_class {
    CLASS_MIN_KEY = 0x05,
    CLASS_UNDEFINED = 0x0A,
    CLASS_NULL = 0x0F,
    CLASS_NUMBER = 0x14,
    CLASS_STRING = 0x1E,
    CLASS_DOCUMENT = 0x23,
    CLASS_ARRAY = 0x28,
    CLASS_BINARY = 0x2D,
    CLASS_OBJECT_ID = 0x32,
    CLASS_BOOL = 0x37,
    CLASS_DATE = 0x3C,
    CLASS_TIMESTAMP = 0x41,
    CLASS_REGEX = 0x46,
    CLASS_DB_POINTER = 0x4B,
    CLASS_CODE = 0x50,
    CLASS_CODE_WITH_SCOPE = 0x55,
    CLASS_MAX_KEY = 0xFA,
};

enum value_class value_class_of(enum value_type type);

#endif
