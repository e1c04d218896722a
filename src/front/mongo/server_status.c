/* Server status: serverStatus, section by section.
 *
 * Every section is a function and a row of one table; a client may leave sections out ({metrics: 0}). What the
 * monitor of TTL indexes has done is what many wait for: metrics.ttl. Figures that this server does not have are
 * zero where tools look for them.
 *
 * Threads: the command's. Start reading at serve_server_status(). */
#include <unistd.h>

#include "front/mongo/counters.h"
#include "front/mongo/handlers.h"
#include "front/mongo/host.h"
#include "front/mongo/multi.h"
#include "front/mongo/operation.h"
#include "front/mongo/stream.h"

typedef void append_section(struct command *command, struct buffer *out);

static int64_t counted(struct command *command, enum counter counter)
{
    return (int64_t)counters_read(command->face->counters, counter);
}

static int64_t counted_command(struct command *command, const char *name)
{
    const struct command_row *row = command_row_of(bytes_of_text(name));

    return row ? (int64_t)counters_of(command->face->counters, command_place(row)).total : 0;
}

static void append_zeros(struct buffer *out, const char *name, const char *const *fields,
                         size_t count)
{
    size_t begun = reply_begin(out, name);

    for (size_t i = 0; i < count; i++)
        reply_int64(out, fields[i], 0);
    document_end(out, begun);
}

/* ---- sections --------------------------------------------------------------------------------------- */

static void append_asserts(struct command *command, struct buffer *out)
{
    reply_int32(out, "regular", 0);
    reply_int32(out, "warning", 0);
    reply_int32(out, "msg", 0);
    reply_int64(out, "user", (int64_t)counters_all(command->face->counters).failed);
    reply_int32(out, "rollovers", 0);
}

static void count_running(void *context, const struct operation_seen *seen)
{
    int32_t *running = context;

    *running += seen->command != NULL;
}

static int32_t running_count(struct command *command)
{
    int32_t running = 0;

    operation_each(command->face, count_running, &running);
    return running;
}

static void append_connections(struct command *command, struct buffer *out)
{
    int32_t count = atomic_load(&command->face->connection_count);

    reply_int32(out, "current", count);
    reply_int32(out, "available", LIMIT_CONNECTIONS - count);
    reply_int32(out, "totalCreated", atomic_load(&command->face->next_connection_id));
    reply_int64(out, "rejected",
                (int64_t)metrics_read(command->face->metrics, METRIC_connections_refused_total));
    reply_int32(out, "active", running_count(command));
}

static void append_global_lock(struct command *command, struct buffer *out)
{
    static const char *const fields[] = { "total", "readers", "writers" };
    int64_t up_ms = command->request.now - command->face->started_at;

    reply_int64(out, "totalTime", up_ms * 1000);
    append_zeros(out, "currentQueue", fields, ARRAY_COUNT(fields));
    size_t active = reply_begin(out, "activeClients");
    reply_int32(out, "total", running_count(command));
    reply_int32(out, "readers", 0);
    reply_int32(out, "writers", 0);
    document_end(out, active);
}

static void append_memory(struct command *command, struct buffer *out)
{
    struct host_memory memory = host_memory();

    (void)command;
    reply_int32(out, "bits", 64);
    reply_int32(out, "resident", (int32_t)(memory.resident_bytes >> 20));
    reply_int32(out, "virtual", (int32_t)(memory.virtual_bytes >> 20));
    reply_bool(out, "supported", true);
}

static void append_network(struct command *command, struct buffer *out)
{
    reply_int64(out, "bytesIn", counted(command, COUNTER_BYTES_IN));
    reply_int64(out, "bytesOut", counted(command, COUNTER_BYTES_OUT));
    reply_int64(out, "numRequests", counted(command, COUNTER_REQUESTS));
}

static void append_latency(struct command *command, struct buffer *out, const char *name,
                           enum counter counter)
{
    size_t begun = reply_begin(out, name);

    reply_int64(out, "latency", counted(command, counter + 1));
    reply_int64(out, "ops", counted(command, counter));
    document_end(out, begun);
}

static void append_latencies(struct command *command, struct buffer *out)
{
    append_latency(command, out, "reads", COUNTER_READS);
    append_latency(command, out, "writes", COUNTER_WRITES);
    append_latency(command, out, "commands", COUNTER_OTHERS);
}

static void append_op_counters(struct command *command, struct buffer *out)
{
    int64_t find = counted_command(command, "find"), more = counted_command(command, "getMore");
    int64_t insert = counted_command(command, "insert"),
            update = counted_command(command, "update");
    int64_t delete = counted_command(command, "delete");
    int64_t all = (int64_t)counters_all(command->face->counters).total;

    reply_int64(out, "insert", counted(command, COUNTER_INSERTED));
    reply_int64(out, "query", find);
    reply_int64(out, "update", update);
    reply_int64(out, "delete", delete);
    reply_int64(out, "getmore", more);
    reply_int64(out, "command", all - find - more - insert - update - delete);
}

static void append_set(struct command *command, struct buffer *out)
{
    reply_text(out, "setName", command->face->set_name);
    reply_int32(out, "setVersion", 1);
    reply_bool(out, "isWritablePrimary", true);
    reply_bool(out, "secondary", false);
    reply_text(out, "primary", command->face->address);
    reply_text(out, "me", command->face->address);
    size_t hosts = reply_begin_array(out, "hosts");
    reply_text(out, "0", command->face->address);
    document_end(out, hosts);
}

