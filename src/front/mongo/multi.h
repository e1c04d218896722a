/* Transactions of several statements. A statement says which transaction of its session it belongs to (lsid,
 * txnNumber, autocommit: false), and the first one starts it; commitTransaction and abortTransaction end it, and
 * so does every statement that fails. Inside the face only. */
#ifndef FRONT_MONGO_MULTI_H
#define FRONT_MONGO_MULTI_H

#include "front/mongo/lsid.h"

struct multi_table;

/* NULL without memory. */
struct multi_table *multi_table_open(void);
void multi_table_close(struct multi_table *table);

/* What of the generic fields concerns transactions. */
struct multi_fields {
    struct value number, start, autocommit, read_concern;
};
/* Sets multi and the number of the transaction, or has_txn_number for a retryable write. InvalidOptions. */
MUST_USE status multi_read(struct command *command, const struct multi_fields *fields);

/* Instead of a request of its own, the command gets one inside its transaction. Waits while another statement of
 * the session runs. 251, 256, 225, 117 for a transaction that is not under way; 263 and 72 for what is not
 * possible inside. */
MUST_USE status multi_enter(struct command *command);
/* After a command that multi_enter was called for, when its request has ended. */
void multi_leave(struct command *command, bool has_failed);
/* A retryable write ends a transaction of its session that has a lower number; 225 if it has a higher one. */
MUST_USE status multi_meet_write(struct command *command);

/* The transactions of these sessions. */
void multi_end_sessions(struct multi_table *table, const struct lsid_pattern *pattern);
/* The row of each that waits for its next statement, for $currentOp; of who asks only, or of all. */
void multi_append_idle(struct command *command, bool is_all, struct buffer *out);
/* Is this the key of the note that a transaction leaves? Then of which. */
bool multi_read_note(bytes key, bytes *session_out, int64_t *number_out);
/* How many are under way. */
size_t multi_count(struct multi_table *table);
/* From now on nobody starts one, and those that are open end. */
void multi_stop(struct multi_table *table);

/* multi_check.c: is the command possible inside? 263, 72. */
MUST_USE status multi_check(struct command *command, struct value read_concern);
/* May a transaction work there? 263. */
MUST_USE status multi_check_place(struct command *command, bytes database, bytes name);
/* InvalidOptions for what this server cannot promise. */
MUST_USE status multi_check_read_concern(struct command *command, struct value read_concern);
/* What a client should do about the error; NULL if nothing is to be said. */
const char *multi_label(const struct command *command, int32_t code);
bool multi_is_commit(const struct command *command);
bool multi_is_abort(const struct command *command);

#endif
