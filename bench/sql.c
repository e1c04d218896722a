/* Bench: queries next to the same queries in PostgreSQL 15, over the same documents.
 *
 * A million documents of 500 bytes of JSON (DOCUMENTS=n for another number). On one side a container with the default
 * indexing policy but for one excluded path, asked over HTTP; on the other a table with a jsonb column and an index
 * on each expression that is asked for, asked by prepared statements. Both as they come: no
 * setting was changed but where they listen. One client for both, one question at a time, every result read to its end
 * and the two results compared.
 *
 * Documents come in no order of the properties asked for, so neither side finds rows together that were written
 * together. Times are medians. Then the same over a tenth of the documents, to see how cost grows.
 *
 * The sides take turns with every question. RUN=n: so many of one side, then the same of the other. That is how somebody asks who has
 * one database, but where the system lets client and server run then, on one processor or on two, decides more than all their work: 0.6 to
 * 1.7 times for the same question in runs of 20 and of 500. Both are asked over TCP on loopback.
 *
 * All files of both sides are in the cache of the system: every file is read once before, whether it was written by this run or
 * kept from another (KEPT=directory). So what is compared is work, not the disk. The caches of their own are filled by as
 * many questions that do not count as there are that do; with five times as many the figure was the same but for what
 * runs differ. BEFORE=n: so many instead.
 * COLD=1: all files are out of the cache of the system instead, and the disk is part of it. */
#include "bench/beside.h"
#include "bench/sql_mayfly.h"

enum { PER_REQUEST = 100, TIMES_MAX = 2000, SIDES = 2 };

/* ---- loading ----------------------------------------------------------------------------------------- */

static void create(struct client *client, const char *target, const char *type, const char *link,
                   const char *body)
{
    struct text request = client_request(client);

    put_head(&request, "POST", target, type, link);
    client_put_body(&request, "application/json", body);
    client_call(client, &request, 201, 201);
}

static void load_mayfly(struct client *client, const char *container, uint64_t count)
{
    static char operations[CLIENT_REQUEST_BYTES / 2], item[ITEM_BYTES + 1];
    char body[512], target[160], link[128];

    snprintf(
        body, sizeof(body),
        "{\"id\":\"%s\",\"partitionKey\":{\"paths\":[\"/pk\"],\"kind\":\"Hash\",\"version\":2},"
        "\"indexingPolicy\":{\"indexingMode\":\"consistent\",\"includedPaths\":[{\"path\":\"/*\"}],"
        "\"excludedPaths\":[{\"path\":\"/plain/?\"}]}}",
        container);
    create(client, "/dbs/d/colls", "colls", "dbs/d", body);
    snprintf(link, sizeof(link), "dbs/d/colls/%s", container);
    snprintf(target, sizeof(target), "/%s/docs", link);
    for (uint64_t first = 0; first < count; first += PER_REQUEST) {
        struct text list = text_in(operations, sizeof(operations));
        for (uint64_t n = first; n < first + PER_REQUEST && n < count; n++) {
            struct text one = text_in(item, sizeof(item));
            put_item(&one, n, count);
            put(&list,
                "%c{\"operationType\":\"Create\",\"partitionKey\":\"[\\\"p%03u\\\"]\","
                "\"resourceBody\":%s}",
                n == first ? '[' : ',', (unsigned)(n % 1000), item);
        }
        put(&list, "]");
        struct text request = client_request(client);
        put_head(&request, "POST", target, "docs", link);
        put(&request, "x-ms-cosmos-is-batch-request: true\r\nx-ms-cosmos-batch-atomic: false\r\n"
                      "x-ms-documentdb-partitionkeyrangeid: 0\r\nprefer: return=minimal\r\n");
        client_put_body(&request, "application/json", operations);
        client_call(client, &request, 200, 200);
    }
}

/* ---- questions --------------------------------------------------------------------------------------- */

