/* Transaction: an instant, what was written since, and the moment when all of it counts.
 *
 * It holds a place among the running requests, and with it the picture of the catalog and its `now`, so nothing
 * that was alive then is purged. Its requests read an overlay: the storage at that instant, and above it
 * the rows that the transaction has written, stamped provisionally. Every write takes an intent on its
 * keys (intent.h) after it was seen that nobody has changed them since the instant. The operations are
 * logged as well; the commit carries the log out once more, as one ordinary write of this moment, so that
 * indexes, unique keys, lanes and times of writing are those of the commit.
 *
 *   OPEN -> INSIDE [transaction_enter]   INSIDE -> OPEN [request_end]
 *   OPEN -> OVER [commit, abort, its lifetime]   INSIDE -> OVER [request_end, if it is doomed]
 *
 * OVER holds nothing but its own memory; an INSIDE that is aborted is doomed.
 *
 * Keeps: what a request inside sees does not depend on anybody else; an intent is held exactly as long as the
 * transaction is not OVER. Threads: the lock of all transactions guards the state; what lies in an INSIDE one
 * belongs to the request. Start reading at transaction_begin(). */
#include "engine/transaction.h"

#include "engine/write.h"

/* Above all that the engine will ever give out, and within the room that a slot has. */
#define PROVISIONAL_SEQ (UINT64_C(1) << 62)

enum transaction_state { OPEN, INSIDE, OVER };

struct logged {
    struct write_op op;
    struct logged *next;
};

struct transaction {
    struct engine *engine;
    struct request base;     /* its place, picture and now; nobody reads through it */
    struct storage *storage; /* the overlay */
    struct arena *arena;     /* of the log */
    struct logged *first, **end;
    size_t count, bytes;
    int64_t held; /* bytes of memory, about */
    uint64_t seq;
    struct intent *intents;
    const struct collection *adopted[LIMIT_TRANSACTION_COLLECTIONS];
    size_t adopted_count;

    /* The lock of all transactions. */
    enum transaction_state state;
    bool is_doomed;
    time_ms ends_at;
    struct transaction *previous, *next;
};

/* ---- life ------------------------------------------------------------------------------------------- */

void transactions_init(struct transactions *all)
{
    pthread_mutex_init(&all->lock, NULL);
    intents_init(&all->intents);
}

void transactions_destroy(struct transactions *all)
{
    ASSERT(!all->open);
    intents_destroy(&all->intents);
    pthread_mutex_destroy(&all->lock);
}

/* What one held in memory, which may be much: given back when no lock is held any more. */
struct remains {
    struct storage *storage;
    struct arena *arena;
};

static void remains_give(struct remains remains)
{
    storage_close(remains.storage);
    arena_close(remains.arena);
}

/* Under the lock, or before anybody knows it. */
static struct remains let_go(struct transaction *t)
{
    struct remains remains = { .storage = t->storage, .arena = t->arena };

    intents_give(&t->engine->transactions.intents, &t->intents);
    t->storage = NULL;
    t->arena = NULL;
    if (t->base.engine)
        request_end(&t->base);
    t->state = OVER;
    atomic_fetch_sub(&t->engine->transactions.held, t->held);
    t->held = 0;
    atomic_fetch_sub(&t->engine->transactions.count, 1);
    return remains;
}

/* Under the lock. */
static struct remains end(struct transaction *t)
{
    struct transactions *all = &t->engine->transactions;

    *(t->previous ? &t->previous->next : &all->open) = t->next;
    if (t->next)
        t->next->previous = t->previous;
    return let_go(t);
}

static void enlist(struct transaction *t)
{
    struct transactions *all = &t->engine->transactions;

    pthread_mutex_lock(&all->lock);
    t->next = all->open;
    if (t->next)
        t->next->previous = t;
    all->open = t;
    pthread_mutex_unlock(&all->lock);
}

/* The number of changes of the catalog so far, none of which is under way. */
static uint64_t await_publishing(struct engine *engine)
{
    uint64_t count = atomic_load(&engine->publishings);

    if (count % 2 == 0)
        return count;
    bool is_marked = block_begin();
    pthread_mutex_lock(&engine->publish_lock);
    count = atomic_load(&engine->publishings);
    pthread_mutex_unlock(&engine->publish_lock);
    if (is_marked)
        block_end();
    return count;
}

/* The place first, so that nothing is purged; then the instant. An index that is dropped or finished in between
 * would be there in the picture without its rows, so both are taken again then. */
