/* Inside the engine: transactions as its other files see them. */
#ifndef ENGINE_TRANSACTION_PARTS_H
#define ENGINE_TRANSACTION_PARTS_H

#include "engine/intent.h"
#include "engine/transaction.h"

struct transactions {
    pthread_mutex_t lock;
    struct transaction *open; /* lock */
    _Atomic size_t count;     /* raised before one takes its instant */
    _Atomic int64_t held;     /* bytes, of all of them */
    struct intents intents;
};

void transactions_init(struct transactions *all);
void transactions_destroy(struct transactions *all);
void transaction_leave(struct transaction *transaction);
enum intent_answer transaction_intend(struct transaction *transaction, uint64_t hash,
                                      struct intent **out);
uint64_t transaction_last_seq(const struct transaction *transaction);
/* NULL if it has adopted none of this name or id, or if there is no transaction. */
const struct collection *transaction_find_adopted(const struct transaction *transaction,
                                                  bytes database, bytes name);
const struct collection *transaction_adopted_by_id(const struct transaction *transaction,
                                                   uint32_t id);

#endif
