/* One request on its way through the face: what it asks for, what was found on the way, and its reply. A
 * handler reads the call, does its work on the engine and ends with call_reply(), call_commit() or
 * call_fail(). */
#ifndef FRONT_COSMOS_CALL_H
#define FRONT_COSMOS_CALL_H

#include "front/cosmos/auth.h"
#include "front/cosmos/charge.h"
#include "front/cosmos/cosmos.h"
#include "front/cosmos/failure.h"
#include "front/cosmos/link.h"
#include "front/cosmos/rid.h"
#include "front/cosmos/route.h"

enum { ACTIVITY_TEXT_BYTES = 37 };

/* Everything in it lives in the arena of the exchange. */
struct call {
    struct cosmos *face;
    struct http_exchange *exchange;
    const struct http_request *http;
    struct arena *arena;
    struct request request; /* one reading of the clock, one picture of the catalog */
    bool has_request;
    const struct route *route;
    int64_t watch_ns; /* when it began, by the stopwatch */
    struct link link;
    struct grant grant;

    /* Resolved before the handler runs, as far as the path goes; by name or by resource id. */
    bytes database;
    uint32_t database_id;
    const struct collection *collection; /* NULL if the path has none */

    struct failure failure;
    struct buffer headers;
    charge_units charge;
    uint64_t lsn; /* for the session token; 0: the newest at the end of the request */
    char activity[ACTIVITY_TEXT_BYTES];
    route_handler *on_committed;
    bool hears_failure; /* on_committed is called for a commit that failed too */
    status outcome;     /* of the commit, for on_committed */
    bool *is_later;
    void *context; /* the handler's own, for on_committed */
};

/* ---- reading ---------------------------------------------------------------------------------------- */

bool call_header(const struct call *call, const char *name, bytes *value_out);
/* The body as a document; FAIL_BAD_REQUEST with the offset. */
MUST_USE status call_body(struct call *call, bytes *document_out);
/* The resource id of the container of the path. */
struct rid call_container_rid(const struct call *call);
/* Ends the engine's request and begins another one, after a change of the catalog; resolves the path again. */
MUST_USE status call_renew(struct call *call);

/* ---- ending ----------------------------------------------------------------------------------------- */

/* Adds a reply header; the value must be ASCII without line ends. */
void call_add_header(struct call *call, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
MUST_USE status call_reply(struct call *call, unsigned http_status, const struct buffer *body);
/* A reply without a body (204, 304). */
MUST_USE status call_reply_empty(struct call *call, unsigned http_status);

/* The call fails with this; always returns a status that is not OK. A NULL format: the usual sentence. */
#define call_fail(...) status_of(INVALID, call_note_failure(__VA_ARGS__))
const char *call_note_failure(struct call *call, enum failure_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Queues the last commit of the call. `done` fills in the reply, on the thread that committed: it must not
 * block, begin a write, nor look up a collection. If this returns OK the call must not be touched any more;
 * otherwise nothing was written and `done` will not be called. */
MUST_USE status call_commit(struct call *call, struct write_op *ops, size_t count,
                            enum write_mode mode, route_handler *done);

#endif
