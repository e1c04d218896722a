/* Latches and gates: who has to wait says so, and is refused when too many wait. */
#include "tests/check.h"

#include <pthread.h>

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

TEST(latch, who_waits_for_a_stripe_says_so)
{
    struct owner owner = owner_of(false);
    struct latches *latches = memory_take_zeroed(1, sizeof(*latches));
    uint16_t one[] = { 7 }, three[] = { 3, 7, 9 };
    struct latch_set held = { one, 1 };
    struct visitor visitor = {
        .owner = &owner, .latches = latches, .set = {three, 3}
    };
    pthread_t thread;

    latches_init(latches);
    latch_set_take(latches, &held);
    pthread_create(&thread, NULL, visit, &visitor);
    await_begun(&owner, 1);
    latch_set_give(latches, &held);
    pthread_join(thread, NULL);
    CHECK(visitor.is_in);
    CHECK_EQ(owner.begun, 1, "only for the stripe that was held");
    CHECK_EQ(owner.ended, 1, "");
    latch_set_give(latches, &visitor.set);
    latches_destroy(latches);
    memory_give(latches);
}

TEST(latch, a_refused_wait_leaves_no_stripe_taken)
{
    struct owner owner = owner_of(true);
    struct latches *latches = memory_take_zeroed(1, sizeof(*latches));
    uint16_t one[] = { 7 }, three[] = { 3, 7, 9 };
    struct latch_set held = { one, 1 };
    struct visitor visitor = {
        .owner = &owner, .latches = latches, .set = {three, 3}
    };
    pthread_t thread;

    latches_init(latches);
    latch_set_take(latches, &held);
    pthread_create(&thread, NULL, visit, &visitor);
    pthread_join(thread, NULL);
    CHECK(!visitor.is_in);
    CHECK_EQ(owner.begun, 1, "");
    CHECK_EQ(owner.ended, 0, "");
    latch_set_give(latches, &held);
    latch_set_take(latches, &visitor.set);
    latch_set_give(latches, &visitor.set);
    latches_destroy(latches);
    memory_give(latches);
}

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
