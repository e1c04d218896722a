/* Multi: which transaction each session has under way.
 *
 * A session has one transaction at a time, with a number that only grows. What happened to the last one is
 * remembered as long as the session is used, so that a commit whose answer was lost can be asked for again.
 * The transaction itself is the engine's.
 *
 *   (none) -> IN_PROGRESS [a statement with startTransaction]
 *   IN_PROGRESS -> COMMITTED | UNKNOWN | ABORTED [commitTransaction]
 *   IN_PROGRESS -> ABORTED [abortTransaction, a failed statement, end of the session, a newer number, its
 *                           lifetime, which is noticed by the next statement]
 *
 * UNKNOWN: the disk failed during the commit, and only a restart tells.
 *
 * Keeps: one statement of a session runs at a time; an entry that runs stays where it is. Of a transaction
 * nothing outlives the process but what it has committed, and with it a note that it has, by which a commit that
 * is asked for again after a restart is answered.
 * Threads: a lock, held for a search in one bucket; whoever waits for a running statement waits on a condition,
 * marked. Of the engine only transaction_abort is called under it. Start reading at multi_enter(). */
#include "front/mongo/multi.h"

#include "front/mongo/handlers.h"
#include "front/mongo/login.h"
#include "front/mongo/session.h"
#include "front/mongo/stream.h"

/* Whoever waits looks now and then whether it was killed. */
enum { BUCKETS = 1024, WAIT_MS = 30 * 1000, LOOK_EVERY_MS = 20 };

enum multi_state { STATE_NONE, STATE_IN_PROGRESS, STATE_COMMITTED, STATE_ABORTED, STATE_UNKNOWN };

struct multi_entry {
    struct multi_entry *next; /* in its bucket */
    uint8_t *id;
    size_t id_len;
    int64_t number;
    enum multi_state state;
    struct transaction *transaction; /* while IN_PROGRESS */
    bool is_running;
    bool is_doomed; /* to be aborted when the running statement ends */

    /* Of the transaction, to be shown. */
    time_ms started_at;
    int64_t lifetime_ms, active_us;
    int32_t connection_id;
    char peer[CONNECTION_PEER_BYTES];
};

struct multi_table {
    pthread_mutex_t lock;
    pthread_cond_t is_ended;
    _Atomic size_t count;
    bool is_stopping;
    size_t sweep_at;
    uint64_t salt; /* that ids are hashed with */
    struct multi_entry *buckets[BUCKETS];
};

struct multi_table *multi_table_open(void)
{
    struct multi_table *table = memory_take_zeroed(1, sizeof(*table));

    if (!table)
        return NULL;
    table->salt = random_salt();
    pthread_mutex_init(&table->lock, NULL);
    wait_condition_init(&table->is_ended);
    return table;
}

static void give(struct multi_entry *entry)
{
    transaction_close(entry->transaction);
    memory_give(entry->id);
    memory_give(entry);
}

void multi_table_close(struct multi_table *table)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        while (table->buckets[i]) {
            struct multi_entry *entry = table->buckets[i];
            table->buckets[i] = entry->next;
            give(entry);
        }
    }
    pthread_cond_destroy(&table->is_ended);
    pthread_mutex_destroy(&table->lock);
    memory_give(table);
}

/* ---- what a command says ---------------------------------------------------------------------------- */

static status read_flags(struct command *command, const struct multi_fields *fields)
{
    bool has_start = fields->start.type != VALUE_MISSING;

    if (has_start && !argument_flag(fields->start, false))
        return command_fail(command, ERROR_InvalidOptions,
                            "Specifying startTransaction=false is not allowed.");
    if (has_start && fields->autocommit.type == VALUE_MISSING)
        return command_fail(command, ERROR_InvalidOptions,
                            "'startTransaction' field requires 'autocommit' field to also be "
                            "specified");
    if (fields->autocommit.type == VALUE_MISSING)
        return STATUS_OK;
    if (argument_flag(fields->autocommit, false))
        return command_fail(command, ERROR_InvalidOptions,
                            "Specifying autocommit=true is not allowed.");
    if (!command->has_txn_number)
        return command_fail(command, ERROR_InvalidOptions,
                            "'autocommit' field requires a transaction number to also be "
                            "specified");
    command->multi = has_start ? MULTI_START : MULTI_GOES_ON;
    return STATUS_OK;
}

