/* Bench: finds by _id and inserts over the MongoDB protocol, next to ping of the same server, and what mongosh asks
 * for when it starts.
 *
 * A server of its own on an empty directory, documents of 500 bytes. ping costs nothing but the protocol, so the
 * ratio tells what the database adds to it. Twice: through libmongoc, a thread for each connection, which is what
 * a program sees; and with messages made in advance from one thread, which is what the server costs. Rounds of
 * either and of ping alternate; each ratio is a median of rounds. Client and server share the machine, so rates are lower
 * bounds. Finds are over 10,000 documents, most of which are recalled, and over 100,000, most of which are not. */
#include "bench/mongo_driver.h"
#include "bench/mongo_load.h"
#include "bench/server.h"

enum {
    DOCUMENTS_FEW = 10000,
    DOCUMENTS_MANY = 100000,
    ROUNDS_MAX = 21, /* many and short: the machine has other things to do as well */
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

static bytes next_find(void *context, struct load_connection *c)
{
    struct finds *finds = context;
    const struct message *message =
        &finds->messages[random_next(&finds->random) % finds->documents];

    (void)c;
    return bytes_of(message->data, message->len);
}

static bytes next_ping(void *context, struct load_connection *c)
{
    const struct message *message = context;

    (void)c;
    return bytes_of(message->data, message->len);
}

/* Each place of the ring is a session with its own numbers. */
struct inserts {
    uint64_t next;
    struct message ring[MESSAGES_KEPT];
};

static bytes next_insert(void *context, struct load_connection *c)
{
    struct inserts *inserts = context;
    const uint64_t n = inserts->next++;
    const uint32_t session = (uint32_t)(n % MESSAGES_KEPT);
    struct message *message = &inserts->ring[session];

    message_insert(message, MESSAGES_FIRST + n, session, 1 + (int64_t)(n / MESSAGES_KEPT));
    (void)c;
    return bytes_of(message->data, message->len);
}

/* ---- two sides --------------------------------------------------------------------------------------- */

enum wish { PING, FIND, INSERT, WISHES };

/* Everything that asks, so that rounds of both sides look the same. */
struct world {
    unsigned port;
    clockid_t server_time; /* processor time of the server */
    struct message ping;
    struct finds finds;
    struct inserts inserts;
    _Atomic uint64_t next_insert; /* of the driver */
    struct driver drivers[DRIVERS_MAX];
    struct load load;
};

static struct load_result run_messages(struct world *world, size_t connections, enum wish wish,
                                       double seconds)
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
    return load_run(&world->load, &source, seconds, UINT64_MAX);
}

static struct load_result run_driver(struct world *world, size_t connections, enum wish wish,
                                     double seconds)
{
    static driver_step *const steps[WISHES] = { driver_ping, driver_find, driver_insert };

    return drivers_run(world->drivers, connections, steps[wish], world->finds.documents, seconds);
}

/* ---- the measurement --------------------------------------------------------------------------------- */

