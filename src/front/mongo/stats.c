/* Stats: sizes and counts of databases and collections, and what else people ask a server about itself.
 *
 * Figures are exact and leave the dead out; space on disk is not told apart by collection, so the size of the
 * documents stands for it.
 *
 * Threads: the command's. */
#include "front/mongo/capped.h"
#include "front/mongo/handlers.h"
#include "front/mongo/keep.h"
#include "front/mongo/origin.h"
#include "front/mongo/series.h"
#include "front/mongo/top.h"

static void append_count(struct buffer *out, const char *name, uint64_t count)
{
    if (count <= INT32_MAX)
        reply_int32(out, name, (int32_t)count);
    else
        reply_int64(out, name, (int64_t)count);
}

static uint64_t scale_of(struct command *command)
{
    struct value scale = { .type = VALUE_MISSING };

    document_find(command->message->body, "scale", &scale);
    int64_t number = argument_number(scale, 1);
    return number > 0 ? (uint64_t)number : 1;
}

/* ---- a collection ----------------------------------------------------------------------------------- */

static void append_capped(struct buffer *out, const struct collection *collection, uint64_t scale)
{
    struct capped_limits limits = capped_limits(collection);

    reply_bool(out, "capped", limits.size > 0);
    if (limits.size == 0)
        return;
    append_count(out, "max", limits.max > 0 ? (uint64_t)limits.max : INT32_MAX);
    append_count(out, "maxSize", (uint64_t)limits.size / scale);
}

/* The size of indexes is not known by itself; which ones there are is. */
static void append_index_sizes(struct buffer *out, const struct collection *collection)
{
    static const uint8_t zero[sizeof(int32_t)];
    size_t sizes = reply_begin(out, "indexSizes");

    reply_int32(out, "_id_", 0);
    for (size_t i = 0; i < collection->index_count; i++) {
        bytes name = collection->indexes[i].definition.name;
        if (name.data[0] != '$') /* those of the face's own */
            document_append(out, name, (struct value){ VALUE_INT32, bytes_of(zero, sizeof(zero)) });
    }
    document_end(out, sizes);
}

static void append_storage(struct command *command, struct buffer *out,
                           const struct collection *collection,
                           const struct collection_figures *figures, uint64_t scale)
{
    append_count(out, "size", figures->bytes / scale);
    append_count(out, "count", figures->documents);
    if (figures->documents > 0)
        append_count(out, "avgObjSize", figures->bytes / figures->documents);
    reply_int32(out, "numOrphanDocs", 0);
    append_count(out, "storageSize", figures->bytes / scale);
    append_count(out, "freeStorageSize", 0);
    append_capped(out, collection, scale);
    append_count(out, "nindexes", keep_index_count(collection));
    document_end(out, reply_begin_array(out, "indexBuilds"));
    append_count(out, "totalIndexSize", 0);
    append_count(out, "totalSize", figures->bytes / scale);
    append_index_sizes(out, collection);
    append_count(out, "scaleFactor", scale);
    series_append_stats(command, out, collection);
}

status serve_coll_stats(struct command *command)
{
    struct collection_figures figures = { 0 };
    const struct collection *collection;
    bytes name;

    TRY(command_collection_name(command, &name));
    TRY(command_find_stored(command, name, &collection));
    reply_bytes(&command->reply, "ns", command_namespace(command, name));
    if (!collection) {
        reply_int32(&command->reply, "size", 0);
        reply_int32(&command->reply, "count", 0);
        reply_int32(&command->reply, "storageSize", 0);
        reply_int32(&command->reply, "nindexes", 0);
        return STATUS_OK;
    }
    TRY(collection_figures(&command->request, collection, &figures));
    append_storage(command, &command->reply, collection, &figures, scale_of(command));
    return STATUS_OK;
}

/* The rows of the profiler are in memory, a bounded list. */
static status append_profile_stats(struct command *command, bytes name, bytes argument,
                                   struct buffer *out)
{
    struct value part;
    bytes rows, row;
    uint64_t count = 0;

