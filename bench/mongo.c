/* Bench: finds by _id and inserts over the MongoDB protocol, next to ping of the same server, and what mongosh asks
 * for when it starts.
 *
 * A server of its own on an empty directory, documents of 500 bytes. ping costs nothing but the protocol, so the
 * ratio tells what the database adds to it. Twice: through libmongoc, a thread for each connection, which is what
 * a program sees; and with messages made in advance from one thread, which is what the server costs. Rounds of
 * the three alternate; each ratio is a median of rounds. Client and server share the machine, so rates are lower
 * bounds. Finds are over 10,000 documents, most of which are recalled, and over 100,000, most of which are not. */
#include "bench/mongo_driver.h"
#include "bench/mongo_load.h"
#include "bench/server.h"

enum {
    DOCUMENTS_FEW = 10000,
    DOCUMENTS_MANY = 100000,
    ROUNDS_MAX = 7,
    DRIVERS_MAX = 64,
    /* Inserts of the messages begin here, so that they never meet those of the driver. */
    MESSAGES_FIRST = 1 << 30,
};

/* ---- sources ----------------------------------------------------------------------------------------- */

struct finds {
    struct message *messages; /* DOCUMENTS_MANY */
    uint64_t documents;
    struct random random;
};

static bytes next_find(void *context)
{
    struct finds *finds = context;
    const struct message *message =
        &finds->messages[random_next(&finds->random) % finds->documents];

    return bytes_of(message->data, message->len);
}

static bytes next_ping(void *context)
{
    const struct message *message = context;

    return bytes_of(message->data, message->len);
}

/* Each place of the ring is a session with its own numbers. */
struct inserts {
    uint64_t next;
    struct message ring[MESSAGES_KEPT];
};

static bytes next_insert(void *context)
{
    struct inserts *inserts = context;
    const uint64_t n = inserts->next++;
    const uint32_t session = (uint32_t)(n % MESSAGES_KEPT);
    struct message *message = &inserts->ring[session];

    message_insert(message, MESSAGES_FIRST + n, session, 1 + (int64_t)(n / MESSAGES_KEPT));
    return bytes_of(message->data, message->len);
}

/* ---- two sides --------------------------------------------------------------------------------------- */

enum wish { PING, FIND, INSERT, WISHES };

/* Everything that asks, so that rounds of both sides look the same. */
struct world {
    unsigned port;
    struct message ping;
    struct finds finds;
    struct inserts inserts;
    _Atomic uint64_t next_insert; /* of the driver */
    struct driver drivers[DRIVERS_MAX];
    struct load load;
};

static double run_messages(struct world *world, size_t connections, enum wish wish, double seconds)
{
    const struct load_source sources[WISHES] = {
        [PING] = {.next = next_ping,    .context = &world->ping,  .wanted = MESSAGE_HEAD_BYTES  },
        [FIND] = { .next = next_find,   .context = &world->finds, .wanted = BENCH_DOCUMENT_BYTES},
        [INSERT] = { .next = next_insert,
                  .context = &world->inserts,
                  .wanted = MESSAGE_HEAD_BYTES                                                  },
    };
    struct load_source source = sources[wish];

    (void)connections;
    source.read_head = load_read_message;
    const struct load_result result = load_run(&world->load, &source, seconds, UINT64_MAX);
    return result.requests / result.seconds;
}

static double run_driver(struct world *world, size_t connections, enum wish wish, double seconds)
{
    static driver_step *const steps[WISHES] = { driver_ping, driver_find, driver_insert };
    const struct load_result result = drivers_run(world->drivers, connections, steps[wish],
                                                  world->finds.documents, seconds);

    return result.requests / result.seconds;
}

/* ---- the measurement --------------------------------------------------------------------------------- */

