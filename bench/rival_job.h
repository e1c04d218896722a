/* The job that every user of PostgreSQL writes: once a second it deletes whoever is dead, on a connection of its own. In a
 * thread of the measurement, which mostly waits. */
#ifndef BENCH_RIVAL_JOB_H
#define BENCH_RIVAL_JOB_H

#include <pthread.h>
#include <stdatomic.h>

#include "bench/rival_postgres.h"

struct job {
    pthread_t thread;
    struct postgres postgres; /* the same server by another connection */
    const char *sql;          /* asked once a second */
    atomic_bool is_over;
};

static inline void *job_run(void *argument)
{
    struct job *job = argument;

    while (!atomic_load(&job->is_over)) {
        const double start = bench_now_s();
        postgres_ask(&job->postgres, job->sql);
        while (!atomic_load(&job->is_over) && bench_now_s() - start < 1)
            bench_sleep_ms(10);
    }
    return NULL;
}

static inline void job_start(struct job *job, const struct postgres *postgres, const char *sql)
{
    job->postgres = *postgres;
    job->sql = sql;
    atomic_init(&job->is_over, false);
    postgres_connect(&job->postgres);
    BENCH_CLAIM(pthread_create(&job->thread, NULL, job_run, job) == 0);
}

static inline void job_stop(struct job *job)
{
    atomic_store(&job->is_over, true);
    pthread_join(job->thread, NULL);
    PQfinish(job->postgres.connection);
}

#endif
