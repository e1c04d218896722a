/* Login: a connection becomes a user.
 *
 *   NOBODY -> ASKED [saslStart, or hello with the same in it]   ASKED -> USER [saslContinue with the proof]
 *   ASKED -> NOBODY [a wrong proof]                              USER -> NOBODY [logout, the user is dropped]
 *
 * A name that is not known is asked for its proof all the same, and every failure has the same answer, so
 * that nobody learns which names there are.
 *
 * Threads: the session's. */
#include "front/mongo/login.h"

#include "front/mongo/handlers.h"
#include "front/mongo/lsid.h"
#include "front/mongo/session.h"
#include "front/mongo/witness.h"

enum { LOGIN_BYTES_MAX = 4 * 1024 * 1024 };

/* Lives as long as the connection, once it began to authenticate. */
struct login {
    struct arena *memory; /* of the conversation, then of the user's document */
    struct arena *talk_memory;
    bool is_asked;
    bool is_known; /* there is such a user */
    bool skips_empty;
    bool is_proven; /* only the empty exchange is missing */
    int32_t conversation;
    struct scram_talk talk;
    struct scram_secret secret;
    bytes database, user;       /* who it would be; in talk_memory */
    struct principal principal; /* who it is; in memory */
    uint8_t digest[LSID_OWNER_BYTES];
    uint64_t version; /* of the users, when it was read */
};

void login_close(struct login *login)
{
    if (!login)
        return;
    arena_close(login->memory);
    arena_close(login->talk_memory);
    memory_give(login);
}

static status need_login(struct command *command, struct login **out)
{
    struct session *session = command->session;

    if (!session->login) {
        struct login *login = memory_take_zeroed(1, sizeof(*login));
        if (login) {
            login->memory = arena_open(LOGIN_BYTES_MAX);
            login->talk_memory = arena_open(LOGIN_BYTES_MAX);
        }
        if (!login || !login->memory || !login->talk_memory) {
            login_close(login);
            return status_of(OUT_OF_MEMORY, "no memory to authenticate");
        }
        session->login = login;
    }
    *out = session->login;
    return STATUS_OK;
}

static status fail_login(struct command *command)
{
    const struct login *login = command->session->login;

    metrics_add(command->face->metrics, METRIC_requests_unauthorized_total, 1);
    witness_failed_login(command, login->user, login->database);
    return command_fail(command, ERROR_AuthenticationFailed, "Authentication failed.");
}

/* ---- who it is -------------------------------------------------------------------------------------- */

status login_principal(struct command *command, bytes *document_out)
{
    struct login *login = command->session->login;
    uint64_t version = atomic_load(&command->face->users_version);
    bool is_there;

    *document_out = BYTES_NONE;
    if (!login || login->principal.document.len == 0)
        return STATUS_OK;
    if (login->version != version) {
        bytes user, database;
        TRY(arena_copy(command->arena, login->principal.user, &user));
        TRY(arena_copy(command->arena, login->principal.database, &database));
        arena_reset(login->memory);
        login->principal = (struct principal){ 0 };
        TRY(principal_read(command->face, login->memory, database, user, &login->principal,
                           &is_there));
        login->version = version;
    }
    *document_out = login->principal.document;
    return STATUS_OK;
}

struct principal login_of(const struct session *session)
{
    return session->login ? session->login->principal : (struct principal){ 0 };
}

bytes login_digest(const struct session *session)
{
    const struct login *login = session->login;

    if (!login || login->principal.document.len == 0)
        return BYTES_NONE;
    return bytes_of(login->digest, sizeof(login->digest));
}

/* ---- saslStart -------------------------------------------------------------------------------------- */

static bytes payload_of(struct value value)
{
    enum { BINARY_HEAD_BYTES = 5 };

    if (value.type == VALUE_STRING)
        return value_text(value);
    return value.type == VALUE_BINARY ? bytes_from(value.raw, BINARY_HEAD_BYTES) : BYTES_NONE;
}

static void append_step(struct login *login, struct buffer *out, bool is_done, bytes payload)
{
    reply_int32(out, "conversationId", login->conversation);
    reply_bool(out, "done", is_done);
    reply_binary(out, "payload", 0, payload);
}

static status begin_talk(struct command *command, struct login *login,
                         enum scram_mechanism mechanism, bytes database, bytes payload,
                         struct buffer *out)
{
    struct arena *arena = login->talk_memory;
    struct principal principal;
    struct scram_first first;

    arena_reset(arena);
    login->is_asked = login->is_proven = false;
    status s = scram_read_first(arena, payload, &first);
    if (s.code != OK)
        return command_fail(command, ERROR_AuthenticationFailed, "%s", s.message);
    TRY(principal_read(command->face, arena, database, first.user, &principal, &login->is_known));
    login->is_known = login->is_known && principal_secret(&principal, mechanism, &login->secret);
    if (!login->is_known)
        scram_fake_secret(mechanism, database, first.user, command->face->login_seed,
                          &login->secret);
    login->talk = (struct scram_talk){ .mechanism = mechanism, .client_first = first.bare };
    TRY(arena_copy(arena, database, &login->database));
    login->user = first.user;
    TRY(scram_write_first(arena, &first, &login->secret, &login->talk.server_first,
                          &login->talk.nonce));
    login->is_asked = true;
    login->conversation = 1;
    append_step(login, out, false, login->talk.server_first);
    return STATUS_OK;
}

