/* The place in a data directory where a copy of the database stands while it is carried away. */
#ifndef SERVER_CHECKPOINT_H
#define SERVER_CHECKPOINT_H

#include "base/base.h"

/* In the arena; NULL without memory. */
const char *checkpoint_path(struct arena *arena, const char *directory);

/* Makes the place the caller's, and empty, until *fd_out is closed. BUSY while somebody else has it; IO_ERROR. */
MUST_USE status checkpoint_claim(struct arena *arena, const char *directory, int *fd_out);
/* Removes what stands there and gives the place back. */
void checkpoint_release(struct arena *arena, const char *directory, int fd);
/* Files that do not change while somebody reads them: a checkpoint of the server that runs, or of a stopped one its
 * data directory itself. */
struct checkpoint_loan {
    const char *path; /* in the arena */
    int fd;           /* of the claim; -1: there is no server */
};
/* `to` is where the files go: never into the directory itself, INVALID. NOT_FOUND, BUSY, IO_ERROR. Without a server the
 * caller keeps others out of the directory. */
MUST_USE status checkpoint_borrow(struct arena *arena, const char *directory, const char *to,
                                  struct checkpoint_loan *out);
void checkpoint_return(struct arena *arena, const char *directory,
                       const struct checkpoint_loan *loan);
/* By a server, at its start and then every second: what a backup has left that did not come to its end takes up space,
 * and in it are documents that die meanwhile. */
void checkpoint_clear(struct arena *arena, const char *directory);

#endif
