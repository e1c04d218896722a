/* Bench: single inserts, point reads and inserts of a thousand beside PostgreSQL and Redis.
 *
 * Both faces of mayfly, PostgreSQL 15 and Redis 7 run side by side on empty directories, each as it comes, every write on
 * disk before it is answered, every document with a deadline. One load generator asks all of them, in turns of half a
 * second; each figure is the median of the ratios of these turns. Client and server share the machine, so that what
 * the client costs counts on all sides alike. Processor time of the server for each request stands beside, because it
 * differs less from hour to hour. */
#include "bench/contest.h"

enum { DOCUMENTS = 100000, COUNTS = 5, ROUNDS = 7, ROUNDS_QUICK = 3, MANY_COUNTS = 2 };

static const size_t connection_counts[COUNTS] = { 1, 4, 16, 32, 64 };
static const size_t many_counts[MANY_COUNTS] = { 1, 4 };

struct goal {
    enum rival_op op;
    size_t connections;
    enum who who, against;
    double at_least; /* 0: told without a goal */
};

static const struct goal goals[] = {
    {RIVAL_INSERT,  64, MONGO,  POSTGRES, 2.0},
    { RIVAL_INSERT, 64, MONGO,  REDIS,    0.6},
    { RIVAL_INSERT, 16, MONGO,  POSTGRES, 1.2},
    { RIVAL_INSERT, 16, MONGO,  REDIS,    0  },
    { RIVAL_INSERT, 1,  MONGO,  POSTGRES, 1.0},
    { RIVAL_INSERT, 1,  MONGO,  REDIS,    0  },
    { RIVAL_INSERT, 64, COSMOS, POSTGRES, 1.5},
    { RIVAL_INSERT, 16, COSMOS, POSTGRES, 0  },
    { RIVAL_INSERT, 1,  COSMOS, POSTGRES, 0  },
    { RIVAL_READ,   64, MONGO,  POSTGRES, 2.0},
    { RIVAL_READ,   64, MONGO,  REDIS,    0.6},
    { RIVAL_READ,   16, MONGO,  POSTGRES, 0  },
    { RIVAL_READ,   1,  MONGO,  POSTGRES, 0  },
    { RIVAL_READ,   64, COSMOS, POSTGRES, 1.5},
    { RIVAL_READ,   16, COSMOS, POSTGRES, 0  },
    { RIVAL_READ,   1,  COSMOS, POSTGRES, 0  },
    { RIVAL_MANY,   1,  MONGO,  POSTGRES, 2.0},
    { RIVAL_MANY,   4,  MONGO,  POSTGRES, 2.0},
    { RIVAL_MANY,   1,  MONGO,  REDIS,    0  },
};

static const char *const op_names[RIVAL_OPS] = { "durable inserts", "point reads", "touches",
                                                 "inserts of 1,000 at once" };
static const char *const op_charts[RIVAL_OPS] = { "inserts", "reads", "touches", "many" };

/* ---- one turn ---------------------------------------------------------------------------------------- */

struct series {
    double rates[CONTEST_ROUNDS_MAX];
    double cpu_ms, client_ms, requests;
    struct latency latency;
};

static void run_turn(struct rival *r, enum rival_op op, size_t connections, double seconds,
                     struct series *series, size_t round)
{
    struct rival_task task = { .rival = r,
                               .op = op,
                               .documents = DOCUMENTS,
                               .random = random_seeded(round + 1),
                               .latency = &series->latency };
    const double cpu = family_cpu_ms(r->pid), client = bench_cpu_s();
    const struct load_result result = rival_run(&task, connections, seconds, UINT64_MAX);

    series->cpu_ms += family_cpu_ms(r->pid) - cpu;
    series->client_ms += (bench_cpu_s() - client) * 1000;
    series->requests += result.requests;
    series->rates[round] = result.requests / result.seconds;
}

/* ---- telling ----------------------------------------------------------------------------------------- */

