/* The server as a program, for measurements from outside: starting it, its ports, its memory, stopping it. */
#ifndef BENCH_SERVER_H
#define BENCH_SERVER_H

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "bench/bench.h"

struct bench_server {
    pid_t pid;
    int output;
    unsigned port, mongo_port;
};

/* False if there is no program to start, which is said. */
static inline bool bench_server_program(char program[PATH_MAX])
{
    const char *build = getenv("BUILD");

    snprintf(program, PATH_MAX, "%s/mayfly", build && *build ? build : "build");
    if (access(program, X_OK) == 0)
        return true;
    printf("there is no %s; left out\n", program);
    return false;
}

/* One line of the server's output, without its end; false when there is no more. */
static inline bool bench_server_line(const struct bench_server *server, char line[256])
{
    for (size_t len = 0; len < 255; len++) {
        if (read(server->output, line + len, 1) != 1)
            return false;
        if (line[len] == '\n') {
            line[len] = '\0';
            return true;
        }
    }
    return false;
}

/* On free ports, with a cache of so many megabytes or, if it is NULL, the usual one; returns when it says that it is ready. */
static inline struct bench_server bench_server_start_with(const char *program, const char *path,
                                                          const char *cache_mb)
{
    struct bench_server server = { .pid = 0 };
    char line[256];
    int pipe_ends[2];

    BENCH_CLAIM(pipe(pipe_ends) == 0);
    server.pid = fork();
    BENCH_CLAIM(server.pid >= 0);
    if (server.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        dup2(pipe_ends[1], STDOUT_FILENO);
        close(pipe_ends[0]);
        execl(program, program, "serve", "--data", path, "--cosmos", "127.0.0.1:0", "--mongo",
              "127.0.0.1:0", "--log-level", "error", cache_mb ? "--cache" : (char *)NULL, cache_mb,
              (char *)NULL);
        _exit(127);
    }
    close(pipe_ends[1]);
    server.output = pipe_ends[0];
    do
        BENCH_CLAIM(bench_server_line(&server, line));
    while (sscanf(line, "mayfly ready cosmos=http://127.0.0.1:%u mongo=mongodb://127.0.0.1:%u",
                  &server.port, &server.mongo_port) != 2);
    return server;
}

static inline struct bench_server bench_server_start(const char *program, const char *path)
{
    return bench_server_start_with(program, path, NULL);
}

static inline void bench_server_stop(const struct bench_server *server)
{
    kill(server->pid, SIGTERM);
    waitpid(server->pid, NULL, 0);
    close(server->output);
}

static inline double bench_server_resident_mb(const struct bench_server *server)
{
    char path[64], line[256];
    double kb = 0;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)server->pid);
    FILE *file = fopen(path, "r");
    BENCH_CLAIM(file != NULL);
    while (fgets(line, sizeof(line), file)) {
        if (strncmp(line, "VmRSS:", 6) == 0)
            kb = strtod(line + 6, NULL);
    }
    fclose(file);
    return kb / 1024;
}

#endif
