/* Session: the protocol that stands between a connection and the commands.
 *
 * Bytes are collected until a message is whole; it becomes a command with an arena of its own; the reply
 * goes out in the form in which the message came (old query, plain, compressed) and the arena is reset. A
 * message that says "more to come" is carried out and not answered. What cannot be read as a message ends
 * the connection: nobody knows where the next one would begin.
 *
 * Keeps: nothing of the session is touched after a command said that it ends later, because it may be
 * finished, and the connection with another owner, before that word arrives here.
 * Threads: the owner of the connection. Start reading at session_on_bytes(). */
#include "front/mongo/session.h"

#include "front/mongo/login.h"

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
    atomic_fetch_add(&session->face->connection_count, 1);
    return session;
}

static void session_close(void *handle)
{
    struct session *session = handle;

    atomic_fetch_sub(&session->face->connection_count, 1);
    login_close(session->login);
    arena_close(session->arena);
    memory_give(session);
}

/* ---- answering -------------------------------------------------------------------------------------- */

/* Sends the reply, unless nobody wants one, and makes ready for the next message. False: it could not be
 * sent, and the connection has to end. */
static bool send_reply(struct session *session)
{
    const struct wire_message *message = &session->message;
    struct wire_envelope envelope = {
        .kind = message->kind == WIRE_QUERY ? WIRE_REPLY : WIRE_MSG,
        .request_id = atomic_fetch_add(&session->face->next_request_id, 1),
        .response_to = message->request_id,
        .flags = session->command.reply_flags,
        .compressor = message->compressor,
    };
    bool is_sent = true;
    bytes head, body;

    if (!(message->flags & WIRE_MORE_TO_COME)) {
        status s = wire_write(session->arena, &envelope, command_reply(&session->command), &head,
                              &body);
        is_sent = s.code == OK;
        if (is_sent)
            connection_send(session->connection, head, body);
    }
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

static enum protocol_step refuse(struct session *session, status s)
{
    log_event(session->face->log, LOG_WARNING, "message.refused", "connection=%d reason=\"%s\"",
              session->connection_id, s.message);
    return STEP_CLOSE;
}

static enum protocol_step answer(struct session *session)
{
    status s = wire_read(session->arena, bytes_of(session->whole.data, session->whole.len),
                         &session->message);

    if (s.code != OK)
        return refuse(session, s);
    session->command = (struct command){ .face = session->face,
                                         .session = session,
                                         .arena = session->arena,
                                         .message = &session->message,
                                         .finish = finish_later };
    if (!command_run(&session->command))
        return STEP_PENDING;
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

const struct protocol *mongo_protocol(void)
{
    static const struct protocol protocol = {
        .name = "mongo",
        .open = session_open,
        .close = session_close,
        .on_bytes = session_on_bytes,
        .on_resume = session_on_resume,
    };
    return &protocol;
}
