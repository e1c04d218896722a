/* A server from its open house to its end: the faces, where they listen, and what is told at the start. */
#ifndef SERVER_SERVE_H
#define SERVER_SERVE_H

#include "server/house.h"

/* Before anything is opened: signals wait, more descriptors, nothing of the memory in core dumps. */
void serve_prepare(const struct config *config);
/* Opens the faces, listens, says where on stdout, and serves until a signal ends it. IO_ERROR, EXISTS for an address that
 * somebody else has. */
MUST_USE status serve_until_stopped(struct house *house, const struct config *config,
                                    struct arena *arena);

#endif
