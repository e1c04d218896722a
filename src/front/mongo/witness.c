/* Witness: what the audit log is told.
 *
 * Logins and refusals where they happen; changes when their command ends, whatever came of them. A command is a
 * change if its row asks for more than reading and writing documents, if it looks at rights by itself and changes
 * more than documents, or if it is an aggregation that writes a collection.
 *
 * Threads: whoever runs the command. */
#include "front/mongo/witness.h"

#include "front/mongo/face.h"
#include "front/mongo/login.h"
#include "front/mongo/operation.h"
#include "front/mongo/session.h"

static bytes full_name(const struct command *command, bytes user, bytes database)
{
    const char *text = user.len == 0 ? NULL
                                     : arena_format(command->arena, "%.*s@%.*s", (int)user.len,
                                                    (const char *)user.data, (int)database.len,
                                                    (const char *)database.data);

    return text ? bytes_of_text(text) : BYTES_NONE;
}

static struct audit_party party_of(const struct command *command)
{
    const struct principal own = login_of(command->session);

    return (struct audit_party){ .peer = command->session->peer,
                                 .user = full_name(command, own.user, own.database) };
}

void witness_login(const struct command *command, bytes user, bytes database)
{
    const struct audit_party party = { .peer = command->session->peer,
                                       .user = full_name(command, user, database) };

    const struct audit_pair pair = { "result", BYTES_LITERAL("accepted") };
    audit_done(command->face->audit, "login", &party, &pair, 1);
}

void witness_failed_login(const struct command *command, bytes user, bytes database)
{
    const struct audit_party party = { .peer = command->session->peer,
                                       .user = full_name(command, user, database) };

    const struct audit_pair pair = { "login", BYTES_LITERAL("failed") };
    audit_refused(command->face->audit, &party, &pair, 1);
}

void witness_refusal(const struct command *command)
{
    const struct audit_party party = party_of(command);
    const bytes namespace = operation_namespace(command, command->arena);
    const struct audit_pair pairs[] = {
        {"command", bytes_of_text(command->row->name)},
        { "ns",     namespace                        },
    };

    audit_refused(command->face->audit, &party, pairs, ARRAY_COUNT(pairs));
}

/* $out or $merge of an aggregation; VALUE_MISSING if it only reads. */
static struct value find_output(const struct command *command)
{
    struct value output = { .type = VALUE_MISSING }, pipeline;
    struct field stage, last = { .value.type = VALUE_MISSING };

    if (strcmp(command->row->name, "aggregate") != 0 || command->explain ||
        !document_find(command->message->body, "pipeline", &pipeline) ||
        pipeline.type != VALUE_ARRAY)
        return output;
    struct document_walk walk = document_fields(value_document(pipeline));
    while (document_next(&walk, &stage))
        last = stage;
    if (last.value.type == VALUE_DOCUMENT &&
        !document_find(value_document(last.value), "$out", &output) &&
        document_find(value_document(last.value), "$merge", &output) &&
        output.type == VALUE_DOCUMENT && !document_find(value_document(output), "into", &output))
        output.type = VALUE_MISSING;
    return output;
}

static bool is_change(const struct command *command)
{
    static const char *const checked_by_themselves[] = { "killOp", "renameCollection" };
    const enum command_access access = command->row->access;

    if (access == ACCESS_KNOWN)
        return bytes_is_one_of(bytes_of_text(command->row->name), checked_by_themselves,
                               ARRAY_COUNT(checked_by_themselves));
    if (find_output(command).type != VALUE_MISSING)
        return true;
    return access == ACCESS_MANAGE || access == ACCESS_DROP || access == ACCESS_DB_ADMIN ||
           access == ACCESS_USER_ADMIN || access == ACCESS_ROOT;
}

static bytes text_of(struct value value)
{
    return value.type == VALUE_STRING ? value_text(value) : BYTES_NONE;
}

static bytes text_field(bytes document, const char *name)
{
    struct value value;

    return document_find(document, name, &value) ? text_of(value) : BYTES_NONE;
}

/* The name of the field that names the command: a user, or a collection with its database. */
static bytes target_if(const struct command *command, bool is_it)
{
    return is_it ? text_of(command->target) : BYTES_NONE;
}

