/* The way to the documents that a client wants: the `hint` of a command. Inside the face only. */
#ifndef FRONT_MONGO_HINT_H
#define FRONT_MONGO_HINT_H

#include "front/mongo/select.h"

struct hint {
    enum find_hint by;
    const struct index *index;
    bool is_reverse;
    bool is_ambiguous; /* several indexes have the pattern, with different options */
};
/* `value` is the name of an index or its key pattern, {$natural: 1} or {$natural: -1}; missing: any way.
 * BadValue if there is no such index, IndexNotFound if there are several. `collection` may be NULL. */
MUST_USE status hint_read(struct command *command, const struct collection *collection,
                          struct value value, struct hint *out);

#endif
