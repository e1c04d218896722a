/* Log lines are events: level, a short stable name, key=value pairs, one line on stderr. Never document
 * contents, never secrets. An event is logged where an error is ended, not where it is passed on. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR, LOG_SILENT };

struct log_ring;

/* Set once, before threads start. */
struct log {
    enum log_level level; /* lines below it are dropped */
    int fd;
    struct log_ring *ring; /* keeps the newest lines; NULL: nobody does */
};

static inline struct log log_to(int fd, enum log_level level)
{
    return (struct log){ .level = level, .fd = fd };
}

/* One write(2) per event, so that lines of several threads never mix. False, with errno, if it was not written as a
 * whole. */
bool log_event(const struct log *log, enum log_level level, const char *name, const char *format,
               ...) __attribute__((format(printf, 4, 5)));

const char *log_level_name(enum log_level level);
/* False if there is no level of that name. */
bool log_level_parse(const char *name, enum log_level *out);

#endif
