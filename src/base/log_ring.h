/* The newest log lines, kept in memory for those who cannot read the file that the log goes to. Lines of at least
 * warning level that were written before the server began to serve are kept apart, for as long as it runs. */
#ifndef BASE_LOG_RING_H
#define BASE_LOG_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/log.h"

struct log_ring;

struct log_line {
    time_ms at;
    enum log_level level;
    const char *name, *text;
};

/* Handle; NULL without memory. */
struct log_ring *log_ring_open(void);
void log_ring_close(struct log_ring *ring);

/* From every thread. A line for which there is no memory is left out. */
void log_ring_add(struct log_ring *ring, const struct log_line *line);
/* The server serves from here on. */
void log_ring_settle(struct log_ring *ring);

enum log_ring_part { LOG_RING_NEWEST, LOG_RING_STARTUP };
/* Tells of each line, oldest first, borrowed during the call; `tell` must not log. How many lines there have been,
 * those that are forgotten included. */
typedef void log_ring_teller(void *context, const struct log_line *line);
uint64_t log_ring_each(struct log_ring *ring, enum log_ring_part part, log_ring_teller *tell,
                       void *context);

#endif
