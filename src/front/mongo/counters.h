/* Counters: how often each command ran and failed, how long commands took, what went over the network. Kept in a
 * few shards, so that connections do not fight for one number. Inside the face only. */
#ifndef FRONT_MONGO_COUNTERS_H
#define FRONT_MONGO_COUNTERS_H

#include <stdatomic.h>

#include "base/base.h"

struct command;
struct mongo;

enum counter {
    COUNTER_REQUESTS,
    COUNTER_BYTES_IN,
    COUNTER_BYTES_OUT,
    COUNTER_INSERTED,
    COUNTER_UPDATED,
    COUNTER_DELETED,
    COUNTER_RETURNED,
    COUNTER_KEYS,
    COUNTER_DOCUMENTS,
    COUNTER_SORTED,
    COUNTER_OUT_OF_TIME,
    COUNTER_KILLED,
    COUNTER_READS,
    COUNTER_READ_US,
    COUNTER_WRITES,
    COUNTER_WRITE_US,
    COUNTER_OTHERS,
    COUNTER_OTHER_US,
    COUNTER_COUNT
};

struct counters;
/* Handle; NULL without memory. */
struct counters *counters_open(void);
void counters_close(struct counters *counters);

/* A command is over. */
void counters_add(const struct command *command, bool is_failed, int64_t took_us);
/* A message came and was answered. */
void counters_message(struct mongo *face, int32_t connection_id, size_t in, size_t out);

uint64_t counters_read(const struct counters *counters, enum counter counter);
/* Of one command, by its place in the table. */
struct command_count {
    uint64_t total, failed;
};
struct command_count counters_of(const struct counters *counters, size_t place);
/* All together. */
struct command_count counters_all(const struct counters *counters);

#endif
