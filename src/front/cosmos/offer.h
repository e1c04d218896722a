/* Offers: the throughput of containers and databases, as headers of their creation, as resources of their
 * own, and as the figure that enforcement goes by. */
#ifndef FRONT_COSMOS_OFFER_H
#define FRONT_COSMOS_OFFER_H

#include "front/cosmos/call.h"
#include "front/cosmos/stored.h"

/* What a container has of which nothing was said. */
enum { OFFER_DEFAULT_THROUGHPUT = 400 };

/* x-ms-offer-throughput or x-ms-cosmos-offer-autopilot-settings of a create, into `stored`; nothing if there
 * is neither. FAIL_BAD_REQUEST for both, or a value out of range. */
MUST_USE status offer_of_headers(struct call *call, struct stored *stored);

/* Whose request units the call spends: its container's own, or those that the containers of its database
 * share. Callable from every thread, in constant time. */
struct offer_share {
    uint32_t owner; /* number of the container or database; no two have the same */
    uint32_t throughput;
};
struct offer_share offer_throughput(const struct call *call);

#endif
