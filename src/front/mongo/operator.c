/* Operator: small commands of those who run the server: what there is, sizes, and what needs not be done here.
 *
 * Threads: the command's. */
#include "front/mongo/handlers.h"

status serve_list_commands(struct command *command)
{
    struct buffer *out = &command->reply;
    size_t list = reply_begin(out, "commands");

    for (size_t i = 0; i < COMMAND_ROWS; i++) {
        const struct command_row *row = command_row_at(i);
        if (!row->handler || ((row->traits & TRAIT_TEST_ONLY) && !command->face->has_test_commands))
            continue;
        size_t begun = reply_begin(out, row->name);
        reply_text(out, "help", row->help);
        reply_bool(out, "requiresAuth", row->access != ACCESS_ANYONE);
        reply_bool(out, "secondaryOk", !(row->traits & TRAIT_WRITE));
        reply_bool(out, "adminOnly", row->traits & TRAIT_ADMIN_ONLY);
        size_t versions = reply_begin_array(out, "apiVersions");
        if (row->traits & TRAIT_STABLE)
            reply_text(out, "0", "1");
        document_end(out, versions);
        document_end(out, begun);
    }
    document_end(out, list);
    return STATUS_OK;
}

/* Size and number of the documents of a collection, by its full name. */
status serve_data_size(struct command *command)
{
    struct collection_figures figures = { 0 };
    const struct collection *collection;
    bytes whole = argument_text(command->target);
    const uint8_t *dot = whole.len > 0 ? memchr(whole.data, '.', whole.len) : NULL;
    int64_t begun = clock_monotonic(engine_clock(command->face->engine));

    if (!dot)
        return command_fail(command, ERROR_InvalidNamespace,
                            "dataSize takes the full name of a collection, database.collection");
    bytes database = bytes_of(whole.data, (size_t)(dot - whole.data));
    if (!bytes_equal(database, command->database))
        return command_fail(command, ERROR_InvalidNamespace,
                            "dataSize is run on the database that the collection is in, '%.*s'",
                            (int)database.len, (const char *)database.data);
    TRY(command_find(command, bytes_from(whole, database.len + 1), &collection));
    if (collection)
        TRY(collection_figures(&command->request, collection, &figures));
    reply_int64(&command->reply, "size", (int64_t)figures.bytes);
    reply_int64(&command->reply, "numObjects", (int64_t)figures.documents);
    reply_int64(&command->reply, "millis",
                clock_monotonic(engine_clock(command->face->engine)) - begun);
    reply_bool(&command->reply, "estimate", false);
    return STATUS_OK;
}

status serve_features(struct command *command)
{
    reply_double(&command->reply, "js", 0);
    reply_double(&command->reply, "oidReset", 0);
    return STATUS_OK;
}

/* Readers take no locks, and writers none that outlive a commit. */
status serve_lock_info(struct command *command)
{
    document_end(&command->reply, reply_begin_array(&command->reply, "lockInfo"));
    return STATUS_OK;
}

/* What is acknowledged is durable already. */
status serve_fsync(struct command *command)
{
    struct value lock;

    if (document_find(command->message->body, "lock", &lock) && argument_flag(lock, false))
        return command_fail(command, ERROR_CommandNotSupported,
                            "mayfly cannot be locked against writes; copy a stopped database");
    reply_int32(&command->reply, "numFiles", 1);
    return STATUS_OK;
}

status serve_fsync_unlock(struct command *command)
{
    return command_fail(command, ERROR_IllegalOperation,
                        "fsyncUnlock called when not locked; mayfly is never locked");
}

status serve_default_concern(struct command *command)
{
    struct buffer *out = &command->reply;
    size_t read = reply_begin(out, "defaultReadConcern");

    reply_text(out, "level", "local");
    document_end(out, read);
    size_t write = reply_begin(out, "defaultWriteConcern");
    reply_text(out, "w", "majority");
    reply_int32(out, "wtimeout", 0);
    document_end(out, write);
    reply_text(out, "defaultWriteConcernSource", "implicit");
    reply_text(out, "defaultReadConcernSource", "implicit");
    return STATUS_OK;
}

/* Space is given back by the purger and the storage by themselves. */
status serve_compact(struct command *command)
{
    const struct collection *collection;
    bytes name;

    TRY(command_collection_name(command, &name));
    TRY(command_find(command, name, &collection));
    if (!collection)
        return command_fail(command, ERROR_NamespaceNotFound, "collection '%.*s' does not exist",
                            (int)name.len, (const char *)name.data);
    reply_int64(&command->reply, "bytesFreed", 0);
    return STATUS_OK;
}

status serve_plan_cache_filters(struct command *command)
{
    document_end(&command->reply, reply_begin_array(&command->reply, "filters"));
    return STATUS_OK;
}
