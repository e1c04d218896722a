/* HTTP on a connection: one request at a time, in the order they came, each answered by a handler. */
#ifndef FRONT_HTTP_SESSION_H
#define FRONT_HTTP_SESSION_H

#include "front/http.h"
#include "front/protocol.h"

/* One request and its reply. Everything in it lives until the reply is sent. */
struct http_exchange {
    struct arena *arena;
    const struct http_request *request;
    time_ms wall; /* the machine's own clock when the request was complete; not server time */
    bool is_tls;
    bool is_loopback;                    /* the client runs on this machine */
    const struct connection *connection; /* for connection_peer(); NULL in tests */
    struct http_reply reply;             /* filled in by the handler */
    /* Sends the reply; set by whoever hands the exchange to a handler. */
    void (*finish)(struct http_exchange *exchange);
};

enum http_answer {
    HTTP_ANSWERED, /* reply is filled in */
    HTTP_LATER,    /* http_exchange_finish() was or will be called, on whatever thread */
};
typedef enum http_answer http_handler(void *context, struct http_exchange *exchange);

/* Sends the reply of an exchange that was answered with HTTP_LATER. The exchange is gone afterwards. */
void http_exchange_finish(struct http_exchange *exchange);

/* The reply to a request that was refused before a handler saw it, or that has none of its own; in the
 * arena. `message` is for the person at the client, valid as long as the arena. */
typedef struct http_reply http_refuser(void *context, struct arena *arena,
                                       struct http_refusal refusal);

/* Context of the protocol; borrowed. */
struct http_service {
    http_handler *handler;
    http_refuser *refuser; /* NULL: http_reply_error() */
    void *handler_context; /* of both */
    struct clock *clock;   /* for the Date header */
};
const struct protocol *http_protocol(void);

#endif
