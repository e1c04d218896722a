/* Mongo: opening and closing the face, and what it counts. The way of a command starts in session.c.
 *
 * Threads: the counters are atomic; everything else stands still while clients are served. */
#include "front/mongo/mongo.h"

#include <stdio.h>

#include "front/mongo/counters.h"
#include "front/mongo/face.h"
#include "front/mongo/multi.h"
#include "front/mongo/principal.h"
#include "front/mongo/retry.h"
#include "front/mongo/stream.h"
#include "front/mongo/top.h"

static const char default_set_name[] = "mayfly", default_directory[] = "/tmp";

status mongo_open(const struct mongo_options *options, struct arena *arena, struct mongo **out)
{
    struct mongo *face = memory_take_zeroed(1, sizeof(*face));

    *out = NULL;
    if (!face)
        return status_of(OUT_OF_MEMORY, "no memory to open the face");
    face->engine = options->engine;
    face->log = options->log;
    face->metrics = options->metrics;
    face->audit = options->audit;
    face->set_name = options->set_name ? options->set_name : default_set_name;
    face->program_version = options->version ? options->version : "";
    face->directory = options->directory ? options->directory : default_directory;
    face->has_test_commands = options->has_test_commands;
    face->started_at = clock_now(engine_clock(face->engine));
    random_secret(face->process_id, sizeof(face->process_id));
    random_secret(face->login_seed, sizeof(face->login_seed));
    ttl_state_init(&face->ttl);
    operation_list_open(&face->operations);
    fail_point_open(&face->fail_point);
    tail_open(face);
    profiler_open(&face->profiler);
    face->streams = stream_table_open();
    face->sessions = lsid_table_open(face->started_at);
    face->retries = retry_table_open();
    face->counters = counters_open();
    face->multis = multi_table_open();
    face->top = top_table_open();
    if (!face->streams || !face->sessions || !face->retries || !face->counters || !face->multis ||
        !face->top) {
        mongo_close(face);
        return status_of(OUT_OF_MEMORY, "no memory for cursors and sessions");
    }
    status s = principal_load(face, arena);
    if (s.code != OK) {
        mongo_close(face);
        return s;
    }
    engine_keep_notes(face->engine, retry_is_needed, face);
    *out = face;
    return STATUS_OK;
}

void mongo_close(struct mongo *face)
{
    if (!face)
        return;
    engine_keep_notes(face->engine, NULL, NULL);
    if (face->streams)
        stream_table_close(face->streams);
    if (face->sessions)
        lsid_table_close(face->sessions);
    if (face->retries)
        retry_table_close(face->retries);
    if (face->multis)
        multi_table_close(face->multis);
    tail_close(face);
    operation_list_close(&face->operations);
    counters_close(face->counters);
    top_table_close(face->top);
    fail_point_close(&face->fail_point);
    profiler_close(&face->profiler);
    memory_give(face);
}

status mongo_announce(struct mongo *face, const char *address)
{
    if (strlen(address) >= sizeof(face->address))
        return status_of(TOO_LARGE, "the address of the server is too long");
    snprintf(face->address, sizeof(face->address), "%s", address);
    return STATUS_OK;
}

bool mongo_has_users(const struct mongo *face)
{
    return atomic_load(&face->has_users);
}

uint64_t face_cluster_time(struct mongo *face, bool is_write)
{
    time_ms now = clock_now(engine_clock(face->engine));
    uint64_t seen = atomic_load(&face->cluster_time), next;

    do {
        uint64_t least = (uint64_t)(now / 1000) << 32 | 1;
        next = least > seen ? least : seen + (is_write ? 1 : 0);
    } while (next != seen && !atomic_compare_exchange_weak(&face->cluster_time, &seen, next));
    return next;
}

void face_make_object_id(struct mongo *face, uint8_t out[OBJECT_ID_BYTES])
{
    uint32_t seconds = (uint32_t)(clock_now(engine_clock(face->engine)) / 1000);
    uint32_t count = atomic_fetch_add(&face->object_count, 1);

    for (int i = 0; i < 4; i++)
        out[i] = (uint8_t)(seconds >> (24 - 8 * i));
    memcpy(out + 4, face->process_id, 5);
    for (int i = 0; i < 3; i++)
        out[9 + i] = (uint8_t)(count >> (16 - 8 * i));
}
