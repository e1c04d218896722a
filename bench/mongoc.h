/* libmongoc, whose headers do not compile with our warnings. */
#ifndef BENCH_MONGOC_H
#define BENCH_MONGOC_H

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include <libmongoc-1.0/mongoc/mongoc.h>
#pragma GCC diagnostic pop

#endif
