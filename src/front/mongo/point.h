/* Finds that name one document by its _id: what most programs ask most often. Inside the face only. */
#ifndef FRONT_MONGO_POINT_H
#define FRONT_MONGO_POINT_H

#include "front/mongo/finding.h"

/* Is at most one document asked for, by a value that is its key, and nothing else about it? */
bool point_is(const struct collection *collection, const struct finding_wish *wish,
              struct value *id_out);
/* Appends `cursor: {firstBatch, id: 0, ns}` to the reply. */
MUST_USE status point_reply(struct command *command, const struct collection *collection,
                            bytes name, struct value id);

#endif
