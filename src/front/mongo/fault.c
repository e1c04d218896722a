/* Fault: errors as clients of this protocol know them.
 *
 * Numbers and names are one table (errors.def). The rooms below know a few statuses, and each of them
 * means one number, unless the place that failed knew better and raised a fault.
 *
 * Pure apart from arenas; callable from every thread. */
#include "front/mongo/fault.h"

#include <stdio.h>

#include "value/value.h"

const char *fault_note(struct arena *arena, struct fault *fault, int32_t code, const char *format,
                       ...)
{
    va_list args;

    if (fault->code != ERROR_NONE)
        return "the command failed";
    va_start(args, format);
    *fault = (struct fault){ .code = code, .message = arena_format_args(arena, format, args) };
    va_end(args);
    if (!fault->message)
        fault->message = "no memory to say what failed";
    return "the command failed";
}

void fault_keep_text(struct arena *arena, struct fault *fault)
{
    const char *message = fault->message ? arena_format(arena, "%s", fault->message) : NULL;

    if (fault->message)
        fault->message = message ? message : "no memory to say what failed";
    if (fault->details.len && arena_copy(arena, fault->details, &fault->details).code != OK)
        fault->details = BYTES_NONE;
}

status fault_keep(struct arena *arena, struct fault *fault, status failed)
{
    if (failed.code == OK)
        return failed;
    fault_keep_text(arena, fault);
    return status_fail(arena, failed.code, "%s", failed.message);
}

const char *fault_code_name(int32_t code, char room[FAULT_NAME_BYTES])
{
    static const struct {
        int32_t code;
        const char *name;
    } table[] = {
#define ERROR(number, word) { number, #word },
#include "front/mongo/errors.def"
#undef ERROR
    };

    for (size_t i = 0; i < ARRAY_COUNT(table); i++) {
        if (table[i].code == code)
            return table[i].name;
    }
    snprintf(room, FAULT_NAME_BYTES, "Location%d", code);
    return room;
}

static enum error_code code_of(status_code code)
{
    switch (code) {
    case OK:
        return ERROR_NONE;
    case INVALID:
        return ERROR_BadValue;
    case NOT_FOUND:
        return ERROR_NamespaceNotFound;
    case EXISTS:
        return ERROR_NamespaceExists;
    case DUPLICATE_KEY:
        return ERROR_DuplicateKey;
    case PRECONDITION:
    case CONFLICT:
        return ERROR_WriteConflict;
    case TOO_LARGE:
        return ERROR_BSONObjectTooLarge;
    case TRANSACTION_FULL:
        return ERROR_TransactionTooLarge;
    case OUT_OF_MEMORY:
        return ERROR_ExceededMemoryLimit;
    case BUSY: /* one that clients try again by themselves */
        return ERROR_ExceededTimeLimit;
    case UNSUPPORTED:
        return ERROR_CommandNotSupported;
    case CANCELLED:
        return ERROR_ShutdownInProgress;
    case WRITES_STOPPED:
        return ERROR_NotWritablePrimary;
    case CORRUPT:
    case IO_ERROR:
    case UNKNOWN_RESULT:
        return ERROR_InternalError;
    }
    return ERROR_InternalError;
}

struct fault fault_of(status outcome)
{
    return (struct fault){ .code = (int32_t)code_of(outcome.code), .message = outcome.message };
}

void fault_append_message(struct buffer *out, const char *message)
{
    bytes text = bytes_of_text(message ? message : "");

    document_append_text(out, "errmsg", text);
    if (out->is_failed || text_is_utf8(text))
        return;
    for (size_t i = out->len - text.len - 1; i < out->len; i++) {
        if (out->data[i] >= 0x80)
            out->data[i] = '?';
    }
}

void fault_append(struct buffer *out, const struct fault *fault)
{
    char room[FAULT_NAME_BYTES];

    fault_append_message(out, fault->message);
    document_append_int64(out, "code", fault->code);
    document_append_text(out, "codeName", bytes_of_text(fault_code_name(fault->code, room)));
    if (fault->details.len == 0)
        return;
    struct document_walk walk = document_fields(fault->details);
    struct field field;
    while (document_next(&walk, &field))
        document_append(out, field.name, field.value);
}
