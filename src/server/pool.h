/* A few threads on one shared epoll. A worker takes one event at a time and runs it to its end, so that
 * nothing waits behind a request that blocks; one that says that it waits (base/block.h) is replaced by a
 * spare one for that time. What is watched or posted is a `source`, embedded in its
 * owner; its memory must stay valid until the pool is closed, because an event may arrive late. */
#ifndef SERVER_POOL_H
#define SERVER_POOL_H

#include "base/base.h"

struct pool;

struct source {
    /* On a worker. `events` are epoll's flags, 0 for a post. */
    void (*on_event)(struct source *source, uint32_t events);
    struct source *next; /* the pool's, while posted */
};

/* Owner: handle. IO_ERROR when the system gives no epoll. */
MUST_USE status pool_open(struct metrics *metrics, struct arena *arena, struct pool **out);
/* After pool_end, or if it never started. */
void pool_close(struct pool *pool);

/* How many threads. Between `few` and `many` do not wait; `all` is the limit with those that do. */
struct pool_sizes {
    size_t few, many, all;
};
/* One and two per core, within the limit. */
struct pool_sizes pool_default_sizes(void);
/* Starts `many`; the others when they are needed. */
MUST_USE status pool_start(struct pool *pool, struct arena *arena, struct pool_sizes sizes);
/* Lets every worker finish what it runs and waits for all of them. */
void pool_end(struct pool *pool);

/* `events` as in epoll_ctl(2). False when the system refuses. */
bool pool_watch(struct pool *pool, int fd, uint32_t events, struct source *source);
/* Again for a source watched with EPOLLONESHOT. */
void pool_rearm(struct pool *pool, int fd, uint32_t events, struct source *source);
/* Some worker will call on_event(source, 0), once. Callable from every thread; never waits for one. */
void pool_post(struct pool *pool, struct source *source);

#endif
