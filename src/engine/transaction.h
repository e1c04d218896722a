/* Transactions: several requests that read at one instant and whose writes become durable together, or not at
 * all. Inside, `now` stands still at the instant of the beginning: what was alive then is alive until the
 * end, and what it writes it sees. Two transactions that write the same document: the one that came second
 * gets CONFLICT, at once. A write outside waits until the transaction that has written the document ends.
 *
 * For a death is a delete like any other: a transaction that changes or deletes a document conflicts if the
 * document has died by the server's clock before the commit. What it only read may die. Documents that it
 * writes get the time of the commit as their time of writing. */
#ifndef ENGINE_TRANSACTION_H
#define ENGINE_TRANSACTION_H

#include "engine/document.h"

struct engine;
struct request;
struct transaction;

/* Owner: handle, from any thread, one at a time unless said otherwise. It ends by itself when its lifetime is
 * over. BUSY if too many are open, UNSUPPORTED on a storage that has no snapshots. */
MUST_USE status transaction_begin(struct engine *engine, int64_t lifetime_ms,
                                  struct transaction **out);
/* A request inside the transaction, ended by request_end as any other. NOT_FOUND if it has ended; BUSY while
 * another request is inside. A write in it is CONFLICT if somebody else was faster, TRANSACTION_FULL if the
 * transaction would hold too much, BUSY if all of them together would; then abort it: what it did before the failure is still in it. */
MUST_USE status transaction_enter(struct transaction *transaction, struct arena *arena,
                                  struct request *out);
/* Makes everything durable in one step, and waits for it; however it goes, the transaction has ended then.
 * NOT_FOUND if it had ended before; CONFLICT and DUPLICATE_KEY: nothing was written; UNKNOWN_RESULT.
 * *seq_out is the number of its last write, 0 if there was nothing to write. The note (NULL: none) is
 * kept with that write, in its collection. */
MUST_USE status transaction_commit(struct transaction *transaction, struct arena *arena,
                                   const struct write_note *note, uint64_t *seq_out);
/* Nothing of it was ever there. From any thread; a request that is inside ends it when it leaves. */
void transaction_abort(struct transaction *transaction);
/* Aborts it if it has not ended. No request may be inside. */
void transaction_close(struct transaction *transaction);

/* Collections that were made after the beginning are not seen, unless the transaction asks for one: it is empty
 * but for what it writes itself. NOT_FOUND; TOO_LARGE past a limit. The request must be one inside. */
MUST_USE status transaction_adopt(struct request *request, bytes database, bytes name);

/* Ends what has outlived its time; the engine does so by itself unless it is manual. */
void transactions_expire(struct engine *engine);

#endif
