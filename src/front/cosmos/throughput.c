/* Throughput: request units as they are spent and come back.
 *
 * A bucket holds what comes in during one second. It is kept as one number, the time at which it will be full
 * if nobody takes more: taking moves that time ahead, and the bucket is empty while it is a second away or
 * more. So an untouched bucket needs no memory at all, and nothing has to be refilled. What a request costs
 * is known when it is done, so the last one may leave a debt, and the next one waits until it is paid.
 *
 * The table is bounded: an owner has a few places it may lie in; when they are taken, the bucket that is
 * nearest to full makes room, because forgetting it gives away the least.
 *
 * Keeps: only requests for items are limited; nothing that happens without a request, purging above all, ever
 * draws. Threads: callable from every thread; one leaf lock over the table. Start reading at
 * throughput_admit(). */
#include "front/cosmos/throughput.h"

#include <pthread.h>

#include "front/cosmos/call.h"
#include "front/cosmos/face.h"
#include "front/cosmos/offer.h"

enum { WAYS = 8, SETS = LIMIT_THROUGHPUT_BUCKETS / WAYS };

#define NS_OF_MS INT64_C(1000000)
#define NS_OF_S INT64_C(1000000000)

struct slot {
    uint32_t owner; /* 0: nobody's */
    int64_t full_at_ns;
    int64_t last_ns; /* how long the last charge takes to come in again */
    int64_t turn_ns; /* when the next who is sent away should be back */
};

struct throughput {
    pthread_mutex_t lock;
    struct slot slots[SETS][WAYS];
};

struct throughput *throughput_open(void)
{
    struct throughput *throughput = memory_take_zeroed(1, sizeof(*throughput));

    if (throughput)
        pthread_mutex_init(&throughput->lock, NULL);
    return throughput;
}

void throughput_close(struct throughput *throughput)
{
    if (!throughput)
        return;
    pthread_mutex_destroy(&throughput->lock);
    memory_give(throughput);
}

/* ---- buckets ---------------------------------------------------------------------------------------- */

static struct slot *set_of(struct throughput *throughput, uint32_t owner)
{
    return throughput->slots[(owner * UINT64_C(0x9E3779B97F4A7C15) >> 32) % SETS];
}

static struct slot *find_slot(struct throughput *throughput, uint32_t owner)
{
    struct slot *set = set_of(throughput, owner);

    for (size_t i = 0; i < WAYS; i++) {
        if (set[i].owner == owner)
            return &set[i];
    }
    return NULL;
}

static struct slot *take_slot(struct throughput *throughput, uint32_t owner)
{
    struct slot *set = set_of(throughput, owner);
    struct slot *fullest = &set[0];

    for (size_t i = 1; i < WAYS; i++) {
        if (set[i].full_at_ns < fullest->full_at_ns)
            fullest = &set[i];
    }
    *fullest = (struct slot){ .owner = owner };
    return fullest;
}

/* Who is sent away comes back a moment after the one before, as long as the last request cost, because clients
 * give up after a few attempts if they are all told the same time and only the first is served then. They
 * are spread over a second at most, so that one who keeps asking does not push the others away. */
static int64_t take_turn(struct slot *slot, int64_t opens_at_ns)
{
    int64_t turn_ns = slot->turn_ns;

    if (turn_ns < opens_at_ns || turn_ns - opens_at_ns > NS_OF_S)
        turn_ns = opens_at_ns;
    slot->turn_ns = int64_add_saturating(turn_ns, slot->last_ns);
    return turn_ns;
}

unsigned throughput_wait_ms(struct throughput *throughput, struct throughput_bucket bucket)
{
    int64_t now_ns = bucket.now_ms * NS_OF_MS, wait_ns = -1;

    pthread_mutex_lock(&throughput->lock);
    struct slot *slot = find_slot(throughput, bucket.owner);
    if (slot && slot->full_at_ns - now_ns >= NS_OF_S)
        wait_ns = take_turn(slot, slot->full_at_ns - NS_OF_S) - now_ns;
    pthread_mutex_unlock(&throughput->lock);
    if (wait_ns < 0)
        return 0;
    int64_t wait_ms = wait_ns / NS_OF_MS + 1;
    return wait_ms < INT32_MAX ? (unsigned)wait_ms : INT32_MAX;
}

/* How long it takes until this much has come in: hundredths at units per second. */
static int64_t flow_time_ns(charge_units charge, uint32_t units_per_s)
{
    return (int64_t)charge * (NS_OF_S / 100) / (units_per_s > 0 ? units_per_s : 1);
}

void throughput_take(struct throughput *throughput, struct throughput_bucket bucket,
                     charge_units charge)
{
    int64_t now_ns = bucket.now_ms * NS_OF_MS;

    ASSERT(bucket.owner != 0);
    if (charge == 0)
        return;
    pthread_mutex_lock(&throughput->lock);
    struct slot *slot = find_slot(throughput, bucket.owner);
    if (!slot)
        slot = take_slot(throughput, bucket.owner);
    if (slot->full_at_ns < now_ns)
        slot->full_at_ns = now_ns;
    slot->last_ns = flow_time_ns(charge, bucket.units_per_s);
    slot->full_at_ns = int64_add_saturating(slot->full_at_ns, slot->last_ns);
    pthread_mutex_unlock(&throughput->lock);
}

/* ---- calls ------------------------------------------------------------------------------------------ */

static bool is_limited(const struct call *call)
{
    return call->face->throughput && call->has_request && call->collection &&
           call->link.count >= 5 && call->route->form != FORM_PLAN &&
           (bytes_equal(call->link.parts[4], BYTES_LITERAL("docs")) ||
            bytes_equal(call->link.parts[4], BYTES_LITERAL("operations")));
}

static struct throughput_bucket bucket_of(const struct call *call)
{
    struct offer_share share = offer_throughput(call);

    return (
        struct throughput_bucket){ .owner = share.owner,
                                   .units_per_s = share.throughput,
                                   .now_ms = clock_monotonic(engine_clock(call->face->engine)) };
}

status throughput_admit(struct call *call)
{
    if (!is_limited(call))
        return STATUS_OK;
    unsigned wait_ms = throughput_wait_ms(call->face->throughput, bucket_of(call));
    if (wait_ms == 0)
        return STATUS_OK;
    status s = call_fail(call, FAIL_RATE, NULL);
    call->failure.retry_after_ms = wait_ms;
    call->charge = 0;
    return s;
}

void throughput_draw(struct call *call, charge_units charge)
{
    if (charge > 0 && is_limited(call))
        throughput_take(call->face->throughput, bucket_of(call), charge);
}