static bytes formatted(const struct command *command, bytes before, const char *between,
                       bytes after)
{
    const char *text = arena_format(command->arena, "%.*s%s%.*s", (int)before.len,
                                    (const char *)before.data, between, (int)after.len,
                                    (const char *)after.data);

    return text ? bytes_of_text(text) : BYTES_NONE;
}

/* The roles that a user was given or lost, as role@database. */
static bytes find_roles(const struct command *command)
{
    struct buffer text = buffer_in(command->arena);
    struct value roles;
    struct field field;
    bytes shown;

    if (command->row->access != ACCESS_USER_ADMIN ||
        !document_find(command->message->body, "roles", &roles) || roles.type != VALUE_ARRAY)
        return BYTES_NONE;
    struct document_walk walk = document_fields(value_document(roles));
    while (document_next(&walk, &field)) {
        const bool is_long = field.value.type == VALUE_DOCUMENT;
        const bytes role = is_long ? text_field(value_document(field.value), "role")
                                   : text_of(field.value);
        const bytes database = is_long ? text_field(value_document(field.value), "db")
                                       : command->home;
        if (text.len > 0)
            buffer_append_text(&text, ",");
        buffer_append(&text, formatted(command, role, "@", database));
    }
    buffer_append_text(&text, text.len == 0 ? "-" : "");
    return buffer_finish(&text, &shown).code == OK ? shown : BYTES_NONE;
}

/* Where a collection was moved to, or an aggregation has written. */
static bytes find_destination(const struct command *command, bool is_rename)
{
    const struct value output = find_output(command);

    if (is_rename)
        return text_field(command->message->body, "to");
    if (output.type == VALUE_STRING)
        return formatted(command, command->home, ".", value_text(output));
    if (output.type != VALUE_DOCUMENT)
        return BYTES_NONE;
    const bytes database = text_field(value_document(output), "db");
    return formatted(command, database.len > 0 ? database : command->home, ".",
                     text_field(value_document(output), "coll"));
}

static bytes find_killed(const struct command *command)
{
    struct value id;
    int64_t number;

    if (strcmp(command->row->name, "killOp") != 0 ||
        !document_find(command->message->body, "op", &id) || !value_is_number(id) ||
        !value_as_int64(id, &number))
        return BYTES_NONE;
    const char *text = arena_format(command->arena, "%lld", (long long)number);
    return text ? bytes_of_text(text) : BYTES_NONE;
}

void witness_change(const struct command *command, bool is_failed)
{
    if (!command->face->audit || !is_change(command))
        return;
    const struct audit_party party = party_of(command);
    const bool is_rename = strcmp(command->row->name, "renameCollection") == 0;
    const bytes namespace = operation_namespace(command, command->arena);
    const bytes user = target_if(command, command->row->access == ACCESS_USER_ADMIN);
    const bytes from = target_if(command, is_rename);
    const bytes to = find_destination(command, is_rename);
    const char *code = arena_format(command->arena, "%d", command->fault.code);
    const struct audit_pair pairs[] = {
        {"command", bytes_of_text(command->row->name)           },
        { "ns",     namespace                                   },
        { "user",   user                                        },
        { "roles",  find_roles(command)                         },
        { "from",   from                                        },
        { "to",     to                                          },
        { "op",     find_killed(command)                        },
        { "result", bytes_of_text(is_failed ? "failed" : "done")},
        { "code",   bytes_of_text(code ? code : "?")            },
    };
    audit_done(command->face->audit, "change", &party, pairs, ARRAY_COUNT(pairs));
}

void witness_made(const struct command *command, bytes name)
{
    if (!command->face->audit || is_change(command))
        return;
    const struct audit_party party = party_of(command);
    const struct audit_pair pairs[] = {
        {"command", bytes_of_text(command->row->name)},
        { "ns",     formatted(command,                 command->database, ".", name) },
        { "made",      BYTES_LITERAL("collection")                                 },
        { "result",   BYTES_LITERAL("done")   },
    };
    audit_done(command->face->audit, "change", &party, pairs, ARRAY_COUNT(pairs));
}
