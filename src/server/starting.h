/* The first moments of a server: its addresses are bound before its data are opened, which after a crash may take a
 * while, and whoever asks over HTTP is told that it starts. */
#ifndef SERVER_STARTING_H
#define SERVER_STARTING_H

#include "base/base.h"

struct starting;

/* Answers every request at the listening socket with 503 and {"status":"starting"}, on a thread of its own. Owner:
 * handle; the socket stays the caller's. */
MUST_USE status starting_open(struct arena *arena, int listening_fd, struct starting **out);
/* From now on nobody is accepted: who comes waits for whoever takes the socket. NULL is allowed. */
void starting_close(struct starting *starting);

#endif
