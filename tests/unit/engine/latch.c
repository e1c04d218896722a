/* Latches and gates: who has to wait says so, and is refused when too many wait; who waits is served in order. */
#include "tests/check.h"

#include <pthread.h>
#include <sched.h>

#include "engine/latch.h"

/* An owner of threads that counts, and whose first caller may go on once the main thread has seen it. */
struct owner {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned begun, ended;
    bool is_full;
};

static bool begin(void *context)
{
    struct owner *owner = context;

    pthread_mutex_lock(&owner->lock);
    owner->begun++;
    bool is_full = owner->is_full;
    pthread_cond_broadcast(&owner->changed);
    pthread_mutex_unlock(&owner->lock);
    return !is_full;
}

static void end(void *context)
{
    struct owner *owner = context;

    pthread_mutex_lock(&owner->lock);
    owner->ended++;
    pthread_mutex_unlock(&owner->lock);
}

/* A request on a thread of its own. */
struct visitor {
    struct owner *owner;
    struct latches *latches;
    struct latch_set set;
    struct gate *gate;
    bool is_in;
};

static void *visit(void *argument)
{
    struct visitor *visitor = argument;
    struct block_host host = { begin, end, visitor->owner };

    block_set_host(&host);
    visitor->is_in = visitor->gate ? gate_enter_unless_busy(visitor->gate)
                                   : latch_set_take_unless_busy(visitor->latches, &visitor->set);
    block_set_host(NULL);
    return NULL;
}

static void await_begun(struct owner *owner, unsigned count)
{
    pthread_mutex_lock(&owner->lock);
    while (owner->begun < count)
        pthread_cond_wait(&owner->changed, &owner->lock);
    pthread_mutex_unlock(&owner->lock);
}

static struct owner owner_of(bool is_full)
{
    return (struct owner){ .lock = PTHREAD_MUTEX_INITIALIZER,
                           .changed = PTHREAD_COND_INITIALIZER,
                           .is_full = is_full };
}

static struct latches *latches_new(void)
{
    struct latches *latches = memory_take_zeroed(1, sizeof(*latches));

    CHECK(latches);
    latches_init(latches, 0);
    return latches;
}

static void latches_end(struct latches *latches)
{
    latches_destroy(latches);
    memory_give(latches);
}

TEST(latch, who_waits_for_a_latch_says_so)
{
    struct owner owner = owner_of(false);
    struct latches *latches = latches_new();
    struct latch one[] = { { .hash = 7 } },
                 three[] = { { .hash = 3 }, { .hash = 7 }, { .hash = 9 } };
    struct latch_set held = { one, 1 };
    struct visitor visitor = {
        .owner = &owner, .latches = latches, .set = {three, 3}
    };
    pthread_t thread;

    latch_set_take(latches, &held);
    pthread_create(&thread, NULL, visit, &visitor);
    await_begun(&owner, 1);
    latch_set_give(latches, &held);
    pthread_join(thread, NULL);
    CHECK(visitor.is_in);
    CHECK_EQ(owner.begun, 1, "only for the latch that was held");
    CHECK_EQ(owner.ended, 1, "");
    latch_set_give(latches, &visitor.set);
    latches_end(latches);
}

TEST(latch, a_refused_wait_leaves_no_latch_taken)
{
    struct owner owner = owner_of(true);
    struct latches *latches = latches_new();
    struct latch one[] = { { .hash = 7 } },
                 three[] = { { .hash = 3 }, { .hash = 7 }, { .hash = 9 } };
    struct latch_set held = { one, 1 };
    struct visitor visitor = {
        .owner = &owner, .latches = latches, .set = {three, 3}
    };
    pthread_t thread;

    latch_set_take(latches, &held);
    pthread_create(&thread, NULL, visit, &visitor);
    pthread_join(thread, NULL);
    CHECK(!visitor.is_in);
    CHECK_EQ(owner.begun, 1, "");
    CHECK_EQ(owner.ended, 0, "");
    latch_set_give(latches, &held);
    latch_set_take(latches, &visitor.set);
    latch_set_give(latches, &visitor.set);
    latches_end(latches);
}

TEST(latch, a_hash_that_comes_twice_is_one_latch)
{
    struct latches *latches = latches_new();
    struct latch items[5];
    struct latch_set set = { items, 0 };
    const uint64_t hashes[] = { UINT64_MAX, 5, UINT64_MAX, 0, 5 };

    for (size_t i = 0; i < ARRAY_COUNT(hashes); i++)
        latch_set_add(&set, hashes[i]);
    latch_set_sort(&set);
    CHECK_EQ(set.count, 3, "");
    CHECK(items[0].hash == 0 && items[1].hash == 5 && items[2].hash == UINT64_MAX);
    for (int i = 0; i < 2; i++) {
        latch_set_take(latches, &set);
        latch_set_give(latches, &set);
    }
    latches_end(latches);
}

/* One shard and one stripe for all. */
static uint64_t neighbour(uint64_t number)
{
    return number << 32;
}