/* `from` and `upto` are what a question is about: a group, or the ends of a range of numbers. */
struct question {
    const char *name;
    const char *container; /* and table */
    const char *query;     /* JSON; every %lu is replaced, in this order: from, upto */
    const char *sql;       /* %s is the table; $1 and $2 are from and upto */
    const char *parameter; /* how $1 is written */
    int parameters;
    uint64_t choices; /* `from` is below it */
    uint64_t width;
    long rows, number; /* the right answer; 0: not known */
    int times;
};

struct measured {
    double median_ms[SIDES], cpu_ms[SIDES];
    unsigned pages;
};

static struct answer ask_mayfly(struct sides *sides, const struct question *q, struct text *head,
                                uint64_t from, unsigned *pages_out)
{
    char body[512];

    snprintf(body, sizeof(body), q->query, from, from + q->width);
    return client_query(sides->client, head, body, pages_out);
}

static struct answer ask_postgres(struct sides *sides, const struct question *q, const char *name,
                                  uint64_t from)
{
    char first[32], second[32];
    const char *const values[] = { first, second };

    snprintf(first, sizeof(first), q->parameter, from);
    snprintf(second, sizeof(second), "%" PRIu64, from + q->width);
    PGresult *result = PQexecPrepared(sides->postgres.connection, name, q->parameters, values, NULL,
                                      NULL, 0);
    BENCH_CLAIM(PQresultStatus(result) == PGRES_TUPLES_OK);
    struct answer answer = { .rows = PQntuples(result) };
    if (answer.rows == 1)
        answer.number = strtol(PQgetvalue(result, 0, 0), NULL, 10);
    PQclear(result);
    return answer;
}

static void check_answer(const struct question *q, struct answer answer, enum side side)
{
    if (answer.rows == q->rows && (q->number == 0 || answer.number == q->number))
        return;
    fprintf(stderr, "%s (%s): %ld rows, number %ld; wanted %ld and %ld\n", q->name,
            side == MAYFLY ? "mayfly" : "postgres", answer.rows, answer.number, q->rows, q->number);
    exit(1);
}

/* One question of both sides, as it is asked and answered. */
struct asked {
    struct sides *sides;
    const struct question *question;
    const char *name; /* of PostgreSQL's statement */
    struct text head; /* of the requests to mayfly */
    struct measured *measured;
    double times[SIDES][TIMES_MAX];
};

/* `count` questions of one side, one behind the other; `first` is the number of the first, negative if they do not count. */
static void ask_run(struct asked *asked, enum side side, struct random *random, int first,
                    int count)
{
    const struct question *q = asked->question;
    const double cpu = side_cpu_ms(asked->sides, side);

    for (int i = first; i < first + count; i++) {
        const uint64_t from = random_below(random, q->choices);
        const double start = bench_now_s();
        const struct answer answer = side == MAYFLY
                                         ? ask_mayfly(asked->sides, q, &asked->head, from,
                                                      &asked->measured->pages)
                                         : ask_postgres(asked->sides, q, asked->name, from);
        if (i >= 0)
            asked->times[side][i] = (bench_now_s() - start) * 1000;
        check_answer(q, answer, side);
    }
    if (first >= 0)
        asked->measured->cpu_ms[side] += (side_cpu_ms(asked->sides, side) - cpu) / q->times;
}

/* Both sides are asked the same, in runs; who comes first changes from run to run. */
static void ask_in_turns(struct asked *asked, int first, int end, int longest)
{
    struct random random = random_seeded(first < 0 ? 11 : 7);

    for (int i = first, run = 0; i < end; i += longest, run++) {
        const int count = longest < end - i ? longest : end - i;
        const struct random same = random;
        for (int turn = 0; turn < SIDES; turn++) {
            random = same;
            ask_run(asked, (run + turn) % SIDES ? POSTGRES : MAYFLY, &random, i, count);
        }
    }
}

