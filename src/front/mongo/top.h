/* Top: how often each collection was used by each kind of command since the start, and how long that took. Kept for the
 * collections that were used last. Inside the face only. */
#ifndef FRONT_MONGO_TOP_H
#define FRONT_MONGO_TOP_H

#include "front/mongo/command.h"

struct top_table;
/* Handle; NULL without memory. */
struct top_table *top_table_open(void);
void top_table_close(struct top_table *table);

/* A command is over. What it was about is counted; what it has dropped is forgotten. Never waits. */
void top_note(const struct command *command, bool is_failed, int64_t took_us);
/* latencyStats: { reads, writes, commands, transactions } of a collection, each { latency, ops }. */
void top_append_latency(struct command *command, const struct collection *collection,
                        struct buffer *out);

#endif