/* Sorts the ratios. */
static void report(const char *what, const char *side, size_t connections, double *ratios,
                   size_t rounds, bool has_goal)
{
    const double ratio = bench_median(ratios, rounds);

    printf("FIGURE | mongo: %s, %s, %zu connection%s | %.0f %% | %s | %s\n", what, side,
           connections, connections == 1 ? "" : "s", 100 * ratio, has_goal ? ">= 60 %" : "-",
           !has_goal      ? "-"
           : ratio >= 0.6 ? "yes"
                          : "NO");
}

static void measure(struct world *world, size_t connections, uint64_t documents, bool is_driver)
{
    double (*const run)(struct world *, size_t, enum wish, double) = is_driver ? run_driver
                                                                               : run_messages;
    const char *side = is_driver ? "libmongoc" : "messages made in advance";
    const bool is_few = documents == DOCUMENTS_FEW;
    const int wishes = is_few ? WISHES : INSERT;
    const size_t rounds = bench_is_quick() ? 3 : ROUNDS_MAX;
    const double seconds = bench_is_quick() ? 0.2 : 0.5;
    double rates[WISHES][ROUNDS_MAX], ratios[WISHES][ROUNDS_MAX];
    char what[64];

    world->finds.documents = documents;
    run(world, connections, FIND, seconds);
    for (size_t r = 0; r < rounds; r++) {
        for (int w = 0; w < wishes; w++) {
            rates[w][r] = run(world, connections, (enum wish)w, seconds);
            ratios[w][r] = rates[w][r] / rates[PING][r];
        }
    }
    printf("%s, %zu connections, %" PRIu64 " documents: ping %.0f/s, finds by _id %.0f/s", side,
           connections, documents, bench_median(rates[PING], rounds),
           bench_median(rates[FIND], rounds));
    if (is_few)
        printf(", inserts %.0f/s", bench_median(rates[INSERT], rounds));
    printf("\n");
    snprintf(what, sizeof(what), "finds by _id of %" PRIu64 " against ping", documents);
    report(what, side, connections, ratios[FIND], rounds, is_driver && is_few);
    if (is_few)
        report("durable inserts against ping", side, connections, ratios[INSERT], rounds, false);
    fflush(stdout);
}

static void measure_all(struct world *world, size_t connections)
{
    static const uint64_t counts[] = { DOCUMENTS_FEW, DOCUMENTS_MANY };

    for (size_t i = 0; i < connections; i++)
        driver_open(&world->drivers[i], world->port, i + 1, &world->next_insert);
    load_open(&world->load, world->port, connections);
    for (size_t i = 0; i < ARRAY_COUNT(counts); i++) {
        measure(world, connections, counts[i], true);
        measure(world, connections, counts[i], false);
    }
    load_close(&world->load);
    for (size_t i = 0; i < connections; i++)
        driver_close(&world->drivers[i]);
}

/* ---- the start of mongosh ---------------------------------------------------------------------------- */

struct asked {
    const char *name, *database, *json;
};

static double ask(mongoc_client_t *client, const struct asked *asked)
{
    bson_error_t error;
    bson_t *command = bson_new_from_json((const uint8_t *)asked->json, -1, &error), reply;

    BENCH_CLAIM(command != NULL);
    const double start = bench_now_s();
    /* Some are asked only to see whether they fail. */
    mongoc_client_command_simple(client, asked->database, command, NULL, &reply, &error);
    const double ms = (bench_now_s() - start) * 1000;
    BENCH_CLAIM(error.domain != MONGOC_ERROR_STREAM &&
                error.domain != MONGOC_ERROR_SERVER_SELECTION);
    bson_destroy(&reply);
    bson_destroy(command);
    return ms;
}

