/* Pool: workers on one shared epoll.
 *
 * Everything that happens arrives as an event of the one epoll: sockets directly, posted sources through
 * a list and an eventfd. Each worker asks for one event at a time. At the end a second
 * eventfd, which stays readable, tells all workers to leave.
 *
 * Posting. Every write to the eventfd is one event for one worker, because it is watched edge-triggered and never
 * read; were it watched by its level, each post would wake worker after worker until one has read it. Posts that come
 * before anybody has heard of the first are one event: whoever takes a source and sees another behind it writes again.
 *
 * Giving way. A worker that finds no event lets others have its processor before it sleeps: mostly clients of this machine, or other
 * workers, whose next events it then finds. One that sleeps has to be woken by the client that sends, and takes the
 * processor away from it in the middle of what it has to send. Where giving way takes long, because somebody only computes, the worker refrains from
 * it for some events.
 *
 * `running` counts the workers that do not wait, busy or not. A worker that begins to wait inside an event
 * leaves that count; if too few would be left, a parked worker is woken or a new one started. When it
 * returns there may be more than `many`: the next one that has finished its event parks. The distance
 * between `few` and `many` keeps short waits from waking and parking a thread each.
 *
 * Keeps: a source that was posted is run exactly once; a worker never leaves in the middle of an event;
 * `few` workers never wait.
 * Threads: pool_post from every thread; start, end and close from the owner's thread. `lock` guards the
 * list of posted sources and the parking; `running` is atomic, so that a wait that needs no
 * replacement costs no lock. */
#include "server/pool.h"
#include "base/limits.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct pool {
    int epoll_fd;
    int posted_fd; /* written for every posted source, never read */
    int ended_fd;
    struct source posted; /* event of posted_fd */
    struct source ended;  /* event of ended_fd */
    _Atomic bool is_ended;
    struct metrics *metrics;
    struct block_host host; /* the workers' */
    struct pool_sizes sizes;
    _Atomic size_t running;
    pthread_mutex_t lock; /* guards what follows */
    struct source *first;
    struct source **last;
    pthread_cond_t unparked;
    size_t parked_count, woken_count; /* of the parked, so many are to go on */
    size_t worker_count;
    pthread_t workers[LIMIT_WORKERS];
};

enum {
    EVENTS_PER_AHEAD = 64,      /* how often a worker takes memory in advance */
    YIELD_NS_MAX = 2000 * 1000, /* who keeps a processor longer is hardly a client that sends */
    EVENTS_PER_YIELD_TRY = 16,  /* how often it is tried whether that has changed */
};

static void run_posted(struct source *source, uint32_t events);
static void run_ended(struct source *source, uint32_t events);
static bool begin_wait(void *context);
static void end_wait(void *context);

status pool_open(struct metrics *metrics, struct arena *arena, struct pool **out)
{
    struct pool *pool = memory_take_zeroed(1, sizeof(*pool));

    *out = NULL;
    if (!pool)
        return status_of(OUT_OF_MEMORY, "no memory for the pool of workers");
    pool->posted.on_event = run_posted;
    pool->ended.on_event = run_ended;
    pool->last = &pool->first;
    pool->metrics = metrics;
    pool->host = (struct block_host){ begin_wait, end_wait, pool };
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->unparked, NULL);
    pool->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    pool->posted_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pool->ended_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!pool_watch(pool, pool->posted_fd, EPOLLIN | EPOLLET, &pool->posted) ||
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
    pthread_cond_destroy(&pool->unparked);
    pthread_mutex_destroy(&pool->lock);
    memory_give(pool);
}

/* ---- workers ---------------------------------------------------------------------------------------- */

struct pool_sizes pool_default_sizes(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t known = cores < 1 ? 1 : cores < LIMIT_WORKERS / 4 ? (size_t)cores : LIMIT_WORKERS / 4;

    return (struct pool_sizes){ .few = known * LIMIT_WORKERS_PER_CORE_MIN,
                                .many = known * LIMIT_WORKERS_PER_CORE,
                                .all = LIMIT_WORKERS };
}

/* Between two events, when more run than should. */
static void park(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    if (atomic_load(&pool->running) > pool->sizes.many && !atomic_load(&pool->is_ended)) {
        atomic_fetch_sub(&pool->running, 1);
        pool->parked_count++;
        while (pool->woken_count == 0 && !atomic_load(&pool->is_ended))
            pthread_cond_wait(&pool->unparked, &pool->lock);
        pool->woken_count -= pool->woken_count > 0;
        pool->parked_count--;
    }
    pthread_mutex_unlock(&pool->lock);
}

/* `refrain` is the worker's: so often it does not. */
static void give_way(unsigned *refrain)
{
    if (*refrain > 0) {
        --*refrain;
        return;
    }
    const int64_t before_ns = clock_stopwatch_ns();
    sched_yield();
    if (clock_stopwatch_ns() - before_ns > YIELD_NS_MAX)
        *refrain = EVENTS_PER_YIELD_TRY;
}

