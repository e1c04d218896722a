/* Retry: what the writes of each session were answered.
 *
 * A session numbers its writes upwards and has one under way at a time, so only its last answer is kept: a
 * higher number takes its place, a lower one is refused. Answers are kept in memory for as long as a
 * session lives idle; a server that was restarted has forgotten them, and carries a repeated write out
 * again. When there is no room, the session that was idle longest is forgotten.
 *
 *   IDLE -> RUNNING [retry_begin]   RUNNING -> IDLE [retry_end, with the answer or without]
 *
 * Threads: a lock, held for a search in one bucket and a copy; nothing is called under it. Whoever waits for
 * a RUNNING write waits on a condition. */
#include "front/mongo/retry.h"

enum { BUCKETS = 4096, WAIT_MS = 30 * 1000 };

struct entry {
    struct entry *next; /* in its bucket */
    uint8_t *lsid;
    size_t lsid_len;
    int64_t number;
    bool is_running;
    uint8_t *reply; /* NULL: not answered */
    size_t reply_len;
    time_ms used_at;
};

struct retry_table {
    pthread_mutex_t lock;
    pthread_cond_t is_ended;
    size_t count;
    size_t bytes;
    struct entry *buckets[BUCKETS];
    size_t sweep_at; /* the bucket in which old entries are looked for next */
};

struct retry_table *retry_table_open(void)
{
    struct retry_table *table = memory_take_zeroed(1, sizeof(*table));

    if (!table)
        return NULL;
    pthread_mutex_init(&table->lock, NULL);
    wait_condition_init(&table->is_ended);
    return table;
}

static void forget_reply(struct retry_table *table, struct entry *entry)
{
    table->bytes -= entry->reply_len;
    memory_give(entry->reply);
    entry->reply = NULL;
    entry->reply_len = 0;
}

static void give(struct retry_table *table, struct entry *entry)
{
    forget_reply(table, entry);
    memory_give(entry->lsid);
    memory_give(entry);
    table->count--;
}

void retry_table_close(struct retry_table *table)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        while (table->buckets[i]) {
            struct entry *entry = table->buckets[i];
            table->buckets[i] = entry->next;
            give(table, entry);
        }
    }
    pthread_cond_destroy(&table->is_ended);
    pthread_mutex_destroy(&table->lock);
    memory_give(table);
}

/* ---- entries; under the lock ------------------------------------------------------------------------ */

static struct entry **find_place(struct retry_table *table, bytes lsid)
{
    struct entry **at = &table->buckets[bytes_hash(lsid, 0) % BUCKETS];

    while (*at && !bytes_equal(bytes_of((*at)->lsid, (*at)->lsid_len), lsid))
        at = &(*at)->next;
    return at;
}

/* Old ones of one bucket go at each new one, so that all are looked at in turn. Past the limits age does
 * not matter. */
static void sweep(struct retry_table *table, time_ms now)
{
    bool is_full = table->count >= LIMIT_RETRYABLE_SESSIONS ||
                   table->bytes >= LIMIT_RETRYABLE_BYTES;
    size_t buckets = is_full ? BUCKETS : 1;

    for (size_t i = 0; i < buckets; i++) {
        struct entry **at = &table->buckets[table->sweep_at++ % BUCKETS];
        while (*at) {
            struct entry *entry = *at;
            int64_t age = int64_sub_saturating(now, entry->used_at);
            if (!entry->is_running && (is_full || age >= LIMIT_LOGICAL_SESSION_MINUTES * 60000)) {
                *at = entry->next;
                give(table, entry);
            } else {
                at = &entry->next;
            }
        }
        if (is_full && table->count < LIMIT_RETRYABLE_SESSIONS / 2 &&
            table->bytes < LIMIT_RETRYABLE_BYTES / 2)
            return;
    }
}

static struct entry *add_entry(struct retry_table *table, bytes lsid, time_ms now)
{
    sweep(table, now);
    struct entry *entry = memory_take_zeroed(1, sizeof(*entry));
    uint8_t *copy = memory_take(lsid.len + 1);
    if (!entry || !copy) {
        memory_give(entry);
        memory_give(copy);
        return NULL;
    }
    memcpy(copy, lsid.data, lsid.len);
    entry->lsid = copy;
    entry->lsid_len = lsid.len;
    entry->number = INT64_MIN;
    struct entry **at = find_place(table, lsid);
    *at = entry;
    table->count++;
    return entry;
}

/* ---- the way of a write ----------------------------------------------------------------------------- */

static bytes lsid_of(const struct command *command)
{
    return command->lsid.type == VALUE_DOCUMENT ? value_document(command->lsid) : BYTES_NONE;
}

