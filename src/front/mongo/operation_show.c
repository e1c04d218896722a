/* Operation, shown: what a command is called, what it is about and what it says, for those who look at what
 * runs, what was slow and what was counted.
 *
 * Keeps: nothing that is secret is shown; no more than a bounded part of a long command.
 * Threads: pure apart from the buffer; the command must not end meanwhile. */
#include "front/mongo/command.h"
#include "front/mongo/operation.h"

static bool is_called(const struct command *command, const char *name)
{
    return strcmp(command->row->name, name) == 0;
}

const char *operation_kind(const struct command *command)
{
    static const struct {
        const char *command, *kind;
    } kinds[] = {
        {"delete",   "remove" },
        { "find",    "query"  },
        { "getMore", "getmore"},
        { "insert",  "insert" },
        { "update",  "update" },
    };

    for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
        if (is_called(command, kinds[i].command))
            return kinds[i].kind;
    }
    return "command";
}

bytes operation_collection(const struct command *command)
{
    struct value name = command->target;

    if (is_called(command, "getMore") &&
        !document_find(command->message->body, "collection", &name))
        return BYTES_NONE;
    if (is_called(command, "explain") && name.type == VALUE_DOCUMENT) {
        struct document_walk walk = document_fields(value_document(name));
        struct field first;
        if (document_next(&walk, &first))
            name = first.value;
    }
    if (name.type != VALUE_STRING || command->row->access == ACCESS_USER_ADMIN ||
        command->row->access == ACCESS_ANYONE || (command->row->traits & TRAIT_ADMIN_ONLY))
        return BYTES_NONE;
    return value_text(name);
}

bytes operation_namespace(const struct command *command, struct arena *arena)
{
    bytes name = operation_collection(command);
    if (name.len == 0)
        name = BYTES_LITERAL("$cmd");
    const char *text = arena_format(arena, "%.*s.%.*s", (int)command->home.len,
                                    (const char *)command->home.data, (int)name.len,
                                    (const char *)name.data);

    return bytes_of_text(text ? text : "");
}

/* Passwords and proofs are in these. */
static bool is_secret(const struct command *command)
{
    return command->row->access == ACCESS_USER_ADMIN || is_called(command, "saslStart") ||
           is_called(command, "saslContinue") || is_called(command, "hello") ||
           is_called(command, "isMaster") || is_called(command, "ismaster");
}

static bool is_shown(bytes name)
{
    return !bytes_equal(name, BYTES_LITERAL("$clusterTime")) &&
           !bytes_equal(name, BYTES_LITERAL("$readPreference"));
}

void operation_append_command(const struct command *command, struct buffer *out, const char *name,
                              size_t bytes_max)
{
    struct document_walk walk = document_fields(command->message->body);
    size_t begun = reply_begin(out, name), from = out->len;
    bool is_cut = is_secret(command);
    struct field field;

    for (size_t i = 0; document_next(&walk, &field); i++) {
        bool fits = out->len - from + field.name.len + field.value.raw.len <= bytes_max;
        if (is_cut && i > 0 && !bytes_equal(field.name, BYTES_LITERAL("$db")))
            continue;
        if (fits && is_shown(field.name))
            document_append(out, field.name, field.value);
        else if (!fits)
            reply_text(out, "$truncated", "left out because of its size");
        is_cut = is_cut || !fits;
    }
    document_end(out, begun);
}
