/* HTTP on a connection: one request at a time, in the order they came, each answered by a handler. */
#ifndef FRONT_HTTP_SESSION_H
#define FRONT_HTTP_SESSION_H

#include "front/http.h"
#include "front/protocol.h"

/* One request and its reply. Everything in it lives until the reply is sent. */
struct http_exchange {
    struct arena *arena;
    const struct http_request *request;
    struct http_reply reply; /* filled in by the handler */
};

enum http_answer {
    HTTP_ANSWERED, /* reply is filled in */
    HTTP_LATER,    /* http_exchange_finish() was or will be called, on whatever thread */
};
typedef enum http_answer http_handler(void *context, struct http_exchange *exchange);

/* Sends the reply of an exchange that was answered with HTTP_LATER. The exchange is gone afterwards. */
void http_exchange_finish(struct http_exchange *exchange);

/* Context of the protocol; borrowed. */
struct http_service {
    http_handler *handler;
    void *handler_context;
    struct clock *clock; /* for the Date header */
};
const struct protocol *http_protocol(void);

#endif
