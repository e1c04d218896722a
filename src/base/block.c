/* Block: the marks around a wait, and to whom they are told.
 *
 * Threads: all state belongs to the thread; it is the one thing that is known of a thread here. */
#include "base/block.h"

#include <stddef.h>

#include "base/check.h"

/* tidy: global because who runs a thread is a fact of the thread, and code far below must reach it */
static _Thread_local struct {
    const struct block_host *host;
    unsigned depth;
} current;

void block_set_host(const struct block_host *host)
{
    ASSERT(current.depth == 0);
    current.host = host;
}

bool block_begin(void)
{
    if (current.host != NULL && current.depth == 0 && !current.host->begin(current.host->context))
        return false;
    current.depth++;
    return true;
}

void block_end(void)
{
    ASSERT(current.depth > 0);
    current.depth--;
    if (current.host != NULL && current.depth == 0)
        current.host->end(current.host->context);
}
