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

status serve_get_log(struct command *command)
{
    struct buffer *out = &command->reply;
    bytes which = argument_text(command->target);

    if (bytes_equal(which, BYTES_LITERAL("*"))) {
        size_t names = reply_begin_array(out, "names");
        reply_text(out, "0", "global");
        reply_text(out, "1", "startupWarnings");
        document_end(out, names);
        return STATUS_OK;
    }
    if (!bytes_equal(which, BYTES_LITERAL("global")) &&
        !bytes_equal(which, BYTES_LITERAL("startupWarnings")))
        return command_fail(command, ERROR_OperationFailed,
                            "No log named '%.*s'; there are "
                            "global and startupWarnings, and mayfly writes its log to stderr",
                            (int)which.len, (const char *)which.data);
    reply_int32(out, "totalLinesWritten", 0);
    document_end(out, reply_begin_array(out, "log"));
    return STATUS_OK;
}

status serve_whats_my_uri(struct command *command)
{
    reply_text(&command->reply, "you", command->session->peer);
    return STATUS_OK;
}
