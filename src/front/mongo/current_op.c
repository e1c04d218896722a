/* Current op: what the server is doing, and how to stop it.
 *
 * Rows are documents: one for each command that runs, and for background work (the purger, index builds);
 * idle connections and idle cursors if they are asked for. The same rows are the answer of currentOp, which
 * has a filter among its arguments, and the documents of the stage $currentOp.
 *
 * Threads: the command's. Start reading at list_rows(). */
#include <stdio.h>

#include "front/mongo/filter.h"
#include "front/mongo/handlers.h"
#include "front/mongo/index_build.h"
#include "front/mongo/login.h"
#include "front/mongo/multi.h"
#include "front/mongo/origin.h"
#include "front/mongo/session.h"
#include "front/mongo/stream.h"

enum { SHORT_COMMAND_BYTES = 1000 };

struct op_wish {
    bool all_users;
    bool idle_connections, idle_cursors, idle_sessions;
    bool is_short; /* commands are cut */
};

struct op_list {
    struct command *command;
    struct op_wish wish;
    struct principal own; /* who is asking */
    struct buffer *out;
    int64_t now_ms; /* monotonic */
};

/* ---- one row ---------------------------------------------------------------------------------------- */

static void append_now(struct buffer *out, time_ms now)
{
    char text[REPLY_TIME_BYTES];

    reply_write_time(now, text);
    reply_text(out, "currentOpTime", text);
}

static void append_client(struct op_list *list, const struct operation_seen *seen)
{
    const struct session *session = seen->session;
    struct buffer *out = list->out;
    struct value application, name;
    char text[32];

    reply_text(out, "type", "op");
    reply_text(out, "host", list->command->face->address);
    snprintf(text, sizeof(text), "conn%d", session->connection_id);
    reply_text(out, "desc", text);
    reply_int32(out, "connectionId", session->connection_id);
    reply_text(out, "client", session->peer);
    if (seen->metadata.len == 0)
        return;
    if (document_find(seen->metadata, "application", &application) &&
        application.type == VALUE_DOCUMENT &&
        document_find(value_document(application), "name", &name))
        document_append(out, BYTES_LITERAL("appName"), name);
    reply_document(out, "clientMetadata", seen->metadata);
}

static void append_transaction(struct buffer *out, int64_t number)
{
    size_t transaction = reply_begin(out, "transaction");
    size_t parameters = reply_begin(out, "parameters");

    reply_int64(out, "txnNumber", number);
    reply_bool(out, "autocommit", false);
    document_end(out, parameters);
    document_end(out, transaction);
}

static void append_running(struct op_list *list, const struct operation_seen *seen,
                           struct principal user)
{
    const struct command *command = seen->command;
    struct buffer *out = list->out;
    int64_t running_ms = list->now_ms - command->started_ms;

    if (user.user.len > 0) {
        size_t users = reply_begin_array(out, "effectiveUsers"), row = reply_begin(out, "0");
        reply_bytes(out, "user", user.user);
        reply_bytes(out, "db", user.database);
        document_end(out, row);
        document_end(out, users);
    }
    reply_int32(out, "opid", seen->id);
    if (command->session_id.len > 0)
        lsid_append(out, "lsid", command->session_id);
    reply_int64(out, "secs_running", running_ms / 1000);
    reply_int64(out, "microsecs_running",
                command->watch_ns ? (clock_stopwatch_ns() - command->watch_ns) / 1000
                                  : running_ms * 1000);
    if (command->multi != MULTI_NONE)
        append_transaction(out, command->txn_number);
    reply_text(out, "op", operation_kind(command));
    reply_bytes(out, "ns", operation_namespace(command, list->command->arena));
    reply_bool(out, "redacted", false);
    operation_append_command(command, out, "command",
                             list->wish.is_short ? SHORT_COMMAND_BYTES
                                                 : LIMIT_OPERATION_SHOWN_BYTES);
    if (seen->is_killed)
        reply_bool(out, "killPending", true);
    reply_int64(out, "numYields", 0);
    document_end(out, reply_begin(out, "locks"));
    reply_bool(out, "waitingForLock", false);
    reply_bool(out, "waitingForFlowControl", false);
}

