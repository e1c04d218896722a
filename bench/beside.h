/* A measurement beside PostgreSQL, from loading both sides to the last answer; and the processor time that each takes. */
#ifndef BENCH_BESIDE_H
#define BENCH_BESIDE_H

#include "bench/family.h"
#include "bench/server.h"
#include "bench/sql_documents.h"

/* Of the process that answers, and of helpers that it had and that are gone, in ms; those only by hundredths of a second. */
static inline double postgres_cpu_ms(const struct postgres *p)
{
    return process_cpu_ms(PQbackendPID(p->connection)) + process_gone_cpu_ms(p->pid);
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