enum outcome { OUTCOME_RUN, OUTCOME_ANSWERED, OUTCOME_OLD, OUTCOME_WAIT, OUTCOME_NO_MEMORY };

/* Under the lock. */
static enum outcome enter(struct retry_table *table, struct command *command, bytes lsid,
                          bytes *reply_out, int64_t *newest_out)
{
    struct entry *entry = *find_place(table, lsid);

    if (!entry)
        entry = add_entry(table, lsid, command->request.now);
    if (!entry)
        return OUTCOME_NO_MEMORY;
    *newest_out = entry->number;
    if (command->txn_number < entry->number)
        return OUTCOME_OLD;
    if (entry->is_running)
        return OUTCOME_WAIT;
    entry->used_at = command->request.now;
    if (command->txn_number == entry->number && entry->reply) {
        bytes kept = bytes_of(entry->reply, entry->reply_len);
        return arena_copy(command->arena, kept, reply_out).code == OK ? OUTCOME_ANSWERED
                                                                      : OUTCOME_NO_MEMORY;
    }
    forget_reply(table, entry);
    entry->number = command->txn_number;
    entry->is_running = true;
    return OUTCOME_RUN;
}

static bool is_running(struct retry_table *table, bytes lsid)
{
    const struct entry *entry = *find_place(table, lsid);

    return entry && entry->is_running;
}

/* Until the write that the session has under way has ended; false if that takes too long. */
static bool wait_for(struct retry_table *table, bytes lsid)
{
    struct wait_limit limit = wait_limit_from_now(WAIT_MS);
    bool is_in_time = true;

    if (!block_begin())
        return false;
    pthread_mutex_lock(&table->lock);
    while (is_in_time && is_running(table, lsid))
        is_in_time = wait_on(&table->is_ended, &table->lock, &limit);
    pthread_mutex_unlock(&table->lock);
    block_end();
    return is_in_time;
}

static void append_answer(struct command *command, bytes reply)
{
    struct document_walk walk = document_fields(reply);
    struct field field;

    while (document_next(&walk, &field)) {
        if (!bytes_equal(field.name, BYTES_LITERAL("ok")))
            document_append(&command->reply, field.name, field.value);
    }
}

status retry_begin(struct command *command, bool *is_answered_out)
{
    struct retry_table *table = command->face->retries;
    bytes lsid = lsid_of(command), reply = BYTES_NONE;
    int64_t newest = 0;

    *is_answered_out = false;
    if (lsid.len == 0)
        return command_fail(command, ERROR_InvalidOptions,
                            "Transaction number requires a session ID to also be specified");
    enum outcome outcome;
    do {
        pthread_mutex_lock(&table->lock);
        outcome = enter(table, command, lsid, &reply, &newest);
        pthread_mutex_unlock(&table->lock);
    } while (outcome == OUTCOME_WAIT && wait_for(table, lsid));
    switch (outcome) {
    case OUTCOME_RUN:
        command->is_retryable = true;
        return STATUS_OK;
    case OUTCOME_ANSWERED:
        append_answer(command, reply);
        *is_answered_out = true;
        return STATUS_OK;
    case OUTCOME_OLD:
        return command_fail(command, ERROR_TransactionTooOld,
                            "Retryable write with txnNumber %lld is prohibited on this session "
                            "because a newer retryable write with txnNumber %lld has already "
                            "started on it.",
                            (long long)command->txn_number, (long long)newest);
    case OUTCOME_WAIT:
        return status_of(BUSY, "the same write is still being carried out; try again");
    case OUTCOME_NO_MEMORY:
        break;
    }
    return status_of(OUT_OF_MEMORY, "no memory to remember the write");
}

void retry_end(struct command *command, bytes reply)
{
    struct retry_table *table = command->face->retries;
    uint8_t *copy = reply.len > 0 ? memory_take(reply.len) : NULL;

    if (copy)
        memcpy(copy, reply.data, reply.len);
    pthread_mutex_lock(&table->lock);
    struct entry *entry = *find_place(table, lsid_of(command));
    ASSERT(entry && entry->is_running);
    entry->is_running = false;
    if (copy) {
        entry->reply = copy;
        entry->reply_len = reply.len;
        table->bytes += reply.len;
    }
    pthread_cond_broadcast(&table->is_ended);
    pthread_mutex_unlock(&table->lock);
}

status retry_check_single(struct command *command, bool is_multi)
{
    if (!is_multi || !command->has_txn_number)
        return STATUS_OK;
    return command_fail(command, ERROR_InvalidOptions,
                        "Cannot use retryable writes with a statement on many documents (multi: "
                        "true, or limit: 0)");
}
