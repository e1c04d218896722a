/* Command: from a message to a reply.
 *
 *   name -> row of commands.def -> generic fields -> may they -> request of the engine -> handler
 *        -> reply | fault | later
 *
 * Every step can fail the command; whatever fails becomes one error document in finish(). A command that
 * ends with a commit is finished by the thread that committed.
 *
 * Keeps: every reply has `ok`, the time of the operation and the time of the cluster; a command is not
 * touched after its commit was queued.
 * Threads: a worker, then perhaps a committing thread; never two at once. Start reading at command_run(). */
#include "front/mongo/command.h"

#include <stdlib.h>
#include <strings.h>

#include "front/mongo/counters.h"
#include "front/mongo/handlers.h"
#include "front/mongo/lsid.h"
#include "front/mongo/multi.h"
#include "front/mongo/principal.h"
#include "front/mongo/retry.h"
#include "front/mongo/session.h"
#include "front/mongo/top.h"
#include "front/mongo/witness.h"

/* Most replies that carry no documents fit. */
enum { REPLY_BYTES_FIRST = 256 };

static const struct command_row table[] = {
#define COMMAND(word, function, who, traits, sentence) { #word, function, who, traits, sentence },
#define COMMAND_NOT(word, who, traits, sentence) { #word, NULL, who, traits, sentence },
#include "front/mongo/commands.def"
#undef COMMAND
#undef COMMAND_NOT
};

/* ---- finding ---------------------------------------------------------------------------------------- */

static int compare_row(const void *name, const void *row)
{
    return bytes_compare(*(const bytes *)name,
                         bytes_of_text(((const struct command_row *)row)->name));
}

const struct command_row *command_row_of(bytes name)
{
    return bsearch(&name, table, ARRAY_COUNT(table), sizeof(table[0]), compare_row);
}

const struct command_row *command_row_at(size_t place)
{
    ASSERT(place < COMMAND_ROWS);
    return &table[place];
}

size_t command_place(const struct command_row *row)
{
    return (size_t)(row - table);
}

void mongo_describe_commands(struct buffer *out)
{
    buffer_append_text(out, "| command | served | what it does |\n|---|---|---|\n");
    for (size_t i = 0; i < ARRAY_COUNT(table); i++) {
        ASSERT(i == 0 || strcmp(table[i - 1].name, table[i].name) < 0);
        buffer_append_format(out, "| `%s` | %s | %s |\n", table[i].name,
                             table[i].handler ? "yes" : "no", table[i].help);
    }
}

static status find_command(struct command *command)
{
    struct document_walk walk = document_fields(command->message->body);
    struct field first;

    if (!document_next(&walk, &first))
        return command_fail(command, ERROR_CommandNotFound, "the message names no command");
    command->name = first.name;
    command->target = first.value;
    command->row = command_row_of(first.name);
    if (command->row &&
        (!(command->row->traits & TRAIT_TEST_ONLY) || command->face->has_test_commands))
        return STATUS_OK;
    return command_fail(command, ERROR_CommandNotFound, "no such command: '%.*s'",
                        (int)first.name.len, (const char *)first.name.data);
}

/* ---- generic fields --------------------------------------------------------------------------------- */

/* What any command may carry and the dispatcher looks at. */
enum generic {
    GENERIC_DATABASE,
    GENERIC_TIME_LIMIT,
    GENERIC_SESSION,
    GENERIC_NUMBER,
    GENERIC_START,
    GENERIC_AUTOCOMMIT,
    GENERIC_READ_CONCERN,
    GENERIC_VERSION,
    GENERIC_STRICT,
    GENERIC_HELP,
    GENERIC_COUNT
};

/* Every command comes by here, so the fields are walked once and not once for each name. */
static void read_generic(bytes body, struct value out[GENERIC_COUNT])
{
    static const char *const names[GENERIC_COUNT] = {
        "$db",        "maxTimeMS",   "lsid",       "txnNumber", "startTransaction",
        "autocommit", "readConcern", "apiVersion", "apiStrict", "help"
    };
    struct document_walk walk = document_fields(body);
    struct field field;

    for (size_t i = 0; i < GENERIC_COUNT; i++)
        out[i] = (struct value){ .type = VALUE_MISSING };
    while (document_next(&walk, &field)) {
        for (size_t i = 0; i < GENERIC_COUNT; i++) {
            if (out[i].type == VALUE_MISSING && bytes_is_text(field.name, names[i]))
                out[i] = field.value;
        }
    }
}

