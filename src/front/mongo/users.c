/* Users: made, changed, dropped and listed.
 *
 * A change is a write of one document that must still be the version that was read; whoever comes in
 * between makes the command fail, and nothing is half done. After each change every connection looks its
 * user up again.
 *
 * Threads: the command's. Start reading at serve_create_user(). */
#include "front/mongo/handlers.h"
#include "front/mongo/login.h"
#include "front/mongo/principal_store.h"
#include "front/mongo/session.h"

enum { NAME_BYTES_MAX = 128, PASSWORD_BYTES_MAX = 1024 };

static const struct argument table[] = {
    {"pwd",                         ARGUMENT_TEXT,     false},
    { "roles",                      ARGUMENT_ARRAY,    false},
    { "customData",                 ARGUMENT_DOCUMENT, false},
    { "mechanisms",                 ARGUMENT_ARRAY,    false},
    { "digestPassword",             ARGUMENT_FLAG,     false},
    { "authenticationRestrictions", ARGUMENT_ARRAY,    false},
};
enum { PWD, ROLES, CUSTOM_DATA, MECHANISMS, DIGEST, RESTRICTIONS };

/* ---- the collection --------------------------------------------------------------------------------- */

static status unless_exists(status s)
{
    return s.code == EXISTS ? STATUS_OK : s;
}

static status find_accounts(struct command *command, const struct collection **out)
{
    status s = catalog_find(&command->request, BYTES_LITERAL(PRINCIPAL_DATABASE),
                            BYTES_LITERAL(PRINCIPAL_COLLECTION), out);

    if (s.code == NOT_FOUND)
        *out = NULL;
    return s.code == NOT_FOUND ? STATUS_OK : s;
}

static status need_accounts(struct command *command, const struct collection **out)
{
    struct collection_definition definition = { .database = BYTES_LITERAL(PRINCIPAL_DATABASE),
                                                .name = BYTES_LITERAL(PRINCIPAL_COLLECTION),
                                                .default_ttl = TTL_OFF };
    struct engine *engine = command->face->engine;

    TRY(find_accounts(command, out));
    if (*out)
        return STATUS_OK;
    TRY(unless_exists(database_create(engine, command->arena, definition.database, BYTES_NONE)));
    TRY(unless_exists(collection_create(engine, command->arena, &definition, NULL, 0)));
    TRY(command_renew(command));
    return catalog_find(&command->request, definition.database, definition.name, out);
}

/* Writes, and lets everybody know. */
static status write_account(struct command *command, struct write_op *op)
{
    TRY(document_write(&command->request, op, 1, WRITE_EACH));
    TRY(op->outcome);
    return principal_load(command->face, command->arena);
}

/* ---- parts of a user -------------------------------------------------------------------------------- */

static void append_role(struct buffer *out, size_t at, bytes role, bytes database)
{
    char room[REPLY_INDEX_BYTES];
    size_t begun = reply_begin(out, reply_index(at, room));

    reply_bytes(out, "role", role);
    reply_bytes(out, "db", database);
    document_end(out, begun);
}

/* "name" or {role, db}. */
static status read_role(struct command *command, struct value value, bytes *role_out,
                        bytes *database_out)
{
    struct value role, database;

    *role_out = argument_text(value);
    *database_out = command->database;
    if (value.type == VALUE_DOCUMENT && document_find(value_document(value), "role", &role) &&
        document_find(value_document(value), "db", &database)) {
        *role_out = argument_text(role);
        *database_out = argument_text(database);
    }
    if (!principal_has_role(*role_out, *database_out))
        return command_fail(command, ERROR_RoleNotFound, "Could not find role: %.*s@%.*s",
                            (int)role_out->len, (const char *)role_out->data,
                            (int)database_out->len, (const char *)database_out->data);
    /* Who looks after the users of one database gives away no rights on others. */
    return principal_permit_on(command, *database_out, ACCESS_USER_ADMIN);
}

