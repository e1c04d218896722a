/* Purge history: what the purger has removed lately, for who wants to see it at work afterwards.
 *
 * One event for each stretch of work in a collection, in a ring: whoever asks too late finds the oldest gone.
 * What is removed from one collection in one pass, one step after the other, is one event, unless somebody has
 * read it in between.
 *
 * Threads: a leaf lock guards the ring; the purger writes, everybody may read. */
#include "engine/purger_parts.h"

void purge_history_note(struct engine *engine, uint32_t collection_id, uint64_t documents,
                        uint64_t bytes_gone)
{
    struct purge_history *history = &engine->purger.history;
    time_ms now = clock_now(engine->options.clock);
    uint64_t pass = atomic_load(&engine->purger.passes);

    if (documents == 0)
        return;
    pthread_mutex_lock(&history->lock);
    struct purge_event *last = &history->events[history->count % PURGE_HISTORY_EVENTS];
    bool is_same = history->count > 0 && !history->is_read && history->pass == pass &&
                   last->collection_id == collection_id;
    if (!is_same) {
        history->count++;
        history->pass = pass;
        history->is_read = false;
        last = &history->events[history->count % PURGE_HISTORY_EVENTS];
        *last = (struct purge_event){ .number = history->count,
                                      .collection_id = collection_id,
                                      .began_at = now };
    }
    last->documents += documents;
    last->bytes += bytes_gone;
    last->ended_at = now;
    pthread_mutex_unlock(&history->lock);
}

size_t purger_history(struct engine *engine, uint64_t after, struct purge_event *out, size_t room)
{
    struct purge_history *history = &engine->purger.history;
    size_t found = 0;

    pthread_mutex_lock(&history->lock);
    uint64_t first = history->count > PURGE_HISTORY_EVENTS
                         ? history->count - PURGE_HISTORY_EVENTS + 1
                         : 1;
    for (uint64_t number = after + 1 > first ? after + 1 : first;
         number <= history->count && found < room; number++)
        out[found++] = history->events[number % PURGE_HISTORY_EVENTS];
    history->is_read = true;
    pthread_mutex_unlock(&history->lock);
    return found;
}