TEST(latch, neighbours_do_not_wait_for_each_other_but_share_their_turn)
{
    struct latches *latches = latches_new();
    struct latch items[] = { { .hash = neighbour(1) }, { .hash = neighbour(2) } };
    struct latch_set first = { &items[0], 1 }, second = { &items[1], 1 };
    const uint64_t before = latch_turn(latches, neighbour(3));

    CHECK_EQ(before % 2, 0, "");
    CHECK_EQ(latch_turn(latches, 1), 0, "of another stripe");
    latch_set_take(latches, &first);
    CHECK_EQ(latch_turn(latches, neighbour(3)) % 2, 1, "");
    latch_set_take(latches, &second);
    CHECK_EQ(latch_turn(latches, neighbour(3)) % 2, 1, "two are held");
    latch_set_give(latches, &first);
    CHECK_EQ(latch_turn(latches, neighbour(3)) % 2, 1, "one is held");
    latch_set_give(latches, &second);
    CHECK_EQ(latch_turn(latches, neighbour(3)) % 2, 0, "");
    CHECK(latch_turn(latches, neighbour(3)) != before);
    CHECK_EQ(latch_turn(latches, 1), 0, "");
    latches_end(latches);
}

TEST(latch, hashes_that_share_a_stripe_without_salt_are_spread_with_it)
{
    enum { MANY = 2560 };
    struct latches *latches = latches_new();
    struct latch mine = { .hash = neighbour(0) };
    struct latch_set held = { &mine, 1 };
    int shared = 0;

    latches->salt = UINT64_C(0x9E3779B97F4A7C15);
    latch_set_take(latches, &held);
    for (int i = 1; i <= MANY; i++)
        shared += latch_turn(latches, neighbour((unsigned)i)) % 2 == 1;
    latch_set_give(latches, &held);
    CHECK_THAT(shared < MANY / 64, "%d of %d", shared, MANY);
    latches_end(latches);
}