    TRY(profiler_rows(command, &rows));
    uint64_t size = rows.len;
    while (wire_next_document(&rows, &row))
        count++;
    size_t begun = document_begin(out);
    reply_bytes(out, "ns", command_namespace(command, name));
    reply_text(out, "host", command->face->address);
    reply_date(out, "localTime", command->request.now);
    if (document_find(argument, "storageStats", &part)) {
        size_t storage = reply_begin(out, "storageStats");
        append_count(out, "size", size);
        append_count(out, "count", count);
        append_count(out, "storageSize", size);
        append_count(out, "totalIndexSize", 0);
        append_count(out, "totalSize", size);
        document_end(out, reply_begin(out, "indexSizes"));
        append_count(out, "nindexes", 0);
        reply_bool(out, "capped", true);
        append_count(out, "maxSize", LIMIT_PROFILE_BYTES);
        append_count(out, "scaleFactor", 1);
        document_end(out, storage);
    }
    if (document_find(argument, "count", &part))
        append_count(out, "count", count);
    document_end(out, begun);
    return STATUS_OK;
}

/* {count: {}, storageStats: {scale}}: those parts that are asked for. */
status origin_coll_stats(struct command *command, bytes name, struct value argument,
                         struct buffer *out)
{
    const struct collection *collection;
    struct collection_figures figures;
    struct value part, scale = { .type = VALUE_MISSING };

    if (argument.type != VALUE_DOCUMENT)
        return command_fail(command, ERROR_Location40602, "$collStats takes an object, not %s",
                            value_type_name(argument.type));
    if (profiler_is_list(name) && profiler_has_list(command))
        return append_profile_stats(command, name, value_document(argument), out);
    TRY(command_find_stored(command, name, &collection));
    if (!collection)
        return command_fail(command, ERROR_NamespaceNotFound,
                            "$collStats: the collection %.*s does not exist", (int)name.len,
                            (const char *)name.data);
    TRY(collection_figures(&command->request, collection, &figures));
    size_t begun = document_begin(out);
    reply_bytes(out, "ns", command_namespace(command, name));
    reply_text(out, "host", command->face->address);
    reply_date(out, "localTime", command->request.now);
    if (document_find(value_document(argument), "storageStats", &part) &&
        part.type == VALUE_DOCUMENT) {
        document_find(value_document(part), "scale", &scale);
        int64_t wanted = argument_number(scale, 1);
        size_t storage = reply_begin(out, "storageStats");
        append_storage(command, out, collection, &figures, wanted > 0 ? (uint64_t)wanted : 1);
        document_end(out, storage);
    }
    if (document_find(value_document(argument), "latencyStats", &part))
        top_append_latency(command, collection, out);
    if (document_find(value_document(argument), "count", &part))
        append_count(out, "count", figures.documents);
    document_end(out, begun);
    return STATUS_OK;
}

status serve_validate(struct command *command)
{
    struct buffer *out = &command->reply;
    struct collection_figures figures;
    const struct collection *collection;
    bytes name;

    TRY(command_collection_name(command, &name));
    TRY(command_find_stored(command, name, &collection));
    if (!collection)
        return command_fail(command, ERROR_NamespaceNotFound,
                            "Collection '%.*s' does not exist to validate.", (int)name.len,
                            (const char *)name.data);
    TRY(collection_figures(&command->request, collection, &figures));
    reply_bytes(out, "ns", command_namespace(command, name));
    reply_int32(out, "nInvalidDocuments", 0);
    append_count(out, "nrecords", figures.documents);
    append_count(out, "nIndexes", keep_index_count(collection));
    reply_bool(out, "valid", true);
    size_t warnings = reply_begin_array(out, "warnings");
    reply_text(out, "0",
               "figures only; every invariant is verified by `mayfly check` on a stopped "
               "database");
    document_end(out, warnings);
    document_end(out, reply_begin_array(out, "errors"));
    return STATUS_OK;
}

/* ---- a database ------------------------------------------------------------------------------------- */