/* `body` is the command, or the same inside of hello. */
static status start(struct command *command, bytes body, bytes database, struct buffer *out)
{
    struct value mechanism, payload, options, skips;
    struct login *login;

    if (!document_find(body, "mechanism", &mechanism) || mechanism.type != VALUE_STRING ||
        !document_find(body, "payload", &payload))
        return command_fail(command, ERROR_BadValue, "saslStart needs a mechanism and a payload");
    enum scram_mechanism kind = scram_by_name(value_text(mechanism));
    if (kind == SCRAM_COUNT)
        return command_fail(command, 334,
                            "Received authentication for mechanism %.*s which is not "
                            "enabled; there are SCRAM-SHA-256 and SCRAM-SHA-1",
                            (int)value_text(mechanism).len,
                            (const char *)value_text(mechanism).data);
    TRY(need_login(command, &login));
    login->skips_empty = document_find(body, "options", &options) &&
                         options.type == VALUE_DOCUMENT &&
                         document_find(value_document(options), "skipEmptyExchange", &skips) &&
                         argument_flag(skips, false);
    return begin_talk(command, login, kind, database, payload_of(payload), out);
}

status serve_sasl_start(struct command *command)
{
    return start(command, command->message->body, command->database, &command->reply);
}

/* ---- saslContinue ----------------------------------------------------------------------------------- */

static status become(struct command *command, struct login *login)
{
    bool is_there;

    arena_reset(login->memory);
    login->principal = (struct principal){ 0 };
    login->version = atomic_load(&command->face->users_version);
    TRY(principal_read(command->face, login->memory, login->database, login->user,
                       &login->principal, &is_there));
    lsid_digest(login->user, login->database, login->digest);
    if (!is_there)
        return fail_login(command);
    witness_login(command, login->user, login->database);
    return STATUS_OK;
}

status serve_sasl_continue(struct command *command)
{
    struct login *login = command->session->login;
    struct value payload, number;
    bool is_proven;
    bytes reply;
    int64_t conversation = 0;

    if (!document_find(command->message->body, "payload", &payload) ||
        !document_find(command->message->body, "conversationId", &number) ||
        !value_as_int64(number, &conversation))
        return command_fail(command, ERROR_BadValue,
                            "saslContinue needs a conversationId and a payload");
    if (!login || !login->is_asked || conversation != login->conversation)
        return command_fail(command, ERROR_ProtocolError, "No SASL session state found");
    if (login->is_proven) {
        login->is_asked = false;
        append_step(login, &command->reply, true, BYTES_NONE);
        return STATUS_OK;
    }
    status s = scram_finish(login->talk_memory, &login->talk, &login->secret, payload_of(payload),
                            &is_proven, &reply);
    if (s.code == INVALID || (s.code == OK && (!is_proven || !login->is_known))) {
        login->is_asked = false;
        return fail_login(command);
    }
    TRY(s);
    TRY(become(command, login));
    login->is_proven = true;
    login->is_asked = !login->skips_empty;
    append_step(login, &command->reply, login->skips_empty, reply);
    return STATUS_OK;
}

status serve_logout(struct command *command)
{
    struct login *login = command->session->login;

    if (login) {
        login->principal = (struct principal){ 0 };
        login->is_asked = false;
        arena_reset(login->memory);
    }
    return STATUS_OK;
}

/* ---- hello ------------------------------------------------------------------------------------------ */

static status append_mechanisms(struct command *command, bytes full)
{
    const uint8_t *dot = full.len ? memchr(full.data, '.', full.len) : NULL;
    struct principal principal;
    struct scram_secret secret;
    char room[REPLY_INDEX_BYTES];
    size_t count = 0;
    bool is_there;

    if (!dot)
        return command_fail(command, ERROR_BadValue,
                            "saslSupportedMechs must be a database, a dot and a user name");
    bytes database = bytes_of(full.data, (size_t)(dot - full.data));
    TRY(principal_read(command->face, command->arena, database, bytes_from(full, database.len + 1),
                       &principal, &is_there));
    if (!is_there)
        return STATUS_OK;
    size_t list = reply_begin_array(&command->reply, "saslSupportedMechs");
    for (unsigned i = 0; i < SCRAM_COUNT; i++) {
        if (principal_secret(&principal, (enum scram_mechanism)i, &secret))
            reply_text(&command->reply, reply_index(count++, room),
                       scram_name((enum scram_mechanism)i));
    }
    document_end(&command->reply, list);
    return STATUS_OK;
}

/* A speculation that fails is passed over in silence: the client begins again in the usual way. */
static void speculate(struct command *command, bytes body)
{
    struct buffer out = buffer_in(command->arena);
    struct value database;
    struct fault before = command->fault;

    if (!document_find(body, "db", &database) || database.type != VALUE_STRING)
        return;
    size_t begun = document_begin(&out);
    status s = start(command, body, value_text(database), &out);
    document_end(&out, begun);
    command->fault = before;
    if (s.code == OK && !out.is_failed)
        reply_document(&command->reply, "speculativeAuthenticate", bytes_of(out.data, out.len));
}

status login_greet(struct command *command)
{
    struct value value;

    if (document_find(command->message->body, "saslSupportedMechs", &value) &&
        value.type == VALUE_STRING)
        TRY(append_mechanisms(command, value_text(value)));
    if (document_find(command->message->body, "speculativeAuthenticate", &value) &&
        value.type == VALUE_DOCUMENT)
        speculate(command, value_document(value));
    return STATUS_OK;
}