status multi_read(struct command *command, const struct multi_fields *fields)
{
    command->has_txn_number = value_as_int64(fields->number, &command->txn_number);
    TRY(read_flags(command, fields));
    if (command->multi == MULTI_NONE)
        return fields->read_concern.type == VALUE_DOCUMENT
                   ? multi_check_read_concern(command, fields->read_concern)
                   : STATUS_OK;
    command->has_txn_number = false; /* it is no retryable write */
    command->read_concern = fields->read_concern;
    if (command->txn_number < 0)
        return command_fail(command, ERROR_InvalidOptions,
                            "Transaction number cannot be negative: %lld",
                            (long long)command->txn_number);
    if (command->session_id.len == 0)
        return command_fail(command, ERROR_InvalidOptions,
                            "Transaction number requires a session ID to also be specified");
    return STATUS_OK;
}

/* ---- entries; under the lock ------------------------------------------------------------------------ */

static struct multi_entry **find_place(struct multi_table *table, bytes id)
{
    struct multi_entry **at = &table->buckets[bytes_hash(id, table->salt) % BUCKETS];

    while (*at && !bytes_equal(bytes_of((*at)->id, (*at)->id_len), id))
        at = &(*at)->next;
    return at;
}

static bool is_old(const struct multi_entry *entry, struct lsid_table *sessions, bool is_full,
                   time_ms now)
{
    return !entry->is_running && (!lsid_lives(sessions, bytes_of(entry->id, entry->id_len), now) ||
                                  (is_full && entry->state != STATE_IN_PROGRESS));
}

/* Takes old entries out of one bucket, so that all are looked at in turn; past the limit out of all. */
static struct multi_entry *sweep(struct multi_table *table, struct lsid_table *sessions,
                                 time_ms now)
{
    bool is_full = atomic_load(&table->count) >= LIMIT_RETRYABLE_SESSIONS;
    struct multi_entry *gone = NULL;

    for (size_t i = 0; i < (is_full ? BUCKETS : 1); i++) {
        struct multi_entry **at = &table->buckets[table->sweep_at++ % BUCKETS];
        while (*at) {
            struct multi_entry *entry = *at;
            if (!is_old(entry, sessions, is_full, now)) {
                at = &entry->next;
                continue;
            }
            *at = entry->next;
            entry->next = gone;
            gone = entry;
            atomic_fetch_sub(&table->count, 1);
        }
    }
    return gone;
}

static void give_all(struct multi_entry *gone)
{
    while (gone) {
        struct multi_entry *entry = gone;
        gone = entry->next;
        give(entry);
    }
}

static struct multi_entry *make_entry(bytes id)
{
    struct multi_entry *entry = memory_take_zeroed(1, sizeof(*entry));

    if (entry)
        entry->id = memory_take(id.len + 1);
    if (!entry || !entry->id) {
        memory_give(entry);
        return NULL;
    }
    memcpy(entry->id, id.data, id.len);
    entry->id_len = id.len;
    entry->number = -1;
    return entry;
}

/* ---- into the transaction --------------------------------------------------------------------------- */

static status no_transaction(struct command *command, const char *why)
{
    return command_fail(command, ERROR_NoSuchTransaction,
                        "Transaction with { txnNumber: %lld } %s; start another one",
                        (long long)command->txn_number, why);
}

static status too_old(struct command *command, int64_t newest)
{
    return command_fail(command, ERROR_TransactionTooOld,
                        "Cannot use the transaction number %lld on this session, because a newer "
                        "one, %lld, has already started on it",
                        (long long)command->txn_number, (long long)newest);
}

static status check_state(struct command *command, const struct multi_entry *entry)
{
    if (command->txn_number < entry->number)
        return too_old(command, entry->number);
    if (command->txn_number > entry->number)
        return no_transaction(command, "was never started on this session");
    switch (entry->state) {
    case STATE_IN_PROGRESS:
        return STATUS_OK;
    case STATE_COMMITTED:
        if (multi_is_commit(command))
            return STATUS_OK;
        return command_fail(command, ERROR_TransactionCommitted,
                            "Transaction with { txnNumber: %lld } has been committed.",
                            (long long)command->txn_number);
    case STATE_UNKNOWN:
        if (multi_is_commit(command))
            return STATUS_OK;
        return no_transaction(command, "has ended with a failure of the disk");
    case STATE_ABORTED:
    case STATE_NONE:
        break;
    }
    return no_transaction(command, "has been aborted");
}

/* The number is taken at once, so that what fails from here on has a transaction to abort. The one before is
 * given to the caller. */
