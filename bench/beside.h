/* A measurement beside PostgreSQL, from loading both sides to the last answer; and the processor time that each takes. */
#ifndef BENCH_BESIDE_H
#define BENCH_BESIDE_H

#include <dirent.h>

#include "bench/server.h"
#include "bench/sql_documents.h"

/* ---- processor time ---------------------------------------------------------------------------------- */

/* Of all threads that a process has, in ms. */
static inline double process_cpu_ms(pid_t pid)
{
    char path[64], file_path[PATH_MAX];
    const struct dirent *entry;
    double sum = 0;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    BENCH_CLAIM(tasks != NULL);
    while ((entry = readdir(tasks)) != NULL) {
        unsigned long long ns = 0;
        snprintf(file_path, sizeof(file_path), "%s/%s/schedstat", path, entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(file_path, "r");
        if (file && fscanf(file, "%llu", &ns) == 1)
            sum += (double)ns / 1e6;
        if (file)
            fclose(file);
    }
    closedir(tasks);
    return sum;
}

/* Of the process that answers, and of helpers that it had and that are gone, in ms; those only by hundredths of a second. */
static inline double postgres_cpu_ms(const struct postgres *p)
{
    char path[64], line[1024];
    long user = 0, system = 0;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)p->pid);
    FILE *file = fopen(path, "r");
    BENCH_CLAIM(file != NULL && fgets(line, sizeof(line), file) != NULL);
    fclose(file);
    /* Behind the name come state, parent and others; the children's times are fields 16 and 17. */
    BENCH_CLAIM(sscanf(strrchr(line, ')') + 2,
                       "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %ld %ld", &user,
                       &system) == 2);
    return process_cpu_ms(PQbackendPID(p->connection)) +
           (double)(user + system) * 1000 / (double)sysconf(_SC_CLK_TCK);
}

/* ---- both sides --------------------------------------------------------------------------------------- */

enum side { MAYFLY, POSTGRES };

struct sides {
    void *client; /* of mayfly, as the measurement talks to it */
    struct postgres postgres;
    pid_t pid; /* of mayfly */
};

static inline double side_cpu_ms(const struct sides *sides, enum side side)
{
    return side == MAYFLY ? process_cpu_ms(sides->pid) : postgres_cpu_ms(&sides->postgres);
}

/* Both start a client of their own. */
struct beside {
    void (*load)(struct sides *sides, const char *program, const char *data, uint64_t count);
    void (*compare)(struct sides *sides, const struct bench_server *server, uint64_t count);
};

/* Everything from an empty directory, or a kept one, to the last answer; what main() returns. */
static inline int measure_beside(const struct beside *beside)
{
    const uint64_t count = (uint64_t)bench_number("DOCUMENTS", bench_is_quick() ? 100000 : 1000000);
    char program[PATH_MAX], top[PATH_MAX], data[PATH_MAX + 16];
    struct sides sides;

    if (!bench_server_program(program))
        return 0;
    if (!postgres_is_installed()) {
        printf("PostgreSQL 15 is not installed; left out\n");
        return 0;
    }
    const bool is_loaded = find_directory(top);
    snprintf(data, sizeof(data), "%s/data", top);
    postgres_start(&sides.postgres, top);
    if (!is_loaded)
        beside->load(&sides, program, data, count);
    prepare_files(top);
    const struct bench_server server = bench_server_start(program, data);
    sides.pid = server.pid;
    beside->compare(&sides, &server, count);
    bench_server_stop(&server);
    postgres_stop(&sides.postgres);
    if (!getenv("KEPT"))
        bench_remove_dir(top);
    return 0;
}

#endif