static void append_security(struct command *command, struct buffer *out)
{
    size_t begun = reply_begin(out, "authentication");

    reply_bool(out, "isRequired", atomic_load(&command->face->has_users));
    document_end(out, begun);
}

static void append_storage(struct command *command, struct buffer *out)
{
    (void)command;
    reply_text(out, "name", "mayfly");
    reply_bool(out, "supportsCommittedReads", true);
    reply_bool(out, "persistent", true);
}

static int64_t succeeded(struct command *command, const char *name)
{
    const struct command_row *row = command_row_of(bytes_of_text(name));
    struct command_count count = counters_of(command->face->counters, command_place(row));

    return (int64_t)(count.total - count.failed);
}

/* Those that clients have ended; what ends by itself, by an error or by its time, is not counted. */
static void append_transactions(struct command *command, struct buffer *out)
{
    reply_int64(out, "currentOpen", (int64_t)multi_count(command->face->multis));
    reply_int64(out, "totalCommitted", succeeded(command, "commitTransaction"));
    reply_int64(out, "totalAborted", succeeded(command, "abortTransaction"));
    reply_int64(out, "currentPrepared", 0);
}

/* ---- metrics ---------------------------------------------------------------------------------------- */

static void append_commands(struct command *command, struct buffer *out)
{
    size_t begun = reply_begin(out, "commands");

    for (size_t i = 0; i < COMMAND_ROWS; i++) {
        struct command_count count = counters_of(command->face->counters, i);
        if (count.total == 0)
            continue;
        size_t row = reply_begin(out, command_row_at(i)->name);
        reply_int64(out, "failed", (int64_t)count.failed);
        reply_int64(out, "total", (int64_t)count.total);
        document_end(out, row);
    }
    document_end(out, begun);
}

static void append_cursors(struct command *command, struct buffer *out)
{
    struct stream_figures figures = stream_figures(command->face->streams);
    size_t begun = reply_begin(out, "cursor");

    reply_int64(out, "timedOut", (int64_t)figures.timed_out);
    reply_int64(out, "totalOpened", (int64_t)figures.opened);
    size_t open = reply_begin(out, "open");
    reply_int64(out, "noTimeout", (int64_t)figures.never_idle);
    reply_int64(out, "pinned", (int64_t)figures.busy);
    reply_int64(out, "total", (int64_t)figures.open);
    document_end(out, open);
    document_end(out, begun);
}

static void append_documents(struct command *command, struct buffer *out)
{
    size_t begun = reply_begin(out, "document");

    reply_int64(out, "deleted", counted(command, COUNTER_DELETED));
    reply_int64(out, "inserted", counted(command, COUNTER_INSERTED));
    reply_int64(out, "returned", counted(command, COUNTER_RETURNED));
    reply_int64(out, "updated", counted(command, COUNTER_UPDATED));
    document_end(out, begun);
    size_t looked_at = reply_begin(out, "queryExecutor");
    reply_int64(out, "scanned", counted(command, COUNTER_KEYS));
    reply_int64(out, "scannedObjects", counted(command, COUNTER_DOCUMENTS));
    document_end(out, looked_at);
}

static void append_metrics(struct command *command, struct buffer *out)
{
    append_commands(command, out);
    append_cursors(command, out);
    append_documents(command, out);
    size_t operation = reply_begin(out, "operation");
    reply_int64(out, "scanAndOrder", counted(command, COUNTER_SORTED));
    reply_int64(out, "killedDueToMaxTimeMSExpired", counted(command, COUNTER_OUT_OF_TIME));
    reply_int64(out, "killed", counted(command, COUNTER_KILLED));
    reply_int64(out, "writeConflicts", 0);
    document_end(out, operation);
    size_t ttl = reply_begin(out, "ttl");
    ttl_append_metrics(command, out);
    document_end(out, ttl);
}

/* ---- the command ------------------------------------------------------------------------------------ */

static void append_head(struct command *command)
{
    struct buffer *out = &command->reply;
    int64_t up_ms = command->request.now - command->face->started_at;

    reply_text(out, "host", command->face->address);
    reply_text(out, "version", FACE_VERSION);
    reply_text(out, "process", "mayfly");
    reply_int64(out, "pid", getpid());
    reply_double(out, "uptime", (double)(up_ms / 1000));
    reply_int64(out, "uptimeMillis", up_ms);
    reply_int64(out, "uptimeEstimate", up_ms / 1000);
    reply_date(out, "localTime", command->request.now);
}

status serve_server_status(struct command *command)
{
    static const struct {
        const char *name;
        append_section *append;
    } sections[] = {
        {"asserts",        append_asserts     },
        { "connections",   append_connections },
        { "globalLock",    append_global_lock },
        { "mem",           append_memory      },
        { "metrics",       append_metrics     },
        { "network",       append_network     },
        { "opLatencies",   append_latencies   },
        { "opcounters",    append_op_counters },
        { "repl",          append_set         },
        { "security",      append_security    },
        { "storageEngine", append_storage     },
        { "transactions",  append_transactions},
    };
    struct value wish;

    append_head(command);
    for (size_t i = 0; i < ARRAY_COUNT(sections); i++) {
        if (document_find(command->message->body, sections[i].name, &wish) &&
            !argument_flag(wish, true))
            continue;
        size_t begun = reply_begin(&command->reply, sections[i].name);
        sections[i].append(command, &command->reply);
        document_end(&command->reply, begun);
    }
    return STATUS_OK;
}
