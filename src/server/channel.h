/* The bytes of a connection: a socket, under TLS or not, and what it has not taken yet. Told by the first
 * byte that the client sends. Belongs to the connection's owner; nothing here ever waits. */
#ifndef SERVER_CHANNEL_H
#define SERVER_CHANNEL_H

#include "base/base.h"
#include "server/tls.h"

enum channel_kind {
    CHANNEL_UNDECIDED, /* nothing has arrived */
    CHANNEL_PLAIN,
    CHANNEL_TLS,
};

struct channel {
    int fd;
    enum channel_kind kind;
    struct tls *tls; /* of the listener; NULL: everything is plain */
    struct tls_stream *stream;
    const struct log *log;
    struct metrics *metrics;
    struct {
        uint8_t *data;
        size_t from, upto, room;
    } output; /* not encrypted yet; exists only while the socket does not take it */
    _Atomic size_t *kept_bytes; /* of the outputs of all connections */
    uint64_t sent_count;        /* how often the socket took some of the output */
    size_t dropped_bytes;
    _Atomic bool is_hangup; /* the peer has closed its side, says an event */
    bool is_dry;            /* a short read proved that the socket has nothing more */
    bool is_broken;         /* the socket failed, or memory did */
    bool is_shut;           /* the sending side is closed */
};

enum receipt {
    RECEIVED,
    NOTHING, /* now */
    ENDED,   /* for ever */
    FAILED,  /* not TLS, or bad TLS; the peer is told why, so shut it instead of closing at once */
};

/* `channel` is zeroed but for log, metrics and kept_bytes, or was closed; `tls` is borrowed, may be NULL. */
void channel_open(struct channel *channel, int fd, struct tls *tls);
void channel_close(struct channel *channel);

/* The socket is asked again; before each turn of an owner. */
void channel_wake(struct channel *channel);
enum receipt channel_receive(struct channel *channel, void *data, size_t room, size_t *len_out);
/* False only if nothing can be received until the next event. */
bool channel_may_receive(const struct channel *channel);

/* Head and body in one call; what the socket does not take now is kept. Sets is_broken on failure. */
void channel_send(struct channel *channel, bytes head, bytes body);
/* Sends what was kept, as far as the socket takes it. */
void channel_flush(struct channel *channel);
bool channel_has_output(const struct channel *channel);
/* A handshake has begun and is not over. */
bool channel_is_shaking(const struct channel *channel);

/* After the last reply: closes the sending side, then throws away what still comes. */
void channel_shut(struct channel *channel);
/* ENDED also when more came than anyone could have on its way. */
enum receipt channel_drop(struct channel *channel);

#endif
