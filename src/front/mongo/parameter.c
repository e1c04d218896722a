/* Parameter: getParameter, and what there is to get.
 *
 * Threads: the command's. */
#include "front/mongo/handlers.h"

enum parameter_kind { PARAMETER_BOOL, PARAMETER_INT, PARAMETER_VERSION, PARAMETER_LOG };

static const struct parameter {
    const char *name;
    enum parameter_kind kind;
    int64_t value;
} parameters[] = {
    {"featureCompatibilityVersion",                   PARAMETER_VERSION, 0                            },
    { "internalQueryMaxBlockingSortMemoryUsageBytes", PARAMETER_INT,     LIMIT_CURSOR_BYTES           },
    { "localLogicalSessionTimeoutMinutes",            PARAMETER_INT,     LIMIT_LOGICAL_SESSION_MINUTES},
    { "enableTestCommands",                           PARAMETER_BOOL,    0                            },
    { "logComponentVerbosity",                        PARAMETER_LOG,     0                            },
};

static void append_parameter(struct buffer *out, const struct parameter *parameter)
{
    size_t begun;

    switch (parameter->kind) {
    case PARAMETER_BOOL:
        reply_bool(out, parameter->name, parameter->value != 0);
        return;
    case PARAMETER_INT:
        reply_int32(out, parameter->name, (int32_t)parameter->value);
        return;
    case PARAMETER_VERSION:
        begun = reply_begin(out, parameter->name);
        reply_text(out, "version", FACE_FEATURES);
        document_end(out, begun);
        return;
    case PARAMETER_LOG: /* how much is logged is an option of the start, the same for everything */
        begun = reply_begin(out, parameter->name);
        reply_int32(out, "verbosity", 0);
        document_end(out, begun);
        return;
    }
}

static bool wants_all(struct command *command)
{
    struct value all;

    if (bytes_equal(argument_text(command->target), BYTES_LITERAL("*")))
        return true;
    return command->target.type == VALUE_DOCUMENT &&
           document_find(value_document(command->target), "allParameters", &all) &&
           argument_flag(all, false);
}

status serve_get_parameter(struct command *command)
{
    bool is_all = wants_all(command), is_found = is_all;
    struct value wanted;

    for (size_t i = 0; i < ARRAY_COUNT(parameters); i++) {
        struct parameter parameter = parameters[i];
        if (!is_all && !document_find(command->message->body, parameter.name, &wanted))
            continue;
        if (strcmp(parameter.name, "enableTestCommands") == 0)
            parameter.value = command->face->has_test_commands;
        append_parameter(&command->reply, &parameter);
        is_found = true;
    }
    if (ttl_append_parameters(command, &command->reply, is_all, command->message->body) > 0)
        is_found = true;
    if (!is_found)
        return command_fail(command, ERROR_InvalidOptions, "no option found to get");
    return STATUS_OK;
}
