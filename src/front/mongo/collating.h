/* How texts compare in a command: the `collation` that it names, or that of the collection. Inside the face only. */
#ifndef FRONT_MONGO_COLLATING_H
#define FRONT_MONGO_COLLATING_H

#include "front/mongo/command.h"

/* Of a command on a collection (NULL: there is none) or view: what `given` says, which may be missing or empty;
 * otherwise as the collection does. NULL is the order of bytes. Raises 167 for a view that has another one, and what
 * collating_parse raises. */
MUST_USE status collating_read(struct command *command, struct value given,
                               const struct collection *collection, const struct collation **out);
/* What a definition says; { locale: "simple" } is NULL. Raises 2, 9, 14, 161, 40414, 40415. */
MUST_USE status collating_parse(struct command *command, struct value given,
                                const struct collation **out);

#endif
