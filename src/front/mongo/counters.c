/* Counters: what the server has done since it started.
 *
 * A connection counts in the shard of its number. Adding is a relaxed atomic operation on a line of memory that
 * hardly anybody else writes; reading adds the shards up.
 *
 * Threads: every function may be called from every thread. */
#include "front/mongo/counters.h"

#include "front/mongo/command.h"
#include "front/mongo/session.h"

enum { SHARDS = 8, LINE_BYTES = 64 };

struct shard {
    _Alignas(LINE_BYTES) _Atomic uint64_t values[COUNTER_COUNT];
    _Atomic uint64_t totals[COMMAND_ROWS];
    _Atomic uint64_t failed[COMMAND_ROWS];
};

struct counters {
    struct shard shards[SHARDS];
};

struct counters *counters_open(void)
{
    struct counters *counters = memory_take_aligned(LINE_BYTES, sizeof(*counters));

    if (counters)
        memset(counters, 0, sizeof(*counters));
    return counters;
}

void counters_close(struct counters *counters)
{
    memory_give(counters);
}

static struct shard *shard_of(struct mongo *face, int32_t connection_id)
{
    return &face->counters->shards[(unsigned)connection_id % SHARDS];
}

static void add(struct shard *shard, enum counter counter, uint64_t more)
{
    if (more > 0)
        atomic_fetch_add_explicit(&shard->values[counter], more, memory_order_relaxed);
}

void counters_add(const struct command *command, bool is_failed, int64_t took_us)
{
    struct shard *shard = shard_of(command->face, command->session->connection_id);
    const struct command_work *work = &command->work;
    size_t place = command_place(command->row);
    enum counter kind = command->row->traits & TRAIT_WRITE    ? COUNTER_WRITES
                        : command->row->access == ACCESS_READ ? COUNTER_READS
                                                              : COUNTER_OTHERS;

    atomic_fetch_add_explicit(&shard->totals[place], 1, memory_order_relaxed);
    add(shard, kind, 1);
    add(shard, kind + 1, (uint64_t)took_us);
    add(shard, COUNTER_INSERTED, (uint64_t)(work->inserted + work->upserted));
    add(shard, COUNTER_UPDATED, (uint64_t)work->modified);
    add(shard, COUNTER_DELETED, (uint64_t)work->deleted);
    add(shard, COUNTER_RETURNED, (uint64_t)work->returned);
    add(shard, COUNTER_KEYS, work->keys);
    add(shard, COUNTER_DOCUMENTS, work->documents);
    add(shard, COUNTER_SORTED, work->is_sorted);
    if (!is_failed)
        return;
    atomic_fetch_add_explicit(&shard->failed[place], 1, memory_order_relaxed);
    add(shard, COUNTER_OUT_OF_TIME, command->fault.code == ERROR_MaxTimeMSExpired);
    add(shard, COUNTER_KILLED, command->fault.code == ERROR_Interrupted);
}

void counters_message(struct mongo *face, int32_t connection_id, size_t in, size_t out)
{
    struct shard *shard = shard_of(face, connection_id);

    add(shard, COUNTER_REQUESTS, 1);
    add(shard, COUNTER_BYTES_IN, in);
    add(shard, COUNTER_BYTES_OUT, out);
}

/* ---- reading ---------------------------------------------------------------------------------------- */

uint64_t counters_read(const struct counters *counters, enum counter counter)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < SHARDS; i++)
        sum += atomic_load_explicit(&counters->shards[i].values[counter], memory_order_relaxed);
    return sum;
}

struct command_count counters_of(const struct counters *counters, size_t place)
{
    struct command_count count = { 0 };

    for (size_t i = 0; i < SHARDS; i++) {
        const struct shard *shard = &counters->shards[i];
        count.total += atomic_load_explicit(&shard->totals[place], memory_order_relaxed);
        count.failed += atomic_load_explicit(&shard->failed[place], memory_order_relaxed);
    }
    return count;
}

struct command_count counters_all(const struct counters *counters)
{
    struct command_count all = { 0 };

    for (size_t place = 0; place < COMMAND_ROWS; place++) {
        struct command_count one = counters_of(counters, place);
        all.total += one.total;
        all.failed += one.failed;
    }
    return all;
}
