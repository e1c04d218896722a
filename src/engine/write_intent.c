/* Write, transactions part: who may write what while transactions are open.
 *
 * A write outside of transactions that meets an intent gives back what it holds, waits until the
 * transaction has ended, and starts over. A write inside announces its keys, after it has seen that what
 * the transaction knows of them is still so; if somebody else was faster it fails at once, because waiting
 * would not help: the other one's commit would be behind the transaction's instant.
 *
 * Threads: the write's; the latches of all keys are held in everything but the waiting. */
#include "engine/write.h"

static status overtaken(const char *why)
{
    return status_of(CONFLICT, why);
}

/* ---- a write outside -------------------------------------------------------------------------------- */

bool write_meets_intent(const struct write *write, uint64_t *hash_out)
{
    struct intents *intents = &write->request->engine->transactions.intents;
    const struct transaction *owner = write->request->transaction;

    *hash_out = 0;
    if (atomic_load(&intents->count) == 0)
        return false;
    for (size_t i = 0; i < write->op_count; i++) {
        const struct step_of_write *step = &write->steps[i];
        if (write->ops[i].outcome.code != OK)
            continue;
        *hash_out = write_document_hash(step->collection->state, step->locator_key);
        if (intent_is_foreign(intents, *hash_out, owner))
            return true;
        for (size_t k = 0; k < step->entries.count; k++) {
            if (!write_is_unique(step->collection, &step->entries.items[k]))
                continue;
            *hash_out = write_unique_hash(step->collection->id, &step->entries.items[k]);
            if (intent_is_foreign(intents, *hash_out, owner))
                return true;
        }
    }
    return false;
}

/* ---- a write inside --------------------------------------------------------------------------------- */

static status announce(struct write *write, uint64_t hash, struct intent **out, bool *is_new_out)
{
    enum intent_answer answer = transaction_intend(write->request->transaction, hash, out);

    *is_new_out = answer == INTENT_NEW;
    if (answer == INTENT_NO_MEMORY)
        return status_of(OUT_OF_MEMORY, "no memory for another write of the transaction");
    if (answer == INTENT_FOREIGN)
        return overtaken("another transaction has written the document, and has not ended yet; "
                         "run the transaction again");
    return STATUS_OK;
}

/* Is the newest version the one that the transaction sees, and not over by the server's clock? */
static status check_unchanged(struct write *write, const struct document_change *change)
{
    struct engine *engine = write->request->engine;
    struct request newest = *write->request;
    enum verdict verdict = ALIVE;
    struct stamp stamp;
    uint64_t birth;
    bool is_there;

    newest.storage = engine->storage;
    TRY(document_locate(&newest, NULL, change->collection, change->locator_key, &stamp, &birth,
                        &is_there));
    bool is_same = is_there ? stamp.seq == change->visible_seq : !change->is_visible;
    if (!is_same)
        return overtaken("the document was written by somebody else since the transaction began; "
                         "run the transaction again");
    if (change->is_visible)
        TRY(document_judge(write->request->storage, NULL, write->request->arena, change->collection,
                           &change->old, clock_now(engine->options.clock), &verdict));
    if (verdict == DEAD)
        return overtaken("the document has expired since the transaction began; run the "
                         "transaction again");
    return STATUS_OK;
}

status write_announce(struct write *write, struct document_change *change)
{
    bool is_new;

    TRY(announce(write, write_document_hash(change->state, change->locator_key), &change->intent,
                 &is_new));
    if (!is_new)
        return STATUS_OK;
    change->intent->seen_seq = change->is_visible ? change->visible_seq : 0;
    return check_unchanged(write, change);
}

/* A key that nobody has at the instant of the transaction may have been taken since. */
status write_announce_unique(struct write *write, const struct document_change *change,
                             const struct index_entry *entry)
{
    struct request newest = *write->request;
    struct intent *intent;
    bool is_new, is_held = false;

    TRY(announce(write, write_unique_hash(change->collection->id, entry), &intent, &is_new));
    newest.storage = write->request->engine->storage;
    TRY(write_find_holder(write, &newest, change, entry, &is_held));
    if (is_held)
        return overtaken("another document got the same unique key since the transaction began; "
                         "run the transaction again");
    return STATUS_OK;
}
