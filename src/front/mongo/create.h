/* What a collection was created with, as it is listed. Inside the face only. */
#ifndef FRONT_MONGO_CREATE_H
#define FRONT_MONGO_CREATE_H

#include "front/mongo/command.h"

/* The fields of `options` in a row of listCollections. */
void create_append_options(struct buffer *out, const struct collection *collection);
/* May the document be stored? DocumentValidationFailure if the collection has a validator that says no. */
MUST_USE status create_validate(struct command *command, const struct collection *collection,
                                struct value id, bytes document);

#endif
