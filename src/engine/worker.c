/* Worker: a background thread that sleeps until it is woken, its time comes, or it must stop.
 *
 * Waiting is on the monotonic clock of the system, because server time may be held still by tests.
 * Threads: everything under the worker's own lock, which is held for a few instructions. */
#include "engine/worker.h"

#include "base/wait.h"

bool worker_start(struct worker *worker, void *(*run)(void *), void *owner)
{
    pthread_mutex_init(&worker->lock, NULL);
    wait_condition_init(&worker->wake);
    worker->is_woken = worker->is_stopping = false;
    atomic_store(&worker->should_stop, false);
    worker->is_running = pthread_create(&worker->thread, NULL, run, owner) == 0;
    return worker->is_running;
}

void worker_stop(struct worker *worker)
{
    if (!worker->is_running)
        return;
    atomic_store(&worker->should_stop, true);
    pthread_mutex_lock(&worker->lock);
    worker->is_stopping = true;
    pthread_cond_broadcast(&worker->wake);
    pthread_mutex_unlock(&worker->lock);
    pthread_join(worker->thread, NULL);
    worker->is_running = false;
    pthread_cond_destroy(&worker->wake);
    pthread_mutex_destroy(&worker->lock);
}

void worker_wake(struct worker *worker)
{
    if (!worker->is_running)
        return;
    pthread_mutex_lock(&worker->lock);
    worker->is_woken = true;
    pthread_cond_broadcast(&worker->wake);
    pthread_mutex_unlock(&worker->lock);
}

bool worker_pause(struct worker *worker, int64_t timeout_ms)
{
    struct wait_limit limit = wait_limit_from_now(timeout_ms);

    pthread_mutex_lock(&worker->lock);
    while (!worker->is_woken && !worker->is_stopping) {
        if (!wait_on(&worker->wake, &worker->lock, &limit))
            break;
    }
    worker->is_woken = false;
    bool goes_on = !worker->is_stopping;
    pthread_mutex_unlock(&worker->lock);
    return goes_on;
}
