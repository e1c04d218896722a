/* What lives as long as the face. Inside the face only. */
#ifndef FRONT_MONGO_FACE_H
#define FRONT_MONGO_FACE_H

#include <pthread.h>
#include <stdatomic.h>

#include "front/mongo/fail_point.h"
#include "front/mongo/mongo.h"
#include "front/mongo/operation.h"
#include "front/mongo/profiler.h"
#include "front/mongo/tail.h"
#include "front/mongo/ttl.h"

struct counters;
struct lsid_table;
struct multi_table;
struct retry_table;
struct stream_table;
struct top_table;

enum { FACE_ADDRESS_BYTES = 300, OBJECT_ID_BYTES = 12 };

/* What this server says it is. */
#define FACE_VERSION "8.0.0"
#define FACE_FEATURES "8.0"
enum { FACE_VERSION_MAJOR = 8, FACE_VERSION_MINOR = 0, FACE_WIRE_VERSION = 25 };

/* Immutable after mongo_open but for what says otherwise. */
struct mongo {
    struct engine *engine;
    const struct log *log;
    struct metrics *metrics;
    struct audit *audit;
    const char *set_name;
    const char *program_version;
    const char *directory; /* for rows that do not fit into memory */
    bool has_test_commands;
    time_ms started_at;
    char address[FACE_ADDRESS_BYTES]; /* set before the first client comes */
    uint8_t process_id[OBJECT_ID_BYTES];
    uint8_t login_seed[32]; /* of the salts of users that are not there */
    struct stream_table *streams;
    struct lsid_table *sessions;
    struct retry_table *retries;
    struct multi_table *multis;
    struct tail_bells tails;
    struct operation_list operations;
    struct counters *counters;
    struct top_table *top;
    struct fail_point fail_point;
    struct profiler profiler;

    _Atomic bool has_users;
    _Atomic uint64_t users_version; /* raised when users change */
    struct ttl_state ttl;

    _Atomic int32_t next_request_id;
    _Atomic int32_t next_connection_id;
    _Atomic int32_t connection_count;
    _Atomic uint64_t cluster_time; /* the newest that was handed out: seconds, then a counter */
    _Atomic uint32_t object_count; /* of the ids made here */
};

/* Seconds in the upper half, a counter below; never runs back. `is_write`: a new one. */
uint64_t face_cluster_time(struct mongo *face, bool is_write);
/* A new ObjectId. */
void face_make_object_id(struct mongo *face, uint8_t out[OBJECT_ID_BYTES]);

#endif
