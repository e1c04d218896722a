/* Enforced throughput: buckets under a clock that only the test moves. */
#include "front/cosmos/throughput.h"

#include "tests/check.h"
#include "tests/support/cosmos_face.h"

/* 400 units per second, at this many milliseconds. */
static struct throughput_bucket at(int64_t now_ms)
{
    return (struct throughput_bucket){ .owner = 7, .units_per_s = 400, .now_ms = now_ms };
}

TEST(throughput, a_full_bucket_holds_the_units_of_one_second)
{
    struct throughput *t = throughput_open();

    CHECK_EQ(throughput_wait_ms(t, at(1000)), 0, "an untouched bucket is full");
    throughput_take(t, at(1000), 39999);
    CHECK_EQ(throughput_wait_ms(t, at(1000)), 0, "a hundredth is left");
    throughput_take(t, at(1000), 1);
    CHECK_EQ(throughput_wait_ms(t, at(1000)), 1, "it is empty");
    CHECK_EQ(throughput_wait_ms(t, at(1001)), 0, "four tenths of a unit came in");
    throughput_close(t);
}

TEST(throughput, a_debt_is_waited_for_exactly_as_long_as_it_takes)
{
    struct throughput *t = throughput_open();

    /* 400 are there, 1000 are taken: 600 are missing, that is a second and a half. */
    throughput_take(t, at(0), 100000);
    CHECK_EQ(throughput_wait_ms(t, at(0)), 1501, "");
    CHECK_EQ(throughput_wait_ms(t, at(1000)), 501, "");
    CHECK_EQ(throughput_wait_ms(t, at(1500)), 1, "what was missing is there, and nothing more");
    CHECK_EQ(throughput_wait_ms(t, at(1501)), 0, "");
    throughput_close(t);
}

TEST(throughput, a_bucket_never_holds_more_than_a_second)
{
    struct throughput *t = throughput_open();

    throughput_take(t, at(0), 100);
    throughput_take(t, at(3600000), 40000);
    CHECK_EQ(throughput_wait_ms(t, at(3600000)), 1, "an hour has filled it once");
    throughput_close(t);
}

TEST(throughput, steady_use_at_the_rate_is_never_refused)
{
    struct throughput *t = throughput_open();
    unsigned refused = 0, served = 0;

    for (int64_t ms = 0; ms < 60000; ms += 5, served++) {
        refused += throughput_wait_ms(t, at(ms)) != 0;
        throughput_take(t, at(ms), 200); /* 2 units in 5 ms are 400 in a second */
    }
    CHECK_EQ(refused, 0, "of %u", served);
    throughput_close(t);
}

TEST(throughput, twice_the_rate_is_served_every_second_time)
{
    struct throughput *t = throughput_open();
    uint64_t spent = 0;

    for (int64_t ms = 0; ms < 60000; ms++) {
        if (throughput_wait_ms(t, at(ms)) != 0)
            continue;
        throughput_take(t, at(ms), 80); /* 0.8 units in a millisecond would be 800 in a second */
        spent += 80;
    }
    /* A minute at 400, and the second that was in the bucket at first; in hundredths. */
    CHECK_THAT(spent >= 61 * 40000 - 100 && spent <= 61 * 40000 + 100, "%d", (int)spent);
    throughput_close(t);
}

TEST(throughput, a_higher_rate_pays_a_debt_sooner)
{
    struct throughput *t = throughput_open();
    struct throughput_bucket fast = { .owner = 7, .units_per_s = 4000 };

    throughput_take(t, fast, 100000);
    CHECK_EQ(throughput_wait_ms(t, fast), 0, "1000 of 4000");
    throughput_take(t, at(0), 100000);
    CHECK_EQ(throughput_wait_ms(t, at(0)), 1751, "a quarter of a second, and 1000 at 400");
    throughput_close(t);
}

