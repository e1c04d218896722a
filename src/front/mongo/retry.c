/* Retry: which write of each session is the newest, and which is under way.
 *
 * A session numbers its writes upwards and has one under way at a time, so a lower number is refused. What is needed
 * to answer a write again is kept with the documents that it wrote (retry_note.c), and looked for when a
 * number comes again or a session is not known here: because it is new, because the server was restarted, or because it was
 * forgotten to make room. So nothing depends on what this table remembers but that two connections never carry out the
 * same write at once.
 *
 *   IDLE -> RUNNING [retry_begin]   RUNNING -> IDLE [retry_end]
 *
 * Threads: a lock, held for a search in one bucket; under it only the table of sessions is asked. Whoever waits for
 * a RUNNING write waits on a condition. */
#include "front/mongo/retry.h"

#include "front/mongo/lsid.h"

/* Whoever waits looks now and then whether it was killed. */
enum { BUCKETS = 4096, WAIT_MS = 30 * 1000, LOOK_EVERY_MS = 20 };

struct entry {
    struct entry *next; /* in its bucket */
    uint8_t *lsid;
    size_t lsid_len;
    int64_t number;
    bool is_running;
    bool is_known; /* the number is the newest, wherever it was written */
};

struct retry_table {
    pthread_mutex_t lock;
    pthread_cond_t is_ended;
    size_t count;
    uint64_t salt; /* that ids are hashed with */
    struct entry *buckets[BUCKETS];
    size_t sweep_at; /* the bucket in which old entries are looked for next */
};

struct retry_table *retry_table_open(void)
{
    struct retry_table *table = memory_take_zeroed(1, sizeof(*table));

    if (!table)
        return NULL;
    table->salt = random_salt();
    pthread_mutex_init(&table->lock, NULL);
    wait_condition_init(&table->is_ended);
    return table;
}

static void give(struct retry_table *table, struct entry *entry)
{
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
    struct entry **at = &table->buckets[bytes_hash(lsid, table->salt) % BUCKETS];

    while (*at && !bytes_equal(bytes_of((*at)->lsid, (*at)->lsid_len), lsid))
        at = &(*at)->next;
    return at;
}

/* Old ones of one bucket go at each new one, so that all are looked at in turn. Past the limit age does
 * not matter. */
static void sweep(struct retry_table *table, struct lsid_table *sessions, time_ms now)
{
    bool is_full = table->count >= LIMIT_RETRYABLE_SESSIONS;
    size_t buckets = is_full ? BUCKETS : 1;

    for (size_t i = 0; i < buckets; i++) {
        struct entry **at = &table->buckets[table->sweep_at++ % BUCKETS];
        while (*at) {
            struct entry *entry = *at;
            if (!entry->is_running &&
                (is_full || !lsid_lives(sessions, bytes_of(entry->lsid, entry->lsid_len), now))) {
                *at = entry->next;
                give(table, entry);
            } else {
                at = &entry->next;
            }
        }
        if (is_full && table->count < LIMIT_RETRYABLE_SESSIONS / 2)
            return;
    }
}

static struct entry *add_entry(struct retry_table *table, struct lsid_table *sessions, bytes lsid,
                               time_ms now)
{
    sweep(table, sessions, now);
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

enum outcome { OUTCOME_RUN, OUTCOME_LOOK, OUTCOME_OLD, OUTCOME_WAIT, OUTCOME_NO_MEMORY };

/* Under the lock. */
static enum outcome enter(struct retry_table *table, struct command *command, bytes session,
                          int64_t *newest_out)
{
    struct entry *entry = *find_place(table, session);

    if (!entry)
        entry = add_entry(table, command->face->sessions, session, command->request.now);
    if (!entry)
        return OUTCOME_NO_MEMORY;
    *newest_out = entry->number;
    if (command->txn_number < entry->number)
        return OUTCOME_OLD;
    if (entry->is_running)
        return OUTCOME_WAIT;
    bool is_new = entry->is_known && command->txn_number > entry->number;
    entry->number = command->txn_number;
    entry->is_running = true;
    return is_new ? OUTCOME_RUN : OUTCOME_LOOK;
}

static bool is_running(struct retry_table *table, bytes session)
{
    const struct entry *entry = *find_place(table, session);

    return entry && entry->is_running;
}

/* Until the write that the session has under way has ended; false if that takes too long. */
static bool wait_for(struct command *command, struct retry_table *table, bytes session)
{
    struct wait_limit limit = wait_limit_from_now(WAIT_MS);

    if (!block_begin())
        return false;
    pthread_mutex_lock(&table->lock);
    while (is_running(table, session) && !wait_limit_is_over(&limit) &&
           command_check_time(command).code == OK) {
        struct wait_limit nearer = wait_limit_nearer(&limit, LOOK_EVERY_MS);
        wait_on(&table->is_ended, &table->lock, &nearer);
    }
    bool is_over = !is_running(table, session);
    pthread_mutex_unlock(&table->lock);
    block_end();
    return is_over;
}

static status refuse_old(struct command *command, int64_t newest)
{
    return command_fail(command, ERROR_TransactionTooOld,
                        "Retryable write with txnNumber %lld is prohibited on this session because "
                        "a newer retryable write with txnNumber %lld has already started on it.",
                        (long long)command->txn_number, (long long)newest);
}

/* What was written tells more than this table knows. The command is RUNNING. */
static status look(struct command *command, bytes session)
{
    struct retry_table *table = command->face->retries;
    int64_t newest;

    TRY(retry_look(command, session, &newest));
    pthread_mutex_lock(&table->lock);
    struct entry *entry = *find_place(table, session);
    ASSERT(entry && entry->is_running);
    entry->is_known = true;
    if (newest > entry->number)
        entry->number = newest;
    pthread_mutex_unlock(&table->lock);
    return newest > command->txn_number ? refuse_old(command, newest) : STATUS_OK;
}

status retry_begin(struct command *command)
{
    struct retry_table *table = command->face->retries;
    bytes session = command->session_id;
    int64_t newest = 0;

    if (session.len == 0)
        return command_fail(command, ERROR_InvalidOptions,
                            "Transaction number requires a session ID to also be specified");
    TRY(retry_read_base(command));
    enum outcome outcome;
    bool has_waited = false;
    do {
        pthread_mutex_lock(&table->lock);
        outcome = enter(table, command, session, &newest);
        pthread_mutex_unlock(&table->lock);
        has_waited |= outcome == OUTCOME_WAIT;
    } while (outcome == OUTCOME_WAIT && wait_for(command, table, session));
    command->is_retryable = outcome == OUTCOME_RUN || outcome == OUTCOME_LOOK;
    if (has_waited) /* the first attempt may have made the collection */
        TRY(command_renew(command));
    switch (outcome) {
    case OUTCOME_RUN:
        return STATUS_OK;
    case OUTCOME_LOOK:
        return look(command, session);
    case OUTCOME_OLD:
        return refuse_old(command, newest);
    case OUTCOME_WAIT:
        return status_of(BUSY, "the same write is still being carried out; try again");
    case OUTCOME_NO_MEMORY:
        break;
    }
    return status_of(OUT_OF_MEMORY, "no memory to remember the write");
}

void retry_end(struct command *command)
{
    struct retry_table *table = command->face->retries;

    pthread_mutex_lock(&table->lock);
    struct entry *entry = *find_place(table, command->session_id);
    ASSERT(entry && entry->is_running);
    entry->is_running = false;
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
