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

#endif
