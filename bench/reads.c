/* Bench: point reads through the engine against a bare get of RocksDB.
 *
 * A million documents of 500 bytes in each, all in the block cache. A read through the engine is a
 * whole request: begin, key from an id, document_read (locator, verdict, body), release, end. A bare
 * get is one lookup of 516 bytes by a key of 24. Rounds alternate; compared are the medians. */
#include "bench/rocks.h"

#include <pthread.h>

enum { PER_COMMIT = 1000, ROUNDS_MAX = 7, THREADS_MAX = 2 };
static const size_t cache_bytes = (size_t)2 << 30;

struct reading {
    struct bench *b;
    struct bare *bare; /* NULL: through the engine */
    uint64_t documents;
    uint64_t seed;
    double seconds;
    double reads;
};

static void read_engine(struct bench *b, struct arena *arena, uint64_t n)
{
    struct request request;
    struct document document;
    struct document_key key;
    struct bench_id id;

    arena_reset(arena);
    BENCH_OK(request_begin(b->engine, arena, &request));
    const struct collection *collection = bench_find(&request, "c");
    BENCH_OK(document_key_make(arena, collection, BYTES_NONE, bench_id_value(&id, n), &key));
    BENCH_OK(document_read(&request, collection, key, &document));
    BENCH_CLAIM(document.bson.len == BENCH_DOCUMENT_BYTES);
    document_release(&request, &document);
    request_end(&request);
}

static void read_bare(struct bare *bare, uint64_t n)
{
    uint8_t key[BARE_KEY_BYTES];
    char *error = NULL;
    size_t len;

    bare_key(key, n);
    rocksdb_pinnableslice_t *pin = rocksdb_get_pinned(bare->db, bare->read, (const char *)key,
                                                      sizeof(key), &error);
    BENCH_ROCKS_OK(error);
    BENCH_CLAIM(pin != NULL);
    (void)rocksdb_pinnableslice_value(pin, &len);
    BENCH_CLAIM(len == BARE_VALUE_BYTES);
    rocksdb_pinnableslice_destroy(pin);
}

static void *read_for_a_while(void *context)
{
    enum { BETWEEN_LOOKS = 256 };
    struct reading *reading = context;
    struct random random = random_seeded(reading->seed);
    struct arena *arena = arena_open(BENCH_ARENA_BYTES);
    const double started = bench_now_s();

    do {
        for (int i = 0; i < BETWEEN_LOOKS; i++) {
            const uint64_t n = random_below(&random, reading->documents);
            if (reading->bare)
                read_bare(reading->bare, n);
            else
                read_engine(reading->b, arena, n);
        }
        reading->reads += BETWEEN_LOOKS;
    } while (bench_now_s() - started < reading->seconds);
    arena_close(arena);
    return NULL;
}

/* Reads per second of all threads. */
static double run(struct reading reading, size_t threads)
{
    pthread_t ids[THREADS_MAX];
    struct reading each[THREADS_MAX];
    double reads = 0;
    const double started = bench_now_s();

    for (size_t i = 0; i < threads; i++) {
        each[i] = reading;
        each[i].seed = reading.seed * THREADS_MAX + i;
        BENCH_CLAIM(pthread_create(&ids[i], NULL, read_for_a_while, &each[i]) == 0);
    }
    for (size_t i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
        reads += each[i].reads;
    }
    return reads / (bench_now_s() - started);
}

static void load(struct bench *b, struct bare *bare, uint64_t documents)
{
    bench_collection(b, "c", 3600);
    for (uint64_t at = 0; at < documents; at += PER_COMMIT)
        bench_insert(b, "c", at, PER_COMMIT);
    for (uint64_t at = 0; at < documents; at++)
        bare_put(bare, bare->write, at);
    bench_storage_settle(b->storage);
    bench_flush(bare->db, NULL);
    bare_wait(bare);
}

/* So that every block is in the cache. */
static void warm(struct bench *b, struct bare *bare, uint64_t documents)
{
    for (uint64_t at = 0; at < documents; at += 4) {
        read_engine(b, b->arena, at);
        read_bare(bare, at);
    }
}

static void compare(struct bench *b, struct bare *bare, uint64_t documents, size_t threads)
{
    const size_t rounds = bench_is_quick() ? 3 : ROUNDS_MAX;
    struct reading reading = { .documents = documents, .seconds = bench_is_quick() ? 0.5 : 1 };
    double engine_rates[ROUNDS_MAX], bare_rates[ROUNDS_MAX], ratios[ROUNDS_MAX];
    char name[128], value[128];

    for (size_t i = 0; i < rounds; i++) {
        reading.seed = i + 1;
        reading.b = b;
        reading.bare = NULL;
        engine_rates[i] = run(reading, threads);
        reading.bare = bare;
        bare_rates[i] = run(reading, threads);
        ratios[i] = engine_rates[i] / bare_rates[i];
    }
    const double ratio = bench_median(ratios, rounds);
    printf("%zu threads: engine %.0f/s, bare get %.0f/s, ratio %.1f to %.1f %%\n", threads,
           bench_median(engine_rates, rounds), bench_median(bare_rates, rounds), 100 * ratios[0],
           100 * ratios[rounds - 1]);
    snprintf(name, sizeof(name), "reads: rate against a bare get, %zu thread%s", threads,
             threads > 1 ? "s" : "");
    snprintf(value, sizeof(value), "%.1f %%", 100 * ratio);
    bench_figure(name, value, ">= 40 %", ratio >= 0.4);
}

int main(void)
{
    const uint64_t documents = (uint64_t)bench_number("N", bench_is_quick() ? 200000 : 1000000);
    char top[PATH_MAX], engine_path[PATH_MAX + 8], bare_path[PATH_MAX + 8];
    struct bench b;
    struct bare bare;

    bench_temp_dir(top);
    snprintf(engine_path, sizeof(engine_path), "%s/engine", top);
    snprintf(bare_path, sizeof(bare_path), "%s/bare", top);
    bench_open(&b, engine_path, cache_bytes, false);
    bare_open(&bare, bare_path, cache_bytes);
    load(&b, &bare, documents);
    warm(&b, &bare, documents);
    for (size_t threads = 1; threads <= THREADS_MAX; threads++)
        compare(&b, &bare, documents, threads);
    bare_close(&bare);
    bench_close(&b);
    bench_remove_dir(top);
    return 0;
}