status serve_db_stats(struct command *command)
{
    struct request *request = &command->request;
    struct buffer *out = &command->reply;
    uint64_t collections = 0, indexes = 0, objects = 0, size = 0, scale = scale_of(command);
    uint64_t views = 0;

    for (size_t i = 0; i < catalog_collection_count(request); i++) {
        const struct collection *collection = catalog_collection(request, i);
        struct collection_figures figures;
        if (!bytes_equal(collection->definition.database, command->database))
            continue;
        if (keep_is_view(collection)) {
            views++;
            continue;
        }
        TRY(collection_figures(request, collection, &figures));
        collections++;
        indexes += keep_index_count(collection);
        objects += figures.documents;
        size += figures.bytes;
    }
    reply_bytes(out, "db", command->database);
    append_count(out, "collections", collections);
    append_count(out, "views", views);
    append_count(out, "objects", objects);
    reply_double(out, "avgObjSize", objects ? (double)size / (double)objects : 0);
    reply_double(out, "dataSize", (double)size / (double)scale);
    reply_double(out, "storageSize", (double)size / (double)scale);
    append_count(out, "indexes", indexes);
    reply_double(out, "indexSize", 0);
    reply_double(out, "totalSize", (double)size / (double)scale);
    append_count(out, "scaleFactor", scale);
    return STATUS_OK;
}

/* ---- the set ---------------------------------------------------------------------------------------- */

static void append_member_status(struct command *command, uint64_t timestamp, time_ms now)
{
    struct buffer *out = &command->reply;
    time_ms started = command->face->started_at;
    size_t member = reply_begin(out, "0");

    reply_int32(out, "_id", 0);
    reply_text(out, "name", command->face->address);
    reply_double(out, "health", 1);
    reply_int32(out, "state", 1);
    reply_text(out, "stateStr", "PRIMARY");
    reply_int32(out, "uptime", (int32_t)((now - started) / 1000));
    reply_op_time(out, "optime", timestamp);
    reply_date(out, "optimeDate", (time_ms)(timestamp >> 32) * 1000);
    reply_text(out, "syncSourceHost", "");
    reply_int32(out, "syncSourceId", -1);
    reply_text(out, "infoMessage", "");
    reply_timestamp(out, "electionTime", (uint64_t)(started / 1000) << 32 | 1);
    reply_date(out, "electionDate", started);
    reply_int32(out, "configVersion", 1);
    reply_int32(out, "configTerm", 1);
    reply_bool(out, "self", true);
    reply_text(out, "lastHeartbeatMessage", "");
    document_end(out, member);
}

status serve_repl_set_status(struct command *command)
{
    struct buffer *out = &command->reply;
    uint64_t timestamp = face_cluster_time(command->face, false);
    time_ms now = clock_now(engine_clock(command->face->engine));

    reply_text(out, "set", command->face->set_name);
    reply_date(out, "date", now);
    reply_int32(out, "myState", 1);
    reply_int64(out, "term", 1);
    reply_text(out, "syncSourceHost", "");
    reply_int32(out, "syncSourceId", -1);
    reply_int64(out, "heartbeatIntervalMillis", 2000);
    reply_int32(out, "majorityVoteCount", 1);
    reply_int32(out, "writeMajorityCount", 1);
    reply_int32(out, "votingMembersCount", 1);
    reply_int32(out, "writableVotingMembersCount", 1);
    size_t times = reply_begin(out, "optimes");
    reply_op_time(out, "lastCommittedOpTime", timestamp);
    reply_op_time(out, "readConcernMajorityOpTime", timestamp);
    reply_op_time(out, "appliedOpTime", timestamp);
    reply_op_time(out, "durableOpTime", timestamp);
    document_end(out, times);
    size_t members = reply_begin_array(out, "members");
    append_member_status(command, timestamp, now);
    document_end(out, members);
    return STATUS_OK;
}

status serve_repl_set_config(struct command *command)
{
    struct buffer *out = &command->reply;
    size_t config = reply_begin(out, "config");

    reply_text(out, "_id", command->face->set_name);
    reply_int32(out, "version", 1);
    reply_int32(out, "term", 1);
    size_t members = reply_begin_array(out, "members");
    size_t member = reply_begin(out, "0");
    reply_int32(out, "_id", 0);
    reply_text(out, "host", command->face->address);
    reply_bool(out, "arbiterOnly", false);
    reply_bool(out, "buildIndexes", true);
    reply_bool(out, "hidden", false);
    reply_double(out, "priority", 1);
    document_end(out, reply_begin(out, "tags"));
    reply_int64(out, "secondaryDelaySecs", 0);
    reply_int32(out, "votes", 1);
    document_end(out, member);
    document_end(out, members);
    reply_int64(out, "protocolVersion", 1);
    reply_bool(out, "writeConcernMajorityJournalDefault", true);
    document_end(out, config);
    return STATUS_OK;
}
