/* Status: building failure messages.
 *
 * A message is formatted once, where the failure is found, and may be prefixed with context on the
 * way up. If even the message finds no memory, the code's sentence from status.def stands in.
 * Pure apart from the arena; callable from every thread that owns the arena. */
#include "base/status.h"

#include <stdarg.h>

#include "base/arena.h"

const char *status_code_name(status_code code)
{
    static const char *const names[] = {
#define STATUS(code, sentence) #code,
#include "base/status.def"
#undef STATUS
    };
    return names[code];
}

const char *status_code_sentence(status_code code)
{
    static const char *const sentences[] = {
#define STATUS(code, sentence) sentence,
#include "base/status.def"
#undef STATUS
    };
    return sentences[code];
}

const char *status_message(struct arena *arena, status_code code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *message = arena_format_args(arena, format, args);
    va_end(args);
    return message ? message : status_code_sentence(code);
}

status status_in(struct arena *arena, status inner, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *context = arena_format_args(arena, format, args);
    va_end(args);
    const char *message = context ? arena_format(arena, "%s: %s", context, inner.message)
                                  : inner.message;
    return status_of(inner.code, message ? message : inner.message);
}
