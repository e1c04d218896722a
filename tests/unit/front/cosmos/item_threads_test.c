/* Items under many threads: one wins where only one may, nothing is lost, a batch is seen whole. */
#include <pthread.h>
#include <stdio.h>

#include "tests/support/items.h"

#define P "pk: ['p']"
enum { THREADS = 6 };

struct runner {
    struct cosmos_face face;
    void (*run)(struct runner *runner);
    unsigned number;
    unsigned won, lost;
    pthread_t thread;
};

static void *start(void *context)
{
    struct runner *runner = context;

    runner->run(runner);
    return NULL;
}

static void run_all(struct cosmos_face *f, struct runner *runners, size_t count,
                    void (*run)(struct runner *))
{
    for (size_t i = 0; i < count; i++)
        runners[i] =
            (struct runner){ .face = items_for_thread(f), .run = run, .number = (unsigned)i };
    for (size_t i = 0; i < count; i++)
        CHECK_EQ(pthread_create(&runners[i].thread, NULL, start, &runners[i]), 0, "");
    for (size_t i = 0; i < count; i++) {
        pthread_join(runners[i].thread, NULL);
        items_thread_done(&runners[i].face);
    }
}

static void note(struct runner *runner, struct cosmos_answer answer, unsigned won, unsigned lost)
{
    CHECK_THAT(answer.status == won || answer.status == lost, "%u: %.*s", answer.status,
               (int)answer.body.len, (const char *)answer.body.data);
    runner->won += answer.status == won;
    runner->lost += answer.status == lost;
}

static unsigned total_won(const struct runner *runners, size_t count)
{
    unsigned won = 0;

    for (size_t i = 0; i < count; i++)
        won += runners[i].won;
    return won;
}

/* ---- creates ---------------------------------------------------------------------------------------- */

enum { IDS = 60 };

static void create_all(struct runner *runner)
{
    for (int i = 0; i < IDS; i++)
        note(runner,
             item_create(&runner->face, P, "{'id':'%d','pk':'p','by':%u}", i, runner->number), 201,
             409);
}

TEST(item_threads, of_many_creates_of_one_id_exactly_one_wins)
{
    struct cosmos_face f;
    struct runner runners[THREADS];

    items_open(&f, TTL_OFF);
    run_all(&f, runners, THREADS, create_all);
    CHECK_EQ(total_won(runners, THREADS), IDS, "");
    struct cosmos_answer feed = item_feed(&f, "");
    CHECK_TEXT(cosmos_value(&f, &feed, "_count"), "60");
    items_close(&f);
}

static void create_in_bulk(struct runner *runner)
{
    for (int i = 0; i < IDS; i += 3) {
        struct cosmos_answer answer =
            item_bulk(&runner->face, "pk: ['p']\nx-ms-cosmos-batch-continue-on-error: true",
                      "[{'operationType':'Create','resourceBody':{'id':'%d','pk':'p'}},"
                      "{'operationType':'Create','resourceBody':{'id':'%d','pk':'p'}},"
                      "{'operationType':'Create','resourceBody':{'id':'%d','pk':'p'}}]",
                      i, i + 1, i + 2);
        CHECK(answer.status == 200 || answer.status == 207);
        const char *statuses = item_statuses(&runner->face, &answer);
        for (const char *at = statuses; (at = strstr(at, "201")); at += 3)
            runner->won++;
    }
}

TEST(item_threads, of_many_bulk_creates_of_one_id_exactly_one_wins)
{
    struct cosmos_face f;
    struct runner runners[THREADS];

    items_open(&f, TTL_OFF);
    run_all(&f, runners, THREADS, create_in_bulk);
    CHECK_EQ(total_won(runners, THREADS), IDS, "");
    items_close(&f);
}

/* ---- etags ------------------------------------------------------------------------------------------ */

enum { ROUNDS = 40 };

