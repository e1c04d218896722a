/* Bench: point reads and creates over HTTP, next to GET /healthz of the same server.
 *
 * A server of its own on an empty directory, a container with default indexing, items of 500 bytes of JSON. The
 * requests are what a client library sends, signed in advance: the signature of a create covers the container
 * only, so that its body alone changes. /healthz costs nothing but HTTP, so the ratio tells what the database adds to
 * it. Rounds of the three alternate; each ratio is a median of rounds. Client and server share the machine, so
 * rates are lower bounds. */
#include "bench/http_load.h"
#include "bench/request.h"
#include "bench/server.h"

enum {
    ITEMS = 10000,
    ITEM_BYTES = 500,
    REQUEST_BYTES = 2048,
    ROUNDS_MAX = 7,
    ID_DIGITS = 12,
    KEYS = 1000
};

/* ---- requests ---------------------------------------------------------------------------------------- */

/* An item of exactly ITEM_BYTES: a few properties as people have them, and text to fill it up. */
static void put_item(struct text *text, unsigned n)
{
    const size_t start = text->len;

    put(text,
        "{\"id\":\"i%0*u\",\"pk\":\"p%04u\",\"user\":\"user-%06u\",\"count\":%u,"
        "\"when\":\"2026-03-01T00:00:00Z\",\"flags\":[true,false,null],"
        "\"place\":{\"lat\":52.5,\"lon\":13.25},\"text\":\"",
        ID_DIGITS, n, n % KEYS, n % 1000, 100 + n % 900);
    BENCH_CLAIM(text->len - start + 2 <= ITEM_BYTES);
    while (text->len - start + 2 < ITEM_BYTES)
        put(text, "x");
    put(text, "\"}");
}

/* ---- sources ----------------------------------------------------------------------------------------- */

struct reads {
    char *requests; /* ITEMS of REQUEST_BYTES */
    size_t lens[ITEMS];
    struct random random;
};

static bytes next_read(void *context, struct load_connection *c)
{
    struct reads *reads = context;
    const size_t n = random_next(&reads->random) % ITEMS;

    (void)c;
    return bytes_of(reads->requests + n * REQUEST_BYTES, reads->lens[n]);
}

static void prepare_reads(struct reads *reads)
{
    reads->requests = calloc(ITEMS, REQUEST_BYTES);
    reads->random = random_seeded(1);
    BENCH_CLAIM(reads->requests != NULL);
    for (unsigned n = 0; n < ITEMS; n++) {
        struct text text = text_in(reads->requests + (size_t)n * REQUEST_BYTES, REQUEST_BYTES);
        char target[128];
        snprintf(target, sizeof(target), "/dbs/d/colls/c/docs/i%0*u", ID_DIGITS, n);
        put_head(&text, "GET", target, "docs", target + 1);
        put(&text, "x-ms-documentdb-partitionkey: [\"p%04u\"]\r\n\r\n", n % KEYS);
        reads->lens[n] = text.len;
    }
}

/* A ring of requests, so that one stays in place until its reply is here. They differ in digits only. */
struct creates {
    uint64_t next;
    size_t len, header_key_at, id_at, body_key_at;
    char requests[2 * LOAD_CONNECTIONS_MAX][REQUEST_BYTES];
};

static void put_digits(char *at, uint64_t n, int count)
{
    for (int i = count; i > 0; i--, n /= 10)
        at[i - 1] = (char)('0' + n % 10);
}

static bytes next_create(void *context, struct load_connection *c)
{
    struct creates *creates = context;
    const uint64_t n = creates->next++;
    char *request = creates->requests[n % (2 * LOAD_CONNECTIONS_MAX)];

    put_digits(request + creates->header_key_at, n % KEYS, 4);
    put_digits(request + creates->body_key_at, n % KEYS, 4);
    put_digits(request + creates->id_at, n, ID_DIGITS);
    (void)c;
    return bytes_of(request, creates->len);
}

static void prepare_creates(struct creates *creates)
{
    char *first = creates->requests[0];
    struct text text = text_in(first, REQUEST_BYTES);

    put_head(&text, "POST", "/dbs/d/colls/c/docs", "docs", "dbs/d/colls/c");
    put(&text,
        "x-ms-documentdb-partitionkey: [\"p0000\"]\r\ncontent-type: application/json\r\n"
        "content-length: %d\r\n\r\n",
        ITEM_BYTES);
    put_item(&text, 0);
    creates->len = text.len;
    creates->header_key_at = (size_t)(strstr(first, "[\"p0000") + 3 - first);
    creates->id_at = (size_t)(strstr(first, "\"id\":\"i") + 7 - first);
    creates->body_key_at = (size_t)(strstr(first, "\"pk\":\"p") + 7 - first);
    for (size_t i = 1; i < 2 * LOAD_CONNECTIONS_MAX; i++)
        memcpy(creates->requests[i], first, REQUEST_BYTES);
}

static bytes next_fixed(void *context, struct load_connection *c)
{
    (void)c;
    return bytes_of_text(context);
}

static struct load_source source_of(bytes (*next)(void *context, struct load_connection *c),
                                    void *context, unsigned wanted)
{
    return (struct load_source){
        .next = next, .context = context, .read_head = load_read_http, .wanted = wanted
    };
}