static status read_database(struct command *command, struct value value)
{
    if (command->message->kind == WIRE_QUERY) {
        command->database = command->home = command->message->database;
        return command_check_database(command, command->database);
    }
    if (value.type == VALUE_MISSING)
        return command_fail(command, ERROR_Location40571, "OP_MSG requests require a $db argument");
    if (value.type != VALUE_STRING)
        return command_fail(command, ERROR_TypeMismatch,
                            "the field '$db' must be of type string, not %s",
                            value_type_name(value.type));
    command->database = command->home = value_text(value);
    return command_check_database(command, command->database);
}

static status read_time_limit(struct command *command, struct value value)
{
    if (value.type == VALUE_MISSING || value.type == VALUE_NULL)
        return STATUS_OK;
    if (!value_is_number(value))
        return command_fail(command, ERROR_TypeMismatch, "maxTimeMS must be a number, not %s",
                            value_type_name(value.type));
    command->max_time_ms = argument_number(value, 0);
    if (command->max_time_ms < 0 || command->max_time_ms > INT32_MAX)
        return command_fail(command, ERROR_BadValue,
                            "maxTimeMS is %lld; 0 to %d milliseconds are possible",
                            (long long)command->max_time_ms, INT32_MAX);
    return STATUS_OK;
}

static status read_session(struct command *command, const struct value generic[GENERIC_COUNT])
{
    struct value lsid = generic[GENERIC_SESSION];

    if (lsid.type != VALUE_MISSING && lsid.type != VALUE_DOCUMENT)
        return command_fail(command, ERROR_TypeMismatch, "lsid must be an object, not %s",
                            value_type_name(lsid.type));
    if (lsid.type == VALUE_DOCUMENT)
        TRY(lsid_take(command, value_document(lsid)));
    command->lsid = lsid;
    struct multi_fields fields = { .number = generic[GENERIC_NUMBER],
                                   .start = generic[GENERIC_START],
                                   .autocommit = generic[GENERIC_AUTOCOMMIT],
                                   .read_concern = generic[GENERIC_READ_CONCERN] };
    return multi_read(command, &fields);
}

static status check_version(struct command *command, struct value version, struct value strict)
{
    if (version.type == VALUE_MISSING) {
        if (strict.type != VALUE_MISSING)
            return command_fail(command, ERROR_InvalidOptions,
                                "Provided apiStrict value without an apiVersion");
        return STATUS_OK;
    }
    if (!bytes_equal(argument_text(version), BYTES_LITERAL("1")))
        return command_fail(command, ERROR_APIVersionError, "API version must be \"1\"");
    if (argument_flag(strict, false) && !(command->row->traits & TRAIT_STABLE))
        return command_fail(command, ERROR_APIStrictError,
                            "Provided apiStrict:true, but the command %s is not in API Version 1",
                            command->row->name);
    return STATUS_OK;
}

static status check_place(struct command *command)
{
    if ((command->row->traits & TRAIT_ADMIN_ONLY) &&
        !bytes_equal(command->database, BYTES_LITERAL("admin")))
        return command_fail(command, ERROR_Unauthorized,
                            "%s may only be run against the admin database.", command->row->name);
    if (command->message->kind == WIRE_QUERY && command->row->access != ACCESS_ANYONE)
        return command_fail(command, ERROR_UnsupportedOpQueryCommand,
                            "Unsupported OP_QUERY command: %s. The client driver may require an "
                            "upgrade.",
                            command->row->name);
    return STATUS_OK;
}

/* ---- the way in ------------------------------------------------------------------------------------- */

static status check_waiting(void *context)
{
    return command_check_time(context);
}

static status begin_request(struct command *command)
{
    TRY(request_begin(command->face->engine, command->arena, &command->request));
    command->request.check = check_waiting;
    command->request.check_context = command;
    command->has_request = true;
    return STATUS_OK;
}

static void end_request(struct command *command)
{
    if (command->has_request)
        request_end(&command->request);
    command->has_request = false;
}

void command_pause(struct command *command)
{
    if (!command->multi_entry)
        end_request(command);
}

status command_renew(struct command *command)
{
    if (command
            ->multi_entry) /* its picture stays what it was at the beginning of the transaction */
        return STATUS_OK;
    end_request(command);
    return begin_request(command);
}

/* Writes go on to their end: a client that is gone may have sent them and left. */
static bool is_abandoned(struct command *command, int64_t now_ms)
{
    const struct connection *connection = command->session->connection;

    if (!connection || command->row->traits & TRAIT_WRITE ||
        now_ms - command->looked_ms < LIMIT_LOOK_FOR_CLIENT_MS)
        return false;
    command->looked_ms = now_ms;
    return connection_is_gone(connection);
}

