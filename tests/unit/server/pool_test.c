/* Workers that wait and their replacements, with posted work instead of sockets. */
#include "tests/check.h"

#include <pthread.h>

#include "server/pool.h"

enum { JOBS_MAX = 64 };

struct room;

/* Waits, marked, until the room is opened. */
struct job {
    struct source source; /* first */
    struct room *room;
    bool waits;
};

struct room {
    struct arena *arena;
    struct metrics metrics;
    struct pool *pool;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned waiting, refused, done;
    bool is_open;
    size_t job_count;
    struct job jobs[JOBS_MAX];
};

static void run_job(struct source *source, uint32_t events)
{
    struct job *job = (struct job *)source;
    struct room *room = job->room;
    bool is_marked = job->waits && block_begin();

    CHECK_EQ(events, 0, "");
    pthread_mutex_lock(&room->lock);
    room->waiting += is_marked;
    room->refused += job->waits && !is_marked;
    pthread_cond_broadcast(&room->changed);
    while (is_marked && !room->is_open)
        pthread_cond_wait(&room->changed, &room->lock);
    pthread_mutex_unlock(&room->lock);
    if (is_marked)
        block_end();
    pthread_mutex_lock(&room->lock);
    room->waiting -= is_marked;
    room->done++;
    pthread_cond_broadcast(&room->changed);
    pthread_mutex_unlock(&room->lock);
}

static struct room *room_open(struct pool_sizes sizes)
{
    struct room *room = memory_take_zeroed(1, sizeof(*room));

    room->arena = arena_open(65536);
    pthread_mutex_init(&room->lock, NULL);
    pthread_cond_init(&room->changed, NULL);
    CHECK_OK(pool_open(&room->metrics, room->arena, &room->pool));
    CHECK_OK(pool_start(room->pool, room->arena, sizes));
    return room;
}

static void room_close(struct room *room)
{
    pool_end(room->pool);
    pool_close(room->pool);
    pthread_mutex_destroy(&room->lock);
    pthread_cond_destroy(&room->changed);
    arena_close(room->arena);
    memory_give(room);
}

static void post(struct room *room, bool waits)
{
    struct job *job = &room->jobs[room->job_count++];

    CHECK(room->job_count <= JOBS_MAX);
    *job = (struct job){ .source = { .on_event = run_job }, .room = room, .waits = waits };
    pool_post(room->pool, &job->source);
}

static void await(struct room *room, const unsigned *count, unsigned want)
{
    pthread_mutex_lock(&room->lock);
    while (*count < want)
        pthread_cond_wait(&room->changed, &room->lock);
    pthread_mutex_unlock(&room->lock);
}

static void open_room(struct room *room)
{
    pthread_mutex_lock(&room->lock);
    room->is_open = true;
    pthread_cond_broadcast(&room->changed);
    pthread_mutex_unlock(&room->lock);
}

TEST(pool, work_goes_on_while_many_wait)
{
    struct room *room = room_open((struct pool_sizes){ .few = 1, .many = 2, .all = 20 });

    for (unsigned i = 1; i <= 19; i++) {
        post(room, true);
        await(room, &room->waiting, i);
        post(room, false);
        await(room, &room->done, i);
    }
    CHECK_EQ(metrics_read(&room->metrics, METRIC_workers), 20, "");
    open_room(room);
    await(room, &room->done, 38);
    room_close(room);
}

TEST(pool, one_wait_too_many_is_refused_at_once)
{
    struct room *room = room_open((struct pool_sizes){ .few = 1, .many = 2, .all = 4 });

    for (unsigned i = 1; i <= 3; i++) {
        post(room, true);
        await(room, &room->waiting, i);
    }
    post(room, true);
    await(room, &room->refused, 1);
    CHECK_EQ(metrics_read(&room->metrics, METRIC_busy_total), 1, "");
    post(room, false);
    await(room, &room->done, 2);
    open_room(room);
    await(room, &room->done, 5);
    post(room, true);
    await(room, &room->done, 6);
    CHECK_EQ(room->refused, 1, "whoever comes later may wait again");
    room_close(room);
}

TEST(pool, replacements_are_used_again)
{
    struct room *room = room_open((struct pool_sizes){ .few = 2, .many = 2, .all = 256 });

    for (unsigned round = 0; round < 8; round++) {
        for (unsigned i = 1; i <= 4; i++) {
            post(room, true);
            await(room, &room->waiting, i);
        }
        open_room(room);
        await(room, &room->done, 4 * (round + 1));
        pthread_mutex_lock(&room->lock);
        room->is_open = false;
        pthread_mutex_unlock(&room->lock);
    }
    /* Two that run and four that wait. */
    CHECK_THAT(metrics_read(&room->metrics, METRIC_workers) <= 6, "%llu workers",
               (unsigned long long)metrics_read(&room->metrics, METRIC_workers));
    room_close(room);
}

TEST(pool, the_end_waits_for_those_who_wait)
{
    struct room *room = room_open((struct pool_sizes){ .few = 1, .many = 1, .all = 8 });

    for (unsigned i = 1; i <= 5; i++) {
        post(room, true);
        await(room, &room->waiting, i);
    }
    open_room(room);
    pool_end(room->pool);
    CHECK_EQ(room->done, 5, "");
    room_close(room);
}
