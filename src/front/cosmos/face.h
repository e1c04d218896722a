/* What lives as long as the face. Inside the face only. */
#ifndef FRONT_COSMOS_FACE_H
#define FRONT_COSMOS_FACE_H

#include <pthread.h>
#include <stdatomic.h>

#include "front/cosmos/cosmos.h"

struct auth;
struct throughput;

/* Immutable after cosmos_open but for what says otherwise. */
struct cosmos {
    struct engine *engine;
    const struct log *log;
    struct metrics *metrics;
    struct audit *audit;
    struct auth *auth;
    struct throughput *throughput; /* NULL: not enforced */
    struct memo *shown;            /* items as text, see item_show_again() */
    /* Changes of resources (databases, containers, offers, users) run one at a time, so that what was
     * checked is still true when it is changed. Taken before any lock of the engine. */
    pthread_mutex_t resource_lock;
    uint64_t activity_seed[2];
    _Atomic uint64_t activity_count;
};

/* Where users and permissions are kept; hidden from every list and refused as a name. */
#define SYSTEM_DATABASE "$mayfly"

#endif
