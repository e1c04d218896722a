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
/* At the start of a server: what a backup has left that did not come to its end takes up space. */
void checkpoint_clear(struct arena *arena, const char *directory);

#endif
