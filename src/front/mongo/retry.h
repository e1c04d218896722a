/* Retryable writes: a client that has not heard the answer to a write sends it again, with the same session and
 * number; each of its statements is carried out once, and answered again. Inside the face only. */
#ifndef FRONT_MONGO_RETRY_H
#define FRONT_MONGO_RETRY_H

#include "front/mongo/command.h"

struct retry_table;

/* NULL without memory. */
struct retry_table *retry_table_open(void);
void retry_table_close(struct retry_table *table);

/* ---- the way of a write: retry.c -------------------------------------------------------------------- */

/* Before a write with a number is carried out. Waits while another connection carries it out. 225 for a number from
 * the past, 72 for a number without a session. */
MUST_USE status retry_begin(struct command *command);
/* After it. Never waits. */
void retry_end(struct command *command);

/* 72 for a statement on many documents in a write with a number. */
MUST_USE status retry_check_single(struct command *command, bool is_multi);

/* ---- what was carried out: retry_note.c ------------------------------------------------------------- */

/* The number that the client gives its first statement; the others follow. 72 if they do not. */
MUST_USE status retry_read_base(struct command *command);
/* What an earlier attempt has left in the collection that the command names: statements that are done, and the
 * highest number of the session. */
MUST_USE status retry_look(struct command *command, bytes session, int64_t *newest_out);
/* Is the statement done? Then *result_out is what was noted with it; may be NULL. */
bool retry_is_done(const struct command *command, size_t statement, bytes *result_out);
/* The operation will leave behind that `count` statements from `first` on are done, with a document that says more, or
 * an empty one. Nothing happens in a write without a number. */
MUST_USE status retry_note(struct command *command, struct write_op *op, size_t first, size_t count,
                           bytes result);
/* Is the note, of a retryable write or of a transaction, of a session that may still ask for it? A note_keeper of the
 * face. */
bool retry_is_needed(void *face, bytes key, bytes value);

#endif
