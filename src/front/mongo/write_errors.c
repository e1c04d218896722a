/* Write errors: {index, code, errmsg, ...} for each operation that failed, as clients read them.
 *
 * Pure apart from the arena. */
#include "front/mongo/write_errors.h"

void write_errors_begin(struct write_errors *errors, struct arena *arena)
{
    *errors = (struct write_errors){ .list = buffer_in(arena) };
    errors->begun = document_begin(&errors->list);
}

void write_errors_append_fault(struct buffer *out, const struct fault *fault,
                               struct write_errors_told *told)
{
    bool is_short = told->count >= 2 && told->text_bytes > LIMIT_WRITE_ERROR_TEXT_BYTES;
    const char *message = fault->message && !is_short ? fault->message : "";
    size_t begun = out->len;

    reply_int32(out, "code", fault->code);
    if (fault->details.len > 0 && told->size_bytes < LIMIT_WRITE_ERROR_BYTES) {
        struct document_walk walk = document_fields(fault->details);
        struct field field;
        while (document_next(&walk, &field))
            document_append(out, field.name, field.value);
    }
    fault_append_message(out, message);
    told->count++;
    told->text_bytes += strlen(message);
    told->size_bytes += out->len - begun;
}

status write_errors_add(struct write_errors *errors, size_t number, const struct fault *fault)
{
    struct buffer *out = &errors->list;
    char room[REPLY_INDEX_BYTES];

    if (errors->faults) {
        errors->faults[number] = *fault;
        errors->count++;
        return STATUS_OK;
    }
    size_t begun = reply_begin(out, reply_index(errors->count, room));
    reply_int32(out, "index", (int32_t)number);
    write_errors_append_fault(out, fault, &errors->told);
    document_end(out, begun);
    errors->count++;
    return out->is_failed ? arena_exhausted(out->arena) : STATUS_OK;
}

static bool is_of_statement(status_code code)
{
    return code == INVALID || code == TOO_LARGE || code == DUPLICATE_KEY || code == EXISTS ||
           code == PRECONDITION;
}

status write_errors_fault(struct command *command, status failed, struct fault *out)
{
    *out = command->fault;
    if (out->code == ERROR_MaxTimeMSExpired || out->code == ERROR_Interrupted)
        return failed;
    if (out->code == ERROR_NONE) {
        if (!is_of_statement(failed.code))
            return failed;
        *out = fault_of(failed);
    }
    command->fault = (struct fault){ 0 };
    return STATUS_OK;
}

status write_errors_take(struct write_errors *errors, struct command *command, size_t number,
                         status failed)
{
    struct fault fault;

    TRY(write_errors_fault(command, failed, &fault));
    return write_errors_add(errors, number, &fault);
}

status write_errors_check_count(struct command *command, size_t count)
{
    if (count > 0)
        return STATUS_OK;
    return command_fail(command, ERROR_InvalidLength,
                        "Write batch sizes must be between 1 and %d. Got 0 operations.",
                        LIMIT_WRITE_COMMAND_OPERATIONS);
}

void write_errors_append(struct write_errors *errors, struct buffer *out)
{
    if (errors->count == 0)
        return;
    document_end(&errors->list, errors->begun);
    if (errors->list.is_failed)
        out->is_failed = true;
    else
        document_append(
            out, BYTES_LITERAL("writeErrors"),
            (struct value){ VALUE_ARRAY, bytes_of(errors->list.data, errors->list.len) });
}
