/* HTTP session: the protocol that stands between a connection and a handler.
 *
 * Bytes go to the reader; a complete request goes to the handler with an arena of its own; the reply goes
 * out and the arena is reset for the next request. A handler may finish later, on another thread: until
 * then the exchange holds the connection, so replies keep the order of their requests.
 *
 * Keeps: nothing of the session is touched after a handler has answered HTTP_LATER, because the exchange
 * may be finished, and the connection with another owner, before that answer arrives here.
 * Threads: the owner of the connection. Start reading at session_on_bytes(). */
#include "front/http_session.h"
#include "base/limits.h"

struct http_session {
    struct http_exchange exchange; /* first: finish() is given only this */
    struct connection *connection;
    const struct http_service *service;
    struct http_reader *reader;
    struct arena *arena; /* NULL between requests of a new connection */
    bool is_reading;     /* the reader has begun a request */
};

/* A whole reply that needs no memory, for when there is none, or no connection. */
static const char overloaded[] =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: 96\r\n"
    "Retry-After: 1\r\nConnection: close\r\n\r\n"
    "{\"code\":\"ServiceUnavailable\",\"message\":\"the server has no memory or connection left; "
    "try "
    "again\"}";

_Static_assert(LIMIT_RECEIVE_MS == 120 * 1000, "the sentence below names the limit");
static const char too_late[] =
    "HTTP/1.1 408 Request Timeout\r\nContent-Type: application/json\r\nContent-Length: 79\r\n"
    "Connection: close\r\n\r\n"
    "{\"code\":\"RequestTimeout\",\"message\":\"the request was not complete within 120 s\"}";

static void session_close(void *handle);

static void *session_open(void *context, struct connection *connection)
{
    struct http_session *session = memory_take_zeroed(1, sizeof(*session));

    if (!session)
        return NULL;
    session->connection = connection;
    session->service = context;
    session->reader = http_reader_open();
    session->arena = arena_open(LIMIT_REQUEST_ARENA_BYTES);
    if (!session->reader || !session->arena) {
        session_close(session);
        return NULL;
    }
    return session;
}

static void session_close(void *handle)
{
    struct http_session *session = handle;

    arena_close(session->arena);
    http_reader_close(session->reader);
    memory_give(session);
}

static struct http_reply render_refusal(struct http_session *session, struct http_refusal refusal)
{
    const struct http_service *service = session->service;

    if (service->refuser)
        return service->refuser(service->handler_context, session->arena, refusal);
    return http_reply_error(session->arena, refusal.status, "%s", refusal.message);
}

/* Clients read the body of every error, so none is empty, whatever the handler did. */
static void fill_error(struct http_session *session, struct http_reply *reply)
{
    struct http_refusal reason = { reply->status, "the server gave no reason" };
    struct http_reply filled = render_refusal(session, reason);

    if (filled.body.len == 0)
        filled = http_reply_error(session->arena, reason.status, "%s", reason.message);
    reply->content_type = filled.content_type;
    reply->body = filled.body;
}

/* Sends the reply and makes ready for the next request; true if it was the last one. */
static bool send_reply(struct http_session *session, bool is_refusal)
{
    struct http_exchange *exchange = &session->exchange;
    const struct http_request *request = is_refusal ? NULL : exchange->request;
    struct http_framing framing = {
        .date = clock_now(session->service->clock),
        .is_last = !request || !request->is_keep_alive ||
                   connection_is_stopping(session->connection),
        .is_version_1_0 = request && request->is_version_1_0,
    };
    bytes head;

    if (exchange->reply.status >= 400 && exchange->reply.body.len == 0)
        fill_error(session, &exchange->reply);
    if (http_reply_head(session->arena, &exchange->reply, framing, &head).code != OK) {
        head = BYTES_LITERAL(overloaded);
        exchange->reply.body = BYTES_NONE;
        framing.is_last = true;
    }
    bool has_no_body = (request && request->is_head) ||
                       http_status_has_no_body(exchange->reply.status);
    bytes body = has_no_body ? BYTES_NONE : exchange->reply.body;
    connection_send(session->connection, head, body);
    arena_reset(session->arena);
    session->is_reading = false;
    return framing.is_last;
}

void http_exchange_finish(struct http_exchange *exchange)
{
    exchange->finish(exchange);
}

static void finish_later(struct http_exchange *exchange)
{
    struct http_session *session = (struct http_session *)exchange;

    if (exchange->is_tls) {
        connection_resume(session->connection);
        return;
    }
    bool is_last = send_reply(session, false);
    connection_give_back(session->connection, is_last);
}

static bool session_on_resume(void *handle)
{
    return send_reply(handle, false);
}

static enum protocol_step refuse(struct http_session *session)
{
    struct http_refusal refusal = http_reader_refusal(session->reader);

    session->exchange.reply = render_refusal(session, refusal);
    send_reply(session, true);
    return STEP_CLOSE;
}

static enum protocol_step answer(struct http_session *session)
{
    const struct http_service *service = session->service;

    session->exchange =
        (struct http_exchange){ .arena = session->arena,
                                .request = http_reader_request(session->reader),
                                .wall = clock_wall(service->clock),
                                .is_tls = connection_is_tls(session->connection),
                                .is_loopback = connection_is_loopback(session->connection),
                                .connection = session->connection,
                                .finish = finish_later };
    if (service->handler(service->handler_context, &session->exchange) == HTTP_LATER)
        return STEP_PENDING;
    return send_reply(session, false) ? STEP_CLOSE : STEP_REPLIED;
}

static enum protocol_step session_on_bytes(void *handle, bytes input)
{
    struct http_session *session = handle;
    size_t consumed;

    if (!session->is_reading)
        http_reader_begin(session->reader, session->arena);
    session->is_reading = true;
    enum http_progress progress = http_reader_feed(session->reader, input, &consumed);
    connection_consume(session->connection, consumed);
    switch (progress) {
    case HTTP_NEEDS_MORE:
        return STEP_MORE;
    case HTTP_NEEDS_CONTINUE:
        connection_send(session->connection, BYTES_LITERAL("HTTP/1.1 100 Continue\r\n\r\n"),
                        BYTES_NONE);
        return STEP_MORE;
    case HTTP_COMPLETE:
        return answer(session);
    case HTTP_REFUSED:
        return refuse(session);
    }
    ASSERT(false);
    return STEP_CLOSE;
}

const struct protocol *http_protocol(void)
{
    static const struct protocol protocol = {
        .name = "http",
        .refusal = {(const uint8_t *)overloaded, sizeof(overloaded) - 1},
        .too_late = { (const uint8_t *)too_late,  sizeof(too_late) - 1  },
        .idle_ms = LIMIT_HTTP_IDLE_MS,
        .open = session_open,
        .close = session_close,
        .on_bytes = session_on_bytes,
        .on_resume = session_on_resume,
    };
    return &protocol;
}
