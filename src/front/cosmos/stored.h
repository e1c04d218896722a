/* What the face keeps of its own in the options of databases and collections: a document under one key. What
 * others keep there stays as it is; what another face has made has no such document, and is shown with
 * defaults. */
#ifndef FRONT_COSMOS_STORED_H
#define FRONT_COSMOS_STORED_H

#include "front/cosmos/cosmos.h"

/* Throughput that somebody has set. */
struct offer {
    uint32_t throughput;    /* request units per second; of an autoscale offer, its lower end */
    uint32_t autoscale_max; /* 0: not autoscale */
    int64_t ts;
    uint32_t version; /* raised by each change */
};

struct stored {
    int64_t ts;          /* seconds of the last change; 0 if the face has not made it */
    uint32_t version;    /* raised by each change; 0 likewise */
    int32_t default_ttl; /* of a container, as of that change */
    bytes definition;    /* of a container; empty if the face has not made it */
    bool has_offer;
    struct offer offer;
};

/* Borrows from the options. */
struct stored stored_read(bytes options);
/* Only that, for whoever needs it with every request. */
bytes stored_definition(bytes options);
/* The options with this in them, in the arena. */
MUST_USE status stored_write(struct arena *arena, bytes options, const struct stored *stored,
                             bytes *out);

#endif
