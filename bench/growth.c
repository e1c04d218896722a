/* Bench: the same requests with ten thousand, a million and ten million documents, and what a million take.
 *
 * A server for each size; a TTL index and an index on the user. Point reads, inserts, queries for the ten documents of a user and
 * changes of the ttl take turns between the sizes, and each figure is the median of the ratios. All of it twice: with caches that
 * hold less than ten thousand documents, so that every size has its data in files, and with the settings that a server
 * comes with, where ten thousand documents are in memory and a million are not; then with ten million only if LONG=1 says so, because
 * loading them takes a minute. Where there are ten million, everybody dies at the end by one change of the ttl, and the processor time and
 * bytes that it takes to get rid of them are told for each document. */
#include "bench/rival_mongo.h"
#include "bench/server.h"

enum { SIZES_MAX = 3, ROUNDS = 5, ROUNDS_QUICK = 3, CONNECTIONS = 16, KINDS = 4 };

/* In one turn: the purger allows 64 until it has cleaned up behind them. Some may share the disk with what was written before, so
 * the median of them counts. */
enum { POLICY_CHANGES = 8 };

/* Until the server has tidied up behind the last writes. */
enum { REST_MS = 25000 };

/* Above all seconds that a change of the ttl sets while documents are to live. */
enum { LONG_TTL_S = 1000000 };

struct size {
    uint64_t documents;
    char path[PATH_MAX + 32];
    struct bench_server server;
    struct rival rival;
    double rates[KINDS][ROUNDS];
    double requests[KINDS], disk_bytes[KINDS];
};

static const struct {
    enum rival_op op;
    size_t connections;
    const char *name;
    double at_most; /* times slower than with the fewest documents */
    const char *goal;
} kinds[KINDS] = {
    {RIVAL_READ,    CONNECTIONS, "point reads",           1.5, "<= 1.5 times"},
    { RIVAL_INSERT, CONNECTIONS, "inserts",               1.5, "<= 1.5 times"},
    { RIVAL_QUERY,  CONNECTIONS, "queries by an index",   1.5, "<= 1.5 times"},
    { RIVAL_POLICY, 1,           "changes of the policy", 1.5, "<= 1.5 times"},
};

static const struct setting {
    const char *cache_mb; /* NULL: as it comes */
    const char *name;
    bool is_long; /* ten million only if that is wanted */
} settings[] = {
    {"1",   "data larger than the caches", false},
    { NULL, "default settings",            true },
};
enum { SETTINGS = sizeof(settings) / sizeof(*settings) };

static const char *count_name(uint64_t documents)
{
    return documents >= 10000000  ? "10 million"
           : documents >= 1000000 ? "1 million"
           : documents >= 100000  ? "100 thousand"
                                  : "10 thousand";
}

/* ---- loading ----------------------------------------------------------------------------------------- */

static void size_open(struct size *size, const struct setting *setting, const char *program,
                      const char *top, const struct texts *texts, uint64_t documents)
{
    const double start = bench_now_s();

    *size = (struct size){ .documents = documents };
    snprintf(size->path, sizeof(size->path), "%s/%" PRIu64, top, documents);
    size->server = bench_server_start_with(program, size->path, setting->cache_mb);
    rival_mongo_begin(&size->rival, count_name(documents), size->server.pid,
                      size->server.mongo_port, texts, LONG_TTL_S);
    mongo_create_index(size->server.mongo_port, "user", -1);
    rival_connect(&size->rival, CONNECTIONS);
    size->rival.load.connections[0].turn = LONG_TTL_S;
    rival_fill(&size->rival, documents);
    const double loaded = bench_now_s();
    family_settle(size->server.pid);
    printf("%s: loaded in %.1f s, processor %.1f us per document, %.1f MB of memory, %.1f MB on "
           "disk\n",
           count_name(documents), loaded - start,
           family_cpu_ms(size->server.pid) * 1000 / (double)documents,
           bench_server_resident_mb(&size->server), directory_bytes(size->path) / 1e6);
    fflush(stdout);
}

/* ---- turns ------------------------------------------------------------------------------------------- */

static void run_turn(struct size *size, int kind, size_t round)
{
    static struct latency latency;
    struct rival_task task = { .rival = &size->rival,
                               .op = kinds[kind].op,
                               .documents = size->documents,
                               .random = random_seeded(round + 1),
                               .latency = &latency };
    const bool is_policy = kinds[kind].op == RIVAL_POLICY;
    const double seconds = bench_is_quick() ? 0.15 : 0.5;
    const double disk_bytes = family_read_bytes(size->server.pid);

    latency = (struct latency){ 0 };
    const struct load_result result = rival_run(&task, kinds[kind].connections, seconds,
                                                is_policy ? POLICY_CHANGES : UINT64_MAX);
    size->rates[kind][round] = is_policy ? 1e6 / latency_at(&latency, 0.5)
                                         : result.requests / result.seconds;
    size->requests[kind] += result.requests;
    size->disk_bytes[kind] += family_read_bytes(size->server.pid) - disk_bytes;
}