static status append_roles(struct command *command, struct buffer *out, struct value list)
{
    size_t begun = reply_begin_array(out, "roles"), count = 0;
    bytes role, database;
    struct field field;

    if (list.type == VALUE_ARRAY) {
        struct document_walk walk = document_fields(value_document(list));
        while (document_next(&walk, &field)) {
            TRY(read_role(command, field.value, &role, &database));
            append_role(out, count++, role, database);
        }
    }
    document_end(out, begun);
    return STATUS_OK;
}

static bool is_wanted(struct value mechanisms, const char *name)
{
    struct field field;

    if (mechanisms.type != VALUE_ARRAY)
        return true;
    struct document_walk walk = document_fields(value_document(mechanisms));
    while (document_next(&walk, &field)) {
        if (bytes_equal(argument_text(field.value), bytes_of_text(name)))
            return true;
    }
    return false;
}

static status append_secret(struct command *command, struct buffer *out,
                            enum scram_mechanism mechanism, bytes user, bytes password)
{
    size_t len = scram_hash_len(mechanism);
    struct scram_secret secret;

    TRY(scram_make_secret(command->arena, mechanism, user, password, &secret));
    size_t begun = reply_begin(out, scram_name(mechanism));
    reply_int32(out, "iterationCount", (int32_t)secret.iterations);
    reply_binary(out, "salt", 0, bytes_of(secret.salt, secret.salt_len));
    reply_binary(out, "storedKey", 0, bytes_of(secret.stored_key, len));
    reply_binary(out, "serverKey", 0, bytes_of(secret.server_key, len));
    document_end(out, begun);
    return STATUS_OK;
}

static status check_mechanisms(struct command *command, struct value mechanisms)
{
    struct field field;

    if (mechanisms.type != VALUE_ARRAY)
        return STATUS_OK;
    struct document_walk walk = document_fields(value_document(mechanisms));
    while (document_next(&walk, &field)) {
        bytes name = argument_text(field.value);
        if (scram_by_name(name) == SCRAM_COUNT)
            return command_fail(command, ERROR_BadValue,
                                "Unknown auth mechanism '%.*s'; there are SCRAM-SHA-256 and "
                                "SCRAM-SHA-1",
                                (int)name.len, (const char *)name.data);
    }
    return STATUS_OK;
}

static status append_credentials(struct command *command, struct buffer *out, bytes user,
                                 const struct value *given)
{
    bytes password = argument_text(given[PWD]);

    if (password.len == 0 || password.len > PASSWORD_BYTES_MAX)
        return command_fail(command, ERROR_BadValue,
                            "a password has 1 to %d bytes; give it as 'pwd'", PASSWORD_BYTES_MAX);
    if (!argument_flag(given[DIGEST], true))
        return command_fail(command, ERROR_BadValue,
                            "Use of SCRAM-SHA-256 requires undigested passwords; leave "
                            "digestPassword out");
    TRY(check_mechanisms(command, given[MECHANISMS]));
    size_t begun = reply_begin(out, "credentials");
    for (unsigned i = 0; i < SCRAM_COUNT; i++) {
        if (is_wanted(given[MECHANISMS], scram_name((enum scram_mechanism)i)))
            TRY(append_secret(command, out, (enum scram_mechanism)i, user, password));
    }
    document_end(out, begun);
    return STATUS_OK;
}

/* ---- making ----------------------------------------------------------------------------------------- */

static status read_name(struct command *command, bytes *out)
{
    *out = argument_text(command->target);
    if (out->len == 0 || out->len > NAME_BYTES_MAX || memchr(out->data, 0, out->len))
        return command_fail(command, ERROR_BadValue,
                            "the name of a user is a text of 1 to %d bytes", NAME_BYTES_MAX);
    return STATUS_OK;
}

static status make_user(struct command *command, bytes user, bytes id, const struct value *given,
                        bytes *out)
{
    struct buffer made = buffer_in(command->arena);
    uint8_t uuid[16];

    random_secret(uuid, sizeof(uuid));
    size_t begun = document_begin(&made);
    reply_bytes(&made, "_id", id);
    reply_binary(&made, "userId", 4, bytes_of(uuid, sizeof(uuid)));
    reply_bytes(&made, "user", user);
    reply_bytes(&made, "db", command->database);
    if (given[CUSTOM_DATA].type == VALUE_DOCUMENT)
        document_append(&made, BYTES_LITERAL("customData"), given[CUSTOM_DATA]);
    TRY(append_roles(command, &made, given[ROLES]));
    TRY(append_credentials(command, &made, user, given));
    document_end(&made, begun);
    return buffer_finish(&made, out);
}

