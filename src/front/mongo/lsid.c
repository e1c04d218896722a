/* Lsid: logical sessions. A session is a number that the client makes up; the server keeps nothing of it
 * but its cursors, its transaction, and when it was used (lsid_table.c).
 *
 * Keeps: whoever is logged in has sessions of their own, whatever numbers they send.
 * Threads: the command's. */
#include "front/mongo/lsid.h"

#include <openssl/evp.h>

#include "front/mongo/handlers.h"
#include "front/mongo/login.h"
#include "front/mongo/multi.h"
#include "front/mongo/operation.h"
#include "front/mongo/session.h"
#include "front/mongo/stream.h"

enum { SUBTYPE_GENERAL = 0, SUBTYPE_UUID = 4 };

/* ---- ids -------------------------------------------------------------------------------------------- */

void lsid_digest(bytes user, bytes database, uint8_t out[LSID_OWNER_BYTES])
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();

    memset(out, 0, LSID_OWNER_BYTES);
    if (!context)
        return;
    EVP_DigestInit_ex(context, EVP_sha256(), NULL);
    EVP_DigestUpdate(context, user.data, user.len);
    if (database.len > 0)
        EVP_DigestUpdate(context, "@", 1);
    EVP_DigestUpdate(context, database.data, database.len);
    EVP_DigestFinal_ex(context, out, NULL);
    EVP_MD_CTX_free(context);
}

static status read_uuid(struct command *command, const char *where, struct value value, bytes *out)
{
    if (value.type != VALUE_BINARY)
        return command_fail(command, ERROR_TypeMismatch,
                            "BSON field '%s.id' is the wrong type '%s', expected type 'binData'; a "
                            "session is an object { id: UUID }",
                            where, value_type_name(value.type));
    struct value_binary binary = value_binary(value);
    if (binary.subtype != SUBTYPE_UUID)
        return command_fail(command, ERROR_TypeMismatch,
                            "BSON field '%s.id' is a binary of subtype %d, expected a UUID, which "
                            "is subtype %d",
                            where, binary.subtype, SUBTYPE_UUID);
    if (binary.content.len != LSID_UUID_BYTES)
        return command_fail(command, ERROR_InvalidUUID,
                            "uuid must be a 16-byte binary field with UUID (4) subtype; '%s.id' "
                            "has %zu bytes",
                            where, binary.content.len);
    *out = binary.content;
    return STATUS_OK;
}

static status read_owner(struct command *command, const char *where, struct value value, bytes *out)
{
    if (value.type != VALUE_BINARY || value_binary(value).content.len != LSID_OWNER_BYTES)
        return command_fail(command, ERROR_TypeMismatch,
                            "'%s.uid' must be the SHA-256 digest of 'user@database', a binary of "
                            "%d bytes",
                            where, LSID_OWNER_BYTES);
    *out = value_binary(value).content;
    return STATUS_OK;
}

/* { id, uid }, where uid may be missing; *owner_out stays what it was then. */
static status read_lsid(struct command *command, const char *where, bytes lsid, bytes *uuid_out,
                        bytes *owner_out)
{
    struct document_walk walk = document_fields(lsid);
    struct field field;

    *uuid_out = BYTES_NONE;
    while (document_next(&walk, &field)) {
        if (bytes_is_text(field.name, "id"))
            TRY(read_uuid(command, where, field.value, uuid_out));
        else if (bytes_is_text(field.name, "uid"))
            TRY(read_owner(command, where, field.value, owner_out));
        else
            return command_fail(command, ERROR_Location40415,
                                "BSON field '%s.%.*s' is an unknown field.", where,
                                (int)field.name.len, (const char *)field.name.data);
    }
    if (uuid_out->len == 0)
        return command_fail(command, ERROR_Location40414,
                            "BSON field '%s.id' is missing but a required field", where);
    return STATUS_OK;
}

static status join(struct command *command, bytes uuid, bytes owner, bytes *out)
{
    *out = uuid;
    return owner.len == 0 ? STATUS_OK : arena_join(command->arena, uuid, owner, out);
}

/* One of the sessions of who asks. */
static status read_own(struct command *command, const char *where, bytes lsid, bytes *out)
{
    bytes own = login_digest(command->session), owner = own, uuid;

    TRY(read_lsid(command, where, lsid, &uuid, &owner));
    if (own.len > 0 && !bytes_equal(own, owner))
        return command_fail(command, ERROR_Unauthorized,
                            "not authorized to use the session of another user: %s.uid is not "
                            "the digest of who is logged in; leave it out",
                            where);
    return join(command, uuid, own, out);
}

status lsid_take(struct command *command, bytes lsid)
{
    return read_own(command, "lsid", lsid, &command->session_id);
}

void lsid_use(struct command *command)
{
    bool is_numbered = command->multi != MULTI_NONE ||
                       (command->has_txn_number && (command->row->traits & TRAIT_RETRYABLE));
    bool is_stranger = command->session_id.len == LSID_UUID_BYTES &&
                       atomic_load(&command->face->has_users);

    if (command->session_id.len == 0 || is_stranger)
        return;
    lsid_touch(command->face->sessions, command->session_id,
               is_numbered ? command->txn_number : INT64_MIN,
               clock_now(engine_clock(command->face->engine)));
}

