/* What a collection was created with, as it is listed. Inside the face only. */
#ifndef FRONT_MONGO_CREATE_H
#define FRONT_MONGO_CREATE_H

#include "front/mongo/command.h"

/* The fields of `options` in a row of listCollections. */
void create_append_options(struct buffer *out, const struct collection *collection);

#endif
