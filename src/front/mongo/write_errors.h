/* The operations of a write command that failed, by their number in the command. Inside the face only. */
#ifndef FRONT_MONGO_WRITE_ERRORS_H
#define FRONT_MONGO_WRITE_ERRORS_H

#include "front/mongo/command.h"

/* How much was told already. From two messages and LIMIT_WRITE_ERROR_TEXT_BYTES of them on the others are empty; what
 * else there is of an error goes, too, when all of it takes LIMIT_WRITE_ERROR_BYTES. */
struct write_errors_told {
    size_t count, text_bytes, size_bytes;
};
struct write_errors {
    struct buffer list; /* an array that was begun */
    size_t begun;
    size_t count;
    struct fault *faults; /* by number, instead of the list; NULL: the list */
    struct write_errors_told told;
};
void write_errors_begin(struct write_errors *errors, struct arena *arena);
MUST_USE status write_errors_add(struct write_errors *errors, size_t number,
                                 const struct fault *fault);
/* The failure of a statement, as the command has raised it or as the status says; the command goes on. What
 * is no failure of the statement, such as a lost disk or a lack of memory, fails the command instead. */
MUST_USE status write_errors_take(struct write_errors *errors, struct command *command,
                                  size_t number, status failed);
/* The failure alone, for whoever tells it otherwise. */
MUST_USE status write_errors_fault(struct command *command, status failed, struct fault *out);
/* code, errmsg and what else there is of it, as fields of a document that was begun. */
void write_errors_append_fault(struct buffer *out, const struct fault *fault,
                               struct write_errors_told *told);
/* 16 for no statement at all. */
MUST_USE status write_errors_check_count(struct command *command, size_t count);
/* The field writeErrors, if there are any. */
void write_errors_append(struct write_errors *errors, struct buffer *out);

#endif
