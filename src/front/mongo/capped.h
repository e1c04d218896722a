/* Capped collections: those that keep the newest documents only. Inside the face only. */
#ifndef FRONT_MONGO_CAPPED_H
#define FRONT_MONGO_CAPPED_H

#include "front/mongo/command.h"

/* The name under which the engine keeps the order and the bounds of a capped collection. */
#define CAPPED_INDEX "$capped"

struct capped_limits {
    int64_t size; /* bytes */
    int64_t max;  /* documents; 0: as many as fit */
};
/* Of a collection; both 0 if it is not capped. */
struct capped_limits capped_limits(const struct collection *collection);
bool capped_is(const struct collection *collection);

/* Checks what a client says (either may be missing), rounds the size up as MongoDB does. */
MUST_USE status capped_read(struct command *command, struct value size, struct value max,
                            struct capped_limits *out);
void capped_index(struct capped_limits limits, struct index_definition *out);
/* `capped`, `size` and `max`, as fields of the options of a collection. */
void capped_append_options(struct buffer *out, struct capped_limits limits);

/* What is too much leaves, oldest first, piece by piece; renews the request. */
MUST_USE status capped_trim(struct command *command, bytes name);
/* collMod: cappedSize and cappedMax; each may be missing. The first says whether the second will do. */
MUST_USE status capped_check(struct command *command, const struct collection *collection,
                             struct value size, struct value max);
MUST_USE status capped_modify(struct command *command, const struct collection *collection,
                              struct value size, struct value max);

#endif