/* On an idle server; the slowest of the medians, and for the eye the slowest of all. */
static void measure_start(unsigned port)
{
    static const struct asked list[] = {
        {"hello",                            "admin", "{\"hello\":1}"                   },
        { "buildInfo",                       "admin", "{\"buildInfo\":1}"               },
        { "aggregate",                       "admin",
         "{\"aggregate\":\"atlascli\",\"pipeline\":[{\"$match\":{\"managedClusterType\":\"x\"}},"
          "{\"$group\":{\"_id\":1,\"n\":{\"$sum\":1}}}],\"cursor\":{}}"                 },
        { "getParameter of an unknown name", "admin", "{\"getParameter\":\"foo\"}"      },
        { "atlasVersion",                    "admin", "{\"atlasVersion\":1}"            },
        { "getParameter of the version",     "admin",
         "{\"getParameter\":1,\"featureCompatibilityVersion\":1}"                       },
        { "getCmdLineOpts",                  "admin", "{\"getCmdLineOpts\":1}"          },
        { "getLog",                          "admin", "{\"getLog\":\"startupWarnings\"}"},
        { "ping",                            "admin", "{\"ping\":1}"                    },
        { "listDatabases",                   "admin", "{\"listDatabases\":1}"           },
        { "listCollections",                 "d",
         "{\"listCollections\":1,\"filter\":{},\"cursor\":{},\"nameOnly\":true,"
          "\"authorizedCollections\":false}"                                            },
    };
    enum { TIMES = 15 };
    double ms[TIMES], slowest = 0, slowest_of_all = 0;
    const char *name = "", *name_of_all = "";
    struct driver driver;

    driver_open(&driver, port, 1, NULL);
    ask(driver.client, &list[0]);
    for (size_t i = 0; i < ARRAY_COUNT(list); i++) {
        for (int t = 0; t < TIMES; t++)
            ms[t] = ask(driver.client, &list[i]);
        const double median = bench_median(ms, TIMES); /* sorts */
        if (median > slowest) {
            slowest = median;
            name = list[i].name;
        }
        if (ms[TIMES - 1] > slowest_of_all) {
            slowest_of_all = ms[TIMES - 1];
            name_of_all = list[i].name;
        }
    }
    driver_close(&driver);
    printf(
        "start of mongosh: slowest command %s, median %.2f ms; slowest of all times %s, %.2f ms\n",
        name, slowest, name_of_all, slowest_of_all);
    printf("FIGURE | mongo: slowest command at the start of mongosh (%s) | %.2f ms | < 5 ms | %s\n",
           name, slowest, slowest < 5 ? "yes" : "NO");
    fflush(stdout);
}

/* ---- everything -------------------------------------------------------------------------------------- */

static void prepare(struct world *world)
{
    world->finds = (struct finds){ .messages = calloc(DOCUMENTS_MANY, sizeof(struct message)),
                                   .random = random_seeded(1) };
    BENCH_CLAIM(world->finds.messages != NULL);
    for (uint64_t n = 0; n < DOCUMENTS_MANY; n++)
        message_find(&world->finds.messages[n], n);
    message_ping(&world->ping);
    atomic_store(&world->next_insert, DOCUMENTS_MANY);
}

static void fill(struct world *world)
{
    driver_open(&world->drivers[0], world->port, 1, NULL);
    driver_fill(&world->drivers[0], DOCUMENTS_MANY);
    driver_close(&world->drivers[0]);
}

int main(void)
{
    static struct world world;
    static const size_t connections[] = { 1, 16, 64 };
    char program[PATH_MAX], top[PATH_MAX], path[PATH_MAX + 16];

    if (!bench_server_program(program))
        return 0;
    mongoc_init();
    bench_temp_dir(top);
    snprintf(path, sizeof(path), "%s/data", top);
    const struct bench_server server = bench_server_start(program, path);
    world.port = server.mongo_port;
    prepare(&world);
    measure_start(world.port);
    fill(&world);
    for (size_t i = 0; i < ARRAY_COUNT(connections); i++)
        measure_all(&world, connections[i]);
    printf("resident memory: %.1f MB\n", bench_server_resident_mb(&server));
    bench_server_stop(&server);
    bench_remove_dir(top);
    free(world.finds.messages);
    mongoc_cleanup();
    return 0;
}
