/* Lsid: logical sessions. A session is a number that the client makes up; the server keeps nothing of it
 * but its cursors and its transaction.
 *
 * Threads: the command's. */
#include "front/mongo/handlers.h"
#include "front/mongo/multi.h"
#include "front/mongo/operation.h"
#include "front/mongo/stream.h"

/* An id that is empty would stand for every session, and a long one for memory that is kept for it. */
status lsid_check(struct command *command, bytes lsid)
{
    struct value id;

    if (lsid.len > LIMIT_SESSION_BYTES)
        return command_fail(command, ERROR_InvalidOptions, "lsid has %zu bytes, limit %d", lsid.len,
                            LIMIT_SESSION_BYTES);
    if (!document_find(lsid, "id", &id) || id.raw.len == 0)
        return command_fail(command, ERROR_TypeMismatch,
                            "lsid has no id; a session is an object { id: UUID }");
    return STATUS_OK;
}

/* Commands of one session that run. */
struct running {
    const struct command *asking;
    bytes lsid; /* empty: of any */
    int32_t ids[64];
    size_t count;
};

static void note_running(void *context, const struct operation_seen *seen)
{
    struct running *running = context;
    struct value id;

    if (!seen->command || seen->command == running->asking ||
        seen->command->lsid.type != VALUE_DOCUMENT || running->count == ARRAY_COUNT(running->ids) ||
        !document_find(value_document(seen->command->lsid), "id", &id) ||
        (running->lsid.len > 0 && !bytes_equal(id.raw, running->lsid)))
        return;
    running->ids[running->count++] = seen->id;
}

static void kill_running(struct command *command, bytes lsid)
{
    struct running running = { .asking = command, .lsid = lsid };

    operation_each(command->face, note_running, &running);
    for (size_t i = 0; i < running.count; i++)
        operation_kill(command->face, running.ids[i]);
}

/* Its cursors and its transaction; if it is killed, what it runs ends too. An empty id: all sessions. */
static void end_session(struct command *command, bytes id)
{
    bool is_kill = command->row->name[0] == 'k';

    stream_end_session(command->face->streams, id);
    multi_end_session(command->face->multis, id);
    if (is_kill)
        kill_running(command, id);
}

static bool ends_all(const struct command *command)
{
    struct document_walk walk = document_fields(value_document(command->target));
    struct field field;

    return strncmp(command->row->name, "killAll", strlen("killAll")) == 0 &&
           !document_next(&walk, &field);
}

static status end_listed(struct command *command)
{
    struct value id;
    struct field field;

    if (command->target.type != VALUE_ARRAY)
        return command_fail(command, ERROR_TypeMismatch, "%s takes an array of sessions, not %s",
                            command->row->name, value_type_name(command->target.type));
    struct document_walk walk = document_fields(value_document(command->target));
    while (document_next(&walk, &field)) {
        if (field.value.type == VALUE_DOCUMENT &&
            document_find(value_document(field.value), "id", &id) && id.raw.len > 0)
            end_session(command, id.raw);
    }
    if (ends_all(command))
        end_session(command, BYTES_NONE);
    tail_ring(command->face); /* cursors that wait look whether they were ended */
    return STATUS_OK;
}

status serve_end_sessions(struct command *command)
{
    return end_listed(command);
}

status serve_start_session(struct command *command)
{
    struct buffer *out = &command->reply;
    uint8_t raw[16];

    random_secret(raw, sizeof(raw));
    raw[6] = (uint8_t)((raw[6] & 0x0F) | 0x40);
    raw[8] = (uint8_t)((raw[8] & 0x3F) | 0x80);
    size_t id = reply_begin(out, "id");
    reply_binary(out, "id", 4, bytes_of(raw, sizeof(raw)));
    document_end(out, id);
    reply_int32(out, "timeoutMinutes", LIMIT_LOGICAL_SESSION_MINUTES);
    return STATUS_OK;
}
