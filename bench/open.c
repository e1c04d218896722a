/* Bench: opening an empty database, and what an idle server keeps in memory.
 *
 * In process: storage and engine on an existing, empty directory (and a new one). As a program: from
 * starting $BUILD/mayfly serve on an empty directory (and on the same again) until it says that it is
 * ready, with its resident memory a moment later. Medians. */
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
    as_program(top);
    stripped_size(top);
    bench_remove_dir(top);
    return 0;
}