TEST(throughput, who_is_sent_away_comes_back_after_the_one_before)
{
    struct throughput *t = throughput_open();

    for (int i = 0; i < 80; i++)
        throughput_take(t, at(0), 500); /* five units are 12.5 ms */
    CHECK_EQ(throughput_wait_ms(t, at(0)), 1, "");
    CHECK_EQ(throughput_wait_ms(t, at(0)), 13, "");
    CHECK_EQ(throughput_wait_ms(t, at(0)), 26, "");
    CHECK_EQ(throughput_wait_ms(t, at(2000)), 0, "but nobody waits for those who never came back");
    throughput_close(t);
}

/* Each does as clients do: comes back when it was told to, and gives up after nine attempts. */
TEST(throughput, a_crowd_gets_through_before_it_gives_up)
{
    enum { CROWD = 300, ATTEMPTS_MAX = 9, END_MS = 60000 };
    struct throughput *t = throughput_open();
    int64_t back_at[CROWD] = { 0 };
    int attempts[CROWD] = { 0 }, served = 0, most = 0;

    for (int64_t ms = 0; ms < END_MS && served < CROWD; ms++) {
        for (int i = 0; i < CROWD; i++) {
            if (back_at[i] != ms)
                continue;
            unsigned wait_ms = throughput_wait_ms(t, at(ms));
            back_at[i] = wait_ms ? ms + wait_ms : -1;
            attempts[i] += wait_ms != 0;
            most = attempts[i] > most ? attempts[i] : most;
            if (wait_ms == 0) {
                throughput_take(t, at(ms), 515);
                served++;
            }
        }
    }
    CHECK_EQ(served, CROWD, "");
    CHECK_THAT(most <= ATTEMPTS_MAX, "%d attempts", most);
    throughput_close(t);
}

TEST(throughput, owners_do_not_draw_from_each_other)
{
    struct throughput *t = throughput_open();
    struct throughput_bucket other = at(0);

    other.owner = 8;
    throughput_take(t, at(0), 100000);
    CHECK_EQ(throughput_wait_ms(t, other), 0, "");
    throughput_close(t);
}

TEST(throughput, more_owners_than_buckets_forget_the_fullest_first)
{
    struct throughput *t = throughput_open();
    struct throughput_bucket bucket = at(0);

    throughput_take(t, at(0), 40000000);
    for (uint32_t owner = 100; owner < 100 + 4 * LIMIT_THROUGHPUT_BUCKETS; owner++) {
        bucket.owner = owner;
        throughput_take(t, bucket, 100);
        CHECK_EQ(throughput_wait_ms(t, bucket), 0, "%u", owner);
    }
    CHECK_EQ(throughput_wait_ms(t, at(0)), 999001, "the deepest debt stays");
    throughput_close(t);
}

TEST(throughput, the_largest_charge_does_not_wrap)
{
    struct throughput *t = throughput_open();
    struct throughput_bucket slow = { .owner = 7, .units_per_s = 0 };

    for (int i = 0; i < 1000; i++)
        throughput_take(t, slow, UINT32_MAX);
    CHECK_EQ(throughput_wait_ms(t, slow), INT32_MAX, "");
    throughput_close(t);
}

/* ---- over the face ---------------------------------------------------------------------------------- */

static void open_enforcing(struct cosmos_face *f)
{
    struct cosmos_options options = { .enforces_throughput = true };

    cosmos_face_open_with(f, &options);
    CHECK_ANSWER(cosmos_ask(f, "POST /dbs", "", "{'id':'own'}"), 201);
    CHECK_ANSWER(cosmos_ask(f, "POST /dbs", "x-ms-offer-throughput: 500", "{'id':'shared'}"), 201);
}

static void make_container(struct cosmos_face *f, const char *database, const char *name,
                           const char *headers)
{
    const char *request = arena_format(f->world.arena, "POST /dbs/%s/colls", database);
    const char *body = arena_format(f->world.arena, "{'id':'%s','partitionKey':{'paths':['/pk']}}",
                                    name);

    CHECK_ANSWER(cosmos_ask(f, request, headers, body), 201);
}

/* Reads an item that is not there, for one unit; what the face answered. */
static struct cosmos_answer read_in(struct cosmos_face *f, const char *container)
{
    const char *request = arena_format(f->world.arena, "GET /%s/docs/none", container);
    struct cosmos_answer a = cosmos_ask(f, request, "x-ms-documentdb-partitionkey: ['a']", "");

