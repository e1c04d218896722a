/* Log ring: the newest lines of the log, and the warnings of the start.
 *
 * A line is one piece of memory. The ring has a fixed number of places, and the oldest line makes room for the newest;
 * the warnings of the start have places of their own, and when these are full the first ones stay.
 *
 * Threads: any; the lock is a leaf. */
#include "base/log_ring.h"

#include <pthread.h>
#include <string.h>

#include "base/limits.h"
#include "base/memory.h"

struct kept_line {
    struct log_line line; /* name and text lie behind */
    char room[];
};

struct places {
    uint64_t count; /* lines that have come */
    struct kept_line *lines[LIMIT_LOG_LINES];
};

struct log_ring {
    pthread_mutex_t lock;
    bool is_settled;
    struct places newest, startup;
};

struct log_ring *log_ring_open(void)
{
    struct log_ring *ring = memory_take_zeroed(1, sizeof(*ring));

    if (ring)
        pthread_mutex_init(&ring->lock, NULL);
    return ring;
}

void log_ring_close(struct log_ring *ring)
{
    if (!ring)
        return;
    for (size_t i = 0; i < LIMIT_LOG_LINES; i++) {
        memory_give(ring->newest.lines[i]);
        memory_give(ring->startup.lines[i]);
    }
    pthread_mutex_destroy(&ring->lock);
    memory_give(ring);
}

static struct kept_line *copy_line(const struct log_line *line)
{
    size_t name_len = strlen(line->name) + 1, text_len = strlen(line->text) + 1;
    struct kept_line *copy = memory_take(sizeof(*copy) + name_len + text_len);

    if (!copy)
        return NULL;
    copy->line = *line;
    copy->line.name = memcpy(copy->room, line->name, name_len);
    copy->line.text = memcpy(copy->room + name_len, line->text, text_len);
    return copy;
}

/* Under the lock; what has to go. */
static struct kept_line *put(struct places *places, struct kept_line *line)
{
    size_t at = places->count++ % LIMIT_LOG_LINES;
    struct kept_line *old = places->lines[at];

    places->lines[at] = line;
    return old;
}

void log_ring_add(struct log_ring *ring, const struct log_line *line)
{
    struct kept_line *newest = copy_line(line), *startup = NULL, *old = NULL;

    if (line->level >= LOG_WARNING)
        startup = copy_line(line);
    pthread_mutex_lock(&ring->lock);
    if (newest)
        old = put(&ring->newest, newest);
    if (startup && !ring->is_settled && ring->startup.count < LIMIT_LOG_LINES)
        startup = put(&ring->startup, startup);
    pthread_mutex_unlock(&ring->lock);
    memory_give(old);
    memory_give(startup);
}

void log_ring_settle(struct log_ring *ring)
{
    pthread_mutex_lock(&ring->lock);
    ring->is_settled = true;
    pthread_mutex_unlock(&ring->lock);
}

uint64_t log_ring_each(struct log_ring *ring, enum log_ring_part part, log_ring_teller *tell,
                       void *context)
{
    const struct places *places = part == LOG_RING_STARTUP ? &ring->startup : &ring->newest;

    pthread_mutex_lock(&ring->lock);
    uint64_t count = places->count;
    uint64_t from = count > LIMIT_LOG_LINES ? count - LIMIT_LOG_LINES : 0;
    for (uint64_t i = from; i < count; i++)
        tell(context, &places->lines[i % LIMIT_LOG_LINES]->line);
    pthread_mutex_unlock(&ring->lock);
    return count;
}
