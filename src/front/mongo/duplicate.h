/* The error of a write whose key somebody else has. Inside the face only. */
#ifndef FRONT_MONGO_DUPLICATE_H
#define FRONT_MONGO_DUPLICATE_H

#include "front/mongo/command.h"

struct duplicate {
    bytes collection, index; /* names */
    bytes pattern;           /* document: the fields of the index */
    bytes values;            /* document: what the write has in them */
    const struct collation *collation;
};

/* The sentence, keyPattern and keyValue; in the arena of the command. */
MUST_USE status duplicate_fault(struct command *command, const struct duplicate *duplicate,
                                struct fault *out);

#endif
