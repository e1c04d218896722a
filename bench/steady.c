/* Bench: what purging costs where as many documents are born as die.
 *
 * Documents of 500 bytes with ids in no order are inserted for several lifetimes; each lives for one. The
 * first lifetime fills the collection; what the others write, and the processor time they take, is
 * measured, and that includes all compactions until nothing is left to do. Three ways with the same inserts:
 *
 *   keep     nobody dies: what the inserts cost by themselves. It ends with all documents on disk, so its
 *            compactions have more to carry; what removing costs beyond it is therefore a lower bound
 *   purge    a ttl; a purge for every ten seconds of deaths, as the purger does it; the locators of the dead
 *            leave with the compactions that the inserts cause, or by a sweep if that is not enough
 *   delete   no ttl; whoever's time is over is deleted one by one, below the engine, told its keys,
 *            nothing verified and nothing counted, in commits of 1000
 *
 * The collection is larger than what the storage keeps in memory, also in the quick form: smaller ones are
 * purged in another way. */
#include "bench/removal.h"

enum { PURGE_EVERY_S = 10 };

enum way { KEEP, PURGE, DELETE, WAY_COUNT };
static const char *const way_names[WAY_COUNT] = { "keep", "purge", "delete one by one" };

struct steady {
    struct bench b;
    enum way way;
    uint64_t living; /* in the steady state */
    partition_id partition;
    struct storage_batch *batch;
};

/* One second: a thousand are born, a thousand die. */
static void live(struct steady *s, uint64_t n)
{
    struct purge_result result;

    bench_insert(&s->b, "c", n, PER_COMMIT);
    manual_time_pass(&s->b.time, 1000);
    if (n + PER_COMMIT <= s->living)
        return;
    const uint64_t oldest = n + PER_COMMIT - s->living - PER_COMMIT;
    if (s->way == DELETE)
        removal_commit(s->b.storage, s->batch, s->b.arena, s->partition, oldest, PER_COMMIT);
    if (s->way == PURGE && n / PER_COMMIT % PURGE_EVERY_S == 0)
        BENCH_OK(engine_purge(s->b.engine, &result));
}

static void run(const char *top, enum way way, uint64_t living, uint64_t lifetimes,
                struct cost *out)
{
    struct steady s = { .way = way, .living = living };
    char path[PATH_MAX + 16];
    struct purge_result result;

    snprintf(path, sizeof(path), "%s/%d", top, (int)way);
    bench_open(&s.b, path, 0, true);
    bench_collection(&s.b, "c", way == PURGE ? (int32_t)(living / PER_COMMIT) : TTL_OFF);
    s.partition = bench_partition(&s.b, "c");
    s.batch = storage_batch_open(s.b.storage);
    for (uint64_t n = 0; n < living; n += PER_COMMIT)
        live(&s, n);
    bench_storage_wait(s.b.storage);
    removal_check(s.b.storage, s.partition, living - 1);
    struct meter meter = meter_start(s.b.storage);
    for (uint64_t n = living; n < lifetimes * living; n += PER_COMMIT)
        live(&s, n);
    if (way == PURGE)
        BENCH_OK(engine_purge(s.b.engine, &result));
    bench_storage_settle(s.b.storage);
    *out = meter_stop(&meter);
    cost_show(way_names[way], out);
    storage_batch_close(s.b.storage, s.batch);
    bench_close(&s.b);
    bench_remove_dir(path);
}

static void report(const char *what, double keep, double purge, double delete)
{
    const double ratio = (purge - keep) / (delete - keep);
    char name[128], value[128];

    snprintf(name, sizeof(name), "purge in a steady state: %s beyond the inserts, of one by one",
             what);
    snprintf(value, sizeof(value), "%.1f %%", 100 * ratio);
    bench_figure(name, value, "<= 5 %", ratio <= 0.05);
}

int main(void)
{
    const uint64_t living = (uint64_t)bench_number("N", 150000) / PER_COMMIT * PER_COMMIT;
    const uint64_t lifetimes = (uint64_t)bench_number("LIFETIMES", bench_is_quick() ? 3 : 6);
    char top[PATH_MAX];
    struct cost costs[WAY_COUNT];

    bench_temp_dir(top);
    printf("%" PRIu64 " living documents, %" PRIu64 " lifetimes, all but the first measured\n",
           living, lifetimes);
    for (enum way way = KEEP; way < WAY_COUNT; way++)
        run(top, way, living, lifetimes, &costs[way]);
    bench_remove_dir(top);
    report("bytes", costs[KEEP].written_mb, costs[PURGE].written_mb, costs[DELETE].written_mb);
    report("processor time", costs[KEEP].cpu_s, costs[PURGE].cpu_s, costs[DELETE].cpu_s);
    return 0;
}
