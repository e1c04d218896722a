/* Wait: conditions with a time limit on the monotonic clock.
 *
 * A thin layer over pthread, so that no other room reads a clock to compute a deadline. */
#include "base/wait.h"

#include <errno.h>

void wait_condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

struct wait_limit wait_limit_from_now(int64_t timeout_ms)
{
    struct wait_limit limit;

    clock_gettime(CLOCK_MONOTONIC, &limit.at);
    limit.at.tv_sec += timeout_ms / 1000;
    limit.at.tv_nsec += timeout_ms % 1000 * 1000000;
    if (limit.at.tv_nsec >= 1000000000) {
        limit.at.tv_nsec -= 1000000000;
        limit.at.tv_sec++;
    }
    return limit;
}

static bool is_before(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

struct wait_limit wait_limit_nearer(const struct wait_limit *limit, int64_t timeout_ms)
{
    struct wait_limit nearer = wait_limit_from_now(timeout_ms);

    return is_before(&limit->at, &nearer.at) ? *limit : nearer;
}

bool wait_limit_is_over(const struct wait_limit *limit)
{
    struct wait_limit now = wait_limit_from_now(0);

    return !is_before(&now.at, &limit->at);
}

bool wait_on(pthread_cond_t *condition, pthread_mutex_t *lock, const struct wait_limit *limit)
{
    return pthread_cond_timedwait(condition, lock, &limit->at) != ETIMEDOUT;
}
