/* What the measuring programs share: an engine on a real disk, documents of 500 bytes, a plain RocksDB
 * to compare with, time, and how a figure is printed. Every bench/X.c is a program of its own that is
 * linked with the library only, so this is a header of small functions. Any failure ends the program. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <arpa/inet.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "bench/documents.h"
#include "engine/engine.h"
#include "storage/rocksdb_backend.h"

enum { BENCH_ARENA_BYTES = 256 * 1024 * 1024 };
/* 2026-03-01T00:00:00Z */
#define BENCH_START ((time_ms)1772323200000)

/* ---- failing, numbers, time --------------------------------------------------------------------- */

#define BENCH_OK(call)                                                                          \
    do {                                                                                        \
        status bench_s_ = (call);                                                               \
        if (bench_s_.code != OK) {                                                              \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__,                              \
                    status_code_name(bench_s_.code), bench_s_.message ? bench_s_.message : ""); \
            exit(1);                                                                            \
        }                                                                                       \
    } while (0)

#define BENCH_CLAIM(claim)                                                             \
    do {                                                                               \
        if (!(claim)) {                                                                \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #claim); \
            exit(1);                                                                   \
        }                                                                              \
    } while (0)

/* A whole number from the environment. */
static inline long bench_number(const char *name, long otherwise)
{
    const char *text = getenv(name);

    return text && *text ? strtol(text, NULL, 10) : otherwise;
}

static inline bool bench_is_quick(void)
{
    return bench_number("QUICK", 0) != 0;
}

static inline double bench_now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Of the whole process, background threads included. */
static inline double bench_cpu_s(void)
{
    struct rusage used;

    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static inline void bench_sleep_ms(long ms)
{
    nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}

static inline int bench_compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Sorts the numbers. */
static inline double bench_median(double *numbers, size_t count)
{
    qsort(numbers, count, sizeof(*numbers), bench_compare);
    return numbers[count / 2];
}

/* One line of bench/run's table; everything else that a program prints is detail. */
static inline void bench_figure(const char *name, const char *value, const char *goal, bool is_met)
{
    printf("FIGURE | %s | %s | %s | %s\n", name, value, goal, is_met ? "yes" : "NO");
    fflush(stdout);
}

/* ---- directories ---------------------------------------------------------------------------------- */

static inline void bench_temp_dir(char path[PATH_MAX])
{
    const char *top = getenv("TMPDIR");

    snprintf(path, PATH_MAX, "%s/mayfly-bench-XXXXXX", top && *top ? top : "/tmp");
    BENCH_CLAIM(mkdtemp(path) != NULL);
}

/* `words` is a shell command and its options; the paths are ours. */
static inline void bench_shell(const char *words, const char *path, const char *second)
{
    char command[3 * PATH_MAX];

    snprintf(command, sizeof(command), "%s '%s' %s%s%s", words, path, second ? "'" : "",
             second ? second : "", second ? "'" : "");
    BENCH_CLAIM(system(command) == 0);
}

static inline void bench_remove_dir(const char *path)
{
    bench_shell("rm -rf", path, NULL);
}

/* ---- an engine ------------------------------------------------------------------------------------ */

struct bench {
    struct manual_time time;
    struct clock *clock;
    struct log log;
    struct metrics metrics;
    struct arena *arena;
    struct engine_sweep *sweep;
    struct storage *storage;
    struct engine *engine;
};

/* On RocksDB, with time that only moves when told to. cache_bytes 0: the default. */
static inline void bench_open(struct bench *b, const char *path, size_t cache_bytes,
                              bool counts_written)
{
    *b = (struct bench){ .log = log_to(STDERR_FILENO, LOG_ERROR) };
    atomic_store(&b->time.wall, BENCH_START);
    atomic_store(&b->time.monotonic, 1000000);
    b->clock = clock_open(clock_source_manual(&b->time), LIMIT_CLOCK_LEAP_MS);
    b->arena = arena_open(BENCH_ARENA_BYTES);
    b->sweep = engine_sweep_open();
    struct storage_options storage = { .path = path,
                                       .log = &b->log,
                                       .metrics = &b->metrics,
                                       .sweeper = engine_sweeper(b->sweep),
                                       .cache_bytes = cache_bytes,
                                       .counts_written_bytes = counts_written };
    struct engine_options options = {
        .clock = b->clock, .log = &b->log, .metrics = &b->metrics, .is_manual = true
    };
    BENCH_OK(storage_open_rocksdb(&storage, b->arena, &b->storage));
    BENCH_OK(engine_open(b->storage, b->sweep, &options, b->arena, &b->engine));
}

static inline void bench_close(struct bench *b)
{
    engine_close(b->engine);
    engine_sweep_close(b->sweep);
    clock_close(b->clock);
    arena_close(b->arena);
}

static inline void bench_collection(struct bench *b, const char *name, int32_t default_ttl)
{
    struct collection_definition definition = { .database = BYTES_LITERAL("bench"),
                                                .name = bytes_of_text(name),
                                                .default_ttl = default_ttl };
    status s = database_create(b->engine, b->arena, definition.database, BYTES_NONE);

    if (s.code != EXISTS)
        BENCH_OK(s);
    BENCH_OK(collection_create(b->engine, b->arena, &definition, NULL, 0));
}

static inline const struct collection *bench_find(struct request *request, const char *name)
{
    const struct collection *collection;

    BENCH_OK(catalog_find(request, BYTES_LITERAL("bench"), bytes_of_text(name), &collection));
    return collection;
}

/* Numbers first .. first+count-1 in one commit; everything is in the request's arena. */
static inline void bench_insert(struct bench *b, const char *name, uint64_t first, size_t count)
{
    struct request request;
    struct write_op *ops;
    uint8_t *room;
    struct bench_id id;

    arena_reset(b->arena);
    BENCH_OK(request_begin(b->engine, b->arena, &request));
    const struct collection *collection = bench_find(&request, name);
    BENCH_OK(ARENA_NEW(b->arena, count, &ops));
    BENCH_OK(ARENA_NEW(b->arena, count * BENCH_DOCUMENT_BYTES, &room));
    for (size_t i = 0; i < count; i++) {
        ops[i] = (struct write_op){ .collection = collection,
                                    .kind = WRITE_INSERT,
                                    .own_ttl = TTL_ABSENT };
        ops[i].document = bench_document(room + i * BENCH_DOCUMENT_BYTES, first + i);
        BENCH_OK(document_key_make(b->arena, collection, ops[i].document,
                                   bench_id_value(&id, first + i), &ops[i].key));
    }
    BENCH_OK(document_write(&request, ops, count, WRITE_ALL_OR_NOTHING));
    request_end(&request);
}

/* Nobody has it now; that somebody takes it before our program does is unlikely, and noticed. */
static inline unsigned free_port(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof(at);
    const int s = socket(AF_INET, SOCK_STREAM, 0);

    BENCH_CLAIM(s >= 0 && bind(s, (const struct sockaddr *)&at, sizeof(at)) == 0);
    BENCH_CLAIM(getsockname(s, (struct sockaddr *)&at, &len) == 0);
    close(s);
    return ntohs(at.sin_port);
}

#endif
