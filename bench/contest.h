/* All rivals of one measurement, started and stopped together; and how ratios between them are told. */
#ifndef BENCH_CONTEST_H
#define BENCH_CONTEST_H

#include "bench/rival_cosmos.h"
#include "bench/rival_mongo.h"
#include "bench/rival_postgres.h"
#include "bench/rival_redis.h"
#include "bench/server.h"

enum who { MONGO, COSMOS, POSTGRES, REDIS, WHO };

enum { CONTEST_ROUNDS_MAX = 15 };

struct contest {
    char top[PATH_MAX];
    struct texts texts;
    struct rival rivals[WHO];
    bool takes_part[WHO];
    struct bench_server mongo, cosmos; /* a server for each face, so that each has its own costs */
    struct postgres postgres;
};

/* False, with a word, if something is not installed. `takes_part` says who is started. */
static inline bool contest_open(struct contest *contest, const bool takes_part[WHO])
{
    char program[PATH_MAX];

    if (!bench_server_program(program))
        return false;
    if (!postgres_is_installed() || !redis_is_installed()) {
        printf("PostgreSQL 15 or Redis is not installed (tools/setup bench); left out\n");
        return false;
    }
    memcpy(contest->takes_part, takes_part, sizeof(contest->takes_part));
    bench_temp_dir(contest->top);
    texts_make(&contest->texts);
    struct rival *mongo = &contest->rivals[MONGO], *cosmos = &contest->rivals[COSMOS];
    char data[PATH_MAX + 32];
    snprintf(data, sizeof(data), "%s/mongo", contest->top);
    if (takes_part[MONGO]) {
        contest->mongo = bench_server_start(program, data);
        rival_mongo_begin(mongo, "mayfly, MongoDB", contest->mongo.pid, contest->mongo.mongo_port,
                          &contest->texts, 0);
        memcpy(mongo->data, data, sizeof(data));
    }
    snprintf(data, sizeof(data), "%s/cosmos", contest->top);
    if (takes_part[COSMOS]) {
        contest->cosmos = bench_server_start(program, data);
        rival_cosmos_begin(cosmos, contest->cosmos.pid, contest->cosmos.port, &contest->texts);
        memcpy(cosmos->data, data, sizeof(data));
    }
    if (takes_part[POSTGRES])
        rival_postgres_start(&contest->rivals[POSTGRES], &contest->postgres, contest->top,
                             &contest->texts);
    if (takes_part[REDIS])
        rival_redis_start(&contest->rivals[REDIS], contest->top, &contest->texts);
    for (int w = 0; w < WHO; w++)
        contest->rivals[w].ttl_ms = INT64_C(86400000);
    return true;
}

static inline void contest_close(struct contest *contest)
{
    if (contest->takes_part[MONGO])
        bench_server_stop(&contest->mongo);
    if (contest->takes_part[COSMOS]) {
        bench_server_stop(&contest->cosmos);
        rival_cosmos_end(&contest->rivals[COSMOS]);
    }
    if (contest->takes_part[POSTGRES])
        postgres_stop(&contest->postgres);
    if (contest->takes_part[REDIS])
        rival_kill(contest->rivals[REDIS].pid, SIGKILL);
    bench_remove_dir(contest->top);
}

/* ---- telling ----------------------------------------------------------------------------------------- */

/* A ratio of rounds that took turns: its median, the lowest and the highest. Sorts them. */
static inline void contest_ratio(const char *what, double *ratios, size_t rounds, double at_least)
{
    const double median = bench_median(ratios, rounds);

    printf("FIGURE | %s | %.2f times (%.2f to %.2f) | ", what, median, ratios[0],
           ratios[rounds - 1]);
    if (at_least > 0)
        printf(">= %.1f times | %s\n", at_least, median >= at_least ? "yes" : "NO");
    else
        printf("- | -\n");
    fflush(stdout);
}

/* A point of a curve that bench/draw.py draws. */
static inline void contest_point(const char *chart, const char *curve, double x, double y,
                                 double low, double high)
{
    printf("POINT | %s | %s | %g | %g | %g | %g\n", chart, curve, x, y, low, high);
}

#endif
