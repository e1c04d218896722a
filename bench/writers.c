/* Bench: durable single inserts of 500-byte documents by many writers.
 *
 *   begin   logical writers in a closed loop over a few worker threads, as the server does it: a worker
 *           prepares an insert and goes on; whoever committed hands the writer back to the ready list,
 *           from which a worker starts its next insert
 *   wait    one thread per writer, calling document_write
 *   bare    one thread per writer, rocksdb_put of one row of 516 bytes with sync: RocksDB's own group
 *           commit
 *
 * Every insert is on disk before its writer starts the next one. Rounds alternate; compared are the
 * medians of the rounds' ratios. */
#include "bench/rocks.h"

#include <pthread.h>

enum { WRITERS_MAX = 64, ROUNDS_MAX = 7, ARENA_BYTES = 1024 * 1024 };
static const size_t cache_bytes = 64 << 20;

struct load;

struct writer {
    struct load *load;
    struct writer *next;
    struct arena *arena;
    struct request request;
    struct write_op op;
    struct bench_id id;
    uint8_t document[BENCH_DOCUMENT_BYTES];
};

/* One round. `ready` and `sleeping` (workers that nobody has woken yet) are guarded by the lock. */
struct load {
    struct bench *b;
    struct bare *bare;
    _Atomic uint64_t *next_number;
    _Atomic uint64_t inserted;
    _Atomic bool is_over;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct writer *ready;
    size_t ready_count, sleeping;
    struct writer writers[WRITERS_MAX];
};

static void prepare(struct writer *writer)
{
    struct load *load = writer->load;
    const uint64_t n = atomic_fetch_add(load->next_number, 1);

    arena_reset(writer->arena);
    BENCH_OK(request_begin(load->b->engine, writer->arena, &writer->request));
    writer->op = (struct write_op){ .collection = bench_find(&writer->request, "c"),
                                    .kind = WRITE_INSERT,
                                    .own_ttl = TTL_ABSENT };
    writer->op.document = bench_document(writer->document, n);
    BENCH_OK(document_key_make(writer->arena, writer->op.collection, writer->op.document,
                               bench_id_value(&writer->id, n), &writer->op.key));
}

static void finish(struct writer *writer)
{
    BENCH_OK(writer->op.outcome);
    request_end(&writer->request);
    atomic_fetch_add_explicit(&writer->load->inserted, 1, memory_order_relaxed);
}

/* ---- begin ---------------------------------------------------------------------------------------- */

static void hand_back(void *context, status outcome)
{
    struct writer *writer = context;
    struct load *load = writer->load;

    BENCH_OK(outcome);
    finish(writer);
    pthread_mutex_lock(&load->lock);
    writer->next = load->ready;
    load->ready = writer;
    /* A worker for every eight that wait; woken when the lock is free again. */
    const bool is_awaited = load->ready_count++ % 8 == 0 && load->sleeping > 0;
    load->sleeping -= is_awaited;
    pthread_mutex_unlock(&load->lock);
    if (is_awaited)
        pthread_cond_signal(&load->changed);
}

/* NULL when the round is over and nobody is under way. */
static struct writer *take_ready(struct load *load)
{
    pthread_mutex_lock(&load->lock);
    while (!load->ready && !atomic_load(&load->is_over)) {
        load->sleeping++;
        pthread_cond_wait(&load->changed, &load->lock);
    }
    struct writer *writer = atomic_load(&load->is_over) ? NULL : load->ready;
    if (writer) {
        load->ready = writer->next;
        load->ready_count--;
    }
    pthread_mutex_unlock(&load->lock);
    return writer;
}

static void *work(void *context)
{
    struct load *load = context;

    for (struct writer *writer = take_ready(load); writer; writer = take_ready(load)) {
        prepare(writer);
        BENCH_OK(document_write_begin(&writer->request, &writer->op, 1, WRITE_ALL_OR_NOTHING,
                                      hand_back, writer));
    }
    return NULL;
}

/* ---- wait and bare -------------------------------------------------------------------------------- */

static void *write_and_wait(void *context)
{
    struct writer *writer = context;

    while (!atomic_load_explicit(&writer->load->is_over, memory_order_relaxed)) {
        prepare(writer);
        BENCH_OK(document_write(&writer->request, &writer->op, 1, WRITE_ALL_OR_NOTHING));
        finish(writer);
    }
    return NULL;
}

static void *put_bare(void *context)
{
    struct writer *writer = context;
    struct load *load = writer->load;

    while (!atomic_load_explicit(&load->is_over, memory_order_relaxed)) {
        bare_put(load->bare, load->bare->write_synced, atomic_fetch_add(load->next_number, 1));
        atomic_fetch_add_explicit(&load->inserted, 1, memory_order_relaxed);
    }
    return NULL;
}

/* ---- rounds --------------------------------------------------------------------------------------- */

enum way { BEGIN, WAIT, BARE, WAY_COUNT };
static const char *const way_names[WAY_COUNT] = { "begin", "wait", "bare" };

static void start_threads(struct load *load, enum way way, size_t writers, size_t workers,
                          pthread_t *threads)
{
    for (size_t i = 0; i < (way == BEGIN ? workers : writers); i++) {
        void *(*const body)(void *) = way == BEGIN ? work : way == WAIT ? write_and_wait : put_bare;
        void *context = way == BEGIN ? (void *)load : (void *)&load->writers[i];
        BENCH_CLAIM(pthread_create(&threads[i], NULL, body, context) == 0);
    }
}