/* As in base/bytes.c. */
static uint64_t mix(uint64_t a, uint64_t b)
{
    const __uint128_t product = (__uint128_t)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* What two words of a key were is not known any more when the hash is the same behind the second. */
TEST(latch, documents_whose_hashes_were_chosen_to_be_the_same_have_different_ones)
{
    enum { COLLECTION = 7 };
    const uint64_t odd = UINT64_C(0x9E3779B97F4A7C15);
    const uint64_t begun = COLLECTION ^ mix(16 ^ UINT64_C(0xD6E8FEB86659FD93), odd);
    const uint64_t one[] = { 1, 5 };
    const uint64_t other[] = { 2, mix(begun ^ 1, odd) ^ 5 ^ mix(begun ^ 2, odd) };
    const bytes key = bytes_of(one, sizeof(one)), chosen = bytes_of(other, sizeof(other));

    CHECK(bytes_hash(key, COLLECTION) == bytes_hash(chosen, COLLECTION));
    CHECK(latch_hash_of_document(COLLECTION, key) != latch_hash_of_document(COLLECTION, chosen));
}

/* ---- the line --------------------------------------------------------------------------------------- */

struct line {
    struct latches *latches;
    int served[4];
    int count;
};

struct in_line {
    struct line *line;
    struct latch latch;
    int number;
};

static void *stand_in_line(void *argument)
{
    struct in_line *self = argument;
    struct latch_set set = { &self->latch, 1 };

    latch_set_take(self->line->latches, &set);
    self->line->served[self->line->count++] = self->number; /* the latch guards it */
    latch_set_give(self->line->latches, &set);
    return NULL;
}

/* Until somebody stands at the end of the line who did not before. */
static struct latch_waiter *await_longer(struct latch_shard *shard, struct latch_waiter *last)
{
    struct latch_waiter *now = last;

    while (now == last) {
        pthread_mutex_lock(&shard->lock);
        now = shard->last;
        pthread_mutex_unlock(&shard->lock);
        sched_yield();
    }
    return now;
}

TEST(latch, those_who_wait_are_served_in_the_order_in_which_they_came)
{
    struct line line = { .latches = latches_new() };
    struct latch mine = { .hash = neighbour(7) };
    struct in_line others[3];
    struct latch_set held = { &mine, 1 };
    struct latch_waiter *last = NULL;
    pthread_t threads[3];

    latch_set_take(line.latches, &held);
    for (int i = 0; i < 3; i++) {
        others[i] = (struct in_line){ .line = &line, .latch = mine, .number = i };
        pthread_create(&threads[i], NULL, stand_in_line, &others[i]);
        last = await_longer(&line.latches->shards[0], last);
    }
    latch_set_give(line.latches, &held);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(line.served[i], i, "");
    latches_end(line.latches);
}

TEST(latch, who_waits_is_served_although_another_comes_back_at_once_again_and_again)
{
    struct line line = { .latches = latches_new() };
    struct latch mine = { .hash = neighbour(7) };
    struct in_line other = { .line = &line, .latch = { .hash = neighbour(7) }, .number = 5 };
    struct latch_set held = { &mine, 1 };
    pthread_t thread;

    latch_set_take(line.latches, &held);
    pthread_create(&thread, NULL, stand_in_line, &other);
    await_longer(&line.latches->shards[0], NULL);
    for (int i = 0; i <= LATCH_CALLS_MAX; i++) {
        latch_set_give(line.latches, &held);
        latch_set_take(line.latches, &held);
    }
    CHECK_EQ(line.count, 1, "it was handed over at the latest by the last");
    latch_set_give(line.latches, &held);
    pthread_join(thread, NULL);
    latches_end(line.latches);
}

TEST(latch, who_waits_for_another_latch_of_the_shard_is_passed_over)
{
    struct line line = { .latches = latches_new() };
    struct latch items[] = { { .hash = neighbour(1) }, { .hash = neighbour(2) } };
    struct latch_set first = { &items[0], 1 }, second = { &items[1], 1 };
    struct in_line others[2];
    struct latch_waiter *last = NULL;
    pthread_t threads[2];

    latch_set_take(line.latches, &first);
    latch_set_take(line.latches, &second);
    for (int i = 0; i < 2; i++) {
        others[i] = (struct in_line){
            .line = &line, .latch = {items[i].hash, NULL},
                 .number = i
        };
        pthread_create(&threads[i], NULL, stand_in_line, &others[i]);
        last = await_longer(&line.latches->shards[0], last);
    }
    latch_set_give(line.latches, &second);
    pthread_join(threads[1], NULL);
    latch_set_give(line.latches, &first);
    pthread_join(threads[0], NULL);
    CHECK_EQ(line.served[0], 1, "");
    CHECK_EQ(line.served[1], 0, "");
    latches_end(line.latches);
}

/* ---- many ------------------------------------------------------------------------------------------- */

enum { KEYS = 4000, KEYS_AT_ONCE = 1500, MANY_THREADS = 4, MANY_ROUNDS = 20 };

struct many {
    struct latches *latches;
    int touched[KEYS]; /* each guarded by its latch */
};

struct one_of_many {
    struct many *many;
    uint64_t seed;
    uint64_t touched;
};

static uint64_t hash_of_key(uint64_t key)
{
    return bytes_hash(bytes_of(&key, sizeof(key)), 1);
}

static void *touch_many(void *argument)
{
    struct one_of_many *self = argument;
    struct random random = random_seeded(self->seed);
    struct latch items[KEYS_AT_ONCE];
    uint64_t keys[KEYS_AT_ONCE];

    for (int round = 0; round < MANY_ROUNDS; round++) {
        struct latch_set set = { items, 0 };
        for (size_t i = 0; i < KEYS_AT_ONCE; i++) {
            keys[i] = random_below(&random, KEYS);
            latch_set_add(&set, hash_of_key(keys[i]));
        }
        latch_set_sort(&set);
        latch_set_take(self->many->latches, &set);
        for (size_t i = 0; i < KEYS_AT_ONCE; i++)
            self->many->touched[keys[i]]++;
        self->touched += KEYS_AT_ONCE;
        latch_set_give(self->many->latches, &set);
    }
    return NULL;
}

TEST(latch, thousands_of_keys_that_overlap_are_held_by_one_at_a_time_and_nobody_waits_in_a_circle)
{
    struct many many = { .latches = latches_new() };
    struct one_of_many each[MANY_THREADS];
    pthread_t threads[MANY_THREADS];
    uint64_t touched = 0;

    for (size_t i = 0; i < MANY_THREADS; i++) {
        each[i] = (struct one_of_many){ .many = &many, .seed = i + 1 };
        pthread_create(&threads[i], NULL, touch_many, &each[i]);
    }
    for (size_t i = 0; i < MANY_THREADS; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < KEYS; i++)
        touched += (uint64_t)many.touched[i];
    CHECK_EQ(touched, (uint64_t)MANY_THREADS * MANY_ROUNDS * KEYS_AT_ONCE, "");
    for (size_t i = 0; i < KEYS; i++)
        CHECK_EQ(latch_turn(many.latches, hash_of_key(i)) % 2, 0, "all were given back");
    latches_end(many.latches);
}

/* ---- gates ------------------------------------------------------------------------------------------ */

TEST(latch, a_refused_wait_at_a_gate_is_not_inside)
{
    struct owner owner = owner_of(true);
    struct gate gate;
    struct visitor visitor = { .owner = &owner, .gate = &gate };
    pthread_t thread;

    gate_init(&gate);
    gate_close(&gate);
    pthread_create(&thread, NULL, visit, &visitor);
    pthread_join(thread, NULL);
    CHECK(!visitor.is_in);
    gate_open(&gate);
    pthread_create(&thread, NULL, visit, &visitor);
    pthread_join(thread, NULL);
    CHECK(visitor.is_in);
    CHECK_EQ(owner.begun, 1, "an open gate is no wait");
    gate_leave(&gate);
    gate_close(&gate);
    gate_open(&gate);
    gate_destroy(&gate);
}
