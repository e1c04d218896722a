/* Everything below the server, open: log, clock, storage and engine. For the server, and for every command that works on
 * a data directory by itself. */
#ifndef SERVER_HOUSE_H
#define SERVER_HOUSE_H

#include "engine/engine.h"
#include "server/config.h"

/* Of this program. */
extern const char house_version[];

struct house {
    struct log log;
    struct log audit_log; /* fd -1: there is no file of its own */
    struct audit audit;
    struct metrics metrics;
    struct engine_sweep *sweep;
    struct clock *clock;
    struct engine *engine;
};

/* Opening goes upwards (sweep, storage, clock, engine), closing the same way back. On failure everything is closed
 * again. For COMMAND_CHECK nothing is written. */
MUST_USE status house_open(struct house *house, const struct config *config, enum command command,
                           struct arena *arena);
void house_close(struct house *house);

#endif
