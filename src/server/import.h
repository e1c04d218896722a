/* Documents and collections from files, as an export or mongodump wrote them, into a database: of a running server, through
 * its socket in the data directory, or one that this process has open. Whoever reads the files sends orders; whoever
 * has the database carries them out. */
#ifndef SERVER_IMPORT_H
#define SERVER_IMPORT_H

#include "engine/engine.h"

struct mongo;

/* What to do with a document whose key is taken. */
enum import_existing { IMPORT_FAIL, IMPORT_KEEP, IMPORT_REPLACE };

struct import_counts {
    uint64_t collections, written, replaced, kept, expired, bytes, skipped;
};

/* ---- carrying out: import_apply.c ------------------------------------------------------------------- */

/* Where orders are carried out. */
struct import_site {
    struct engine *engine;
    struct mongo *mongo; /* NULL: collections of other programs cannot be made */
};
/* Of one order. */
struct import_outcome {
    struct import_counts counts;
    const char *failure; /* NULL: none; in the arena */
    size_t failed_at;    /* which document of the order it was */
};
/* An order is a document {db, name, metadata?} that makes a collection if there is none, or {db, name, existing} with
 * documents behind it (import_append). INVALID for what is none. */
MUST_USE status import_apply(const struct import_site *site, struct arena *arena, bytes order,
                             struct import_outcome *out);
/* Or does it bring documents? */
bool import_makes_collection(bytes order);
/* The outcome of an order as JSON, and back. */
MUST_USE status import_render(struct arena *arena, const struct import_outcome *outcome,
                              bytes *out);
MUST_USE status import_parse(struct arena *arena, bytes text, struct import_outcome *out);

/* How a document is known; see export.c. */
enum import_key { IMPORT_KEY_ANY, IMPORT_KEY_OF_ID, IMPORT_KEY_OF_OWN_ID, IMPORT_KEY_MADE };
/* What an order has in front of each document. */
enum { IMPORT_HEAD_BYTES = 9 };
/* A document more in an order; `written_at_s` 0: now, or what it says itself. */
void import_append(struct buffer *order, bytes document, int64_t written_at_s, enum import_key key);

/* ---- reading files: import.c ------------------------------------------------------------------------ */

struct import_order {
    const char *from; /* a directory for each database, with files for each collection */
    enum import_existing existing;
    /* Carries out one order, here or elsewhere. */
    status (*send)(void *context, struct arena *arena, bytes order, struct import_outcome *out);
    void *context;
};
/* Are there files that can be read, as far as their names tell? NOT_FOUND, INVALID, UNSUPPORTED. */
MUST_USE status import_check(struct arena *arena, const char *from);
/* What was written before a failure stays, and is counted. INVALID, CORRUPT with file, line or offset. */
MUST_USE status import_make(struct arena *arena, const struct import_order *order,
                            struct import_counts *out);

#endif
