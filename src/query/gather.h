/* Looking at all rows with several threads, each of which keeps what it has seen. Private to this room and to those who
 * hand it on between a find and a pipeline. */
#ifndef QUERY_GATHER_H
#define QUERY_GATHER_H

#include "engine/engine.h"

/* Every thread has a worker of its own; workers are opened and closed on the thread of the request, and all of them are
 * there until the last row was taken. Which worker takes a row is not known beforehand. */
struct gather {
    MUST_USE status (*open)(void *context, void **worker_out);
    /* Asked first, of the document as it is stored: shall it be shown and taken? May be NULL. */
    bool (*look)(void *worker, bytes stored);
    /* The document as it is shown, valid during the call. A failure ends all of it without a result. */
    MUST_USE status (*take)(void *worker, const struct document *stored, bytes document);
    /* When all rows were taken, or none will be any more. A failure is as one of `take`. */
    MUST_USE status (*close)(void *worker);
    void *context;
    bool is_small_too; /* also of a collection that is not worth several threads */
};

#endif
