/* Bench: opening an empty database, opening one after a crash, and what an idle server keeps in memory.
 *
 * After a crash: a process fills the logs with documents as far as they may grow and ends without closing anything; what the
 * next one takes to open is held against the size of the logs.
 *
 * In process: storage and engine on an existing, empty directory (and a new one). As a program: from
 * starting $BUILD/mayfly serve on an empty directory (and on the same again) until it says that it is
 * ready, with its resident memory a moment later. Medians. */
#include <dirent.h>
#include <sys/stat.h>

#include "bench/rocks.h"
#include "bench/server.h"

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

/* ---- after a crash --------------------------------------------------------------------------------- */

static double logs_mb(const char *path)
{
    DIR *directory = opendir(path);
    const struct dirent *entry;
    double sum = 0;

    BENCH_CLAIM(directory != NULL);
    while ((entry = readdir(directory)) != NULL) {
        const size_t len = strlen(entry->d_name);
        struct stat about;
        if (len > 4 && strcmp(entry->d_name + len - 4, ".log") == 0 &&
            fstatat(dirfd(directory), entry->d_name, &about, 0) == 0)
            sum += (double)about.st_size / 1e6;
    }
    closedir(directory);
    return sum;
}

/* In steps until the logs have this size, or were cut because they had grown too far. */
static void fill_and_crash(const char *path, double mb_wanted)
{
    enum { STEP = 4000, STEPS_MAX = 100 };
    struct bench b;
    double before = 0;

    bench_open(&b, path, 0, false);
    bench_collection(&b, "c", TTL_OFF);
    for (int i = 0; i < STEPS_MAX; i++) {
        bench_insert(&b, "c", (uint64_t)i * STEP, STEP);
        const double mb = logs_mb(path);
        if (mb > mb_wanted || mb < before)
            break;
        before = mb;
    }
    _exit(0);
}

static void after_crash(const char *top)
{
    enum { CRASHES = 3 };
    double ms[CRASHES], mb[CRASHES], per_gb[CRASHES], cpu_per_gb[CRASHES];
    char path[PATH_MAX + 16], value[128];

    for (int i = 0; i < CRASHES; i++) {
        snprintf(path, sizeof(path), "%s/crash%d", top, i);
        const pid_t pid = fork();
        BENCH_CLAIM(pid >= 0);
        if (pid == 0)
            fill_and_crash(path, 60);
        waitpid(pid, NULL, 0);
        mb[i] = logs_mb(path);
        const double cpu = bench_cpu_s();
        ms[i] = open_ms(path);
        per_gb[i] = ms[i] / mb[i];
        cpu_per_gb[i] = 1e3 * (bench_cpu_s() - cpu) / mb[i];
    }
    snprintf(value, sizeof(value), "%.0f ms for %.0f MB, %.1f s/GB (processor: %.1f)",
             bench_median(ms, CRASHES), bench_median(mb, CRASHES), bench_median(per_gb, CRASHES),
             bench_median(cpu_per_gb, CRASHES));
    bench_figure("open: after a crash, by the size of the logs", value, "< 2 s/GB",
                 bench_median(per_gb, CRASHES) < 2);
}

/* ---- the server ------------------------------------------------------------------------------------ */

/* The first start on a directory also makes keys and a certificate for https. */
static void as_program(const char *top)
{
    char program[PATH_MAX], path[PATH_MAX + 32], value[128];
    double fresh_ms[STARTS], again_ms[STARTS], rss_mb[STARTS];

    if (!bench_server_program(program))
        return;
    for (int i = 0; i < STARTS; i++) {
        snprintf(path, sizeof(path), "%s/served%d", top, i);
        for (int start = 0; start < 2; start++) {
            const double started = bench_now_s();
            const struct bench_server server = bench_server_start(program, path);
            *(start == 0 ? &fresh_ms[i] : &again_ms[i]) = 1e3 * (bench_now_s() - started);
            if (start == 0) {
                bench_sleep_ms(SETTLE_MS);
                rss_mb[i] = bench_server_resident_mb(&server);
            }
            bench_server_stop(&server);
        }
    }
    const double fresh = bench_median(fresh_ms, STARTS), again = bench_median(again_ms, STARTS);
    const double mb = bench_median(rss_mb, STARTS);
    snprintf(value, sizeof(value), "%.1f / %.1f ms", fresh, again);
    bench_figure("open: mayfly serve until ready, empty directory / again", value, "< 100 ms",
                 fresh < 100 && again < 100);
    snprintf(value, sizeof(value), "%.1f MB", mb);
    bench_figure("open: resident memory of an idle server", value, "< 30 MB", mb < 30);
}

/* Without the names that only debuggers want. */
static void stripped_size(const char *top)
{
    char program[PATH_MAX], path[PATH_MAX + 16], value[64];
    struct stat about;

    if (!bench_server_program(program))
        return;
    snprintf(path, sizeof(path), "%s/stripped", top);
    bench_shell("strip -o", path, program);
    BENCH_CLAIM(stat(path, &about) == 0);
    snprintf(value, sizeof(value), "%.1f MB", (double)about.st_size / 1e6);
    bench_figure("footprint: the program, stripped", value, "< 5 MB", about.st_size < 5000000);
}

int main(void)
{
    char top[PATH_MAX];

    bench_temp_dir(top);
    in_process(top);
    after_crash(top);
    as_program(top);
    stripped_size(top);
    bench_remove_dir(top);
    return 0;
}
