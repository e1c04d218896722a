/* Pool: workers on one shared epoll.
 *
 * Everything that happens arrives as an event of the one epoll: sockets directly, posted sources through
 * a list and an eventfd that counts them. Each worker asks for one event at a time. At the end a second
 * eventfd, which stays readable, tells all workers to leave.
 *
 * Keeps: a source that was posted is run exactly once; a worker never leaves in the middle of an event.
 * Threads: pool_post from every thread, under `lock`; start, end and close from the owner's thread. */
#include "server/pool.h"
#include "base/limits.h"

#include <errno.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct pool {
    int epoll_fd;
    int posted_fd; /* semaphore: one count per posted source */
    int ended_fd;
    struct source posted; /* event of posted_fd */
    struct source ended;  /* event of ended_fd */
    _Atomic bool is_ended;
    pthread_mutex_t lock; /* guards the list of posted sources */
    struct source *first;
    struct source **last;
    size_t worker_count;
    pthread_t workers[LIMIT_WORKERS];
};

static void run_posted(struct source *source, uint32_t events);
static void run_ended(struct source *source, uint32_t events);

status pool_open(struct arena *arena, struct pool **out)
{
    struct pool *pool = memory_take_zeroed(1, sizeof(*pool));

    *out = NULL;
    if (!pool)
        return status_of(OUT_OF_MEMORY, "no memory for the pool of workers");
    pool->posted.on_event = run_posted;
    pool->ended.on_event = run_ended;
    pool->last = &pool->first;
    pthread_mutex_init(&pool->lock, NULL);
    pool->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    pool->posted_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
    pool->ended_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!pool_watch(pool, pool->posted_fd, EPOLLIN, &pool->posted) ||
        !pool_watch(pool, pool->ended_fd, EPOLLIN, &pool->ended)) {
        status s = status_fail(arena, IO_ERROR, "cannot watch sockets: %s", strerror(errno));
        pool_close(pool);
        return s;
    }
    *out = pool;
    return STATUS_OK;
}

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

void pool_close(struct pool *pool)
{
    ASSERT(pool->worker_count == 0);
    close_fd(pool->ended_fd);
    close_fd(pool->posted_fd);
    close_fd(pool->epoll_fd);
    pthread_mutex_destroy(&pool->lock);
    memory_give(pool);
}

size_t pool_default_workers(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t workers = cores > 0 ? (size_t)cores * LIMIT_WORKERS_PER_CORE : LIMIT_WORKERS_PER_CORE;

    return workers < LIMIT_WORKERS ? workers : LIMIT_WORKERS;
}

static void *run_worker(void *argument)
{
    struct pool *pool = argument;

    while (!atomic_load(&pool->is_ended)) {
        struct epoll_event event;
        int count = epoll_wait(pool->epoll_fd, &event, 1, -1);
        if (count == 1) {
            struct source *source = event.data.ptr;
            source->on_event(source, event.events);
        } else {
            ASSERT(count == 0 || errno == EINTR);
        }
    }
    return NULL;
}

status pool_start(struct pool *pool, struct arena *arena, size_t worker_count)
{
    ASSERT(worker_count > 0 && worker_count <= LIMIT_WORKERS);
    for (size_t i = 0; i < worker_count; i++) {
        int error = pthread_create(&pool->workers[i], NULL, run_worker, pool);
        if (error != 0) {
            pool_end(pool);
            return status_fail(arena, IO_ERROR, "cannot start worker %zu of %zu: %s", i + 1,
                               worker_count, strerror(error));
        }
        pool->worker_count++;
    }
    return STATUS_OK;
}

void pool_end(struct pool *pool)
{
    atomic_store(&pool->is_ended, true);
    eventfd_write(pool->ended_fd, 1);
    for (size_t i = 0; i < pool->worker_count; i++)
        pthread_join(pool->workers[i], NULL);
    pool->worker_count = 0;
}

/* Only wakes the worker, which then sees is_ended. */
static void run_ended(struct source *source, uint32_t events)
{
    (void)source;
    (void)events;
}

static bool control(struct pool *pool, int what, int fd, uint32_t events, struct source *source)
{
    struct epoll_event event = { .events = events, .data = { .ptr = source } };

    return epoll_ctl(pool->epoll_fd, what, fd, &event) == 0;
}

bool pool_watch(struct pool *pool, int fd, uint32_t events, struct source *source)
{
    return control(pool, EPOLL_CTL_ADD, fd, events, source);
}

void pool_rearm(struct pool *pool, int fd, uint32_t events, struct source *source)
{
    bool is_armed = control(pool, EPOLL_CTL_MOD, fd, events, source);
    ASSERT(is_armed);
}

void pool_post(struct pool *pool, struct source *source)
{
    source->next = NULL;
    pthread_mutex_lock(&pool->lock);
    *pool->last = source;
    pool->last = &source->next;
    pthread_mutex_unlock(&pool->lock);
    eventfd_write(pool->posted_fd, 1);
}

static struct source *take_posted(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    struct source *source = pool->first;
    if (source) {
        pool->first = source->next;
        if (!pool->first)
            pool->last = &pool->first;
    }
    pthread_mutex_unlock(&pool->lock);
    return source;
}

/* Several workers may wake for one post; the count of the eventfd decides who runs it. */
static void run_posted(struct source *source, uint32_t events)
{
    struct pool *pool = (struct pool *)((char *)source - offsetof(struct pool, posted));
    eventfd_t one;

    (void)events;
    if (eventfd_read(pool->posted_fd, &one) != 0)
        return;
    struct source *taken = take_posted(pool);
    ASSERT(taken != NULL);
    taken->on_event(taken, 0);
}
