/* libbson, whose inline functions do not pass our warnings. Private to this room and its tests. */
#ifndef VALUE_LIBBSON_H
#define VALUE_LIBBSON_H

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include <bson/bson.h>
#pragma GCC diagnostic pop

#endif