/* From the first user on everybody has to say who they are; without one who looks after users nobody could ever make
 * another. */
static status check_first(struct command *command, const struct collection *accounts,
                          bytes document)
{
    struct collection_figures figures;

    TRY(collection_figures(&command->request, accounts, &figures));
    if (figures.documents > 0 ||
        (principal_rights(document, BYTES_LITERAL("admin")) & RIGHT_USER_ADMIN))
        return STATUS_OK;
    return command_fail(
        command, ERROR_IllegalOperation,
        "the first user must be able to make others, because from then on everybody "
        "has to authenticate: make one with the role root on admin first, such as "
        "db.getSiblingDB('admin').createUser({user: 'admin', pwd: passwordPrompt(), "
        "roles: ['root']})");
}

status serve_create_user(struct command *command)
{
    struct value given[ARRAY_COUNT(table)];
    const struct collection *accounts;
    bytes user, id;
    struct write_op op = { .kind = WRITE_INSERT, .own_ttl = TTL_ABSENT };

    TRY(command_arguments(command, table, ARRAY_COUNT(table), given));
    TRY(read_name(command, &user));
    if (given[ROLES].type == VALUE_MISSING)
        return command_fail(command, ERROR_BadValue,
                            "\"createUser\" command requires a \"roles\" "
                            "array");
    TRY(principal_key(command->arena, command->database, user, &id, &op.key.id));
    TRY(make_user(command, user, id, given, &op.document));
    TRY(need_accounts(command, &accounts));
    TRY(check_first(command, accounts, op.document));
    op.collection = accounts;
    status s = write_account(command, &op);
    if (s.code == EXISTS)
        return command_fail(command, ERROR_Location51003, "User \"%.*s@%.*s\" already exists",
                            (int)user.len, (const char *)user.data, (int)command->database.len,
                            (const char *)command->database.data);
    return s;
}

/* ---- changing --------------------------------------------------------------------------------------- */

/* The user that the command names, to be changed; the operation replaces exactly this version. */
static status find_user(struct command *command, struct write_op *op, bytes *user_out,
                        bytes *document_out)
{
    const struct collection *accounts;
    struct document document;
    bytes id;

    TRY(read_name(command, user_out));
    TRY(principal_key(command->arena, command->database, *user_out, &id, &op->key.id));
    TRY(find_accounts(command, &accounts));
    status s = status_of(NOT_FOUND, "");
    if (accounts)
        s = document_read(&command->request, accounts, op->key, &document);
    if (s.code == NOT_FOUND)
        return command_fail(command, ERROR_UserNotFound, "User '%.*s@%.*s' not found",
                            (int)user_out->len, (const char *)user_out->data,
                            (int)command->database.len, (const char *)command->database.data);
    TRY(s);
    *op = (struct write_op){ .collection = accounts,
                             .kind = WRITE_REPLACE,
                             .key = op->key,
                             .own_ttl = TTL_ABSENT,
                             .if_seq = document.seq };
    s = arena_copy(command->arena, document.bson, document_out);
    document_release(&command->request, &document);
    return s;
}

/* The document without some fields; the caller appends others and ends it. */
static size_t begin_copy(struct buffer *out, bytes document, const char *const *without,
                         size_t count)
{
    struct document_walk walk = document_fields(document);
    size_t begun = document_begin(out);
    struct field field;

    while (document_next(&walk, &field)) {
        bool is_left_out = false;
        for (size_t i = 0; i < count; i++)
            is_left_out |= without[i] && bytes_equal(field.name, bytes_of_text(without[i]));
        if (!is_left_out)
            document_append(out, field.name, field.value);
    }
    return begun;
}

