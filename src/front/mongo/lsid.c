/* Lsid: logical sessions. A session is a number that the client makes up; the server keeps nothing of it
 * but its cursors and its transaction.
 *
 * Threads: the command's. */
#include "front/mongo/handlers.h"
#include "front/mongo/multi.h"
#include "front/mongo/operation.h"
#include "front/mongo/stream.h"

/* Commands of one session that run. */
struct running {
    const struct command *asking;
    bytes lsid;
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
        !bytes_equal(id.raw, running->lsid))
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

/* Cursors and transactions of each session in the list end with it; if it is killed, what it runs ends too. */
static status end_listed(struct command *command)
{
    bool is_kill = command->row->name[0] == 'k';
    struct value id;
    struct field field;

    if (command->target.type != VALUE_ARRAY)
        return command_fail(command, ERROR_TypeMismatch, "%s takes an array of sessions, not %s",
                            command->row->name, value_type_name(command->target.type));
    struct document_walk walk = document_fields(value_document(command->target));
    while (document_next(&walk, &field)) {
        if (field.value.type == VALUE_DOCUMENT &&
            document_find(value_document(field.value), "id", &id)) {
            stream_end_session(command->face->streams, id.raw);
            multi_end_session(command->face->multis, id.raw);
            if (is_kill)
                kill_running(command, id.raw);
        }
    }
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