status command_check_time(struct command *command)
{
    if (operation_is_killed(command))
        return command_fail(command, ERROR_Interrupted, "operation was interrupted");
    const int64_t now_ms = clock_monotonic(engine_clock(command->face->engine));
    if (is_abandoned(command, now_ms))
        return command_fail(command, ERROR_ClientDisconnect, "the client is gone");
    if (command->max_time_ms == 0 || now_ms - command->started_ms <= command->max_time_ms)
        return STATUS_OK;
    return command_fail(command, ERROR_MaxTimeMSExpired, "operation exceeded time limit of %lld ms",
                        (long long)command->max_time_ms);
}

/* {<command>: 1, help: true}: what it does, instead of doing it. */
static status tell_help(struct command *command)
{
    const char *text = arena_format(command->arena, "help for: %s %s", command->row->name,
                                    command->row->help);

    reply_text(&command->reply, "help", text ? text : command->row->help);
    return STATUS_OK;
}

static status run(struct command *command)
{
    struct value generic[GENERIC_COUNT];

    TRY(find_command(command));
    read_generic(command->message->body, generic);
    TRY(read_database(command, generic[GENERIC_DATABASE]));
    if (generic[GENERIC_HELP].type == VALUE_BOOL && argument_flag(generic[GENERIC_HELP], false))
        return tell_help(command);
    TRY(check_place(command));
    TRY(principal_permit(command));
    TRY(check_version(command, generic[GENERIC_VERSION], generic[GENERIC_STRICT]));
    TRY(read_time_limit(command, generic[GENERIC_TIME_LIMIT]));
    TRY(read_session(command, generic));
    lsid_use(command);
    if (!command->row->handler)
        return command_fail(command, ERROR_CommandNotSupported, "mayfly does not support %s: %s",
                            command->row->name, command->row->help);
    operation_begin(command);
    if (atomic_load_explicit(&command->face->fail_point.is_on, memory_order_relaxed))
        TRY(fail_point_apply(command));
    if (command->multi != MULTI_NONE)
        TRY(multi_enter(command));
    else if (!(command->row->traits & TRAIT_NO_REQUEST))
        TRY(begin_request(command));
    if (command->has_txn_number && (command->row->traits & TRAIT_RETRYABLE)) {
        TRY(multi_meet_write(command));
        TRY(retry_begin(command));
    }
    return command->row->handler(command);
}

/* ---- the way out ------------------------------------------------------------------------------------ */

const char *command_note_fault(struct command *command, int32_t code, const char *format, ...)
{
    va_list args;

    if (command->fault.code != ERROR_NONE)
        return "the command failed";
    va_start(args, format);
    const char *message = arena_format_args(command->arena, format, args);
    va_end(args);
    return fault_note(command->arena, &command->fault, code, "%s",
                      message ? message : "no memory to say what failed");
}

/* Drivers try these again by themselves. */
static bool is_retryable(int32_t code)
{
    static const int32_t codes[] = {
        ERROR_HostUnreachable,         ERROR_HostNotFound,
        ERROR_NetworkTimeout,          ERROR_ShutdownInProgress,
        ERROR_PrimarySteppedDown,      ERROR_ExceededTimeLimit,
        ERROR_SocketException,         ERROR_NotWritablePrimary,
        ERROR_InterruptedAtShutdown,   ERROR_InterruptedDueToReplStateChange,
        ERROR_NotPrimaryNoSecondaryOk, ERROR_NotPrimaryOrSecondary,
    };

    for (size_t i = 0; i < ARRAY_COUNT(codes); i++) {
        if (codes[i] == code)
            return true;
    }
    return false;
}

static const char *label_of(const struct command *command)
{
    if (command->multi != MULTI_NONE)
        return multi_label(command, command->fault.code);
    return command->has_txn_number && is_retryable(command->fault.code) ? "RetryableWriteError"
                                                                        : NULL;
}

static void append_labels(struct command *command)
{
    const char *label = label_of(command);
    struct buffer *out = &command->reply;

    if (command->trap.has_labels) {
        document_append(out, BYTES_LITERAL("errorLabels"),
                        (struct value){ VALUE_ARRAY, command->trap.labels });
    } else if (label) {
        size_t labels = reply_begin_array(out, "errorLabels");
        reply_text(out, "0", label);
        document_end(out, labels);
    }
}

