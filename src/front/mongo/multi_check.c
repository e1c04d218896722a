/* Multi, what is possible: which commands may be statements of a transaction, what they may say of read and write
 * concerns, and what a client is told to do when one fails.
 *
 * Threads: the command's. */
#include "front/mongo/handlers.h"
#include "front/mongo/multi.h"

bool multi_is_commit(const struct command *command)
{
    return command->row && command->row->handler == serve_commit_transaction;
}

bool multi_is_abort(const struct command *command)
{
    return command->row && command->row->handler == serve_abort_transaction;
}

/* ---- read and write concerns ------------------------------------------------------------------------ */

/* A time that this server has not reached yet can only come from another one. */
static status check_after(struct command *command, struct value value)
{
    struct mongo *face = command->face;
    uint64_t after = 0, now;

    if (value.type != VALUE_TIMESTAMP || value.raw.len != sizeof(after))
        return command_fail(command, ERROR_TypeMismatch,
                            "readConcern.afterClusterTime must be a timestamp, not %s",
                            value_type_name(value.type));
    memcpy(&after, value.raw.data, sizeof(after));
    now = face_cluster_time(face, false);
    if (after >> 32 > now >> 32)
        return command_fail(command, ERROR_InvalidOptions,
                            "readConcern afterClusterTime value must not be greater than the "
                            "current clusterTime; the server is at second %llu, the client asks "
                            "for %llu",
                            (unsigned long long)(now >> 32), (unsigned long long)(after >> 32));
    /* Within this second, before a restart: what is told from now on is later. */
    while (after > now && !atomic_compare_exchange_weak(&face->cluster_time, &now, after))
        continue;
    return STATUS_OK;
}

status multi_check_read_concern(struct command *command, struct value read_concern)
{
    static const char *const inside[] = { "local", "majority", "snapshot" };
    static const char *const outside[] = { "local", "majority", "available", "linearizable" };
    struct value value;

    if (read_concern.type != VALUE_DOCUMENT)
        return command_fail(command, ERROR_TypeMismatch, "readConcern must be an object, not %s",
                            value_type_name(read_concern.type));
    bytes concern = value_document(read_concern);
    if (document_find(concern, "atClusterTime", &value))
        return command_fail(command, ERROR_InvalidOptions,
                            "readConcern.atClusterTime is not possible: mayfly keeps no past of "
                            "the data; a transaction reads at one instant, that of its first "
                            "statement");
    if (document_find(concern, "level", &value)) {
        bytes level = argument_text(value);
        bool is_inside = command->multi != MULTI_NONE;
        bool is_fine = is_inside ? bytes_is_one_of(level, inside, ARRAY_COUNT(inside))
                                 : bytes_is_one_of(level, outside, ARRAY_COUNT(outside));
        if (!is_fine)
            return command_fail(command, ERROR_InvalidOptions,
                                "the readConcern level '%.*s' is not possible %s", (int)level.len,
                                (const char *)level.data,
                                is_inside ? "in a transaction: it must be local, majority or "
                                            "snapshot"
                                          : "outside of a transaction: it must be local, "
                                            "majority, available or linearizable");
    }
    return document_find(concern, "afterClusterTime", &value) ? check_after(command, value)
                                                              : STATUS_OK;
}

static status check_concerns(struct command *command, struct value read_concern)
{
    struct value write_concern;
    bool is_end = multi_is_commit(command) || multi_is_abort(command);

    if (!is_end && document_find(command->message->body, "writeConcern", &write_concern))
        return command_fail(command, ERROR_InvalidOptions,
                            "writeConcern is not allowed within a multi-statement transaction; "
                            "commitTransaction may have one");
    if (read_concern.type == VALUE_MISSING)
        return STATUS_OK;
    if (command->multi != MULTI_START)
        return command_fail(command, ERROR_InvalidOptions,
                            "Only the first command in a transaction may specify a readConcern");
    return multi_check_read_concern(command, read_concern);
}

/* ---- commands --------------------------------------------------------------------------------------- */

static status refuse(struct command *command, const char *what, bytes name)
{
    return command_fail(
        command, ERROR_OperationNotSupportedInTransaction,
        "Cannot run '%.*s' %sin a multi-document transaction%s.", (int)name.len,
        (const char *)name.data, what,
        bytes_is_text(name, "count") ? ": use aggregate with $count (countDocuments)" : "");
}

static status check_pipeline(struct command *command)
{
    static const char *const stages[] = {
        "$changeStream", "$collStats", "$currentOp", "$indexStats",     "$listLocalSessions",
        "$listSessions", "$merge",     "$out",       "$planCacheStats",
    };
    struct value pipeline;
    struct field stage, name;

    if (!document_find(command->message->body, "pipeline", &pipeline) ||
        pipeline.type != VALUE_ARRAY)
        return STATUS_OK;
    struct document_walk walk = document_fields(value_document(pipeline));
    while (document_next(&walk, &stage)) {
        if (stage.value.type != VALUE_DOCUMENT)
            continue;
        struct document_walk inner = document_fields(value_document(stage.value));
        if (document_next(&inner, &name) && bytes_is_one_of(name.name, stages, ARRAY_COUNT(stages)))
            return refuse(command, "of aggregate ", name.name);
    }
    return STATUS_OK;
}

status multi_check_place(struct command *command, bytes database, bytes name)
{
    static const char *const databases[] = { "admin", "config", "local" };

    if (bytes_is_one_of(database, databases, ARRAY_COUNT(databases)))
        return command_fail(command, ERROR_OperationNotSupportedInTransaction,
                            "Cannot run command against the '%.*s' database in a transaction.",
                            (int)database.len, (const char *)database.data);
    if (bytes_starts_with(name, BYTES_LITERAL("system.")))
        return refuse(command, "against a system collection ", bytes_of_text(command->row->name));
    return STATUS_OK;
}

status multi_check(struct command *command, struct value read_concern)
{
    if (!(command->row->traits & TRAIT_IN_TRANSACTION))
        return refuse(command, "", bytes_of_text(command->row->name));
    TRY(check_concerns(command, read_concern));
    if (multi_is_commit(command) || multi_is_abort(command))
        return STATUS_OK;
    /* Which name their places themselves, or go on in a cursor of the transaction. */
    if (command->row->handler == serve_bulk_write || command->row->handler == serve_get_more ||
        command->row->handler == serve_kill_cursors)
        return STATUS_OK;
    TRY(multi_check_place(command, command->database, argument_text(command->target)));
    return command->row->handler == serve_aggregate ? check_pipeline(command) : STATUS_OK;
}

/* ---- labels ----------------------------------------------------------------------------------------- */

const char *multi_label(const struct command *command, int32_t code)
{
    bool is_end = multi_is_commit(command) || multi_is_abort(command);

    switch (code) {
    case ERROR_InternalError:
        return multi_is_commit(command) ? "UnknownTransactionCommitResult" : NULL;
    case ERROR_WriteConflict:
    case ERROR_NoSuchTransaction:
        return "TransientTransactionError";
    case ERROR_ExceededTimeLimit:
    case ERROR_NotWritablePrimary:
    case ERROR_ShutdownInProgress:
    case ERROR_InterruptedAtShutdown:
        /* An end that was not even tried may be asked for again. */
        return is_end && !command->multi_entry ? "RetryableWriteError"
                                               : "TransientTransactionError";
    default:
        return NULL;
    }
}
