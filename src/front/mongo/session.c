/* Session: the protocol that stands between a connection and the commands.
 *
 * Bytes are collected until a message is whole; it becomes a command with an arena of its own; the reply
 * goes out in the form in which the message came (old query, plain, compressed) and the arena is reset. A
 * message that says "more to come" is carried out and not answered. What cannot be read as a message ends
 * the connection, since nobody knows where the next one would begin; if it was whole, its client is told why first.
 *
 * Keeps: nothing of the session is touched after a command said that it ends later, because it may be
 * finished, and the connection with another owner, before that word arrives here.
 *
 * Drivers watch the server with a hello that is to be answered when something changes, or after some seconds,
 * and then again and again without being asked. Nothing ever changes here, so such a connection is idle
 * and is woken for each reply; no thread waits.
 * Threads: the owner of the connection. Start reading at session_on_bytes(). */
#include "front/mongo/session.h"
#include "front/mongo/multi.h"

#include "front/mongo/counters.h"
#include "front/mongo/login.h"
#include "front/mongo/multi.h"

static void session_close(void *handle);

static void *session_open(void *context, struct connection *connection)
{
    struct session *session = memory_take_zeroed(1, sizeof(*session));

    if (!session)
        return NULL;
    session->face = context;
    session->connection = connection;
    session->is_loopback = connection_is_loopback(connection);
    session->connection_id = atomic_fetch_add(&session->face->next_connection_id, 1) + 1;
    session->arena = arena_open(LIMIT_REQUEST_ARENA_BYTES);
    if (!session->arena) {
        memory_give(session);
        return NULL;
    }
    connection_peer(connection, session->peer);
    operation_join(session);
    atomic_fetch_add(&session->face->connection_count, 1);
    return session;
}

static void session_close(void *handle)
{
    struct session *session = handle;

    operation_leave(session);
    atomic_fetch_sub(&session->face->connection_count, 1);
    login_close(session->login);
    arena_close(session->arena);
    memory_give(session);
}

/* ---- answering -------------------------------------------------------------------------------------- */

static status make_failure(struct arena *arena, int32_t code, const char *name, const char *text,
                           bytes *out)
{
    struct buffer reply = buffer_in(arena);
    size_t begun = document_begin(&reply);

    reply_double(&reply, "ok", 0);
    reply_text(&reply, "errmsg", text);
    reply_int32(&reply, "code", code);
    reply_text(&reply, "codeName", name);
    document_end(&reply, begun);
    return buffer_finish(&reply, out);
}

/* The reply of a command that has used up the memory of its request: that is given back, and what is said needs little. */
static status write_exhausted(struct session *session, const struct wire_envelope *envelope,
                              bytes *head_out, bytes *body_out)
{
    bytes document;

    arena_reset(session->arena);
    TRY(make_failure(
        session->arena, ERROR_ExceededMemoryLimit, "ExceededMemoryLimit",
        "the command was carried out as far as it came, but needs more memory than one request "
        "has: look at what is there, and send less at a time",
        &document));
    return wire_write(session->arena, envelope, document, head_out, body_out);
}

/* Sends the reply, unless nobody wants one, and makes ready for the next message. False: it could not be
 * sent, and the connection has to end. */
static bool send_reply(struct session *session)
{
    const struct wire_message *message = &session->message;
    session->reply_id = atomic_fetch_add(&session->face->next_request_id, 1);
    struct wire_envelope envelope = {
        .kind = message->kind == WIRE_QUERY ? WIRE_REPLY : WIRE_MSG,
        .request_id = session->reply_id,
        .response_to = message->request_id,
        .flags = session->command.reply_flags,
        .compressor = message->compressor,
    };
    bool is_sent = true;
    bytes head = BYTES_NONE, body = BYTES_NONE;
    size_t out = 0;

    if (!(message->flags & WIRE_MORE_TO_COME)) {
        status s = wire_write(session->arena, &envelope, command_reply(&session->command), &head,
                              &body);
        if (s.code == OUT_OF_MEMORY)
            s = write_exhausted(session, &envelope, &head, &body);
        is_sent = s.code == OK;
        if (is_sent)
            connection_send(session->connection, head, body);
        out = head.len + body.len;
    }
    counters_message(session->face, session->connection_id, session->header.len, out);
    arena_reset(session->arena);
    session->head_len = 0;
    return is_sent;
}

