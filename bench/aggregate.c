/* Bench: aggregations over the MongoDB protocol next to the same questions in PostgreSQL 15, over the same documents.
 *
 * A million documents of 500 bytes (DOCUMENTS=n for another number), a collection of a tenth and one of a hundredth of
 * them on one side, tables with a jsonb column on the other; an index on the number that documents are joined by, and none
 * on what is grouped and sorted by. Both as they come. One client, one question at a time, through libmongoc and libpq;
 * every result is read to its end and checked. Times are medians, the sides take turns.
 *
 * KEPT=directory keeps the documents for the next run, ONLY=name asks one question; files are prepared as in
 * bench/sql.c. */
#include "bench/beside.h"
#include "bench/mongoc.h"

enum { TIMES_MAX = 15, SIDES = 2, TOGETHER = 1000, GROUPS = 1000 };

struct question {
    const char *name, *figure;
    const char *collection; /* and table */
    const char *pipeline;
    const char *sql;
    /* The right answer: rows, and what the numbers of all rows sum up to. */
    long rows;
    double sum;
    const char *number; /* the field whose numbers are summed up; in PostgreSQL the second column */
};

struct answer {
    long rows;
    double sum;
};

/* ---- loading ----------------------------------------------------------------------------------------- */

/* Documents of the MongoDB protocol have their id in front. */
static bson_t *make_document(uint64_t n, uint64_t count)
{
    char line[ITEM_BYTES + 1];
    struct text text = text_in(line, sizeof(line));
    bson_error_t error;
    bson_iter_t at;

    put_item(&text, n, count);
    bson_t *item = bson_new_from_json((const uint8_t *)line, (ssize_t)text.len, &error);
    bson_t *document = bson_new();
    BENCH_CLAIM(item != NULL && bson_iter_init_find(&at, item, "id"));
    BENCH_CLAIM(bson_append_value(document, "_id", -1, bson_iter_value(&at)));
    BENCH_CLAIM(bson_iter_init(&at, item));
    while (bson_iter_next(&at)) {
        if (strcmp(bson_iter_key(&at), "id") != 0)
            BENCH_CLAIM(bson_append_value(document, bson_iter_key(&at), -1, bson_iter_value(&at)));
    }
    bson_destroy(item);
    return document;
}

static void load_mayfly(mongoc_client_t *client, const char *name, uint64_t count)
{
    mongoc_collection_t *collection = mongoc_client_get_collection(client, "d", name);
    bson_error_t error;

    for (uint64_t first = 0; first < count; first += TOGETHER) {
        bson_t *documents[TOGETHER];
        size_t made = 0;
        for (; made < TOGETHER && first + made < count; made++)
            documents[made] = make_document(first + made, count);
        BENCH_CLAIM(mongoc_collection_insert_many(collection, (const bson_t **)(void *)documents,
                                                  made, NULL, NULL, &error));
        for (size_t i = 0; i < made; i++)
            bson_destroy(documents[i]);
    }
    mongoc_collection_destroy(collection);
}

static void index_mayfly(mongoc_client_t *client, const char *name)
{
    bson_error_t error;
    char json[160];

    snprintf(json, sizeof(json),
             "{\"createIndexes\":\"%s\",\"indexes\":[{\"name\":\"n\",\"key\":{\"n\":1}}]}", name);
    bson_t *command = bson_new_from_json((const uint8_t *)json, -1, &error);
    BENCH_CLAIM(command != NULL);
    BENCH_CLAIM(mongoc_client_command_simple(client, "d", command, NULL, NULL, &error));
    bson_destroy(command);
}

static mongoc_client_t *connect_to(const struct bench_server *server)
{
    char address[64];

    snprintf(address, sizeof(address), "mongodb://127.0.0.1:%u/?replicaSet=mayfly",
             server->mongo_port);
    mongoc_client_t *client = mongoc_client_new(address);
    BENCH_CLAIM(client != NULL);
    return client;
}

static void load(struct sides *sides, const char *program, const char *data, uint64_t count)
{
    const struct bench_server server = bench_server_start(program, data);
    const double start = bench_now_s();

    sides->client = connect_to(&server);
    load_mayfly(sides->client, "few", count / 100);
    load_mayfly(sides->client, "small", count / 10);
    index_mayfly(sides->client, "small");
    load_mayfly(sides->client, "large", count);
    mongoc_client_destroy(sides->client);
    bench_server_stop(&server);
    settle(data);
    const double settled = bench_now_s();
    load_postgres(&sides->postgres, "few", count / 100);
    load_postgres(&sides->postgres, "small", count / 10);
    load_postgres(&sides->postgres, "large", count);
    printf("loaded: mayfly %.1f s, postgres %.1f s\n", settled - start, bench_now_s() - settled);
    fflush(stdout);
}

/* ---- asking ------------------------------------------------------------------------------------------ */

static struct answer ask_mayfly(struct sides *sides, const struct question *q)
{
    mongoc_collection_t *collection = mongoc_client_get_collection(sides->client, "d",
                                                                   q->collection);
    struct answer answer = { 0 };
    const bson_t *document;
    bson_error_t error;
    bson_iter_t top, at;

    bson_t *pipeline = bson_new_from_json((const uint8_t *)q->pipeline, -1, &error);
    BENCH_CLAIM(pipeline != NULL);
    mongoc_cursor_t *cursor = mongoc_collection_aggregate(collection, MONGOC_QUERY_NONE, pipeline,
                                                          NULL, NULL);
    while (mongoc_cursor_next(cursor, &document)) {
        answer.rows++;
        BENCH_CLAIM(bson_iter_init(&top, document));
        if (bson_iter_find_descendant(&top, q->number, &at))
            answer.sum += bson_iter_as_double(&at);
    }
    if (mongoc_cursor_error(cursor, &error)) {
        fprintf(stderr, "%s: %s\n", q->name, error.message);
        exit(1);
    }
    mongoc_cursor_destroy(cursor);
    mongoc_collection_destroy(collection);
    bson_destroy(pipeline);
    return answer;
}

