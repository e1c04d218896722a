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

    audit_done(command->face->audit, "login", &party, "result=accepted");
}

void witness_failed_login(const struct command *command, bytes user, bytes database)
{
    const struct audit_party party = { .peer = command->session->peer,
                                       .user = full_name(command, user, database) };

    audit_refused(command->face->audit, &party, "login=failed");
}

void witness_refusal(const struct command *command)
{
    const struct audit_party party = party_of(command);
    const bytes namespace = operation_namespace(command, command->arena);

    audit_refused(command->face->audit, &party, "command=%s ns=%.*s", command->row->name,
                  (int)namespace.len, (const char *)namespace.data);
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
    const bytes namespace = operation_namespace(command, command->arena);
    audit_done(command->face->audit, "change", &party, "command=%s ns=%.*s result=%s code=%d",
               command->row->name, (int)namespace.len, (const char *)namespace.data,
               is_failed ? "failed" : "done", command->fault.code);
}
