/* Connections: sockets with an owner, an input and an output. All connections of a server form a set,
 * which bounds them and takes them down at a stop. Inside the room only; a protocol sees protocol.h. */
#ifndef SERVER_CONNECTION_H
#define SERVER_CONNECTION_H

#include "server/address.h"
#include "server/channel.h"
#include "server/offer.h"
#include "server/pool.h"

struct connection_set;

/* Owner: handle. OUT_OF_MEMORY, IO_ERROR. `pool` and `log` are borrowed. */
MUST_USE status connection_set_open(struct pool *pool, const struct log *log,
                                    struct metrics *metrics, struct arena *arena,
                                    struct connection_set **out);
/* After the pool has ended; cuts what is still open. */
void connection_set_close(struct connection_set *set);

/* An accepted socket. */
struct client {
    int fd;
    struct address peer;
};
/* Takes the accepted socket over and serves what has already arrived; on a worker. */
void connection_set_add(struct connection_set *set, struct client client,
                        const struct offer *offer);

/* Closes what has waited too long for its client. `now` is in milliseconds from anywhere, grows, and is the
 * time that all connections know until the next call. */
void connection_set_tick(struct connection_set *set, int64_t now);

/* From now on a connection closes as soon as no request runs on it and its replies are sent. */
void connection_set_stop(struct connection_set *set);
/* From now on replies that a client does not fetch are dropped; running requests still end. */
void connection_set_cut(struct connection_set *set);
/* Readable once the set stops and no connection is left. */
int connection_set_drained_fd(const struct connection_set *set);
size_t connection_set_count(struct connection_set *set);

#endif
