/* Failure: statuses of the rooms below as the protocol's clients know them, and the body of an error.
 *
 * One table holds every failure; nothing else in the face names an HTTP error status. The message of the
 * body is a text with JSON inside, because clients look for words in it.
 *
 * Pure; callable from every thread. */
#include "front/cosmos/failure.h"

#include <stdio.h>

#include "front/front.h"

struct row {
    unsigned http_status;
    unsigned substatus;
    const char *code;
    const char *sentence;
};

static const struct row table[] = {
#define FAILURE(name, http_status, substatus, code, sentence) \
    { http_status, substatus, code, sentence },
#include "front/cosmos/failure.def"
#undef FAILURE
};

unsigned failure_status(enum failure_kind kind)
{
    return table[kind].http_status;
}

unsigned failure_substatus(enum failure_kind kind)
{
    return table[kind].substatus;
}

enum failure_kind failure_of_http(unsigned http_status)
{
    for (size_t i = 0; i < ARRAY_COUNT(table); i++) {
        if (table[i].http_status == http_status)
            return (enum failure_kind)i;
    }
    return FAIL_BAD_REQUEST;
}

const char *failure_sentence(const struct failure *failure)
{
    return failure->message && failure->message[0] ? failure->message
                                                   : table[failure->kind].sentence;
}

static enum failure_kind kind_of(status_code code)
{
    switch (code) {
    case OK:
        return FAIL_NONE;
    case INVALID:
    case OUT_OF_MEMORY: /* of the request's own budget: a smaller request would do */
        return FAIL_BAD_REQUEST;
    case NOT_FOUND:
        return FAIL_NOT_FOUND;
    case EXISTS:
        return FAIL_CONFLICT;
    case DUPLICATE_KEY:
        return FAIL_UNIQUE_KEY;
    case PRECONDITION:
        return FAIL_PRECONDITION;
    case TOO_LARGE:
    case TRANSACTION_FULL:
        return FAIL_TOO_LARGE;
    case CONFLICT:
        return FAIL_RETRY;
    case BUSY:
        return FAIL_RATE;
    case UNSUPPORTED:
        return FAIL_UNSUPPORTED;
    case CANCELLED:
    case WRITES_STOPPED:
        return FAIL_UNAVAILABLE;
    case CORRUPT:
    case IO_ERROR:
    case UNKNOWN_RESULT:
        return FAIL_INTERNAL;
    }
    return FAIL_INTERNAL;
}

struct failure failure_of(status outcome)
{
    struct failure failure = { .kind = kind_of(outcome.code), .message = outcome.message };

    if (outcome.code == BUSY)
        failure.retry_after_ms = 10;
    /* Clients look for the usual texts of these. */
    if (outcome.code == EXISTS || outcome.code == PRECONDITION || outcome.code == NOT_FOUND)
        failure.message = NULL;
    return failure;
}

void failure_append_body(struct buffer *out, const struct failure *failure,
                         struct failure_context context)
{
    struct buffer message = buffer_in(out->arena);
    bytes text = BYTES_NONE;

    buffer_append_text(&message, "Message: ");
    if (failure->errors.len > 0) {
        buffer_append(&message, failure->errors);
    } else {
        buffer_append_text(&message, "{\"Errors\":[");
        http_append_json_text(&message, bytes_of_text(failure_sentence(failure)));
        buffer_append_text(&message, "]}");
    }
    buffer_append_format(
        &message, "\r\nActivityId: %s, Request URI: %.*s, RequestStats: , SDK: mayfly",
        context.activity, (int)context.target.len, (const char *)context.target.data);
    if (buffer_finish(&message, &text).code != OK)
        text = bytes_of_text(table[failure->kind].sentence);
    buffer_append_format(out, "{\"code\":\"%s\",\"message\":", table[failure->kind].code);
    http_append_json_text(out, text);
    buffer_append_text(out, "}");
}
