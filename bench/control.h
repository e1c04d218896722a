/* What the machine does by itself while something is measured on it: a thread that only sleeps, and one that only writes
 * a page of a file again and syncs it. How late the first wakes up and how long the second waits, second by second, is
 * what no server on this machine could have avoided at that moment. */
#ifndef BENCH_CONTROL_H
#define BENCH_CONTROL_H

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "bench/latency.h"

enum { CONTROL_SECONDS_MAX = 128, CONTROL_PAUSE_MS = 5, CONTROL_BYTES = 4096 };

struct control {
    double start;
    int file;
    _Atomic bool is_over;
    pthread_t sleeper, syncer;
    struct latency late[CONTROL_SECONDS_MAX], syncs[CONTROL_SECONDS_MAX];
};

static inline struct latency *control_second(const struct control *control,
                                             struct latency seconds[CONTROL_SECONDS_MAX], double at)
{
    const double second = at - control->start;

    return &seconds[second < 0                      ? 0
                    : second >= CONTROL_SECONDS_MAX ? CONTROL_SECONDS_MAX - 1
                                                    : (size_t)second];
}

static inline void *control_sleep(void *argument)
{
    struct control *control = argument;

    while (!atomic_load(&control->is_over)) {
        const double due = bench_now_s() + CONTROL_PAUSE_MS / 1e3;
        bench_sleep_ms(CONTROL_PAUSE_MS);
        latency_note(control_second(control, control->late, due), bench_now_s() - due);
    }
    return NULL;
}

static inline void *control_sync(void *argument)
{
    struct control *control = argument;
    const char page[CONTROL_BYTES] = "control";

    while (!atomic_load(&control->is_over)) {
        const double begun = bench_now_s();
        BENCH_CLAIM(pwrite(control->file, page, sizeof(page), 0) == (ssize_t)sizeof(page));
        BENCH_CLAIM(fdatasync(control->file) == 0);
        latency_note(control_second(control, control->syncs, begun), bench_now_s() - begun);
        bench_sleep_ms(CONTROL_PAUSE_MS);
    }
    return NULL;
}

/* The file is made in `directory`, on the disk that is measured. */
static inline void control_begin(struct control *control, const char *directory)
{
    char path[PATH_MAX + 16];

    snprintf(path, sizeof(path), "%s/control", directory);
    control->file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    BENCH_CLAIM(control->file >= 0);
    control->start = bench_now_s();
    BENCH_CLAIM(pthread_create(&control->sleeper, NULL, control_sleep, control) == 0);
    BENCH_CLAIM(pthread_create(&control->syncer, NULL, control_sync, control) == 0);
}

static inline void control_end(struct control *control)
{
    atomic_store(&control->is_over, true);
    pthread_join(control->sleeper, NULL);
    pthread_join(control->syncer, NULL);
    close(control->file);
}

#endif
