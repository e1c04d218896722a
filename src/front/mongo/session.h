/* One client connection of the face. Inside the face only. */
#ifndef FRONT_MONGO_SESSION_H
#define FRONT_MONGO_SESSION_H

#include "front/mongo/command.h"
#include "front/mongo/operation.h"

struct login;

/* Belongs to the thread that owns the connection. */
struct session {
    struct mongo *face;
    struct connection *connection;
    struct arena *arena;
    int32_t connection_id;
    bool is_loopback;                 /* the client runs on this machine */
    char peer[CONNECTION_PEER_BYTES]; /* where the client is, host:port */
    struct operation operation;
    struct login *login; /* NULL until the client begins to authenticate */

    /* The message that is being read. */
    uint8_t head[WIRE_HEADER_BYTES];
    size_t head_len;
    struct wire_header header;
    struct buffer whole;

    /* A hello that is answered after a while, or again and again (on_wake). */
    struct session_watch {
        bool is_on;
        bool is_exhaust; /* replies follow each other without further requests */
        int32_t response_to;
        int64_t delay_ms;
        enum compressor compressor;
    } watch;

    /* The command that runs, and the number of the reply that was sent last. */
    int32_t reply_id;
    struct wire_message message;
    struct command command;
};

#endif
