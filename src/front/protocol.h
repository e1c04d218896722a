/* What a listener speaks. A protocol turns the bytes of a connection into requests and sends replies;
 * the connection below it knows nothing of either. One session per connection holds its state.
 *
 * All calls of a session come from the one thread that owns the connection at that moment. A request
 * that ends later (its commit is under way) keeps the connection until connection_give_back(). */
#ifndef FRONT_PROTOCOL_H
#define FRONT_PROTOCOL_H

#include "base/base.h"

struct connection;

enum protocol_step {
    STEP_MORE,    /* everything was consumed; more bytes are needed */
    STEP_REPLIED, /* one request is answered; there may be more in the input */
    STEP_PENDING, /* a request holds the connection: the caller must not touch it any more */
    STEP_CLOSE,   /* send what is there, then close */
};

struct protocol {
    const char *name;
    /* Sent to a client that comes when no connection is free; then it is closed. */
    bytes refusal;
    /* Sent to a client that does not complete its request in time; then it is closed. */
    bytes too_late;
    /* How long a client may wait before it begins a request; 0: as long as it likes. */
    int64_t idle_ms;
    /* Owner: handle. NULL without memory. */
    void *(*open)(void *context, struct connection *connection);
    void (*close)(void *session);
    /* `input` is valid until connection_consume(), which the protocol calls before it runs a request. */
    enum protocol_step (*on_bytes)(void *session, bytes input);
    /* After connection_resume(), on a worker: sends the reply of the pending request. True: close
     * behind it. */
    bool (*on_resume)(void *session);
    /* When the time of connection_wake_in() has come, on a worker that owns the connection; no request is
     * running then, and no part of one has arrived. NULL: the protocol never asks for it. */
    void (*on_wake)(void *session);
    /* The server begins to stop: whoever waits in a request should end. Called once, on the thread that stops
     * the server. NULL: nobody waits for long. */
    void (*on_stop)(void *context);
};

/* ---- what a session may do with its connection ------------------------------------------------------ */

/* The first `len` bytes of the input are done with. */
void connection_consume(struct connection *connection, size_t len);
/* Sends head and body in one call; what the socket does not take now is kept and follows. Never waits. */
void connection_send(struct connection *connection, bytes head, bytes body);
/* Ends STEP_PENDING, on any thread, after the reply was sent. `is_last`: close behind it. */
void connection_give_back(struct connection *connection, bool is_last);
/* Ends STEP_PENDING, on any thread, instead of sending: a worker will call on_resume(). For TLS, because
 * whoever has the reply may be committing for others and must not spend its time on encrypting. */
void connection_resume(struct connection *connection);
/* Calls on_wake() after so long, looked at every LIMIT_TICK_MS; 0: not any more. A connection that waits so
 * costs nothing, and ends as every idle one does. By the owner of the connection only. */
void connection_wake_in(struct connection *connection, int64_t delay_ms);
/* The server stops: replies should say that they are the last. */
bool connection_is_stopping(const struct connection *connection);
/* The client has closed its side, so that nobody waits for what still runs. Asks the system: not for every row. Only
 * while a request runs on the connection, by any thread that works on it. */
bool connection_is_gone(const struct connection *connection);
/* What the client sends and receives is encrypted. */
bool connection_is_tls(const struct connection *connection);
/* The client runs on this machine. */
bool connection_is_loopback(const struct connection *connection);
/* Where the client is, host:port. */
enum { CONNECTION_PEER_BYTES = 64 };
void connection_peer(const struct connection *connection, char out[CONNECTION_PEER_BYTES]);

#endif
