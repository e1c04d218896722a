/* The socket in the data directory: how whoever owns the data speaks to the running server. It takes HTTP, and
 * nobody else can open it: the file system sees to that. */
#ifndef SERVER_CONTROL_H
#define SERVER_CONTROL_H

#include "base/base.h"
#include "server/address.h"

/* Where to listen. What an earlier server has left there is removed, so the caller must hold the directory.
 * `fd_out` is to be closed once the server listens. IO_ERROR. */
MUST_USE status control_prepare(struct arena *arena, const char *directory, struct address *out,
                                int *fd_out);
void control_remove(const char *directory);

/* Sends one request to the server of this directory and waits for the reply. NOT_FOUND if no server has the
 * directory open; what the server refuses is IO_ERROR with its reason. */
MUST_USE status control_post(struct arena *arena, const char *directory, const char *page);

/* The same with a body, and the body of the reply, in the arena. */
MUST_USE status control_send(struct arena *arena, const char *directory, const char *page,
                             bytes body, bytes *reply_out);
/* Does a server answer there? */
bool control_is_served(struct arena *arena, const char *directory);

#endif
