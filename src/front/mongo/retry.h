/* Retryable writes: a client that has not heard the answer to a write sends it again, with the same session and
 * number; it is carried out once and answered again. Inside the face only. */
#ifndef FRONT_MONGO_RETRY_H
#define FRONT_MONGO_RETRY_H

#include "front/mongo/command.h"

struct retry_table;

/* NULL without memory. */
struct retry_table *retry_table_open(void);
void retry_table_close(struct retry_table *table);

/* Before a write with a number is carried out. *is_answered_out: it was already, and the fields of its reply
 * are appended. Waits while another connection carries it out. 225 for a number from the past, 72 for a
 * number without a session. */
MUST_USE status retry_begin(struct command *command, bool *is_answered_out);
/* After it, with the reply of a success (a whole document), or an empty one: then it may be tried again.
 * Never waits. */
void retry_end(struct command *command, bytes reply);

/* 72 for a statement on many documents in a write with a number. */
MUST_USE status retry_check_single(struct command *command, bool is_multi);

#endif
