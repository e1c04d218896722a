/* Waiting on a condition for a limited time, on a clock that nobody sets. */
#ifndef BASE_WAIT_H
#define BASE_WAIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct wait_limit {
    struct timespec at; /* monotonic */
};

/* Instead of pthread_cond_init, for conditions that are waited on with a limit. */
void wait_condition_init(pthread_cond_t *condition);
struct wait_limit wait_limit_from_now(int64_t timeout_ms);
/* The nearer of the limit and so many milliseconds from now, for waits that look up now and then. */
struct wait_limit wait_limit_nearer(const struct wait_limit *limit, int64_t timeout_ms);
bool wait_limit_is_over(const struct wait_limit *limit);
/* False when the time is over. The lock is held before and after. */
bool wait_on(pthread_cond_t *condition, pthread_mutex_t *lock, const struct wait_limit *limit);

#endif
