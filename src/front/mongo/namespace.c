/* Namespace: names of databases and collections, as this protocol allows them, and what they lead to.
 *
 * A collection comes into being with the first document that is put into it; so does its database. What
 * another face has made is found by the same names.
 *
 * Threads: the command's. */
#include "front/mongo/capped.h"
#include "front/mongo/command.h"
#include "front/mongo/keep.h"
#include "front/mongo/series.h"
#include "front/mongo/witness.h"

#define SYSTEM_DATABASE "$mayfly"

bool namespace_is_hidden(bytes database)
{
    return bytes_equal(database, BYTES_LITERAL(SYSTEM_DATABASE));
}

status command_collection_name(struct command *command, bytes *out)
{
    *out = BYTES_NONE;
    if (command->target.type != VALUE_STRING)
        return command_fail(command, ERROR_InvalidNamespace,
                            "collection name has invalid type %s, expected a string",
                            value_type_name(command->target.type));
    bytes name = value_text(command->target);
    if (name.len == 0 || memchr(name.data, 0, name.len))
        return command_fail(command, ERROR_InvalidNamespace,
                            "Invalid namespace specified '%.*s.%.*s': the name of a collection "
                            "must not be empty nor contain a zero byte",
                            (int)command->database.len, (const char *)command->database.data,
                            (int)name.len, (const char *)name.data);
    *out = name;
    return STATUS_OK;
}

status command_split_namespace(struct command *command, bytes namespace, bytes *database,
                               bytes *name)
{
    const uint8_t *dot = namespace.len ? memchr(namespace.data, '.', namespace.len) : NULL;
    size_t len = dot ? (size_t)(dot - namespace.data) : namespace.len;

    *database = bytes_of(namespace.data, len);
    *name = dot ? bytes_from(namespace, len + 1) : BYTES_NONE;
    TRY(command_check_database(command, *database));
    if (name->len == 0 || memchr(name->data, 0, name->len))
        return command_fail(command, ERROR_InvalidNamespace,
                            "Invalid namespace specified '%.*s': it is the name of a database, a "
                            "dot and the name of a collection",
                            (int)namespace.len, (const char *)namespace.data);
    return STATUS_OK;
}

status command_find(struct command *command, bytes name, const struct collection **out)
{
    status s;

    *out = NULL;
    if (namespace_is_hidden(command->database))
        return STATUS_OK;
    s = catalog_find(&command->request, command->database, name, out);
    if (s.code == NOT_FOUND)
        *out = NULL;
    if (*out && command->multi_entry && (command->row->traits & TRAIT_WRITE) && capped_is(*out))
        return command_fail(command, ERROR_OperationNotSupportedInTransaction,
                            "Collection '%.*s.%.*s' is a capped collection. Writes in transactions "
                            "are not allowed on capped collections.",
                            (int)command->database.len, (const char *)command->database.data,
                            (int)name.len, (const char *)name.data);
    if (*out && command->multi_entry && (command->row->traits & TRAIT_WRITE) && series_is(*out))
        return command_fail(command, ERROR_OperationNotSupportedInTransaction,
                            "Cannot write to the time-series collection '%.*s.%.*s' in a "
                            "multi-document transaction",
                            (int)command->database.len, (const char *)command->database.data,
                            (int)name.len, (const char *)name.data);
    return s.code == NOT_FOUND ? STATUS_OK : s;
}

static status refuse_view(struct command *command, bytes name)
{
    bytes namespace = command_namespace(command, name);

    return command_fail(command, ERROR_CommandNotSupportedOnView,
                        "Namespace %.*s is a view, not a collection; %s what it looks at",
                        (int)namespace.len, (const char *)namespace.data,
                        command->row->traits & TRAIT_WRITE ? "change" : "ask");
}

status command_find_stored(struct command *command, bytes name, const struct collection **out)
{
    TRY(command_find(command, name, out));
    return *out && keep_is_view(*out) ? refuse_view(command, name) : STATUS_OK;
}

status command_check_database(struct command *command, bytes name)
{
    enum { NAME_BYTES_MAX = 63 };
    static const char forbidden[] = "/\\. \"$*<>:|?";
    bool is_bad = name.len == 0 || name.len > NAME_BYTES_MAX;

    for (size_t i = 0; i < name.len && !is_bad; i++)
        is_bad = memchr(forbidden, name.data[i], sizeof(forbidden)) != NULL; /* NUL too */
    if (is_bad && !bytes_equal(name, BYTES_LITERAL("$external")))
        return command_fail(command, ERROR_InvalidNamespace,
                            "Invalid database name: '%.*s'; 1 to %d bytes without any of %s",
                            (int)name.len, (const char *)name.data, NAME_BYTES_MAX, forbidden);
    return STATUS_OK;
}

