/* One client connection of the face. Inside the face only. */
#ifndef FRONT_MONGO_SESSION_H
#define FRONT_MONGO_SESSION_H

#include "front/mongo/command.h"

struct login;

/* Belongs to the thread that owns the connection. */
struct session {
    struct mongo *face;
    struct connection *connection;
    struct arena *arena;
    int32_t connection_id;
    bool is_loopback;    /* the client runs on this machine */
    struct login *login; /* NULL until the client begins to authenticate */

    /* The message that is being read. */
    uint8_t head[WIRE_HEADER_BYTES];
    size_t head_len;
    struct wire_header header;
    struct buffer whole;

    /* The command that runs. */
    struct wire_message message;
    struct command command;
};

#endif
