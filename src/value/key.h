/* The alphabet of keys, shared by the file that writes them and the file that reads them. Private to
 * this room; the layout is described in key.c. */
#ifndef VALUE_KEY_H
#define VALUE_KEY_H

#include "value/value.h"

enum {
    KEY_END = 0x01,   /* ends a byte string, a list of fields, a row of groups */
    KEY_GROUP = 0x02, /* a group of 7 bits, or two decimal digits, is this plus its value */
    KEY_GROUP_LAST = 0x81,
    KEY_MORE = 0x02,        /* after all groups of a number: exact digits follow */
    KEY_LENGTH = 0x80,      /* number of groups of an integer that follow is added to this */
    KEY_ESCAPE_LOW = 0x02,  /* 00, 01, 02 are written as this and 01, 02, 03 */
    KEY_ESCAPE_HIGH = 0xFE, /* FE, FF are written as this and 01, 02 */
    KEY_FALSE = 0x02,
    KEY_TRUE = 0x03,
    KEY_BYTE_MIN = 0x01,
    KEY_BYTE_MAX = 0xFE,
};

enum {
    KEY_GROUP_BITS = 7,
    KEY_NUMBER_GROUPS = 9,   /* a double without its sign has 63 bits */
    KEY_INTEGER_GROUPS = 10, /* 64 bits */
    KEY_DIGIT_PAIRS = 17,    /* 34 digits */
    KEY_EXPONENT_BIAS = 6176,
};

#endif
