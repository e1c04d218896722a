/* Access: what a command needs, where its row alone does not say.
 *
 * Most commands need what their row says. An aggregation that reads no documents but figures needs less; the rows of
 * the profiler are not documents of the database like others; and everybody may ask about themselves.
 *
 * Threads: pure. */
#include "front/mongo/handlers.h"
#include "front/mongo/login.h"
#include "front/mongo/principal.h"

static bool is_one_of(bytes name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes_is_text(name, names[i]))
            return true;
    }
    return false;
}

/* The name of a stage; empty if it is none. */
static bytes stage_name(struct value stage)
{
    struct field field;

    if (stage.type != VALUE_DOCUMENT)
        return BYTES_NONE;
    struct document_walk walk = document_fields(value_document(stage));
    return document_next(&walk, &field) ? field.name : BYTES_NONE;
}

/* What the first stage shows, if the others only work on its rows. */
static enum command_access access_of_pipeline(const struct command *command)
{
    static const char *const reading[] = { "$facet", "$graphLookup", "$lookup",
                                           "$merge", "$out",         "$unionWith" };
    static const char *const own[] = { "$currentOp", "$documents", "$listLocalSessions",
                                       "$listSessions" };
    static const char *const watching[] = { "$indexStats", "$planCacheStats" };
    enum command_access access = ACCESS_READ;
    struct value pipeline;
    struct field stage;

    if (!document_find(command->message->body, "pipeline", &pipeline) ||
        pipeline.type != VALUE_ARRAY)
        return ACCESS_READ;
    struct document_walk walk = document_fields(value_document(pipeline));
    for (size_t i = 0; document_next(&walk, &stage); i++) {
        bytes name = stage_name(stage.value);
        if (is_one_of(name, reading, ARRAY_COUNT(reading)))
            return ACCESS_READ;
        if (i > 0)
            continue;
        access = is_one_of(name, own, ARRAY_COUNT(own))             ? ACCESS_KNOWN
                 : is_one_of(name, watching, ARRAY_COUNT(watching)) ? ACCESS_WATCH
                 : bytes_is_text(name, "$collStats")                ? ACCESS_STATS
                                                                    : ACCESS_READ;
    }
    return access;
}

static bool is_self(const struct command *command, bytes user, bytes database)
{
    struct principal own = login_of(command->session);

    return own.user.len > 0 && bytes_equal(own.user, user) && bytes_equal(own.database, database);
}

/* Of which database users are asked for; *is_own_out: it is only who asks. */
static bytes asked_database(const struct command *command, struct value target, bool *is_own_out)
{
    struct value user = { 0 }, database, everywhere;

    *is_own_out = false;
    if (target.type == VALUE_STRING)
        *is_own_out = is_self(command, value_text(target), command->database);
    if (target.type != VALUE_DOCUMENT)
        return command->database;
    if (document_find(value_document(target), "forAllDBs", &everywhere))
        return BYTES_LITERAL("admin");
    if (!document_find(value_document(target), "db", &database) ||
        !document_find(value_document(target), "user", &user))
        return command->database;
    *is_own_out = is_self(command, argument_text(user), argument_text(database));
    return argument_text(database);
}

/* Users of several databases may be asked for at once. */
static status permit_users_info(struct command *command, struct value target)
{
    struct field field;
    bool is_own;

    if (target.type == VALUE_ARRAY) {
        struct document_walk walk = document_fields(value_document(target));
        while (document_next(&walk, &field)) {
            if (field.value.type != VALUE_ARRAY)
                TRY(permit_users_info(command, field.value));
        }
        return STATUS_OK;
    }
    bytes database = asked_database(command, target, &is_own);
    return principal_permit_on(command, database, is_own ? ACCESS_KNOWN : ACCESS_USER_ADMIN);
}

/* {profile: -1} only looks. */
static bool only_looks(const struct command *command)
{
    static const char *const changes[] = { "slowms", "sampleRate", "filter" };
    struct value value;
    int64_t level;

    for (size_t i = 0; i < ARRAY_COUNT(changes); i++) {
        if (document_find(command->message->body, changes[i], &value))
            return false;
    }
    return value_as_int64(command->target, &level) && level == -1;
}

static enum command_access access_of(const struct command *command)
{
    const struct command_row *row = command->row;
    bool is_profile = bytes_is_text(argument_text(command->target), PROFILE_LIST);

    if (row->handler == serve_profile && only_looks(command))
        return ACCESS_WATCH;
    if (is_profile && (row->access == ACCESS_READ || row->access == ACCESS_STATS))
        return ACCESS_WATCH;
    if (is_profile && row->access == ACCESS_MANAGE)
        return ACCESS_DB_ADMIN;
    return row->handler == serve_aggregate ? access_of_pipeline(command) : row->access;
}

status principal_permit(struct command *command)
{
    /* Without a known user first: who it is, then what it may. */
    if (command->row->handler == serve_users_info) {
        TRY(principal_permit_on(command, command->database, ACCESS_KNOWN));
        return permit_users_info(command, command->target);
    }
    return principal_permit_on(command, command->database, access_of(command));
}