static bool is_same_user(struct principal a, struct principal b)
{
    return bytes_equal(a.user, b.user) && bytes_equal(a.database, b.database);
}

static void tell_operation(void *context, const struct operation_seen *seen)
{
    struct op_list *list = context;
    struct principal user = { 0 };

    if (!seen->command && !list->wish.idle_connections)
        return;
    /* A login may be under way on others. */
    if (seen->command && seen->command->row->access != ACCESS_ANYONE)
        user = login_of(seen->session);
    if (!list->wish.all_users && !is_same_user(list->own, user))
        return;
    size_t begun = document_begin(list->out);
    append_client(list, seen);
    reply_bool(list->out, "active", seen->command != NULL);
    append_now(list->out, list->command->request.now);
    if (seen->command)
        append_running(list, seen, user);
    document_end(list->out, begun);
}

/* ---- all of them ------------------------------------------------------------------------------------ */

static status list_rows(struct command *command, struct op_wish wish, struct buffer *out)
{
    struct op_list list = { .command = command,
                            .wish = wish,
                            .own = login_of(command->session),
                            .out = out,
                            .now_ms = clock_monotonic(engine_clock(command->face->engine)) };

    operation_each(command->face, tell_operation, &list);
    if (wish.all_users) {
        ttl_append_operation(command, out);
        index_build_append(command, out);
    }
    if (wish.idle_cursors)
        stream_append_idle(command, wish.all_users, out);
    if (wish.idle_sessions)
        multi_append_idle(command, wish.all_users, out);
    return out->is_failed ? arena_exhausted(command->arena) : STATUS_OK;
}

/* ---- the stage -------------------------------------------------------------------------------------- */

static status read_option(struct command *command, struct field field, struct op_wish *wish)
{
    bool is_true = field.value.type == VALUE_BOOL && argument_flag(field.value, false), ignored;
    const struct {
        const char *name;
        bool *out;
    } options[] = {
        {"allUsers",         &wish->all_users       },
        { "idleConnections", &wish->idle_connections},
        { "idleCursors",     &wish->idle_cursors    },
        { "idleSessions",    &wish->idle_sessions   },
        { "localOps",        &ignored               },
        { "targetAllNodes",  &ignored               },
        { "truncateOps",     &wish->is_short        },
    };

    for (size_t i = 0; i < ARRAY_COUNT(options); i++) {
        if (!bytes_equal(field.name, bytes_of_text(options[i].name)))
            continue;
        if (field.value.type != VALUE_BOOL)
            return command_fail(command, ERROR_FailedToParse,
                                "The '%s' parameter of the $currentOp stage must be a boolean "
                                "value, but found: %s",
                                options[i].name, value_type_name(field.value.type));
        *options[i].out = is_true;
        return STATUS_OK;
    }
    return command_fail(command, ERROR_FailedToParse,
                        "Unrecognized option '%.*s' in $currentOp stage.", (int)field.name.len,
                        (const char *)field.name.data);
}

/* What others do is for those who may watch the server. */
static status permit_all(struct command *command)
{
    if (principal_own_rights(command, BYTES_LITERAL("admin")) & RIGHT_MONITOR)
        return STATUS_OK;
    return command_fail(command, ERROR_Unauthorized,
                        "not authorized on admin to look at the operations of all users; "
                        "{$currentOp: {allUsers: false}} or {currentOp: 1, $ownOps: true} shows "
                        "your own");
}

status origin_current_op(struct command *command, bytes collection, struct value argument,
                         struct buffer *out)
{
    struct op_wish wish = { .idle_sessions = true };
    struct field field;

    (void)collection;
    if (argument.type != VALUE_DOCUMENT)
        return command_fail(command, ERROR_FailedToParse,
                            "$currentOp options must be specified in an object, but found: %s",
                            value_type_name(argument.type));
    struct document_walk walk = document_fields(value_document(argument));
    while (document_next(&walk, &field))
        TRY(read_option(command, field, &wish));
    if (wish.all_users)
        TRY(permit_all(command));
    return list_rows(command, wish, out);
}