static struct answer ask_postgres(struct sides *sides, const struct question *q)
{
    PGresult *result = PQexecPrepared(sides->postgres.connection, q->name, 0, NULL, NULL, NULL, 0);
    struct answer answer = { 0 };

    BENCH_CLAIM(PQresultStatus(result) == PGRES_TUPLES_OK);
    answer.rows = PQntuples(result);
    for (int i = 0; i < answer.rows; i++)
        answer.sum += strtod(PQgetvalue(result, i, 1), NULL);
    PQclear(result);
    return answer;
}

static void check_answer(const struct question *q, struct answer answer, enum side side)
{
    if (answer.rows == q->rows && answer.sum == q->sum)
        return;
    fprintf(stderr, "%s (%s): %ld rows, sum %.0f; wanted %ld and %.0f\n", q->name,
            side == MAYFLY ? "mayfly" : "postgres", answer.rows, answer.sum, q->rows, q->sum);
    exit(1);
}

static void measure(struct sides *sides, const struct question *q)
{
    const int times = (int)bench_number("TIMES", bench_is_quick() ? 3 : 7);
    double ms[SIDES][TIMES_MAX], cpu_ms[SIDES] = { 0 };
    char name[128], value[64];

    BENCH_CLAIM(times <= TIMES_MAX);
    postgres_prepare(&sides->postgres, q->name, q->sql);
    for (int i = -1; i < times; i++) {
        for (int turn = 0; turn < SIDES; turn++) {
            const enum side side = (i + 1 + turn) % SIDES ? POSTGRES : MAYFLY;
            const double cpu = side_cpu_ms(sides, side), start = bench_now_s();
            const struct answer answer = side == MAYFLY ? ask_mayfly(sides, q)
                                                        : ask_postgres(sides, q);
            if (i >= 0)
                ms[side][i] = (bench_now_s() - start) * 1000;
            if (i >= 0)
                cpu_ms[side] += (side_cpu_ms(sides, side) - cpu) / times;
            check_answer(q, answer, side);
        }
    }
    const double ours = bench_median(ms[MAYFLY], (size_t)times),
                 theirs = bench_median(ms[POSTGRES], (size_t)times);
    printf("%-8s mayfly %8.1f ms (least %.1f, cpu %.1f), postgres %8.1f ms (least %.1f, cpu %.1f), "
           "ratio %.2f, by processor time %.2f\n",
           q->name, ours, ms[MAYFLY][0], cpu_ms[MAYFLY], theirs, ms[POSTGRES][0], cpu_ms[POSTGRES],
           theirs / ours, cpu_ms[POSTGRES] / cpu_ms[MAYFLY]);
    snprintf(name, sizeof(name), "aggregate: %s, speed against PostgreSQL", q->figure);
    snprintf(value, sizeof(value), "%.2f times", theirs / ours);
    bench_figure(name, value, ">= 1 times", theirs >= ours);
}

/* The first ten in the order of `plain` are those that have its least value. */
static double sum_of_first(uint64_t count)
{
    double sum = 0;

    for (uint64_t n = 0; n < count; n++) {
        if (plain_of(n, count) == 0)
            sum += (double)number_of(n, count);
    }
    return sum;
}

static void ask_all(struct sides *sides, uint64_t count)
{
    const double large = (double)count, few = (double)(count / 100);
    const struct question questions[] = {
        {.name = "group",
         .figure = "$group into 1,000",
         .collection = "large",
         .pipeline = "{\"pipeline\":[{\"$group\":{\"_id\":\"$pk\",\"sum\":{\"$sum\":\"$n\"},"
                      "\"count\":{\"$sum\":1}}}]}",                                .sql = "SELECT doc->>'pk', sum((doc->>'n')::bigint), count(*) FROM large GROUP BY 1",
         .rows = GROUPS,
         .sum = large * (large - 1) / 2,
         .number = "sum"      },
        { .name = "lookup",
         .figure = "$lookup by an index",
         .collection = "few",
         .pipeline = "{\"pipeline\":[{\"$lookup\":{\"from\":\"small\",\"localField\":\"n\","
                      "\"foreignField\":\"n\",\"as\":\"other\"}}]}",               .sql = "SELECT few.doc, small.doc->>'n', small.doc FROM few LEFT JOIN small ON "
                 "(small.doc->>'n')::bigint = (few.doc->>'n')::bigint",                              .rows = (long)few,
         .sum = few * (few - 1) / 2,
         .number = "other.0.n"},
        { .name = "sort",
         .figure = "$sort and $limit without an index",
         .collection = "large",
         .pipeline = "{\"pipeline\":[{\"$sort\":{\"plain\":1}},{\"$limit\":10}]}",
         .sql = "SELECT doc, doc->>'n' FROM large ORDER BY doc->>'plain' LIMIT 10",
         .rows = GROUP,
         .sum = sum_of_first(count),
         .number = "n"        },
    };
    const char *only = getenv("ONLY");

    for (size_t i = 0; i < ARRAY_COUNT(questions); i++) {
        if (!only || strcmp(only, questions[i].name) == 0)
            measure(sides, &questions[i]);
    }
}

static void compare(struct sides *sides, const struct bench_server *server, uint64_t count)
{
    sides->client = connect_to(server);
    ask_all(sides, count);
    mongoc_client_destroy(sides->client);
}

int main(void)
{
    mongoc_init();
    const int code = measure_beside(&(struct beside){ .load = load, .compare = compare });
    mongoc_cleanup();
    return code;
}
