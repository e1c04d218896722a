/* Waiting in the middle of a request. Few threads run requests; one that has to wait for another request
 * or for a disk says so, and whoever owns the threads lets a spare one take its place. Code that waits
 * needs not know who that is: outside of such threads the marks do nothing. */
#ifndef BASE_BLOCK_H
#define BASE_BLOCK_H

#include <stdbool.h>

/* What the owner of a thread does at the marks. */
struct block_host {
    bool (*begin)(void *context); /* false: too many wait already */
    void (*end)(void *context);
    void *context;
};

/* For this thread, borrowed until the next call; NULL takes it away. */
void block_set_host(const struct block_host *host);

/* Before something that may really wait: a latch, a commit, a change of the catalog. False: do not wait but
 * answer BUSY, or wait unmarked if that cannot be. Marks may be nested; only the outermost counts, so
 * the others are never refused. */
__attribute__((warn_unused_result)) bool block_begin(void);
/* After each block_begin() that was true. */
void block_end(void);

#endif
