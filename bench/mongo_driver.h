/* The same commands through libmongoc: a thread and a client for each connection, as programs have them. */
#ifndef BENCH_MONGO_DRIVER_H
#define BENCH_MONGO_DRIVER_H

#include <pthread.h>
#include <stdatomic.h>

#include "bench/load.h"
#include "bench/mongoc.h"

struct driver;

/* One command, on the thread of the client; its failure ends the program. */
typedef void driver_step(struct driver *driver);

struct driver {
    pthread_t thread;
    mongoc_client_t *client;
    mongoc_collection_t *collection;
    struct random random;
    driver_step *step;
    uint64_t documents;            /* that are read */
    _Atomic uint64_t *next_insert; /* shared */
    double until;
    double requests;
};

#define DRIVER_CLAIM(claim, error)                                                \
    do {                                                                          \
        if (!(claim)) {                                                           \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, (error)->message); \
            exit(1);                                                              \
        }                                                                         \
    } while (0)

static inline void driver_open(struct driver *driver, unsigned port, uint64_t seed,
                               _Atomic uint64_t *next_insert)
{
    char address[64];

    snprintf(address, sizeof(address), "mongodb://127.0.0.1:%u/?replicaSet=mayfly", port);
    *driver = (struct driver){ .client = mongoc_client_new(address),
                               .random = random_seeded(seed),
                               .next_insert = next_insert };
    BENCH_CLAIM(driver->client != NULL);
    driver->collection = mongoc_client_get_collection(driver->client, "d", "c");
}

static inline void driver_close(struct driver *driver)
{
    mongoc_collection_destroy(driver->collection);
    mongoc_client_destroy(driver->client);
}

/* ---- commands ------------------------------------------------------------------------------------- */

static inline void driver_ping(struct driver *driver)
{
    bson_t command = BSON_INITIALIZER;
    bson_error_t error;

    BSON_APPEND_INT32(&command, "ping", 1);
    DRIVER_CLAIM(mongoc_client_command_simple(driver->client, "d", &command, NULL, NULL, &error),
                 &error);
    bson_destroy(&command);
}

static inline void driver_find(struct driver *driver)
{
    bson_t filter = BSON_INITIALIZER, options = BSON_INITIALIZER;
    char id[BENCH_ID_LEN + 1] = { 0 };
    const bson_t *document;

    bench_hex((uint8_t *)id, bench_mix(random_next(&driver->random) % driver->documents));
    BSON_APPEND_UTF8(&filter, "_id", id);
    BSON_APPEND_INT64(&options, "limit", 1);
    BSON_APPEND_BOOL(&options, "singleBatch", true);
    mongoc_cursor_t *cursor = mongoc_collection_find_with_opts(driver->collection, &filter,
                                                               &options, NULL);
    BENCH_CLAIM(mongoc_cursor_next(cursor, &document) && document->len == BENCH_DOCUMENT_BYTES);
    mongoc_cursor_destroy(cursor);
    bson_destroy(&options);
    bson_destroy(&filter);
}

static inline void driver_insert(struct driver *driver)
{
    uint8_t room[BENCH_DOCUMENT_BYTES];
    bson_t document;
    bson_error_t error;

    bench_document(room, atomic_fetch_add(driver->next_insert, 1));
    BENCH_CLAIM(bson_init_static(&document, room, sizeof(room)));
    DRIVER_CLAIM(mongoc_collection_insert_one(driver->collection, &document, NULL, NULL, &error),
                 &error);
}

/* Documents 0 to count-1, many at a time. */
static inline void driver_fill(struct driver *driver, uint64_t count)
{
    enum { TOGETHER = 1000 };
    static uint8_t rooms[TOGETHER][BENCH_DOCUMENT_BYTES];
    static bson_t documents[TOGETHER];
    const bson_t *list[TOGETHER];
    bson_error_t error;

    for (uint64_t first = 0; first < count; first += TOGETHER) {
        for (size_t i = 0; i < TOGETHER; i++) {
            bench_document(rooms[i], first + i);
            BENCH_CLAIM(bson_init_static(&documents[i], rooms[i], BENCH_DOCUMENT_BYTES));
            list[i] = &documents[i];
        }
        DRIVER_CLAIM(
            mongoc_collection_insert_many(driver->collection, list, TOGETHER, NULL, NULL, &error),
            &error);
    }
}

/* ---- many at once --------------------------------------------------------------------------------- */

static inline void *driver_loop(void *context)
{
    struct driver *driver = context;

    for (driver->requests = 0; bench_now_s() < driver->until; driver->requests++)
        driver->step(driver);
    return NULL;
}

static inline struct load_result drivers_run(struct driver *drivers, size_t count,
                                             driver_step *step, uint64_t documents, double seconds)
{
    const double start = bench_now_s();
    struct load_result result = { 0 };

    for (size_t i = 0; i < count; i++) {
        drivers[i].step = step;
        drivers[i].documents = documents;
        drivers[i].until = start + seconds;
        BENCH_CLAIM(pthread_create(&drivers[i].thread, NULL, driver_loop, &drivers[i]) == 0);
    }
    for (size_t i = 0; i < count; i++) {
        pthread_join(drivers[i].thread, NULL);
        result.requests += drivers[i].requests;
    }
    result.seconds = bench_now_s() - start;
    return result;
}

#endif