static void append_times(struct command *command)
{
    bool is_write = command->row && (command->row->traits & TRAIT_WRITE);

    reply_times(&command->reply, face_cluster_time(command->face, is_write));
}

static void render_fault(struct command *command, status outcome)
{
    struct buffer *out = &command->reply;

    if (command->fault.code == ERROR_NONE)
        command->fault = fault_of(outcome);
    *out = buffer_in(command->arena);
    command->reply_begun = document_begin(out);
    reply_double(out, "ok", 0);
    fault_append(out, &command->fault);
    append_labels(command);
}

/* What the command was answered so far, as a document; empty if it has failed. */
static bytes copy_answer(struct command *command, status outcome)
{
    struct buffer copy = buffer_in(command->arena);

    buffer_append(&copy, bytes_of(command->reply.data, command->reply.len));
    document_end(&copy, command->reply_begun);
    bool is_sound = outcome.code == OK && !copy.is_failed && !command->reply.is_failed;
    return is_sound ? bytes_of(copy.data, copy.len) : BYTES_NONE;
}

/* A write may be answered with `ok` and errors of its statements. */
static bool has_failed(struct command *command, status outcome)
{
    struct value errors;

    if (outcome.code != OK || !(command->row->traits & TRAIT_WRITE))
        return outcome.code != OK;
    bytes answer = copy_answer(command, outcome);
    return answer.len == 0 || document_find(answer, "writeErrors", &errors) ||
           (document_find(answer, "nErrors", &errors) && argument_number(errors, 0) > 0);
}

/* What a fail point puts into the reply of a command that was carried out. */
static void append_trap(struct command *command)
{
    if (command->trap.write_concern_error.len == 0)
        return;
    reply_document(&command->reply, "writeConcernError", command->trap.write_concern_error);
    append_labels(command);
}

/* Counts what was done; for commands that there are. */
static void note_end(struct command *command, bool is_failed)
{
    int64_t took_ms = clock_monotonic(engine_clock(command->face->engine)) - command->started_ms;
    int64_t took_us = (clock_stopwatch_ns() - command->watch_ns) / 1000;
    const struct profiler *profiler = &command->face->profiler;

    witness_change(command, is_failed);
    counters_add(command, is_failed, took_us);
    top_note(command, is_failed, took_us);
    if (took_ms >= atomic_load_explicit(&profiler->slow_ms, memory_order_relaxed) ||
        atomic_load_explicit(&profiler->is_on, memory_order_relaxed))
        profiler_note(command, took_ms, is_failed);
}

/* Fills in the reply and gives the engine's request back; what the reply needs lies in the arena. */
static void finish(struct command *command, status outcome)
{
    if (outcome.code != OK)
        render_fault(command, outcome);
    else
        reply_double(&command->reply, "ok", 1);
    if (command->row)
        note_end(command, outcome.code != OK);
    operation_end(command);
    if (command->is_retryable)
        retry_end(command);
    bool is_aborted = command->multi_entry && has_failed(command, outcome);
    append_trap(command);
    append_times(command);
    document_end(&command->reply, command->reply_begun);
    end_request(command);
    multi_leave(command, is_aborted);
}

bytes command_reply(struct command *command)
{
    /* {ok: 0.0} */
    static const uint8_t failed[] = { 17, 0, 0, 0, 1, 'o', 'k', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
    bytes document;

    if (buffer_finish(&command->reply, &document).code != OK)
        return bytes_of(failed, sizeof(failed));
    return document;
}

bool command_run(struct command *command)
{
    bool is_later = false;

    command->reply = buffer_in(command->arena);
    buffer_reserve(&command->reply, REPLY_BYTES_FIRST);
    command->reply_begun = document_begin(&command->reply);
    command->lsid = (struct value){ .type = VALUE_MISSING };
    command->is_later = &is_later;
    command->looked_ms = command->started_ms = clock_monotonic(engine_clock(command->face->engine));
    command->watch_ns = clock_stopwatch_ns();
    status s = run(command);
    if (is_later)
        return false;
    finish(command, s);
    return true;
}

static void committed(void *context, status outcome)
{
    struct command *command = context;

    command->outcome = outcome;
    finish(command, command->on_committed(command));
    command->finish(command);
}

status command_commit(struct command *command, struct write_op *ops, size_t count,
                      enum write_mode mode, command_handler *done)
{
    bool *is_later = command->is_later; /* on the stack of command_run(), which waits for us */

    command->on_committed = done;
    TRY(document_write_begin(&command->request, ops, count, mode, committed, command));
    *is_later = true;
    return STATUS_OK;
}
