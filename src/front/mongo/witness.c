/* Witness: what the audit log is told.
 *
 * Logins and refusals where they happen; changes when their command ends, whatever came of them. A command is a
 * change if its row asks for more than reading and writing documents.
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
    const struct audit_pair pairs[] = {
        {"command",                    bytes_of_text(command->row->name)},
        { "ns", operation_namespace(command,                   command->arena) },
    };

    audit_refused(command->face->audit, &party, pairs, ARRAY_COUNT(pairs));
}

static bool is_change(enum command_access access)
{
    return access == ACCESS_MANAGE || access == ACCESS_DROP || access == ACCESS_DB_ADMIN ||
           access == ACCESS_USER_ADMIN || access == ACCESS_ROOT;
}

void witness_change(const struct command *command, bool is_failed)
{
    if (!command->face->audit || !is_change(command->row->access))
        return;
    const struct audit_party party = party_of(command);
    const char *code = arena_format(command->arena, "%d", command->fault.code);
    const struct audit_pair pairs[] = {
        {"command", bytes_of_text(command->row->name)},
        { "ns",     operation_namespace(command,       command->arena) },
        { "result",        bytes_of_text(is_failed ? "failed" : "done")                                },
        { "code",        bytes_of_text(code ? code : "?")   },
    };
    audit_done(command->face->audit, "change", &party, pairs, ARRAY_COUNT(pairs));
}