static status check_start(struct command *command, struct multi_entry *entry,
                          struct transaction **old_out)
{
    if (command->face->multis->is_stopping)
        return status_of(CANCELLED, "the server stops");
    if (multi_is_commit(command) || multi_is_abort(command))
        return command_fail(command, ERROR_OperationNotSupportedInTransaction,
                            "Cannot run '%s' as the first statement of a transaction",
                            command->row->name);
    if (command->txn_number < entry->number)
        return too_old(command, entry->number);
    if (command->txn_number == entry->number)
        return command_fail(command, ERROR_ConflictingOperationInProgress,
                            "Cannot start a transaction at given transaction number %lld: a "
                            "transaction with the same number was started on this session already",
                            (long long)command->txn_number);
    *old_out = entry->transaction;
    entry->transaction = NULL;
    entry->number = command->txn_number;
    entry->state = STATE_ABORTED; /* until it has begun */
    return STATUS_OK;
}

/* Under the lock: finds the entry and claims it, waiting for its turn. */
static status claim(struct command *command, struct multi_entry *fresh,
                    struct transaction **old_out)
{
    struct multi_table *table = command->face->multis;
    struct wait_limit limit = wait_limit_from_now(WAIT_MS);
    bytes id = command->session_id;
    struct multi_entry *entry;

    while ((entry = *find_place(table, id)) && entry->is_running) {
        struct wait_limit nearer = wait_limit_nearer(&limit, LOOK_EVERY_MS);
        wait_on(&table->is_ended, &table->lock, &nearer);
        TRY(command_check_time(command));
        if (wait_limit_is_over(&limit))
            return status_of(BUSY, "another statement of the session is still running; try again");
    }
    if (!entry && command->multi == MULTI_GOES_ON)
        return no_transaction(command, "was never started on this session");
    if (!entry) {
        entry = *find_place(table, id) = fresh;
        atomic_fetch_add(&table->count, 1);
    }
    TRY(command->multi == MULTI_START ? check_start(command, entry, old_out)
                                      : check_state(command, entry));
    entry->is_running = true;
    command->multi_entry = entry;
    return STATUS_OK;
}

static status claim_marked(struct command *command)
{
    struct multi_table *table = command->face->multis;
    struct multi_entry *fresh = make_entry(command->session_id), *gone = NULL;
    struct transaction *old = NULL;
    time_ms now = clock_now(engine_clock(command->face->engine));

    if (!fresh)
        return status_of(OUT_OF_MEMORY, "no memory for another session");
    if (!block_begin()) {
        give(fresh);
        return status_of(BUSY, "too many requests wait; try again");
    }
    pthread_mutex_lock(&table->lock);
    gone = sweep(table, command->face->sessions, now);
    status s = claim(command, fresh, &old);
    bool is_used = *find_place(table, command->session_id) == fresh;
    pthread_mutex_unlock(&table->lock);
    block_end();
    if (!is_used)
        give(fresh);
    give_all(gone);
    transaction_close(old);
    return s;
}

static status begin(struct command *command)
{
    struct multi_entry *entry = command->multi_entry;
    int64_t lifetime_s =
        atomic_load(&command->face->ttl.settings[TTL_SETTING_transactionLifetimeLimitSeconds]);

    TRY(transaction_begin(command->face->engine, lifetime_s * 1000, &entry->transaction));
    entry->state = STATE_IN_PROGRESS;
    entry->started_at = clock_now(engine_clock(command->face->engine));
    entry->lifetime_ms = lifetime_s * 1000;
    entry->active_us = 0;
    entry->connection_id = command->session->connection_id;
    memcpy(entry->peer, command->session->peer, sizeof(entry->peer));
    return STATUS_OK;
}

static const bytes note_mark = BYTES_LITERAL("transaction ");

bool multi_read_note(bytes key, bytes *session_out, int64_t *number_out)
{
    size_t head = note_mark.len + sizeof(*number_out);

    if (key.len < head + LSID_UUID_BYTES || !bytes_starts_with(key, note_mark))
        return false;
    memcpy(number_out, key.data + note_mark.len, sizeof(*number_out));
    *session_out = bytes_from(key, head);
    return true;
}

/* What is kept with the last write of a commit: that this number of the session was committed. */
static status make_note(struct command *command, struct write_note *out)
{
    struct buffer key = buffer_in(command->arena);

    buffer_append(&key, note_mark);
    buffer_append(&key, bytes_of(&command->txn_number, sizeof(command->txn_number)));
    buffer_append(&key, command->session_id);
    *out = (struct write_note){ .value = BYTES_LITERAL("c") };
    return buffer_finish(&key, &out->key);
}