void lsid_append(struct buffer *out, const char *name, bytes session_id)
{
    uint8_t nobody[LSID_OWNER_BYTES];
    bytes owner = bytes_from(session_id, LSID_UUID_BYTES);

    if (owner.len == 0) {
        lsid_digest(BYTES_NONE, BYTES_NONE, nobody);
        owner = bytes_of(nobody, sizeof(nobody));
    }
    size_t begun = reply_begin(out, name);
    reply_binary(out, "id", SUBTYPE_UUID, bytes_of(session_id.data, LSID_UUID_BYTES));
    reply_binary(out, "uid", SUBTYPE_GENERAL, owner);
    document_end(out, begun);
}

bool lsid_is_of(bytes session_id, bytes owner)
{
    return session_id.len >= LSID_UUID_BYTES &&
           bytes_equal(bytes_from(session_id, LSID_UUID_BYTES), owner);
}

bool lsid_fits(const struct lsid_pattern *pattern, bytes session_id)
{
    if (session_id.len == 0)
        return false;
    if (pattern->session_id.len > 0)
        return bytes_equal(pattern->session_id, session_id);
    return pattern->owner.len == 0 || lsid_is_of(session_id, pattern->owner);
}

/* ---- ending ----------------------------------------------------------------------------------------- */

/* Commands of sessions that run. */
struct running {
    const struct command *asking;
    const struct lsid_pattern *pattern;
    int32_t ids[64];
    size_t count;
};

static void note_running(void *context, const struct operation_seen *seen)
{
    struct running *running = context;

    if (!seen->command || seen->command == running->asking || seen->is_killed ||
        running->count == ARRAY_COUNT(running->ids) ||
        !lsid_fits(running->pattern, seen->command->session_id))
        return;
    running->ids[running->count++] = seen->id;
}

/* As many at a time as fit; what is killed already is not found again. */
static void kill_running(struct command *command, const struct lsid_pattern *pattern)
{
    struct running running = { .asking = command, .pattern = pattern };

    for (size_t round = 0; round < LIMIT_CONNECTIONS / ARRAY_COUNT(running.ids); round++) {
        running.count = 0;
        operation_each(command->face, note_running, &running);
        for (size_t i = 0; i < running.count; i++)
            operation_kill(command->face, running.ids[i]);
        if (running.count < ARRAY_COUNT(running.ids))
            return;
    }
}

/* Their cursors and their transactions; if they are killed, what they run ends too. */
static void end_sessions(struct command *command, const struct lsid_pattern *pattern)
{
    stream_end_sessions(command->face->streams, pattern);
    multi_end_sessions(command->face->multis, pattern);
    lsid_end(command->face->sessions, pattern);
    if (command->row->name[0] == 'k')
        kill_running(command, pattern);
}

/* ---- lists of sessions ------------------------------------------------------------------------------ */

/* What a list names, in the order of the list. Nothing is done before all of it was read. */
struct patterns {
    struct lsid_pattern *rows;
    size_t count;
};
typedef status pattern_reader(struct command *command, bytes row, struct patterns *out);

/* As "killSessions.2". */
static const char *name_row(struct command *command, const char *list, bytes index)
{
    const char *name = arena_format(command->arena, "%s.%.*s", list, (int)index.len,
                                    (const char *)index.data);

    return name ? name : list;
}

static status read_row(struct command *command, const char *list, struct field field,
                       pattern_reader *read, struct patterns *out)
{
    if (out->count == LIMIT_SESSIONS_NAMED)
        return command_fail(command, ERROR_TooManyLogicalSessions,
                            "%s names more than %d sessions; send them in several commands",
                            command->row->name, LIMIT_SESSIONS_NAMED);
    if (field.value.type != VALUE_DOCUMENT)
        return command_fail(command, ERROR_TypeMismatch,
                            "BSON field '%s' is the wrong type '%s', expected type 'object'",
                            name_row(command, list, field.name), value_type_name(field.value.type));
    return read(command, value_document(field.value), out);
}

static status read_rows(struct command *command, const char *list, bytes rows, pattern_reader *read,
                        struct patterns *out)
{
    struct document_walk walk = document_fields(rows);
    struct field field;

    while (document_next(&walk, &field))
        TRY(read_row(command, list, field, read, out));
    return STATUS_OK;
}

static status read_list(struct command *command, pattern_reader *read, struct patterns *out)
{
    const char *name = command->row->name;

    *out = (struct patterns){ 0 };
    if (command->target.type != VALUE_ARRAY)
        return command_fail(command, ERROR_TypeMismatch,
                            "BSON field '%s' is the wrong type '%s', expected type 'array'", name,
                            value_type_name(command->target.type));
    TRY(command_arguments(command, NULL, 0, NULL));
    TRY(ARENA_NEW(command->arena, LIMIT_SESSIONS_NAMED, &out->rows));
    return read_rows(command, name, value_document(command->target), read, out);
}

