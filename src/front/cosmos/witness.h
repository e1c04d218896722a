/* What is told of a request when it ends: refusals and changes to the audit log, slowness to the log. */
#ifndef FRONT_COSMOS_WITNESS_H
#define FRONT_COSMOS_WITNESS_H

#include "front/cosmos/call.h"

/* The reply has its status; the engine's request still runs. */
void witness_end(const struct call *call);

#endif
