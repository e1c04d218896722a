/* Bench: changing the default ttl of a large collection against a small one.
 *
 * Two collections in one engine, 1,000,000 and 1,000 documents. The default ttl of both is changed in
 * turns, to and fro between values that keep everybody alive; each change is a durable commit.
 * Compared are the medians. */
#include "bench/rocks.h"

enum { PER_COMMIT = 1000, CHANGES_MAX = 1000, SMALL = 1000 };

static double change_us(struct bench *b, const char *name, int32_t default_ttl)
{
    arena_reset(b->arena);
    const double started = bench_now_s();
    BENCH_OK(collection_set_default_ttl(b->engine, b->arena, BYTES_LITERAL("bench"),
                                        bytes_of_text(name), default_ttl));
    return 1e6 * (bench_now_s() - started);
}

int main(void)
{
    const uint64_t large = (uint64_t)bench_number("N", bench_is_quick() ? 200000 : 1000000);
    const size_t changes = bench_is_quick() ? 200 : CHANGES_MAX;
    double large_us[CHANGES_MAX], small_us[CHANGES_MAX];
    char path[PATH_MAX], value[128];
    struct bench b;

    bench_temp_dir(path);
    bench_open(&b, path, 0, false);
    bench_collection(&b, "large", 1000000);
    bench_collection(&b, "small", 1000000);
    bench_insert(&b, "small", 0, SMALL);
    for (uint64_t at = 0; at < large; at += PER_COMMIT) {
        bench_insert(&b, "large", at, PER_COMMIT);
        manual_time_pass(&b.time, 1000);
    }
    bench_storage_settle(b.storage);
    for (size_t i = 0; i < changes; i++) {
        const int32_t ttl = 1000000 + (int32_t)(i % 7);
        manual_time_pass(&b.time, 10);
        large_us[i] = change_us(&b, "large", ttl + 1);
        small_us[i] = change_us(&b, "small", ttl + 1);
    }
    bench_close(&b);
    bench_remove_dir(path);

    const double large_median = bench_median(large_us, changes);
    const double small_median = bench_median(small_us, changes);
    printf("%" PRIu64 " documents: %.0f us (p90 %.0f); %d documents: %.0f us (p90 %.0f)\n", large,
           large_median, large_us[changes * 9 / 10], SMALL, small_median,
           small_us[changes * 9 / 10]);
    snprintf(value, sizeof(value), "%.2f times", large_median / small_median);
    bench_figure("policy: default ttl of a large collection against 1,000 documents", value,
                 "<= 2 times", large_median <= 2 * small_median);
    return 0;
}
