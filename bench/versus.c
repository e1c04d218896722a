/* Bench: two builds of the server beside each other, for whoever changes something: OTHER=/path/to/mayfly BUILD=build
 * build/bench/versus. Requests of one kind take turns between both, over the MongoDB protocol or, with COSMOS=1, over
 * HTTP; ratios are of BUILD's server to the other one's. Not a part of `make bench`.
 *
 * OP=0 inserts, 1 point reads, 2 touches, 3 inserts of a thousand, 4 queries by an index (-1, the default: the first two and
 * the fourth); CONNECTIONS=n, ROUNDS=n, MS=n for each turn, DOCUMENTS=n before the start, of which all are read. CACHE=n: of so many megabytes. MORE=n
 * further ones, which nobody reads, are inserted behind them: without those nearly everything counts as written lately, so that reads
 * ask RocksDB, which is seldom so where a server has been running for a while. */
#include "bench/contest.h"

enum { BUILDS = 2, ROUNDS_MAX = CONTEST_ROUNDS_MAX };

struct build {
    struct bench_server server;
    struct rival rival;
    double rates[ROUNDS_MAX], cpu_us[ROUNDS_MAX];
    double all_cpu_ms,
        all_requests; /* of all turns: what is done in the background comes in bursts */
    struct latency latency;
};

static bool is_cosmos(void)
{
    return bench_number("COSMOS", 0) != 0;
}

static void build_open(struct build *b, const char *program, const char *top, const char *name,
                       const struct texts *texts, uint64_t documents)
{
    char path[PATH_MAX + 32];

    snprintf(path, sizeof(path), "%s/%s", top, name);
    b->server = bench_server_start_with(program, path, getenv("CACHE"));
    if (is_cosmos()) {
        rival_cosmos_begin(&b->rival, b->server.pid, b->server.port, texts);
        cosmos_sign_all(&b->rival, documents);
    } else {
        rival_mongo_begin(&b->rival, name, b->server.pid, b->server.mongo_port, texts, 0);
        if (bench_number("OP", -1) == RIVAL_QUERY)
            mongo_create_index(b->server.mongo_port, "user", -1);
    }
    b->rival.ttl_ms = 86400000;
    rival_connect(&b->rival, RIVAL_CONNECTIONS);
    rival_fill(&b->rival, documents);
    rival_fill(&b->rival, (uint64_t)bench_number("MORE", 0));
}

static void run_turn(struct build *b, enum rival_op op, size_t round, uint64_t documents)
{
    struct rival_task task = { .rival = &b->rival,
                               .op = op,
                               .documents = documents,
                               .random = random_seeded(round + 1),
                               .latency = &b->latency };
    const double cpu = family_cpu_ms(b->server.pid);
    const struct load_result result = rival_run(&task, (size_t)bench_number("CONNECTIONS", 64),
                                                (double)bench_number("MS", 300) / 1000, UINT64_MAX);

    const double spent_ms = family_cpu_ms(b->server.pid) - cpu;

    b->rates[round] = result.requests / result.seconds;
    b->cpu_us[round] = spent_ms * 1000 / result.requests;
    b->all_cpu_ms += spent_ms;
    b->all_requests += result.requests;
}

static void measure(struct build builds[BUILDS], enum rival_op op, uint64_t documents)
{
    const size_t rounds = (size_t)bench_number("ROUNDS", 9);
    double rates[ROUNDS_MAX], costs[ROUNDS_MAX];

    BENCH_CLAIM(rounds <= ROUNDS_MAX);
    for (size_t round = 0; round < rounds; round++) {
        for (int b = 0; b < BUILDS; b++)
            run_turn(&builds[(b + (int)round) % BUILDS], op, round, documents);
        rates[round] = builds[0].rates[round] / builds[1].rates[round];
        costs[round] = builds[0].cpu_us[round] / builds[1].cpu_us[round];
    }
    const double rate = bench_median(rates, rounds), cost = bench_median(costs, rounds);
    printf("op %d: rate %.2f times (%.2f to %.2f), processor time %.2f times (%.2f to %.2f)\n",
           (int)op, rate, rates[0], rates[rounds - 1], cost, costs[0], costs[rounds - 1]);
    for (int b = 0; b < BUILDS; b++) {
        printf("  %s: %.0f/s, %.1f us (%.1f us over all turns), p50 %.0f us, p99 %.0f us\n",
               b == 0 ? "this " : "other", bench_median(builds[b].rates, rounds),
               bench_median(builds[b].cpu_us, rounds),
               builds[b].all_cpu_ms * 1000 / builds[b].all_requests,
               latency_at(&builds[b].latency, 0.5), latency_at(&builds[b].latency, 0.99));
        builds[b].latency = (struct latency){ 0 };
        builds[b].all_cpu_ms = builds[b].all_requests = 0;
    }
    fflush(stdout);
}

int main(void)
{
    static const enum rival_op usual[] = { RIVAL_INSERT, RIVAL_READ, RIVAL_MANY };
    static struct build builds[BUILDS];
    static struct texts texts;
    const uint64_t documents = (uint64_t)bench_number("DOCUMENTS", 100000);
    const long op = bench_number("OP", -1);
    const char *other = getenv("OTHER");
    char program[PATH_MAX], top[PATH_MAX];

    if (!other || !bench_server_program(program))
        return 0;
    bench_temp_dir(top);
    texts_make(&texts);
    build_open(&builds[0], program, top, "this", &texts, documents);
    build_open(&builds[1], other, top, "other", &texts, documents);
    for (size_t i = 0; i < (op < 0 ? 3 - (size_t)is_cosmos() : 1); i++)
        measure(builds, op < 0 ? usual[i] : (enum rival_op)op, documents);
    for (int b = 0; b < BUILDS; b++) {
        rival_disconnect(&builds[b].rival);
        bench_server_stop(&builds[b].server);
        if (is_cosmos())
            rival_cosmos_end(&builds[b].rival);
    }
    bench_remove_dir(top);
    return 0;
}
