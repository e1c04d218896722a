/* Principal: users as they are kept, and the judgement of who may do what.
 *
 * A user is one document, keyed by "database.name", in a collection of the system database, which is made
 * with the first user. While there are no users, every client on this machine may do everything and no
 * other client anything; from the first user on, everybody has to say who they are.
 *
 * Threads: any. */
#include "front/mongo/principal.h"

#include "front/mongo/login.h"
#include "front/mongo/principal_store.h"
#include "front/mongo/session.h"
#include "front/mongo/witness.h"

static const struct role {
    const char *name;
    unsigned rights;
    bool is_everywhere;
    const char *help;
} roles[] = {
#define ROLE(word, rights, is_everywhere, sentence) { #word, rights, is_everywhere, sentence },
#include "front/mongo/roles.def"
#undef ROLE
};

static const struct role *find_role(bytes name)
{
    for (size_t i = 0; i < ARRAY_COUNT(roles); i++) {
        if (bytes_equal(name, bytes_of_text(roles[i].name)))
            return &roles[i];
    }
    return NULL;
}

bool principal_has_role(bytes role, bytes database)
{
    const struct role *found = find_role(role);

    return found && (!found->is_everywhere || bytes_equal(database, BYTES_LITERAL("admin")));
}

unsigned principal_role_rights(bytes role, bool *is_everywhere_out)
{
    const struct role *found = find_role(role);

    *is_everywhere_out = found && found->is_everywhere;
    return found ? found->rights : 0;
}

size_t principal_role_count(void)
{
    return ARRAY_COUNT(roles);
}

const char *principal_role_name(size_t at, bool *is_everywhere_out)
{
    *is_everywhere_out = roles[at].is_everywhere;
    return roles[at].name;
}

unsigned principal_rights(bytes document, bytes database)
{
    struct value list, name, where;
    unsigned rights = 0;
    struct field field;

    if (document.len == 0 || !document_find(document, "roles", &list) || list.type != VALUE_ARRAY)
        return 0;
    struct document_walk walk = document_fields(value_document(list));
    while (document_next(&walk, &field)) {
        if (field.value.type != VALUE_DOCUMENT ||
            !document_find(value_document(field.value), "role", &name) ||
            !document_find(value_document(field.value), "db", &where))
            continue;
        const struct role *role = find_role(argument_text(name));
        if (role && (role->is_everywhere || bytes_equal(argument_text(where), database)))
            rights |= role->rights;
    }
    return rights;
}

/* ---- reading ---------------------------------------------------------------------------------------- */

status principal_key(struct arena *arena, bytes database, bytes user, bytes *id_out, bytes *key_out)
{
    struct buffer id = buffer_in(arena);
    struct value value;

    buffer_append(&id, database);
    buffer_append_byte(&id, '.');
    buffer_append(&id, user);
    TRY(buffer_finish(&id, id_out));
    TRY(value_of_text(arena, *id_out, &value));
    struct buffer key = buffer_in(arena);
    key_append_value(&key, value, KEY_ASCENDING);
    return buffer_finish(&key, key_out);
}

static void take_names(struct principal *principal)
{
    struct value value;

    if (document_find(principal->document, "user", &value))
        principal->user = argument_text(value);
    if (document_find(principal->document, "db", &value))
        principal->database = argument_text(value);
}

static status read_in(struct request *request, struct arena *arena, bytes key,
                      struct principal *out, bool *is_there_out)
{
    const struct collection *collection;
    struct document document;
    status s = catalog_find(request, BYTES_LITERAL(PRINCIPAL_DATABASE),
                            BYTES_LITERAL(PRINCIPAL_COLLECTION), &collection);

    if (s.code == OK)
        s = document_read(request, collection, (struct document_key){ .id = key }, &document);
    if (s.code == NOT_FOUND)
        return STATUS_OK;
    TRY(s);
    s = arena_copy(arena, document.bson, &out->document);
    document_release(request, &document);
    TRY(s);
    take_names(out);
    *is_there_out = true;
    return STATUS_OK;
}

status principal_read(struct mongo *face, struct arena *arena, bytes database, bytes user,
                      struct principal *out, bool *is_there_out)
{
    struct request request;
    bytes id, key;

    *out = (struct principal){ 0 };
    *is_there_out = false;
    TRY(principal_key(arena, database, user, &id, &key));
    TRY(request_begin(face->engine, arena, &request));
    status s = read_in(&request, arena, key, out, is_there_out);
    request_end(&request);
    return s;
}

status principal_load(struct mongo *face, struct arena *arena)
{
    const struct collection *collection;
    struct collection_figures figures = { 0 };
    struct request request;

    TRY(request_begin(face->engine, arena, &request));
    status s = catalog_find(&request, BYTES_LITERAL(PRINCIPAL_DATABASE),
                            BYTES_LITERAL(PRINCIPAL_COLLECTION), &collection);
    if (s.code == OK)
        s = collection_figures(&request, collection, &figures);
    request_end(&request);
    if (s.code != OK && s.code != NOT_FOUND)
        return s;
    atomic_store(&face->has_users, figures.documents > 0);
    atomic_fetch_add(&face->users_version, 1);
    return STATUS_OK;
}