static void count_by_etag(struct runner *runner)
{
    struct cosmos_face *f = &runner->face;

    while (runner->won < ROUNDS) {
        struct cosmos_answer read = item_read(f, P, "counter");
        int value;
        CHECK_EQ(read.status, 200, "");
        CHECK_EQ(sscanf(item_text(f, &read, "v"), "%d", &value), 1, "");
        const char *headers = arena_format(f->world.arena, "pk: ['p']\nif-match: %s",
                                           item_etag(f, &read));
        note(runner,
             item_replace(f, headers, "counter", "{'id':'counter','pk':'p','v':%d}", value + 1),
             200, 412);
    }
}

static void check_counter(struct cosmos_face *f, unsigned want)
{
    struct cosmos_answer read = item_read(f, P, "counter");

    CHECK_STRING(item_text(f, &read, "v"), arena_format(f->world.arena, "%u", want));
}

TEST(item_threads, no_update_guarded_by_an_etag_is_lost)
{
    struct cosmos_face f;
    struct runner runners[THREADS];

    items_open(&f, TTL_OFF);
    CHECK_ANSWER(item_create(&f, P, "{'id':'counter','pk':'p','v':0}"), 201);
    run_all(&f, runners, THREADS, count_by_etag);
    check_counter(&f, THREADS * ROUNDS);
    items_close(&f);
}

/* ---- patches ---------------------------------------------------------------------------------------- */

static void count_by_patch(struct runner *runner)
{
    for (int i = 0; i < ROUNDS; i++)
        note(runner,
             item_patch(&runner->face, P, "counter", "[{'op':'incr','path':'/v','value':1}]"), 200,
             449);
}

static void count_by_batch(struct runner *runner)
{
    for (int i = 0; i < ROUNDS; i++)
        note(runner,
             item_batch(&runner->face, P,
                        "[{'operationType':'Patch','id':'counter','resourceBody':[{'op':'incr',"
                        "'path':'/v','value':1}]}]"),
             200, 449);
}

static void count_by_bulk(struct runner *runner)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct cosmos_answer answer = item_bulk(
            &runner->face, i % 2 ? P : "pk: ['p']\nx-ms-cosmos-batch-continue-on-error: true",
            "[{'operationType':'Patch','id':'counter','resourceBody':[{'op':'incr',"
            "'path':'/v','value':1}]}]");
        runner->won += answer.status == 200;
    }
}

/* As clients do that only know the _self of an item. */
static void patch_by_rid(struct runner *runner)
{
    struct cosmos_answer read = item_read(&runner->face, P, "counter");
    const char *rid = item_text(&runner->face, &read, "_rid");

    for (int i = 0; i < 2 * ROUNDS; i++)
        CHECK_ANSWER(item_patch(&runner->face, P, rid, "[{'op':'incr','path':'/v','value':1}]"),
                     200);
}

TEST(item_threads, patches_by_resource_id_go_on_from_what_others_wrote)
{
    struct cosmos_face f;
    struct runner runners[THREADS];

    items_open(&f, TTL_OFF);
    CHECK_ANSWER(item_create(&f, P, "{'id':'counter','pk':'p','v':0}"), 201);
    run_all(&f, runners, THREADS, patch_by_rid);
    check_counter(&f, THREADS * 2 * ROUNDS);
    items_close(&f);
}

TEST(item_threads, every_acknowledged_increment_counts_exactly_once)
{
    void (*const ways[])(struct runner *) = { count_by_patch, count_by_batch, count_by_bulk };

    for (size_t i = 0; i < ARRAY_COUNT(ways); i++) {
        struct cosmos_face f;
        struct runner runners[THREADS];
        items_open(&f, TTL_OFF);
        CHECK_ANSWER(item_create(&f, P, "{'id':'counter','pk':'p','v':0}"), 201);
        run_all(&f, runners, THREADS, ways[i]);
        check_counter(&f, total_won(runners, THREADS));
        CHECK_THAT(total_won(runners, THREADS) > THREADS * ROUNDS * 9 / 10,
                   "hardly any gives up: %u of %d", total_won(runners, THREADS), THREADS * ROUNDS);
        items_close(&f);
    }
}

