/* Bench: what it costs to get rid of the dead.
 *
 * N documents (2,000,000) of 500 bytes with the collection's default ttl, in write order, no secondary
 * index; then time moves until the first half is dead. The same directory is copied, and the dead
 * leave it in three ways: engine_purge; one by one through the same storage in commits of 100; the
 * same in commits of 1000. "One by one" is given all it could wish for: it is told the keys instead
 * of having to find them, verifies nothing, keeps no counters, and only the dead range of the bodies
 * is compacted. engine_purge is measured twice: as it is, which leaves the dead locators (a tenth of
 * the space) to the compactions that come anyway, and with a sweep that removes them at once. Measured
 * are bytes written (log, flushes and compactions), processor time of the whole process, time, and
 * bytes on disk. */
#include "bench/removal.h"

enum { TTL_S = 100000 };

/* ---- loading -------------------------------------------------------------------------------------- */

/* A thousand documents per second of server time. */
static partition_id load(const char *path, uint64_t count)
{
    struct bench b;

    bench_open(&b, path, 0, true);
    bench_collection(&b, "c", TTL_S);
    for (uint64_t at = 0; at < count; at += PER_COMMIT) {
        bench_insert(&b, "c", at, PER_COMMIT);
        manual_time_pass(&b.time, 1000);
    }
    bench_storage_settle(b.storage);
    const partition_id partition = bench_partition(&b, "c");
    bench_close(&b);
    return partition;
}

/* ---- the engine's way ------------------------------------------------------------------------------ */

static void purge(const char *path, uint64_t dead, struct cost *cost, struct cost *swept)
{
    struct bench b;
    struct purge_result result;

    bench_open(&b, path, 0, true);
    time_ms last_dead = BENCH_START + (time_ms)((dead / PER_COMMIT - 1) * 1000);
    clock_advance(b.clock, last_dead + TTL_S * 1000 - clock_now(b.clock));
    bench_storage_settle(b.storage);
    struct meter meter = meter_start(b.storage);
    BENCH_OK(engine_purge(b.engine, &result));
    bench_storage_wait(b.storage);
    *cost = meter_stop(&meter);
    BENCH_CLAIM(result.documents == dead);
    BENCH_OK(storage_sweep(b.storage, bench_partition(&b, "c"), BYTES_NONE, BYTES_NONE));
    bench_storage_wait(b.storage);
    *swept = meter_stop(&meter);
    bench_close(&b);
}

/* ---- one by one ------------------------------------------------------------------------------------ */

/* Compaction of the dead range of bodies and of all rows, then the files nobody needs. */
static void give_back(struct storage *storage, partition_id partition, uint64_t dead)
{
    struct rocksdb_storage *rocks = rocksdb_of(storage);
    struct full_key start, end;
    uint8_t first[ROW_SLOT_BYTES], last[ROW_SLOT_BYTES];
    char *error = NULL;

    removal_slot(first, 0);
    removal_slot(last, dead);
    full_key_make(&start, partition, bytes_of(first, sizeof(first)));
    full_key_make(&end, partition, bytes_of(last, sizeof(last)));
    bench_storage_settle(storage);
    rocksdb_compact_range_cf(rocks->db, rocks->spaces[SPACE_BODIES], (const char *)start.data,
                             start.len, (const char *)end.data, end.len);
    rocksdb_compact_range_cf(rocks->db, rocks->spaces[SPACE_ROWS], NULL, 0, NULL, 0);
    bench_storage_wait(storage);
    rocksdb_disable_file_deletions(rocks->db, &error);
    BENCH_ROCKS_OK(error);
    rocksdb_enable_file_deletions(rocks->db, 1, &error);
    BENCH_ROCKS_OK(error);
    full_key_release(&start);
    full_key_release(&end);
}

static void delete_all(const char *path, partition_id partition, uint64_t dead, uint64_t per_commit,
                       struct cost *cost)
{
    struct log log = log_to(STDERR_FILENO, LOG_ERROR);
    struct metrics metrics = { 0 };
    struct storage_options options = {
        .path = path, .log = &log, .metrics = &metrics, .counts_written_bytes = true
    };
    struct arena *arena = arena_open(BENCH_ARENA_BYTES);
    struct storage *storage;

    BENCH_OK(storage_open_rocksdb(&options, arena, &storage));
    struct storage_batch *batch = storage_batch_open(storage);
    bench_storage_settle(storage);
    removal_check(storage, partition, 0);
    removal_check(storage, partition, dead - 1);
    struct meter meter = meter_start(storage);
    for (uint64_t at = 0; at < dead; at += per_commit)
        removal_commit(storage, batch, arena, partition, at, per_commit);
    give_back(storage, partition, dead);
    *cost = meter_stop(&meter);
    storage_batch_close(storage, batch);
    storage_close(storage);
    arena_close(arena);
}

/* ---- */

/* Against the cheaper of the two ways to delete. */
static void report(const char *what, const struct cost *cost, const struct cost *by_100,
                   const struct cost *by_1000)
{
    const double written = cost->written_mb / (by_100->written_mb < by_1000->written_mb
                                                   ? by_100->written_mb
                                                   : by_1000->written_mb);
    const double cpu = cost->cpu_s /
                       (by_100->cpu_s < by_1000->cpu_s ? by_100->cpu_s : by_1000->cpu_s);
    const double back = (cost->disk_before_mb - cost->disk_after_mb) /
                        (by_1000->disk_before_mb - by_1000->disk_after_mb);
    char name[128], value[128];

    snprintf(name, sizeof(name), "%s: bytes against one by one, %.0f %% of the space back", what,
             100 * back);
    snprintf(value, sizeof(value), "%.2f %%", 100 * written);
    bench_figure(name, value, "<= 5 %", written <= 0.05);
    snprintf(name, sizeof(name), "%s: processor time, the same", what);
    snprintf(value, sizeof(value), "%.2f %%", 100 * cpu);
    bench_figure(name, value, "<= 5 %", cpu <= 0.05);
}

int main(void)
{
    const uint64_t count = (uint64_t)bench_number("N", bench_is_quick() ? 200000 : 2000000) /
                           (2 * PER_COMMIT) * (2 * PER_COMMIT);
    const uint64_t dead = count / 2;
    char top[PATH_MAX], first[PATH_MAX + 8], second[PATH_MAX + 8], third[PATH_MAX + 8];
    struct cost purged, swept, by_100, by_1000;

    bench_temp_dir(top);
    snprintf(first, sizeof(first), "%s/1", top);
    snprintf(second, sizeof(second), "%s/2", top);
    snprintf(third, sizeof(third), "%s/3", top);
    double started = bench_now_s();
    const partition_id partition = load(first, count);
    bench_shell("cp -r", first, second);
    bench_shell("cp -r", first, third);
    printf("%" PRIu64 " documents loaded and copied in %.1f s; %" PRIu64 " of them die\n", count,
           bench_now_s() - started, dead);
    purge(first, dead, &purged, &swept);
    cost_show("engine_purge", &purged);
    cost_show("engine_purge, locators swept too", &swept);
    delete_all(second, partition, dead, 100, &by_100);
    cost_show("one by one, commits of 100", &by_100);
    delete_all(third, partition, dead, 1000, &by_1000);
    cost_show("one by one, commits of 1000", &by_1000);
    bench_remove_dir(top);

    report("purge", &purged, &by_100, &by_1000);
    report("purge and sweep", &swept, &by_100, &by_1000);
    return 0;
}