/* Each row of the list; `all` where the list is empty, if that stands for something. */
static status end_listed(struct command *command, pattern_reader *read,
                         const struct lsid_pattern *all)
{
    struct patterns patterns;

    TRY(read_list(command, read, &patterns));
    for (size_t i = 0; i < patterns.count; i++)
        end_sessions(command, &patterns.rows[i]);
    if (patterns.count == 0 && all)
        end_sessions(command, all);
    tail_ring_all(command->face); /* cursors that wait look whether they were ended */
    return STATUS_OK;
}

static status read_session(struct command *command, bytes row, struct patterns *out)
{
    struct lsid_pattern *pattern = &out->rows[out->count];

    *pattern = (struct lsid_pattern){ 0 };
    TRY(read_own(command, command->row->name, row, &pattern->session_id));
    out->count++;
    return STATUS_OK;
}

status serve_end_sessions(struct command *command)
{
    return end_listed(command, read_session, NULL);
}

status serve_kill_sessions(struct command *command)
{
    struct lsid_pattern own = { .owner = login_digest(command->session) };

    return end_listed(command, read_session, &own);
}

status serve_refresh_sessions(struct command *command)
{
    time_ms now = clock_now(engine_clock(command->face->engine));
    struct patterns patterns;

    TRY(read_list(command, read_session, &patterns));
    for (size_t i = 0; i < patterns.count; i++)
        lsid_touch(command->face->sessions, patterns.rows[i].session_id, INT64_MIN, now);
    return STATUS_OK;
}

/* { user, db }: all sessions of a user. */
static status read_user(struct command *command, bytes row, struct patterns *out)
{
    static const struct argument table[] = {
        {"user", ARGUMENT_TEXT, true},
        { "db",  ARGUMENT_TEXT, true},
    };
    struct value given[ARRAY_COUNT(table)];
    uint8_t *digest;

    TRY(command_fields(command, command->row->name, row, table, ARRAY_COUNT(table), given));
    TRY(ARENA_NEW(command->arena, LSID_OWNER_BYTES, &digest));
    lsid_digest(value_text(given[0]), value_text(given[1]), digest);
    out->rows[out->count++] = (struct lsid_pattern){ .owner = bytes_of(digest, LSID_OWNER_BYTES) };
    return STATUS_OK;
}

status serve_kill_all_sessions(struct command *command)
{
    static const struct lsid_pattern all = { 0 };

    return end_listed(command, read_user, &all);
}

/* { lsid: { id, uid } }, { uid } or { users: [{ user, db }] }. */
static status read_pattern(struct command *command, bytes row, struct patterns *out)
{
    static const struct argument table[] = {
        {"lsid",   ARGUMENT_DOCUMENT, false},
        { "uid",   ARGUMENT_ANY,      false},
        { "users", ARGUMENT_ARRAY,    false},
    };
    enum { LSID, UID, USERS };
    struct value given[ARRAY_COUNT(table)];
    struct lsid_pattern pattern = { 0 };
    bytes uuid, owner = BYTES_NONE;
    size_t count = 0;

    TRY(command_fields(command, command->row->name, row, table, ARRAY_COUNT(table), given));
    for (size_t i = 0; i < ARRAY_COUNT(table); i++)
        count += given[i].type != VALUE_MISSING;
    if (count != 1)
        return command_fail(command, ERROR_InvalidOptions,
                            "a pattern of sessions has one of the fields lsid, uid and users, "
                            "this one has %zu",
                            count);
    if (given[USERS].type == VALUE_ARRAY)
        return read_rows(command, "users", value_document(given[USERS]), read_user, out);
    if (given[UID].type != VALUE_MISSING) {
        TRY(read_owner(command, command->row->name, given[UID], &pattern.owner));
    } else {
        TRY(read_lsid(command, "lsid", value_document(given[LSID]), &uuid, &owner));
        TRY(join(command, uuid, owner, &pattern.session_id));
    }
    out->rows[out->count++] = pattern;
    return STATUS_OK;
}

status serve_kill_sessions_by_pattern(struct command *command)
{
    static const struct lsid_pattern all = { 0 };

    return end_listed(command, read_pattern, &all);
}

/* ---- starting --------------------------------------------------------------------------------------- */

status serve_start_session(struct command *command)
{
    struct buffer *out = &command->reply;
    uint8_t raw[LSID_UUID_BYTES];

    random_secret(raw, sizeof(raw));
    raw[6] = (uint8_t)((raw[6] & 0x0F) | 0x40);
    raw[8] = (uint8_t)((raw[8] & 0x3F) | 0x80);
    size_t id = reply_begin(out, "id");
    reply_binary(out, "id", SUBTYPE_UUID, bytes_of(raw, sizeof(raw)));
    document_end(out, id);
    reply_int32(out, "timeoutMinutes", LIMIT_LOGICAL_SESSION_MINUTES);
    return STATUS_OK;
}