static status open_instant(struct transaction *t)
{
    enum { TRIES = 1000 };
    struct engine *engine = t->engine;

    for (int i = 0; i < TRIES; i++) {
        uint64_t before = await_publishing(engine);
        TRY(request_begin(engine, NULL, &t->base));
        TRY(storage_open_overlay(engine->storage, &t->storage));
        if (atomic_load(&engine->publishings) == before)
            return STATUS_OK;
        storage_close(t->storage);
        t->storage = NULL;
        request_end(&t->base);
        t->base = (struct request){ 0 };
    }
    return status_of(BUSY, "collections are changed all the time; try again");
}

static status open_parts(struct transaction *t)
{
    t->arena = arena_open(2 * LIMIT_TRANSACTION_BYTES);
    if (!t->arena)
        return status_of(OUT_OF_MEMORY, "no memory for another transaction");
    return open_instant(t);
}

status transaction_begin(struct engine *engine, int64_t lifetime_ms, struct transaction **out)
{
    struct transactions *all = &engine->transactions;

    *out = NULL;
    if (!(storage_capabilities(engine->storage) & STORAGE_HAS_SNAPSHOTS))
        return status_of(UNSUPPORTED, "the storage of this server has no snapshots, which "
                                      "transactions need");
    struct transaction *t = memory_take_zeroed(1, sizeof(*t));
    if (!t)
        return status_of(OUT_OF_MEMORY, "no memory for another transaction");
    t->engine = engine;
    t->end = &t->first;
    t->seq = PROVISIONAL_SEQ;
    bool is_too_many = atomic_fetch_add(&all->count, 1) >= LIMIT_TRANSACTIONS;
    status s = is_too_many ? status_of(BUSY, "too many transactions are open; try again")
                           : open_parts(t);
    if (s.code != OK) {
        remains_give(let_go(t));
        memory_give(t);
        return s;
    }
    t->ends_at = int64_add_saturating(t->base.now, lifetime_ms);
    enlist(t);
    *out = t;
    return STATUS_OK;
}

static status has_ended(void)
{
    return status_of(NOT_FOUND, "the transaction has ended: it was aborted, or took longer than a "
                                "transaction may");
}

/* Under the lock. */
static status claim(struct transaction *t, struct remains *remains_out)
{
    if (t->state == OPEN && expiry_is_due(t->ends_at, clock_now(t->engine->options.clock)))
        *remains_out = end(t);
    if (t->state == OVER)
        return has_ended();
    if (t->state == INSIDE)
        return status_of(BUSY, "another request of the transaction is running");
    t->state = INSIDE;
    return STATUS_OK;
}

static status enter(struct transaction *t)
{
    struct remains remains = { 0 };

    pthread_mutex_lock(&t->engine->transactions.lock);
    status s = claim(t, &remains);
    pthread_mutex_unlock(&t->engine->transactions.lock);
    remains_give(remains);
    return s;
}

status transaction_enter(struct transaction *t, struct arena *arena, struct request *out)
{
    TRY(enter(t));
    *out = t->base;
    out->arena = arena;
    out->storage = t->storage;
    out->transaction = t;
    return STATUS_OK;
}

void transaction_leave(struct transaction *t)
{
    struct transactions *all = &t->engine->transactions; /* the owner may free `t` at the end */
    struct remains remains = { 0 };

    pthread_mutex_lock(&all->lock);
    ASSERT(t->state == INSIDE);
    t->state = OPEN;
    if (t->is_doomed)
        remains = end(t);
    pthread_mutex_unlock(&all->lock);
    remains_give(remains);
}

/* Under the lock. */
static struct remains abort_one(struct transaction *t)
{
    if (t->state == INSIDE)
        t->is_doomed = true;
    return t->state == OPEN ? end(t) : (struct remains){ 0 };
}

void transaction_abort(struct transaction *t)
{
    pthread_mutex_lock(&t->engine->transactions.lock);
    struct remains remains = abort_one(t);
    pthread_mutex_unlock(&t->engine->transactions.lock);
    remains_give(remains);
}

void transaction_close(struct transaction *t)
{
    if (!t)
        return;
    transaction_abort(t);
    ASSERT(t->state == OVER);
    memory_give(t);
}