static struct measured measure(struct sides *sides, const struct question *q)
{
    static struct asked asked;
    struct measured measured = { 0 };
    char head_text[2048], sql[512], name[64];

    snprintf(name, sizeof(name), "%s %s", q->container, q->name);
    snprintf(sql, sizeof(sql), q->sql, q->container);
    postgres_prepare(&sides->postgres, name, sql);
    asked.sides = sides;
    asked.question = q;
    asked.name = name;
    asked.measured = &measured;
    asked.head = text_in(head_text, sizeof(head_text));
    client_query_head(&asked.head, q->container);
    const long run = bench_number("RUN", 1);
    const int longest = run < 1 ? 1 : (int)run;
    /* Some first ones do not count: caches fill, plans are made. */
    ask_in_turns(&asked, -(int)bench_number("BEFORE", q->times), 0, longest);
    ask_in_turns(&asked, 0, q->times, longest);
    for (int side = 0; side < SIDES; side++)
        measured.median_ms[side] = bench_median(asked.times[side], (size_t)q->times);
    printf("%-24s mayfly %8.3f ms (cpu %8.3f, pages %u), postgres %8.3f ms (cpu %8.3f), "
           "ratio %.2f\n",
           name, measured.median_ms[MAYFLY], measured.cpu_ms[MAYFLY], measured.pages,
           measured.median_ms[POSTGRES], measured.cpu_ms[POSTGRES],
           measured.median_ms[POSTGRES] / measured.median_ms[MAYFLY]);
    fflush(stdout);
    return measured;
}

enum { EQUALITY, TOP, COUNT, SCAN, QUESTIONS };

static void make_questions(struct question *out, const char *container, uint64_t count,
                           uint64_t width, bool is_quick)
{
    const int many = is_quick ? 200 : TIMES_MAX, few = is_quick ? 3 : 7;

    out[EQUALITY] = (struct question){
        .name = "equality",
        .query = "{\"query\":\"SELECT * FROM c WHERE c.user = @u\",\"parameters\":"
                 "[{\"name\":\"@u\",\"value\":\"user-%07lu\"}]}",
        .sql = "SELECT doc FROM %s WHERE doc->>'user' = $1",
        .parameter = "user-%07lu",
        .parameters = 1,
        .choices = count / GROUP,
        .rows = GROUP,
        .times = many,
    };
    out[TOP] = (struct question){
        .name = "order by, top",
        .query = "{\"query\":\"SELECT TOP 10 * FROM c ORDER BY c.n\"}",
        .sql = "SELECT doc FROM %s ORDER BY (doc->>'n')::bigint LIMIT 10",
        .parameter = "%lu",
        .choices = 1,
        .rows = 10,
        .times = many,
    };
    out[COUNT] = (struct question){
        .name = "count of a range",
        .query =
            "{\"query\":\"SELECT VALUE COUNT(1) FROM c WHERE c.n >= @a AND c.n < @b\","
            "\"parameters\":[{\"name\":\"@a\",\"value\":%lu},{\"name\":\"@b\",\"value\":%lu}]}",
        .sql = "SELECT count(*) FROM %s WHERE (doc->>'n')::bigint >= $1 AND "
               "(doc->>'n')::bigint < $2",
        .parameter = "%lu",
        .parameters = 2,
        .choices = count - width,
        .width = width,
        .rows = 1,
        .number = (long)width,
        .times = many / 10,
    };
    out[SCAN] = (struct question){
        .name = "no index",
        .query = "{\"query\":\"SELECT * FROM c WHERE c.plain = @p\",\"parameters\":"
                 "[{\"name\":\"@p\",\"value\":\"plain-%07lu\"}]}",
        .sql = "SELECT doc FROM %s WHERE doc->>'plain' = $1",
        .parameter = "plain-%07lu",
        .parameters = 1,
        .choices = count / GROUP,
        .rows = GROUP,
        .times = few,
    };
    for (int i = 0; i < QUESTIONS; i++)
        out[i].container = container;
}