/* On the thread that committed. */
static void finish_later(struct command *command)
{
    struct session *session = command->session;

    if (connection_is_tls(session->connection)) {
        connection_resume(session->connection);
        return;
    }
    bool is_sent = send_reply(session);
    connection_give_back(session->connection, !is_sent);
}

static bool session_on_resume(void *handle)
{
    return !send_reply(handle);
}

/* A message that is whole, but not what it should be: its client is told. Drivers send again what was cut off, and would
 * be cut off again. */
static void tell_refusal(struct session *session, status why)
{
    const bool is_too_large = why.code == TOO_LARGE;
    const struct wire_message *message = &session->message;
    const struct wire_envelope envelope = {
        .kind = WIRE_MSG,
        .request_id = atomic_fetch_add(&session->face->next_request_id, 1),
        .response_to = message->request_id,
        .compressor = COMPRESSOR_NONE,
    };
    bytes document, head, body;

    if (message->kind != WIRE_MSG || message->flags & WIRE_MORE_TO_COME)
        return;
    status s = make_failure(session->arena, is_too_large ? ERROR_Overflow : ERROR_InvalidBSON,
                            is_too_large ? "Overflow" : "InvalidBSON", why.message, &document);
    if (s.code == OK)
        s = wire_write(session->arena, &envelope, document, &head, &body);
    if (s.code == OK)
        connection_send(session->connection, head, body);
}

static enum protocol_step refuse(struct session *session, status s)
{
    log_event(session->face->log, LOG_WARNING, "message.refused", "connection=%d reason=\"%s\"",
              session->connection_id, s.message);
    return STEP_CLOSE;
}

/* ---- watching --------------------------------------------------------------------------------------- */

/* Is this what the client has seen last? */
static bool is_current(const struct session *session, struct value version)
{
    struct value process;

    return version.type == VALUE_DOCUMENT &&
           document_find(value_document(version), "processId", &process) &&
           process.type == VALUE_OBJECT_ID &&
           bytes_equal(process.raw, bytes_of(session->face->process_id, OBJECT_ID_BYTES));
}

/* A hello that is to be answered when something changes. */
static bool is_watch(const struct session *session, int64_t *delay_out)
{
    bytes body = session->message.body;
    struct document_walk walk = document_fields(body);
    struct value version, delay;
    struct field first;

    return document_next(&walk, &first) && bytes_equal(first.name, BYTES_LITERAL("hello")) &&
           document_find(body, "topologyVersion", &version) && is_current(session, version) &&
           document_find(body, "maxAwaitTimeMS", &delay) && value_as_int64(delay, delay_out) &&
           *delay_out > 0 && *delay_out <= INT32_MAX;
}

static void begin_watch(struct session *session, int64_t delay_ms)
{
    session->watch = (struct session_watch){
        .is_on = true,
        .is_exhaust = session->message.flags & WIRE_EXHAUST_ALLOWED,
        .response_to = session->message.request_id,
        .delay_ms = delay_ms,
        .compressor = session->message.compressor,
    };
    connection_wake_in(session->connection, delay_ms);
    arena_reset(session->arena);
    session->head_len = 0;
}

static void run_command(struct session *session, bool *is_answered_out)
{
    session->command = (struct command){ .face = session->face,
                                         .session = session,
                                         .arena = session->arena,
                                         .message = &session->message,
                                         .finish = finish_later };
    *is_answered_out = command_run(&session->command);
}

