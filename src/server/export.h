/* The documents of a database as files that other programs read: JSON, a line for each, or BSON as mongodump
 * writes it, with the options and indexes of each collection beside them. */
#ifndef SERVER_EXPORT_H
#define SERVER_EXPORT_H

#include "engine/engine.h"

enum export_format { EXPORT_JSON, EXPORT_BSON };

struct export_order {
    struct engine *engine; /* may be read only */
    const char *to;        /* does not exist or is empty */
    enum export_format format;
};
struct export_result {
    uint64_t collections, documents, bytes;
};
/* What lives now, in all collections of one instant. EXISTS if `to` has something in it; IO_ERROR, CORRUPT. */
MUST_USE status export_make(struct arena *arena, const struct export_order *order,
                            struct export_result *out);

#endif
