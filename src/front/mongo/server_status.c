/* Server status: serverStatus, as far as tools look at it.
 *
 * What the monitor of TTL indexes has done is what many wait for: metrics.ttl.
 *
 * Threads: the command's. */
#include "front/mongo/handlers.h"

static void append_connections(struct command *command)
{
    struct buffer *out = &command->reply;
    size_t begun = reply_begin(out, "connections");
    int32_t count = atomic_load(&command->face->connection_count);

    reply_int32(out, "current", count);
    reply_int32(out, "active", count);
    reply_int32(out, "totalCreated", atomic_load(&command->face->next_connection_id));
    document_end(out, begun);
}

static void append_metrics(struct command *command)
{
    struct buffer *out = &command->reply;
    size_t metrics = reply_begin(out, "metrics"), ttl = reply_begin(out, "ttl");

    ttl_append_metrics(command, out);
    document_end(out, ttl);
    document_end(out, metrics);
}

/* How long the server runs, by its own clock. */
static void append_uptime(struct command *command)
{
    struct buffer *out = &command->reply;
    int64_t up_ms = command->request.now - command->face->started_at;

    reply_double(out, "uptime", (double)(up_ms / 1000));
    reply_int64(out, "uptimeMillis", up_ms);
    reply_int64(out, "uptimeEstimate", up_ms / 1000);
    reply_date(out, "localTime", command->request.now);
}

status serve_server_status(struct command *command)
{
    struct buffer *out = &command->reply;

    reply_text(out, "host", command->face->address);
    reply_text(out, "version", FACE_VERSION);
    reply_text(out, "process", "mayfly");
    append_uptime(command);
    append_connections(command);
    size_t engine = reply_begin(out, "storageEngine");
    reply_text(out, "name", "mayfly");
    reply_bool(out, "supportsCommittedReads", true);
    reply_bool(out, "persistent", true);
    document_end(out, engine);
    size_t set = reply_begin(out, "repl");
    reply_text(out, "setName", command->face->set_name);
    reply_bool(out, "isWritablePrimary", true);
    reply_bool(out, "secondary", false);
    document_end(out, set);
    append_metrics(command);
    return STATUS_OK;
}