struct round {
    double rate;       /* inserts per second */
    double per_commit; /* inserts that went to disk together; unknown for BARE */
    double cpu_us;     /* of the whole process, per insert */
};

static uint64_t commits(const struct load *load)
{
    return metrics_read(&load->b->metrics, METRIC_commit_groups_total);
}

static struct round run(struct load *load, enum way way, size_t writers, double seconds)
{
    const size_t workers = (size_t)bench_number("WORKERS", 4);
    pthread_t threads[WRITERS_MAX];

    bench_storage_wait(load->b->storage);
    bare_wait(load->bare);
    load->ready = NULL;
    load->sleeping = 0;
    load->ready_count = writers;
    atomic_store(&load->inserted, 0);
    atomic_store(&load->is_over, false);
    for (size_t i = 0; i < writers; i++) {
        load->writers[i].next = load->ready;
        load->ready = &load->writers[i];
    }
    const uint64_t commits_before = commits(load);
    const double cpu_before = bench_cpu_s(), started = bench_now_s();
    start_threads(load, way, writers, workers, threads);
    bench_sleep_ms((long)(1000 * seconds));
    atomic_store(&load->is_over, true);
    const double inserted = (double)atomic_load(&load->inserted);
    struct round round = {
        .rate = inserted / (bench_now_s() - started),
        .per_commit = inserted / (double)(commits(load) - commits_before),
        .cpu_us = 1e6 * (bench_cpu_s() - cpu_before) / inserted,
    };
    pthread_mutex_lock(&load->lock);
    pthread_cond_broadcast(&load->changed);
    pthread_mutex_unlock(&load->lock);
    for (size_t i = 0; i < (way == BEGIN ? workers : writers); i++)
        pthread_join(threads[i], NULL);
    return round;
}

/* By rate: the round in the middle stands for all. */
static int compare_rounds(const void *a, const void *b)
{
    return bench_compare(&((const struct round *)a)->rate, &((const struct round *)b)->rate);
}

static void show(enum way way, size_t writers, struct round *rounds, double *ratios, size_t count)
{
    const double ratio = bench_median(ratios, count);
    char name[128], value[128];

    qsort(rounds, count, sizeof(*rounds), compare_rounds);
    printf("%2zu writers, %-5s: %6.0f/s, %.2f times bare (%.2f to %.2f), %5.1f us cpu per insert",
           writers, way_names[way], rounds[count / 2].rate, ratio, ratios[0], ratios[count - 1],
           rounds[count / 2].cpu_us);
    if (way == BARE) {
        printf("\n");
        return;
    }
    printf(", %.1f inserts per commit\n", rounds[count / 2].per_commit);
    snprintf(name, sizeof(name), "writers: %zu, %s against RocksDB's group commit", writers,
             way == BEGIN ? "commits not waited for" : "a thread each");
    snprintf(value, sizeof(value), "%.2f times", ratio);
    if (writers == WRITERS_MAX)
        bench_figure(name, value, ">= 1.8 times", ratio >= 1.8);
    else
        printf("FIGURE | %s | %s | - | -\n", name, value);
}

static void compare(struct load *load, size_t writers, size_t count, double seconds)
{
    struct round rounds[WAY_COUNT][ROUNDS_MAX];
    double ratios[WAY_COUNT][ROUNDS_MAX];

    for (size_t r = 0; r < count; r++) {
        for (enum way way = 0; way < WAY_COUNT; way++)
            rounds[way][r] = run(load, way, writers, seconds);
        for (enum way way = 0; way < WAY_COUNT; way++)
            ratios[way][r] = rounds[way][r].rate / rounds[BARE][r].rate;
    }
    for (enum way way = 0; way < WAY_COUNT; way++)
        show(way, writers, rounds[way], ratios[way], count);
}

int main(void)
{
    const bool is_quick = bench_is_quick();
    const size_t rounds = (size_t)bench_number("ROUNDS", is_quick ? 3 : 5);
    const double seconds = is_quick ? 1 : 2;
    char top[PATH_MAX], engine_path[PATH_MAX + 8], bare_path[PATH_MAX + 8];
    struct bench b;
    struct bare bare;
    _Atomic uint64_t next_number = 0;
    static struct load load;

    BENCH_CLAIM(rounds >= 1 && rounds <= ROUNDS_MAX);
    bench_temp_dir(top);
    snprintf(engine_path, sizeof(engine_path), "%s/engine", top);
    snprintf(bare_path, sizeof(bare_path), "%s/bare", top);
    bench_open(&b, engine_path, cache_bytes, false);
    bare_open(&bare, bare_path, cache_bytes);
    bench_collection(&b, "c", 1000000);
    load.b = &b;
    load.bare = &bare;
    load.next_number = &next_number;
    pthread_mutex_init(&load.lock, NULL);
    pthread_cond_init(&load.changed, NULL);
    for (size_t i = 0; i < WRITERS_MAX; i++) {
        load.writers[i].load = &load;
        load.writers[i].arena = arena_open(ARENA_BYTES);
    }
    compare(&load, WRITERS_MAX, rounds, seconds);
    compare(&load, 8, is_quick ? 1 : 3, 1);
    compare(&load, 1, is_quick ? 1 : 3, 1);
    for (size_t i = 0; i < WRITERS_MAX; i++)
        arena_close(load.writers[i].arena);
    bare_close(&bare);
    bench_close(&b);
    bench_remove_dir(top);
    return 0;
}
