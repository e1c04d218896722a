/* Bench: opening an empty database, and what an idle server keeps in memory.
 *
 * In process: storage and engine on an existing, empty directory (and a new one). As a program: from
 * starting $BUILD/mayfly serve on an empty directory until it says that it is ready, with its
 * resident memory a moment later. Medians. */
#include "bench/rocks.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

enum { OPENINGS = 15, STARTS = 7, SETTLE_MS = 500 };

static double open_ms(const char *path)
{
    struct bench b;
    const double started = bench_now_s();

    bench_open(&b, path, 0, false);
    const double ms = 1e3 * (bench_now_s() - started);
    bench_close(&b);
    return ms;
}

static void in_process(const char *top)
{
    double fresh[OPENINGS], again[OPENINGS];
    char path[PATH_MAX + 16], value[128];

    for (int i = 0; i < OPENINGS; i++) {
        snprintf(path, sizeof(path), "%s/open%d", top, i);
        fresh[i] = open_ms(path);
        again[i] = open_ms(path);
    }
    const double fresh_ms = bench_median(fresh, OPENINGS), again_ms = bench_median(again, OPENINGS);
    snprintf(value, sizeof(value), "%.1f ms", fresh_ms);
    bench_figure("open: engine in a new directory", value, "< 100 ms", fresh_ms < 100);
    snprintf(value, sizeof(value), "%.1f ms", again_ms);
    bench_figure("open: engine on an empty database", value, "< 100 ms", again_ms < 100);
}

/* ---- the server ------------------------------------------------------------------------------------ */

struct server {
    pid_t pid;
    int output;
};

static struct server server_start(const char *program, const char *path)
{
    int pipe_ends[2];

    BENCH_CLAIM(pipe(pipe_ends) == 0);
    const pid_t pid = fork();
    BENCH_CLAIM(pid >= 0);
    if (pid == 0) {
        dup2(pipe_ends[1], STDOUT_FILENO);
        close(pipe_ends[0]);
        execl(program, program, "serve", "--data", path, "--cosmos", "127.0.0.1:0", "--log-level",
              "error", (char *)NULL);
        _exit(127);
    }
    close(pipe_ends[1]);
    return (struct server){ .pid = pid, .output = pipe_ends[0] };
}

/* False if it ended without a line. */
static bool server_wait_ready(struct server server)
{
    char byte = 0;

    while (byte != '\n') {
        if (read(server.output, &byte, 1) != 1)
            return false;
    }
    return true;
}

static void server_stop(struct server server)
{
    kill(server.pid, SIGTERM);
    waitpid(server.pid, NULL, 0);
    close(server.output);
}

static double resident_mb(pid_t pid)
{
    char path[64], line[256];
    double kb = 0;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "r");
    BENCH_CLAIM(file != NULL);
    while (fgets(line, sizeof(line), file)) {
        if (strncmp(line, "VmRSS:", 6) == 0)
            kb = strtod(line + 6, NULL);
    }
    fclose(file);
    return kb / 1024;
}

static void as_program(const char *top)
{
    const char *build = getenv("BUILD");
    char program[PATH_MAX], path[PATH_MAX + 16], value[128];
    double ready_ms[STARTS], rss_mb[STARTS];

    snprintf(program, sizeof(program), "%s/mayfly", build && *build ? build : "build");
    if (access(program, X_OK) != 0) {
        printf("open: there is no %s; left out\n", program);
        return;
    }
    snprintf(path, sizeof(path), "%s/served", top);
    for (int i = 0; i < STARTS; i++) {
        const double started = bench_now_s();
        struct server server = server_start(program, path);
        BENCH_CLAIM(server_wait_ready(server));
        ready_ms[i] = 1e3 * (bench_now_s() - started);
        bench_sleep_ms(SETTLE_MS);
        rss_mb[i] = resident_mb(server.pid);
        server_stop(server);
    }
    printf("serve: first start on a new directory %.1f ms\n", ready_ms[0]);
    const double ms = bench_median(ready_ms, STARTS), mb = bench_median(rss_mb, STARTS);
    snprintf(value, sizeof(value), "%.1f ms", ms);
    bench_figure("open: mayfly serve until ready", value, "< 100 ms", ms < 100);
    snprintf(value, sizeof(value), "%.1f MB", mb);
    bench_figure("open: resident memory of an idle server", value, "< 30 MB", mb < 30);
}

int main(void)
{
    char top[PATH_MAX];

    bench_temp_dir(top);
    in_process(top);
    as_program(top);
    bench_remove_dir(top);
    return 0;
}
