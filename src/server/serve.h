/* A server from its open house to its end: the faces, where they listen, and what is told at the start. */
#ifndef SERVER_SERVE_H
#define SERVER_SERVE_H

#include "server/house.h"

struct starting;

/* Addresses that are bound, before there is a server. */
struct doors {
    struct address cosmos, mongo; /* with their real ports */
    int cosmos_fd, mongo_fd;      /* -1: none, or taken */
    struct starting *starting;    /* tells clients to wait; NULL: no more */
    const char *unfiltered; /* why calls are not refused that are never needed; NULL: as wanted */
};
/* Before anything is opened: signals wait, more descriptors, addresses bound, another user if that is wanted, nothing of the
 * memory in core dumps, calls refused that are never needed. No thread runs yet. EXISTS for an address that somebody else has; IO_ERROR, INVALID. */
MUST_USE status serve_prepare(const struct config *config, struct arena *arena,
                              struct doors *doors);
/* If it does not come to serving. */
void serve_abandon(struct doors *doors);
/* Opens the faces, listens, says where on stdout, and serves until a signal ends it. IO_ERROR. */
MUST_USE status serve_until_stopped(struct house *house, const struct config *config,
                                    struct doors *doors, struct arena *arena);

#endif