/* Of client and server together. */
static double processor_s(const struct world *world)
{
    struct timespec t;

    BENCH_CLAIM(clock_gettime(world->server_time, &t) == 0);
    return bench_cpu_s() + (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct series {
    double rates[ROUNDS_MAX];
    double ratios[ROUNDS_MAX]; /* to the ping of the same round */
    double requests, processor_s;
};

static void report(const char *what, const char *side, size_t connections, double ratio,
                   bool has_goal)
{
    const char *met = ratio >= 0.6 ? "yes" : "NO";

    printf("FIGURE | mongo: %s against ping, %s, %zu connection%s | %.0f %% | %s | %s\n", what,
           side, connections, connections == 1 ? "" : "s", 100 * ratio, has_goal ? ">= 60 %" : "-",
           has_goal ? met : "-");
}

static double processor_ratio(const struct series *of, const struct series *to)
{
    return of->requests / of->processor_s * to->processor_s / to->requests;
}

/* A wish and ping in turns. */
static void run_rounds(struct world *world, size_t connections, bool is_driver, enum wish wish,
                       size_t rounds, struct series all[WISHES])
{
    const double seconds = bench_is_quick() ? 0.1 : 0.15;

    for (size_t i = 0; i < 2 * rounds; i++) {
        const enum wish now = i % 2 ? wish : PING;
        const double before = processor_s(world);
        const struct load_result result =
            (is_driver ? run_driver : run_messages)(world, connections, now, seconds);
        all[now].processor_s += processor_s(world) - before;
        all[now].requests += result.requests;
        all[now].rates[i / 2] = result.requests / result.seconds;
        all[now].ratios[i / 2] = all[now].rates[i / 2] / all[PING].rates[i / 2];
    }
}

static void measure(struct world *world, size_t connections, bool is_driver, enum wish wish,
                    const char *what, bool has_goal)
{
    const char *side = is_driver ? "libmongoc" : "messages made in advance";
    const size_t rounds = bench_is_quick() ? 5 : ROUNDS_MAX;
    struct series all[WISHES] = { 0 };

    run_rounds(world, connections, is_driver, wish, 1, all); /* to warm up */
    memset(all, 0, sizeof(all));
    run_rounds(world, connections, is_driver, wish, rounds, all);
    printf("%s, %zu connections: %s %.0f/s, ping %.0f/s; by processor time %.0f %%\n", side,
           connections, what, bench_median(all[wish].rates, rounds),
           bench_median(all[PING].rates, rounds), 100 * processor_ratio(&all[wish], &all[PING]));
    report(what, side, connections, bench_median(all[wish].ratios, rounds), has_goal);
    fflush(stdout);
}

static void measure_finds(struct world *world, size_t connections)
{
    world->finds.documents = DOCUMENTS_FEW;
    measure(world, connections, true, FIND, "finds by _id of 10,000", true);
    measure(world, connections, false, FIND, "finds by _id of 10,000", false);
    world->finds.documents = DOCUMENTS_MANY;
    measure(world, connections, true, FIND, "finds by _id of 100,000", false);
    measure(world, connections, false, FIND, "finds by _id of 100,000", false);
}

static void measure_inserts(struct world *world, size_t connections)
{
    measure(world, connections, true, INSERT, "durable inserts", false);
    measure(world, connections, false, INSERT, "durable inserts", false);
}

/* Finds first: what inserts leave to be done in the background is not theirs. */
static void measure_all(struct world *world)
{
    static void (*const parts[])(struct world *, size_t) = { measure_finds, measure_inserts };
    static const size_t connections[] = { 1, 16, 64 };

    for (size_t p = 0; p < ARRAY_COUNT(parts); p++) {
        for (size_t c = 0; c < ARRAY_COUNT(connections); c++) {
            for (size_t i = 0; i < connections[c]; i++)
                driver_open(&world->drivers[i], world->port, i + 1, &world->next_insert);
            load_open(&world->load, world->port, connections[c]);
            parts[p](world, connections[c]);
            load_close(&world->load);
            for (size_t i = 0; i < connections[c]; i++)
                driver_close(&world->drivers[i]);
        }
    }
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
    char program[PATH_MAX], top[PATH_MAX], path[PATH_MAX + 16];

    if (!bench_server_program(program))
        return 0;
    mongoc_init();
    bench_temp_dir(top);
    snprintf(path, sizeof(path), "%s/data", top);
    const struct bench_server server = bench_server_start(program, path);
    world.port = server.mongo_port;
    BENCH_CLAIM(clock_getcpuclockid(server.pid, &world.server_time) == 0);
    prepare(&world);
    measure_start(world.port);
    fill(&world);
    measure_all(&world);
    printf("resident memory: %.1f MB\n", bench_server_resident_mb(&server));
    bench_server_stop(&server);
    bench_remove_dir(top);
    free(world.finds.messages);
    mongoc_cleanup();
    return 0;
}
