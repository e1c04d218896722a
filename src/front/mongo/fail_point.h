/* Fail points: commands that are made to fail, for the tests of clients. Only with --test-commands. Inside the
 * face only. */
#ifndef FRONT_MONGO_FAIL_POINT_H
#define FRONT_MONGO_FAIL_POINT_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/base.h"

struct command;

/* In the face: the one that there is, failCommand. */
struct fail_point {
    _Atomic bool is_on; /* all that commands look at while it is off */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* ends commands that are held */
    uint64_t version;       /* raised by every change */
    bytes data;             /* a document; owned */
    int64_t times;          /* still to fail; negative: always */
    int64_t skip;           /* still to be passed over */
    double probability;
    int64_t entered;
};
void fail_point_open(struct fail_point *point);
void fail_point_close(struct fail_point *point);

/* Fails the command, holds it for a while, or says what goes into its reply (command->trap). */
MUST_USE status fail_point_apply(struct command *command);

/* What a fail point has left for the reply, in the arena of the command. */
struct fail_point_trap {
    bool is_cut;               /* no reply: the connection ends */
    bool has_labels;           /* the labels of the error are these, and no others */
    bytes labels;              /* an array */
    bytes write_concern_error; /* a document */
};

#endif
