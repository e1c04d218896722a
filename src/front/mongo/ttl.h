/* The monitor of TTL indexes as clients see it: its parameters, its counters and what it is doing. Inside the
 * face only. */
#ifndef FRONT_MONGO_TTL_H
#define FRONT_MONGO_TTL_H

#include <stdatomic.h>

#include "base/base.h"

struct command;

enum ttl_setting {
#define TTL_SETTING(name, kind, otherwise, least, sentence) TTL_SETTING_##name,
#include "front/mongo/ttl.def"
#undef TTL_SETTING
    TTL_SETTING_COUNT
};

/* Lives as long as the face. */
struct ttl_state {
    _Atomic int64_t settings[TTL_SETTING_COUNT];
    /* Indexes that can never expire anything are passed over once in each pass. */
    _Atomic uint64_t skips, passes_seen;
};
void ttl_state_init(struct ttl_state *state);

/* The parameters that are asked for (all of them, or those that are fields of `wanted`), as fields; how many. */
size_t ttl_append_parameters(struct command *command, struct buffer *out, bool is_all,
                             bytes wanted);
/* The fields of serverStatus().metrics.ttl. */
void ttl_append_metrics(struct command *command, struct buffer *out);
/* The purger as a row of $currentOp, a document, while it is at work. */
void ttl_append_operation(struct command *command, struct buffer *out);

#endif