static void tell_ratios(enum rival_op op, size_t connections, const struct series series[WHO],
                        size_t rounds)
{
    static const char *const names[WHO] = { "MongoDB face", "Cosmos face", "PostgreSQL", "Redis" };
    double ratios[CONTEST_ROUNDS_MAX];
    char what[160];

    for (size_t g = 0; g < sizeof(goals) / sizeof(*goals); g++) {
        const struct goal *goal = &goals[g];
        if (goal->op != op || goal->connections != connections)
            continue;
        for (size_t i = 0; i < rounds; i++)
            ratios[i] = series[goal->who].rates[i] / series[goal->against].rates[i];
        snprintf(what, sizeof(what), "%s, %s against %s, %zu connection%s", op_names[op],
                 names[goal->who], names[goal->against], connections, connections == 1 ? "" : "s");
        contest_ratio(what, ratios, rounds, goal->at_least);
    }
}

/* Sorts the rates. */
static void tell_rates(const struct contest *contest, enum rival_op op, size_t connections,
                       struct series series[WHO], size_t rounds)
{
    for (int w = 0; w < WHO; w++) {
        struct series *s = &series[w];
        if (s->requests == 0)
            continue;
        const double median = bench_median(s->rates, rounds);
        printf("%-24s %2zu connections, %-15s: %7.0f/s (%.0f to %.0f), p50 %.0f us, p99 %.0f us, "
               "processor %.1f us, of the client %.1f us\n",
               op_names[op], connections, contest->rivals[w].name, median, s->rates[0],
               s->rates[rounds - 1], latency_at(&s->latency, 0.5), latency_at(&s->latency, 0.99),
               s->cpu_ms * 1000 / s->requests, s->client_ms * 1000 / s->requests);
        if (op != RIVAL_MANY)
            contest_point(op_charts[op], contest->rivals[w].name, (double)connections, median,
                          s->rates[0], s->rates[rounds - 1]);
    }
    fflush(stdout);
}

/* ---- the measurement --------------------------------------------------------------------------------- */

static void measure(struct contest *contest, enum rival_op op, size_t connections)
{
    struct series *series = calloc(WHO, sizeof(*series));
    const size_t rounds = bench_is_quick() ? ROUNDS_QUICK : ROUNDS;
    const double seconds = (op == RIVAL_MANY ? 2 : 1) * (bench_is_quick() ? 0.15 : 0.4);

    BENCH_CLAIM(series != NULL);
    if (op == RIVAL_READ)
        cosmos_sign_all(&contest->rivals[COSMOS], DOCUMENTS);
    for (size_t round = 0; round < rounds; round++) {
        for (int w = 0; w < WHO; w++) {
            if (op != RIVAL_MANY || contest->rivals[w].make_many)
                run_turn(&contest->rivals[w], op, connections, seconds, &series[w], round);
        }
    }
    tell_ratios(op, connections, series, rounds);
    tell_rates(contest, op, connections, series, rounds);
    free(series);
}

int main(void)
{
    static const bool everybody[WHO] = { true, true, true, true };
    static struct contest contest;
    const long only = bench_number("CONNECTIONS", 0);

    if (!contest_open(&contest, everybody))
        return 0;
    for (int w = 0; w < WHO; w++) {
        const double start = bench_now_s();
        rival_connect(&contest.rivals[w], RIVAL_CONNECTIONS);
        rival_fill(&contest.rivals[w], DOCUMENTS);
        printf("%s: %d documents in %.1f s\n", contest.rivals[w].name, DOCUMENTS,
               bench_now_s() - start);
    }
    for (size_t i = 0; i < COUNTS; i++) {
        const size_t connections = connection_counts[i];
        if ((only && only != (long)connections) ||
            (bench_is_quick() && (connections == 4 || connections == 32)))
            continue;
        measure(&contest, RIVAL_READ, connections);
        measure(&contest, RIVAL_INSERT, connections);
    }
    for (size_t i = 0; i < MANY_COUNTS; i++)
        measure(&contest, RIVAL_MANY, many_counts[i]);
    for (int w = 0; w < WHO; w++) {
        printf("%s: %.1f MB of memory, %.1f MB on disk for %" PRIu64 " documents\n",
               contest.rivals[w].name, family_memory_mb(contest.rivals[w].pid),
               directory_bytes(contest.rivals[w].data) / 1e6, contest.rivals[w].next);
        rival_disconnect(&contest.rivals[w]);
    }
    contest_close(&contest);
    return 0;
}