/* Ends one whose lifetime is over; false if there is none. */
static bool expire_one(struct transactions *all, time_ms now)
{
    struct remains remains = { 0 };

    pthread_mutex_lock(&all->lock);
    struct transaction *t = all->open;
    while (t && (t->is_doomed || !expiry_is_due(t->ends_at, now)))
        t = t->next;
    if (t)
        remains = abort_one(t);
    pthread_mutex_unlock(&all->lock);
    remains_give(remains);
    return t != NULL;
}

void transactions_expire(struct engine *engine)
{
    time_ms now = clock_now(engine->options.clock);

    if (atomic_load(&engine->transactions.count) == 0)
        return;
    while (expire_one(&engine->transactions, now))
        continue;
}

/* ---- collections ------------------------------------------------------------------------------------ */

/* No newer picture than the one at the beginning is freed while the transaction has its place. */
status transaction_adopt(struct request *request, bytes database, bytes name)
{
    struct transaction *t = request->transaction;
    const struct collection *collection = catalog_lookup(atomic_load(&t->engine->catalog), database,
                                                         name);

    if (!collection)
        return status_of(NOT_FOUND, "there is no such collection");
    if (transaction_find_adopted(t, database, name))
        return STATUS_OK;
    if (t->adopted_count == LIMIT_TRANSACTION_COLLECTIONS)
        return status_fail(request->arena, TOO_LARGE,
                           "a transaction may write to %d collections that are newer than itself",
                           LIMIT_TRANSACTION_COLLECTIONS);
    t->adopted[t->adopted_count++] = collection;
    return STATUS_OK;
}

const struct collection *transaction_find_adopted(const struct transaction *t, bytes database,
                                                  bytes name)
{
    for (size_t i = 0; t && i < t->adopted_count; i++) {
        if (bytes_equal(t->adopted[i]->definition.database, database) &&
            bytes_equal(t->adopted[i]->definition.name, name))
            return t->adopted[i];
    }
    return NULL;
}

const struct collection *transaction_adopted_by_id(const struct transaction *t, uint32_t id)
{
    for (size_t i = 0; t && i < t->adopted_count; i++) {
        if (t->adopted[i]->id == id)
            return t->adopted[i];
    }
    return NULL;
}

/* ---- writing ---------------------------------------------------------------------------------------- */

enum intent_answer transaction_intend(struct transaction *t, uint64_t hash, struct intent **out)
{
    return intent_take(&t->engine->transactions.intents, hash, t, &t->intents, out);
}

uint64_t transaction_last_seq(const struct transaction *t)
{
    return t->seq;
}

/* Deletes count too: each of them takes part in the commit. */
static status check_room(struct transaction *t, const struct write *write)
{
    size_t count = t->count + write->op_count, size = t->bytes;

    for (size_t i = 0; i < write->op_count; i++)
        size += write->ops[i].document.len + write->ops[i].key.id.len;
    if (count <= LIMIT_TRANSACTION_OPERATIONS && size <= LIMIT_TRANSACTION_BYTES)
        return STATUS_OK;
    return status_fail(write->request->arena, TRANSACTION_FULL,
                       "the transaction would write %zu documents of %zu bytes; %d documents and "
                       "%d bytes are possible",
                       count, size, LIMIT_TRANSACTION_OPERATIONS, LIMIT_TRANSACTION_BYTES);
}

/* What is kept of the write: its operations, and the rows laid over. Beside its bytes a row costs a node. */
static int64_t cost_of(const struct transaction *t, const struct write *write,
                       const struct storage_batch *batch)
{
    enum { ROW_COST = 128, ROWS_OF_DOCUMENT = 4 };
    size_t cost = storage_batch_bytes(t->storage, batch), rows = 0;

    for (size_t i = 0; i < write->op_count; i++)
        cost += write->ops[i].document.len + write->ops[i].key.partition.len +
                write->ops[i].key.id.len + sizeof(struct logged);
    for (const struct document_change *change = write->changes; change; change = change->next)
        rows += change->entries.count + change->old_entries.count + ROWS_OF_DOCUMENT;
    return (int64_t)(cost + rows * ROW_COST);
}

static status hold(struct transaction *t, struct arena *arena, int64_t more)
{
    struct transactions *all = &t->engine->transactions;
    int64_t most = t->engine->options.transaction_held_bytes;

    if (most == 0)
        most = LIMIT_TRANSACTION_HELD_BYTES;
    if (t->held + more > most)
        return status_fail(arena, TRANSACTION_FULL,
                           "the transaction would take %lld bytes of memory for its documents and "
                           "their index entries; %lld are possible",
                           (long long)(t->held + more), (long long)most);
    int64_t together = atomic_fetch_add(&all->held, more) + more;
    t->held += more; /* given back at the end in any case */
    if (together > LIMIT_TRANSACTIONS_FULL * most)
        return status_fail(arena, BUSY,
                           "the open transactions would take %lld bytes of memory together; %lld "
                           "are possible, try again",
                           (long long)together, (long long)(LIMIT_TRANSACTIONS_FULL * most));
    return STATUS_OK;
}