static bool copy_binary(bytes document, const char *name, uint8_t *out, size_t room, size_t *len)
{
    enum { BINARY_HEAD_BYTES = 5 };
    struct value value;

    if (!document_find(document, name, &value) || value.type != VALUE_BINARY)
        return false;
    bytes content = bytes_from(value.raw, BINARY_HEAD_BYTES);
    if (content.len > room)
        return false;
    memcpy(out, content.data, content.len);
    *len = content.len;
    return true;
}

bool principal_secret(const struct principal *principal, enum scram_mechanism mechanism,
                      struct scram_secret *out)
{
    struct value credentials, one, iterations;
    int64_t count = 0;
    size_t len;

    *out = (struct scram_secret){ 0 };
    if (principal->document.len == 0 ||
        !document_find(principal->document, "credentials", &credentials) ||
        credentials.type != VALUE_DOCUMENT ||
        !document_find(value_document(credentials), scram_name(mechanism), &one) ||
        one.type != VALUE_DOCUMENT)
        return false;
    bytes kept = value_document(one);
    if (!document_find(kept, "iterationCount", &iterations) ||
        !value_as_int64(iterations, &count) || count <= 0 || count > INT32_MAX)
        return false;
    out->iterations = (uint32_t)count;
    return copy_binary(kept, "salt", out->salt, sizeof(out->salt), &out->salt_len) &&
           copy_binary(kept, "storedKey", out->stored_key, sizeof(out->stored_key), &len) &&
           copy_binary(kept, "serverKey", out->server_key, sizeof(out->server_key), &len);
}

/* ---- judging ---------------------------------------------------------------------------------------- */

/* One of these suffices; 0: no right is needed. */
static unsigned rights_for(enum command_access access)
{
    switch (access) {
    case ACCESS_ANYONE:
    case ACCESS_KNOWN:
        return 0;
    case ACCESS_READ:
        return RIGHT_READ;
    case ACCESS_STATS:
        return RIGHT_READ_CATALOG | RIGHT_MONITOR;
    case ACCESS_WATCH:
        return RIGHT_DB_ADMIN | RIGHT_MONITOR;
    case ACCESS_CATALOG:
        return RIGHT_READ_CATALOG;
    case ACCESS_WRITE:
        return RIGHT_WRITE;
    case ACCESS_MANAGE:
        return RIGHT_WRITE | RIGHT_DB_ADMIN;
    case ACCESS_DROP:
        return RIGHT_DB_ADMIN | RIGHT_DROP;
    case ACCESS_DB_ADMIN:
        return RIGHT_DB_ADMIN;
    case ACCESS_USER_ADMIN:
        return RIGHT_USER_ADMIN;
    case ACCESS_STATUS:
        return RIGHT_STATUS;
    case ACCESS_PARAMETERS:
        return RIGHT_PARAMETERS;
    case ACCESS_SET:
        return RIGHT_SET | RIGHT_MONITOR;
    case ACCESS_MONITOR:
        return RIGHT_MONITOR;
    case ACCESS_ROOT:
        return RIGHT_SERVER;
    }
    return RIGHT_ALL;
}

static status refuse(struct command *command, const char *why)
{
    metrics_add(command->face->metrics, METRIC_requests_unauthorized_total, 1);
    witness_refusal(command);
    return command_fail(command, ERROR_Unauthorized, "Command %s %s", command->row->name, why);
}

status principal_permit_on(struct command *command, bytes database, enum command_access access)
{
    unsigned wanted = rights_for(access);
    bytes document;

    if (access == ACCESS_ANYONE)
        return STATUS_OK;
    if (!atomic_load(&command->face->has_users))
        return command->session->is_loopback
                   ? STATUS_OK
                   : refuse(command, "is not possible from another machine before there are users; "
                                     "make one on the machine of the server with createUser");
    TRY(login_principal(command, &document));
    if (document.len == 0)
        return refuse(command, "requires authentication");
    if (wanted == 0 || (principal_rights(document, database) & wanted) != 0)
        return STATUS_OK;
    const char *why = arena_format(command->arena,
                                   "is not allowed: not authorized on %.*s to execute it",
                                   (int)database.len, (const char *)database.data);
    return refuse(command, why ? why : "is not allowed");
}

unsigned principal_own_rights(const struct command *command, bytes database)
{
    if (!atomic_load(&command->face->has_users))
        return RIGHT_ALL;
    return principal_rights(login_of(command->session).document, database);
}

bool principal_has_part(const struct command *command, bytes database)
{
    enum {
        OF_DATABASES = RIGHT_READ | RIGHT_WRITE | RIGHT_READ_CATALOG | RIGHT_DB_ADMIN |
                       RIGHT_USER_ADMIN
    };

    return (principal_own_rights(command, database) & OF_DATABASES) != 0;
}