/* False if there was none after all. */
static bool take_event(struct pool *pool, unsigned *refrain, struct epoll_event *out)
{
    int count = epoll_wait(pool->epoll_fd, out, 1, 0);

    if (count == 0) {
        give_way(refrain);
        count = epoll_wait(pool->epoll_fd, out, 1, -1);
    }
    ASSERT(count == 1 || count == 0 || errno == EINTR);
    return count == 1;
}

static void *run_worker(void *argument)
{
    struct pool *pool = argument;
    unsigned refrain = 0;

    block_set_host(&pool->host);
    for (unsigned events = 0; !atomic_load(&pool->is_ended); events++) {
        struct epoll_event event;
        if (events % EVENTS_PER_AHEAD == 1)
            memory_ahead();
        if (atomic_load(&pool->running) > pool->sizes.many)
            park(pool);
        if (take_event(pool, &refrain, &event)) {
            struct source *source = event.data.ptr;
            source->on_event(source, event.events);
        }
    }
    block_set_host(NULL);
    return NULL;
}

/* Under the lock. What pthread_create answered. */
static int start_worker(struct pool *pool)
{
    int error = pthread_create(&pool->workers[pool->worker_count], NULL, run_worker, pool);

    if (error != 0)
        return error;
    pool->worker_count++;
    atomic_fetch_add(&pool->running, 1);
    metrics_set(pool->metrics, METRIC_workers, pool->worker_count);
    return 0;
}

status pool_start(struct pool *pool, struct arena *arena, struct pool_sizes sizes)
{
    int error = 0;

    ASSERT(sizes.few > 0 && sizes.few <= sizes.many);
    ASSERT(sizes.many <= sizes.all && sizes.all <= LIMIT_WORKERS);
    pool->sizes = sizes;
    pthread_mutex_lock(&pool->lock);
    while (error == 0 && pool->worker_count < sizes.many)
        error = start_worker(pool);
    pthread_mutex_unlock(&pool->lock);
    if (error == 0)
        return STATUS_OK;
    pool_end(pool);
    return status_fail(arena, IO_ERROR, "cannot start %zu workers: %s", sizes.many,
                       strerror(error));
}

void pool_end(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->is_ended, true);
    pthread_cond_broadcast(&pool->unparked);
    pthread_mutex_unlock(&pool->lock);
    eventfd_write(pool->ended_fd, 1);
    for (size_t i = 0; i < pool->worker_count; i++)
        pthread_join(pool->workers[i], NULL);
    pool->worker_count = 0;
}

/* ---- waiting ---------------------------------------------------------------------------------------- */

/* Under the lock: another worker runs instead; false if there is none and none can be made. At the end
 * nobody is needed any more. */
static bool replace(struct pool *pool)
{
    if (atomic_load(&pool->is_ended))
        return true;
    if (pool->parked_count > pool->woken_count) {
        pool->woken_count++;
        atomic_fetch_add(&pool->running, 1);
        pthread_cond_signal(&pool->unparked);
        return true;
    }
    return pool->worker_count < pool->sizes.all && start_worker(pool) == 0;
}

static bool begin_wait(void *context)
{
    struct pool *pool = context;
    bool is_replaced = true;

    if (atomic_fetch_sub(&pool->running, 1) > pool->sizes.few)
        return true;
    pthread_mutex_lock(&pool->lock);
    if (atomic_load(&pool->running) < pool->sizes.few)
        is_replaced = replace(pool);
    pthread_mutex_unlock(&pool->lock);
    if (is_replaced)
        return true;
    atomic_fetch_add(&pool->running, 1);
    metrics_add(pool->metrics, METRIC_busy_total, 1);
    return false;
}

static void end_wait(void *context)
{
    struct pool *pool = context;

    atomic_fetch_add(&pool->running, 1);
}

/* ---- events ----------------------------------------------------------------------------------------- */

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

/* NULL: somebody else was faster. */
static struct source *take_posted(struct pool *pool, bool *has_more_out)
{
    pthread_mutex_lock(&pool->lock);
    struct source *source = pool->first;
    if (source) {
        pool->first = source->next;
        if (!pool->first)
            pool->last = &pool->first;
    }
    *has_more_out = pool->first != NULL;
    pthread_mutex_unlock(&pool->lock);
    return source;
}

static void run_posted(struct source *source, uint32_t events)
{
    struct pool *pool = (struct pool *)((char *)source - offsetof(struct pool, posted));
    bool has_more;

    (void)events;
    struct source *taken = take_posted(pool, &has_more);
    if (has_more)
        eventfd_write(pool->posted_fd, 1);
    if (taken)
        taken->on_event(taken, 0);
}
