/* Lsid list: the sessions that are in use, for the first stages $listSessions and $listLocalSessions.
 *
 * There is one server, so what it knows of sessions (lsid_table.c) is all there is. Whoever is logged in sees their own
 * sessions; those of others need a right.
 *
 * Threads: the command's. */
#include "front/mongo/login.h"
#include "front/mongo/lsid.h"
#include "front/mongo/origin.h"
#include "front/mongo/principal.h"

struct session_wish {
    bool is_all;
    struct value users; /* [{ user, db }] or missing */
};

static status read_wish(struct command *command, struct value argument, struct session_wish *out)
{
    static const struct argument table[] = {
        {"allUsers", ARGUMENT_FLAG,  false},
        { "users",   ARGUMENT_ARRAY, false},
    };
    struct value given[ARRAY_COUNT(table)];

    if (argument.type != VALUE_DOCUMENT)
        return command_fail(command, ERROR_TypeMismatch,
                            "a list of sessions takes an object, not %s",
                            value_type_name(argument.type));
    TRY(command_fields(command, "$listSessions", value_document(argument), table,
                       ARRAY_COUNT(table), given));
    *out = (struct session_wish){ .is_all = argument_flag(given[0], false), .users = given[1] };
    if (out->is_all && out->users.type == VALUE_ARRAY)
        return command_fail(command, ERROR_UnsupportedFormat,
                            "a list of sessions has either {allUsers: true} or {users: [...]}");
    return STATUS_OK;
}

static status permit_others(struct command *command)
{
    if (principal_own_rights(command, BYTES_LITERAL("admin")) & (RIGHT_MONITOR | RIGHT_SET))
        return STATUS_OK;
    return command_fail(command, ERROR_Unauthorized,
                        "not authorized on admin to list the sessions of other users; without "
                        "allUsers and users it lists your own");
}

static status list_user(struct command *command, bytes row, struct buffer *out)
{
    static const struct argument table[] = {
        {"user", ARGUMENT_TEXT, true},
        { "db",  ARGUMENT_TEXT, true},
    };
    struct value given[ARRAY_COUNT(table)];
    uint8_t digest[LSID_OWNER_BYTES];

    TRY(command_fields(command, "$listSessions.users", row, table, ARRAY_COUNT(table), given));
    lsid_digest(value_text(given[0]), value_text(given[1]), digest);
    const struct lsid_pattern pattern = { .owner = bytes_of(digest, sizeof(digest)) };
    if (!bytes_equal(pattern.owner, login_digest(command->session)))
        TRY(permit_others(command));
    lsid_list(command->face->sessions, &pattern, command->request.now, out);
    return STATUS_OK;
}

static status list_users(struct command *command, bytes users, struct buffer *out)
{
    struct document_walk walk = document_fields(users);
    struct field field;

    for (size_t count = 0; document_next(&walk, &field); count++) {
        if (field.value.type != VALUE_DOCUMENT || count == LIMIT_SESSIONS_NAMED)
            return command_fail(command, ERROR_TypeMismatch,
                                "users of a list of sessions are at most %d objects {user, db}",
                                LIMIT_SESSIONS_NAMED);
        TRY(list_user(command, value_document(field.value), out));
    }
    return STATUS_OK;
}

status origin_sessions(struct command *command, bytes name, struct value argument,
                       struct buffer *out)
{
    struct lsid_pattern pattern = { .owner = login_digest(command->session) };
    struct session_wish wish;

    if (name.len > 0 &&
        (!bytes_is_text(name, "system.sessions") || !bytes_is_text(command->database, "config")))
        return command_fail(command, ERROR_InvalidNamespace,
                            "$listSessions may only be run against config.system.sessions");
    TRY(read_wish(command, argument, &wish));
    if (wish.users.type == VALUE_ARRAY)
        return list_users(command, value_document(wish.users), out);
    if (wish.is_all) {
        TRY(permit_others(command));
        pattern.owner = BYTES_NONE;
    }
    lsid_list(command->face->sessions, &pattern, command->request.now, out);
    return STATUS_OK;
}