/* The first operation on a document is for the version that the transaction has seen, or for none. */
static void bind_to_version(struct write_op *op, struct intent *intent)
{
    op->if_seq = 0;
    if (intent->is_used)
        return;
    intent->is_used = true;
    op->if_seq = intent->seen_seq;
    if (op->kind == WRITE_UPSERT && op->if_seq == 0)
        op->kind = WRITE_INSERT;
}

static status log_operation(struct transaction *t, const struct write_op *op, struct intent *intent)
{
    struct logged *logged;

    TRY(ARENA_NEW(t->arena, 1, &logged));
    logged->op = *op;
    logged->op.note = NULL;
    TRY(arena_copy(t->arena, op->key.partition, &logged->op.key.partition));
    TRY(arena_copy(t->arena, op->key.id, &logged->op.key.id));
    TRY(arena_copy(t->arena, op->document, &logged->op.document));
    bind_to_version(&logged->op, intent);
    *t->end = logged;
    t->end = &logged->next;
    t->count++;
    t->bytes += op->document.len + op->key.id.len;
    return STATUS_OK;
}

static status log_operations(struct transaction *t, const struct write *write)
{
    for (size_t i = 0; i < write->op_count; i++) {
        if (write->steps[i].change)
            TRY(log_operation(t, &write->ops[i], write->steps[i].change->intent));
    }
    return STATUS_OK;
}

static status lay_over(struct transaction *t, struct write *write)
{
    struct storage_batch *batch = storage_batch_open(t->storage);
    status s;

    if (!batch)
        return status_of(OUT_OF_MEMORY, "the server has no memory for the write");
    for (struct document_change *change = write->changes; change; change = change->next) {
        if (change->is_touched)
            write_lay_rows(t->storage, batch, change);
    }
    TRY_GOTO(hold(t, write->request->arena, cost_of(t, write, batch)), done);
    TRY_GOTO(log_operations(t, write), done);
    s = storage_commit(t->storage, batch, NULL, 0, write->request->arena, NULL);
done:
    storage_batch_close(t->storage, batch);
    return s;
}

status transaction_take(struct write *write)
{
    struct transaction *t = write->request->transaction;
    status s;

    TRY_GOTO(check_room(t, write), done);
    write_assign(write, &t->seq, t->base.now / 1000);
    s = lay_over(t, write);
done:
    write_release(write);
    return s;
}

/* ---- committing ------------------------------------------------------------------------------------- */

/* What a write says of a document that is not as the transaction has seen it. */
static status as_conflict(status s)
{
    switch ((int)s.code) {
    case NOT_FOUND:
    case PRECONDITION:
    case EXISTS:
        return status_of(CONFLICT, "a document that the transaction has written expired, or its "
                                   "collection was changed, before the commit; run the "
                                   "transaction again");
    default:
        return s;
    }
}

static status write_log(struct transaction *t, struct arena *arena, const struct write_note *note,
                        uint64_t *seq_out)
{
    struct write_op *ops;
    struct request request;
    size_t count = 0;

    if (t->count == 0)
        return STATUS_OK;
    TRY(ARENA_NEW(arena, t->count, &ops));
    for (const struct logged *logged = t->first; logged; logged = logged->next)
        ops[count++] = logged->op;
    ops[count - 1].note = note;
    TRY(request_begin(t->engine, arena, &request));
    request.transaction = t;
    request.is_committing = true;
    status s = document_write(&request, ops, count, WRITE_ALL_OR_NOTHING);
    request_end(&request);
    if (s.code == OK)
        *seq_out = ops[count - 1].seq;
    return as_conflict(s);
}

status transaction_commit(struct transaction *t, struct arena *arena, const struct write_note *note,
                          uint64_t *seq_out)
{
    *seq_out = 0;
    TRY(enter(t));
    status s = write_log(t, arena, note, seq_out);
    pthread_mutex_lock(&t->engine->transactions.lock);
    struct remains remains = end(t);
    pthread_mutex_unlock(&t->engine->transactions.lock);
    remains_give(remains);
    return s;
}
