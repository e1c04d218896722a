/* Stages that documents of an aggregation come from, other than a collection: the first stage of a pipeline
 * that reads something of the server, or has its documents with it. Inside the face only. */
#ifndef FRONT_MONGO_ORIGIN_H
#define FRONT_MONGO_ORIGIN_H

#include "front/mongo/command.h"

/* Appends the documents, one behind the other. `collection` is the name in the command, empty if it is run on
 * the database. */
typedef status origin_list(struct command *command, bytes collection, struct value argument,
                           struct buffer *out);

struct origin {
    const char *stage; /* "$documents" */
    origin_list *list;
    bool is_of_collection; /* otherwise of the database: aggregate: 1 */
    bool is_of_admin;      /* only on the database admin */
    const char *sentence;
};

/* NULL if there is no such stage. */
const struct origin *origin_find(bytes stage);
/* One line of a table for each: name, what it does. */
void origin_describe(struct buffer *out);

#define ORIGIN(stage, function, is_of_collection, is_of_admin, what) origin_list function;
#include "front/mongo/origins.def"
#undef ORIGIN

#endif
