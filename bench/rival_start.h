/* Starting programs that others wrote, private to the measurement: a port of their own on loopback, a directory of
 * their own, and gone when the measurement is. */
#ifndef BENCH_RIVAL_START_H
#define BENCH_RIVAL_START_H

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "bench/load.h"

static inline pid_t rival_spawn(char *const arguments[], const char *dir)
{
    char log[PATH_MAX + 64];
    const pid_t pid = fork();

    BENCH_CLAIM(pid >= 0);
    if (pid > 0)
        return pid;
    snprintf(log, sizeof(log), "%s/log", dir);
    BENCH_CLAIM(freopen(log, "a", stdout) != NULL && freopen(log, "a", stderr) != NULL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    execv(arguments[0], arguments);
    _exit(127);
}

static inline void wait_for_port(pid_t pid, unsigned port)
{
    enum { TRIES = 600, PAUSE_MS = 20 };
    const struct sockaddr_in to = { .sin_family = AF_INET,
                                    .sin_port = htons((uint16_t)port),
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

    for (int i = 0; i < TRIES; i++) {
        const int s = socket(AF_INET, SOCK_STREAM, 0);
        const bool is_there = connect(s, (const struct sockaddr *)&to, sizeof(to)) == 0;
        close(s);
        if (is_there)
            return;
        BENCH_CLAIM(waitpid(pid, NULL, WNOHANG) == 0);
        bench_sleep_ms(PAUSE_MS);
    }
    fprintf(stderr, "nobody listens on port %u\n", port);
    exit(1);
}

static inline void rival_kill(pid_t pid, int how)
{
    kill(pid, how);
    waitpid(pid, NULL, 0);
}

#endif