/* After a restart only the note knows of the commit, and only the client of its collections. */
static status was_committed(struct command *command, bool *out)
{
    struct write_note note;
    struct request request;
    struct note *found;
    size_t count = 0;

    *out = false;
    TRY(make_note(command, &note));
    TRY(request_begin(command->face->engine, command->arena, &request));
    status s = STATUS_OK;
    for (size_t i = 0; i < catalog_collection_count(&request) && s.code == OK && count == 0; i++)
        s = note_find(&request, catalog_collection(&request, i), note.key, &found, &count);
    request_end(&request);
    *out = count > 0;
    return s;
}

/* A commit that is asked for again, of a session that this process has not seen. */
static status claim_or_recall(struct command *command)
{
    bool is_committed = false;
    status s = claim_marked(command);

    if (s.code == OK || !multi_is_commit(command) || command->fault.code != ERROR_NoSuchTransaction)
        return s;
    TRY(was_committed(command, &is_committed));
    if (!is_committed)
        return s;
    command->fault = (struct fault){ 0 };
    return STATUS_OK;
}

status multi_enter(struct command *command)
{
    TRY(claim_or_recall(command));
    TRY(multi_check(command, command->read_concern));
    if (command->multi == MULTI_START)
        TRY(begin(command));
    if (command->row->traits & TRAIT_NO_REQUEST)
        return STATUS_OK;
    status s = transaction_enter(command->multi_entry->transaction, command->arena,
                                 &command->request);
    if (s.code == NOT_FOUND)
        return no_transaction(command, "has been aborted: it took longer than "
                                       "transactionLifetimeLimitSeconds, or its session was ended");
    command->has_request = s.code == OK;
    return s;
}

void multi_leave(struct command *command, bool has_failed)
{
    struct multi_table *table = command->face->multis;
    struct multi_entry *entry = command->multi_entry;
    struct transaction *over = NULL;

    if (!entry)
        return;
    command->multi_entry = NULL;
    pthread_mutex_lock(&table->lock);
    if (entry->state == STATE_IN_PROGRESS && (has_failed || entry->is_doomed))
        entry->state = STATE_ABORTED;
    if (entry->state != STATE_IN_PROGRESS) {
        over = entry->transaction;
        entry->transaction = NULL;
    }
    entry->is_running = entry->is_doomed = false;
    entry->active_us += (clock_stopwatch_ns() - command->watch_ns) / 1000;
    pthread_cond_broadcast(&table->is_ended);
    pthread_mutex_unlock(&table->lock);
    if (!over)
        return;
    transaction_close(over);
    stream_end_transaction(command->face->streams, command->session_id, command->txn_number);
}

status multi_meet_write(struct command *command)
{
    struct multi_table *table = command->face->multis;
    struct transaction *over = NULL;
    bytes id = command->session_id;
    status s = STATUS_OK;

    if (atomic_load(&table->count) == 0 || id.len == 0)
        return STATUS_OK;
    pthread_mutex_lock(&table->lock);
    struct multi_entry *entry = *find_place(table, id);
    if (entry && command->txn_number < entry->number) {
        s = too_old(command, entry->number);
    } else if (entry && command->txn_number == entry->number && entry->state != STATE_NONE) {
        s = command_fail(
            command, ERROR_IncompleteTransactionHistory,
            "the transaction number %lld belongs to a transaction of this session, not "
            "to a retryable write",
            (long long)command->txn_number);
    } else if (entry && !entry->is_running) {
        over = entry->transaction;
        entry->transaction = NULL;
        entry->state = STATE_NONE;
        entry->number = command->txn_number;
    }
    pthread_mutex_unlock(&table->lock);
    transaction_close(over);
    return s;
}

/* ---- the end ---------------------------------------------------------------------------------------- */

status serve_commit_transaction(struct command *command)
{
    struct multi_entry *entry = command->multi_entry;
    struct write_note note;
    uint64_t seq;

    if (!entry && command->multi != MULTI_NONE) /* before a restart */
        return STATUS_OK;
    if (!entry)
        return command_fail(command, ERROR_CommandFailed,
                            "commitTransaction must be run within a transaction");
    if (entry->state == STATE_COMMITTED)
        return STATUS_OK;
    if (entry->state == STATE_UNKNOWN)
        return status_of(UNKNOWN_RESULT, "the disk failed during the commit; whether it has "
                                         "happened can be seen after a restart of the server");
    TRY(make_note(command, &note));
    status s = transaction_commit(entry->transaction, command->arena, &note, &seq);
    entry->state = s.code == OK               ? STATE_COMMITTED
                   : s.code == UNKNOWN_RESULT ? STATE_UNKNOWN
                                              : STATE_ABORTED;
    if (s.code == NOT_FOUND)
        return no_transaction(command, "has been aborted: it took longer than "
                                       "transactionLifetimeLimitSeconds, or its session was ended");
    return s;
}

