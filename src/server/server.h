/* Sockets, workers, configuration, signals. The server listens, reads requests and hands them to what
 * each listener speaks; it stops without breaking off a request. Knows the faces, nobody knows it but
 * main. */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include "front/front.h"
#include "server/address.h"
#include "server/backup.h"
#include "server/care.h"
#include "server/certificate.h"
#include "server/checkpoint.h"
#include "server/config.h"
#include "server/control.h"
#include "server/export.h"
#include "server/guard.h"
#include "server/house.h"
#include "server/import.h"
#include "server/offer.h"
#include "server/pages.h"
#include "server/serve.h"
#include "server/starting.h"

struct server;

/* Before the first thread is started: SIGTERM, SIGINT, SIGHUP and SIGUSR1 wait until server_run() takes them, and writing
 * to a closed socket, or past the largest size of a file, is an error instead of a signal. */
void server_hold_signals(void);

/* Owner: handle. IO_ERROR, OUT_OF_MEMORY. */
MUST_USE status server_open(const struct log *log, struct metrics *metrics, struct arena *arena,
                            struct server **out);
/* After server_run(), or if it never ran. */
void server_close(struct server *server);

/* Listens at `address`; the address with the real port is in `actual_out`. What the offer names is
 * borrowed. IO_ERROR when the address cannot be used, with the reason. Clients are served from
 * server_start() on. */
MUST_USE status server_listen(struct server *server, struct arena *arena,
                              const struct address *address, struct offer offer,
                              struct address *actual_out);
/* The same in two steps: a socket that listens, before there is a server, and then its place in one, which owns it. */
MUST_USE status server_bind(struct arena *arena, const struct address *address,
                            struct address *actual_out, int *fd_out);
void server_take(struct server *server, int fd, struct offer offer);
MUST_USE status server_start(struct server *server, struct arena *arena);

/* What happens at SIGHUP, at SIGUSR1 and every second, on the thread of server_run(); NULL: nothing. */
struct server_care {
    void (*reload)(void *context);
    void (*report)(void *context);
    void (*tidy)(void *context);
    void *context;
};
void server_set_care(struct server *server, struct server_care care);

/* Returns when SIGTERM, SIGINT or server_stop() ended the service: no new connections, running requests have
 * ended and their replies are sent (or not fetched within LIMIT_STOP_GRACE_MS), all workers are gone. */
void server_run(struct server *server);
/* Ends server_run(); callable from every thread. */
void server_stop(struct server *server);

#endif