/* ---- the commands ----------------------------------------------------------------------------------- */

/* What is neither generic nor an option of the command is the filter. */
static status read_filter(struct command *command, struct op_wish *wish, const struct match **out)
{
    struct document_walk walk = document_fields(command->message->body);
    struct buffer filter = buffer_in(command->arena);
    struct field field;
    bytes document;

    size_t begun = document_begin(&filter);
    for (size_t i = 0; document_next(&walk, &field); i++) {
        if (bytes_equal(field.name, BYTES_LITERAL("$ownOps")))
            wish->all_users = !argument_flag(field.value, false);
        else if (bytes_equal(field.name, BYTES_LITERAL("$all")))
            wish->idle_connections = argument_flag(field.value, false);
        else if (bytes_equal(field.name, BYTES_LITERAL("$truncateOps")))
            wish->is_short = argument_flag(field.value, false);
        else if (i > 0 && !argument_is_generic(field.name))
            document_append(&filter, field.name, field.value);
    }
    document_end(&filter, begun);
    TRY(buffer_finish(&filter, &document));
    return filter_parse(command->arena, document, NULL, out, &command->fault);
}

status serve_current_op(struct command *command)
{
    struct op_wish wish = { .all_users = true, .idle_sessions = true };
    struct buffer rows = buffer_in(command->arena), *out = &command->reply;
    struct matching matching = { .scratch = command->arena };
    const struct match *match;
    char room[REPLY_INDEX_BYTES];
    size_t count = 0;
    bool is_wanted;
    bytes rest, row;

    TRY(read_filter(command, &wish, &match));
    if (wish.all_users)
        TRY(permit_all(command));
    TRY(list_rows(command, wish, &rows));
    rest = bytes_of(rows.data, rows.len);
    size_t list = reply_begin_array(out, "inprog");
    while (wire_next_document(&rest, &row)) {
        TRY(match_document(match, &matching, row, &is_wanted));
        if (is_wanted)
            reply_document(out, reply_index(count++, room), row);
    }
    document_end(out, list);
    return STATUS_OK;
}

struct owner {
    struct principal asking;
    int32_t id;
    bool is_own;
};

static void find_owner(void *context, const struct operation_seen *seen)
{
    struct owner *owner = context;

    if (seen->command && seen->id == owner->id && seen->command->row->access != ACCESS_ANYONE)
        owner->is_own = is_same_user(owner->asking, login_of(seen->session));
}

/* Everybody may stop what is their own. */
static bool is_killable(struct command *command, int32_t id)
{
    struct owner owner = { .asking = login_of(command->session), .id = id };

    if (principal_own_rights(command, BYTES_LITERAL("admin")) & RIGHT_SERVER)
        return true;
    operation_each(command->face, find_owner, &owner);
    return owner.is_own;
}

status serve_kill_op(struct command *command)
{
    static const struct argument table[] = {
        {"op", ARGUMENT_ANY, true},
    };
    struct value given[ARRAY_COUNT(table)];
    int64_t id;

    TRY(command_arguments(command, table, ARRAY_COUNT(table), given));
    if (!value_is_number(given[0]) || !value_as_int64(given[0], &id) || id > INT32_MAX ||
        id < INT32_MIN)
        return command_fail(command,
                            value_is_number(given[0]) ? ERROR_BadValue : ERROR_TypeMismatch,
                            "op must be the opid of an operation, a whole number of 32 bits");
    reply_text(&command->reply, "info", "attempting to kill op");
    if (!is_killable(command, (int32_t)id))
        return command_fail(command, ERROR_Unauthorized,
                            "not authorized on admin to kill operations of others: %lld is not "
                            "one of yours",
                            (long long)id);
    if (id >= OPERATION_BUILD_BIT)
        return index_build_kill(command, (int32_t)id);
    if (operation_kill(command->face, (int32_t)id))
        tail_ring_all(command->face); /* it may wait */
    return STATUS_OK;
}