status serve_update_user(struct command *command)
{
    struct buffer made = buffer_in(command->arena);
    struct value given[ARRAY_COUNT(table)];
    struct write_op op = { 0 };
    bytes user, document;

    TRY(command_arguments(command, table, ARRAY_COUNT(table), given));
    TRY(find_user(command, &op, &user, &document));
    bool has_password = given[PWD].type != VALUE_MISSING,
         has_roles = given[ROLES].type != VALUE_MISSING;
    bool has_data = given[CUSTOM_DATA].type != VALUE_MISSING;
    if (!has_password && !has_roles && !has_data)
        return command_fail(command, ERROR_BadValue,
                            "Must specify at least one field to update in updateUser");
    const char *without[] = { has_password ? "credentials" : NULL, has_roles ? "roles" : NULL,
                              has_data ? "customData" : NULL };
    size_t begun = begin_copy(&made, document, without, ARRAY_COUNT(without));
    if (has_data)
        document_append(&made, BYTES_LITERAL("customData"), given[CUSTOM_DATA]);
    if (has_roles)
        TRY(append_roles(command, &made, given[ROLES]));
    if (has_password)
        TRY(append_credentials(command, &made, user, given));
    document_end(&made, begun);
    TRY(buffer_finish(&made, &op.document));
    return write_account(command, &op);
}

static bool has_role(struct value list, bytes role, bytes database)
{
    struct value name, where;
    struct field field;

    if (list.type != VALUE_ARRAY)
        return false;
    struct document_walk walk = document_fields(value_document(list));
    while (document_next(&walk, &field)) {
        if (field.value.type == VALUE_DOCUMENT &&
            document_find(value_document(field.value), "role", &name) &&
            document_find(value_document(field.value), "db", &where) &&
            bytes_equal(argument_text(name), role) && bytes_equal(argument_text(where), database))
            return true;
    }
    return false;
}

/* The roles that a command names, as {role, db}. */
static status name_roles(struct command *command, struct value list, struct value *out)
{
    struct buffer named = buffer_in(command->arena);
    size_t begun = document_begin(&named);
    bytes document;

    TRY(append_roles(command, &named, list));
    document_end(&named, begun);
    TRY(buffer_finish(&named, &document));
    document_find(document, "roles", out);
    return STATUS_OK;
}

/* `is_granted`: those roles are added, otherwise taken away. */
static status change_roles(struct command *command, bool is_granted)
{
    static const struct argument role_table[] = {
        {"roles", ARGUMENT_ARRAY, true},
    };
    static const char *const without[] = { "roles" };
    struct buffer made = buffer_in(command->arena);
    struct value given[1], named, old = { .type = VALUE_MISSING }, role, where;
    struct write_op op = { 0 };
    bytes user, document;
    size_t count = 0;
    struct field field;

    TRY(command_arguments(command, role_table, 1, given));
    TRY(find_user(command, &op, &user, &document));
    TRY(name_roles(command, given[0], &named));
    document_find(document, "roles", &old);
    size_t begun = begin_copy(&made, document, without, 1);
    size_t list = reply_begin_array(&made, "roles");
    const struct value sources[] = { old, named };
    for (size_t i = 0; i < (is_granted ? 2u : 1u); i++) {
        if (sources[i].type != VALUE_ARRAY)
            continue;
        struct document_walk walk = document_fields(value_document(sources[i]));
        while (document_next(&walk, &field)) {
            bytes one = value_document(field.value);
            if (!document_find(one, "role", &role) || !document_find(one, "db", &where) ||
                has_role(i == 1       ? old
                         : is_granted ? (struct value){ 0 }
                                      : named,
                         argument_text(role), argument_text(where)))
                continue;
            append_role(&made, count++, argument_text(role), argument_text(where));
        }
    }
    document_end(&made, list);
    document_end(&made, begun);
    TRY(buffer_finish(&made, &op.document));
    return write_account(command, &op);
}

status serve_grant_roles(struct command *command)
{
    return change_roles(command, true);
}

status serve_revoke_roles(struct command *command)
{
    return change_roles(command, false);
}

status serve_drop_user(struct command *command)
{
    struct write_op op = { 0 };
    bytes user, document;

    TRY(find_user(command, &op, &user, &document));
    op.kind = WRITE_DELETE;
    return write_account(command, &op);
}

/* ---- all of them ------------------------------------------------------------------------------------ */

