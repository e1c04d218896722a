/* Threads that lend a hand: how many, how often, and that nobody is left behind. */
#include "tests/check.h"

#include "base/crew.h"

#include <pthread.h>
#include <stdatomic.h>

/* Work that goes on until it is told to end. */
struct work {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int begun, ended;
    bool may_end;
};

static void work_open(struct work *work)
{
    *work = (struct work){ .begun = 0 };
    pthread_mutex_init(&work->lock, NULL);
    pthread_cond_init(&work->changed, NULL);
}

static void run(void *context)
{
    struct work *work = context;

    pthread_mutex_lock(&work->lock);
    work->begun++;
    pthread_cond_broadcast(&work->changed);
    while (!work->may_end)
        pthread_cond_wait(&work->changed, &work->lock);
    work->ended++;
    pthread_cond_broadcast(&work->changed);
    pthread_mutex_unlock(&work->lock);
}

static void wait_for(struct work *work, const int *number, int want)
{
    pthread_mutex_lock(&work->lock);
    while (*number < want)
        pthread_cond_wait(&work->changed, &work->lock);
    pthread_mutex_unlock(&work->lock);
}

static void let_end(struct work *work)
{
    pthread_mutex_lock(&work->lock);
    work->may_end = true;
    pthread_cond_broadcast(&work->changed);
    pthread_mutex_unlock(&work->lock);
}

TEST(crew, only_so_many_hands_are_lent_at_once)
{
    struct crew *crew = crew_open(2);
    struct work work;

    work_open(&work);
    CHECK(crew_lend(crew, run, &work));
    CHECK(crew_lend(crew, run, &work));
    CHECK(!crew_lend(crew, run, &work));
    wait_for(&work, &work.begun, 2);
    CHECK(!crew_lend(crew, run, &work));
    let_end(&work);
    wait_for(&work, &work.ended, 2);
    crew_close(crew);
    CHECK_EQ(work.begun, 2, "");
    CHECK_EQ(work.ended, 2, "");
}

static void count_one(void *context)
{
    atomic_fetch_add((_Atomic int *)context, 1);
}

TEST(crew, every_piece_of_work_that_was_taken_is_run_once)
{
    struct crew *crew = crew_open(3);
    _Atomic int done = 0;
    int taken = 0;

    for (int i = 0; i < 10000; i++)
        taken += crew_lend(crew, count_one, &done);
    CHECK(taken > 0);
    crew_close(crew);
    CHECK_EQ(atomic_load(&done), taken, "");
}

TEST(crew, without_hands_nothing_is_taken)
{
    struct crew *crew = crew_open(0);
    _Atomic int done = 0;

    CHECK(!crew_lend(crew, count_one, &done));
    CHECK(!crew_lend(NULL, count_one, &done));
    crew_close(crew);
    crew_close(NULL);
    CHECK_EQ(atomic_load(&done), 0, "");
}
