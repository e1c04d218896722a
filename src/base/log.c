/* Log: events to a file descriptor, one line each.
 *
 * 2026-11-15T20:10:53.123Z info purger.pass collection=12 documents=400
 * A line longer than the local buffer is cut; a failing write is told to the caller, most of whom have
 * nobody left to tell. Callable from every thread. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/log_ring.h"

enum { LINE_BYTES = 2048 };

static const char *const level_names[] = { "debug", "info", "warning", "error", "silent" };

const char *log_level_name(enum log_level level)
{
    return level_names[level];
}

bool log_level_parse(const char *name, enum log_level *out)
{
    for (size_t i = 0; i < ARRAY_COUNT(level_names); i++) {
        if (strcmp(name, level_names[i]) == 0) {
            *out = (enum log_level)i;
            return true;
        }
    }
    return false;
}

static size_t write_head(char *line, const struct timespec *now, enum log_level level,
                         const char *name)
{
    struct tm parts;

    gmtime_r(&now->tv_sec, &parts);
    size_t len = strftime(line, LINE_BYTES, "%Y-%m-%dT%H:%M:%S", &parts);
    int more = snprintf(line + len, LINE_BYTES - len, ".%03ldZ %s %s", now->tv_nsec / 1000000,
                        level_names[level], name);
    return len + (size_t)more;
}

/* A name that a client chose must not begin a line of its own. */
static void flatten(char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = '?';
    }
}

bool log_event(const struct log *log, enum log_level level, const char *name, const char *format,
               ...)
{
    char line[LINE_BYTES];
    struct timespec now;
    va_list args;

    if (level < log->level)
        return true;
    clock_gettime(CLOCK_REALTIME, &now);
    size_t len = write_head(line, &now, level, name);
    line[len++] = ' ';
    char *text = line + len;
    va_start(args, format);
    int more = vsnprintf(line + len, sizeof(line) - len - 1, format, args);
    va_end(args);
    size_t room = sizeof(line) - len - 2;
    len += more < 0 ? 0 : ((size_t)more < room ? (size_t)more : room);
    line[len] = '\0';
    flatten(text);
    if (log->ring)
        log_ring_add(log->ring, &(struct log_line){ .at = now.tv_sec * 1000 + now.tv_nsec / 1000000,
                                                    .level = level,
                                                    .name = name,
                                                    .text = text });
    line[len++] = '\n';
    return write(log->fd, line, len) == (ssize_t)len;
}
