/* The profiler: commands and what they cost, as documents of the collection system.profile of their database, and
 * slow ones in the log. Rows are kept in memory, the newest of them, and are gone after a restart. Inside the face
 * only. */
#ifndef FRONT_MONGO_PROFILER_H
#define FRONT_MONGO_PROFILER_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/base.h"

struct command;
struct profile;

/* The name under which clients find the rows of a database. */
#define PROFILE_LIST "system.profile"

/* In the face. */
struct profiler {
    /* All that a command looks at when it ends. What is slow, and how much of it is noted, holds for the whole
     * server, as in MongoDB, whichever database it was set on; level and filter are of each database. */
    _Atomic bool is_on;
    _Atomic int64_t slow_ms;

    pthread_mutex_t lock;
    double sample_rate;
    uint64_t purge_seen;
    int64_t row_count;
    struct profile *databases[LIMIT_PROFILED_DATABASES];
    size_t database_count;
};
void profiler_open(struct profiler *profiler);
void profiler_close(struct profiler *profiler);

/* A command is over and was slow, or something is profiled; before its request ends. */
void profiler_note(struct command *command, int64_t took_ms, bool is_failed);

bool profiler_is_list(bytes name);
/* The rows of the command's database, one behind the other, in its arena. */
MUST_USE status profiler_rows(struct command *command, bytes *out);
/* Is there a profile to be listed? */
bool profiler_has_list(struct command *command);
/* Forgets the rows of the command's database. IllegalOperation while it is profiled. */
MUST_USE status profiler_drop(struct command *command);

/* ---- one row: profile_row.c ---- */
/* A document in the arena of the command; empty without memory. */
bytes profile_row(struct command *command, int64_t number, int64_t took_ms, bool is_failed);
/* "IXSCAN { a: 1 }", "COLLSCAN" and the like; "" if nothing was looked for. */
const char *profile_plan(struct command *command);

#endif