/* ---- the whole --------------------------------------------------------------------------------------- */

static const char *const names[QUESTIONS] = { "equality, 10 documents", "ORDER BY, TOP 10",
                                              "COUNT of 1 % by a range",
                                              "filter without an index" };

static void report_speed(const struct measured *large)
{
    for (int i = 0; i < QUESTIONS; i++) {
        const double ratio = large[i].median_ms[POSTGRES] / large[i].median_ms[MAYFLY];
        char name[128], value[64];
        snprintf(name, sizeof(name), "sql: %s, speed against PostgreSQL", names[i]);
        snprintf(value, sizeof(value), "%.2f times", ratio);
        bench_figure(name, value, ">= 1 times", ratio >= 1);
    }
}

static void report_growth(const struct measured *large, const struct measured *small)
{
    for (int i = 0; i < SCAN; i++) {
        const double growth = large[i].median_ms[MAYFLY] / small[i].median_ms[MAYFLY];
        char name[128], value[64];
        snprintf(name, sizeof(name), "sql: %s, time with 10 times the documents",
                 i == COUNT ? "COUNT of as many by a range" : names[i]);
        snprintf(value, sizeof(value), "%.2f times", growth);
        bench_figure(name, value, "<= 2 times", growth <= 2);
    }
}

/* ONLY=name: one question, for somebody who wants to see where its time goes. */
static bool measure_only(struct sides *sides, const struct question *questions)
{
    const char *only = getenv("ONLY");

    for (int i = 0; only && i < QUESTIONS; i++) {
        if (strcmp(only, questions[i].name) == 0)
            measure(sides, &questions[i]);
    }
    return only != NULL;
}

static void ask_all(struct sides *sides, uint64_t count)
{
    struct question large[QUESTIONS], small[QUESTIONS];
    struct measured of_large[QUESTIONS], of_small[QUESTIONS];
    const bool is_quick = bench_is_quick();

    make_questions(large, "large", count, count / 100, is_quick);
    make_questions(small, "small", count / 10, count / 1000, is_quick);
    if (measure_only(sides, large))
        return;
    for (int i = 0; i < QUESTIONS; i++) {
        of_small[i] = measure(sides, &small[i]);
        of_large[i] = measure(sides, &large[i]);
    }
    report_speed(of_large);
    /* Growth is that of the same answer among more documents. */
    make_questions(large, "large", count, count / 1000, is_quick);
    large[COUNT].name = "count of as many";
    of_large[COUNT] = measure(sides, &large[COUNT]);
    report_growth(of_large, of_small);
}

static void compare(struct sides *sides, const struct bench_server *server, uint64_t count)
{
    struct client client;

    client_open(&client, server->port);
    sides->client = &client;
    ask_all(sides, count);
    client_close(&client);
}

static void load(struct sides *sides, const char *program, const char *data, uint64_t count)
{
    const double start = bench_now_s();
    const struct bench_server server = bench_server_start(program, data);
    struct client client;

    client_open(&client, server.port);
    create(&client, "/dbs", "dbs", "", "{\"id\":\"d\"}");
    load_mayfly(&client, "small", count / 10);
    load_mayfly(&client, "large", count);
    client_close(&client);
    bench_server_stop(&server);
    const double loaded = bench_now_s();
    settle(data);
    const double settled = bench_now_s();
    load_postgres(&sides->postgres, "small", count / 10);
    load_postgres(&sides->postgres, "large", count);
    printf("loaded %" PRIu64 " documents: mayfly %.1f s and %.1f s until quiet, postgres %.1f s\n",
           count + count / 10, loaded - start, settled - loaded, bench_now_s() - settled);
    fflush(stdout);
}

int main(void)
{
    return measure_beside(&(struct beside){ .load = load, .compare = compare });
}