typedef status visit(struct command *command, const struct document *document, void *context);

static status each_user(struct command *command, visit *visitor, void *context)
{
    const struct collection *accounts;
    struct scan_spec spec = { 0 };
    struct document document;
    struct scan_row row;
    struct scan *scan;

    TRY(find_accounts(command, &accounts));
    if (!accounts)
        return STATUS_OK;
    TRY(scan_open(&command->request, accounts, &spec, &scan));
    status s = STATUS_OK;
    while (s.code == OK && scan_next(scan, &row)) {
        s = scan_document(scan, &document);
        if (s.code != OK)
            break;
        s = visitor(command, &document, context);
        document_release(&command->request, &document);
    }
    if (s.code == OK)
        s = scan_status(scan);
    scan_close(scan);
    return s;
}

static bytes field_text(bytes document, const char *name)
{
    struct value value;

    return document_find(document, name, &value) ? argument_text(value) : BYTES_NONE;
}

static status drop_one(struct command *command, const struct document *document, void *context)
{
    int32_t *count = context;
    struct write_op op = { .kind = WRITE_DELETE, .own_ttl = TTL_ABSENT };

    if (!bytes_equal(field_text(document->bson, "db"), command->database))
        return STATUS_OK;
    TRY(find_accounts(command, &op.collection));
    op.key = document->key;
    TRY(document_write(&command->request, &op, 1, WRITE_EACH));
    *count += op.outcome.code == OK;
    return op.outcome.code == NOT_FOUND ? STATUS_OK : op.outcome;
}

status serve_drop_all_users(struct command *command)
{
    int32_t count = 0;
    status s = each_user(command, drop_one, &count);

    TRY(principal_load(command->face, command->arena));
    reply_int32(&command->reply, "n", count);
    return s;
}

/* ---- listing ---------------------------------------------------------------------------------------- */

/* Which users are asked for. */
struct listing {
    bool is_everywhere, is_all;
    size_t count;
};

static bool fits(struct command *command, struct value wanted, bytes document)
{
    struct value user, database;

    if (wanted.type == VALUE_STRING)
        return bytes_equal(value_text(wanted), field_text(document, "user")) &&
               bytes_equal(command->database, field_text(document, "db"));
    return wanted.type == VALUE_DOCUMENT && document_find(value_document(wanted), "user", &user) &&
           document_find(value_document(wanted), "db", &database) &&
           bytes_equal(argument_text(user), field_text(document, "user")) &&
           bytes_equal(argument_text(database), field_text(document, "db"));
}

static bool is_listed(struct command *command, const struct listing *listing, bytes document)
{
    struct field field;

    if (listing->is_everywhere)
        return true;
    if (listing->is_all)
        return bytes_equal(command->database, field_text(document, "db"));
    if (command->target.type != VALUE_ARRAY)
        return fits(command, command->target, document);
    struct document_walk walk = document_fields(value_document(command->target));
    while (document_next(&walk, &field)) {
        if (fits(command, field.value, document))
            return true;
    }
    return false;
}

/* Everything but the secrets, of which only the kinds are told. */
static void append_user(struct buffer *out, bytes document)
{
    struct document_walk walk = document_fields(document);
    char room[REPLY_INDEX_BYTES];
    struct field field, inner;
    size_t count = 0;

    while (document_next(&walk, &field)) {
        if (!bytes_equal(field.name, BYTES_LITERAL("credentials"))) {
            document_append(out, field.name, field.value);
            continue;
        }
        size_t list = reply_begin_array(out, "mechanisms");
        struct document_walk kinds = document_fields(value_document(field.value));
        while (document_next(&kinds, &inner))
            reply_bytes(out, reply_index(count++, room), inner.name);
        document_end(out, list);
    }
}

static status list_one(struct command *command, const struct document *document, void *context)
{
    struct listing *listing = context;
    char room[REPLY_INDEX_BYTES];

    if (!is_listed(command, listing, document->bson))
        return STATUS_OK;
    size_t row = reply_begin(&command->reply, reply_index(listing->count++, room));
    append_user(&command->reply, document->bson);
    document_end(&command->reply, row);
    return STATUS_OK;
}