status serve_abort_transaction(struct command *command)
{
    struct multi_entry *entry = command->multi_entry;

    if (!entry)
        return command_fail(command, ERROR_CommandFailed,
                            "abortTransaction must be run within a transaction");
    transaction_abort(entry->transaction);
    entry->state = STATE_ABORTED;
    return STATUS_OK;
}

/* Under the lock. */
static void end_entry(struct multi_entry *entry)
{
    if (entry->is_running) {
        entry->is_doomed = true;
    } else if (entry->state == STATE_IN_PROGRESS) {
        transaction_abort(entry->transaction); /* closed when the entry goes, or starts another */
        entry->state = STATE_ABORTED;
    }
}

static void append_idle(struct command *command, const struct multi_entry *entry,
                        struct buffer *out)
{
    int64_t open_ms = int64_sub_saturating(command->request.now, entry->started_at);
    int64_t active_us = entry->active_us < 1000 * open_ms ? entry->active_us : 1000 * open_ms;
    char text[REPLY_TIME_BYTES];

    size_t row = document_begin(out);
    reply_text(out, "type", "idleSession");
    reply_text(out, "host", command->face->address);
    reply_text(out, "desc", "inactive transaction");
    reply_text(out, "client", entry->peer);
    reply_int32(out, "connectionId", entry->connection_id);
    lsid_append(out, "lsid", bytes_of(entry->id, entry->id_len));
    size_t transaction = reply_begin(out, "transaction");
    size_t parameters = reply_begin(out, "parameters");
    reply_int64(out, "txnNumber", entry->number);
    reply_bool(out, "autocommit", false);
    document_end(out, parameters);
    reply_write_time(entry->started_at, text);
    reply_text(out, "startWallClockTime", text);
    reply_int64(out, "timeOpenMicros", 1000 * open_ms);
    reply_int64(out, "timeActiveMicros", active_us);
    reply_int64(out, "timeInactiveMicros", 1000 * open_ms - active_us);
    reply_write_time(int64_add_saturating(entry->started_at, entry->lifetime_ms), text);
    reply_text(out, "expiryTime", text);
    document_end(out, transaction);
    reply_bool(out, "waitingForLock", false);
    reply_bool(out, "active", false);
    document_end(out, reply_begin(out, "locks"));
    document_end(out, row);
}

void multi_end_sessions(struct multi_table *table, const struct lsid_pattern *pattern)
{
    if (atomic_load(&table->count) == 0)
        return;
    pthread_mutex_lock(&table->lock);
    size_t first = 0, end = BUCKETS;
    if (pattern->session_id.len > 0)
        end = 1 + (first = bytes_hash(pattern->session_id, table->salt) % BUCKETS);
    for (size_t i = first; i < end; i++) {
        for (struct multi_entry *entry = table->buckets[i]; entry; entry = entry->next) {
            if (lsid_fits(pattern, bytes_of(entry->id, entry->id_len)))
                end_entry(entry);
        }
    }
    pthread_mutex_unlock(&table->lock);
}

/* Those that are open while none of their statements runs. */
void multi_append_idle(struct command *command, bool is_all, struct buffer *out)
{
    struct multi_table *table = command->face->multis;
    bytes own = login_digest(command->session);

    if (atomic_load(&table->count) == 0)
        return;
    pthread_mutex_lock(&table->lock);
    for (size_t i = 0; i < BUCKETS; i++) {
        for (const struct multi_entry *entry = table->buckets[i]; entry; entry = entry->next) {
            bool is_over = command->request.now - entry->started_at >= entry->lifetime_ms;
            if (entry->state == STATE_IN_PROGRESS && !entry->is_running && !is_over &&
                (is_all || lsid_is_of(bytes_of(entry->id, entry->id_len), own)))
                append_idle(command, entry, out);
        }
    }
    pthread_mutex_unlock(&table->lock);
}

size_t multi_count(struct multi_table *table)
{
    size_t count = 0;

    if (atomic_load(&table->count) == 0)
        return 0;
    pthread_mutex_lock(&table->lock);
    for (size_t i = 0; i < BUCKETS; i++) {
        for (const struct multi_entry *entry = table->buckets[i]; entry; entry = entry->next)
            count += entry->state == STATE_IN_PROGRESS;
    }
    pthread_mutex_unlock(&table->lock);
    return count;
}

void multi_stop(struct multi_table *table)
{
    pthread_mutex_lock(&table->lock);
    table->is_stopping = true;
    pthread_mutex_unlock(&table->lock);
    multi_end_sessions(table, &(struct lsid_pattern){ 0 });
}
