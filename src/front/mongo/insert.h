/* Documents on their way into one collection: what `insert` and `bulkWrite` share. Inside the face only. */
#ifndef FRONT_MONGO_INSERT_H
#define FRONT_MONGO_INSERT_H

#include "front/mongo/command.h"

struct insertion;

struct insertion_wish {
    bytes name; /* of the collection, which is made if it is not there */
    bool is_ordered;
    size_t room;          /* documents that will come at most */
    struct fault *faults; /* by number: what fails is put there; NULL: it is told as writeErrors */
};
MUST_USE status insertion_begin(struct command *command, const struct insertion_wish *wish,
                                struct insertion **out);
/* One document more, which has this number in the command; numbers rise. Commits when there are many. Nothing happens
 * to it if one before it has failed, in order. */
MUST_USE status insertion_add(struct command *command, struct insertion *insertion, size_t number,
                              bytes document);
/* Commits what is left. */
MUST_USE status insertion_end(struct command *command, struct insertion *insertion);

#endif