/* ---- the measurement --------------------------------------------------------------------------------- */

/* Creates something by one request. */
static void create_once(unsigned port, const char *target, const char *type, const char *link,
                        const char *body)
{
    char request[REQUEST_BYTES];
    struct text text = text_in(request, REQUEST_BYTES);
    const struct load_source source = source_of(next_fixed, request, 201);
    struct load load;

    put_head(&text, "POST", target, type, link);
    put(&text, "content-type: application/json\r\ncontent-length: %zu\r\n\r\n%s", strlen(body),
        body);
    load_open(&load, port, 1);
    load_run(&load, &source, 60, 1);
    load_close(&load);
}

static void fill(unsigned port, struct creates *creates)
{
    const struct load_source source = source_of(next_create, creates, 201);
    struct load load;

    create_once(port, "/dbs", "dbs", "", "{\"id\":\"d\"}");
    create_once(
        port, "/dbs/d/colls", "colls", "dbs/d",
        "{\"id\":\"c\",\"partitionKey\":{\"paths\":[\"/pk\"],\"kind\":\"Hash\",\"version\":2}}");
    load_open(&load, port, 64);
    load_run(&load, &source, 600, ITEMS);
    load_close(&load);
}

/* Sorts the ratios. */
static void report(const char *what, size_t connections, double *ratios, size_t rounds, double goal)
{
    const double ratio = bench_median(ratios, rounds);

    printf("%zu connections, %s: rounds from %.0f to %.0f %%\n", connections, what, 100 * ratios[0],
           100 * ratios[rounds - 1]);
    printf("FIGURE | http: %s, %zu connection%s | %.0f %% | %s | %s\n", what, connections,
           connections == 1 ? "" : "s", 100 * ratio, goal > 0 ? ">= 60 %" : "-",
           goal <= 0       ? "-"
           : ratio >= goal ? "yes"
                           : "NO");
}

/* /healthz asked for with everything that a client library sends: what HTTP alone costs for such requests. */
static const char *headed_healthz(void)
{
    static char request[REQUEST_BYTES];
    struct text text = text_in(request, sizeof(request));

    put_head(&text, "GET", "/healthz", "docs", "dbs/d/colls/c/docs/i0");
    put(&text, "x-ms-documentdb-partitionkey: [\"p0000\"]\r\n\r\n");
    return request;
}

static void measure(unsigned port, size_t connections, struct reads *reads, struct creates *creates)
{
    enum { BARE, HEADED, READ, CREATE, SOURCES };
    static char bare[] = "GET /healthz HTTP/1.1\r\nhost: 127.0.0.1:8081\r\n\r\n";
    const struct load_source sources[SOURCES] = {
        source_of(next_fixed, bare, 200),
        source_of(next_fixed, (char *)headed_healthz(), 200),
        source_of(next_read, reads, 200),
        source_of(next_create, creates, 201),
    };
    const size_t rounds = bench_is_quick() ? 3 : ROUNDS_MAX;
    const double seconds = bench_is_quick() ? 0.2 : 0.7;
    double rates[SOURCES][ROUNDS_MAX], of_bare[SOURCES][ROUNDS_MAX], of_headed[SOURCES][ROUNDS_MAX];
    struct load load;

    load_open(&load, port, connections);
    for (size_t r = 0; r < rounds; r++) {
        for (int s = 0; s < SOURCES; s++) {
            const struct load_result result = load_run(&load, &sources[s], seconds, UINT64_MAX);
            rates[s][r] = result.requests / result.seconds;
            of_bare[s][r] = rates[s][r] / rates[BARE][r];
            of_headed[s][r] = s >= HEADED ? rates[s][r] / rates[HEADED][r] : 0;
        }
    }
    load_close(&load);
    printf(
        "%zu connections: GET /healthz %.0f/s, with a client's headers %.0f/s, point reads %.0f/s, "
        "creates %.0f/s\n",
        connections, bench_median(rates[BARE], rounds), bench_median(rates[HEADED], rounds),
        bench_median(rates[READ], rounds), bench_median(rates[CREATE], rounds));
    report("point reads against GET /healthz with the same headers", connections, of_headed[READ],
           rounds, 0.6);
    report("point reads against a bare GET /healthz", connections, of_bare[READ], rounds, 0.6);
    report("creates against GET /healthz with the same headers", connections, of_headed[CREATE],
           rounds, 0);
    fflush(stdout);
}

int main(void)
{
    static struct reads reads;
    static struct creates creates;
    char program[PATH_MAX], top[PATH_MAX], path[PATH_MAX + 16];

    if (!bench_server_program(program))
        return 0;
    bench_temp_dir(top);
    snprintf(path, sizeof(path), "%s/data", top);
    const struct bench_server server = bench_server_start(program, path);
    prepare_reads(&reads);
    prepare_creates(&creates);
    fill(server.port, &creates);
    measure(server.port, 1, &reads, &creates);
    measure(server.port, 16, &reads, &creates);
    measure(server.port, 64, &reads, &creates);
    printf("resident memory after %llu creates: %.1f MB\n", (unsigned long long)creates.next,
           bench_server_resident_mb(&server));
    bench_server_stop(&server);
    bench_remove_dir(top);
    free(reads.requests);
    return 0;
}