status command_check_name(struct command *command, bytes database, bytes name)
{
    bool has_dollar = memchr(name.data, '$', name.len) != NULL;
    bool is_system = bytes_starts_with(name, BYTES_LITERAL("system."));

    TRY(command_check_database(command, database));
    if (has_dollar || name.data[0] == '.' || name.data[name.len - 1] == '.')
        return command_fail(command, ERROR_InvalidNamespace,
                            "Invalid collection name: %.*s; it must not contain '$' nor begin or "
                            "end with a dot",
                            (int)name.len, (const char *)name.data);
    if (is_system)
        return command_fail(command, ERROR_InvalidNamespace, "Invalid system namespace: %.*s.%.*s",
                            (int)database.len, (const char *)database.data, (int)name.len,
                            (const char *)name.data);
    return STATUS_OK;
}

/* Somebody else may make it at the same time. */
static status unless_exists(status s)
{
    return s.code == EXISTS ? STATUS_OK : s;
}

typedef bool has_mark(const struct collection *collection);
typedef status set_mark(struct arena *arena, bytes options, bytes *out);

/* In a request of its own, because that of a transaction would never see the mark. */
static status try_mark(struct command *command, const struct collection *collection, has_mark *has,
                       set_mark *set)
{
    const struct collection_definition *names = &collection->definition;
    const struct collection *newest = NULL;
    struct request request;

    TRY(request_begin(command->face->engine, command->arena, &request));
    status s = catalog_find(&request, names->database, names->name, &newest);
    if (s.code == OK && newest->id == collection->id && !has(newest)) {
        struct collection_change change = { .if_version = newest->version, .sets_options = true };
        s = set(command->arena, newest->definition.options, &change.options);
        if (s.code == OK)
            s = collection_change(command->face->engine, command->arena, names->database,
                                  names->name, &change);
    }
    request_end(&request);
    return s.code == NOT_FOUND ? STATUS_OK : s; /* whoever writes to it will hear of it */
}

static status mark(struct command *command, const struct collection *collection, has_mark *has,
                   set_mark *set)
{
    status s = STATUS_OK;

    if (has(collection))
        return s;
    for (int i = 0; i < COMMAND_CHANGE_TRIES; i++) {
        s = try_mark(command, collection, has, set);
        if (s.code != CONFLICT)
            break;
    }
    return s;
}

/* A collection that another face has made, with a partition key, gets documents that may lack what that face
 * gives to all of its own. */
static status mark_foreign(struct command *command, const struct collection *collection)
{
    if (collection->definition.partition_path_count == 0)
        return STATUS_OK;
    return mark(command, collection, foreign_is_marked, foreign_mark);
}

status command_mark_own_ids(struct command *command, const struct collection *collection)
{
    return mark(command, collection, foreign_is_own_marked, foreign_mark_own);
}

status command_create(struct command *command, const struct collection_definition *definition,
                      const struct index_definition *indexes, size_t index_count)
{
    struct engine *engine = command->face->engine;

    TRY(command_check_name(command, definition->database, definition->name));
    if (!catalog_has_database(&command->request, definition->database))
        TRY(unless_exists(
            database_create(engine, command->arena, definition->database, BYTES_NONE)));
    return collection_create(engine, command->arena, definition, indexes, index_count);
}

status command_need(struct command *command, bytes name, const struct collection **out)
{
    struct collection_definition definition = { .database = command->database,
                                                .name = name,
                                                .default_ttl = TTL_OFF };

    TRY(command_find_stored(command, name, out));
    if (*out)
        return mark_foreign(command, *out);
    status made = command_create(command, &definition, NULL, 0);
    if (made.code == OK)
        witness_made(command, name);
    TRY(unless_exists(made));
    TRY(command_renew(command));
    if (command->request.transaction)
        TRY(transaction_adopt(&command->request, command->database, name));
    TRY(command_find(command, name, out));
    if (!*out)
        return command_fail(command, ERROR_NamespaceNotFound,
                            "the collection was dropped while it was made; try again");
    return STATUS_OK;
}

static bytes join_names(struct arena *arena, bytes database, bytes name)
{
    struct buffer text = buffer_in(arena);

    buffer_reserve(&text, database.len + 1 + name.len);
    buffer_append(&text, database);
    buffer_append_byte(&text, '.');
    buffer_append(&text, name);
    return text.is_failed ? BYTES_LITERAL("") : bytes_of(text.data, text.len);
}

bytes command_namespace(struct command *command, bytes name)
{
    return join_names(command->arena, command->database, name);
}

bytes collection_namespace(const struct collection *collection, struct arena *arena)
{
    return join_names(arena, collection->definition.database, collection->definition.name);
}