/* ---- batches ---------------------------------------------------------------------------------------- */

static void write_pairs(struct runner *runner)
{
    for (unsigned i = 0; i < 4 * ROUNDS; i++) {
        unsigned value = i * THREADS + runner->number;
        note(runner,
             item_batch(&runner->face, P,
                        "[{'operationType':'Upsert','resourceBody':{'id':'x','pk':'p','v':%u}},"
                        "{'operationType':'Upsert','resourceBody':{'id':'y','pk':'p','v':%u}}]",
                        value, value),
             200, 449);
    }
}

static void read_pairs(struct runner *runner)
{
    struct cosmos_face *f = &runner->face;

    for (int i = 0; i < 4 * ROUNDS; i++) {
        struct cosmos_answer answer = item_batch(
            f, P, "[{'operationType':'Read','id':'x'},{'operationType':'Read','id':'y'}]");
        struct buffer body = buffer_in(f->world.arena);
        buffer_append_text(&body, "{\"r\":");
        buffer_append(&body, answer.body);
        buffer_append_text(&body, "}");
        answer.body = bytes_of(body.data, body.len);
        CHECK_EQ(answer.status, 200, "");
        CHECK_STRING(item_text(f, &answer, "r.0.resourceBody.v"),
                     item_text(f, &answer, "r.1.resourceBody.v"));
        runner->won++;
    }
}

static void write_or_read_pairs(struct runner *runner)
{
    (runner->number % 2 ? write_pairs : read_pairs)(runner);
}

TEST(item_threads, a_batch_is_seen_whole_or_not_at_all)
{
    struct cosmos_face f;
    struct runner runners[THREADS];

    items_open(&f, TTL_OFF);
    CHECK_ANSWER(item_batch(&f, P,
                            "[{'operationType':'Create','resourceBody':{'id':'x','pk':'p','v':0}},"
                            "{'operationType':'Create','resourceBody':{'id':'y','pk':'p','v':0}}]"),
                 200);
    run_all(&f, runners, THREADS, write_or_read_pairs);
    CHECK_EQ(total_won(runners, THREADS), THREADS * 4 * ROUNDS, "");
    items_close(&f);
}

/* ---- deleting a partition --------------------------------------------------------------------------- */

static void create_or_clear(struct runner *runner)
{
    struct cosmos_face *f = &runner->face;

    for (int i = 0; i < ROUNDS; i++) {
        if (runner->number == 0) {
            struct cosmos_answer answer =
                cosmos_ask(f, "POST /dbs/db/colls/c/operations/partitionkeydelete",
                           "x-ms-documentdb-partitionkey: ['p']", "");
            CHECK_EQ(answer.status, 200, "");
        } else {
            note(runner, item_create(f, P, "{'id':'%u-%d','pk':'p'}", runner->number, i), 201, 409);
            note(runner, item_create(f, "", "{'id':'%u-%d','pk':'q'}", runner->number, i), 201,
                 409);
        }
    }
}

TEST(item_threads, deleting_a_partition_key_leaves_the_others_alone)
{
    struct cosmos_face f;
    struct runner runners[THREADS];

    items_open(&f, TTL_OFF);
    run_all(&f, runners, THREADS, create_or_clear);
    struct cosmos_answer feed = item_feed(&f, "pk: ['q']");
    CHECK_TEXT(cosmos_value(&f, &feed, "_count"), "200");
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs/db/colls/c/operations/partitionkeydelete",
                            "x-ms-documentdb-partitionkey: ['p']", ""),
                 200);
    feed = item_feed(&f, P);
    CHECK_TEXT(cosmos_value(&f, &feed, "_count"), "0");
    items_close(&f);
}