static void tell_kind(struct size *sizes, size_t count, const struct setting *setting, int kind,
                      size_t rounds)
{
    double ratios[ROUNDS];
    char name[128], value[96];

    for (size_t s = 1; s < count; s++) {
        for (size_t i = 0; i < rounds; i++)
            ratios[i] = sizes[0].rates[kind][i] / sizes[s].rates[kind][i];
        const double median = bench_median(ratios, rounds);
        snprintf(name, sizeof(name), "growth, %s: time of %s, %s against %s documents",
                 setting->name, kinds[kind].name, count_name(sizes[s].documents),
                 count_name(sizes[0].documents));
        snprintf(value, sizeof(value), "%.2f times (%.2f to %.2f)", median, ratios[0],
                 ratios[rounds - 1]);
        bench_figure(name, value, kinds[kind].goal, median <= kinds[kind].at_most);
    }
    for (size_t s = 0; s < count; s++)
        printf("%s, %s: %.0f/s, %.0f bytes from the disk for each\n", kinds[kind].name,
               count_name(sizes[s].documents), bench_median(sizes[s].rates[kind], rounds),
               sizes[s].disk_bytes[kind] / sizes[s].requests[kind]);
}

/* What the last kind of requests has left to do is over, and the system has all files in its memory: some machines take from it what
 * was not used for a minute, and loading takes longer. */
static void prepare(struct size *sizes, size_t count)
{
    for (size_t s = 0; s < count; s++)
        family_settle(sizes[s].server.pid);
    for (size_t s = 0; s < count; s++)
        directory_read(sizes[s].path);
}

static void measure(struct size *sizes, size_t count, const struct setting *setting)
{
    const size_t rounds = bench_is_quick() ? ROUNDS_QUICK : ROUNDS;

    for (int kind = 0; kind < KINDS; kind++) {
        prepare(sizes, count);
        for (size_t round = 0; round < rounds; round++) {
            for (size_t s = 0; s < count; s++)
                run_turn(&sizes[s], kind, round);
        }
        tell_kind(sizes, count, setting, kind, rounds);
    }
}

/* ---- the end of all ------------------------------------------------------------------------------------ */

/* What it takes until a fifth of the disk is left, per document. */
static double purge_all(struct size *size)
{
    enum { TRIES = 600, PAUSE_MS = 100 };
    const double disk = directory_bytes(size->path), start = bench_now_s();
    const double cpu = family_cpu_ms(size->server.pid);
    const double written = family_written_bytes(size->server.pid);

    mongo_set_ttl(size->server.mongo_port, 0);
    BENCH_CLAIM(mongo_count(size->server.mongo_port) == 0);
    for (int i = 0; i < TRIES && directory_bytes(size->path) > disk / 5; i++)
        bench_sleep_ms(PAUSE_MS);
    const double us = (family_cpu_ms(size->server.pid) - cpu) * 1000 / (double)size->rival.next;
    printf(
        "%s: all dead; after %.1f s %.0f of %.0f MB are left, %.3f us of processor time and %.2f "
        "bytes written per document\n",
        count_name(size->documents), bench_now_s() - start, directory_bytes(size->path) / 1e6,
        disk / 1e6, us,
        (family_written_bytes(size->server.pid) - written) / (double)size->rival.next);
    fflush(stdout);
    return us;
}

static void tell_footprint(const struct size *size)
{
    const double memory = bench_server_resident_mb(&size->server);
    const double disk = directory_bytes(size->path) / 1e6 * (double)size->documents /
                        (double)size->rival.next;
    char name[128], value[64];

    snprintf(name, sizeof(name), "footprint: memory with %s documents of 500 bytes",
             count_name(size->documents));
    snprintf(value, sizeof(value), "%.0f MB", memory);
    bench_figure(name, value, "< 300 MB", memory < 300);
    snprintf(name, sizeof(name),
             "footprint: %s documents of 500 bytes on disk, an index on the user",
             count_name(size->documents));
    snprintf(value, sizeof(value), "%.0f MB", disk);
    bench_figure(name, value, "< 450 MB", disk < 450 * (double)size->documents / 1e6);
}

static void tell_purges(struct size *sizes, size_t count, const struct setting *setting)
{
    double purge_us[SIZES_MAX];
    char name[128], value[64];

    for (size_t s = 1; s < count; s++)
        purge_us[s] = purge_all(&sizes[s]);
    snprintf(value, sizeof(value), "%.2f times", purge_us[2] / purge_us[1]);
    snprintf(name, sizeof(name),
             "growth, %s: processor time of purging per document, 10 million against 1 million",
             setting->name);
    bench_figure(name, value, "<= 1.0 times", purge_us[2] <= purge_us[1]);
}

static void run(const struct setting *setting, const char *program, const struct texts *texts)
{
    static const uint64_t documents[SIZES_MAX] = { 10000, 1000000, 10000000 };
    static struct size sizes[SIZES_MAX];
    const bool has_all = !bench_is_quick() && (!setting->is_long || bench_number("LONG", 0));
    const size_t count = has_all ? SIZES_MAX : SIZES_MAX - 1;
    char top[PATH_MAX];

    bench_temp_dir(top);
    printf("%s:\n", setting->name);
    for (size_t s = 0; s < count; s++)
        size_open(&sizes[s], setting, program, top, texts,
                  s == 1 && bench_is_quick() ? documents[s] / 10 : documents[s]);
    measure(sizes, count, setting);
    if (!setting->cache_mb) {
        family_settle(sizes[1].server.pid);
        if (!bench_is_quick())
            bench_sleep_ms(REST_MS);
        tell_footprint(&sizes[1]);
    }
    if (has_all)
        tell_purges(sizes, count, setting);
    for (size_t s = 0; s < count; s++) {
        rival_disconnect(&sizes[s].rival);
        bench_server_stop(&sizes[s].server);
    }
    bench_remove_dir(top);
}

int main(void)
{
    static struct texts texts;
    char program[PATH_MAX];

    if (!bench_server_program(program))
        return 0;
    texts_make(&texts);
    for (int i = 0; i < SETTINGS; i++)
        run(&settings[i], program, &texts);
    return 0;
}
