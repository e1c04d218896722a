/* Enforced throughput: a token bucket per container, or per database whose containers share it. Off unless
 * the server was started with it. */
#ifndef FRONT_COSMOS_THROUGHPUT_H
#define FRONT_COSMOS_THROUGHPUT_H

#include "front/cosmos/charge.h"
#include "front/cosmos/cosmos.h"

struct call;
struct throughput;

/* Owner: handle. NULL without memory. */
struct throughput *throughput_open(void);
void throughput_close(struct throughput *throughput);

/* FAIL_RATE with the time to wait if the container's bucket is empty; before the handler runs. */
MUST_USE status throughput_admit(struct call *call);
/* Takes what the request cost; may leave the bucket in debt. Callable from every thread, never waits. */
void throughput_draw(struct call *call, charge_units charge);

/* ---- the buckets themselves ------------------------------------------------------------------------- */

/* Whose bucket it is, how many request units flow into it per second, and when it is asked. */
struct throughput_bucket {
    uint32_t owner; /* not 0 */
    uint32_t units_per_s;
    int64_t now_ms; /* monotonic */
};
/* 0 if there is something in the bucket, otherwise in how many milliseconds to come again: when there will be
 * something, for the next one who asks a little later. */
unsigned throughput_wait_ms(struct throughput *throughput, struct throughput_bucket bucket);
void throughput_take(struct throughput *throughput, struct throughput_bucket bucket,
                     charge_units charge);

#endif
