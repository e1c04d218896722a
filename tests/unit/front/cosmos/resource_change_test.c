/* Changes of resources that have to wait for each other: the wait is marked, and what was checked before it
 * holds behind it. */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "front/cosmos/face.h"
#include "tests/support/items.h"

enum { SECONDS_MAX = 20 };

/* A request on a thread of its own, as a worker would run it. */
struct worker {
    struct cosmos_face face;
    const char *request, *body;
    bool is_full; /* no other worker can take the place of one that waits */
    struct cosmos_answer answer;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned begun, ended;
};

static bool begin(void *context)
{
    struct worker *worker = context;

    pthread_mutex_lock(&worker->lock);
    worker->begun++;
    pthread_cond_signal(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
    return !worker->is_full;
}

static void end(void *context)
{
    struct worker *worker = context;

    pthread_mutex_lock(&worker->lock);
    worker->ended++;
    pthread_mutex_unlock(&worker->lock);
}

static void *run(void *context)
{
    struct worker *worker = context;
    struct block_host host = { begin, end, worker };

    block_set_host(&host);
    worker->answer = cosmos_ask(&worker->face, worker->request, "", worker->body);
    block_set_host(NULL);
    return NULL;
}

static void start(struct worker *worker, struct cosmos_face *f)
{
    worker->face = items_for_thread(f);
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->changed, NULL);
    CHECK_EQ(pthread_create(&worker->thread, NULL, run, worker), 0, "");
}

static bool waits(struct worker *worker)
{
    struct timespec until;
    int error = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += SECONDS_MAX;
    pthread_mutex_lock(&worker->lock);
    while (worker->begun == 0 && error == 0)
        error = pthread_cond_timedwait(&worker->changed, &worker->lock, &until);
    bool has_begun = worker->begun > 0;
    pthread_mutex_unlock(&worker->lock);
    return has_begun;
}

static unsigned finish(struct worker *worker)
{
    pthread_join(worker->thread, NULL);
    unsigned status_number = worker->answer.status;
    items_thread_done(&worker->face);
    return status_number;
}

static void drop_and_make_again(struct cosmos_face *f)
{
    CHECK_OK(
        collection_drop(f->world.engine, f->world.arena, BYTES_LITERAL("db"), BYTES_LITERAL("c")));
    world_collection_parted(&f->world, "c", TTL_OFF, "", "pk");
}

TEST(resource_change, a_change_that_waits_for_another_one_lets_others_work)
{
    struct worker worker = { .request = "POST /dbs", .body = "{'id':'other'}" };
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    pthread_mutex_lock(&f.face->resource_lock);
    start(&worker, &f);
    CHECK_THAT(waits(&worker), "the wait is not marked");
    pthread_mutex_unlock(&f.face->resource_lock);
    CHECK_EQ(finish(&worker), 201, "");
    CHECK_EQ(worker.begun, worker.ended, "");
    items_close(&f);
}

TEST(resource_change, one_wait_too_many_is_answered_at_once)
{
    struct worker worker = { .request = "POST /dbs", .body = "{'id':'other'}", .is_full = true };
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    pthread_mutex_lock(&f.face->resource_lock);
    start(&worker, &f);
    CHECK_EQ(finish(&worker), 429, "");
    pthread_mutex_unlock(&f.face->resource_lock);
    CHECK_ANSWER(cosmos_ask(&f, "GET /dbs/other", "", ""), 404);
    items_close(&f);
}

TEST(resource_change, a_container_made_again_meanwhile_is_not_the_one_that_was_asked_for)
{
    struct worker worker = { .request = "DELETE /dbs/db/colls/c", .body = "" };
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    pthread_mutex_lock(&f.face->resource_lock);
    start(&worker, &f);
    CHECK(waits(&worker));
    drop_and_make_again(&f);
    pthread_mutex_unlock(&f.face->resource_lock);
    CHECK_EQ(finish(&worker), 404, "");
    CHECK_ANSWER(cosmos_ask(&f, "GET /dbs/db/colls/c", "", ""), 200);
    items_close(&f);
}
