/* Fail point: configureFailPoint, and what failCommand does to a command.
 *
 * It knows which commands it is for, how often, and what to do: an error of a number, labels, an error of the
 * write concern beside a command that is carried out, the end of the connection, or a wait. A command that waits
 * is marked as waiting, waits no longer than a bound, and goes on as soon as the fail point is changed.
 *
 * Threads: a leaf lock guards it; commands only look at a flag while it is off. Start reading at
 * fail_point_apply(). */
#include "front/mongo/fail_point.h"

#include "base/block.h"
#include "base/wait.h"
#include "front/mongo/handlers.h"
#include "front/mongo/session.h"

enum { HOLD_MS_MAX = 60 * 1000, HOLD_STEP_MS = 100 };

void fail_point_open(struct fail_point *point)
{
    pthread_mutex_init(&point->lock, NULL);
    wait_condition_init(&point->changed);
}

void fail_point_close(struct fail_point *point)
{
    memory_give((void *)point->data.data);
    pthread_cond_destroy(&point->changed);
    pthread_mutex_destroy(&point->lock);
}

/* ---- is it meant ------------------------------------------------------------------------------------ */

static bool is_listed(bytes data, bytes name)
{
    struct document_walk walk;
    struct value list;
    struct field field;

    if (!document_find(data, "failCommands", &list) || list.type != VALUE_ARRAY)
        return false;
    walk = document_fields(value_document(list));
    while (document_next(&walk, &field)) {
        if (bytes_equal(argument_text(field.value), name))
            return true;
    }
    return false;
}

static bool is_of_application(bytes data, const struct command *command)
{
    bytes metadata = command->session->operation.metadata; /* changed by this session only */
    struct value wanted, application, name;

    if (!document_find(data, "appName", &wanted))
        return true;
    return metadata.len > 0 && document_find(metadata, "application", &application) &&
           application.type == VALUE_DOCUMENT &&
           document_find(value_document(application), "name", &name) &&
           bytes_equal(argument_text(name), argument_text(wanted));
}

static bool is_of_namespace(bytes data, const struct command *command)
{
    struct value wanted;

    return !document_find(data, "namespace", &wanted) ||
           bytes_equal(argument_text(wanted), operation_namespace(command, command->arena));
}

/* Under the lock: one more that is meant. */
static bool takes_turn(struct fail_point *point)
{
    uint64_t chance;

    if (point->skip > 0) {
        point->skip--;
        return false;
    }
    if (point->probability < 1) {
        random_secret(&chance, sizeof(chance));
        if ((double)(chance >> 11) / (double)(UINT64_C(1) << 53) >= point->probability)
            return false;
    }
    if (point->times == 0)
        return false;
    if (point->times > 0 && --point->times == 0)
        atomic_store(&point->is_on, false);
    point->entered++;
    return true;
}

/* ---- what happens ----------------------------------------------------------------------------------- */

/* Waits until the time is over, the fail point is changed or the command is killed. */
static void hold(struct command *command, int64_t hold_ms)
{
    struct fail_point *point = &command->face->fail_point;
    bool is_marked = block_begin();

    pthread_mutex_lock(&point->lock);
    uint64_t version = point->version;
    for (int64_t left = hold_ms < HOLD_MS_MAX ? hold_ms : HOLD_MS_MAX;
         left > 0 && point->version == version && !operation_is_killed(command);
         left -= HOLD_STEP_MS) {
        struct wait_limit limit = wait_limit_from_now(left < HOLD_STEP_MS ? left : HOLD_STEP_MS);
        while (point->version == version && wait_on(&point->changed, &point->lock, &limit))
            ;
    }
    pthread_mutex_unlock(&point->lock);
    if (is_marked)
        block_end();
}

static status spring(struct command *command, bytes data)
{
    struct fail_point_trap *trap = &command->trap;
    struct value value, hold_ms = { .type = VALUE_MISSING };

    if (document_find(data, "blockConnection", &value) && argument_flag(value, false)) {
        document_find(data, "blockTimeMS", &hold_ms);
        hold(command, argument_number(hold_ms, 0));
        TRY(command_check_time(command));
    }
    if (document_find(data, "errorLabels", &value) && value.type == VALUE_ARRAY) {
        trap->has_labels = true;
        trap->labels = value_document(value);
    }
    if (document_find(data, "closeConnection", &value) && argument_flag(value, false)) {
        trap->is_cut = true;
        return command_fail(command, ERROR_HostUnreachable,
                            "the connection ends because of the failCommand fail point");
    }
    if (document_find(data, "errorCode", &value)) {
        status failed = command_fail(command, (int32_t)argument_number(value, ERROR_InternalError),
                                     "Failing command via 'failCommand' failpoint");
        if (document_find(data, "errorExtraInfo", &value) && value.type == VALUE_DOCUMENT)
            command->fault.details = value_document(value);
        return failed;
    }
    if (document_find(data, "writeConcernError", &value) && value.type == VALUE_DOCUMENT)
        trap->write_concern_error = value_document(value);
    return STATUS_OK;
}

