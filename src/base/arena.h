/* Memory of one request (or one pass of background work): taken piece by piece, given back all at
 * once or back to a mark. An arena has a byte budget; past it, taking fails with OUT_OF_MEMORY and a
 * message that names the budget. Not thread-safe: an arena belongs to one request. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

#include "base/bytes.h"
#include "base/status.h"

struct arena;

typedef struct arena_position {
    void *block;
    size_t used;
    size_t taken;
} arena_position;

/* NULL only if the system itself has no memory. */
struct arena *arena_open(size_t budget_bytes);
void arena_close(struct arena *arena);
/* Gives everything back but keeps one block for the next request. */
void arena_reset(struct arena *arena);

/* Uninitialised memory, aligned for anything. */
MUST_USE status arena_take(struct arena *arena, size_t size, void **out);
/* Zeroed array; count * size is checked. */
MUST_USE status arena_take_array(struct arena *arena, size_t count, size_t size, void **out);
MUST_USE status arena_copy(struct arena *arena, bytes source, bytes *out);
/* One behind the other. */
MUST_USE status arena_join(struct arena *arena, bytes front, bytes back, bytes *out);
/* Like arena_take, but NULL when the budget is used up: for callers that keep their own sticky
 * failure (buffer, message formatting). */
void *arena_try_take(struct arena *arena, size_t size);
/* Grows the last piece in place if possible; otherwise returns false. */
bool arena_try_extend(struct arena *arena, void *piece, size_t old_size, size_t new_size);

/* NUL-terminated text, or NULL without memory. A NULL arena gives NULL. */
const char *arena_format(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const char *arena_format_args(struct arena *arena, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/* Everything taken after the mark is given back by the release. */
arena_position arena_mark(const struct arena *arena);
void arena_release(struct arena *arena, arena_position mark);

size_t arena_used_bytes(const struct arena *arena);
const char *arena_why_exhausted(const struct arena *arena);
static inline status arena_exhausted(const struct arena *arena)
{
    return status_of(OUT_OF_MEMORY, arena_why_exhausted(arena));
}

#define ARENA_NEW(arena, count, out) \
    arena_take_array((arena), (count), sizeof(**(out)), (void **)(out))

#endif
