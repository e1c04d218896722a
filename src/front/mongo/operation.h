/* Operations: the commands that run now, so that others can see them and ask them to stop. Every session
 * has one place for the command it runs. Inside the face only. */
#ifndef FRONT_MONGO_OPERATION_H
#define FRONT_MONGO_OPERATION_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/base.h"

struct command;
struct mongo;
struct session;

/* Numbers of background work: of the purger, and with this bit of index builds. */
enum { OPERATION_TTL_MONITOR = 1, OPERATION_BUILD_BIT = 1 << 30 };

/* In the session. */
struct operation {
    /* Guarded by the lock of the list. */
    struct operation *next, **link;
    bytes metadata; /* what the client says of itself, a document; owned; empty: nothing yet */

    _Atomic int state; /* enum operation_state */
    _Atomic bool is_killed;
    /* Set before the command runs, and read while it does. */
    int32_t id;
    const struct command *command;
};

/* In the face. */
struct operation_list {
    pthread_mutex_t lock;
    struct operation *first;
    _Atomic int32_t next_id;
};
void operation_list_open(struct operation_list *list);
void operation_list_close(struct operation_list *list);

/* A session comes and goes. */
void operation_join(struct session *session);
void operation_leave(struct session *session);
/* What the client said of itself in its hello: kept once. */
void operation_introduce(struct session *session, bytes metadata);

/* From here on the command can be seen; what is read of it must not change any more. */
void operation_begin(struct command *command);
/* Not any more; nobody is looking when this returns. */
void operation_end(struct command *command);
/* Has somebody asked it to stop? */
bool operation_is_killed(const struct command *command);
/* The command with this number stops when it looks next. False if there is none. */
bool operation_kill(struct mongo *face, int32_t id);

/* "query", "insert", "update", "remove", "getmore" or "command". */
const char *operation_kind(const struct command *command);
/* The collection that it is about, borrowed; empty if of none. */
bytes operation_collection(const struct command *command);
/* "db.collection", or "db.$cmd" if the command is of none; in `arena`. */
bytes operation_namespace(const struct command *command, struct arena *arena);
/* The command as the field `name`: without secrets, and shortened if it has more bytes. */
void operation_append_command(const struct command *command, struct buffer *out, const char *name,
                              size_t bytes_max);

/* One session as others see it, borrowed during the call. */
struct operation_seen {
    const struct session *session;
    const struct command *command; /* NULL: it is idle */
    int32_t id;
    bool is_killed;
    bytes metadata;
};
/* Tells of every session; `tell` must not wait. */
typedef void operation_teller(void *context, const struct operation_seen *seen);
void operation_each(struct mongo *face, operation_teller *tell, void *context);

#endif