static void session_on_wake(void *handle)
{
    /* {hello: 1, helloOk: true, $db: "admin"} */
    static const uint8_t hello[] =
        "\x29\0\0\0\x10hello\0\1\0\0\0\x08helloOk\0\1\x02$db\0\6\0\0\0admin\0";
    struct session *session = handle;
    struct session_watch *watch = &session->watch;
    bool is_answered;

    if (!watch->is_on)
        return;
    session->message = (struct wire_message){ .kind = WIRE_MSG,
                                              .request_id = watch->response_to,
                                              .compressor = watch->compressor,
                                              .body = bytes_of(hello, sizeof(hello)) };
    run_command(session, &is_answered);
    ASSERT(is_answered);
    session->command.reply_flags = watch->is_exhaust ? WIRE_MORE_TO_COME : 0;
    watch->is_on = watch->is_exhaust;
    bool is_sent = send_reply(session);
    watch->response_to = session->reply_id;
    if (is_sent && watch->is_on)
        connection_wake_in(session->connection, watch->delay_ms);
}

static enum protocol_step answer(struct session *session)
{
    bool is_answered;
    int64_t delay_ms;

    status s = wire_read(session->arena, bytes_of(session->whole.data, session->whole.len),
                         &session->message);

    if (s.code != OK) {
        tell_refusal(session, s);
        return refuse(session, s);
    }
    session->watch.is_on = false;
    if (is_watch(session, &delay_ms)) {
        begin_watch(session, delay_ms);
        return STEP_REPLIED;
    }
    run_command(session, &is_answered);
    if (!is_answered)
        return STEP_PENDING;
    if (session->command.trap.is_cut)
        return STEP_CLOSE;
    return send_reply(session) ? STEP_REPLIED : STEP_CLOSE;
}

/* ---- reading ---------------------------------------------------------------------------------------- */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The header of the message, as far as the input has it. */
static status read_head(struct session *session, bytes *input)
{
    size_t more = smaller(WIRE_HEADER_BYTES - session->head_len, input->len);

    memcpy(session->head + session->head_len, input->data, more);
    session->head_len += more;
    *input = bytes_from(*input, more);
    if (session->head_len < WIRE_HEADER_BYTES)
        return STATUS_OK;
    bytes head = bytes_of(session->head, WIRE_HEADER_BYTES);
    TRY(wire_read_header(session->arena, head, &session->header));
    session->whole = buffer_in(session->arena);
    /* A client may promise much and send little: room is taken as it comes. */
    buffer_reserve(&session->whole, smaller(session->header.len, LIMIT_INPUT_BYTES));
    buffer_append(&session->whole, head);
    return STATUS_OK;
}

static enum protocol_step session_on_bytes(void *handle, bytes input)
{
    struct session *session = handle;
    size_t given = input.len;

    if (session->head_len < WIRE_HEADER_BYTES) {
        status s = read_head(session, &input);
        if (s.code != OK) {
            connection_consume(session->connection, given);
            return refuse(session, s);
        }
    }
    if (session->head_len < WIRE_HEADER_BYTES) {
        connection_consume(session->connection, given);
        return STEP_MORE;
    }
    size_t more = smaller(session->header.len - session->whole.len, input.len);
    buffer_append(&session->whole, bytes_of(input.data, more));
    connection_consume(session->connection, given - input.len + more);
    if (session->whole.is_failed)
        return refuse(session, arena_exhausted(session->arena));
    if (session->whole.len < session->header.len)
        return STEP_MORE;
    return answer(session);
}

static void session_on_stop(void *context)
{
    struct mongo *face = context;

    tail_stop(face);
    multi_stop(face->multis);
}

const struct protocol *mongo_protocol(void)
{
    static const struct protocol protocol = {
        .name = "mongo",
        .open = session_open,
        .close = session_close,
        .on_bytes = session_on_bytes,
        .on_resume = session_on_resume,
        .on_wake = session_on_wake,
        .on_stop = session_on_stop,
    };
    return &protocol;
}