    CHECK_TEXT(cosmos_header(&a, "x-ms-request-charge"), a.status == 429 ? "0.00" : "1.00");
    return a;
}

/* How many reads a container serves before it refuses one. */
static unsigned reads_until_refused(struct cosmos_face *f, const char *container)
{
    unsigned served = 0;

    while (served < 5000 && read_in(f, container).status != 429)
        served++;
    return served;
}

TEST(throughput, a_container_is_held_to_its_offer)
{
    struct cosmos_face f;

    open_enforcing(&f);
    make_container(&f, "own", "small", "");
    make_container(&f, "own", "large", "x-ms-offer-throughput: 1000");
    make_container(&f, "own", "auto",
                   "x-ms-cosmos-offer-autopilot-settings: {'maxThroughput':2000}");
    CHECK_EQ(reads_until_refused(&f, "dbs/own/colls/small"), 400, "");
    CHECK_EQ(reads_until_refused(&f, "dbs/own/colls/large"), 1000, "");
    CHECK_EQ(reads_until_refused(&f, "dbs/own/colls/auto"), 2000, "");
    cosmos_face_close(&f);
}

TEST(throughput, a_refusal_says_how_long_to_wait_and_that_is_enough)
{
    struct cosmos_face f;

    open_enforcing(&f);
    make_container(&f, "own", "c", "");
    CHECK_EQ(reads_until_refused(&f, "dbs/own/colls/c"), 400, "");
    struct cosmos_answer refused = read_in(&f, "dbs/own/colls/c");
    CHECK_ANSWER(refused, 429);
    /* The first who was refused comes after 1 ms, this one when that has been paid for. */
    CHECK_TEXT(cosmos_header(&refused, "x-ms-retry-after-ms"), "3");
    CHECK_TEXT(cosmos_header(&refused, "x-ms-substatus"), "3200");
    world_pass(&f.world, 1);
    CHECK(read_in(&f, "dbs/own/colls/c").status != 429);
    world_pass(&f.world, 2);
    CHECK(read_in(&f, "dbs/own/colls/c").status != 429);
    world_pass(&f.world, 500);
    CHECK_EQ(reads_until_refused(&f, "dbs/own/colls/c"), 200, "half a second of 400");
    cosmos_face_close(&f);
}

TEST(throughput, containers_of_a_database_with_an_offer_share_it)
{
    struct cosmos_face f;

    open_enforcing(&f);
    make_container(&f, "shared", "a", "");
    make_container(&f, "shared", "b", "");
    make_container(&f, "shared", "apart", "x-ms-offer-throughput: 400");
    CHECK_EQ(reads_until_refused(&f, "dbs/shared/colls/a"), 500, "");
    CHECK_EQ(reads_until_refused(&f, "dbs/shared/colls/b"), 0, "");
    CHECK_EQ(reads_until_refused(&f, "dbs/shared/colls/apart"), 400, "it has an offer of its own");
    cosmos_face_close(&f);
}

TEST(throughput, metadata_is_served_when_all_units_are_spent)
{
    static const char *const requests[] = { "GET /",
                                            "GET /dbs",
                                            "GET /dbs/own",
                                            "GET /dbs/own/colls/c",
                                            "GET /dbs/own/colls/c/pkranges",
                                            "GET /offers" };
    struct cosmos_face f;

    open_enforcing(&f);
    make_container(&f, "own", "c", "");
    CHECK_EQ(reads_until_refused(&f, "dbs/own/colls/c"), 400, "");
    EACH_ROW(requests, request)
        CHECK_ANSWER(cosmos_ask(&f, *request, "", ""), 200);
    CHECK_ANSWER(read_in(&f, "dbs/own/colls/c"), 429);
    cosmos_face_close(&f);
}

TEST(throughput, nobody_is_held_up_unless_it_is_enforced)
{
    struct cosmos_face f;

    cosmos_face_open(&f);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs", "", "{'id':'own'}"), 201);
    make_container(&f, "own", "c", "");
    for (int i = 0; i < 1000; i++)
        CHECK(read_in(&f, "dbs/own/colls/c").status != 429);
    cosmos_face_close(&f);
}