status serve_users_info(struct command *command)
{
    struct listing listing = { .is_all = value_is_number(command->target) };
    struct value everywhere;

    if (command->target.type == VALUE_DOCUMENT &&
        document_find(value_document(command->target), "forAllDBs", &everywhere))
        listing.is_everywhere = argument_flag(everywhere, false);
    size_t list = reply_begin_array(&command->reply, "users");
    TRY(each_user(command, list_one, &listing));
    document_end(&command->reply, list);
    return STATUS_OK;
}

/* Of one role, in a list that was begun. */
static void append_of_role(struct buffer *out, bytes role, bytes database, size_t *count)
{
    bool is_everywhere;
    unsigned rights = principal_role_rights(role, &is_everywhere);

    privilege_append(out, rights, is_everywhere ? BYTES_NONE : database, count);
}

static void append_privileges(struct command *command, const char *name, bytes role, bytes database)
{
    size_t count = 0, list = reply_begin_array(&command->reply, name);

    append_of_role(&command->reply, role, database, &count);
    document_end(&command->reply, list);
}

/* Of all roles of a user. */
static void append_own_privileges(struct buffer *out, bytes document)
{
    size_t count = 0, list = reply_begin_array(out, "authenticatedUserPrivileges");
    struct value roles;
    struct field field;

    if (document.len > 0 && document_find(document, "roles", &roles) && roles.type == VALUE_ARRAY) {
        struct document_walk walk = document_fields(value_document(roles));
        while (document_next(&walk, &field)) {
            if (field.value.type == VALUE_DOCUMENT)
                append_of_role(out, field_text(value_document(field.value), "role"),
                               field_text(value_document(field.value), "db"), &count);
        }
    }
    document_end(out, list);
}

status serve_roles_info(struct command *command)
{
    struct value shows;
    bool has_privileges = document_find(command->message->body, "showPrivileges", &shows) &&
                          argument_flag(shows, false);
    bool is_shown = document_find(command->message->body, "showBuiltinRoles", &shows) &&
                    argument_flag(shows, false);
    bool is_admin = bytes_equal(command->database, BYTES_LITERAL("admin")), is_everywhere;
    char room[REPLY_INDEX_BYTES];
    size_t count = 0;

    size_t list = reply_begin_array(&command->reply, "roles");
    for (size_t i = 0; i < principal_role_count(); i++) {
        const char *name = principal_role_name(i, &is_everywhere);
        bool is_asked = bytes_equal(argument_text(command->target), bytes_of_text(name));
        if ((is_everywhere && !is_admin) || (!is_asked && !is_shown))
            continue;
        size_t row = reply_begin(&command->reply, reply_index(count++, room));
        reply_text(&command->reply, "role", name);
        reply_bytes(&command->reply, "db", command->database);
        reply_bool(&command->reply, "isBuiltin", true);
        document_end(&command->reply, reply_begin_array(&command->reply, "roles"));
        document_end(&command->reply, reply_begin_array(&command->reply, "inheritedRoles"));
        if (has_privileges)
            append_privileges(command, "privileges", bytes_of_text(name), command->database);
        document_end(&command->reply, row);
    }
    document_end(&command->reply, list);
    return STATUS_OK;
}

status serve_connection_status(struct command *command)
{
    struct buffer *out = &command->reply;
    struct value roles, shows;
    bytes document;

    TRY(login_principal(command, &document));
    size_t info = reply_begin(out, "authInfo");
    size_t list = reply_begin_array(out, "authenticatedUsers");
    if (document.len > 0) {
        size_t user = reply_begin(out, "0");
        reply_bytes(out, "user", field_text(document, "user"));
        reply_bytes(out, "db", field_text(document, "db"));
        document_end(out, user);
    }
    document_end(out, list);
    if (document.len > 0 && document_find(document, "roles", &roles))
        document_append(out, BYTES_LITERAL("authenticatedUserRoles"), roles);
    else
        document_end(out, reply_begin_array(out, "authenticatedUserRoles"));
    if (document_find(command->message->body, "showPrivileges", &shows) &&
        argument_flag(shows, false))
        append_own_privileges(out, document);
    document_end(out, info);
    return STATUS_OK;
}
