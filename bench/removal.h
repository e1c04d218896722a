/* What the measurements of purging share: a meter for bytes, processor time and space, and deleting
 * documents one by one below the engine, which is what purging is compared with. */
#ifndef BENCH_REMOVAL_H
#define BENCH_REMOVAL_H

#include "bench/rocks.h"
#include "engine/row.h"

/* Documents per commit, and per second of server time. */
enum { PER_COMMIT = 1000 };

struct cost {
    double written_mb, cpu_s, wall_s;
    double disk_before_mb, disk_after_mb;
};

struct meter {
    struct storage *storage;
    struct storage_usage usage;
    double cpu_s, wall_s;
};

static inline struct meter meter_start(struct storage *storage)
{
    struct meter meter = { .storage = storage };

    storage_usage(storage, &meter.usage);
    meter.cpu_s = bench_cpu_s();
    meter.wall_s = bench_now_s();
    return meter;
}

static inline struct cost meter_stop(const struct meter *meter)
{
    struct storage_usage usage;
    const double cpu_s = bench_cpu_s(), wall_s = bench_now_s();

    storage_usage(meter->storage, &usage);
    return (struct cost){
        .written_mb = (double)(usage.written_bytes - meter->usage.written_bytes) / 1e6,
        .cpu_s = cpu_s - meter->cpu_s,
        .wall_s = wall_s - meter->wall_s,
        .disk_before_mb = (double)meter->usage.disk_bytes / 1e6,
        .disk_after_mb = (double)usage.disk_bytes / 1e6,
    };
}

static inline void cost_show(const char *way, const struct cost *cost)
{
    printf("%-34s written %9.4f MB, cpu %7.3f s, wall %7.3f s, disk %6.1f -> %6.1f MB\n", way,
           cost->written_mb, cost->cpu_s, cost->wall_s, cost->disk_before_mb, cost->disk_after_mb);
    fflush(stdout);
}

static inline partition_id bench_partition(struct bench *b, const char *name)
{
    struct request request;

    BENCH_OK(request_begin(b->engine, b->arena, &request));
    const partition_id partition = row_partition(bench_find(&request, name)->id);
    request_end(&request);
    return partition;
}

/* Where the body of the n-th document lies that was ever written, PER_COMMIT in a second. */
static inline void removal_slot(uint8_t out[ROW_SLOT_BYTES], uint64_t n)
{
    row_key_slot(out, LANE_INHERITING, BENCH_START + (time_ms)(n / PER_COMMIT * 1000), n + 1);
}

/* Body and locator of the n-th document; verifies nothing and keeps no counters. */
static inline void removal_delete(struct storage *storage, struct storage_batch *batch,
                                  struct arena *arena, partition_id partition, uint64_t n)
{
    struct buffer id_key = buffer_in(arena), locator = buffer_in(arena);
    struct document_key key = { 0 };
    struct bench_id id;
    uint8_t slot[ROW_SLOT_BYTES];
    bytes locator_key;

    key_append_value(&id_key, bench_id_value(&id, n), KEY_ASCENDING);
    BENCH_OK(buffer_finish(&id_key, &key.id));
    row_key_locator(&locator, key);
    BENCH_OK(buffer_finish(&locator, &locator_key));
    removal_slot(slot, n);
    storage_delete(storage, batch, (struct row_address){ partition, SPACE_ROWS }, locator_key);
    storage_delete(storage, batch, (struct row_address){ partition, SPACE_BODIES },
                   bytes_of(slot, sizeof(slot)));
}

static inline void removal_check(struct storage *storage, partition_id partition, uint64_t n)
{
    struct storage_value value;
    uint8_t slot[ROW_SLOT_BYTES];

    removal_slot(slot, n);
    BENCH_OK(storage_get(storage, NULL, (struct row_address){ partition, SPACE_BODIES },
                         bytes_of(slot, sizeof(slot)), &value));
    storage_value_release(storage, &value);
}

/* Numbers first .. first+count-1, in one commit. */
static inline void removal_commit(struct storage *storage, struct storage_batch *batch,
                                  struct arena *arena, partition_id partition, uint64_t first,
                                  uint64_t count)
{
    size_t conflict;

    arena_reset(arena);
    storage_batch_clear(storage, batch);
    for (uint64_t n = first; n < first + count; n++)
        removal_delete(storage, batch, arena, partition, n);
    BENCH_OK(storage_commit(storage, batch, NULL, 0, arena, &conflict));
}

#endif
