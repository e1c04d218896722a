/* Documents through a pipeline, as a stream. Inside the face only. */
#ifndef FRONT_MONGO_AGGREGATE_H
#define FRONT_MONGO_AGGREGATE_H

#include "front/mongo/stream.h"

/* Everything is copied. */
struct aggregate_wish {
    bytes stages; /* an array */
    bytes let;
    struct value hint;
    bool is_disk_refused;              /* allowDiskUse is false */
    const struct collation *collation; /* of texts */
    struct stream_wish stream;
};

/* The stream gives the rows of the pipeline on stream.name, which may be a view. */
MUST_USE status aggregate_open(struct command *command, const struct aggregate_wish *wish,
                               struct stream *stream);

#endif
