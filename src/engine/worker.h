/* Inside the engine: background threads that can be woken and stopped. */
#ifndef ENGINE_WORKER_H
#define ENGINE_WORKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A thread that works in the background and can be woken; see worker.c. */
struct worker {
    pthread_t thread;
    bool is_running;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool is_woken, is_stopping; /* lock */
    _Atomic bool should_stop;
};

bool worker_start(struct worker *worker, void *(*run)(void *), void *owner);
void worker_stop(struct worker *worker);
void worker_wake(struct worker *worker);
/* Waits until woken, stopped, or the time is over; false when stopping. */
bool worker_pause(struct worker *worker, int64_t timeout_ms);

#endif
