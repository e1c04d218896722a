/* The outcome of a call that can fail for a reason outside the program: a code to react to and a
 * message for the person at the client. The message lives in the arena it was made with, or is
 * static. Programmer errors are ASSERTs, not statuses. */
#ifndef BASE_STATUS_H
#define BASE_STATUS_H

#include <stdbool.h>

struct arena;

typedef enum status_code {
#define STATUS(code, sentence) code,
#include "base/status.def"
#undef STATUS
} status_code;

typedef struct status {
    status_code code;
    const char *message;
} status;

#define MUST_USE __attribute__((warn_unused_result))
#define STATUS_OK ((status){ .code = OK, .message = "" })

#define TRY(call)             \
    do {                      \
        status try_ = (call); \
        if (try_.code != OK)  \
            return try_;      \
    } while (0)

/* Needs a `status s` in scope; used by functions that own a handle, with the one label `done`. */
#define TRY_GOTO(call, label) \
    do {                      \
        s = (call);           \
        if (s.code != OK)     \
            goto label;       \
    } while (0)

/* A failure with a static message. */
MUST_USE static inline status status_of(status_code code, const char *message)
{
    return (status){ .code = code, .message = message };
}

/* The text of a failure, formatted into `arena`; without memory the code's own sentence. */
const char *status_message(struct arena *arena, status_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A failure with a formatted message. A macro, so that whoever follows the code, compiler or analyzer, sees where
 * it is made that it is not OK. */
#define status_fail(arena, code, ...) \
    status_of((code), status_message((arena), (code), __VA_ARGS__))

/* "in <context>: <message>", the code unchanged. */
status status_in(struct arena *arena, status inner, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

const char *status_code_name(status_code code);
const char *status_code_sentence(status_code code);

#endif
