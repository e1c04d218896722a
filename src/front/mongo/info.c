/* Info: small questions about the server that clients ask when they start.
 *
 * Threads: the command's. */
#include "front/mongo/handlers.h"
#include "front/mongo/session.h"

status serve_ok(struct command *command)
{
    (void)command;
    return STATUS_OK;
}

status serve_build_info(struct command *command)
{
    struct buffer *out = &command->reply;

    reply_text(out, "version", FACE_VERSION);
    reply_text(out, "gitVersion", "mayfly");
    document_end(out, reply_begin_array(out, "modules"));
    reply_text(out, "allocator", "system");
    reply_text(out, "javascriptEngine", "none");
    reply_text(out, "sysInfo", "deprecated");
    size_t versions = reply_begin_array(out, "versionArray");
    reply_int32(out, "0", FACE_VERSION_MAJOR);
    reply_int32(out, "1", FACE_VERSION_MINOR);
    reply_int32(out, "2", 0);
    reply_int32(out, "3", 0);
    document_end(out, versions);
    size_t openssl = reply_begin(out, "openssl");
    reply_text(out, "running", "OpenSSL 3");
    document_end(out, openssl);
    reply_int32(out, "bits", 64);
    reply_bool(out, "debug", false);
    reply_int32(out, "maxBsonObjectSize", LIMIT_DOCUMENT_BYTES);
    size_t engines = reply_begin_array(out, "storageEngines");
    reply_text(out, "0", "mayfly");
    document_end(out, engines);
    reply_text(out, "mayfly", command->face->program_version);
    return STATUS_OK;
}

status serve_get_cmd_line_opts(struct command *command)
{
    struct buffer *out = &command->reply;
    size_t list = reply_begin_array(out, "argv");

    reply_text(out, "0", "mayfly");
    document_end(out, list);
    document_end(out, reply_begin(out, "parsed"));
    return STATUS_OK;
}

/* ---- the log ---------------------------------------------------------------------------------------- */

struct log_reading {
    struct command *command;
    size_t count;
};

/* As tools read them: one object in JSON for each line. */
static void append_line(void *context, const struct log_line *line)
{
    static const char *const severities[] = { "D1", "I", "W", "E", "F" };
    struct log_reading *reading = context;
    struct arena *arena = reading->command->arena;
    struct buffer row = buffer_in(arena), json = buffer_in(arena);
    const char *message = arena_format(arena, "%s %s", line->name, line->text);
    char when[REPLY_TIME_BYTES], room[REPLY_INDEX_BYTES];

    reply_write_time(line->at, when);
    size_t begun = document_begin(&row), date = reply_begin(&row, "t");
    reply_text(&row, "$date", when);
    document_end(&row, date);
    reply_text(&row, "s", severities[line->level]);
    reply_text(&row, "c", "-");
    reply_int32(&row, "id", 0);
    reply_text(&row, "ctx", "mayfly");
    reply_text(&row, "msg", message ? message : line->name);
    document_end(&row, begun);
    json_write_value(&json, (struct value){ VALUE_DOCUMENT, bytes_of(row.data, row.len) });
    if (!row.is_failed && !json.is_failed)
        reply_bytes(&reading->command->reply, reply_index(reading->count++, room),
                    bytes_of(json.data, json.len));
}

status serve_get_log(struct command *command)
{
    struct buffer *out = &command->reply;
    bytes which = argument_text(command->target);
    uint64_t total = 0;

    if (command->target.type != VALUE_STRING)
        return command_fail(command, ERROR_TypeMismatch,
                            "Argument to getLog must be of type String; found %s",
                            value_type_name(command->target.type));
    if (bytes_equal(which, BYTES_LITERAL("*"))) {
        size_t names = reply_begin_array(out, "names");
        reply_text(out, "0", "global");
        reply_text(out, "1", "startupWarnings");
        document_end(out, names);
        return STATUS_OK;
    }
    bool is_global = bytes_equal(which, BYTES_LITERAL("global"));
    if (!is_global && !bytes_equal(which, BYTES_LITERAL("startupWarnings")))
        return command_fail(command, ERROR_OperationFailed,
                            "No log named '%.*s'; there are "
                            "global and startupWarnings, and mayfly writes its log to stderr",
                            (int)which.len, (const char *)which.data);
    struct log_reading reading = { .command = command };
    size_t list = reply_begin_array(out, "log");
    if (command->face->log->ring)
        total = log_ring_each(command->face->log->ring,
                              is_global ? LOG_RING_NEWEST : LOG_RING_STARTUP, append_line,
                              &reading);
    document_end(out, list);
    reply_int32(out, "totalLinesWritten", (int32_t)(total < INT32_MAX ? total : INT32_MAX));
    return out->is_failed ? arena_exhausted(command->arena) : STATUS_OK;
}

status serve_whats_my_uri(struct command *command)
{
    reply_text(&command->reply, "you", command->session->peer);
    return STATUS_OK;
}