status fail_point_apply(struct command *command)
{
    struct fail_point *point = &command->face->fail_point;
    status s = STATUS_OK;
    bytes data = BYTES_NONE;

    pthread_mutex_lock(&point->lock);
    if (point->data.len > 0 && is_listed(point->data, command->name) &&
        is_of_application(point->data, command) && is_of_namespace(point->data, command) &&
        takes_turn(point))
        s = arena_copy(command->arena, point->data, &data);
    pthread_mutex_unlock(&point->lock);
    TRY(s);
    return data.len > 0 ? spring(command, data) : STATUS_OK;
}

/* ---- configureFailPoint ----------------------------------------------------------------------------- */

struct mode {
    bool is_on;
    int64_t times, skip;
    double probability;
};

static status read_mode(struct command *command, struct value value, struct mode *out)
{
    struct value part;

    *out = (struct mode){ .is_on = true, .times = -1, .probability = 1 };
    if (bytes_equal(argument_text(value), BYTES_LITERAL("alwaysOn")))
        return STATUS_OK;
    if (bytes_equal(argument_text(value), BYTES_LITERAL("off"))) {
        out->is_on = false;
        return STATUS_OK;
    }
    if (value.type == VALUE_DOCUMENT) {
        if (document_find(value_document(value), "times", &part) && value_is_number(part))
            out->times = argument_number(part, 0);
        else if (document_find(value_document(value), "skip", &part) && value_is_number(part))
            out->skip = argument_number(part, 0);
        else if (document_find(value_document(value), "activationProbability", &part) &&
                 value_is_number(part))
            out->probability = value_as_double(part);
        else
            value.type = VALUE_MISSING;
        if (out->times < -1 || out->skip < 0 || out->probability < 0 || out->probability > 1)
            return command_fail(command, ERROR_BadValue,
                                "times and skip must not be negative, and activationProbability "
                                "lies between 0 and 1");
        out->is_on = out->times != 0;
        if (value.type == VALUE_DOCUMENT)
            return STATUS_OK;
    }
    return command_fail(command, ERROR_BadValue,
                        "mode must be 'off', 'alwaysOn', {times: n}, {skip: n} or "
                        "{activationProbability: p}");
}

static status check_data(struct command *command, bytes data)
{
    struct value hold, hold_ms;

    if (document_find(data, "blockConnection", &hold) && argument_flag(hold, false) &&
        (!document_find(data, "blockTimeMS", &hold_ms) || !value_is_number(hold_ms) ||
         argument_number(hold_ms, 0) < 0 || argument_number(hold_ms, 0) > HOLD_MS_MAX))
        return command_fail(command, ERROR_InvalidOptions,
                            "blockConnection needs a blockTimeMS of 0 to %d", HOLD_MS_MAX);
    return STATUS_OK;
}

status serve_configure_fail_point(struct command *command)
{
    static const struct argument table[] = {
        {"mode",  ARGUMENT_ANY,      true },
        { "data", ARGUMENT_DOCUMENT, false},
    };
    enum { MODE, DATA };
    struct fail_point *point = &command->face->fail_point;
    struct value given[ARRAY_COUNT(table)];
    struct mode mode;

    TRY(command_arguments(command, table, ARRAY_COUNT(table), given));
    if (!bytes_equal(argument_text(command->target), BYTES_LITERAL("failCommand")))
        return command_fail(command, ERROR_BadValue,
                            "fail point '%.*s' is not known; there is failCommand",
                            (int)argument_text(command->target).len,
                            (const char *)argument_text(command->target).data);
    TRY(read_mode(command, given[MODE], &mode));
    bytes data = argument_document(given[DATA]);
    TRY(check_data(command, data));
    uint8_t *copy = memory_take(data.len);
    if (!copy)
        return status_of(OUT_OF_MEMORY, "no memory for a fail point");
    memcpy(copy, data.data, data.len);
    pthread_mutex_lock(&point->lock);
    void *old = (void *)point->data.data;
    int64_t entered = point->entered;
    point->data = bytes_of(copy, data.len);
    point->times = mode.times;
    point->skip = mode.skip;
    point->probability = mode.probability;
    point->entered = 0;
    point->version++;
    atomic_store(&point->is_on, mode.is_on);
    pthread_cond_broadcast(&point->changed);
    pthread_mutex_unlock(&point->lock);
    memory_give(old);
    reply_int64(&command->reply, "count", entered);
    return STATUS_OK;
}
